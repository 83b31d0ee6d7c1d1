"""Studies: what is called the truth is what the posterior is compared with; short calibrations."""

import numpy as np
import pymc as pm
import pytest
import xarray as xr

import bayeseval as be
from benchmarks.calibration import N_DRAWS, STUDIES, prior_truth, relevance_study
from benchmarks.simulation_based_calibration import rank_uniformity, simulation_based_calibration

FALSE_ALARM = 0.001
SEEDS = range(1001, 1021)


@pytest.fixture(scope="module")
def collection() -> xr.DataTree:
    sizes = {"n_topics": 2, "n_documents": 20, "n_relevant": 8, "depth": 12, "random_seed": 1}
    return be.simulate.urn_collection([0.1, 0.2, 0.5], **sizes, grade_proportions=[0.5, 0.5])


def prior_fits(model, *, random_seed: int) -> xr.DataTree:
    """Draws from the prior in place of a posterior: quick, and right where nothing is judged."""
    drawn = pm.sample_prior_predictive(
        40, model=model, random_seed=random_seed, compile_kwargs={"mode": "FAST_COMPILE"}
    )
    drawn["posterior"] = drawn["prior"]
    return drawn


def study_of(collection, build=be.models.relevance_model, *, budget):
    measures = ["P@5", "RBP(p=0.8)"]
    given = {"budget": budget, "n_strata": 2, "measures": measures}
    return relevance_study(collection, build, prior_fits, **given)


def test_grades_of_the_truth_are_on_the_declared_scale_even_where_one_is_missing(collection):
    truth = prior_truth(collection, be.models.grade_model)
    for seed in range(6):
        complete, known = truth(seed)
        model_grades = be.models.grade_model(complete).coords["grade_value"]
        assert [float(grade) for grade in model_grades] == [0.0, 1.0, 2.0]
        assert set(np.unique(complete["judgments/grade"])) <= {0.0, 1.0, 2.0}
        assert "grade" not in known


@pytest.mark.parametrize("build", [be.models.relevance_model, be.models.grade_model])
def test_scores_of_complete_judgments_are_the_true_ones_under_every_draw(collection, build):
    simulation = study_of(collection, build, budget=20)(3)
    for name in ("mean_score", "topic_score"):
        truth, draws = simulation[f"truth/{name}"], simulation[f"posterior/{name}"]
        np.testing.assert_allclose(draws - truth, 0.0, atol=1e-12)


def test_prior_draws_of_parameters_have_uniform_ranks_as_their_own_posterior(collection):
    found = simulation_based_calibration(study_of(collection, budget=6), range(8), n_draws=19)
    names = [q for q in found["quantity"].values if "score" not in str(q)]
    assert rank_uniformity(found.sel(quantity=names), level=0.01)["passed"].all()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["relevance", "grade", "urn"])
def test_twenty_simulations_are_calibrated(name):
    found = simulation_based_calibration(STUDIES[name](), SEEDS, n_draws=N_DRAWS)
    tested = rank_uniformity(found, level=FALSE_ALARM)
    assert tested["passed"].all(), tested.where(~tested["passed"], drop=True)
    assert float(found["verdict"].sel(check="r_hat").median()) < 1.05  # short chains
