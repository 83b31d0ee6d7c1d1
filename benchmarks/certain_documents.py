"""Ratios where a design was given certain documents: an old pool, or an earlier sample.

Three ways to the judgments of a sample, each beside 20 or 60 further ones a topic: half of the
contributing runs pooled to rank 5, and a sample of 40 that is enlarged. ``dyn``, with denominators
from the counts of all topics (the default) and from the topic's own sample: bias in mean standard
errors, RMS error, coverage and length of 90 % intervals of mean scores, by kind of run. Nothing was
chosen on the collections that are held out. ``run`` writes results.csv, ``report`` prints it by
collection and as means over all. Seeds: that of pool or first sample is the number of the sample,
that of the further judgments 100 more.
"""

import argparse
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import xarray as xr

import bayeseval as be
from benchmarks.coverage_collections import EVERY, at_hand, halved, roles
from benchmarks.held import held

RESULTS = Path(__file__).parent / "certain_documents" / "results.csv"
MEASURES = ["AP", "nDCG@10", "R@100"]
POOL_DEPTH, FIRST = 5, 40
WAYS = {"old pool, 20 more": ("pool", 20), "old pool, 60 more": ("pool", 60),
        "sample of 40, 60 more": ("sample", 60)}  # fmt: skip
KEYS = ["collection", "way", "measure", "runs", "denominator"]


def certain_pairs(collection: xr.DataTree, kind: str, seed: int) -> np.ndarray:
    """Pairs (pair,) that are judged already: an old pool, or a first sample."""
    judged = collection["judgments/grade"].notnull().to_numpy()
    if kind == "sample":
        design = be.designs.pps_strata(collection, budget=FIRST)
        return be.draw(design, random_seed=seed).to_numpy() & judged
    old = np.flatnonzero(collection["contributed"])
    old = np.random.default_rng(seed).permutation(old)[: max(2, old.size // 2)]
    ranked = collection["rankings/ranking"].to_numpy()[old, :, :POOL_DEPTH]
    pool = np.zeros(judged.size, dtype=bool)
    pool[ranked[ranked >= 0]] = True
    return pool & judged


def enlarged(collection: xr.DataTree, kind: str, more: int, seed: int) -> xr.DataTree:
    """Collection with the certain judgments and ``more`` drawn ones a topic."""
    certain = certain_pairs(collection, kind, seed)
    n_topics = collection.sizes["topic"]
    number = np.bincount(collection["pair_topic"].to_numpy()[certain], minlength=n_topics) + more
    budget = dict(zip(collection["topic"].to_numpy().tolist(), number.tolist(), strict=True))
    design = be.designs.pps_strata(collection, budget=budget, certain=certain)
    selected = be.draw(design, random_seed=100 + seed)
    return be.reveal(collection, design, selected, unjudged="nonrelevant")


def rows_of(name: str, n_samples: int) -> pd.DataFrame:
    """Rows of one collection."""
    collection = halved(EVERY[name][0]())
    truth = be.evaluate(collection, MEASURES, estimator="assumed").estimate.mean("topic")
    truth = truth.transpose("measure", "run").to_numpy()
    rows = []
    for way, (kind, more) in WAYS.items():
        for denominator in ("counts", "topic"):
            parts = []
            for seed in range(n_samples):
                sampled = enlarged(collection, kind, more, seed)
                options = {"denominator": denominator}
                scores = be.evaluate(sampled, MEASURES, estimator="dyn", estimator_options=options)
                mean = be.mean_over_topics(scores).transpose("ci_bound", "measure", "run", ...)
                low, high = mean.interval.to_numpy()
                off = mean.estimate.to_numpy() - truth
                parts.append((off, mean.standard_error, held(truth, low, high), high - low))
            off, error, inside, length = (np.stack(part) for part in zip(*parts, strict=True))
            for role, chosen in roles(collection).items():
                for at, measure in enumerate(MEASURES):
                    cell = (slice(None), at, chosen)
                    facts = dict(zip(KEYS, (name, way, measure, role, denominator), strict=True))
                    rows.append(facts | {
                        "bias": off[cell].mean() / error[cell].mean(),
                        "error": np.sqrt(np.square(off[cell]).mean()),
                        "coverage": inside[cell].mean(), "length": length[cell].mean(),
                        "samples": n_samples,
                    })  # fmt: skip
    return pd.DataFrame(rows).set_index(KEYS)


def report() -> None:
    """The table of AP and R@100 of contributing runs, and means over all collections."""
    table = pd.read_csv(RESULTS, index_col=KEYS)
    shown = table.xs("contributed", level="runs").query("measure != 'nDCG@10'")
    print(shown[["bias", "coverage"]].unstack(["denominator"]).to_string(float_format="%.2f"))
    every = table.reset_index().query("runs != 'dual'").groupby(["way", "measure", "denominator"])
    print(every[["bias", "coverage", "length"]].mean().unstack().to_string(float_format="%.3f"))
    error = np.log(table["error"]).unstack("denominator").query("runs != 'dual'")
    ratio = np.exp((error["counts"] - error["topic"]).groupby(["way", "measure"]).mean())
    print("error by counts over that by the topic's own:", ratio.round(2).to_dict())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["run", "report"])
    parser.add_argument("--collection", action="append", choices=list(EVERY))
    parser.add_argument("--samples", type=int, default=6)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if options.what == "report":
        return report()
    parts = [pd.read_csv(RESULTS, index_col=KEYS)] if RESULTS.exists() else []
    for name in at_hand(options.collection or EVERY):
        parts = [part.drop(name, level="collection", errors="ignore") for part in parts]
        parts.append(rows_of(name, options.samples))
        pd.concat(parts).to_csv(RESULTS, float_format="%.4g")
        print(name, flush=True)
    return None


if __name__ == "__main__":
    main()
