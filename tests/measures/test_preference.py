"""RR, Success, Bpref, infAP, Judged and NumRet against pytrec_eval, ir_measures and by hand."""

import ir_measures
import numpy as np
import pandas as pd
import pytest
import pytrec_eval
from hypothesis import given
from hypothesis import strategies as st

import bayeseval as be
from bayeseval.measures.measure import relevance
from bayeseval.measures.names import parse_measures
from bayeseval.measures.scores import plain_scores, preference_scores

# ours, the measure to ask pytrec_eval for, the key it answers under
REFERENCE = [
    ("RR", "recip_rank", "recip_rank"),
    ("Success@1", "success.1", "success_1"),
    ("Success@5", "success.5", "success_5"),
    ("Bpref", "bpref", "bpref"),
    ("infAP", "infAP", "infAP"),
    ("NumRet", "num_ret", "num_ret"),
]


def scored(measure, position, grade, pooled):
    """Scores (run,) on one topic, where an unjudged document is not relevant."""
    if measure.kind == "preference":
        return preference_scores(measure, position, grade, pooled)
    value = np.nan_to_num(relevance(measure, grade))[:, None]
    return plain_scores(measure, np.asarray(position, dtype=np.int32), value)[:, 0]


def random_topic(random_seed):
    """Judgments (ungraded, graded, pooled only, missing) and runs with ties, as dicts."""
    rng = np.random.default_rng(random_seed)
    documents = np.array([f"d{number:02d}" for number in range(30)])
    grades = rng.choice([-1, 0, 1, 2, 9], p=[0.2, 0.3, 0.2, 0.1, 0.2], size=documents.size)
    grades[rng.integers(documents.size)] = 2
    qrels = {d: int(g) for d, g in zip(documents, grades, strict=True) if g != 9}
    runs = []
    for length in (0, 1, 5, 12, 30):
        retrieved = rng.choice(documents, size=length, replace=False)
        runs.append({d: float(rng.integers(4)) for d in retrieved})
    return documents, qrels, runs


def encode(documents, qrels, runs):
    """Turn dicts into the arrays of one topic; documents ascend, so ties are won by position."""
    position = np.full((len(runs), documents.size), -1, dtype=np.int32)
    for row, run in zip(position, runs, strict=True):
        order = sorted(run, key=lambda document: (run[document], document), reverse=True)
        row[: len(order)] = np.searchsorted(documents, order)
    labelled = np.array([qrels.get(document, np.nan) for document in documents], dtype=np.float32)
    grade = np.where(labelled >= 0, labelled, np.nan)
    return position, grade, ~np.isnan(labelled)


