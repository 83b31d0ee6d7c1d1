"""Likelihood of lists from the urn: enumeration, gradient, Fisher information, recovery."""

import itertools

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom, chi2

import bayeseval as be
from bayeseval.distributions.wallenius_sequence_kernel import run_log_likelihoods
from bayeseval.models.urn.estimate import UrnLists, _maximum_within, urn_estimate


def sequence_log_likelihood(relevance, n_documents, n_relevant, log_odds):
    """Log-likelihood of one list and its derivative by log w."""
    numbers = np.array([n_documents]), np.array([n_relevant])
    value, slope = run_log_likelihoods(relevance[None], np.array([log_odds]), *numbers)
    return value[0], slope[0]


def plain_chance(relevance, n_documents, n_relevant, odds):
    """Probability of a list without gaps, straight from equation 12."""
    chance, left, other = 1.0, n_relevant, n_documents - n_relevant
    for r in relevance:
        if (left if r else other) <= 0:
            return 0.0
        chance *= (left if r else odds * other) / (left + odds * other)
        left, other = left - r, other - (1 - r)
    return chance


def filled(relevance):
    """Every list without gaps that a list with gaps may stand for."""
    gaps = [i for i, r in enumerate(relevance) if r < 0]
    for values in itertools.product([0, 1], repeat=len(gaps)):
        whole = list(relevance)
        for i, r in zip(gaps, values, strict=True):
            whole[i] = r
        yield whole


@settings(max_examples=60)
@given(
    st.lists(st.sampled_from([-1, 0, 1]), min_size=1, max_size=7),
    st.integers(0, 4),
    st.integers(0, 9),
    st.floats(-3, 3),
)
def test_a_list_with_gaps_is_the_sum_over_what_they_may_hold(relevance, more, marked, log_odds):
    n_documents = len(relevance) + more
    n_relevant = min(marked, n_documents)
    expected = sum(
        plain_chance(whole, n_documents, n_relevant, np.exp(log_odds))
        for whole in filled(relevance)
    )
    array = np.array(relevance, dtype=np.int8)
    value, slope = sequence_log_likelihood(array, n_documents, n_relevant, log_odds)
    assert np.exp(value) == pytest.approx(expected, rel=1e-11, abs=1e-300)
    if expected > 0:
        step = 1e-5
        above = sequence_log_likelihood(array, n_documents, n_relevant, log_odds + step)[0]
        below = sequence_log_likelihood(array, n_documents, n_relevant, log_odds - step)[0]
        assert slope == pytest.approx((above - below) / (2 * step), rel=1e-6, abs=1e-8)


def test_all_lists_of_one_length_have_probability_one():
    for n_relevant in (0, 3, 10):
        chance = [
            np.exp(sequence_log_likelihood(np.array(r, dtype=np.int8), 10, n_relevant, -0.7)[0])
            for r in itertools.product([0, 1], repeat=6)
        ]
        assert sum(chance) == pytest.approx(1.0, abs=1e-13)


def test_a_long_list_with_many_gaps_is_stable():
    rng = np.random.default_rng(1)
    relevance = rng.choice(np.array([-1, 0, 1], dtype=np.int8), size=800, p=[0.5, 0.45, 0.05])
    value, slope = sequence_log_likelihood(relevance, 1000, 90, -1.0)
    assert np.isfinite(value) and value < -50
    step = 1e-5
    above = sequence_log_likelihood(relevance, 1000, 90, -1.0 + step)[0]
    below = sequence_log_likelihood(relevance, 1000, 90, -1.0 - step)[0]
    assert slope == pytest.approx((above - below) / (2 * step), rel=1e-5)
    gaps = np.full(1000, -1, dtype=np.int8)  # nothing seen: certain, whatever the parameters
    assert sequence_log_likelihood(gaps, 1000, 90, -1.0)[0] == pytest.approx(0.0, abs=1e-10)


def two_topics_two_runs():
    relevance = np.array([[[1, 0, -1, 1], [0, 1, 1, -1]], [[0, 0, 0, 1], [1, -1, -1, -1]]], np.int8)
    return UrnLists(relevance, np.array([6, 9]))


def test_the_number_of_relevant_documents_belongs_to_the_topic():
    lists, q, log_odds = two_topics_two_runs(), 0.3, np.array([-1.0, 0.5])
    expected = 0.0
    for topic, number in enumerate([6, 9]):
        total = 0.0
        for m in range(number + 1):
            term = binom.pmf(m, number, q)
            for run in range(2):
                shown = lists.relevance[topic, run].tolist()
                term *= sum(
                    plain_chance(whole, number, m, np.exp(log_odds[run])) for whole in filled(shown)
                )
            total += term
        expected += np.log(total)
    parameters = np.append(np.log(q / (1 - q)), log_odds)
    value, gradient = lists.log_likelihood(parameters)
    assert value == pytest.approx(expected, rel=1e-12)
    for i in range(3):
        step = np.zeros(3)
        step[i] = 1e-5
        up, down = parameters + step, parameters - step
        slope = lists.log_likelihood(up)[0] - lists.log_likelihood(down)[0]
        assert gradient[i] == pytest.approx(slope / 2e-5, rel=1e-6, abs=1e-8)


