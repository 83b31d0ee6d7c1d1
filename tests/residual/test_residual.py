"""Bounds of rank-biased precision: hand values, exact fractions, properties."""

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bayeseval as be
from bayeseval.residual import rbp_bounds
from tests.small import small_collection

# a ranking of which nothing is judged is the case in point here
APART = pytest.mark.filterwarnings("ignore:no document of the judgments is in a run")


def one_run(grades, **more):
    """Collection of one run whose ranks have these grades, None for unjudged."""
    documents = [f"d{i:04d}" for i in range(len(grades))]
    run = pd.DataFrame({"run": "a", "topic": "1", "document": documents})
    run["score"] = -np.arange(len(grades), dtype=float)
    judged = [(d, g) for d, g in zip(documents, grades, strict=True) if g is not None]
    judged.append(("elsewhere", 0))
    qrels = pd.DataFrame(judged, columns=["document", "grade"]).assign(topic="1")
    return be.read_collection(qrels, run, **more)


def values(bounds, *names):
    return [bounds[name].to_numpy().ravel().tolist() for name in names]


@APART
@pytest.mark.parametrize(
    ("grades", "base", "residual"),
    [([1, 0, 1], 0.625, 0.125), ([1, None, 1], 0.625, 0.375), ([None], 0.0, 1.0)],
)
def test_toys_of_moffat_and_zobel(grades, base, residual):
    bounds = rbp_bounds(one_run(grades), 0.5)
    assert values(bounds, "base", "residual") == [[base], [residual]]
    assert values(bounds, "interval") == [[base, base + residual]]


@pytest.mark.parametrize("persistence", [0.5, 0.8, 0.99, 0.9999])
@pytest.mark.parametrize("length", [1, 1000])
def test_bounds_are_exact_at_any_length_and_persistence(persistence, length):
    rng = np.random.default_rng(length)
    grades = rng.choice(np.array([None, 0, 1]), size=length, p=[0.5, 0.3, 0.2]).tolist()
    bounds = rbp_bounds(one_run(grades), persistence)
    p, base, residual, power = Fraction(persistence), Fraction(0), Fraction(0), Fraction(1)
    for grade in grades:
        base += (1 - p) * power * (grade == 1)
        residual += (1 - p) * power * (grade is None)
        power *= p
    residual += power
    assert bounds.base.item() == pytest.approx(float(base), rel=1e-14, abs=0)
    assert bounds.residual.item() == pytest.approx(float(residual), rel=1e-14, abs=0)


@APART
@settings(max_examples=15)
@given(st.lists(st.sampled_from([None, 0, 1, 2]), min_size=1, max_size=12), st.data())
def test_what_a_judgment_can_make_of_the_score_lies_within_the_bounds(grades, data):
    persistence = data.draw(st.sampled_from([0.3, 0.8, 0.99]))
    bounds = rbp_bounds(one_run(grades), persistence)
    filled = [data.draw(st.sampled_from([0, 1])) if g is None else g for g in grades]
    complete = be.evaluate(
        one_run(filled), f"RBP(p={persistence})", estimator="assumed"
    ).estimate.item()
    lower, upper = bounds.interval.to_numpy().ravel()
    assert lower - 1e-15 <= complete <= upper + 1e-15
    best = [1 if g is None else g for g in grades]
    top = rbp_bounds(one_run(best), persistence)
    assert top.base.item() + persistence ** len(grades) == pytest.approx(upper, abs=1e-14)
    nonrelevant = [1 if g == 0 else 0 for g in grades]
    known = rbp_bounds(one_run(nonrelevant), persistence).base.item()
    assert bounds.base.item() + known + bounds.residual.item() == pytest.approx(1.0, abs=1e-14)


def test_a_cutoff_gives_no_weight_below_it():
    bounds = rbp_bounds(one_run([1, None, None, 1]), 0.5, cutoff=2)
    assert values(bounds, "base", "residual") == [[0.5], [0.25]]
    short = rbp_bounds(one_run([1, None]), 0.5, cutoff=3)
    assert values(short, "base", "residual") == [[0.5], [0.25 + 0.125]]
    assert bounds.attrs["measure"] == "RBP(p=0.5)@2"


def test_a_tail_of_nonrelevant_documents_leaves_the_unjudged_retrieved():
    bounds = rbp_bounds(one_run([1, None, 1]), 0.5, tail="nonrelevant")
    assert values(bounds, "base", "residual") == [[0.625], [0.25]]


