"""The count model in PyMC: its likelihood by hand, its refusals, and the quadrature beside it."""

import numpy as np
import pymc as pm
import pytest
import xarray as xr
from scipy.special import expit
from scipy.stats import binom, lognorm, norm

import bayeseval as be
from bayeseval.collection import with_node
from bayeseval.estimators.counts import CountModel
from bayeseval.estimators.counts import model as counts_model
from bayeseval.frame.frame import Frame


@pytest.fixture(scope="module")
def truth():
    relevant = np.clip(np.exp(np.random.default_rng(8).normal(3.2, 0.9, 12)), 2, 150).astype(int)
    return be.simulate.urn_collection(
        [0.02, 0.04, 0.08, 0.16], n_documents=800, n_relevant=relevant, depth=100,
        keep="retrieved", random_seed=9,
    )  # fmt: skip


@pytest.fixture(scope="module")
def sampled(truth):
    design = be.designs.pps_strata(truth, budget=40, n_strata=8)
    return be.reveal(truth, design, be.draw(design, random_seed=1))


def test_the_log_density_is_that_of_the_formula(sampled):
    model = be.models.count_model(sampled)
    constant = {variable.name: variable.get_value() for variable in model.data_vars}
    random = np.random.default_rng(3)
    n_topics, n_curve = len(model.coords["topic"]), len(model.coords["curve_column"])
    units = random.normal(size=(2, n_topics))
    point = {
        "intercept": -2.0,
        "curve_units": random.normal(size=n_curve) * 0.1,
        "topic_fisher_z": 0.4,
    }
    spread = {"topic_intercept_sd": 0.8, "topic_slope_sd": 0.5}
    known = pm.observe(model, {"relevant": constant["judged_relevant"].astype(int)})
    logs = {f"{name}_log__": np.log(value) for name, value in spread.items()}
    found = known.compile_logp(jacobian=False)(point | logs | {"topic_effect_units": units})

    judged = np.array(model.coords["judged_cell"])
    columns = constant["cell_curve"]
    weighted = columns.copy()
    weighted[judged] *= np.sqrt(constant["cell_judged"])[:, None]
    weighted[np.setdiff1d(np.arange(len(columns)), judged)] = 0.0
    rotation = np.linalg.svd(weighted, full_matrices=False)[2].T
    first = 0.8 * units[0]
    second = 0.5 * (np.tanh(0.4) * units[0] + np.sqrt(1 - np.tanh(0.4) ** 2) * units[1])
    topic = constant["cell_topic"].astype(int)
    logit = -2.0 + columns @ (5.0 * rotation @ point["curve_units"])
    logit = logit + first[topic] + second[topic] * constant["cell_slope"]
    expected = binom.logpmf(
        constant["judged_relevant"], constant["cell_judged"], expit(logit[judged])
    ).sum()
    expected += norm.logpdf(-2.0, 0, 10) + norm.logpdf(point["curve_units"]).sum()
    expected += norm.logpdf(units).sum() + norm.logpdf(0.4, 0, 0.75)
    expected += lognorm.logpdf(0.8, 0.75) + lognorm.logpdf(0.5, 0.75, scale=np.exp(-0.5))
    assert float(found) == pytest.approx(expected, rel=1e-9)


def test_cells_add_up_to_the_frame_and_to_the_judgments(sampled):
    model = be.models.count_model(sampled)
    constant = {variable.name: variable.get_value() for variable in model.data_vars}
    frame = Frame.drawn_from(sampled)
    judged = ~np.isnan(frame.grade[0])
    assert constant["cell_judged"].sum() == judged.sum()
    assert constant["cell_unjudged"].sum() == (~judged).sum()
    assert constant["judged_relevant"].sum() == (frame.grade[0] >= 1).sum()


