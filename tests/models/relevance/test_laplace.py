import io
import sys
from functools import partial

import numpy as np
import pandas as pd
import pymc as pm
import pytest
import xarray as xr
from scipy.special import expit, log_expit
from scipy.stats import norm

import bayeseval as be
from bayeseval import progress
from bayeseval.models.relevance.laplace import Chains
from bayeseval.models.relevance.mode import N_CHAINS, STEP, normal_start
from bayeseval.models.relevance.regression import Regression
from tests.models.relevance.posterior_slopes import (
    check_mode_and_arrow,
    check_slope_of_path,
)
from tests.small import small_collection


@pytest.fixture(scope="module")
def sampled():
    collection = be.simulate.urn_collection(
        [0.1, 0.2, 0.4, 0.6], n_topics=8, prevalence=0.2, random_seed=1
    )
    design = be.designs.pps_strata(collection, budget=60, n_strata=10)
    return be.reveal(collection, design, be.draw(design, random_seed=1))


@pytest.fixture(scope="module")
def model(sampled):
    return be.models.relevance_model(sampled)


@pytest.fixture(scope="module")
def fitted(model):
    return be.fit(model, approximation="laplace", draws=500, random_seed=1)


@pytest.fixture(scope="module")
def started(model):
    data = {variable.name: variable.get_value() for variable in model.data_vars}
    relevance = model["judged_relevance"].get_value().astype(float)
    regression = Regression.of(data, model.coords["block"], relevance, 8)
    return regression, *normal_start(regression, data)


def test_a_long_approximation_shows_a_bar_on_a_terminal(model, fitted, monkeypatch):
    terminal = io.StringIO()
    monkeypatch.setattr(terminal, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(progress, "PATIENCE", -1.0)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys, "stderr", terminal)
    again = be.fit(model, approximation="laplace", draws=500, random_seed=1)
    assert "draws of the posterior" in terminal.getvalue()
    xr.testing.assert_identical(again["posterior"].to_dataset(), fitted["posterior"].to_dataset())


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        (lambda y: {"relevance": y, "curvature": 0.0}, "relevance in observed, and of nothing els"),
        (lambda y: {"relevance": 0.5 * y}, "must be whole numbers"),
        (lambda y: {"relevance": y + 3}, "must be from 0 to 1"),
    ],
)
def test_observed_values_that_the_approximation_does_not_know_are_refused(changed, message):
    model = be.models.relevance_model(small_collection())
    values = model["judged_relevance"].get_value()
    with pytest.raises(ValueError, match=message):
        be.fit(model, approximation="laplace", draws=5, random_seed=1, observed=changed(values))


@pytest.mark.parametrize("added", ["potential", "observed", "free"])
def test_a_model_that_was_extended_is_not_approximated_as_if_it_were_not(sampled, added):
    extended = be.models.relevance_model(sampled)
    with extended:
        if added == "potential":
            pm.Potential("pull", -((extended["curvature"] - 3.0) ** 2))
        else:
            seen = {"observed": 1.0} if added == "observed" else {}
            pm.Normal("more", extended["curvature"], np.float64(0.1), **seen)
    name = "pull" if added == "potential" else "more"
    with pytest.raises(ValueError, match=f"been changed .{added} {name}.: leave approximation out"):
        be.fit(extended, approximation="laplace", draws=10, random_seed=1)


def minus_log_posterior(regression, spreads, common, own) -> float:
    """Of effects given the spreads, by the formula."""
    precision, own_precision = (part for part in spreads.precisions())
    logit = (regression.common @ common + np.einsum("trk,tk->tr", regression.own, own)).ravel()
    rows = np.arange(regression.relevance.shape[1])
    known = (rows < regression.number[:, None]).ravel()
    relevance = regression.relevance.ravel()
    fit = relevance[known] * logit[known] - np.logaddexp(0, logit[known])
    off = common - spreads.mean
    prior = (precision[:, 0] * off**2).sum()
    prior += sum(effect @ own_precision[0] @ effect for effect in own)
    return 0.5 * prior - fit.sum()


