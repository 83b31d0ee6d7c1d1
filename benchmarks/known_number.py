"""How little could a ratio err if the number of relevant documents were known? AP and R@100.

On the samples of ``benchmarks/interval_coverage.py``: RMS errors of the mean over topics, over that
with the topic's own number of relevant documents, of the estimate by the counts of all topics
(``counts``) and of three that no one can have, by the unbiased numerator N, the number R as the
sample estimates it and the true number:

- ``number``: N over the true number;
- ``score``: the same with the error of R taken off N, times the true score of the run and topic;
- ``hindsight``: the same times what errs least for the run and topic over these very samples.

A ratio by the topic's own number that errs less than these owes it to a bias that falls right.
The table, interval_coverage/known_number.csv, has the kinds of runs and, under ``all``, all of
them, which weigh alike; ``counts_error`` is the Monte Carlo error of ``counts``.
"""

import argparse
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import xarray as xr

import bayeseval as be
from bayeseval.estimators.scoring import sum_of_precisions
from bayeseval.evaluation.problem import Problem
from bayeseval.measures.rank_sums import weighted_sum
from bayeseval.measures.scores import rank_weight
from bayeseval.rounding import ratio
from benchmarks.coverage_collections import COLLECTIONS, EVERY, at_hand, roles, whole
from benchmarks.interval_coverage import CHUNK

RESULTS = Path(__file__).parent / "interval_coverage" / "known_number.csv"
MEASURES = ["AP", "R@100"]
FORMS = ["counts", "number", "score", "hindsight"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--collection", action="append", choices=list(EVERY))
    parser.add_argument("--budget", type=int, action="append")
    parser.add_argument("--samples", type=int, default=30)
    parser.add_argument("--chunks", type=Path, default=Path("coverage-output"))
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    options.chunks.mkdir(exist_ok=True)
    rows = []
    for name in at_hand(options.collection or COLLECTIONS):
        collection = whole(name, options.chunks)
        for budget in options.budget or [50, 100, 200]:
            for estimator in ("stat", "dyn"):
                found = errors(collection, budget, estimator, options.samples // CHUNK)
                cell = {"collection": name, "budget": budget, "estimator": estimator}
                rows += [cell | row for row in over_own(found, roles(collection))]
        print(name, flush=True)
    table = pd.DataFrame(rows)
    table.to_csv(RESULTS, index=False, float_format="%.4g")
    of_all = table.loc[table["runs"] == "all"].set_index(["budget", "estimator", "measure"])
    shown = ["collection", *FORMS, "counts_error"]
    print(of_all[shown].sort_index(kind="stable").to_string(float_format="%.2f"))


def errors(collection: xr.DataTree, budget: int, estimator: str, n_chunks: int) -> xr.Dataset:
    """Errors (measure, run, replicate) of means over topics, of each form and by the own number."""
    truth = be.evaluate(collection, [*MEASURES, "NumRel"], estimator="assumed").estimate
    true = truth.transpose("measure", "topic", "run").to_numpy()
    score, number = true[:-1], np.maximum(true[-1, :, :1], 1.0)
    design = be.designs.pps_strata(collection, budget=budget)
    chunks = []
    for chunk in range(1, n_chunks + 1):
        seed = 1000 * budget + chunk
        selected = be.draw(design, n_replicates=CHUNK, random_seed=seed)
        chunks.append(_parts(be.reveal(collection, design, selected), estimator))
    parts = xr.concat(chunks, "replicate")
    above = parts["above"].transpose("measure", "topic", "run", "replicate").to_numpy()
    off = (parts["below"].transpose("topic", "replicate").to_numpy() - number)[:, None]
    left = above - score[..., None] * number[..., None]
    best = ratio((left * off).sum(axis=-1), (off**2).sum(axis=-1))
    taken = {"number": 0.0, "score": score[..., None], "hindsight": best[..., None]}
    forms = {
        name: ((left - share * off) / number[..., None]).mean(axis=1)
        for name, share in taken.items()
    }
    for name in ("own", "counts"):
        estimate = parts[name].transpose("measure", "run", "replicate").to_numpy()
        forms[name] = estimate - score.mean(axis=1)[..., None]
    dims = ("measure", "run", "replicate")
    return xr.Dataset({name: (dims, value) for name, value in forms.items()})


def _parts(sampled: xr.DataTree, estimator: str) -> xr.Dataset:
    """Estimates with both denominators, numerators (``above``) and R by the sample (``below``)."""
    found = {}
    for name, denominator in (("own", "topic"), ("counts", "counts")):
        how = {"estimator": estimator, "estimator_options": {"denominator": denominator}}
        found[name] = be.mean_over_topics(be.evaluate(sampled, MEASURES, **how)).estimate
    problem = Problem.prepared(sampled, MEASURES, estimator=estimator)
    ap, recall = problem.measures
    above, below = [], []
    for number, position in problem.topics():
        topic = problem.relevance.topic(number, position)
        value = topic.binary(1).value
        weight = rank_weight(recall, position.shape[1])
        above.append([sum_of_precisions(ap, topic)[0], weighted_sum(position, weight, value)])
        below.append(value.sum(axis=0))
    found["above"] = (("topic", "measure", "run", "replicate"), np.array(above))
    found["below"] = (("topic", "replicate"), np.array(below))
    return xr.Dataset(found)


def over_own(found: xr.Dataset, kinds: dict[str, np.ndarray]) -> list[dict[str, object]]:
    """RMS error of each form over that with the topic's own number; bias of the latter."""
    rows = []
    for position, label in enumerate(MEASURES):
        off = {name: found[name].to_numpy()[position] for name in ("own", *FORMS)}
        of_kinds = [
            {n: (e[some] ** 2).mean(axis=0) for n, e in off.items()} for some in kinds.values()
        ]
        bias = [off["own"][some].mean() for some in kinds.values()]
        of_all = {name: np.mean([one[name] for one in of_kinds], axis=0) for name in off}
        for kind, shift, square in zip(
            (*kinds, "all"), (*bias, np.mean(bias)), (*of_kinds, of_all), strict=True
        ):
            row = {"measure": label, "runs": kind, "samples": square["own"].size}
            row |= {"own_bias": shift, "own": np.sqrt(square["own"].mean())}
            row |= {n: np.sqrt(square[n].mean() / square["own"].mean()) for n in FORMS}
            rows.append(row | {"counts_error": _error_of_ratio(square["counts"], square["own"])})
    return rows


def _error_of_ratio(above: np.ndarray, below: np.ndarray) -> float:
    """Standard error of the ratio of two RMS errors, by squares (sample,) of the same samples."""
    apart = above / above.mean() - below / below.mean()
    of_root = 0.5 * np.sqrt(above.mean() / below.mean())
    return float(of_root * apart.std(ddof=1) / np.sqrt(above.size))


if __name__ == "__main__":
    main()
