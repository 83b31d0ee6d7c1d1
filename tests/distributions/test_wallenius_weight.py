"""Composite likelihoods of the urn: the likelihoods of runs raised to a power."""

import numpy as np
import pymc as pm
import pytensor
import pytest
from scipy import stats
from scipy.special import expit, logsumexp

from bayeseval.distributions.wallenius import wallenius_sequence
from tests.distributions.wallenius_enumeration import PYTHON, drawn, run_probability


def weighted_run(colour, log_odds, n_documents, n_relevant, likelihood_weight):
    judged = np.ones(np.shape(colour)[-1], dtype=bool)
    run = wallenius_sequence(
        None, log_odds, n_documents, judged, n_relevant=n_relevant,
        likelihood_weight=likelihood_weight,
    )  # fmt: skip
    return pm.logp(run, np.asarray(colour, dtype=np.int8)).eval(mode=PYTHON)


def weighted_topic(colour, log_odds, n_documents, prevalence, likelihood_weight):
    judged = np.ones(np.shape(colour)[-2:], dtype=bool)
    topic = wallenius_sequence(
        None, log_odds, n_documents, judged, logit_prevalence=prevalence,
        likelihood_weight=likelihood_weight,
    )  # fmt: skip
    return pm.logp(topic, np.asarray(colour, dtype=np.int8)).eval(mode=PYTHON)


@pytest.mark.parametrize("likelihood_weight", [0.2, 1.0, 3.0])
def test_with_m_known_the_log_likelihood_is_multiplied(likelihood_weight):
    rng = np.random.default_rng(1)
    colour = rng.integers(-1, 2, (40, 5)).astype(np.int8)
    log_odds, n_relevant = rng.normal(0, 2, 40), rng.integers(0, 9, 40)
    chance = [
        run_probability(x, w, 8, m) for x, w, m in zip(colour, log_odds, n_relevant, strict=True)
    ]
    value = weighted_run(colour, log_odds, 8, n_relevant, likelihood_weight)
    assert 5 < (np.array(chance) == 0).sum() < 20
    np.testing.assert_allclose(np.exp(value), np.array(chance) ** likelihood_weight, rtol=1e-12)


@pytest.mark.parametrize("likelihood_weight", [0.2, 1.0, 3.0])
def test_with_m_summed_out_its_own_probability_has_no_weight(likelihood_weight):
    rng = np.random.default_rng(2)
    number = np.arange(8)
    for _ in range(6):
        colour = rng.integers(-1, 2, (3, 4)).astype(np.int8)
        log_odds, prevalence = rng.normal(0, 1.5, 3), rng.normal(-1, 2)
        runs = [
            [run_probability(x, w, 7, m) for x, w in zip(colour, log_odds, strict=True)]
            for m in number
        ]
        chance = stats.binom(7, expit(prevalence)).pmf(number)
        expected = chance @ np.prod(runs, axis=1) ** likelihood_weight
        value = weighted_topic(colour, log_odds, 7, prevalence, likelihood_weight)
        assert value == pytest.approx(np.log(expected), rel=1e-12)


@pytest.mark.parametrize("likelihood_weight", [0.02, 0.3, 2.0])
def test_the_terms_left_out_of_a_weighted_sum_do_not_count(likelihood_weight):
    # The smaller the weight, the more values of M matter.
    rng, number = np.random.default_rng(3), np.arange(1001)
    log_odds = np.array([-3.0, -2.0, -1.0, 0.5] * 5)
    colour = drawn(rng, log_odds, 1000, 60, 20)
    colour[::2][rng.random((10, 20)) < 0.4] = -1
    runs = weighted_run(colour[:, None], log_odds[:, None], 1000, number, 1.0).sum(axis=0)
    prior = stats.binom(1000, expit(-2.0)).logpmf(number)
    value = weighted_topic(colour, log_odds, 1000, -2.0, likelihood_weight)
    assert value == pytest.approx(logsumexp(prior + likelihood_weight * runs), rel=1e-12)


