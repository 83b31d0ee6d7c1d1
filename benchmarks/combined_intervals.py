"""One interval from design and model: errors, coverage and length, next to those of the design.

``run`` draws an order of the collections of ``coverage_collections``, one sample a chunk (existing
chunks are kept), fits the relevance model, and saves the means of ``dyn`` and the model's draws.
Half of the runs contribute; the others are new, and one new run in ten (one at least) is a dual run
among them, unmarked. ``learn`` learns the constants of ``be.combine`` from all chunks and writes
them into the package. ``report`` learns them without each collection, applies them to it and writes
combined_intervals/results.csv. ``picture`` draws a sample of round 5. Real collections are in the
folder that BAYESEVAL_REAL_DATA names.
"""

import argparse
import time
import warnings
from pathlib import Path

import numpy as np
import xarray as xr

import bayeseval as be
from benchmarks.combination_table import learned_table, report
from benchmarks.coverage_collections import EVERY, LEVELS, at_hand, roles, whole

MEASURES = ["P@10", "RBP(p=0.8)", "AP", "R@100"]
DRAWS = 200  # of each of four chains
PICTURE = Path(__file__).parents[1] / "docs" / "combined_intervals.png"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("act", choices=["run", "learn", "report", "picture"])
    parser.add_argument("--collection", action="append", choices=list(EVERY))
    parser.add_argument("--budget", type=int, default=50)
    parser.add_argument("--first", type=int, default=1, help="number of the first sample")
    parser.add_argument("--samples", type=int, default=10)
    parser.add_argument("--chunks", type=Path, default=Path("combination-output"))
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if options.act == "run":
        options.chunks.mkdir(exist_ok=True)
        names = at_hand(options.collection or EVERY)
        for number in range(options.first, options.first + options.samples):
            for name in names:
                run(name, number, options.budget, options.chunks)
    elif not any(options.chunks.glob("*~*.nc")):
        raise SystemExit(f"{options.chunks} holds no chunks; begin with 'run'")
    elif options.act == "learn":
        learned_table(options.chunks)
    elif options.act == "report":
        report(options.chunks)
    else:
        picture(options.chunks / "trec-covid-5~50~1.nc")


def run(name: str, number: int, budget: int, folder: Path) -> None:
    """One sample of one collection."""
    file = folder / f"{name}~{budget}~{number}.nc"
    if file.exists():
        return
    began = time.monotonic()
    collection = mixed(whole(name, folder), np.random.default_rng([number, budget]))
    level = {"relevance_level": LEVELS.get(name, 1)}
    truth = be.evaluate(collection, MEASURES, estimator="assumed", **level).estimate.mean("topic")
    seed = 1000 * budget + number
    design = be.designs.order(collection, budget=budget, random_seed=seed)
    sampled = be.reveal(collection, design, be.draw(design))
    mean = be.mean_over_topics(be.evaluate(sampled, MEASURES, estimator="dyn", **level))
    model = be.models.relevance_model(sampled, **level)
    fitted = be.fit(model, approximation="laplace", draws=DRAWS, random_seed=seed)
    post = be.posterior_scores(
        fitted, sampled, truth["measure"].to_numpy().tolist(), random_seed=seed
    )
    post = post.assign(estimate=post.estimate.astype("float32"))
    tree = xr.DataTree.from_dict({"mean": mean.assign(truth=truth), "post": post})
    tree.attrs = {"collection": name, "budget": budget, "sample": number}
    tree.to_netcdf(file, engine="h5netcdf")
    print(f"{file.name}: {time.monotonic() - began:.0f} s", flush=True)


def picture(file: Path) -> None:
    """Design, model and combination of one sample of round 5, every second run that is shown."""
    with xr.open_datatree(file, engine="h5netcdf") as tree:
        parts = {name: tree[name].to_dataset().load() for name in tree.children}
    mean, post = parts["mean"], parts["post"]
    table = be.compare_intervals(
        mean, be.summarize(post), be.combine(mean, post), truth=mean["truth"]
    )
    dual = [run for run in mean["run"].to_numpy().tolist() if run.endswith("~dual")]
    runs = sorted(set(mean["run"].to_numpy()[::2].tolist()) | set(dual))
    axes = be.plots.plot_combined(table, "P@10", runs=runs)
    axes.figure.savefig(PICTURE, dpi=80)


def mixed(collection: xr.DataTree, random: np.random.Generator) -> xr.DataTree:
    """Collection with one dual run for every ten new ones, one at least."""
    labels, kinds = collection["run"].to_numpy(), roles(collection)
    dual, n_new = kinds["dual"], int(kinds["new"].sum())
    chosen = random.choice(np.flatnonzero(dual), size=max(1, round(n_new / 10)), replace=False)
    kept = np.sort(np.concatenate([np.flatnonzero(~dual), chosen]))
    return be.select(collection, runs=labels[kept].tolist())


if __name__ == "__main__":
    main()
