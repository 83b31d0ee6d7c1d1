"""Likelihood of the urn's sequences, against enumeration of every sequence and of every M."""

import numpy as np
import pymc as pm
import pytensor
import pytest
from scipy import stats
from scipy.special import expit, logsumexp

from bayeseval.distributions.wallenius import wallenius_sequence
from bayeseval.distributions.wallenius_sequence_kernel import add_run, run_log_likelihoods
from bayeseval.distributions.wallenius_sequence_kernel import topic_log_likelihood as topic_kernel
from tests.distributions.wallenius_enumeration import (
    PYTHON,
    count_probability,
    drawn,
    every_sequence,
    run_log_likelihood,
    run_probability,
    topic_log_likelihood,
    topic_probability,
)


def test_a_run_with_gaps_sums_over_every_filling():
    rng = np.random.default_rng(1)
    colour = rng.integers(-1, 2, (300, 7)).astype(np.int8)
    log_odds = rng.normal(0, 2, 300)
    n_documents = rng.integers(7, 13, 300)
    n_relevant = rng.integers(0, n_documents + 1)
    value = run_log_likelihood(colour, log_odds, n_documents, n_relevant)
    expected = [
        run_probability(*x) for x in zip(colour, log_odds, n_documents, n_relevant, strict=True)
    ]
    assert (np.array(expected) == 0).sum() > 20
    np.testing.assert_allclose(np.exp(value), expected, rtol=1e-12)


def test_a_topic_sums_over_every_number_of_relevant_documents_once():
    rng = np.random.default_rng(2)
    for n_documents in (1, 4, 9):
        colour = rng.integers(-1, 2, (8, 3, min(n_documents, 4))).astype(np.int8)
        log_odds, prevalence = rng.normal(0, 1.5, (8, 3)), rng.normal(-1, 2, 8)
        value = topic_log_likelihood(colour, log_odds, n_documents, prevalence)
        expected = [
            topic_probability(colour[i], log_odds[i], n_documents, prevalence[i]) for i in range(8)
        ]
        np.testing.assert_allclose(np.exp(value), expected, rtol=1e-12)


def test_probabilities_of_all_sequences_sum_to_one():
    runs = every_sequence(9)
    total = np.exp(run_log_likelihood(runs, -1.3, 11, 4)).sum()
    assert total == pytest.approx(1.0, abs=1e-13)
    with_gaps = runs.copy()
    with_gaps[:, [0, 3, 4, 7]] = -1
    total = np.exp(run_log_likelihood(np.unique(with_gaps, axis=0), -1.3, 11, 4)).sum()
    assert total == pytest.approx(1.0, abs=1e-13)
    topics = every_sequence(2, 5)
    total = np.exp(topic_log_likelihood(topics, [-2.0, 0.5], 40, -1.0)).sum()
    assert total == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize("log_odds", [-4.0, -1.6, 0.7])
def test_a_gap_of_hundreds_agrees_with_the_distribution_of_counts(log_odds):
    # After 400 unjudged ranks of N = 1000 the next one is relevant: sum over Wallenius' counts.
    n_relevant, colour = 120, np.full(401, -1, dtype=np.int8)
    colour[400] = 1
    count = np.arange(n_relevant + 1)
    chance = count_probability(400, n_relevant, 1000, log_odds)
    left, other = n_relevant - count, 1000 - n_relevant - (400 - count)
    following = left / (left + np.exp(log_odds) * other)
    value = run_log_likelihood(colour, log_odds, 1000, n_relevant)
    assert value == pytest.approx(np.log(chance @ following), abs=1e-10)


@pytest.mark.parametrize("log_odds", [-2.0, -0.4, 1.5])
@pytest.mark.parametrize(
    ("n_draws", "n_relevant", "n_documents"), [(8, 5, 20), (9, 11, 40), (10, 30, 60)]
)
def test_numbers_of_relevant_documents_have_scipys_distribution_near_its_mode(
    n_draws, n_relevant, n_documents, log_odds
):
    """Sums over all sequences with as many; SciPy's own sums are not exact in the far tails."""
    sequences = every_sequence(n_draws)
    chance = np.exp(run_log_likelihood(sequences, log_odds, n_documents, n_relevant))
    found = np.bincount(sequences.sum(axis=1), weights=chance)
    reference = stats.nchypergeom_wallenius(n_documents, n_relevant, n_draws, np.exp(-log_odds))
    near = found > 0.01
    assert near.sum() > 3
    np.testing.assert_allclose(found[near], reference.pmf(np.arange(found.size))[near], rtol=1e-7)
    np.testing.assert_allclose(
        found[: n_relevant + 1],
        count_probability(n_draws, n_relevant, n_documents, log_odds)[: found.size],
        rtol=1e-10,
    )


@pytest.mark.parametrize("n_relevant", [1, 50, 500, 999])
@pytest.mark.parametrize("log_odds", [-5.0, -1.0, 2.0])
def test_both_relevances_after_a_gap_of_hundreds_sum_to_one(n_relevant, log_odds):
    colour = np.full((2, 800), -1, dtype=np.int8)
    colour[:, 799] = [0, 1]
    whole = [np.full(2, x) for x in (1000, n_relevant)]
    value, slope = run_log_likelihoods(colour, np.full(2, log_odds), *whole)
    chance = np.exp(value)
    assert chance.sum() == pytest.approx(1.0, abs=1e-12)
    assert chance @ slope == pytest.approx(0.0, abs=1e-10)