@pytest.mark.parametrize("mode", ["NUMBA", PYTHON])
def test_gradients_of_weighted_likelihoods_match_finite_differences(mode):
    rng = np.random.default_rng(4)
    colour = drawn(rng, np.array([-2.0, -1.0, 0.0]), 100, 20, 8)
    colour[1][rng.random(8) < 0.5] = -1
    point = pytensor.tensor.dvector("point")
    judged = np.ones(colour.shape, dtype=bool)
    topic = wallenius_sequence(
        None, point[:3], 100, judged, logit_prevalence=point[3], likelihood_weight=0.3
    )
    runs = wallenius_sequence(None, point[:3], 100, judged, n_relevant=15, likelihood_weight=1.7)
    value = pm.logp(topic, colour) + pm.logp(runs, colour).sum()
    both = pytensor.function([point], [value, pytensor.grad(value, point)], mode=mode)
    here = np.array([-1.2, -0.7, 0.2, -1.5])
    gradient = both(here)[1]
    for place in range(4):
        step = np.zeros(4)
        step[place] = 1e-5
        change = (both(here + step)[0] - both(here - step)[0]) / 2e-5
        assert gradient[place] == pytest.approx(change, abs=1e-7)


def test_draws_ignore_the_weight():
    judged = np.ones((2, 6), dtype=bool)
    plain, weighted = (
        pm.draw(
            wallenius_sequence(
                None, [-1.0, 0.5], 20, judged, logit_prevalence=-1.0, likelihood_weight=weight
            ),
            5,
            random_seed=5,
            mode=PYTHON,
        )
        for weight in (1.0, 0.1)
    )
    np.testing.assert_array_equal(plain, weighted)


@pytest.mark.slow
def test_nutpie_finds_the_posterior_of_a_composite_likelihood():
    rng, weight, prior_sd = np.random.default_rng(6), 0.25, 3.0
    colour = drawn(rng, np.full(4, -1.5), 60, 12, 15)
    grid = np.linspace(-9, 6, 1501)
    log_posterior = weighted_topic(colour, grid[:, None], 60, -1.5, weight)
    log_posterior += stats.norm(0, prior_sd).logpdf(grid)
    chance = np.exp(log_posterior - logsumexp(log_posterior))
    mean = chance @ grid
    deviation = np.sqrt(chance @ (grid - mean) ** 2)
    with pm.Model():
        log_odds = pm.Normal("log_odds", np.float64(0), np.float64(prior_sd))
        wallenius_sequence(
            "relevance", log_odds, 60, np.ones(colour.shape, dtype=bool), logit_prevalence=-1.5,
            likelihood_weight=weight, observed=colour,
        )  # fmt: skip
        fit = pm.sample(
            800, tune=300, chains=2, cores=1, nuts_sampler="nutpie", random_seed=7,
            progressbar=False, quiet=True,
        )  # fmt: skip
    draws = fit["posterior/log_odds"].to_numpy()
    # Four standard errors at 400 effective draws: with weight 1 the deviation is half as large.
    assert draws.mean() == pytest.approx(mean, abs=4 * deviation / 20)
    assert draws.std() == pytest.approx(deviation, rel=4 / np.sqrt(800))


@pytest.mark.parametrize("weight", [0.0, -1.0, np.nan, np.inf, [0.5, 0.5]])
def test_a_weight_that_is_no_positive_number_is_refused(weight):
    with pytest.raises(ValueError, match="likelihood_weight must be one fixed number above 0"):
        wallenius_sequence(None, -1.0, 10, [True], n_relevant=3, likelihood_weight=weight)


def test_a_weight_that_is_a_variable_is_refused():
    weight = pytensor.tensor.dscalar("weight")
    with pytest.raises(ValueError, match="likelihood_weight must be one fixed number above 0"):
        wallenius_sequence(None, -1.0, 10, [True], n_relevant=3, likelihood_weight=weight)
