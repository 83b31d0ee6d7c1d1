"""Scoring of all 126 round-5 runs, once encoded, beside pytrec_eval on dicts in memory."""

import time

import numpy as np
import pytest
import pytrec_eval

import bayeseval as be

MEASURES = ["AP", "nDCG@10", "P@10", "RBP(p=0.8)"]
THEIRS = {"map", "ndcg_cut.10", "P.10"}  # pytrec_eval has no RBP: it does less
KEYS = {"AP": "map", "nDCG@10": "ndcg_cut_10", "P@10": "P_10"}
FASTER = 10.0


@pytest.fixture(scope="module")
def collection(real_data, round5_runs):
    qrels = real_data / "trec-covid" / "qrels.covid-round5.txt.gz"
    return be.read_collection(qrels, f"{round5_runs}/*", score_type="float32")


def dicts_of(collection):
    """Qrels as pytrec_eval takes them, and the runs one after the other."""
    topics = collection["topic"].values
    topic, document = topics[collection["pair_topic"].values], collection["document"].values
    grade = collection["judgments/grade"].values
    qrels = {label: {} for label in topics}
    for pair in np.flatnonzero(~np.isnan(grade)):
        qrels[topic[pair]][document[pair]] = int(grade[pair])

    def runs():
        for ranking in collection["rankings/ranking"].values:
            yield {
                label: {
                    str(name): -float(rank) for rank, name in enumerate(document[row[row >= 0]])
                }
                for label, row in zip(topics, ranking, strict=True)
            }

    return qrels, runs()


def seconds_of_pytrec_eval(collection):
    """Seconds spent in pytrec_eval alone, and its scores (measure, run, topic)."""
    qrels, runs = dicts_of(collection)
    evaluator = pytrec_eval.RelevanceEvaluator(qrels, THEIRS)
    spent, scores = 0.0, []
    for run in runs:
        began = time.perf_counter()
        answer = evaluator.evaluate(run)
        spent += time.perf_counter() - began
        scores.append([[answer[topic][key] for topic in run] for key in KEYS.values()])
    return spent, np.swapaxes(scores, 0, 1)


def test_scoring_is_ten_times_faster_than_pytrec_eval(benchmark, collection):
    theirs, expected = seconds_of_pytrec_eval(collection)
    scores = benchmark.pedantic(
        be.evaluate, args=(collection, MEASURES), kwargs={"estimator": "assumed"}, rounds=5,
        warmup_rounds=1,
    )  # fmt: skip
    ours = scores["estimate"].transpose("measure", "run", "topic").sel(measure=list(KEYS))
    np.testing.assert_allclose(ours, expected, rtol=0, atol=1e-9)
    if benchmark.stats is None:  # run with --benchmark-disable
        return
    least = benchmark.stats.stats.min
    print(f"scoring: {theirs / least:.1f} times as fast as pytrec_eval")
    assert theirs >= FASTER * least, f"{theirs:.2f} s against {least:.2f} s"