@pytest.mark.parametrize("relevant", [0, 1])
def test_a_judgment_that_all_but_rules_out_the_likely_states_is_still_exact(relevant):
    # 300 unjudged ranks of a run that likes one kind, then all 60 documents of that kind in a row:
    # the first 300 held none of them, far less likely than the smallest float64.
    log_odds, n_relevant = (-6.0, 60) if relevant else (6.0, 940)
    colour = np.r_[np.full(300, -1), np.full(60, relevant)].astype(np.int8)
    filled = np.where(colour < 0, 1 - relevant, colour)
    value = run_log_likelihood(colour, log_odds, 1000, n_relevant)
    assert value < -800
    assert value == pytest.approx(run_log_likelihood(filled, log_odds, 1000, n_relevant), rel=1e-12)


@pytest.mark.parametrize("gaps", [0.0, 0.4])
def test_the_terms_left_out_of_the_sum_over_m_do_not_count(gaps):
    rng = np.random.default_rng(4)
    number = np.arange(1001)
    for n_relevant, prevalence, shift in ((20, -3.0, 0.0), (300, -3.0, 1.5), (2, 1.0, -2.0)):
        log_odds = np.array([-3.0, -2.0, -1.0, 0.5])
        colour = drawn(rng, log_odds, 1000, n_relevant, 20)
        colour[rng.random(colour.shape) < gaps] = -1
        log_odds = log_odds + shift
        runs = run_log_likelihood(colour[:, None], log_odds[:, None], 1000, number)
        expected = logsumexp(stats.binom(1000, expit(prevalence)).logpmf(number) + runs.sum(0))
        value = topic_log_likelihood(colour, log_odds, 1000, prevalence)
        assert value == pytest.approx(expected, rel=1e-12)


def test_the_sum_over_m_is_whole_for_judgments_that_no_urn_would_show():
    # Prior and runs disagree, so that the sum over M may have more than one peak.
    rng = np.random.default_rng(16)
    for _ in range(150):
        n_documents, n_runs = int(rng.choice([200, 1500])), int(rng.choice([1, 3, 20]))
        colour = rng.random((n_runs, int(rng.choice([1, 5, 20])))) < rng.choice(
            [0.0, 0.05, 0.7, 1.0]
        )
        log_odds = rng.normal(rng.choice([-6, -2, 0, 4]), 1, n_runs)
        prevalence, slope = rng.normal(0, 3), np.empty(n_runs)
        number = np.arange(n_documents + 1)
        expected = stats.binom.logpmf(number, n_documents, expit(prevalence))
        each, change = np.zeros(number.size), np.empty((n_runs, number.size))
        for run in range(n_runs):
            add_run(colour[run].astype(np.int8), log_odds[run], n_documents, number.astype(float),
                    each, change[run])  # fmt: skip
        value, _ = topic_kernel(
            colour.astype(np.int8), log_odds, prevalence, n_documents, 1.0, slope
        )
        assert value == pytest.approx(logsumexp(expected + each), rel=1e-11, abs=1e-11)
        share = np.exp(expected + each - logsumexp(expected + each))
        np.testing.assert_allclose(slope, change @ share, rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("log_odds", [-200.0, -80.0, 80.0, 200.0])
def test_extreme_odds_give_finite_log_likelihoods_with_the_slope_of_their_limit(log_odds):
    # One relevant document before the other of four: exactly one draw against the odds or none.
    odds = pytensor.tensor.dscalar("log_odds")
    judged = np.ones(2, dtype=bool)
    run = wallenius_sequence(None, odds, 4, judged, n_relevant=2)
    value = pm.logp(run, np.array([1, 0], dtype=np.int8))
    both = pytensor.function([odds], [value, pytensor.grad(value, odds)], mode=PYTHON)
    result, slope = both(log_odds)
    # w small: 1 * 2 w; w large: 1 / w * 2 w / (2 w).
    expected = np.log(2) + log_odds if log_odds < 0 else -log_odds
    assert result == pytest.approx(expected, rel=1e-13)
    assert slope == pytest.approx(1.0 if log_odds < 0 else -1.0, rel=1e-13)


def test_gradients_match_finite_differences():
    rng = np.random.default_rng(5)
    colour = drawn(rng, np.array([-2.0, -1.0, 0.0]), 200, 30, 12)
    gapped = np.where(rng.random(colour.shape) < 0.5, -1, colour).astype(np.int8)
    odds, prevalence = pytensor.tensor.dmatrix("odds"), pytensor.tensor.dvector("prevalence")
    judged = np.ones(colour.shape, dtype=bool)
    topic = wallenius_sequence(None, odds, 200, judged, logit_prevalence=prevalence)
    value = pm.logp(topic, np.stack([colour, gapped])).sum()
    value += pm.logp(wallenius_sequence(None, odds[0], 200, judged, n_relevant=40), gapped).sum()
    function = pytensor.function([odds, prevalence], value, mode=PYTHON)
    gradient = pytensor.function(
        [odds, prevalence], pytensor.grad(value, [odds, prevalence]), mode=PYTHON
    )
    point = [rng.normal(-1, 0.5, (2, 3)), np.array([-2.0, -1.0])]
    for exact, parameter in zip(gradient(*point), point, strict=True):
        for index in np.ndindex(parameter.shape):
            kept, sides = parameter[index], []
            for step in (1e-4, -1e-4):
                parameter[index] = kept + step
                sides.append(float(function(*point)))
            parameter[index] = kept
            assert exact[index] == pytest.approx((sides[0] - sides[1]) / 2e-4, abs=2e-6)
