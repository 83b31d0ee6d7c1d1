"""Very small collections: four runs, twelve topics, 20 judgments a topic.

Cuts of the collections of ``coverage_collections.py``: runs and topics by chance, all runs
contribute. ``run`` draws one sample of each cut and scores it by ``dyn``, by the relevance model
(its approximation) with errors of its own, and by both combined, "average" and "each", with the
constants of the package; it writes ``small_collections/results.csv``. ``report`` prints coverage of
90 % intervals and RMS error over that of ``dyn``, of all runs and of the best one of each cut. The
seed of a cut is its number.
"""

import argparse
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import xarray as xr

import bayeseval as be
from benchmarks.coverage_collections import EVERY, at_hand, whole
from benchmarks.held import held

RESULTS = Path(__file__).parent / "small_collections" / "results.csv"
MEASURES = ["P@10", "AP", "R@100"]
RUNS, TOPICS, BUDGET = 4, 12, 20


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("act", choices=["run", "report"])
    parser.add_argument("--cuts", type=int, default=20)
    parser.add_argument("--chunks", type=Path, default=Path("coverage-output"))
    options = parser.parse_args()
    if options.act == "run":
        warnings.simplefilter("ignore")
        options.chunks.mkdir(exist_ok=True)
        rows = []
        for name in at_hand(EVERY):
            collection = whole(name, options.chunks)
            for number in range(options.cuts):
                rows += [
                    row | {"collection": name, "cut": number} for row in cut(collection, number)
                ]
            print(name, flush=True)
        RESULTS.parent.mkdir(exist_ok=True)
        by_collection(pd.DataFrame(rows)).to_csv(RESULTS, index=False, float_format="%.4g")
    report(pd.read_csv(RESULTS))


def cut(collection: xr.DataTree, number: int) -> Iterator[dict]:
    """A row for every estimate of every run of one cut."""
    random = np.random.default_rng(number)
    labels = collection["run"].to_numpy()
    real = labels[~np.char.endswith(labels.astype(str), "~dual")]
    runs = random.choice(real, RUNS, replace=False).tolist()
    topics = random.choice(collection["topic"].to_numpy(), TOPICS, replace=False).tolist()
    small = be.select(collection, runs=runs, topics=topics)
    small = small.assign(contributed=xr.DataArray(np.full(RUNS, True), dims="run"))
    truth = be.evaluate(small, MEASURES, estimator="assumed").estimate.mean("topic")
    design = be.designs.pps_strata(small, budget=BUDGET)
    sampled = be.reveal(small, design, be.draw(design, random_seed=number))
    for by, found in estimates(sampled, number).items():
        for label in MEASURES:
            one, right = found.sel(measure=label), truth.sel(measure=label).to_numpy()
            bounds = one.interval.transpose("run", "ci_bound").to_numpy()
            inside = held(right, bounds[:, 0], bounds[:, 1])
            for place in range(RUNS):
                yield {
                    "by": by,
                    "measure": label,
                    "best": bool(right[place] == right.max()),
                    "error": one.estimate.to_numpy()[place] - right[place],
                    "held": bool(inside[place]),
                    "length": bounds[place, 1] - bounds[place, 0],
                }


def estimates(sampled: xr.DataTree, seed: int) -> dict[str, xr.Dataset]:
    """Means over topics by design, model and both."""
    mean = be.mean_over_topics(be.evaluate(sampled, MEASURES, estimator="dyn"))
    fitted = be.fit(
        be.models.relevance_model(sampled), approximation="laplace", draws=100, random_seed=seed
    )
    post = be.posterior_scores(fitted, sampled, MEASURES, random_seed=seed)
    return {
        "dyn": mean,
        "model": be.summarize(be.with_model_errors(post, random_seed=seed)),
        "combined": be.combine(mean, post),
        "each": be.combine(mean, post, guarantee="each"),
    }


def by_collection(rows: pd.DataFrame) -> pd.DataFrame:
    """Coverage, RMS error, bias and length, of all runs and of the best one of each cut."""
    keys = ["runs", "collection", "measure", "by"]
    both = pd.concat([rows.assign(runs="all"), rows[rows.best].assign(runs="best")])
    groups = both.assign(square=both.error**2).groupby(keys, sort=False)
    table = groups[["held", "square", "error", "length"]].mean().reset_index()
    table["rms_error"] = np.sqrt(table.pop("square"))
    return table.rename(columns={"held": "coverage", "error": "bias"})


def report(table: pd.DataFrame) -> None:
    """Means over the collections, with their errors, and the least coverage."""
    dyn = table[table.by == "dyn"].set_index(["runs", "collection", "measure"]).rms_error
    index = pd.MultiIndex.from_frame(table[["runs", "collection", "measure"]])
    table = table.assign(over_dyn=table.rms_error.to_numpy() / dyn.reindex(index).to_numpy())
    means = table.groupby(["runs", "measure", "by"]).agg(
        coverage=("coverage", "mean"),
        coverage_error=("coverage", "sem"),
        least=("coverage", "min"),
        over_dyn=("over_dyn", "mean"),
        bias=("bias", "mean"),
    )
    print(means.round(3).to_string())


if __name__ == "__main__":
    main()
