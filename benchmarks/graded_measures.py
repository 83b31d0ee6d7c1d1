"""nDCG@10 by design, by a model of grades, and by both combined, on collections of all kinds.

The model is ``grade_model`` where a collection has several grades above 0, else
``relevance_model``, which then says the same, by ``approximation="laplace"`` (4 x 100 draws).
Constants of the model's own errors and of the combination are those of the other collections, or
the package's where none was learned. Samples as in ``interval_coverage.py`` (20 pps strata, seed
1000 budget + 1). Kept as ``graded_measures/results.csv``: RMS error over that of ``dyn``, coverage
of 90 % intervals with its error (samples as clusters), length over that of ``dyn``, and bias in RMS
errors of ``dyn``, for the three kinds of runs. ``--worlds`` makes so many worlds where systems
rank the highest of four grades alone well, two samples of each, and keeps means over them in
``steep.csv``.
"""

import argparse
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import xarray as xr

import bayeseval as be
from benchmarks.combination_table import constants_without
from benchmarks.coverage_collections import COLLECTIONS, EVERY, at_hand, halved, roles, whole
from benchmarks.held import held
from benchmarks.noisy_worlds import steep_world

MEASURE = "nDCG@10"
OTHERS = ["factors-38"]  # has grades; no constant was learned on it
STEEP = "steep"
RESULTS = Path(__file__).parent / "graded_measures"
KEPT = ["estimate", "interval"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--collection", action="append", choices=list(EVERY))
    parser.add_argument("--budget", type=int, action="append")
    parser.add_argument("--samples", type=int, default=10)
    parser.add_argument("--worlds", type=int, default=0)
    parser.add_argument("--chunks", type=Path, default=Path("coverage-output"))
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    options.chunks.mkdir(exist_ok=True)
    budgets = options.budget or [100, 50]
    if options.worlds:
        for budget in budgets:
            table = kept(steep_cells(options.worlds, budget), RESULTS / "steep.csv")
            print(table.loc[STEEP, budget].to_string(float_format="%.3f"), flush=True)
        return
    for name in at_hand(options.collection or [*COLLECTIONS, *OTHERS]):
        collection = whole(name, options.chunks)
        for budget in budgets:
            rows = cells(name, collection, budget, options.samples)
            table = kept(rows, RESULTS / "results.csv")
            print(table.loc[name, budget].to_string(float_format="%.3f"), flush=True)
    mean = table.groupby(["budget", "runs", "source"])[["ratio", "coverage", "length"]].mean()
    print("\nmean over collections\n" + mean.to_string(float_format="%.2f"))


def kept(rows: list[dict], path: Path) -> pd.DataFrame:
    """The table of results at a path with these rows, as it was written."""
    keys = ["collection", "budget", "runs", "source"]
    table = pd.DataFrame(rows).set_index(keys)
    if path.exists():
        before = pd.read_csv(path, index_col=keys)
        table = pd.concat([before[~before.index.isin(table.index)], table])
    path.parent.mkdir(exist_ok=True)
    table = table.sort_index()
    table.to_csv(path, float_format="%.4g")
    return table


def steep_cells(n_worlds: int, budget: int) -> list[dict]:
    """Means over worlds; the error of the coverage is that over worlds."""
    worlds = [
        pd.DataFrame(cells(STEEP, halved(steep_world(1000 + 10 * number)), budget, 2))
        for number in range(n_worlds)
    ]
    groups = pd.concat(worlds).groupby(["collection", "budget", "runs", "source"])
    mean = groups.mean().assign(samples=2 * n_worlds, coverage_error=groups["coverage"].sem())
    return [
        {str(name): value for name, value in row.items()}
        for row in mean.reset_index().to_dict("records")
    ]


def cells(name: str, collection: xr.DataTree, budget: int, n_samples: int) -> list[dict]:
    """Rows of one collection and budget."""
    truth = be.evaluate(collection, MEASURE, estimator="assumed").estimate.mean("topic")
    design = be.designs.pps_strata(collection, budget=budget)
    selected = be.draw(design, n_replicates=n_samples, random_seed=1000 * budget + 1)
    parts = [
        answers(name, be.reveal(collection, design, selected.isel(replicate=number)), number)
        for number in range(n_samples)
    ]
    rows = []
    for role, chosen in roles(collection).items():
        some = {"run": np.flatnonzero(chosen)}
        known = truth.isel(some).squeeze("measure").to_numpy()
        by_dyn = summed([part["dyn"].isel(some) for part in parts], known)
        for source in parts[0]:
            found = summed([part[source].isel(some) for part in parts], known)
            rows.append(
                {"collection": name, "budget": budget, "runs": role, "source": source}
                | {"samples": n_samples, "rms_error": found["rms"]}
                | {"ratio": found["rms"] / by_dyn["rms"], "bias": found["bias"] / by_dyn["rms"]}
                | {"coverage": found["held"], "coverage_error": found["held_error"]}
                | {"length": found["length"] / by_dyn["length"]}
            )
    return rows


def answers(name: str, sampled: xr.DataTree, seed: int) -> dict[str, xr.Dataset]:
    """What each source says of one sample."""
    several = float(sampled["judgments/grade"].max()) > 1
    make = be.models.grade_model if several else be.models.relevance_model
    fitted = be.fit(make(sampled), approximation="laplace", draws=100, random_seed=seed)
    post = be.posterior_scores(fitted, sampled, MEASURE, random_seed=seed)
    mean = be.mean_over_topics(be.evaluate(sampled, MEASURE, estimator="dyn"))
    known = None  # the package's
    if name in EVERY:
        known = constants_without(name, [MEASURE], post.attrs.get("denominator", "model"))[MEASURE]
    wider = be.with_model_errors(post, constants=known, random_seed=seed)
    found = {
        "dyn": mean,
        "model": be.summarize(post),
        "with its own errors": be.summarize(wider),
        "combined": be.combine(mean, post, constants=known),
    }
    return {source: one[KEPT] for source, one in found.items()}


def summed(found: list[xr.Dataset], truth: np.ndarray) -> dict[str, float]:
    """Errors and intervals over samples and runs."""
    whole = xr.concat(found, "replicate").squeeze("measure")
    error = whole.estimate.transpose("replicate", "run").to_numpy() - truth
    bounds = whole.interval.transpose("replicate", "run", "ci_bound").to_numpy()
    inside = held(truth, bounds[..., 0], bounds[..., 1]).mean(axis=1)
    return {
        "rms": float(np.sqrt((error**2).mean())),
        "bias": float(error.mean()),
        "held": float(inside.mean()),
        "held_error": float(inside.std(ddof=1) / np.sqrt(inside.size)),
        "length": float((bounds[..., 1] - bounds[..., 0]).mean()),
    }


if __name__ == "__main__":
    main()
