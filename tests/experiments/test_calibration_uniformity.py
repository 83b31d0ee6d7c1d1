"""The test of uniform ranks: its level is what it says, and it sees what it is for."""

import numpy as np
import pytest
import xarray as xr
from scipy.stats import beta, binom, norm

import bayeseval as be
from bayeseval.experiments.calibration_uniformity import holm, least_tail, null_statistics

N_DRAWS = 99


def ranks_of(*columns) -> xr.Dataset:
    names = [f"q{number}" for number in range(len(columns))]
    return xr.Dataset(
        {"rank": (("simulation", "quantity"), np.stack(columns, axis=1))},
        coords={"quantity": names},
        attrs={"n_draws": N_DRAWS},
    )


def test_statistic_is_the_least_tail_along_the_distribution_function():
    ranks = np.array([0, 0, 1, 3])
    counts = np.bincount(ranks, minlength=4)[None]
    tails = []
    for i in (1, 2, 3):
        below = np.count_nonzero(ranks < i)
        at_most = sum(binom.pmf(k, 4, i / 4) for k in range(below + 1))
        at_least = sum(binom.pmf(k, 4, i / 4) for k in range(below, 5))
        tails.append(2 * min(at_most, at_least))
    np.testing.assert_allclose(least_tail(counts), [min(tails)])


def test_p_values_are_exact_where_all_sets_of_ranks_can_be_listed():
    counts = np.array([[3, 0], [2, 1], [1, 2], [0, 3]])  # three ranks of 0 or 1
    chance = np.array([1, 3, 3, 1]) / 8
    statistic = least_tail(counts)
    exact = [chance[statistic <= value].sum() for value in statistic]
    ranks = [np.repeat([0, 1], row) for row in counts]
    found = be.experiments.rank_uniformity(ranks_of(*ranks).assign_attrs(n_draws=1))
    np.testing.assert_allclose(found["p_value"], exact, atol=0.01)


def test_uniform_ranks_pass_at_the_stated_rate():
    random = np.random.default_rng(5)
    columns = random.integers(0, N_DRAWS + 1, (2000, 200))
    found = be.experiments.rank_uniformity(ranks_of(*columns))
    for level in (0.01, 0.05, 0.2):
        rejected = int((found["p_value"] <= level).sum())
        assert binom.ppf(0.001, 2000, level) * 0.9 <= rejected <= binom.ppf(0.999, 2000, level)


def test_the_chance_of_any_false_alarm_among_many_quantities_is_the_level():
    random = np.random.default_rng(6)
    alarms = 0
    for _ in range(100):
        columns = random.integers(0, N_DRAWS + 1, (10, 100))
        found = be.experiments.rank_uniformity(ranks_of(*columns), level=0.2, n_null=1000)
        alarms += not bool(found["passed"].all())
    assert binom.ppf(0.001, 100, 0.1) <= alarms <= binom.ppf(0.999, 100, 0.2)


@pytest.mark.parametrize(
    ("shape", "what"),
    [((1.6, 1), "high"), ((1, 1.6), "low"), ((0.6, 0.6), "narrow"), ((1.8, 1.8), "wide")],
)
def test_skewed_narrow_and_wide_posteriors_fail(shape, what):
    random = np.random.default_rng(7)
    share = beta(*shape).rvs((20, 200), random_state=random)
    found = be.experiments.rank_uniformity(ranks_of(*(share * (N_DRAWS + 1)).astype(int)))
    assert found["passed"].mean() <= 0.1, what


@pytest.mark.parametrize(
    ("shift", "stretch", "least", "most"),
    [(0.5, 1.0, 0.97, 1.0), (1 / 3, 1.0, 0.65, 0.85), (0.1, 1.0, 0.0, 0.05), (0.0, 0.7, 0.85, 1.0)],
)
def test_power_among_44_quantities_is_what_the_results_say(shift, stretch, least, most):
    random = np.random.default_rng(9)
    share = norm.cdf((random.normal(size=(300, 200)) - shift) / stretch)
    ranks = random.binomial(N_DRAWS, share)
    statistic = least_tail(np.stack([np.bincount(r, minlength=N_DRAWS + 1) for r in ranks]))
    null = null_statistics(200, N_DRAWS, 20_000, 1)
    found = np.mean(statistic <= np.quantile(null, 0.05 / 44))
    assert least <= found <= most


def test_the_band_is_left_as_often_as_stated():
    random = np.random.default_rng(8)
    band = be.experiments.rank_band(200, N_DRAWS, level=0.1)
    ranks = random.integers(0, N_DRAWS + 1, (3000, 200))
    below = np.stack([np.mean(ranks < i, axis=1) for i in range(1, N_DRAWS + 1)], axis=1)
    outside = (below < band["lower"].values - 1e-12) | (below > band["upper"].values + 1e-12)
    left = int(outside.any(axis=1).sum())
    assert binom.ppf(0.001, 3000, 0.08) <= left <= binom.ppf(0.999, 3000, 0.1)


def test_holm_multiplies_by_the_number_of_hypotheses_that_are_left():
    np.testing.assert_allclose(holm(np.array([0.01, 0.04, 0.02, 0.9])), [0.04, 0.08, 0.06, 0.9])
    assert holm(np.array([0.8, 0.9])).max() == 1.0


def test_levels_and_ranks_out_of_range_are_refused():
    with pytest.raises(ValueError, match="level is 5; allowed: between 0 and 1"):
        be.experiments.rank_uniformity(ranks_of(np.arange(10)), level=5)
    with pytest.raises(ValueError, match="ranks go from 0 to 120; allowed: 0 to 99"):
        be.experiments.rank_uniformity(ranks_of(np.array([0, 120])))
