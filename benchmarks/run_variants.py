"""Differences between variants of one run: does `be.compare` by ``dyn`` hold what it promises?

Three contributing runs of each collection, and three variants of each in which two documents among
some ten ranks change places on a tenth of the topics. Coverage of 90 % intervals of the differences
between variants of one run, with the error as it is and raised by what the predictions lead one to
expect, and of the differences between others. Seed of a sample: 900 + its number.
"""

import argparse
import warnings

import numpy as np
import pandas as pd
import scipy.stats
import xarray as xr

import bayeseval as be
from benchmarks.coverage_collections import COLLECTIONS, at_hand, halved
from benchmarks.held import held

MEASURES = ["P@10", "nDCG@10", "R@100", "AP"]
N_RUNS, N_VARIANTS = 3, 3
SHARE, TOP, REACH = 0.1, 20, 10  # of topics; ranks of which one moves, by so many less than this


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--collection", action="append", choices=list(COLLECTIONS))
    parser.add_argument("--budget", type=int, action="append")
    parser.add_argument("--samples", type=int, default=30)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    for name in at_hand(options.collection or COLLECTIONS):
        for budget in options.budget or [20, 50, 100]:
            rows = table(halved(COLLECTIONS[name][0]()), budget, options.samples)
            print(rows.assign(collection=name, budget=budget).to_string(index=False))


def table(collection: xr.DataTree, budget: int, n_samples: int) -> pd.DataFrame:
    """Coverage by measure, of pairs of variants and of other pairs."""
    runs = collection["run"].to_numpy()[collection["contributed"].to_numpy()][:N_RUNS].tolist()
    frame, random = be.trec.runs_frame(be.select(collection, runs=runs)), np.random.default_rng(5)
    variants = [
        variant(frame, run, f"{run}/{n}", random) for run in runs for n in range(N_VARIANTS)
    ]
    compared = runs + [str(one["run"].iloc[0]) for one in variants]
    grown = be.select(be.add_runs(collection, pd.concat(variants)), runs=compared)
    truth = be.evaluate(grown, MEASURES, estimator="assumed").estimate.mean("topic")
    design = be.designs.pps_strata(collection, budget=budget)
    found = []
    for number in range(n_samples):
        selected = be.draw(design, random_seed=900 + number)
        sampled = be.add_runs(be.reveal(collection, design, selected), pd.concat(variants))
        pairs = be.compare(be.select(sampled, runs=compared), MEASURES, estimator="dyn")
        found.append(coverage(pairs, truth))
    return pd.concat(found).groupby(["measure", "pairs"], sort=False).mean().reset_index().round(3)


def variant(frame: pd.DataFrame, run: str, name: str, random: np.random.Generator) -> pd.DataFrame:
    """A run in which two documents change places on some topics."""
    topics = []
    for _, one in frame[frame["run"] == run].groupby("topic", sort=False):
        document = one.sort_values("score", ascending=False)["document"].to_numpy().copy()
        if random.random() < SHARE and document.size > 1:
            first = random.integers(min(TOP, document.size - 1))
            second = min(document.size - 1, first + random.integers(1, REACH))
            document[[first, second]] = document[[second, first]]
        score = -np.arange(document.size, dtype=float)
        topics.append(pd.DataFrame({"topic": one["topic"], "document": document, "score": score}))
    return pd.concat(topics).assign(run=name)


def coverage(pairs: xr.Dataset, truth: xr.DataArray) -> pd.DataFrame:
    """Share of intervals that hold the truth, raised and as they would be without."""
    right = truth.sel(run=pairs.run_a) - truth.sel(run=pairs.run_b)
    half = pairs.standard_error * scipy.stats.t.ppf(0.95, pairs.degrees_of_freedom)
    by = {
        "raised": (pairs.interval.sel(ci_bound="lower"), pairs.interval.sel(ci_bound="upper")),
        "as it is": (pairs.estimate - half, pairs.estimate + half),
    }
    family = [
        [str(name).split("/")[0] for name in names.values] for names in (pairs.run_a, pairs.run_b)
    ]
    alike = np.array([one == other for one, other in zip(*family, strict=True)])
    dims = ("measure", "comparison")
    rows = []
    for kind, chosen in (("variants", alike), ("others", ~alike)):
        for at, measure in enumerate(pairs["measure"].values.tolist()):
            row = {"measure": measure, "pairs": kind}
            for name, bounds in by.items():
                low, high = (bound.transpose(*dims).values[at, chosen] for bound in bounds)
                row[name] = held(right.transpose(*dims).values[at, chosen], low, high).mean()
            rows.append(row)
    return pd.DataFrame(rows)


if __name__ == "__main__":
    main()
