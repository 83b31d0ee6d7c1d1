"""Measures on judgments as they are, ours and those that ir_measures scores, against it."""

import importlib.util
import re
from contextlib import suppress

import ir_measures as ir
import numpy as np
import pandas as pd
import pytest

import bayeseval as be
from bayeseval.estimators import check_estimable
from bayeseval.measures.names import parse_measures
from bayeseval.posterior.modelled import check_modelled

pytestmark = pytest.mark.filterwarnings("ignore:Accuracy.* is not defined:UserWarning")

HAS_CWL = importlib.util.find_spec("cwl") is not None
SHIPPED = [
    *(ir.P @ 5, ir.P(rel=2) @ 10, ir.RR, ir.RR(rel=2), ir.RR @ 10, ir.Rprec, ir.Rprec(rel=2)),
    *(ir.AP, ir.AP(rel=2), ir.AP @ 20, ir.nDCG, ir.nDCG @ 10, ir.nDCG(gains={1: 3, 2: 5}) @ 10),
    *(ir.R @ 10, ir.R(rel=2) @ 10, ir.Success @ 3, ir.Success(rel=2) @ 5),
    *(ir.Bpref, ir.Bpref(rel=2), ir.infAP, ir.infAP(rel=2), ir.Judged, ir.Judged @ 10),
    *(ir.NumRel, ir.NumRet, ir.NumRet(rel=2), ir.SetP, ir.SetP(rel=2), ir.SetR, ir.SetR(rel=2)),
    *(ir.SetF, ir.SetF(beta=2.0), ir.SetF(rel=2, beta=0.5), ir.SetF(beta=0.0)),
    *(ir.IPrec @ (step / 10) for step in range(11)),
    *(ir.IPrec(rel=2) @ 0.25, ir.IPrec(rel=2) @ 0.75),
]
OTHERS = [
    *(ir.SetAP, ir.SetAP(rel=2), ir.SetRelP, ir.SetRelP(rel=2)),
    *(ir.Compat, ir.Compat(p=0.8), ir.Compat(p=0.99)),
    *(ir.Compat(normalize=False), ir.Compat(p=0.5, normalize=False)),
    *(ir.Accuracy, ir.Accuracy @ 5, ir.Accuracy @ 20, ir.Accuracy(rel=2), ir.Accuracy(rel=2) @ 10),
    *(ir.Compat(p=0.5), ir.Compat(p=0.9, normalize=False), ir.Accuracy @ 10),
    ir.NumQ,
]
CWL = [
    *(ir.BPM(max_rel=3) @ 10, ir.BPM(max_rel=2, min_rel=1, T=2.0) @ 20, ir.SDCG(max_rel=3) @ 10),
    *(ir.INST(max_rel=3), ir.INST(max_rel=2, T=2.5), ir.INSQ(max_rel=3), ir.INSQ(max_rel=3, T=2.0)),
    *(ir.NERR8(max_rel=3) @ 10, ir.NERR9(max_rel=3) @ 10),
    *(ir.NERR10(max_rel=3), ir.NERR10(max_rel=3, p=0.5), ir.NERR11(max_rel=3, T=3.0)),
]
KNOWN = SHIPPED + OTHERS + (CWL if HAS_CWL else [])


@pytest.fixture(scope="module")
def simulated():
    rng = np.random.default_rng(4)
    topics, documents = [str(topic) for topic in range(12)], [f"d{number}" for number in range(60)]
    qrels = [
        (topic, document, rng.choice([0, 1, 2, 3], p=[0.6, 0.2, 0.1, 0.1]))
        for topic in topics
        for document in documents
        if rng.random() < 0.6
    ]
    runs = [
        (run, topic, document, float(-rank))
        for run in ("a", "b", "c")
        for topic in topics
        for rank, document in enumerate(rng.permutation(documents)[: rng.integers(10, 50)])
    ]
    return be.read_collection(
        pd.DataFrame(qrels, columns=["topic", "document", "grade"]),
        pd.DataFrame(runs, columns=["run", "topic", "document", "score"]),
    )


def by_ir_measures(measures, collection) -> dict:
    """Scores by measure, run and topic, of rankings and grades of a collection, by ir_measures."""
    topic = collection["topic"].to_numpy()[collection["pair_topic"].to_numpy()]
    document = collection["document"].to_numpy()
    grade = collection["judgments/grade"].to_numpy()
    qrels, scores = {str(one): {} for one in collection["topic"].to_numpy()}, {}
    for pair in np.flatnonzero(~np.isnan(grade)):
        qrels[str(topic[pair])][str(document[pair])] = int(grade[pair])
    ranking = collection["rankings/ranking"].transpose("run", "topic", "rank").to_numpy()
    for run, by_topic in zip(collection["run"].to_numpy(), ranking, strict=True):
        for one, pairs in zip(collection["topic"].to_numpy(), by_topic, strict=True):
            name, found = str(one), document[pairs[pairs >= 0]].tolist()
            ranked = {name: {str(each): 5000.0 - rank for rank, each in enumerate(found)}}
            for measure in measures:
                with suppress(ZeroDivisionError):  # Accuracy of nothing but relevant documents
                    for metric in ir.iter_calc([measure], {name: qrels[name]}, ranked):
                        scores[measure, str(run), name] = metric.value
    return scores


def check_scores(measures, collection) -> None:
    """Equality of all scores; where ir_measures has none, neither have we."""
    scores = be.evaluate(collection, measures, estimator="assumed")["estimate"]
    expected = by_ir_measures(measures, collection)
    labels = scores["measure"].to_numpy().tolist()
    for measure, label in zip(measures, labels, strict=True):
        for run in scores["run"].to_numpy():
            ours = scores.sel(measure=label, run=run).to_series()
            theirs = [expected.get((measure, str(run), str(topic)), np.nan) for topic in ours.index]
            np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-12, err_msg=label)


