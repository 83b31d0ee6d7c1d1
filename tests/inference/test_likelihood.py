import arviz as az
import numpy as np
import pytest
import xarray as xr

import bayeseval as be
from bayeseval.inference import log_likelihood
from bayeseval.models.relevance.mode import STEP
from tests.posterior.handmade import handmade_fit
from tests.small import small_collection

RATES = {
    2: [[0.7, 0.2, 0.1], [0.1, 0.3, 0.6]],
    3: [[0.7, 0.2, 0.1], [0.2, 0.3, 0.5], [0.05, 0.1, 0.85]],
}


SLOPE = 0.4  # of the log odds of every share in the linear predictor


def shares(rate: np.ndarray) -> np.ndarray:
    """What each label but the last takes of what those before it leave."""
    return np.stack([rate[:, 0], rate[:, 1] / (1 - rate[:, 0])], axis=1)


def moved(rate: np.ndarray, logit: np.ndarray) -> np.ndarray:
    """Rates (state, pair, label) where the shares have moved with the linear predictor."""
    odds = np.log(shares(rate) / (1 - shares(rate)))[:, None] + SLOPE * logit[:, None]
    first, second = np.moveaxis(1 / (1 + np.exp(-odds)), -1, 0)
    return np.stack([first, (1 - first) * second, (1 - first) * (1 - second)], axis=-1)


def labelled() -> xr.DataTree:
    """Everything judged; some of the labels are missing."""
    collection = small_collection()
    labels = collection["predictors/labels"].to_numpy().copy()
    labels[::5] = np.nan
    collection["predictors"] = xr.DataTree(xr.Dataset({"labels": ("pair", labels)}))
    return collection


# parts that the formula below leaves out
PLAIN = {
    f"{name}_{part}": 0.0
    for name in ("agreement", "topic_shape", "topic_component")
    for part in ("deviation", "effect")
}


def observed_fit(model, truth: str, n_draws: int = 5) -> xr.DataTree:
    """A fit with draws of the parameters chosen by hand, and what was observed."""
    given = {}
    if "state" in model.coords:
        rate = np.array(RATES[len(model.coords["state"])])
        given = {"labels_share": shares(rate), "labels_slope": SLOPE}
    fitted = handmade_fit(model, **PLAIN, **given).isel(draw=slice(0, n_draws))
    names = [name for name in (truth, "labels_label") if name in model.named_vars]
    values = {name: model[f"judged_{name}"].get_value() for name in names}
    group = {name: (f"{name}_dim", value) for name, value in values.items()}
    fitted["observed_data"] = xr.DataTree(xr.Dataset(group))
    return fitted


def states(model, fitted, truth: str) -> np.ndarray:
    """P(state) (chain, draw, judged_pair, state) from the formula of the model."""
    posterior = fitted["posterior"].to_dataset()
    topic = model["judged_topic"].get_value()
    x = model["topic_value"].get_value()[:, 1]
    effect = posterior["topic_effect"].transpose("chain", "draw", "topic", "predictor").to_numpy()
    along = posterior["component_effect"].to_numpy() @ model["component_value"].get_value().T
    bent = posterior["curve_component_effect"].to_numpy()
    along = along + bent @ model["curve_component_value"].get_value().T
    logit = effect[:, :, topic, 0] + effect[:, :, topic, 1] * x + along
    logit += posterior["curvature"].to_numpy()[..., None] * model["curve_value"].get_value()
    logit += posterior["tail_effect"].to_numpy()[..., None] * model["tail_value"].get_value()
    reached = [1 / (1 + np.exp(-logit))]
    if truth == "grade":
        level, slope, by_rank = (posterior[name].to_numpy() for name in STEP)
        own = posterior["topic_step_effect"].transpose("chain", "draw", "topic", "grade_step")
        odds = level + own.to_numpy()[:, :, topic, 0] + slope * np.log1p(np.exp(logit))
        odds += by_rank * np.minimum(x, 1.0)
        reached.append(reached[0] / (1 + np.exp(-odds)))
    bounds = [np.ones_like(logit), *reached, np.zeros_like(logit)]
    return np.stack([high - low for high, low in zip(bounds, bounds[1:], strict=False)], axis=-1)