def information(n_documents, q, w, depth):
    """Fisher information of (logit q, log w) in one judged top, over all 2^depth lists."""
    parameters, total = np.array([np.log(q / (1 - q)), np.log(w)]), np.zeros((2, 2))
    for relevance in itertools.product([0, 1], repeat=depth):
        one = UrnLists(np.array([[relevance]], dtype=np.int8), np.array([n_documents]))
        value, score = one.log_likelihood(parameters)
        total += np.exp(value) * np.outer(score, score)
    return total


@pytest.mark.parametrize(
    ("n_documents", "sd_logit", "sd_odds"), [(100, 0.75, 0.95), (1000, 9.4, 9.6)]
)
def test_from_a_judged_top_only_the_contrast_is_known(n_documents, sd_logit, sd_odds):
    covariance = np.linalg.inv(50 * information(n_documents, 0.05, 0.2, 10))
    error = np.sqrt(np.diag(covariance))
    assert error == pytest.approx([sd_logit, sd_odds], rel=0.02)
    correlation = covariance[0, 1] / error.prod()
    assert correlation == pytest.approx(0.99 if n_documents == 100 else 1.0, abs=0.006)
    contrast = np.sqrt(covariance[0, 0] + covariance[1, 1] - 2 * covariance[0, 1])
    assert contrast == pytest.approx(0.24, abs=0.01)


def test_parameters_are_recovered_where_the_urn_is_depleted():
    collection = be.simulate.urn_collection(
        [0.05, 0.3], n_topics=60, n_documents=80, prevalence=0.2, shared=0.0, depth=60,
        random_seed=4,
    )  # fmt: skip
    fit = urn_estimate(collection, n_documents=80, depth=60)
    truth = np.append(np.log(0.25), np.log([0.05, 0.3]))
    found = np.append(fit.logit_q, fit.log_odds)
    covariance = fit.covariance.to_numpy()
    distance = (found - truth) @ np.linalg.solve(covariance, found - truth)
    assert distance < 16.3  # chi-squared with 3 degrees of freedom: once in a thousand
    assert np.sqrt(np.diag(covariance)).max() < 0.2
    profile = fit.profile_log_likelihood
    assert profile.max().item() == pytest.approx(fit.log_likelihood.item(), abs=1e-6)
    assert (profile <= fit.log_likelihood + 1e-6).all()
    assert profile.isel(logit=0).item() < fit.log_likelihood.item() - 20


def test_at_the_top_of_long_lists_the_profile_is_flat_and_the_contrast_is_found():
    collection = be.simulate.urn_collection(
        [0.2], n_topics=50, n_documents=1000, prevalence=0.05, depth=10, random_seed=2
    )
    fit = urn_estimate(collection, n_documents=1000, depth=10, profile=np.array([-5.0, -3.0, -1.0]))
    contrast = np.log(0.05 / 0.95) - np.log(0.2)
    one = fit.isel(run=0)
    error = one.contrast_standard_error.item()
    assert error == pytest.approx(0.24, abs=0.06) or np.isnan(error)
    assert abs(one.contrast.item() - contrast) < 4 * 0.24
    assert (
        np.ptp(fit.profile_log_likelihood.to_numpy()) < 3.0
    )  # four units of logit q hardly matter
    along = one.logit.to_numpy() - one.profile_log_odds.to_numpy()
    assert np.ptp(along) < 0.6


def judged_tops_of_an_urn(seed, odds=(0.3,), depth=10):
    """Fifty topics of 100 documents each, a fifth of them relevant."""
    return be.simulate.urn_collection(
        odds, n_topics=50, n_documents=100, prevalence=0.2, shared=0.0, depth=depth,
        random_seed=seed,
    )  # fmt: skip


def test_the_likelihood_has_fallen_by_half_the_quantile_at_the_bounds_of_logit_q():
    collection = judged_tops_of_an_urn(3)
    asked = {"n_documents": 100, "depth": 10, "ci_prob": 0.8}
    bounds = urn_estimate(collection, **asked, profile=[0.0]).logit_q_interval
    assert bounds.ci_bound.values.tolist() == ["lower", "upper"]
    found = urn_estimate(collection, **asked, profile=bounds.to_numpy())
    assert bounds[0] < found.logit_q < bounds[1]
    fallen = found.log_likelihood - found.profile_log_likelihood
    np.testing.assert_allclose(fallen, 0.5 * chi2.ppf(0.8, 1), atol=0.01)


def test_logit_q_has_no_lower_bound_where_nothing_judged_is_relevant():
    nothing = UrnLists(np.zeros((5, 1, 3), dtype=np.int8), np.full(5, 50))
    best, bounds = _maximum_within(nothing, 0.9)
    assert bounds[0] == -np.inf
    assert best[0] < bounds[1]