@pytest.mark.parametrize("measure", KNOWN, ids=str)
def test_scores_are_those_of_ir_measures(simulated, measure):
    check_scores([measure], simulated)


def test_scores_of_real_runs_are_those_of_ir_measures(real_data, round5_runs):
    qrels = real_data / "trec-covid" / "qrels.covid-round5.txt.gz"
    runs = sorted(round5_runs.iterdir())[::50]
    collection = be.read_collection(qrels, [str(run) for run in runs])
    check_scores(KNOWN, be.select(collection, topics=collection["topic"].to_numpy()[::6].tolist()))


def test_the_relevance_level_is_for_those_that_state_none(simulated):
    names = ["SetAP", "SetAP(rel=1)", "Accuracy@5", "NumQ"]
    scores = be.evaluate(simulated, names, estimator="assumed", relevance_level=2)["estimate"]
    assert scores["measure"].to_numpy().tolist() == [
        *("SetAP(rel=2)", "SetAP", "Accuracy(rel=2)@5", "NumQ")
    ]
    plain = be.evaluate(simulated, "SetAP", estimator="assumed")["estimate"]
    np.testing.assert_array_equal(scores.sel(measure="SetAP"), plain.sel(measure="SetAP"))


def test_ranks_down_to_the_cutoff_weigh_the_same(simulated):
    names = ["Accuracy@10", "SetAP", "Judged@10", "NumRet"]
    weight = be.evaluate(simulated, names, estimator="assumed")["outside_weight"]
    np.testing.assert_allclose(weight.values[:2], weight.values[2:], rtol=0, atol=1e-12)


def test_nothing_retrieved_scores_nothing(simulated):
    ranking = simulated["rankings/ranking"].copy()
    ranking[{"run": 0, "topic": 0}] = -1
    some = simulated.copy()
    some["rankings"] = some["rankings"].to_dataset(inherit=False).assign(ranking=ranking)
    scores = be.evaluate(some, ["SetAP", "Compat", "NumQ"], estimator="assumed")["estimate"]
    np.testing.assert_array_equal(scores.isel(run=0, topic=0), 0.0)


def test_accuracy_of_nothing_but_relevant_documents_is_not_defined():
    run = pd.DataFrame({"run": "a", "topic": ["1", "1"], "document": ["d", "e"], "score": [2, 1]})
    qrels = pd.DataFrame({"topic": "1", "document": ["d", "e"], "grade": 1})
    collection = be.read_collection(qrels, run)
    assert be.evaluate(collection, "Accuracy", estimator="assumed")["estimate"].isnull().all()


def test_means_and_answers_have_them(simulated):
    names = ["SetAP", "Compat(p=0.8)"]
    mean = be.scores(simulated, names)
    scores = be.evaluate(simulated, names, estimator="assumed")["estimate"]
    np.testing.assert_allclose(mean["estimate"], scores.mean("topic"), rtol=1e-12)
    assert be.rank(simulated, names)["measure"].to_numpy().tolist() == names
    with pytest.warns(UserWarning, match="may be reversed by documents that nobody judged"):
        difference = be.compare(simulated, "SetAP")["estimate"][0, 0]
    expected = scores[0].mean("topic")
    np.testing.assert_allclose(abs(difference), abs(expected[0] - expected[1]), rtol=1e-9)


@pytest.mark.parametrize("estimator", ["condensed", "stat", "dyn", "inf", "stat_ap", "importance"])
def test_no_other_estimator_has_them(estimator):
    with pytest.raises(ValueError, match=rf"'{estimator}' estimate \(it has one by assumed\)"):
        check_estimable(parse_measures(["SetP(relative=True)"]), estimator)


@pytest.mark.parametrize(("name", "refuse"), [
    ("SetAP", lambda measures, _: check_modelled(measures)),
    ("Compat", lambda measures, _: be.adjustment.scores.check_adjusted(measures)),
])  # fmt: skip
def test_models_and_adjustment_do_not_have_them(simulated, name, refuse):
    with pytest.raises(ValueError, match=f"{name} (has no posterior|is no sum).*; measures that"):
        refuse(parse_measures(name), simulated)


def test_a_grade_that_is_no_whole_number_is_refused(simulated):
    half = simulated.copy()
    grades = half["judgments"].to_dataset(inherit=False)
    half["judgments"] = grades.assign(grade=grades["grade"] / 2)
    with pytest.raises(ValueError, match=re.escape("whole numbers, and there is a grade")):
        be.evaluate(half, "SetAP", estimator="assumed")


@pytest.mark.skipif(HAS_CWL, reason="cwl-eval is installed")
def test_a_package_that_is_not_installed_is_named():
    with pytest.raises(ValueError, match=r"not installed: cwl_eval \(pip install .*cwl_eval"):
        check_estimable(parse_measures("BPM(max_rel=3)@10"), "assumed")


@pytest.mark.filterwarnings("default")
def test_topics_for_which_a_measure_is_not_defined_are_named():
    run = pd.DataFrame({"run": "a", "topic": list("1122"), "document": list("abab")})
    qrels = run.drop(columns="run").assign(grade=[1, 0, 0, 0])
    collection = be.read_collection(qrels, run.assign(score=[2, 1, 2, 1]))
    with pytest.warns(UserWarning, match=r"Accuracy is not defined for 1 of 2 topics \(2\)"):
        scores = be.evaluate(collection, "Accuracy", estimator="assumed")
    assert scores.estimate.sel(run="a", topic="2").isnull().all()
