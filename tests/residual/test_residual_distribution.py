"""The weighted sum of unknown relevances against lists of all outcomes and exact fractions."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bayeseval.residual.distribution import UnjudgedSum


def listed(weight, probability):
    """Values, ascending, and cumulative probabilities of all 2^n outcomes, one by one."""
    outcome = np.array(list(itertools.product([0, 1], repeat=len(weight))), dtype=bool)
    value = (outcome * weight).sum(axis=1)
    chance = np.where(outcome, probability, 1.0 - np.asarray(probability)).prod(axis=1)
    order = np.argsort(value)
    return value[order], np.cumsum(chance[order])


def between(value):
    """Points in the middle between neighbouring outcomes, where they are apart."""
    middle = 0.5 * (value[1:] + value[:-1])
    apart = np.diff(value) > 1e-9
    return middle[apart], np.flatnonzero(apart)


def geometric(n_ranks, first=10, persistence=0.8):
    return (1 - persistence) * persistence ** np.arange(first, first + n_ranks, dtype=float)


@pytest.mark.parametrize("probability", [0.05, 0.2, 0.5])
def test_fifteen_unjudged_ranks_equal_enumeration(probability):
    weight = geometric(15)
    value, cumulative = listed(weight, np.full(15, probability))
    points, place = between(value)
    ours = UnjudgedSum(weight, probability)
    np.testing.assert_allclose(ours.cdf(points), cumulative[place], rtol=0, atol=1e-12)
    for prob in (0.01, 0.05, 0.5, 0.95, 0.99):
        expected = value[np.searchsorted(cumulative, prob)]
        assert ours.quantile(prob) == pytest.approx(expected, abs=1e-14)


@pytest.mark.parametrize("probability", [0.05, 0.2, 0.5])
def test_inverting_the_characteristic_function_stays_within_its_bound(probability):
    weight = geometric(15)
    value, cumulative = listed(weight, np.full(15, probability))
    points, place = between(value)
    points, place = points[::40], place[::40]
    ours = UnjudgedSum(weight, probability, tolerance=1e-4)
    assert ours._atoms is None  # 2^15 outcomes are more than 1 / tolerance
    error = np.abs(ours.cdf(points) - cumulative[place])
    assert (error <= ours.bound(points)).all()
    assert error.max() < 1e-3 and np.median(error) < 1e-5  # the largest stands beside a jump


def test_at_a_jump_the_bound_is_half_the_jump():
    weight = np.append(geometric(15), 0.5)
    ours = UnjudgedSum(weight, np.append(np.full(15, 0.2), 0.3), tolerance=1e-4)
    jump = 0.8**15 * 0.3
    assert ours.bound(0.5) == pytest.approx(jump / 2, rel=0.3)
    assert ours.bound(0.45) < 1e-7


def test_the_mean_over_topics_is_found_to_one_in_a_million():
    # 3 topics with 5 unjudged ranks each: 15 unjudged ranks, like ones together
    weight, count = geometric(5) / 3, np.full(5, 3)
    value, cumulative = listed(np.repeat(weight, 3), np.full(15, 0.3))
    points, place = between(value)
    ours = UnjudgedSum(weight, 0.3, count)
    np.testing.assert_allclose(ours.cdf(points), cumulative[place], rtol=0, atol=1e-12)
    # 50 topics with 90 unjudged ranks: proved to 1e-6, and equal to a convolution on a fine grid
    weight = geometric(90) / 50
    for probability in (0.05, 0.2, 0.5):
        mean = UnjudgedSum(weight, probability, np.full(90, 50))
        x = mean.mean + mean.standard_deviation * np.linspace(-4, 6, 101)
        assert mean.bound(x).max() <= 1e-6
        np.testing.assert_allclose(mean.cdf(x), convolved(weight, probability, 50, x), atol=1e-6)


def convolved(weight, probability, n_topics, x, n_cells=2**19):
    """Distribution function at x by convolution on a grid, every weight split between two cells."""
    cell = weight.sum() * n_topics / (n_cells - 1)
    transform = np.ones(n_cells // 2 + 1, dtype=complex)
    for one in weight:
        place, share = int(one / cell), one / cell % 1.0
        pmf = np.zeros(n_cells)
        pmf[0] = 1.0 - probability
        pmf[place] += probability * (1.0 - share)
        pmf[place + 1] += probability * share
        transform *= np.fft.rfft(pmf) ** n_topics
    cumulative = np.cumsum(np.fft.irfft(transform, n_cells))
    # a cell's mass is spread evenly around its centre
    return np.interp(x, (np.arange(n_cells) + 0.5) * cell, cumulative)


def test_quantiles_of_a_mean_are_where_the_distribution_function_says():
    mean = UnjudgedSum(geometric(90) / 50, 0.2, np.full(90, 50))
    prob = np.array([0.05, 0.5, 0.95])
    np.testing.assert_allclose(mean.cdf(mean.quantile(prob)), prob, atol=1e-6)


@settings(max_examples=30)
@given(
    st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1), st.integers(0, 3)), min_size=1, max_size=5)
)
def test_moments_and_groups_agree_with_the_list_of_outcomes(groups):
    weight, probability, count = (np.array(column) for column in zip(*groups, strict=True))
    ours = UnjudgedSum(weight, probability, count)
    value, cumulative = listed(np.repeat(weight, count), np.repeat(probability, count))
    chance = np.diff(cumulative, prepend=0.0)
    mean = (value * chance).sum()
    assert ours.mean == pytest.approx(mean, abs=1e-12)
    spread = np.sqrt(max(0.0, (value**2 * chance).sum() - mean**2))
    assert ours.standard_deviation == pytest.approx(spread, abs=1e-7)
    points, place = between(value)
    np.testing.assert_allclose(ours.cdf(points), cumulative[place], atol=1e-12)
    assert ours.cdf(ours.largest) == pytest.approx(1.0)


def test_nothing_unjudged_is_certain():
    none = UnjudgedSum([], [])
    assert (none.mean, none.standard_deviation, none.largest) == (0.0, 0.0, 0.0)
    assert none.cdf([-1e-6, 0.0]).tolist() == [0.0, 1.0]
    assert none.quantile([0.05, 0.95]).tolist() == [0.0, 0.0]


@pytest.mark.parametrize(
    "weight, probability", [([-1.0], [0.5]), ([1.0], [1.5]), ([1.0], [np.nan])]
)
def test_weights_and_probabilities_out_of_range_are_refused(weight, probability):
    with pytest.raises(ValueError, match="weights and counts are at least 0"):
        UnjudgedSum(weight, probability)