def test_levels_of_relevance_move_base_and_leave_the_residual():
    grades = [2, 1, None, 0]
    one, two = (rbp_bounds(one_run(grades), 0.5, relevance_level=level) for level in (1, 2))
    assert (one.base.item(), two.base.item()) == (0.75, 0.5)
    assert one.residual.item() == two.residual.item() == 0.125 + 0.0625


def two_topics():
    """Two topics; run b lacks the second."""
    run = pd.DataFrame(
        [("a", "1", "x", 2), ("a", "1", "y", 1), ("a", "2", "x", 1), ("b", "1", "y", 1)],
        columns=["run", "topic", "document", "score"],
    )
    qrels = pd.DataFrame({"topic": ["1", "2"], "document": ["x", "x"], "grade": [1, 0]})
    return be.read_collection(qrels, run)


def test_means_over_topics_follow_the_rule_for_missing_topics():
    collection = two_topics()
    zero = rbp_bounds(collection, 0.5, over="topic")
    # a: (.5, .25 + .25) and (0, .5); b: (0, .5 + .5) and nothing
    assert values(zero, "base", "residual", "n_topics") == [[0.25, 0], [0.5, 1.0], [2, 2]]
    skip = rbp_bounds(collection, 0.5, over="topic", missing_topics="skip")
    assert values(skip, "base", "residual", "n_topics") == [[0.25, 0], [0.5, 1.0], [2, 1]]
    bare = rbp_bounds(collection, 0.5, over="topic", tail="nonrelevant")
    assert values(bare, "base", "residual") == [[0.25, 0], [0.125, 0.25]]
    np.testing.assert_allclose(
        rbp_bounds(collection, 0.5).interval.mean("topic"), zero.interval, atol=1e-15
    )


def test_base_is_what_assumed_says_and_every_replicate_stands_for_itself():
    collection = small_collection()
    design = be.designs.uniform_strata(collection, budget=4, n_strata=2, random_seed=3)
    selected = be.draw(design, n_replicates=6, random_seed=1)
    sampled = be.reveal(collection, design, selected)
    bounds = rbp_bounds(sampled, 0.8)
    plain = be.evaluate(sampled, "RBP(p=0.8)", estimator="assumed").estimate.isel(measure=0)
    np.testing.assert_allclose(bounds.base, plain.transpose(*bounds.base.dims), atol=1e-15)
    for replicate in range(6):
        alone = rbp_bounds(be.reveal(collection, design, selected[replicate]), 0.8)
        one = bounds.isel(replicate=replicate)
        for name in ("base", "residual", "interval"):
            np.testing.assert_array_equal(one[name], alone[name])


def test_a_topic_without_judgments_is_nan_and_told():
    collection = two_topics()
    qrels = pd.DataFrame({"topic": ["1"], "document": ["x"], "grade": [1]})
    run = be.trec.runs_frame(collection)
    with pytest.warns(UserWarning, match="1 topic has no judgment yet and scores NaN: '2'"):
        bounds = rbp_bounds(be.read_collection(qrels, run), 0.5)
    assert np.isnan(bounds.interval.sel(topic="2")).all()
    assert bounds.interval.sel(topic="1").notnull().all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"persistence": 1.0}, "persistence must be a number between 0 and 1"),
        ({"persistence": 0.0}, "persistence must be a number between 0 and 1"),
        ({"cutoff": 0}, "cutoff must be a whole number, 1 or more, not 0"),
        ({"tail": "none"}, "tail must be one of unjudged, nonrelevant, not 'none'"),
        ({"over": "run"}, "over must be one of None, topic, not 'run'"),
        ({"missing_topics": "no"}, "missing_topics must be one of zero, skip, not 'no'"),
    ],
)
def test_options_that_do_not_exist_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        rbp_bounds(two_topics(), **options)


@pytest.mark.parametrize(
    ("persistence", "options", "message"),
    [
        ("0.8", {}, "persistence must be a number between 0 and 1.*not '0.8'"),
        (0.8, {"cutoff": 2.5}, "cutoff must be a whole number, 1 or more, not 2.5"),
        (0.8, {"relevance_level": float("nan")}, "relevance_level is nan; allowed: a whole"),
    ],
)
def test_what_is_no_parameter_is_refused(persistence, options, message):
    run = pd.DataFrame({"run": "a", "topic": "1", "document": list("ab"), "score": [2, 1]})
    qrels = pd.DataFrame({"topic": "1", "document": ["a"], "grade": [1]})
    with pytest.raises(ValueError, match=message):
        rbp_bounds(be.read_collection(qrels, run), persistence, **options)
