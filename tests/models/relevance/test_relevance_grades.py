"""The model of grades: its likelihood, exact and against that of relevance."""

import numpy as np
import pytest
import xarray as xr

import bayeseval as be
from bayeseval.models.relevance import predictor
from tests.models.relevance.test_relevance import response_logp
from tests.small import small_collection


@pytest.fixture(autouse=True)
def centred(monkeypatch):
    """Effects written as parameters of their own, however few the judgments and the runs."""
    for limit in ("CENTRED_FROM", "MANY_TOPICS", "MANY_COMPONENTS", "PAIRS_PER_COMPONENT"):
        monkeypatch.setattr(predictor, limit, 0)


def topics_at(intercept: float) -> dict[str, np.ndarray]:
    level = {"topic_level": np.full(2, intercept), "topic_tilt_deviation": np.zeros(2)}
    return level | {"population_tilt": np.zeros(())}


def grades_logp(model, latent: float) -> np.ndarray:
    """Log probability of every judged grade where all documents are alike and the gap is 1.5."""
    point = topics_at(latent) | {"grade_gap_log__": np.log([1.5])}
    point["component_effect"] = np.zeros(len(model.coords["component"]))
    known = {"grade": model["judged_grade"].get_value()}
    return response_logp(model, known, "grade", **point)


def test_grades_below_two_give_the_likelihood_of_relevance():
    collection = small_collection()
    grade = np.minimum(collection["judgments/grade"], 1)
    judgments = collection["judgments"].to_dataset(inherit=False).assign(grade=grade)
    collection["judgments"] = xr.DataTree(judgments)
    binary, graded = be.models.relevance_model(collection), be.models.grade_model(collection)
    random = np.random.default_rng(1)
    shape = {name: len(binary.coords[name]) for name in ("component", "topic_component")}
    point = {
        "curvature": np.array(0.2),
        "topic_level": random.normal(size=2),
        "topic_tilt_deviation": random.normal(size=2),
        "component_effect": random.normal(size=shape["component"]),
        "topic_component_deviation": random.normal(size=(2, shape["topic_component"])),
    }
    below, above = (
        response_logp(model, {name: model[f"judged_{name}"].get_value()}, name, **point)
        for model, name in ((binary, "relevance"), (graded, "grade"))
    )
    np.testing.assert_allclose(above, below, rtol=1e-9)


def test_grades_reach_each_level_by_the_cutpoints():
    collection = small_collection()
    model = be.models.grade_model(collection)
    known = model["judged_grade"].get_value()
    found = grades_logp(model, 0.0)
    reached = 1 / (1 + np.exp([0.0, 1.5]))
    mass = np.log([1 - reached[0], reached[0] - reached[1], reached[1]])
    np.testing.assert_allclose(found, mass[known], rtol=1e-9)
    np.testing.assert_array_equal(known, collection["judgments/grade"])


@pytest.mark.parametrize("latent", [-300.0, -40.0, 0.3, 40.0, 300.0])
def test_grades_that_are_all_but_impossible_keep_their_digits(latent):
    collection = small_collection()
    model = be.models.grade_model(collection)
    known = model["judged_grade"].get_value()
    found = grades_logp(model, latent)
    missed, reached = (-np.logaddexp(0, sign * (latent - np.array([0, 1.5]))) for sign in (1, -1))
    mass = [missed[0], reached[0] + missed[1] + np.log1p(-np.exp(-1.5)), reached[1]]
    np.testing.assert_allclose(found, np.array(mass)[known], rtol=1e-12, atol=1e-15)


def test_a_prior_of_another_model_is_refused():
    sampled = small_collection()
    with pytest.raises(ValueError, match="grade_gap"):
        be.models.relevance_model(sampled, priors={"grade_gap": (0.0, 1.0)})
    assert be.models.grade_model(sampled, priors={"grade_gap": (0.0, 1.0)}).free_RVs
