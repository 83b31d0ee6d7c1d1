"""Samples as other people draw them: strata by the best rank of a document in any run.

Sampleval files of strata by best rank, of which a share is judged, on the collections of
``coverage_collections.py`` (half of the runs make the strata), with ratios that have the topic's
own number there. ``run`` draws samples and scores them by ``dyn``, by the relevance model (its
approximation) with errors of its own, and by both combined, with the constants of the package; it
writes ``others_strata/results.csv``. ``report`` prints bias in standard errors, RMS error and
coverage of 90 % intervals. The seed of a sample is its number.
"""

import argparse
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import xarray as xr

import bayeseval as be
from bayeseval.rounding import ROUNDING
from benchmarks.coverage_collections import COLLECTIONS, at_hand, roles, whole
from benchmarks.held import held

RESULTS = Path(__file__).parent / "others_strata" / "results.csv"
MEASURES = ["P@10", "AP", "R@100"]
NAMES = [*COLLECTIONS, "factors-17"]
DEEPEST = 10**6
# name -> deepest best rank of each stratum, share of it that is judged
STRATA = {
    "pool 10 whole, .1": ((10, DEEPEST), (1.0, 0.1)),
    "pool 10 whole, 30 .2, .05": ((10, 30, DEEPEST), (1.0, 0.2, 0.05)),
    "5 .5, 20 .2, .05": ((5, 20, DEEPEST), (0.5, 0.2, 0.05)),
    "10 .2, .05": ((10, DEEPEST), (0.2, 0.05)),
    "3 .6, 10 .3, 30 .1, .03": ((3, 10, 30, DEEPEST), (0.6, 0.3, 0.1, 0.03)),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("act", choices=["run", "report"])
    parser.add_argument("--samples", type=int, default=4)
    parser.add_argument("--chunks", type=Path, default=Path("coverage-output"))
    options = parser.parse_args()
    if options.act == "run":
        warnings.simplefilter("ignore")
        options.chunks.mkdir(exist_ok=True)
        rows = []
        for name in at_hand(NAMES):
            collection = whole(name, options.chunks)
            for strata in STRATA:
                for number in range(options.samples):
                    found = scored(collection, strata, number)
                    rows += [row | {"collection": name, "strata": strata} for row in found]
            print(name, flush=True)
        RESULTS.parent.mkdir(exist_ok=True)
        table(pd.DataFrame(rows)).to_csv(RESULTS, index=False, float_format="%.3g")
    report(pd.read_csv(RESULTS))


def sampled(collection: xr.DataTree, strata: str, number: int) -> tuple[xr.DataTree, xr.DataTree]:
    """A sample, as read from sampleval, and the collection with all judgments of its frame."""
    ranking = collection["rankings/ranking"].to_numpy()[collection["contributed"].to_numpy()]
    best = np.full(collection.sizes["pair"], DEEPEST)
    np.minimum.at(best, ranking, np.where(ranking < 0, DEEPEST, np.arange(ranking.shape[2]) + 1))
    pairs = pd.DataFrame(
        {
            "topic": collection["topic"].to_numpy()[collection["pair_topic"].to_numpy()],
            "document": collection["document"].to_numpy(),
            "grade": collection["judgments/grade"].to_numpy(),
            "best": best,
        }
    )
    frame = pairs[pairs["grade"].notna() & (pairs["best"] < DEEPEST)]
    deepest, shares = STRATA[strata]
    frame = frame.assign(stratum=np.searchsorted(deepest, frame["best"]) + 1)
    random = np.random.default_rng(number)
    frame = frame.assign(place=random.permutation(len(frame)))
    groups = frame.groupby(["topic", "stratum"])["place"]
    size, place = groups.transform("size"), groups.rank()
    share = np.array(shares)[frame["stratum"] - 1]
    drawn = place <= np.maximum(np.ceil(share * size - 1e-9), np.minimum(size, 2))
    runs = be.trec.runs_frame(collection)
    labels = collection["run"].to_numpy()
    table = pd.DataFrame({"run": labels, "contributed": collection["contributed"].to_numpy()})
    columns = frame[["topic", "document", "stratum", "grade"]].astype({"grade": int})
    hidden = columns.assign(grade=columns["grade"].where(drawn, -1))
    sample = be.read_collection(hidden, runs, qrels_format="sampleval", run_table=table)
    known = be.read_collection(columns.drop(columns="stratum"), runs, run_table=table)
    return sample, be.select(known, runs=sample["run"].to_numpy().tolist())


def scored(collection: xr.DataTree, strata: str, number: int) -> Iterator[dict]:
    """A row for every estimate, measure and kind of run of one sample."""
    sample, known = sampled(collection, strata, number)
    truth = be.evaluate(known, MEASURES, estimator="assumed").estimate.mean("topic")
    mean = be.mean_over_topics(be.evaluate(sample, MEASURES, estimator="dyn"))
    model = be.models.relevance_model(sample)
    fitted = be.fit(model, approximation="laplace", draws=100, random_seed=number)
    post = be.posterior_scores(fitted, sample, MEASURES, random_seed=number)
    found = {
        "dyn": mean,
        "model": be.summarize(be.with_model_errors(post, random_seed=number)),
        "combined": be.combine(mean, post),
    }
    for by, one in found.items():
        off = (one.estimate - truth).transpose("run", "measure")
        bounds = one.interval.transpose("ci_bound", "run", "measure").to_numpy()
        inside = held(truth.transpose("run", "measure").to_numpy(), *bounds)
        error = one.standard_error.transpose("run", "measure").to_numpy()
        for role, chosen in roles(sample).items():
            for at, measure in enumerate(off["measure"].to_numpy().tolist()):
                yield {
                    "by": by,
                    "measure": measure,
                    "runs": role,
                    "bias": off.to_numpy()[chosen, at].mean(),
                    "error": error[chosen, at].mean(),
                    "square": np.square(off.to_numpy()[chosen, at]).mean(),
                    "coverage": inside[chosen, at].mean(),
                }


def table(rows: pd.DataFrame) -> pd.DataFrame:
    """Means over samples."""
    groups = rows.groupby(["collection", "strata", "by", "measure", "runs"], sort=False)
    means = groups[["bias", "error", "square", "coverage"]].mean().reset_index()
    exact = means["square"] < ROUNDING**2  # runs whose first ten were all judged
    bias = (means.pop("bias") / means.pop("error")).mask(exact)
    error = np.sqrt(means.pop("square")).mask(exact, 0.0)
    return means.assign(bias_over_error=bias, rms_error=error)


def report(results: pd.DataFrame) -> None:
    """Coverage, bias and error over that of ``dyn``: means over collections, and the worst."""
    dyn = results[results["by"] == "dyn"]
    on = ["collection", "strata", "measure", "runs"]
    both = results.merge(dyn[[*on, "rms_error"]], on=on, suffixes=("", "_dyn"))
    both["over_dyn"] = both["rms_error"] / both["rms_error_dyn"].where(both["rms_error_dyn"] > 0)
    groups = both.groupby(["strata", "measure", "runs", "by"], sort=False)
    print(
        groups.agg(
            coverage=("coverage", "mean"),
            least=("coverage", "min"),
            bias=("bias_over_error", "mean"),
            over_dyn=("over_dyn", "mean"),
        )
        .unstack("by")
        .round(2)
        .to_string()
    )


if __name__ == "__main__":
    main()
