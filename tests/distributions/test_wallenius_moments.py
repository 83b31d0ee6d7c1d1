"""Moments of the urn's sequences, against enumeration and draws."""

import itertools

import numpy as np
import pytest
import xarray as xr
from scipy import stats

from bayeseval.distributions import wallenius_sequence_moments
from bayeseval.distributions.wallenius_count_kernel import log_pmfs
from bayeseval.distributions.wallenius_sequence_kernel import run_log_likelihoods


def enumerated(log_odds, n_documents, n_relevant, n_ranks):
    """Mean and second moments by summing over all sequences."""
    rows = np.array(list(itertools.product((0, 1), repeat=n_ranks)), dtype=np.int8)
    full = [np.full(len(rows), x) for x in (n_documents, n_relevant)]
    value, _ = run_log_likelihoods(rows, np.full(len(rows), log_odds), *full)
    chance = np.exp(value)
    return chance @ rows, (rows * chance[:, None]).T @ rows


def test_moments_are_those_of_all_sequences():
    for n_relevant in (0, 1, 4, 9):
        mean, product = enumerated(-1.2, 9, n_relevant, 6)
        moments = wallenius_sequence_moments(-1.2, n_documents=9, n_ranks=6, n_relevant=n_relevant)
        np.testing.assert_allclose(moments["mean"], mean, atol=1e-14)
        np.testing.assert_allclose(
            moments["covariance"], product - np.outer(mean, mean), atol=1e-14
        )


def test_a_binomial_m_mixes_the_moments():
    parts = [enumerated(0.4, 8, m, 5) for m in range(9)]
    chance = stats.binom(8, 0.3).pmf(np.arange(9))
    mean = sum(p * first for p, (first, _) in zip(chance, parts, strict=True))
    product = sum(p * both for p, (_, both) in zip(chance, parts, strict=True))
    moments = wallenius_sequence_moments(0.4, n_documents=8, n_ranks=5, prevalence=0.3)
    np.testing.assert_allclose(moments["mean"], mean, atol=1e-14)
    covariance = product - np.outer(mean, mean)
    np.testing.assert_allclose(moments["covariance"], covariance, atol=1e-14)


def test_random_order_has_the_moments_of_independent_documents():
    moments = wallenius_sequence_moments(0.0, n_documents=60, n_ranks=20, prevalence=0.15)
    np.testing.assert_allclose(moments["mean"], 0.15, atol=1e-13)
    np.testing.assert_allclose(moments["covariance"], 0.15 * 0.85 * np.eye(20), atol=1e-13)


def test_the_count_of_many_ranks_has_the_moments_of_wallenius_distribution():
    log_odds = xr.DataArray([-3.0, -1.0, 0.5], dims="run", coords={"run": ["a", "b", "c"]})
    moments = wallenius_sequence_moments(log_odds, n_documents=1000, n_ranks=80, n_relevant=70)
    assert moments["covariance"].dims == ("run", "rank", "rank_other")
    count = np.arange(71)
    for run, value in zip("abc", log_odds.values, strict=True):
        whole = [np.full(71, x) for x in (80, 70, 1000)]
        pmf = np.exp(log_pmfs(count, *whole, np.full(71, value))[0])
        here = moments.sel(run=run)
        assert float(here["mean"].sum()) == pytest.approx(pmf @ count, abs=1e-9)
        variance = pmf @ count**2 - (pmf @ count) ** 2
        assert float(here["covariance"].sum()) == pytest.approx(variance, abs=1e-8)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_ranks": 3}, "Give n_relevant or prevalence, one of them; neither given"),
        ({"n_ranks": 3, "n_relevant": 1, "prevalence": 0.5}, "both given"),
        ({"n_ranks": 30, "n_relevant": 1}, "n_ranks must be at most n_documents; found 30"),
        ({"n_ranks": 0, "n_relevant": 1}, "n_ranks must be at least 1, not 0"),
        ({"n_ranks": 3, "n_relevant": 11}, "n_relevant must be at most n_documents; found 11"),
        ({"n_ranks": 3, "prevalence": 1.5}, "prevalence must lie between 0 and 1, not 1.5"),
    ],
)
def test_numbers_that_no_urn_has_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        wallenius_sequence_moments(-1.0, n_documents=10, **options)