@pytest.mark.parametrize("size", [1.0, 30.0, 1000.0])
def test_the_likelihood_in_one_pass_is_that_of_the_formula(size):
    """With topics of none, some and many judgments, and probabilities that round to 0 or 1."""
    random = np.random.default_rng(4)
    number, n_rows, n_draws = np.array([0, 3, 64, 150]), 150, 5
    known = np.arange(n_rows) < number[:, None]
    relevance = (random.random(known.shape) < 0.4) * known * 1.0
    columns = [random.normal(size=(*known.shape, n)) * known[:, :, None] for n in (3, 2)]
    regression = Regression(relevance, number, *columns, {}, {})
    logit = size * random.normal(size=(*known.shape, n_draws)) * known[:, :, None]
    found, common, own = regression.slope(logit, np.zeros((3, n_draws)))
    each = relevance[:, :, None] * logit - np.logaddexp(0, logit)
    np.testing.assert_allclose(found, each[known].sum(axis=0), rtol=1e-12)
    np.testing.assert_array_equal(found, regression.likelihood(logit))
    left = (relevance[:, :, None] - expit(logit)) * known[:, :, None]
    np.testing.assert_allclose(common, np.einsum("trj,trd->jd", columns[0], left), atol=1e-11)
    np.testing.assert_allclose(own, np.einsum("trj,trd->tjd", columns[1], left), atol=1e-11)


def test_the_mode_has_no_gradient_and_the_arrow_is_the_factor_of_its_curvature(started):
    regression, common, own, arrow, spreads = started
    energy = partial(minus_log_posterior, regression, spreads)
    check_mode_and_arrow(energy, common, own, arrow, 1e-3)


def test_the_gradient_of_a_path_is_that_of_its_energy(started):
    regression, common, own, arrow, spreads = started
    random = np.random.default_rng(2)
    start = common[:, None] + random.normal(size=(common.size, 16)), own[:, :, None] * np.ones(16)
    chains = Chains(regression, spreads, arrow, *start, random)
    for name in spreads.value:
        spreads.value[name] = spreads.value[name] + 0.3
    prior, scale = spreads.precisions(), spreads.scale()
    energy, _ = chains._energy(start, prior, scale)
    assert energy[0] == pytest.approx(
        minus_log_posterior(regression, spreads, start[0][:, 0], start[1][:, :, 0])
    )
    assert max(part.max() for part in scale) > 1
    check_slope_of_path(chains, arrow, start, prior, scale, random)


def test_where_the_columns_say_nothing_the_draws_are_those_of_the_prior():
    topics = 5
    names = {
        "topic": 2,
        "curve": 1,
        "tail": 1,
        "component": 6,
        "curve_component": 2,
        "agreement": 3,
    }
    names |= {"topic_component": 2, "topic_shape": 2}
    data = {f"{name}_value": np.zeros((topics, width)) for name, width in names.items()}
    data |= {
        "judged_topic": np.arange(topics),
        "fixed_prior": np.array([[-3.0, -1.0, 0.0, 0.5], [3.0, 2.0, 1.0, 2.0]]),
        "topic_prior": np.array([[0.0, -0.7, 0.0], [0.75, 0.5, 0.6]]),
        "scale_prior": np.array([2.0, 1.5, 1.0, 0.5, 1.0]),
    }
    regression = Regression.of(data, names, np.ones(topics), topics)
    common, own, arrow, spreads = normal_start(regression, data)
    random = np.random.default_rng(3)
    start = common[:, None] + np.zeros(16), own[:, :, None] + np.zeros(16)
    chains = Chains(regression, spreads, arrow, *start, random)
    kept = []
    for number in range(1500):
        chains.step(number < 200)
        if number >= 200:
            values = [*spreads.value.values(), chains.common[0], chains.common[4], chains.own[0, 1]]
            kept.append(np.array(values))
    draws = np.array(kept)  # (step, value, chain)
    share = dict(
        zip([*spreads.value, "intercept", "component", "slope of one"], draws.mean((0, 2)))
    )
    found = draws.mean(axis=0)
    error = found.std(axis=1) / np.sqrt(15)
    half_normal = np.log(np.array([2.0, 1.5, 1.0, 0.5, 1.0])) - 0.635  # mean of log |z|
    expected = np.array([*half_normal, 0.0, -0.7, 0.0, -3.0, 0.0, 0.0])
    assert (np.abs(found.mean(axis=1) - expected) < 4 * error).all(), share
    spread = np.array([*np.full(5, 1.11), 0.75, 0.5, 0.6, 3.0])
    np.testing.assert_allclose(draws.std(axis=(0, 2))[:9], spread, rtol=0.15)


