"""ERR by its formula and by gdeval."""

import ir_measures
import numpy as np
import pandas as pd
import pytest

import bayeseval as be
from bayeseval.measures.names import parse_measures


@pytest.fixture(scope="module")
def data():
    random = np.random.default_rng(1)
    documents = [f"d{number}" for number in range(40)]
    grades = random.choice(5, size=(3, 40), p=[0.6, 0.2, 0.1, 0.05, 0.05])
    qrels = [
        (str(t), d, int(g))
        for t, row in enumerate(grades)
        for d, g in zip(documents, row, strict=True)
    ]
    runs = [
        (run, str(t), document, float(-rank))
        for run in "ab"
        for t in range(3)
        for rank, document in enumerate(random.permutation(documents)[:25])
    ]
    return (
        pd.DataFrame(qrels, columns=["topic", "document", "grade"]),
        pd.DataFrame(runs, columns=["run", "topic", "document", "score"]),
    )


@pytest.mark.parametrize("cutoff", [3, 10, 100])
def test_err_is_its_formula_and_that_of_gdeval(data, cutoff):
    qrels, runs = data
    collection = be.read_collection(qrels, runs)
    found = be.evaluate(collection, f"ERR@{cutoff}", estimator="assumed").estimate.isel(measure=0)
    grade = qrels.set_index(["topic", "document"])["grade"]
    theirs = qrels.set_axis(["query_id", "doc_id", "relevance"], axis=1)
    for name, run in runs.groupby("run"):
        asked = run.drop(columns="run").set_axis(["query_id", "doc_id", "score"], axis=1)
        gdeval = {
            one.query_id: one.value
            for one in ir_measures.iter_calc([ir_measures.ERR @ cutoff], theirs, asked)
        }
        for topic, ranking in run.groupby("topic"):
            going_on, expected = 1.0, 0.0
            for rank, document in enumerate(ranking["document"].tolist()[:cutoff], start=1):
                satisfied = (2.0 ** grade[topic, document] - 1.0) / 16.0
                expected += going_on * satisfied / rank
                going_on *= 1.0 - satisfied
            score = found.sel(run=name, topic=topic).item()
            assert score == pytest.approx(expected, abs=1e-12)
            assert score == pytest.approx(gdeval[topic], abs=5e-6)


def test_gains_are_written_in_its_label():
    (measure,) = parse_measures("ERR(gains={1: 3})@5")
    assert (measure.label, measure.kind, measure.graded) == ("ERR(gains={1:3})@5", "list", True)
