"""The sum over M in steps: the same as the whole sum, where the terms are smooth and where not."""

import numpy as np
import pytest
from scipy.special import expit, logsumexp

from bayeseval.distributions import wallenius_topic_kernel as kernel


def whole_sum(colour, log_odds, logit_prevalence, n_documents, weight):
    """Log-likelihood, d log odds (run,), d logit q, from every M."""
    number, value, slope = kernel.joint_terms(
        colour, log_odds, logit_prevalence, n_documents, weight, 1, True
    )
    total = logsumexp(value)
    share = np.exp(value - total)
    by_run = np.moveaxis(slope, 1, 0).reshape(log_odds.size, -1)
    change = np.where(share > 0, by_run, 0.0) @ share * weight
    return total, change, share @ number - n_documents * expit(logit_prevalence)


def stepped(colour, log_odds, logit_prevalence, n_documents, weight):
    slope = np.empty(log_odds.size)
    value, change = kernel.topic_log_likelihood(
        colour, log_odds, logit_prevalence, n_documents, weight, slope
    )
    return value, slope, change


@pytest.mark.parametrize("n_documents", [60, 1000, 8000])
@pytest.mark.parametrize("logit_prevalence", [-9.0, -5.0, -2.0, 0.0, 4.0])
@pytest.mark.parametrize(("n_runs", "depth"), [(1, 1), (1, 10), (5, 10), (60, 10)])
def test_sum_in_steps_is_the_whole_sum(n_documents, logit_prevalence, n_runs, depth):
    rng = np.random.default_rng([n_documents, n_runs, depth])
    for log_odds, gaps in ((-6.0, 0.0), (-1.5, 0.0), (0.5, 0.0), (-1.5, 0.3)):
        colour = rng.integers(0, 2, (n_runs, depth)).astype(np.int8)
        colour[rng.random(colour.shape) < gaps] = -1
        colour[0, 0] = 1
        odds = log_odds + rng.normal(0.0, 0.3, n_runs)
        arguments = (colour, odds, logit_prevalence, n_documents, 0.8)
        expected, found = whole_sum(*arguments), stepped(*arguments)
        np.testing.assert_allclose(found[0], expected[0], rtol=0, atol=1e-9)
        np.testing.assert_allclose(found[1], expected[1], rtol=0, atol=1e-8)
        np.testing.assert_allclose(found[2], expected[2], rtol=1e-8, atol=1e-7)


def test_steps_are_taken_where_the_bell_is_wide_and_not_where_it_is_cut():
    # N = 1000 and q = .27: a standard deviation of 14, some nine steps of an M.
    assert kernel._first_step(-1.0, 1000) == 9
    assert kernel._first_step(-8.0, 1000) == 1
    bell = -0.5 * ((np.arange(48) - 24.0) / 1.5) ** 2
    assert kernel._is_even(bell, bell.max())
    assert not kernel._is_even(bell[22:], bell.max())
    narrow = 25.0 * bell
    assert not kernel._is_even(narrow, narrow.max())