def coordinates(fitted, graded: bool) -> np.ndarray:
    """Draws (draw, coordinate), effects of topics as standard normal ones."""
    posterior = fitted["posterior"].to_dataset().isel(chain=0).transpose("draw", "topic", ...)

    def drawn(name):
        return posterior[name].to_numpy().reshape(posterior.sizes["draw"], -1)

    population, sd, z = drawn("population_effect"), drawn("topic_sd"), drawn("topic_fisher_z")
    off = (posterior["topic_effect"].to_numpy() - population[:, None]) / sd[:, None]
    first, second = off[..., 0], (off[..., 1] - np.tanh(z) * off[..., 0]) * np.cosh(z)
    columns = [population, drawn("curvature"), drawn("tail_effect"), np.log(sd), z, first, second]
    if graded:
        columns += [drawn(name) for name in STEP]
        step_sd = drawn("topic_step_sd")
        columns += [np.log(step_sd), drawn("topic_step_effect") / step_sd]
    return np.hstack(columns)


def log_posterior(tried, model, graded: bool) -> np.ndarray:
    """Log posterior density (value,) of such coordinates, by the formula."""
    columns = ("topic_value", "curve_value", "tail_value")
    x = np.column_stack([model[name].get_value() for name in columns])
    topic = model["judged_topic"].get_value()
    common, log_sd, z, first, second, step = np.split(tried, [4, 6, 7, 9, 11], axis=1)
    intercept = common[:, :1] + np.exp(log_sd[:, :1]) * first
    slope = common[:, 1:2] + np.exp(log_sd[:, 1:]) * (np.tanh(z) * first + second / np.cosh(z))
    logit = intercept[:, topic] + slope[:, topic] * x[:, 1] + common[:, 2:] @ x[:, 2:].T
    density = norm.logpdf(common, [-1.0, -2.0, 0.0, 0.0], [2.0, 2.0, 1.0, 1.0]).sum(axis=1)
    density += norm.logpdf(np.hstack([log_sd, z]), [1.0, 0.5, 0.0], [1.0, 1.0, 0.75]).sum(axis=1)
    density += norm.logpdf(np.hstack([first, second])).sum(axis=1)
    if not graded:
        signs = np.where(model["judged_relevance"].get_value(), 1.0, -1.0)
        return density + log_expit(signs * logit).sum(axis=1)
    density += norm.logpdf(step[:, :3], [0.0, 0.5, 0.0], [1.5, 0.5, 1.0]).sum(axis=1)
    density += norm.logpdf(step[:, 4:]).sum(axis=1)
    density += step[:, 3] - 0.5 * np.exp(2.0 * step[:, 3])  # half-normal, of its log
    grade = model["judged_grade"].get_value()
    odds = step[:, :1] + step[:, 1:2] * np.logaddexp(0, logit) + step[:, 2:3] * x[:, 1].clip(max=1)
    odds += (np.exp(step[:, 3:4]) * step[:, 4:])[:, topic]
    reached = log_expit(logit) + log_expit(np.where(grade > 1, 1.0, -1.0) * odds)
    return density + np.where(grade > 0, reached, log_expit(-logit)).sum(axis=1)


