"""What people make of the labels of an LLM today, beside the combination, at equal human labels.

The labels are simulated on TREC-COVID round 5 (every third run), or on another collection, from
confusion tables: those of a judge of the LLMJudge challenge against its human grades
(``llmjudge/``), independent given the grade, or by a judge that is lenient on some topics and
favours what some of the runs rank high.
Ways: the mean of the labels; the query-level prediction-powered estimate (PPI++ with its tuned
lambda), for which as many topics as the human labels allow are judged to rank 10 of all runs; and a
sample of each topic with ``dyn``, its labels learned, the relevance model that has the labels as
predictor, and both combined. Prints, of P@10, RMS error, coverage and length of 90 % intervals, and
the same of differences between a run and the next.
"""

import argparse
import warnings

import numpy as np
import pandas as pd
import xarray as xr

import bayeseval as be
from bayeseval.collection import with_node
from bayeseval.trec import qrels_frame
from benchmarks.coverage_collections import COLLECTIONS
from benchmarks.real_data import trec_covid

MEASURE = "P@10"
TUNED = 5  # every so many runs is one that the odd judge favours
FAVOUR = 0.35  # share of their first 20 documents that it calls relevant whatever they are


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--budget", type=int, default=30, help="human labels a topic")
    parser.add_argument("--samples", type=int, default=5)
    parser.add_argument("--judge", default="Olz-gpt4o", help="file of llmjudge/")
    parser.add_argument("--collection", choices=list(COLLECTIONS), default="trec-covid-5")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    collection = COLLECTIONS[options.collection][0]()
    truth = scores_of(collection)
    share = judge_rates(options.judge).reindex(columns=range(4), fill_value=0.0).to_numpy()
    rows = []
    for kind in ("independent errors", "errors by topic and run"):
        labels = labelled(collection, share, kind, np.random.default_rng(3))
        label_scores = scores_of(with_grades(collection, labels))
        judged = be.add_predictions(collection, "judge", frame(collection, labels))
        found: dict[str, list] = {}
        for number in range(1, options.samples + 1):
            random = np.random.default_rng([number, options.budget])
            ways = {
                "labels alone": (label_scores.mean(axis=1), None, None),
                "PPI++ by topic": powered(collection, truth, label_scores, options.budget, random),
            } | sampled_ways(judged, options.budget, number)
            for name, way in ways.items():
                found.setdefault(name, []).append(summed(way, truth.mean(axis=1)))
        for name, columns in found.items():
            table = pd.DataFrame(columns)
            means = table.mean()
            means[["rms", "difference rms"]] **= 0.5
            rows.append({"judge": kind, "way": name} | means.round(4).to_dict())
    print(pd.DataFrame(rows).to_string(index=False))


def judge_rates(judge: str) -> pd.DataFrame:
    """P(label | grade) of a judge of LLMJudge; human grades 2 and 3 are one."""
    folder = trec_covid().parent / "llmjudge"
    human, labels = (
        qrels_frame(be.read_collection(folder / f"{name}.txt"))
        .set_index(["topic", "document"])
        .grade.astype(int)
        for name in ("human-qrels", judge)
    )
    rates = pd.crosstab(human.clip(upper=2), labels.reindex(human.index).rename("label"))
    return rates.div(rates.sum(axis=1), axis=0)


def frame(collection: xr.DataTree, values) -> pd.DataFrame:
    """Labels as a user would have them."""
    topic = collection["topic"].to_numpy()[collection["pair_topic"].to_numpy()]
    document = collection["document"].to_numpy()
    return pd.DataFrame({"topic": topic, "document": document, "label": values})


def scores_of(collection: xr.DataTree) -> np.ndarray:
    """Scores (run, topic) by complete judgments."""
    found = be.evaluate(collection, MEASURE, estimator="assumed").estimate
    return found.sel(measure=MEASURE).transpose("run", "topic").to_numpy()


def labelled(collection: xr.DataTree, share: np.ndarray, kind: str, random) -> np.ndarray:
    """A label (pair,) for every pair."""
    grade = np.nan_to_num(collection["judgments/grade"].to_numpy()).astype(int).clip(0, 2)
    chance = random.random(grade.size)
    if kind == "errors by topic and run":
        topic = collection["pair_topic"].to_numpy()
        lenient = random.normal(0.0, 0.6, collection.sizes["topic"])[topic]
        chance = 1.0 / (1.0 + np.exp(-(np.log(chance) - np.log1p(-chance) + lenient)))
    label = (chance[:, None] > np.cumsum(share, axis=1)[grade][:, :3]).sum(axis=1)
    if kind == "errors by topic and run":
        top = collection["rankings/ranking"].to_numpy()[::TUNED, :, :20]
        favoured = np.unique(top[top >= 0])
        favoured = favoured[random.random(favoured.size) < FAVOUR]
        label[favoured] = np.maximum(label[favoured], 2)
    return label.astype(float)


