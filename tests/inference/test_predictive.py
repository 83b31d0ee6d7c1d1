import numpy as np
import pymc as pm
import pytest
import xarray as xr
from scipy.special import expit

import bayeseval as be
from bayeseval.inference import predictive_draws, prior_fit
from tests.posterior.handmade import collection_of_three, half_judged, handmade_fit


def normal_mean() -> pm.Model:
    with pm.Model() as model:
        pm.Data("judged_score", [0.3, 0.2])
        pm.Normal("score", pm.Normal("mean", 2.0, 0.5), np.float64(0.1), shape=2)
    return model


def fit_of(**draws) -> xr.DataTree:
    posterior = {name: (("chain", "draw"), values) for name, values in draws.items()}
    return xr.DataTree.from_dict({"posterior": xr.Dataset(posterior)})


def test_the_prior_is_the_models_and_the_data_are_drawn_from_the_fit():
    draws = np.random.default_rng(1).normal(0.25, 0.07, size=(2, 2000))
    drawn = predictive_draws(normal_mean(), fit_of(mean=draws), n_draws=2000, random_seed=1)
    prior = drawn["prior/mean"]
    assert float(prior.mean()) == pytest.approx(2.0, abs=4 * 0.5 / np.sqrt(2000))
    assert float(drawn["prior_predictive/score"].std()) == pytest.approx(0.51, rel=0.1)
    error = drawn["posterior_predictive/score"].mean("score_dim_0") - drawn["posterior/mean"]
    assert abs(float(error.mean())) < 4 * 0.1 / np.sqrt(2 * 2000)
    assert float(error.std()) == pytest.approx(0.1 / np.sqrt(2), rel=0.1)
    np.testing.assert_array_equal(drawn["observed_data/score"], [0.3, 0.2])


def test_draws_of_the_data_in_a_fit_of_the_prior_are_drawn_again():
    fitted = prior_fit(normal_mean(), draws=50, random_seed=1)
    assert "score" in fitted["posterior"]
    drawn = predictive_draws(normal_mean(), fitted, n_draws=50, random_seed=2)
    assert "score" not in drawn["posterior"]
    before, after = fitted["posterior/score"], drawn["posterior_predictive/score"]
    assert not np.isclose(before.to_numpy(), after.to_numpy()).any()
    np.testing.assert_array_equal(fitted["posterior/mean"], drawn["posterior/mean"])


def test_at_most_so_many_draws_of_the_fit_are_used_evenly_spaced():
    fitted = fit_of(mean=np.arange(300.0).reshape(3, 100))
    drawn = predictive_draws(normal_mean(), fitted, n_draws=30, random_seed=1)
    np.testing.assert_array_equal(drawn["posterior/mean"][1], np.arange(100, 200, 10))


def test_the_same_seed_gives_the_same_draws_and_the_model_is_left_as_it_was():
    model = normal_mean()
    once, again = (
        predictive_draws(model, fit_of(mean=np.zeros((1, 50))), n_draws=50, random_seed=3)
        for _ in range(2)
    )
    for group in ("prior", "posterior_predictive"):
        xr.testing.assert_equal(once[group].to_dataset(), again[group].to_dataset())
    assert [variable.name for variable in model.free_RVs] == ["mean", "score"]


def test_what_a_simulation_observed_goes_before_the_models_data():
    fitted = fit_of(mean=np.zeros((1, 10)))
    fitted["observed_data"] = xr.DataTree(xr.Dataset({"score": ("score_dim_0", [5.0, 6.0])}))
    drawn = predictive_draws(normal_mean(), fitted, n_draws=10, random_seed=1)
    np.testing.assert_array_equal(drawn["observed_data/score"], [5.0, 6.0])