@pytest.mark.parametrize("graded", [False, True])
def test_effects_and_their_spreads_are_drawn_from_their_posterior(graded):
    """Exact means and standard deviations by importance sampling; runs hardly say anything."""
    grades = {"grade_proportions": (0.6, 0.4)} if graded else {}
    collection = be.simulate.urn_collection(
        [0.4], n_topics=2, prevalence=0.05, random_seed=1, **grades
    )
    design = be.designs.pps_strata(collection, budget=40, n_strata=5)
    few = be.reveal(collection, design, be.draw(design, random_seed=1))
    runs = ("reliability", "curve_component", "agreement", "topic_component", "topic_shape")
    priors = {f"{name}_sd": 0.02 for name in runs}
    model = (be.models.grade_model if graded else be.models.relevance_model)(few, priors=priors)
    fitted = be.fit(model, approximation="laplace", draws=4000, random_seed=1)
    draws = coordinates(fitted, graded)
    random = np.random.default_rng(1)
    noise = random.standard_t(8, size=(150_000, draws.shape[1]))
    tried = draws.mean(axis=0) + noise @ np.linalg.cholesky(np.cov(draws.T) * 1.3).T
    log_weight = log_posterior(tried, model, graded) + 4.5 * np.log1p(noise**2 / 8).sum(axis=1)
    weight = np.exp(log_weight - log_weight.max())
    weight /= weight.sum()
    assert (weight**2).sum() < 3e-4
    mean = weight @ tried
    sd = np.sqrt(weight @ (tried - mean) ** 2)
    np.testing.assert_allclose((draws.mean(axis=0) - mean) / sd, 0.0, atol=0.1)
    np.testing.assert_allclose(draws.std(axis=0) / sd, 1.0, atol=0.1)


def test_draws_carry_the_names_and_dims_of_the_model(model, fitted):
    posterior = fitted["posterior"].to_dataset()
    for variable in model.unobserved_RVs:
        if variable.name == "relevance" or variable.name.endswith("_deviation"):
            continue
        dims = tuple(model.named_vars_to_dims.get(variable.name) or ())
        assert posterior[variable.name].dims == ("chain", "draw", *dims)
        assert np.isfinite(posterior[variable.name]).all()
    assert fitted.attrs["approximation"] == "laplace"
    assert posterior.sizes["draw"] == 2000


def test_arviz_takes_the_approximation_for_a_fit_with_one_chain(fitted):
    import arviz as az

    posterior = fitted["posterior"]
    assert posterior["chain"].values.tolist() == [0]
    np.testing.assert_array_equal(posterior["draw"], np.arange(2000))
    table = az.summary(fitted, var_names=["topic_sd"])
    assert table.index.tolist() == ["topic_sd[intercept]", "topic_sd[log_rank]"]
    for plot in (az.plot_trace, az.plot_autocorr):
        panels = plot(fitted, var_names=["topic_sd"], backend="none").viz["plot"]
        assert panels["topic_sd"].sizes["predictor"] == 2


def test_effective_sizes_are_those_of_the_chains_that_follow_one_another(fitted):
    import arviz as az

    for name in ("topic_fisher_z", "agreement_sd", "curve_component_sd"):
        draws = fitted["posterior"][name].to_numpy()  # 16 chains of 125
        own = float(az.ess(draws.reshape(N_CHAINS, -1)))
        assert own < 0.5 * draws.size
        assert own / 2 < float(az.ess(draws)) < 2 * own


def test_probabilities_match_the_share_of_relevant_documents(sampled, fitted):
    post = be.posterior_scores(fitted, sampled, "NumRel", random_seed=1).estimate
    truth = 0.2 * 1000
    assert abs(float(post.mean()) - truth) < 4 * float(post.std())
    assert float(post.std()) < 0.2 * truth


