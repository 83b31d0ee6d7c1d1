"""What labels of other judges are worth to `dyn`: learned from, or taken as they are.

Simulated judges label documents of collections whose judgments are known. Each prints the RMS error
of the mean over topics (over runs and samples), the mean length of 90 % intervals and their
coverage, without labels, with labels learned beside the ranks (the default), and with labels taken
for the relevance (graded ones for the grade). With ``--design`` strata follow the labels too, and
only learned ones are shown. ``--collection trec-covid-5`` needs the real data.
"""

import argparse
import warnings
from functools import partial

import numpy as np
import pandas as pd

import bayeseval as be
from benchmarks.coverage_collections import COLLECTIONS
from benchmarks.held import held

MEASURES = ["P@10", "AP", "nDCG@10"]
WAYS = {"none": "pooled", "learned": None, "raw": ("external", "judge")}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--collection", choices=list(COLLECTIONS), default="graded")
    parser.add_argument("--budget", type=int, action="append")
    parser.add_argument("--samples", type=int, default=20)
    parser.add_argument("--judge", action="append", choices=list(JUDGES))
    parser.add_argument("--design", action="store_true")
    options = parser.parse_args()
    collection = COLLECTIONS[options.collection][0]()
    truth = be.evaluate(collection, MEASURES, estimator="assumed").estimate.mean("topic")
    rows = []
    for budget in options.budget or [30]:
        for number, judge in enumerate(options.judge or list(JUDGES)):
            labels = JUDGES[judge](collection, np.random.default_rng(5))
            labelled = be.add_predictions(collection, "judge", frame(collection, labels))
            for way in ["learned"] if options.design else WAYS:
                if way == "none" and number:
                    continue
                mean = estimated(labelled, budget, options, way)
                cell = {"collection": options.collection, "budget": budget, "judge": judge}
                rows += [cell | {"labels": way} | row for row in summed(mean, truth)]
    print(pd.DataFrame(rows).to_string(index=False))


def estimated(labelled, budget: int, options, way: str):
    """Means over topics of every sample."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        shaping = {"labels": "judge"} if options.design else {}
        design = be.designs.pps_strata(labelled, budget=budget, **shaping)
        selected = be.draw(design, n_replicates=options.samples, random_seed=budget)
        sampled = be.reveal(labelled, design, selected)
        scores = be.evaluate(sampled, MEASURES, estimator="dyn", predictor=WAYS[way])
        return be.mean_over_topics(scores)


def summed(mean, truth) -> list[dict]:
    """RMS error with its Monte Carlo error (samples are the clusters), coverage, mean length."""
    rows = []
    for label in MEASURES:
        some, true = mean.sel(measure=label), truth.sel(measure=label)
        error = (some.estimate - true).transpose("replicate", "run").to_numpy()
        lower, upper = some.interval.transpose("ci_bound", "replicate", "run").to_numpy()
        inside = held(true.to_numpy(), lower, upper)
        squares = (error**2).mean(axis=1)
        rms = np.sqrt(squares.mean())
        rows.append({
            "measure": label,
            "rms": round(rms, 4),
            "+-": round(squares.std(ddof=1) / np.sqrt(len(squares)) / (2 * rms), 4),
            "bias": round(error.mean(), 4),
            "coverage": round(inside.mean(), 3),
            "length": round((upper - lower).mean(), 4),
        })  # fmt: skip
    return rows


def latent(collection, random, noise: float) -> np.ndarray:
    """What a judge sees in each pair: the grade, an error of the topic, and one of the pair."""
    grade = collection["judgments/grade"].to_numpy()
    topic = collection["pair_topic"].to_numpy()
    bias = random.normal(0.0, 0.4, collection.sizes["topic"])[topic]
    return np.where(np.isnan(grade), 0.0, grade) + bias + random.normal(0.0, noise, grade.size)


def frame(collection, values) -> pd.DataFrame:
    """Labels as a user would have them; NaN rows are labels that the judge did not give."""
    return pd.DataFrame(
        {
            "topic": collection["topic"].to_numpy()[collection["pair_topic"].to_numpy()],
            "document": collection["document"].to_numpy(),
            "label": values,
        }
    )


def graded(collection, random, noise: float, shift: float = 0.0) -> np.ndarray:
    top = np.nanmax(collection["judgments/grade"].to_numpy())
    return np.clip(np.round(latent(collection, random, noise) + shift), 0, top)


def nearly_right(collection, random):
    """A judge that is wrong about one document in two hundred."""
    grade = np.nan_to_num(collection["judgments/grade"].to_numpy())
    wrong = random.random(grade.size) < 0.005
    return np.where(wrong, grade == 0, grade)


def fair(collection, random):
    return graded(collection, random, 0.9)


def chance(collection, random):
    return random.permutation(fair(collection, random))


def reversed_(collection, random):
    values = fair(collection, random)
    return values.max() - values


def gaps(collection, random):
    """A fair judge that left out half of the documents."""
    values = fair(collection, random)
    return np.where(random.random(values.size) < 0.5, values, np.nan)


def probability(collection, random):
    """Probabilities of relevance by a fair judge that is too sure."""
    seen = latent(collection, random, 0.7)
    return 1.0 / (1.0 + np.exp(-6.0 * (seen - 0.6)))


# name -> labels (pair,) of a collection by chance
JUDGES = {
    "nearly right": nearly_right,
    "good": partial(graded, noise=0.45),
    "fair": fair,
    "lenient": partial(graded, noise=0.6, shift=0.6),
    "half missing": gaps,
    "probability": probability,
    "chance": chance,
    "reversed": reversed_,
}

if __name__ == "__main__":
    main()
