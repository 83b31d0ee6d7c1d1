"""One import is swapped, and the means have intervals."""

import copy
import pickle

import ir_measures
import numpy as np
import pandas as pd
import pytest
from ir_measures import AP, RR, NumRel, NumRet, P, nDCG

import bayeseval as be
from bayeseval.aggregate import Score

MEASURES = [AP, nDCG @ 10, P @ 5, RR, AP(rel=2), NumRet, NumRet(rel=1)]


@pytest.fixture(scope="module")
def data():
    """Judgments and a run of 12 topics; one topic is not in the run."""
    rng = np.random.default_rng(3)
    qrels = {str(t): {f"d{i}": int(g) for i, g in enumerate(rng.integers(0, 3, 15))}
             for t in range(12)}  # fmt: skip
    run = {t: {d: float(rng.random()) for d in documents} for t, documents in qrels.items()}
    run.pop("7")
    return qrels, run


def test_the_means_are_those_of_ir_measures(data):
    qrels, run = data
    theirs = ir_measures.calc_aggregate(MEASURES, qrels, run)
    ours = be.calc_aggregate(MEASURES, qrels, run)
    assert list(ours) == MEASURES
    for measure, value in ours.items():
        assert value == pytest.approx(theirs[measure], abs=1e-9)
        assert value.lower < value < value.upper


def test_all_relevant_documents_are_counted_those_of_topics_that_the_run_lacks_too(data):
    qrels, run = data
    number = be.calc_aggregate(NumRel, qrels, run)[NumRel]
    assert number == sum(grade >= 1 for grades in qrels.values() for grade in grades.values())
    there = {topic: qrels[topic] for topic in run}
    assert be.calc_aggregate(NumRel, there, run) == ir_measures.calc_aggregate([NumRel], there, run)


@pytest.mark.filterwarnings("ignore:no run has documents")  # of evaluate
def test_frames_give_the_same_and_the_interval_is_student_s(data):
    qrels, run = data
    rows = [(t, d, x) for t, documents in qrels.items() for d, x in documents.items()]
    table = pd.DataFrame(rows, columns=["query_id", "doc_id", "relevance"])
    score = be.calc_aggregate("nDCG@10", table, run, ci_prob=0.8)["nDCG@10"]
    collection = be.read_collection(qrels, run)
    scores = be.evaluate(collection, "nDCG@10", estimator="assumed")
    mean = be.mean_over_topics(scores, population="topics", ci_prob=0.8)
    np.testing.assert_allclose([score.lower, score.upper], mean.interval.squeeze())
    assert score.standard_error == pytest.approx(mean.standard_error.item())


def test_a_score_is_a_float_that_survives_copies():
    score = Score(0.5, 0.1, 0.3, 0.7)
    for again in (copy.copy(score), pickle.loads(pickle.dumps(score))):
        assert again == 0.5 and again.upper == 0.7
    assert f"{score:.2f}" == "0.50"


@pytest.mark.filterwarnings("ignore:no run has documents")  # of evaluate
def test_a_design_gives_the_interval_of_its_sample(data, tmp_path):
    qrels, run = data
    collection = be.read_collection(qrels, run)
    design = be.designs.pps_strata(collection, budget=8, n_strata=4)
    selected = be.draw(design, random_seed=1)
    sampled = be.reveal(collection, design, selected)
    be.save_design(design.assign(selected=selected), tmp_path / "design.nc")
    judged = be.trec.qrels_frame(sampled)
    judged = judged[judged["grade"].notna()]
    listed = {t: dict(zip(rows["document"], rows["grade"], strict=True))
              for t, rows in judged[judged["grade"] >= 0].groupby("topic")}  # fmt: skip
    keep = set(zip(judged["topic"], judged["document"], strict=True))
    drawn = set(zip(
        collection["topic"].to_numpy()[collection["pair_topic"].to_numpy()][selected.to_numpy()],
        collection["document"].to_numpy()[selected.to_numpy()], strict=True))  # fmt: skip
    listed = {t: {d: g for d, g in documents.items() if (t, d) in keep & drawn}
              for t, documents in listed.items()}  # fmt: skip
    score = be.calc_aggregate(
        ["P@5"], listed, run, estimator="stat", design=tmp_path / "design.nc"
    )["P@5"]
    mean = be.mean_over_topics(be.evaluate(sampled, "P@5", estimator="stat"))
    assert score == pytest.approx(mean.estimate.item())
    assert score.upper == pytest.approx(mean.interval.sel(ci_bound="upper").item())


def test_several_runs_are_refused(data):
    qrels, run = data
    with pytest.raises(ValueError, match="takes one run, and there are 2; score several with"):
        be.calc_aggregate("AP", qrels, {"a": run, "b": run})


def test_grades_below_0_and_duplicates_are_read_as_asked():
    qrels, run = (
        {"1": {"a": 1, "b": -2}, "2": {"x": -1}},
        {"1": {"a": 1.0, "b": 2.0}, "2": {"x": 1.0}},
    )
    with (
        pytest.warns(UserWarning, match="below -1"),
        pytest.warns(UserWarning, match="1 topic has no judgment yet and is left out: '2'"),
    ):
        assert be.calc_aggregate("RR", qrels, run)["RR"] == 0.5
    judged = be.calc_aggregate(["RR", "NumRet"], qrels, run, negative_grades="judged")
    theirs = ir_measures.calc_aggregate([RR, NumRet], qrels, run)
    assert judged == {"RR": theirs[RR], "NumRet": theirs[NumRet]}
    assert be.calc_aggregate("P@2", qrels, run, negative_grades="judged", depth=1)["P@2"] == 0.0
    rows = pd.DataFrame({"qid": "1", "docno": ["a", "b", "a"], "score": [1.0, 2.0, 3.0]})
    best = {"on_duplicate": "best", "score_type": "float32"}
    with pytest.warns(UserWarning, match="1 document a second time"):
        assert be.calc_aggregate("RR", {"1": {"a": 1, "b": 0}}, rows, **best)["RR"] == 1.0
