"""Condensed lists against rankings whose unjudged documents were really removed; Bpref."""

import numpy as np
import pandas as pd
import pytest
import pytrec_eval
from hypothesis import given, settings
from hypothesis import strategies as st

import bayeseval as be
from bayeseval.estimators.judged import CondensedOptions, condensed_list
from bayeseval.frame.rankings import CollectionLists, TopicLists
from bayeseval.measures.names import parse_measures
from bayeseval.measures.scores import preference_scores
from tests.small import sample, small_collection

NAMES = [
    "P@3", "RBP(p=0.8)", "RBP(p=0.5)@3", "DCG@4", "nDCG", "nDCG@3", "AP", "AP@3", "AP(rel=2)",
    "Rprec", "R@3", "RR", "RR@2", "Success@2", "NumRel", "NumRelRet", "Bpref", "NumRet",
]  # fmt: skip


def topic_lists(position, grade) -> TopicLists:
    grade = np.atleast_2d(np.array(grade, dtype=float))
    pooled = ~np.isnan(grade).all(axis=0)
    return TopicLists(np.array(position, dtype=np.int32), grade, pooled)


def condensed(name, position, grade, **options):
    measure = parse_measures(name)[0]
    return condensed_list(
        measure, topic_lists(position, grade), CondensedOptions(**options)
    ).estimate


def sampled_collection(n_replicates):
    how = {"budget": 4, "n_strata": 2, "random_seed": 3, "n_replicates": n_replicates}
    return sample(small_collection(), "uniform_strata", **how)


def as_frames(sampled, replicate):
    """Judgments of one replicate, and the runs as they are, as frames."""
    one = sampled["judgments/grade"].isel(replicate=replicate).to_numpy()
    documents = sampled["document"].to_numpy()
    topics = sampled["topic"].to_numpy()[sampled["pair_topic"].to_numpy()]
    runs = be.trec.runs_frame(sampled)
    return topics, documents, one, runs


@pytest.mark.filterwarnings("ignore:.*no judged document has one")  # the sample may lack a grade
def test_every_measure_equals_the_plain_one_on_runs_cut_down_to_judged_documents():
    sampled = sampled_collection(12)
    lists = [CollectionLists(sampled).topic(topic) for topic in range(2)]
    measures = parse_measures(NAMES)
    for replicate in range(12):
        topics, documents, grade, runs = as_frames(sampled, replicate)
        judged = ~np.isnan(grade)
        known = set(zip(topics[judged], documents[judged], strict=True))
        kept = [pair in known for pair in zip(runs["topic"], runs["document"], strict=True)]
        qrels = dict(topic=topics[judged], document=documents[judged], grade=grade[judged])
        plain = be.evaluate(
            be.read_collection(pd.DataFrame(qrels), runs[kept]), NAMES, estimator="assumed"
        ).estimate.sel(run=sampled["run"].to_numpy(), topic=sampled["topic"].to_numpy())
        for topic, of_topic in enumerate(lists):
            for measure in measures:
                ours = condensed_list(measure, of_topic).estimate[:, replicate]
                theirs = plain.sel(measure=measure.label).isel(topic=topic)
                np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-13, err_msg=measure.label)


def test_hand_values_of_a_list_with_gaps():
    # ranks: unjudged, relevant, unjudged, non-relevant, relevant -> relevant, non, relevant
    position, grade = [[0, 1, 2, 3, 4]], [np.nan, 1, np.nan, 0, 2]
    assert condensed("P@2", position, grade).item() == 0.5
    assert condensed("RBP(p=0.5)", position, grade).item() == 0.5 + 0.125
    assert condensed("AP", position, grade).item() == pytest.approx((1 + 2 / 3) / 2)
    assert condensed("RR", position, grade).item() == 1.0
    assert condensed("DCG@3", position, grade).item() == pytest.approx(1 + 2 / 2)
    assert condensed("Judged@5", position, grade).item() == 1.0