def drawn_lists(seed, odds, *, n_topics, n_documents, depth, proportion):
    """Lists drawn one document after another, the runs independently given M."""
    random = np.random.default_rng(seed)
    relevance = np.zeros((n_topics, len(odds), depth), dtype=np.int8)
    for topic in relevance:
        relevant = random.binomial(n_documents, proportion)
        for shown, weight in zip(topic, odds, strict=True):
            left, other = relevant, n_documents - relevant
            for rank in range(depth):
                shown[rank] = random.random() < left / (left + weight * other)
                left, other = left - shown[rank], other - (1 - shown[rank])
    return UrnLists(relevance, np.full(n_topics, n_documents))


def test_of_two_tops_of_the_likelihood_the_higher_is_found():
    sizes = {"n_topics": 50, "n_documents": 100, "depth": 10, "proportion": 0.2}
    lists = drawn_lists(90, [0.1, 0.3, 0.6], **sizes)
    best, _ = _maximum_within(lists, 0.9)
    top, gradient = lists.log_likelihood(best)
    assert best[0] == pytest.approx(1.609, abs=0.01)
    assert np.abs(gradient).max() < 1e-3
    lower = np.append(-1.163, -1.163 - (best[0] - best[1:]))
    assert top > lists.log_likelihood(lower)[0] + 1.5


@pytest.mark.slow
def test_bounds_of_logit_q_hold_where_its_standard_error_misleads():
    truth, held, by_error = np.log(0.25), 0, 0
    for seed in range(100):
        found = urn_estimate(judged_tops_of_an_urn(seed), n_documents=100, depth=10, profile=[0.0])
        low, high = found.logit_q_interval.to_numpy()
        held += low <= truth <= high
        by_error += abs(found.logit_q.item() - truth) <= 1.645 * found.logit_q_standard_error.item()
    assert 82 <= held <= 97  # of 90 % each: outside once in a hundred
    assert by_error <= held - 10


def prefix_collection(**more):
    """A collection whose runs are judged to depth 2."""
    complete = be.simulate.urn_collection(
        [0.2, 0.6], n_topics=4, n_documents=30, n_relevant=8, depth=10, random_seed=1
    )
    return complete, be.designs.uniform_strata(complete, budget=5, n_strata=1, random_seed=1)


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"depth": 0}, "depth is 0; allowed: a whole number, 1 or more"),
        ({"n_documents": 9}, "topic '1' has 9 documents and a run with more"),
        ({"n_documents": 30.5}, "n_documents must be whole numbers, 0 or more; found 30.5"),
    ],
)
def test_what_no_urn_holds_is_refused(asked, message):
    complete, _ = prefix_collection()
    with pytest.raises(ValueError, match=message):
        urn_estimate(complete, **({"n_documents": 30, "depth": 10} | asked))


def test_lists_that_show_more_than_there_is_are_refused():
    grades = {"a": [1, 1, 1], "b": [0, 0, 1]}
    qrels = pd.DataFrame(
        [
            ("1", f"{run}{i}", grade)
            for run, of_run in grades.items()
            for i, grade in enumerate(of_run)
        ],
        columns=["topic", "document", "grade"],
    )
    runs = qrels.assign(run=qrels["document"].str[0], score=[3, 2, 1] * 2)
    collection = be.read_collection(qrels, runs[["run", "topic", "document", "score"]])
    with pytest.raises(ValueError, match="'1' has 4 documents, one run 3 that are .* one 2 that"):
        urn_estimate(collection, n_documents=4, depth=3)
    assert np.isfinite(urn_estimate(collection, n_documents=5, depth=3).logit_q)


def test_random_samples_are_refused():
    complete, design = prefix_collection()
    sampled = be.reveal(complete, design, be.draw(design, random_seed=1))
    with pytest.raises(ValueError, match="the judgments come from a stratified design"):
        urn_estimate(sampled, n_documents=30, depth=10)


def test_a_collection_without_judged_tops_is_refused():
    run = pd.DataFrame({"run": "a", "topic": "1", "document": ["x", "y"], "score": [2, 1]})
    qrels = pd.DataFrame({"topic": ["1"], "document": ["y"], "grade": [1]})
    with pytest.raises(
        ValueError, match="no run has a judged document of the frame in its first 1 ranks"
    ):
        urn_estimate(be.read_collection(qrels, run), n_documents=5, depth=1, gaps="ignorable")


def test_numbers_of_documents_may_differ_by_topic():
    complete, _ = prefix_collection()
    numbers = xr.DataArray([30, 30, 30, 30], coords={"topic": complete["topic"].to_numpy()})
    one = urn_estimate(complete, n_documents=30, depth=10)
    other = urn_estimate(complete, n_documents=numbers[::-1], depth=10)
    np.testing.assert_allclose(one.log_odds, other.log_odds, rtol=1e-9)