def test_numbers_are_those_seen_and_binomial_draws_of_the_rest(sampled):
    with be.models.count_model(sampled) as model:
        drawn = pm.sample_prior_predictive(
            400,
            var_names=["logit", "topic_effect"],
            random_seed=2,
            compile_kwargs={"mode": "FAST_COMPILE"},
        )
    drawn["posterior"] = drawn["prior"].to_dataset()
    number = be.models.relevant_numbers(drawn, random_seed=3)
    constant = {variable.name: variable.get_value() for variable in model.data_vars}
    seen = np.bincount(constant["cell_topic"].astype(int), constant["cell_relevant"])
    rest = expit(drawn["posterior/logit"].values) * constant["cell_unjudged"]
    for place in range(number.sizes["topic"]):
        here = constant["cell_topic"] == place
        mean = seen[place] + rest[..., here].sum(axis=-1).mean()
        assert (number.isel(topic=place) >= seen[place]).all()
        assert float(number.isel(topic=place).mean()) == pytest.approx(mean, rel=0.02, abs=0.3)


def test_what_it_cannot_be_made_from_is_refused(truth, sampled):
    with pytest.raises(ValueError, match="the collection has no design"):
        be.models.count_model(truth)
    pool = be.designs.depth_pool(truth, 5)
    pooled = be.reveal(truth, pool, be.draw(pool, random_seed=1))
    with pytest.raises(ValueError, match="this design is deterministic, which says nothing of"):
        be.models.count_model(pooled)
    with pytest.raises(ValueError, match="there is no prior 'slope'"):
        be.models.count_model(sampled, priors={"slope": (0.0, 1.0)})
    design = sampled["design"].to_dataset(inherit=False)
    known = sampled["judgments/grade"].notnull()
    chance = design["inclusion_probability"].where(known.values)
    listed = with_node(sampled, "design", design.assign(inclusion_probability=chance))
    with pytest.raises(ValueError, match="the design lists only its sampled documents"):
        be.models.count_model(listed)
    other = xr.DataTree.from_dict(
        {"posterior": xr.Dataset({"logit": (("chain", "draw", "cell"), [[[0.0]]])})}
    )
    with pytest.raises(ValueError, match="are drawn from a fit of count_model"):
        be.models.relevant_numbers(other)


def test_a_fit_of_counts_has_no_scores_of_runs(sampled):
    with be.models.count_model(sampled):
        drawn = pm.sample_prior_predictive(
            2, var_names=["logit"], random_seed=2, compile_kwargs={"mode": "FAST_COMPILE"}
        )
    drawn["posterior"] = drawn["prior"].to_dataset()
    with pytest.raises(ValueError, match="models that have: relevance_model, grade_model, urn_mod"):
        be.posterior_scores(drawn, sampled, "AP")


@pytest.mark.slow
def test_the_quadrature_gives_the_sampler_s_posterior_of_every_number(sampled, monkeypatch):
    """Mean within .2 standard deviations and deviation within a quarter, at 6,000 draws.

    With effects that are normal, as those of the sampler's model.
    """
    monkeypatch.setattr(counts_model, "mixing", lambda node, share, _, **rest: np.ones(share.shape))
    fits = be.experiments.RepeatedFits(draws=3000, tune=1000, chains=2)
    fitted = fits(be.models.count_model(sampled), random_seed=1)
    assert float(be.verdict(fitted).value.sel(check="r_hat")) < 1.03
    number = be.models.relevant_numbers(fitted, random_seed=1)
    mean, sd = (getattr(number, name)(["chain", "draw"]).values for name in ("mean", "std"))
    frame = Frame.drawn_from(sampled)
    relevant = (frame.grade >= 1).astype(float)
    level = CountModel(frame.ranked_sample, 0).level(((1.0,),), [relevant])
    drawn = level.total[0]
    assert (np.abs(drawn.mean(axis=1) - mean) < 0.2 * sd + 0.05).all()
    np.testing.assert_allclose(drawn.std(axis=1), sd, rtol=0.25, atol=0.1)
    inverse = (1.0 / np.maximum(number, 1)).mean(["chain", "draw"]).values
    np.testing.assert_allclose((1.0 / np.maximum(drawn, 1.0)).mean(axis=1), inverse, rtol=0.1)