def test_an_approximation_without_the_deviations_predicts_from_its_effects():
    sampled = half_judged(collection_of_three())
    model = be.models.relevance_model(sampled)
    assert "topic_deviation" in [variable.name for variable in model.free_RVs]
    fitted = be.fit(model, approximation="laplace", draws=1000, random_seed=1)
    assert "topic_deviation" not in fitted["posterior"]
    drawn = predictive_draws(model, fitted, n_draws=1000, random_seed=1)
    share = drawn["posterior_predictive/relevance"].mean(["chain", "draw"])
    constant, effect = fitted["constant_data"], fitted["posterior"]
    topic = constant["judged_topic"].to_numpy()
    logit = (
        (effect["topic_effect"].isel(topic=topic).to_numpy() * constant["topic_value"].to_numpy())
        .sum(-1)
        .squeeze(0)
    )
    component = constant["component_value"].to_numpy()
    along = effect["component_effect"].to_numpy()[0]
    logit = logit + along @ component.T
    bent = effect["curve_component_effect"].to_numpy()[0]
    logit = logit + bent @ constant["curve_component_value"].to_numpy().T
    logit = logit + np.outer(effect["curvature"].to_numpy()[0], constant["curve_value"].to_numpy())
    logit = logit + np.outer(effect["tail_effect"].to_numpy()[0], constant["tail_value"].to_numpy())
    own = effect["topic_component_effect"].to_numpy()[0][:, topic]
    first = component[:, : own.shape[-1]] / constant["run_line_spread"].to_numpy()[0]
    agreed = effect["agreement_effect"].to_numpy()[0] @ constant["agreement_value"].to_numpy().T
    alone = effect["topic_shape_effect"].to_numpy()[0][:, topic]
    agreed = agreed + (alone * constant["topic_shape_value"].to_numpy()).sum(-1)
    probability = expit(logit + agreed + (own * first).sum(-1)).mean(axis=0)
    np.testing.assert_allclose(share, probability, atol=4 * 0.5 / np.sqrt(1000))


def test_a_fit_of_the_prior_gives_the_prior_of_scores_and_keeps_what_was_judged():
    sampled = half_judged(collection_of_three())
    fitted = prior_fit(be.models.relevance_model(sampled), draws=400, random_seed=1)
    assert fitted["posterior"].sizes["draw"] == 400
    scores = be.posterior_scores(fitted, sampled, "P@1", over=None, random_seed=1).estimate
    spread = scores.std("draw").squeeze()
    first = sampled["rankings/ranking"].to_numpy()[..., 0]
    judged = ~np.isnan(sampled["judgments/grade"].to_numpy()[first])
    assert judged.any() and not judged.all()
    assert (spread.transpose("run", "topic").to_numpy()[judged] == 0).all()
    assert (spread.transpose("run", "topic").to_numpy()[~judged] > 0.2).all()
    with pytest.raises(ValueError, match="^draws is 0; allowed: a whole number, 1 or more"):
        prior_fit(normal_mean(), draws=0)


def test_a_fit_of_another_model_and_models_without_data_are_refused():
    with pytest.raises(ValueError, match="no variable of this model"):
        predictive_draws(normal_mean(), fit_of(slope=np.zeros((1, 10))))
    sampled = half_judged(collection_of_three())
    more = be.models.relevance_model(collection_of_three((1, 0, 1, 0, 0, 1, 0, 0) * 2))
    fitted = handmade_fit(be.models.relevance_model(sampled))
    message = r"draws of 'component_deviation' have the shape \(1,\) and .* have \(3,\)"
    with pytest.raises(ValueError, match=message):
        predictive_draws(more, fitted)
    other = sampled.copy()
    other["judgments/grade"] = 1.0 - sampled["judgments/grade"]
    with pytest.raises(ValueError, match="whose judgments or rankings are not as here"):
        predictive_draws(be.models.relevance_model(other), fitted)
    fewer = be.models.relevance_model(sampled, runs=["a", "b"])
    with pytest.raises(ValueError, match="another model, whose agreement_value is not as here"):
        predictive_draws(fewer, fitted)
    with pytest.raises(ValueError, match=r"has no dim chain; .* isel\(chain=\[0\]\)"):
        predictive_draws(fewer, fitted.isel(chain=0))
    with pm.Model() as empty:
        pm.Normal("mean")
    with pytest.raises(ValueError, match="nothing in the model is observed"):
        predictive_draws(empty, fit_of(mean=np.zeros((1, 10))))
    with pytest.raises(ValueError, match="n_draws is 0; allowed: a whole number, 1 or more"):
        predictive_draws(normal_mean(), fit_of(mean=np.zeros((1, 10))), n_draws=0)
