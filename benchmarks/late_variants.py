"""Variants of old systems that come after the sample: are their combined differences right?

Two variants of each of three contributing runs of every collection, whose documents are moved by
normal noise on their ranks, and a copy of each, all added after the sample. RMS error, length and
coverage of 90 % intervals of differences from the old run, and between the two variants, by the
combination and by ``dyn``; means over pairs and samples, and over collections. 100 judgments a
topic; seed of a sample: 950 + its number.
"""

import argparse
import warnings

import numpy as np
import pandas as pd
import xarray as xr

import bayeseval as be
from benchmarks.coverage_collections import COLLECTIONS, at_hand, halved
from benchmarks.held import held

MEASURES = ["P@10", "RBP(p=0.8)", "AP"]
N_RUNS, BUDGET, DRAWS = 3, 100, 200
MOVED = {"copy": 0.0, "moved by 1.5": 1.5, "moved by 8": 8.0}  # sd of the noise on ranks


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--collection", action="append", choices=list(COLLECTIONS))
    parser.add_argument("--samples", type=int, default=3)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    found = []
    for name in at_hand(options.collection or COLLECTIONS):
        rows = differences(halved(COLLECTIONS[name][0]()), options.samples)
        found.append(summed(rows).assign(collection=name))
        print(found[-1].to_string(), flush=True)
    whole = pd.concat(found)
    print("\nmean over collections")
    print(whole.groupby(["measure", "pair"], sort=False).mean(numeric_only=True).to_string())


def differences(collection: xr.DataTree, n_samples: int) -> pd.DataFrame:
    """A row for each sample, pair, measure and source: error, length, whether it held."""
    runs = collection["run"].to_numpy()[collection["contributed"].to_numpy()][:N_RUNS].tolist()
    frame, random = be.trec.runs_frame(be.select(collection, runs=runs)), np.random.default_rng(6)
    names = [f"{run}/{kind}/{n}" for run in runs for kind in MOVED for n in (1, 2)]
    late = pd.concat([moved(frame, name, random) for name in names])
    grown = be.add_runs(collection, late)
    truth = be.evaluate(grown, MEASURES, estimator="assumed").estimate.mean("topic")
    design = be.designs.pps_strata(collection, budget=BUDGET)
    rows = []
    for number in range(n_samples):
        seed = 950 + number
        sampled = be.add_runs(
            be.reveal(collection, design, be.draw(design, random_seed=seed)), late
        )
        scores = be.combined_scores(sampled, MEASURES, draws=DRAWS, random_seed=seed)
        some = [*runs, *names]
        by_dyn = be.compare(be.select(sampled, runs=some), MEASURES, estimator="dyn")
        combined = be.rankings.compare_draws(scores.sel(run=some, run_other=some))
        for source, pairs in (("combined", combined), ("dyn", by_dyn)):
            rows.append(held_pairs(pairs, truth).assign(source=source))
    return pd.concat(rows)


def moved(frame: pd.DataFrame, name: str, random: np.random.Generator) -> pd.DataFrame:
    """A run whose documents have noise on their ranks, by its name RUN/KIND/NUMBER."""
    run, kind, _ = name.rsplit("/", 2)
    one = frame[frame["run"] == run].sort_values(["topic", "score"], ascending=[True, False])
    rank = one.groupby("topic").cumcount().to_numpy()
    return one.assign(run=name, score=-(rank + MOVED[kind] * random.normal(size=rank.size)))


def held_pairs(pairs: xr.Dataset, truth: xr.DataArray) -> pd.DataFrame:
    """Rows of the pairs of one old run and its variants."""
    rows = be.to_frame(pairs)
    family = [rows[side].str.split("/") for side in ("run_a", "run_b")]
    kinds = [names.str[1].fillna("old") for names in family]
    chosen = family[0].str[0] == family[1].str[0]
    chosen &= (kinds[0] == kinds[1]) | (kinds[0] == "old")
    rows = rows.assign(pair=kinds[0] + ", " + kinds[1])[chosen]
    known = truth.transpose("measure", "run").to_series()
    right = [
        known[measure, a] - known[measure, b]
        for measure, a, b in zip(rows["measure"], rows["run_a"], rows["run_b"], strict=True)
    ]
    return rows.assign(
        square=(rows["estimate"] - right) ** 2,
        length=rows["upper"] - rows["lower"],
        held=held(np.array(right), rows["lower"].to_numpy(), rows["upper"].to_numpy()),
    )[["measure", "pair", "square", "length", "held"]]


def summed(rows: pd.DataFrame) -> pd.DataFrame:
    """RMS error, length and coverage by measure, pair and source, side by side."""
    means = rows.groupby(["measure", "pair", "source"], sort=False).mean().unstack("source")
    error = np.sqrt(means["square"])
    return pd.DataFrame(
        {f"{what}, {source}": part[source] for what, part in
         (("error", error), ("length", means["length"]), ("held", means["held"]))
         for source in ("combined", "dyn")}
    ).round(4)  # fmt: skip


if __name__ == "__main__":
    main()