def test_depth_keeps_documents_from_below_it_out_and_fills_up_with_nonrelevant_ones():
    position, grade = [[0, 1, 2, 3, 4]], [np.nan, 1, np.nan, 1, 1]
    assert condensed("P@3", position, grade).item() == 1.0
    assert condensed("P@3", position, grade, depth=4).item() == pytest.approx(2 / 3)
    assert condensed("P@3", position, grade, depth=1).item() == 0.0
    assert condensed("P@3", position, grade, depth=99).item() == 1.0


def test_a_depth_below_one_is_refused():
    with pytest.raises(ValueError, match="depth is 0; allowed: a whole number, 1 or more"):
        condensed("P@3", [[0]], [1], depth=0)


def test_a_run_without_a_judged_document_scores_zero():
    for name in NAMES:
        if name != "NumRel":
            assert condensed(name, [[0, 1], [-1, -1]], [np.nan, np.nan, 1]).tolist() == [[0], [0]]
    assert condensed("NumRel", [[0, 1], [-1, -1]], [np.nan, np.nan, 1]).tolist() == [[1], [1]]


def test_a_gain_counts_where_it_is_not_the_grade():
    measure = parse_measures("DCG@2", gain={1: 3.0, 2: 0.0}, grades=[0, 1, 2])[0]
    topic = topic_lists([[0, 1, 2]], [2, np.nan, 1])
    assert condensed_list(measure, topic).estimate.item() == pytest.approx(3 / np.log2(3))


@st.composite
def topics(draw):
    size = draw(st.integers(1, 9))
    position = np.full((2, size), -1)
    for row in position:
        length = draw(st.integers(0, size))
        row[:length] = draw(st.permutations(range(size)))[:length]
    value = st.sampled_from([np.nan, 0.0, 1.0, 2.0])
    grade = np.array(draw(st.lists(value, min_size=size, max_size=size)))
    return position, grade


@settings(max_examples=60)
@given(topics())
def test_condensing_changes_nothing_where_all_is_judged_and_never_moves_bpref(topic):
    position, grade = topic
    complete = np.nan_to_num(grade)
    gaps = position.astype(np.int32)
    gaps[np.isnan(grade)[position] & (position >= 0)] = -1  # a hole where a document was
    for name in ("P@3", "RBP(p=0.8)", "AP", "nDCG", "Rprec"):
        whole = condensed(name, position, complete)
        depth = condensed(name, position, complete, depth=position.shape[1])
        np.testing.assert_array_equal(whole, depth)
        # taking the unjudged out by hand gives the same lists
        np.testing.assert_array_equal(
            condensed(name, gaps, grade), condensed(name, position, grade)
        )
    measure = parse_measures("Bpref")[0]
    plain = preference_scores(measure, position, grade, ~np.isnan(grade))
    np.testing.assert_allclose(condensed("Bpref", position, grade)[:, 0], plain, atol=1e-15)


def test_bpref_of_every_replicate_equals_pytrec_eval_on_its_judgments():
    sampled = sampled_collection(20)
    scores = be.evaluate(sampled, "Bpref", estimator="assumed").estimate.isel(measure=0)
    for replicate in range(20):
        topics, documents, grade, runs = as_frames(sampled, replicate)
        judged = ~np.isnan(grade)
        qrels: dict = {}
        for topic, document, value in zip(
            topics[judged], documents[judged], grade[judged], strict=True
        ):
            qrels.setdefault(topic, {})[document] = int(value)
        evaluator = pytrec_eval.RelevanceEvaluator(qrels, {"bpref"})
        for run, ranked in runs.groupby("run"):
            by_topic = {
                topic: dict(zip(part["document"], part["score"].astype(float), strict=True))
                for topic, part in ranked.groupby("topic")
            }
            for topic, values in evaluator.evaluate(by_topic).items():
                ours = scores.isel(replicate=replicate).sel(run=run, topic=topic).item()
                assert ours == pytest.approx(values["bpref"], abs=1e-12)
