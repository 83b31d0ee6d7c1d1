"""Queries with one relevant document or few: bias and coverage of scores by a sample.

Worlds of 40 queries and five systems of 50 ranks: system s scores a document of 200 by its skill if
it is relevant, an error that all systems share (deviation .6) and one of its own (.8). The first
two systems are as good as each other. A query has ``--first`` + Poisson(``--further``) relevant
documents; 20 of the retrieved ones are judged, in pps strata. Every world has another seed.
"""

import argparse
import warnings

import numpy as np
import pandas as pd

import bayeseval as be
from benchmarks.held import held

MEASURES = ["P@10", "AP", "nDCG@10", "R@10"]
SKILL = {"a": 2.3, "b": 2.3, "c": 1.9, "d": 1.7, "e": 1.5}
N_QUERIES, N_DOCUMENTS, DEPTH, BUDGET = 40, 200, 50, 20


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--further", type=float, action="append", help="mean, beyond the first")
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--worlds", type=int, default=60)
    parser.add_argument("--estimator", action="append", choices=["stat", "dyn", "combined"])
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    rows = {}
    for further in options.further or [0.0, 0.3, 2.0]:
        worlds = [world(seed, options.first, further) for seed in range(options.worlds)]
        for estimator in options.estimator or ["stat", "dyn"]:
            found = [errors(*one, estimator, seed) for seed, one in enumerate(worlds)]
            for index, label in enumerate(MEASURES):
                rows[further, estimator, label] = summed(np.array(found)[:, :, index])
    table = pd.DataFrame(rows, index=["bias", "rms", "held", "+-", "length"]).T
    print(table.to_string(float_format="%.3f"))


def world(seed: int, first: int, further: float) -> tuple:
    """Complete judgments of what the systems found, and the sample."""
    random = np.random.default_rng(seed)
    qrels, runs = {}, {name: {} for name in SKILL}
    for query in (f"{number:03d}" for number in range(N_QUERIES)):
        relevant = np.arange(N_DOCUMENTS) < first + random.poisson(further)
        common = random.normal(size=N_DOCUMENTS)
        for name, skill in SKILL.items():
            score = skill * relevant + 0.6 * common + 0.8 * random.normal(size=N_DOCUMENTS)
            best = np.argsort(-score)[:DEPTH]
            runs[name][query] = {f"d{document}": float(score[document]) for document in best}
        found = set().union(*(runs[name][query] for name in SKILL))
        qrels[query] = {document: int(relevant[int(document[1:])]) for document in found}
    complete = be.read_collection(qrels, runs)
    design = be.designs.pps_strata(complete, budget=BUDGET)
    return complete, be.reveal(complete, design, be.draw(design, random_seed=seed))


def errors(complete, sampled, estimator: str, seed: int) -> np.ndarray:
    """Error, whether the interval holds, and its length, (3, measure, run)."""
    truth = be.mean_over_topics(be.evaluate(complete, MEASURES, estimator="assumed"))["estimate"]
    if estimator == "combined":
        mean = be.combined_scores(sampled, MEASURES, random_seed=seed)
    else:
        mean = be.mean_over_topics(be.evaluate(sampled, MEASURES, estimator=estimator))
    true = truth.transpose("measure", "run").to_numpy()
    lower, upper = mean["interval"].transpose("ci_bound", "measure", "run").to_numpy()
    error = mean["estimate"].transpose("measure", "run").to_numpy() - true
    return np.array([error, held(true, lower, upper), upper - lower])


def summed(found: np.ndarray) -> np.ndarray:
    """Bias, RMS error, coverage with its Monte Carlo error, and length, of (world, 3, run)."""
    error, inside, length = found.transpose(1, 0, 2)
    doubt = inside.mean(axis=1).std(ddof=1) / np.sqrt(len(inside))
    rms = np.sqrt((error**2).mean())
    return np.array([error.mean(), rms, inside.mean(), doubt, length.mean()])


if __name__ == "__main__":
    main()