def test_error_rates_of_labels_are_those_of_their_posterior(sampled):
    """Share and slope of a judge who says yes or no, against sums over a grid."""
    grade = sampled["judgments/grade"].to_numpy()
    judged = np.flatnonzero(~np.isnan(grade))
    random = np.random.default_rng(1)
    labels = np.full(grade.size, np.nan)
    labels[judged] = random.random(judged.size) < 0.2 + 0.5 * (grade[judged] >= 1)
    labels[judged[:300]] = np.nan
    labelled = sampled.copy()
    labelled["predictors"] = xr.DataTree(xr.Dataset({"llm": ("pair", labels)}))
    model = be.models.relevance_model(labelled, external="llm")
    fitted = be.fit(model, approximation="laplace", draws=1000, random_seed=1)
    share, slope = (fitted[f"posterior/llm_{name}"][0] for name in ("share", "slope"))
    logit = model["label_logit"].get_value()[300:]
    odds, beta = np.meshgrid(np.linspace(-6, 6, 241), np.linspace(-2, 2, 161), indexing="ij")
    for state in (0, 1):
        own = (grade[judged[300:]] >= 1) == state
        assert own.sum() > 20
        density = -0.5 * (beta / 0.5) ** 2 - np.logaddexp(0, odds) - np.logaddexp(0, -odds)
        for x, label in zip(logit[own], labels[judged[300:]][own], strict=True):
            density -= np.logaddexp(0, (odds + beta * x) * (1 if label else -1))
        mass = np.exp(density - density.max())
        mass /= mass.sum()
        for drawn, value in ((share[:, state, 0], expit(odds)), (slope[:, state], beta)):
            mean = (mass * value).sum()
            sd = np.sqrt((mass * (value - mean) ** 2).sum())
            assert abs(float(drawn.mean()) - mean) < 0.15 * sd
            assert float(drawn.std()) == pytest.approx(sd, rel=0.1)
    rate = fitted["posterior/llm_rate"][0]
    np.testing.assert_allclose(rate.isel(llm_value=0), share.isel(llm_step=0))
    np.testing.assert_allclose(rate.sum("llm_value"), 1.0)
    post = be.posterior_scores(fitted, labelled, "P@10", random_seed=1).estimate
    assert np.isfinite(post).all()


def test_what_the_approximation_cannot_do_is_refused(sampled, model, fitted):
    with pytest.raises(ValueError, match="'laplace' or None"):
        be.fit(model, approximation="advi", random_seed=1)
    collection = be.simulate.urn_collection([0.2], n_topics=2, prevalence=0.2, random_seed=1)
    urn = be.models.urn_model(collection, depth=5, frame="judged", documents="all")
    told = "for relevance_model and grade_model; this is another model, which observes relevance"
    with pytest.raises(ValueError, match=told):
        be.fit(urn, approximation="laplace", random_seed=1)
    with pytest.raises(
        ValueError, match="an approximation has a verdict only beside its judgments"
    ):
        be.verdict(fitted)


def test_the_approximation_refuses_where_its_steps_would_be_very_short():
    """Runs err independently: a document that all of them rank high is 200 deviations off."""
    random = np.random.default_rng(0)
    relevant = random.random((40, 500)) < 0.1
    score = relevant + random.normal(size=(20, 40, 500))
    run, topic, document = np.nonzero(np.argsort(np.argsort(-score)) < 100)
    runs = pd.DataFrame({"run": run, "topic": topic, "document": document}).astype(str)
    topic_of, document_of = np.indices(relevant.shape).reshape(2, -1)
    qrels = pd.DataFrame({"topic": topic_of, "document": document_of}).astype(str)
    collection = be.read_collection(
        qrels.assign(grade=relevant.ravel().astype(int)),
        runs.assign(score=score[run, topic, document]),
    )
    design = be.designs.pps_strata(collection, budget=50)
    model = be.models.relevance_model(be.reveal(collection, design, be.draw(design, random_seed=1)))
    with pytest.raises(ValueError, match="leave approximation out .* samples by NUTS"):
        be.fit(model, approximation="laplace", draws=80, random_seed=1)