@pytest.mark.parametrize("truth", ["relevance", "grade"])
def test_judgments_given_their_labels_follow_bayes(truth):
    collection = labelled()
    builder = getattr(be.models, f"{truth}_model")
    model = builder(collection, external="labels")
    fitted = observed_fit(model, truth)
    given = handmade_effects(fitted)
    group = log_likelihood(given, model)["log_likelihood"].to_dataset()
    share = states(model, given, truth)
    judged = model[f"judged_{truth}"].get_value()
    pairs = np.arange(judged.size)
    np.testing.assert_allclose(group[truth], np.log(share[:, :, pairs, judged]), rtol=1e-8)
    labels = collection["predictors/labels"].to_numpy()
    known = np.flatnonzero(~np.isnan(labels))
    rate = moved(np.array(RATES[share.shape[-1]]), model["label_logit"].get_value())
    joint = share.copy()
    joint[:, :, known] *= rate[:, known, labels[known].astype(int)].T
    posterior = joint / joint.sum(axis=-1, keepdims=True)
    found = group[f"{truth}_given_labels"]
    np.testing.assert_allclose(np.exp(found), posterior[:, :, pairs, judged], rtol=1e-5)
    of_label = rate[judged[known], known, labels[known].astype(int)]
    np.testing.assert_allclose(group["labels_label"][0, 0], np.log(of_label), rtol=1e-8)
    assert group["labels_label"].sizes["labels_pair"] == known.size
    unlabelled = np.flatnonzero(np.isnan(labels))
    np.testing.assert_allclose(found[..., unlabelled], group[truth][..., unlabelled])


def handmade_effects(fitted) -> xr.DataTree:
    """The same with effects that follow from their deviations, as a sampler's would."""
    posterior = fitted["posterior"].to_dataset()
    deviation, z = posterior["topic_deviation"], posterior["topic_fisher_z"]
    first, second = (deviation.sel(predictor=name, drop=True) for name in ("intercept", "log_rank"))
    slope = np.tanh(z) * first + second / np.cosh(z)
    unit = xr.concat([first, slope], deviation["predictor"], coords="minimal")
    effect = posterior["population_effect"] + posterior["topic_sd"] * unit
    along = posterior["reliability_sd"] * posterior["component_deviation"]
    bent = posterior["curve_component_sd"] * posterior["curve_component_deviation"]
    if "topic_step_sd" in posterior:
        own = posterior["topic_step_sd"] * posterior["topic_step_deviation"]
        posterior = posterior.assign(topic_step_effect=own)
    whole = fitted.copy()
    whole["posterior"] = xr.DataTree(
        posterior.assign(
            topic_effect=effect,
            component_effect=along.transpose("chain", "draw", ...),
            curve_component_effect=bent.transpose("chain", "draw", ...),
        )
    )
    return whole


def test_the_group_is_added_and_serves_leave_one_out():
    model = be.models.relevance_model(small_collection())
    fitted = observed_fit(model, "relevance", 200)
    with_group = log_likelihood(fitted, model)
    assert set(with_group.children) == {*fitted.children, "log_likelihood"}
    assert list(with_group["log_likelihood"].data_vars) == ["relevance"]
    assert "log_likelihood" not in fitted.children
    log = with_group["log_likelihood/relevance"].to_numpy().reshape(400, -1)
    exact = -np.log(np.mean(np.exp(-log), axis=0)).sum()
    found = az.loo(with_group, var_name="relevance")
    assert found.n_data_points == log.shape[1]
    assert found.elpd == pytest.approx(exact, rel=0.01)


def test_an_approximation_is_refused():
    model = be.models.relevance_model(small_collection())
    fitted = be.fit(model, approximation="laplace", draws=5, random_seed=1)
    with pytest.raises(ValueError, match="this fit holds no observations"):
        log_likelihood(fitted, model)


def test_lists_of_an_urn_are_refused():
    collection = be.simulate.urn_collection(
        [0.1, 0.3], n_topics=3, n_documents=40, prevalence=0.3, random_seed=1
    )
    model = be.models.urn_model(collection, depth=5, frame="judged", documents="all")
    made = be.inference.prior_fit(model, draws=5, random_seed=1)
    made["observed_data"] = xr.DataTree(xr.Dataset())
    with pytest.raises(ValueError, match="composite likelihood"):
        log_likelihood(made, model)


def test_a_model_made_otherwise_is_refused():
    collection = small_collection()
    model = be.models.relevance_model(collection)
    fitted = observed_fit(model, "relevance")
    other = be.models.relevance_model(collection, runs=["a", "b"])
    with pytest.raises(ValueError, match="another model, whose agreement_value is not as here"):
        log_likelihood(fitted, other)
