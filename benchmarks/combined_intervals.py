"""One interval from design and model: errors, coverage and length beside those of the design.

``run`` fits the relevance model to samples of the collections of ``coverage_collections``, chunk by
chunk (one sample each; what is there already is not done again), and keeps the means of ``dyn``,
their covariance and the model's draws. Half of the runs contribute; the others are new, and one new
run in ten (one at least) is a dual run among them, unmarked. ``learn`` learns the constants of
``be.combine`` and ``be.with_model_errors`` from all chunks, and for every family from the others;
``report`` applies the constants learned on the other families to each and prints the table
(combined_intervals/*.csv); ``reliability`` says how often the run that is probably better is
better; ``differences`` how often intervals of differences between runs hold, and how long they are;
``headline`` how many judgments ``dyn`` needs for the error that the combination has with
100; ``picture`` draws a sample of round 5. Constants of AP are of two kinds, "counted" of chunks
that were run as is, and "ratio" (of other ratios too) of chunks run with ``--denominator model``;
``--kind`` learns some kinds alone.
Real collections are those of the folder that BAYESEVAL_REAL_DATA names.
"""

import argparse
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import xarray as xr

import bayeseval as be
from benchmarks.combination_table import differences, learned_table, reliability, report
from benchmarks.coverage_collections import COLLECTIONS, EVERY, at_hand, roles, whole

MEASURES = ["P@10", "RBP(p=0.8)", "AP"]
DRAWS = 200  # of each of four chains
BUDGETS = (100, 130, 170, 220, 300, 400)
RESULTS = Path(__file__).parent / "combined_intervals" / "results.csv"
PICTURE = Path(__file__).parents[1] / "docs" / "combined_intervals.png"


ACTS = ["run", "learn", "report", "reliability", "differences", "headline", "picture"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("act", choices=ACTS)
    parser.add_argument("--collection", action="append", choices=list(EVERY))
    parser.add_argument("--budget", type=int, default=100)
    parser.add_argument("--first", type=int, default=1, help="number of the first sample")
    parser.add_argument("--samples", type=int, default=10)
    parser.add_argument("--denominator", choices=["counts", "model"], default="counts")
    parser.add_argument("--kind", action="append", help="of constants to learn; default: all")
    parser.add_argument("--chunks", type=Path, default=Path("combination-output"))
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if options.act != "run" and not any(options.chunks.glob("*~*.nc")):
        raise SystemExit(f"{options.chunks} holds no chunks; begin with 'run'")
    if options.act == "learn":
        learned_table(options.chunks, options.kind)
    elif options.act == "report":
        report(options.chunks)
    elif options.act == "reliability":
        reliability(options.chunks)
    elif options.act == "differences":
        differences(options.chunks)
    elif options.act == "headline":
        headline(options.chunks)
    elif options.act == "picture":
        picture(options.chunks / "trec-covid-5~100~1.nc")
    else:
        options.chunks.mkdir(exist_ok=True)
        names = at_hand(options.collection or COLLECTIONS)
        for number in range(options.first, options.first + options.samples):
            for name in names:
                run(name, number, options)


def run(name: str, number: int, options) -> None:
    """One sample of one collection."""
    budget, folder = options.budget, options.chunks
    file = folder / f"{name}~{budget}~{number}.nc"
    if file.exists():
        return
    began = time.monotonic()
    random = np.random.default_rng([number, budget])
    collection = mixed(whole(name, folder), random)
    truth = be.evaluate(collection, MEASURES, estimator="assumed").estimate.mean("topic")
    design = be.designs.pps_strata(collection, budget=budget)
    seed = 1000 * budget + number
    sampled = be.reveal(collection, design, be.draw(design, random_seed=seed))
    mean = be.mean_over_topics(be.evaluate(sampled, MEASURES, estimator="dyn"))
    covariance = be.covariance(sampled, MEASURES, estimator="dyn")
    raised = be.covariance(sampled, MEASURES, estimator="dyn", raised=True)
    model = be.models.relevance_model(sampled)
    fitted = be.fit(model, approximation="laplace", draws=DRAWS, random_seed=seed)
    asked = {"denominator": options.denominator, "random_seed": seed}
    post = be.posterior_scores(fitted, sampled, MEASURES, **asked)
    tree = xr.DataTree.from_dict(
        {
            "mean": mean.assign(truth=truth),
            "post": post.assign(estimate=post.estimate.astype("float32")),
            "covariance": covariance.to_dataset(name="covariance"),
            "raised": raised.to_dataset(name="covariance"),
        }
    )
    tree.attrs = {"collection": name, "budget": budget, "sample": number}
    tree.to_netcdf(file, engine="h5netcdf")
    print(f"{file.name}: {time.monotonic() - began:.0f} s", flush=True)


def headline(folder: Path) -> None:
    """Judgments a topic that dyn needs for the error of the combination at 100, by collection."""
    table = pd.read_csv(RESULTS).query("budget == 100 and role != 'dual'")
    rows = []
    for name, cells in table.groupby("collection"):
        collection = whole(name, folder)
        kinds = roles(collection)
        truth = be.evaluate(collection, MEASURES, estimator="assumed").estimate.mean("topic")
        errors = {}
        for budget in BUDGETS:
            design = be.designs.pps_strata(collection, budget=budget)
            selected = be.draw(design, n_replicates=10, random_seed=budget)
            sampled = be.reveal(collection, design, selected)
            scores = be.evaluate(sampled, MEASURES, estimator="dyn")
            off = scores.estimate.mean("topic") - truth
            for role in ("contributed", "new"):
                of_role = off.isel(run=np.flatnonzero(kinds[role]))
                errors[budget, role] = (of_role**2).mean(("run", "replicate")) ** 0.5
        for cell in cells.itertuples():
            found = [float(errors[b, cell.role].sel(measure=cell.measure)) for b in BUDGETS]
            # errors fall with the budget: read it off at the error of the combination, in logs
            wanted = np.log(found[0] * cell.ratio)
            needed = np.interp(-wanted, -np.log(found), np.log(BUDGETS))
            row = {"collection": name, "measure": cell.measure, "role": cell.role}
            rows.append(row | {"needed": round(float(np.exp(needed)))})
    found = pd.DataFrame(rows).pivot(
        index="collection", columns=["measure", "role"], values="needed"
    )
    found.to_csv(RESULTS.with_name("headline.csv"))
    print(found.to_string())


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