def with_grades(collection: xr.DataTree, labels: np.ndarray) -> xr.DataTree:
    """The collection as if the labels were its judgments."""
    judgments = collection["judgments"].to_dataset(inherit=False)
    return with_node(collection, "judgments", judgments.assign(grade=("pair", labels)))


def powered(collection: xr.DataTree, truth, predicted, budget: int, random):
    """Estimate (run,), covariance (run, run) and degrees of freedom by PPI++ over topics.

    Angelopoulos, Duchi and Zrnic (2023), with the topics at hand as the population: lambda is
    tuned for every run, and the variance has the finite population's correction.
    """
    top = collection["rankings/ranking"].to_numpy()[:, :, :10]
    cost = np.array([np.unique(one[one >= 0]).size for one in np.moveaxis(top, 1, 0)])
    order = random.permutation(cost.size)
    known = order[np.cumsum(cost[order]) <= budget * cost.size]
    y, f = truth[:, known], predicted[:, known]
    n = known.size
    cross = ((y - y.mean(axis=1, keepdims=True)) * (f - f.mean(axis=1, keepdims=True))).sum(axis=1)
    spread = ((f - f.mean(axis=1, keepdims=True)) ** 2).sum(axis=1)
    tuned = np.clip(cross / np.maximum(spread, 1e-12), 0.0, 1.0)[:, None]
    estimate = (tuned * predicted).mean(axis=1) + (y - tuned * f).mean(axis=1)
    matrix = np.cov(y - tuned * f) * (1.0 - n / cost.size) / n
    return estimate, matrix, n - 1


def sampled_ways(judged: xr.DataTree, budget: int, number: int) -> dict:
    """dyn with learned labels, the model with the labels as predictor, and both combined."""
    seed = 1000 * budget + number
    design = be.designs.pps_strata(judged, budget=budget)
    sampled = be.reveal(judged, design, be.draw(design, random_seed=seed))
    mean = be.mean_over_topics(be.evaluate(sampled, MEASURE, estimator="dyn"))
    matrix = be.covariance(sampled, MEASURE, estimator="dyn")
    model = be.models.relevance_model(sampled, external="judge")
    fitted = be.fit(model, approximation="laplace", draws=400, random_seed=seed)
    post = be.posterior_scores(fitted, sampled, MEASURE, random_seed=seed)
    both = be.combine(mean, post, covariance=matrix)
    draws = post.estimate.squeeze("measure").stack(sample=("chain", "draw"))
    freedom = mean.degrees_of_freedom.squeeze("measure").to_numpy()
    own = matrix.squeeze("measure").to_numpy()
    size = mean.standard_error.squeeze("measure").to_numpy() / np.sqrt(np.diagonal(own))
    return {
        "dyn": (mean.estimate.squeeze().to_numpy(), own * np.outer(size, size), freedom),
        "model": (draws.mean("sample").to_numpy(), np.cov(draws.to_numpy()), None),
        "combined": (
            both.estimate.squeeze().to_numpy(),
            both.covariance.squeeze().to_numpy(),
            None,
        ),
    }


def summed(way, truth: np.ndarray) -> dict[str, float]:
    """Squared error, coverage and length of one sample, of runs and of differences."""
    from scipy.special import stdtrit

    estimate, matrix, freedom = way
    matrix = np.full((truth.size, truth.size), np.nan) if matrix is None else matrix
    wide = stdtrit(np.broadcast_to(np.inf if freedom is None else freedom, truth.shape), 0.95)
    wide = np.where(np.isnan(wide), 1.6449, wide)
    off, half = estimate - truth, wide * np.sqrt(np.diagonal(matrix))
    apart = np.diff(off)
    variance = np.diagonal(matrix)[1:] + np.diagonal(matrix)[:-1] - 2 * np.diagonal(matrix, 1)
    between = wide[1:] * np.sqrt(np.maximum(variance, 0.0))
    none = np.isnan(half).all()
    return {
        "rms": (off**2).mean(),
        "bias": off.mean(),
        "covered": np.nan if none else (np.abs(off) <= half + 1e-12).mean(),
        "length": 2 * half.mean(),
        "difference rms": (apart**2).mean(),
        "difference covered": np.nan if none else (np.abs(apart) <= between + 1e-12).mean(),
        "difference length": 2 * between.mean(),
    }


if __name__ == "__main__":
    main()
