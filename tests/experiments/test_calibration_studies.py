"""Studies: what is called the truth is what the posterior is compared with."""

import numpy as np
import pymc as pm
import pytest
import xarray as xr

import bayeseval as be

FAST = {"mode": "FAST_COMPILE"}
MEASURES = ["P@5", "RBP(p=0.8)"]


@pytest.fixture(scope="module")
def collection() -> xr.DataTree:
    return be.simulate.urn_collection(
        [0.1, 0.2, 0.5],
        n_topics=2,
        n_documents=20,
        n_relevant=8,
        depth=12,
        grade_proportions=[0.5, 0.5],
        random_seed=1,
    )


def prior_fits(model, *, random_seed: int) -> xr.DataTree:
    """Draws from the prior in place of a posterior: quick, and right where nothing is judged."""
    drawn = pm.sample_prior_predictive(
        40, model=model, random_seed=random_seed, compile_kwargs=FAST
    )
    drawn["posterior"] = drawn["prior"]
    return drawn


def study_of(collection, build=be.models.relevance_model, *, budget, **options):
    return be.experiments.relevance_study(
        collection, build, prior_fits, budget=budget, n_strata=2, measures=MEASURES, **options
    )


def test_the_same_seed_gives_the_same_truth_and_another_another(collection):
    truth = be.experiments.prior_truth(collection, be.models.relevance_model)
    (first, known), (again, _), (other, _) = truth(1), truth(1), truth(2)
    grades = [tree["judgments/grade"].to_numpy() for tree in (first, again, other)]
    np.testing.assert_array_equal(grades[0], grades[1])
    assert (grades[0] != grades[2]).any()
    assert set(np.unique(grades[0])) <= {0.0, 1.0}
    assert "relevance" not in known


def test_grades_are_on_the_declared_scale_even_where_one_is_missing(collection):
    truth = be.experiments.prior_truth(collection, be.models.grade_model)
    for seed in range(6):
        complete, _ = truth(seed)
        model_grades = be.models.grade_model(complete).coords["grade_value"]
        assert [float(grade) for grade in model_grades] == [0.0, 1.0, 2.0]
        assert set(np.unique(complete["judgments/grade"])) <= {0.0, 1.0, 2.0}


def test_predictors_of_the_sample_are_on_the_scale_of_the_whole(collection):
    complete, _ = be.experiments.prior_truth(collection, be.models.relevance_model)(1)
    design = be.designs.pps_strata(complete, budget=6, n_strata=2)
    sampled = be.reveal(complete, design, be.draw(design, random_seed=1))
    whole, part = be.models.relevance_model(complete), be.models.relevance_model(sampled)
    for name in ("run_line_rotation", "log_rank_mean", "run_curve_mean", "run_line_spread"):
        np.testing.assert_array_equal(whole[name].get_value(), part[name].get_value())


def test_prevalence_of_the_truth_follows_its_parameters(collection):
    narrow = {"topic_intercept_sd": (-6, 0.01), "topic_slope_sd": (-6, 0.01), "slope": (0, 0.01)}
    narrow |= {"curvature": (0, 0.01), "tail": (0, 0.01)}
    narrow |= dict.fromkeys(
        ("reliability_sd", "curve_component_sd", "agreement_sd", "topic_agreement_sd"), 0.01
    )
    high = be.experiments.prior_truth(
        collection,
        lambda c: be.models.relevance_model(c, priors=narrow | {"intercept": (3, 0.01)}),
    )
    low = be.experiments.prior_truth(
        collection,
        lambda c: be.models.relevance_model(c, priors=narrow | {"intercept": (-3, 0.01)}),
    )
    shares = [np.mean([t(s)[0]["judgments/grade"] for s in range(2)]) for t in (high, low)]
    assert shares[0] > 0.8
    assert shares[1] < 0.2


@pytest.mark.parametrize("build", [be.models.relevance_model, be.models.grade_model])
def test_scores_of_complete_judgments_are_the_true_ones_under_every_draw(collection, build):
    simulation = study_of(collection, build, budget=20)(3)
    for name in ("mean_score", "topic_score"):
        truth, draws = simulation[f"truth/{name}"], simulation[f"posterior/{name}"]
        np.testing.assert_allclose(draws - truth, 0.0, atol=1e-12)


def test_parameters_and_runs_are_those_asked_for(collection):
    study = study_of(
        collection,
        budget=6,
        runs=["run003"],
        n_topics=2,
        parameters={"curvature": {}, "topic_effect": {"topic": [1]}, "step_slope": {}},
    )
    found = be.experiments.simulation_based_calibration(study, [1, 2], n_draws=19)
    assert found["quantity"].values.tolist() == [
        "curvature",
        "topic_effect[2, intercept]",
        "topic_effect[2, log_rank]",
        "mean_score[P@5, run003]",
        "mean_score[RBP(p=0.8), run003]",
        "topic_score[run003, 1]",
        "topic_score[run003, 2]",
    ]


def test_prior_draws_of_parameters_have_uniform_ranks_as_their_own_posterior(collection):
    study = study_of(collection, budget=6, parameters={"curvature": {}, "topic_sd": {}})
    found = be.experiments.simulation_based_calibration(study, range(8), n_draws=19)
    names = [q for q in found["quantity"].values if "score" not in str(q)]
    tested = be.experiments.rank_uniformity(found.sel(quantity=names), level=0.01)
    assert tested["passed"].all()


def test_a_pair_without_a_grade_is_refused(collection):
    design = be.designs.pps_strata(collection, budget=6, n_strata=2)
    sampled = be.reveal(collection, design, be.draw(design, random_seed=1))
    with pytest.raises(ValueError, match="a pair has no grade; a study needs one for every pair"):
        be.experiments.prior_truth(sampled, be.models.relevance_model)


def test_a_model_without_documents_is_refused(collection):
    with pytest.raises(ValueError, match="another model predicts no single documents; models"):
        be.experiments.prior_truth(collection, lambda _: pm.Model())


def test_prior_predictive_prevalence_is_the_share_of_relevant_pairs(collection):
    found = be.experiments.prior_predictive(collection, be.models.grade_model, ["P@5"], [4, 5])
    complete, _ = be.experiments.prior_truth(collection, be.models.grade_model)(5)
    relevant = complete["judgments/grade"].to_numpy() > 0
    topic = collection["pair_topic"].to_numpy()
    expected = [relevant[topic == number].mean() for number in (0, 1)]
    np.testing.assert_allclose(found["prevalence"].sel(simulation=5), expected)
    score = be.evaluate(complete, "P@5", estimator="assumed").estimate.mean("topic")
    np.testing.assert_allclose(found["mean_score"].sel(simulation=5), score)
