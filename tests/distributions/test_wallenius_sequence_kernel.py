"""The sum over M, in steps or in blocks: the same as the sum of all terms, one by one."""

import numpy as np
import pytest
from scipy.special import expit, logsumexp
from scipy.stats import binom

from bayeseval.distributions import wallenius_sequence_kernel as kernel


def whole_sum(colour, log_odds, logit_prevalence, n_documents, weight):
    """Log-likelihood, d log odds (run,), d logit q, from every M by itself."""
    lowest, highest = kernel.number_range(colour, n_documents)
    number = np.arange(lowest, highest + 1.0)
    run = [np.zeros((2, number.size)) for _ in log_odds]
    for row, odds, (value, slope) in zip(colour, log_odds, run, strict=True):
        kernel.add_run(row, odds, n_documents, number, value, slope)
    value = weight * np.sum([log for log, _ in run], axis=0)
    value += binom.logpmf(number, n_documents, expit(logit_prevalence))
    total = logsumexp(value)
    share = np.exp(value - total)
    change = weight * np.array([slope @ share for _, slope in run])
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


@pytest.mark.parametrize("log_odds", [-3.0, 0.0, 6.0])
def test_terms_that_rise_at_the_largest_number_are_not_missed(log_odds):
    for n_relevant in (1, 4, 10, 40):
        colour = np.ones((1, n_relevant), dtype=np.int8)
        arguments = (colour, np.array([log_odds]), 0.0, 1000, 1.0)
        for found, expected in zip(stepped(*arguments), whole_sum(*arguments), strict=True):
            np.testing.assert_allclose(found, expected, rtol=0, atol=1e-8)


def test_many_runs_know_the_number_better_than_any_step():
    # At these odds the bell lies half-way between two steps of P(M).
    colour = (np.random.default_rng(1).random((126, 20)) < 0.6).astype(np.int8)
    arguments = (colour, np.full(126, -2.22246), -1.0, 400, 1.0)
    for found, expected in zip(stepped(*arguments), whole_sum(*arguments), strict=True):
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-8)


def test_a_list_whose_terms_are_a_wide_bell_is_summed_in_steps_and_no_other():
    def summed(n_relevant, n_other, logit, n_documents, log_odds=-1.5):
        colour = np.repeat([1, 0], [n_relevant, n_other]).astype(np.int8)
        arguments = (colour, colour.size, log_odds, logit, n_documents, 1.0, n_relevant)
        return kernel.single_log_likelihood(*arguments, n_documents - n_other)[3]

    assert summed(3, 7, -1.0, 1000) and summed(3, 7, -2.5, 1000) and summed(3, 7, 2.0, 1000)
    assert not summed(3, 7, -6.0, 1000)  # cut: two or three are relevant
    assert not summed(124, 0, 0.0, 1000, 6.0)  # most of the sum is at its end
    assert not summed(250, 250, 0.0, 1000, 0.5)  # narrow: half of the documents are seen