@pytest.mark.parametrize("level", [1, 2])
@pytest.mark.parametrize(("name", "asked", "key"), REFERENCE, ids=[row[0] for row in REFERENCE])
def test_scores_equal_pytrec_eval(name, asked, key, level):
    measure = parse_measures(name, relevance_level=level)[0]
    for random_seed in range(40):
        documents, qrels, runs = random_topic(random_seed)
        evaluator = pytrec_eval.RelevanceEvaluator({"1": qrels}, {asked}, relevance_level=level)
        expected = [evaluator.evaluate({"1": run})["1"][key] if run else 0.0 for run in runs]
        actual = scored(measure, *encode(documents, qrels, runs))
        np.testing.assert_allclose(actual, expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("theirs", [ir_measures.Judged @ 10, ir_measures.Judged @ 3], ids=repr)
def test_judged_equals_ir_measures_where_scores_have_no_ties(theirs):
    measure = parse_measures(theirs)[0]
    for random_seed in range(20):
        documents, qrels, runs = random_topic(random_seed)
        # ir_measures counts -1 as judged and breaks ties the other way
        qrels = {document: grade for document, grade in qrels.items() if grade >= 0}
        runs = [{d: -float(rank) for rank, d in enumerate(run)} for run in runs if run]
        expected = [theirs.calc_aggregate({"1": qrels}, {"1": run}) for run in runs]
        actual = scored(measure, *encode(documents, qrels, runs))
        np.testing.assert_allclose(actual, expected, rtol=0, atol=1e-12)


def test_a_pooled_document_without_grade_is_not_judged():
    position = np.array([[0, 1, 2, -1]])
    grade = np.array([np.nan, np.nan, 1.0])
    pooled = np.array([True, True, True])
    judged = scored(parse_measures("Judged@5")[0], position, grade, pooled)
    np.testing.assert_allclose(judged, [1 / 3])


def test_grades_below_0_that_are_judgments_are_judged_and_not_relevant():
    qrels = {"a": 1, "b": -2, "c": 1, "d": 0}
    run = {document: -float(rank) for rank, document in enumerate(qrels)}
    frame = pd.DataFrame({"topic": "1", "document": list(qrels), "grade": list(qrels.values())})
    collection = be.read_collection(frame, {"1": run}, negative_grades="judged")
    options = {"estimator": "assumed"}
    judged = be.evaluate(collection, "Judged@4", **options).estimate.item()
    assert judged == (ir_measures.Judged @ 4).calc_aggregate({"1": qrels}, {"1": run}) == 1.0
    bpref = be.evaluate(collection, "Bpref", **options).estimate.item()
    assert bpref == (1.0 + (1.0 - 1 / 2)) / 2, "one of two that are not relevant is above c"


def test_inferred_average_precision_by_hand():
    # rank 3 relevant; above it one pooled, one outside the pool: 1/3 + 2/3 * 1/2 * 1/2
    position = np.array([[0, 1, 2]])
    grade = np.array([np.nan, np.nan, 1.0])
    pooled = np.array([True, False, True])
    score = scored(parse_measures("infAP")[0], position, grade, pooled)
    np.testing.assert_allclose(score, [1 / 3 + 2 / 3 * 1 / 2 * 1 / 2], rtol=1e-12)


def test_a_cutoff_hides_what_lies_deeper():
    position, grade, pooled = np.array([[0, 1, 2]]), np.array([0.0, 0.0, 1.0]), np.ones(3, bool)
    shallow, deep = parse_measures(["RR@2", "RR@3"])
    assert scored(shallow, position, grade, pooled) == 0.0
    assert scored(deep, position, grade, pooled) == pytest.approx(1 / 3)


def test_no_relevant_document_or_nothing_retrieved_scores_zero():
    measures = parse_measures(["RR", "Success@5", "Bpref", "infAP", "Judged@5", "NumRet"])
    nothing = np.full((2, 3), -1)
    for measure in measures:
        scores = scored(measure, nothing, np.array([1.0, 0.0]), np.ones(2, bool))
        np.testing.assert_array_equal(scores, [0.0, 0.0])
    for measure in measures[:4]:
        scores = scored(measure, np.array([[0, 1]]), np.zeros(2), np.ones(2, bool))
        np.testing.assert_array_equal(scores, [0.0])


def test_a_ranking_of_no_ranks_scores_zero():
    for measure in parse_measures(["RR", "Success@5", "Bpref", "infAP", "Judged@5", "NumRet"]):
        scores = scored(
            measure, np.zeros((2, 0), dtype=np.int32), np.array([1.0]), np.ones(1, bool)
        )
        np.testing.assert_array_equal(scores, [0.0, 0.0])


def test_other_measures_are_refused():
    with pytest.raises(ValueError, match="AP is not one of the measures scored here: Bpref"):
        preference_scores(parse_measures("AP")[0], np.zeros((1, 1)), np.ones(1), np.ones(1, bool))


@st.composite
def topics(draw):
    """Arrays of one topic: a run's ranking, grades (NaN = not judged) and the pool."""
    size = draw(st.integers(1, 12))
    length = draw(st.integers(1, size))
    position = np.full((1, size), -1)
    position[0, :length] = draw(st.permutations(range(size)))[:length]
    values = st.sampled_from([np.nan, -1.0, 0.0, 1.0, 2.0])
    grade = np.array(draw(st.lists(values, min_size=size, max_size=size)))
    pooled = np.array(draw(st.lists(st.booleans(), min_size=size, max_size=size)))
    return position, grade, pooled


@given(topics())
def test_scores_lie_between_zero_and_one(topic):
    for measure in parse_measures(["RR", "Success@3", "Bpref", "infAP", "Judged@3"]):
        score = scored(measure, *topic).item()
        assert 0.0 <= score <= 1.0 + 1e-12


@given(topics(), st.data())
def test_rr_and_success_do_not_fall_when_a_document_becomes_relevant(topic, data):
    position, grade, pooled = topic
    better = grade.copy()
    better[data.draw(st.integers(0, grade.size - 1))] = 2.0
    for measure in parse_measures(["RR", "RR(rel=2)@3", "Success@3"]):
        before = scored(measure, position, grade, pooled)
        assert scored(measure, position, better, pooled) >= before


@given(topics())
def test_bpref_skips_documents_without_judgment(topic):
    position, grade, pooled = topic
    judged = np.where(np.isnan(grade[position]), -1, position)
    judged[position < 0] = -1
    only = np.full_like(position, -1)
    kept = judged[judged >= 0]
    only[0, : kept.size] = kept
    bpref = parse_measures("Bpref")[0]
    np.testing.assert_allclose(
        scored(bpref, only, grade, pooled),
        scored(bpref, position, grade, pooled),
        rtol=1e-14,
    )


@given(topics())
def test_scores_do_not_depend_on_where_documents_stand_in_the_arrays(topic):
    position, grade, pooled = topic
    turned = np.where(position >= 0, grade.size - 1 - position, -1)
    for measure in parse_measures(["RR", "Success@3", "Bpref", "infAP", "Judged@3", "NumRet"]):
        np.testing.assert_array_equal(
            scored(measure, turned, grade[::-1], pooled[::-1]),
            scored(measure, position, grade, pooled),
        )
