"""Measures of the user's own."""

import re
from pathlib import Path

import numpy as np
import pytest

import bayeseval as be
from bayeseval.estimators import check_estimable
from bayeseval.measures.names import parse_measures


@pytest.fixture(scope="module")
def sampled():
    collection = be.simulate.urn_collection(
        [0.1, 0.4], n_topics=5, n_documents=30, prevalence=0.3, random_seed=1
    )
    design = be.designs.depth_pool(collection, 8)
    return be.reveal(collection, design, be.draw(design))


def average_precision(grades, all_grades):
    relevant = grades > 0
    precision = relevant.cumsum(axis=0) / np.arange(1, len(grades) + 1)[:, None]
    return (relevant * precision).sum(axis=0) / np.maximum((all_grades > 0).sum(axis=0), 1)


def set_precision(grades, all_grades):
    return (grades > 0).mean(axis=0)


@pytest.mark.parametrize("estimator", ["assumed", "condensed"])
def test_measures_of_the_table_written_anew_have_the_same_scores(sampled, estimator):
    own = [be.measure("MyAP", average_precision), "MyAP@5", be.measure("MySetP", set_precision)]
    scores = be.evaluate(sampled, own, estimator=estimator)
    known = be.evaluate(sampled, ["AP", "AP@5", "SetP"], estimator=estimator)
    assert scores["measure"].to_numpy().tolist() == own
    np.testing.assert_allclose(scores["estimate"], known["estimate"], rtol=0, atol=1e-12)
    # ranks weigh as those of AP do
    weight = [one["outside_weight"].values[0] for one in (scores, known)]
    np.testing.assert_allclose(*weight, rtol=0, atol=1e-12)


def test_answers_have_a_measure_of_ones_own(sampled):
    name = be.measure("MyAP", average_precision)
    for answer in (be.scores, be.compare, be.rank):
        own, known = (answer(sampled, one, estimator="assumed") for one in (name, "AP"))
        np.testing.assert_array_equal(own["measure"], ["MyAP"])
        np.testing.assert_allclose(own["estimate"], known["estimate"], rtol=0, atol=1e-12)
    assert be.designs.order(sampled, measures=[name], random_seed=1).attrs["scheme"]


def test_a_second_function_of_a_name_replaces_the_first(sampled):
    for value in (1.0, 2.0):
        be.measure("Constant", lambda grades, _every, value=value: np.full(grades.shape[1], value))
        assert (be.evaluate(sampled, "Constant", estimator="assumed").estimate == value).all()


def test_a_run_without_documents_scores_zero(sampled):
    runs = sampled["rankings/ranking"].copy()
    runs[{"run": 0, "topic": 0}] = -1
    shorter = sampled.copy()
    shorter["rankings"] = shorter["rankings"].to_dataset(inherit=False).assign(ranking=runs)
    score = be.evaluate(shorter, be.measure("MySetP", set_precision), estimator="assumed").estimate
    assert score.isel(run=0, topic=0).item() == 0.0


def test_it_is_graded_and_its_gains_are_in_its_label():
    be.measure("Mine", average_precision)
    plain, cut, gains = parse_measures(["Mine", "Mine@10", "Mine(gains={1: 3})@10"])
    assert [one.label for one in (cut, gains)] == ["Mine@10", "Mine(gains={1:3})@10"]
    assert (plain.kind, plain.graded, plain.cutoff, cut.cutoff) == ("list", True, None, 10)
    for one in (plain, cut, gains):
        assert parse_measures(one.label) == [one]


@pytest.mark.parametrize("name", [
    *("P", "map", "ndcg", "recip_rank", "set_F", "SetAP", "bpm", "MRR", "alpha_nDCG", "xinfAP"),
    *("P_10", "lambda", "None", "", "2nd", "Mine@10", "my measure", "Mine(rel=2)", "größe"),
    *("_mine", 7),
])  # fmt: skip
def test_a_name_that_is_taken_or_no_label_can_carry_is_refused(name):
    with pytest.raises(ValueError, match=f"name .*{re.escape(str(name))}.*; allowed"):
        be.measure(name, average_precision)


def test_what_is_no_function_is_a_type_error():
    with pytest.raises(TypeError, match="function must be callable, not 3"):
        be.measure("Mine", 3)


@pytest.mark.parametrize(("function", "message"), [
    (lambda grades, _: grades.sum(), r"of shape \(1,\), and its function returned shape \(\)"),
    (lambda grades, _: grades.sum(axis=1), r"returned shape \(30,\) for grades of shape \(30, 1\)"),
    (lambda grades, _: grades[0] + np.nan, "must return finite scores, .* returned nan"),
    (lambda grades, _: grades[0] + np.inf, "must return finite scores, .* returned inf"),
])  # fmt: skip
def test_wrong_scores_are_an_error_that_names_the_measure(sampled, function, message):
    with pytest.raises(ValueError, match=f"^Wrong must.*{message}|^Wrong {message}"):
        be.evaluate(sampled, be.measure("Wrong", function), estimator="assumed")


def test_all_grades_cannot_be_changed(sampled):
    name = be.measure("Sorts", lambda _grades, every: every.sort(axis=0))
    with pytest.raises(ValueError, match="read-only"):
        be.evaluate(sampled, name, estimator="assumed")


def test_estimators_of_sums_do_not_have_it():
    be.measure("Mine", average_precision)
    for estimator in ("stat", "dyn", "inf", "importance"):
        with pytest.raises(ValueError, match="it has one by assumed, condensed"):
            check_estimable(parse_measures("Mine"), estimator)


def test_the_example_of_the_methods_is_the_q_measure():
    text = (Path(__file__).parents[2] / "docs" / "methods" / "own_measures.md").read_text()
    (code,) = re.findall(r"```python\n(.*?)\nbe\.measure", text, flags=re.DOTALL)
    made: dict = {}
    exec(code, made)
    grades = np.array([[0.0, 2.0], [1.0, 0.0], [3.0, 1.0]])
    every = np.array([[0.0, 1.0], [1.0, 2.0], [3.0, 0.0], [2.0, 0.0]])
    # ideal 3, 5, 6: (1 + 1) / (2 + 5) and (2 + 4) / (3 + 6); ideal 2, 3, 3: 3 / 3 and 5 / 6
    expected = [(2 / 7 + 6 / 9) / 3, (3 / 3 + 5 / 6) / 2]
    np.testing.assert_allclose(made["q_measure"](grades, every), expected, rtol=1e-12)
