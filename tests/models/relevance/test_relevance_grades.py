"""The model of grades: its likelihood, exact and against that of relevance."""

import numpy as np
import pytensor.tensor as pt
import pytest
import xarray as xr
from scipy.special import expit

import bayeseval as be
from bayeseval.models.relevance import predictor
from bayeseval.models.relevance.grades import _grade_shares
from tests.models.relevance.test_relevance import response_logp
from tests.small import small_collection


@pytest.fixture(autouse=True)
def centred(monkeypatch):
    """Effects written as parameters of their own, however few the judgments and the runs."""
    for limit in ("CENTRED_FROM", "MANY_TOPICS", "MANY_COMPONENTS", "PAIRS_PER_COMPONENT"):
        monkeypatch.setattr(predictor, limit, 0)


LEVEL, SLOPE, BY_RANK = -0.4, 0.7, -0.3


def topics_at(intercept: float) -> dict[str, np.ndarray]:
    level = {"topic_level": np.full(2, intercept), "topic_tilt_deviation": np.zeros(2)}
    return level | {"population_tilt": np.zeros(())}


def grades_logp(model, latent: float) -> np.ndarray:
    """Log probability of every judged grade where all documents are alike, and topics too."""
    point = topics_at(latent) | {
        "step_intercept": np.array([LEVEL]),
        "step_slope": np.array([SLOPE]),
        "step_log_rank": np.array([BY_RANK]),
    }
    point["topic_step_deviation"] = np.zeros((2, 1))
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


def test_grades_reach_each_level_by_the_steps():
    collection = small_collection()
    model = be.models.grade_model(collection)
    known = model["judged_grade"].get_value()
    found = grades_logp(model, 0.0)
    log_rank = np.minimum(model["topic_value"].get_value()[:, 1], 1.0)
    further = expit(LEVEL + SLOPE * np.log(2.0) + BY_RANK * log_rank)
    mass = np.log([0.5 + 0.0 * further, 0.5 * (1 - further), 0.5 * further])
    np.testing.assert_allclose(found, mass[known, np.arange(known.size)], rtol=1e-9)
    np.testing.assert_array_equal(known, collection["judgments/grade"])


@pytest.mark.parametrize("latent", [-300.0, -40.0, 0.3, 40.0, 300.0])
def test_grades_that_are_all_but_impossible_keep_their_digits(latent):
    collection = small_collection()
    model = be.models.grade_model(collection)
    known = model["judged_grade"].get_value()
    found = grades_logp(model, latent)
    step = LEVEL + SLOPE * np.logaddexp(0.0, latent)
    step = step + BY_RANK * np.minimum(model["topic_value"].get_value()[:, 1], 1.0)
    odds = np.array([np.full(known.size, latent), step])
    missed, reached = (-np.logaddexp(0.0, sign * odds) for sign in (1, -1))
    mass = np.array([missed[0], reached[0] + missed[1], reached.sum(axis=0)])
    expected = mass[known, np.arange(known.size)]
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-15)


def test_a_prior_of_another_model_is_refused():
    sampled = small_collection()
    with pytest.raises(ValueError, match="step_slope"):
        be.models.relevance_model(sampled, priors={"step_slope": (0.0, 1.0)})
    assert be.models.grade_model(sampled, priors={"step_slope": (0.0, 1.0)}).free_RVs


def test_one_ordered_scale_is_a_special_case():
    """Cutpoints 0 and 1.5 of one logistic scale: a slope of 1, and no differences by topic."""
    latent = np.linspace(-6.0, 6.0, 25)
    odds = -np.log(np.expm1(1.5)) + np.logaddexp(0.0, latent)
    np.testing.assert_allclose(expit(latent) * expit(odds), expit(latent - 1.5), rtol=1e-12)
    shares = _grade_shares(pt.constant(latent), [pt.constant(odds)]).eval()
    np.testing.assert_allclose(shares[:, 2], expit(latent - 1.5), rtol=1e-12)
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)
