"""Wallenius' distribution of counts, against exact sums over the sequences of draws."""

from decimal import Decimal, localcontext

import numpy as np
import pymc as pm
import pytensor
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pymc.logprob.utils import ParameterValueError
from scipy import stats

from bayeseval.distributions import wallenius_count
from bayeseval.distributions.wallenius_count_variable import WalleniusCountLogp, log_cdfs, log_pmfs
from tests.distributions.wallenius_enumeration import chi_square_tail

# Compiling a graph with numba takes seconds; tests of its compiled form say so.
PYTHON = "FAST_COMPILE"


def exact_pmf(n_draws, n_relevant, n_documents, log_odds):
    """Probability of each count, summed over all sequences of draws with 60 digits."""
    odds, total = Decimal(log_odds).exp(), {0: Decimal(1)}
    for drawn in range(n_draws):
        following = {}
        for found, probability in total.items():
            relevant = Decimal(n_relevant - found)
            other = odds * (n_documents - n_relevant - drawn + found)
            for count, weight in ((found + 1, relevant), (found, other)):
                if weight > 0:
                    share = probability * weight / (relevant + other)
                    following[count] = following.get(count, Decimal(0)) + share
        total = following
    return total


def support(n_draws, n_relevant, n_documents):
    """Every count that can happen."""
    return np.arange(max(0, n_draws - n_documents + n_relevant), min(n_draws, n_relevant) + 1)


def kernel_values(n_draws, n_relevant, n_documents, log_odds):
    count = support(n_draws, n_relevant, n_documents)
    whole = [np.full(count.size, x) for x in (n_draws, n_relevant, n_documents)]
    return log_pmfs(count, *whole, np.full(count.size, float(log_odds)))


URNS = [(1, 1, 2), (2, 5, 10), (5, 3, 40), (12, 20, 60), (30, 10, 200), (59, 30, 60)] + [
    (60, relevant, documents)
    for relevant, documents in ((60, 120), (40, 100), (61, 121), (5, 1000), (200, 1000))
]


@pytest.mark.parametrize(("n_draws", "n_relevant", "n_documents"), URNS)
def test_log_pmf_is_within_1e_10_of_the_exact_sum_over_the_whole_support(
    n_draws, n_relevant, n_documents
):
    with localcontext() as context:
        context.prec = 60
        for log_odds in (-14, -3, -1.6, 0, 0.5, 6, 12):
            pmf = exact_pmf(n_draws, n_relevant, n_documents, log_odds)
            count = support(n_draws, n_relevant, n_documents)
            expected = [float(pmf[x].ln()) for x in count.tolist()]
            value, _ = kernel_values(n_draws, n_relevant, n_documents, log_odds)
            np.testing.assert_allclose(value, expected, rtol=0, atol=1e-11)


@pytest.mark.parametrize(("n_draws", "n_relevant", "n_documents"), [URNS[3], URNS[6], URNS[9]])
def test_derivative_is_that_of_the_exact_sum(n_draws, n_relevant, n_documents):
    step = Decimal("1e-20")
    with localcontext() as context:
        context.prec = 60
        for log_odds in (-14, -1.6, 0, 0.5, 12):
            low, high = (
                exact_pmf(n_draws, n_relevant, n_documents, Decimal(log_odds) + change)
                for change in (-step, step)
            )
            count = support(n_draws, n_relevant, n_documents).tolist()
            expected = [float((high[x].ln() - low[x].ln()) / (2 * step)) for x in count]
            _, slope = kernel_values(n_draws, n_relevant, n_documents, log_odds)
            np.testing.assert_allclose(slope, expected, rtol=0, atol=1e-11)


@pytest.mark.parametrize("n_documents", [200, 1000, 2000, 20000])
@pytest.mark.parametrize("log_odds", [-30.0, -5.0, -1.6, 0.0, 4.0, 30.0])
def test_pmf_sums_to_one_and_its_derivative_to_zero_for_big_urns(n_documents, log_odds):
    for n_draws, n_relevant in ((n_documents // 2, n_documents // 20), (100, n_documents // 3)):
        value, slope = kernel_values(n_draws, n_relevant, n_documents, log_odds)
        assert np.exp(value).sum() == pytest.approx(1.0, abs=2e-10)
        assert (np.exp(value) * slope).sum() == pytest.approx(0.0, abs=1e-8)


def test_random_order_is_the_hypergeometric_distribution():
    value, _ = kernel_values(400, 300, 1000, 0.0)
    expected = stats.hypergeom(1000, 300, 400).logpmf(support(400, 300, 1000))
    np.testing.assert_allclose(value, expected, rtol=0, atol=1e-8)


@pytest.mark.parametrize("log_odds", [-2.0, -0.4, 1.5])
def test_scipy_agrees_around_the_mode_of_a_small_urn(log_odds):
    for n_draws, n_relevant, n_documents in ((8, 5, 20), (15, 11, 40), (20, 30, 60)):
        count = support(n_draws, n_relevant, n_documents)
        reference = stats.nchypergeom_wallenius(n_documents, n_relevant, n_draws, np.exp(-log_odds))
        value, _ = kernel_values(n_draws, n_relevant, n_documents, log_odds)
        common = value > np.log(0.01)
        assert common.sum() > 3
        np.testing.assert_allclose(value[common], reference.logpmf(count)[common], atol=1e-7)


@settings(deadline=None, max_examples=60)
@given(st.data())
def test_exchanging_the_two_kinds_turns_the_odds_round(data):
    n_documents = data.draw(st.integers(2, 3000))
    n_relevant = data.draw(st.integers(0, n_documents))
    n_draws = data.draw(st.integers(0, n_documents))
    log_odds = data.draw(st.floats(-700, 700))
    value, slope = kernel_values(n_draws, n_relevant, n_documents, log_odds)
    other, turned = kernel_values(n_draws, n_documents - n_relevant, n_documents, -log_odds)
    assert np.isfinite(value).all()
    np.testing.assert_allclose(value, other[::-1], rtol=1e-12, atol=1e-9)
    np.testing.assert_allclose(slope, -turned[::-1], rtol=1e-9, atol=1e-9)


def test_counts_outside_the_support_have_probability_zero():
    count = wallenius_count(None, 5, 3, 6, -1.0)
    value = pm.logp(count, np.array([-1, 0, 1, 2, 3, 4])).eval(mode=PYTHON)
    assert np.isneginf(value[[0, 1, 2, 5]]).all()
    assert np.isfinite(value[[3, 4]]).all()


@pytest.mark.parametrize("log_odds", [-6.0, -0.5, 3.0])
@pytest.mark.parametrize(("n_draws", "n_relevant", "n_documents"), URNS)
def test_log_cdf_is_the_exact_sum_of_the_pmf(n_draws, n_relevant, n_documents, log_odds):
    with localcontext() as context:
        context.prec = 60
        pmf = exact_pmf(n_draws, n_relevant, n_documents, log_odds)
        total, expected = Decimal(0), {}
        for count in sorted(pmf):
            total += pmf[count]
            expected[count] = float(total.ln())
    count = np.array(sorted(pmf))
    whole = [np.full(count.size, x) for x in (n_draws, n_relevant, n_documents)]
    value, _ = log_cdfs(count, *whole, np.full(count.size, log_odds))
    np.testing.assert_allclose(value, [expected[x] for x in count.tolist()], rtol=1e-9, atol=1e-11)
    assert value[-1] == 0.0 and (np.diff(value) >= 0).all()


@pytest.mark.parametrize("log_odds", [-4.0, 0.0, 2.0])
def test_log_cdf_of_big_urns_sums_the_whole_lower_tail(log_odds):
    count = support(600, 300, 2000)
    log_pmf = kernel_values(600, 300, 2000, log_odds)[0]
    whole = [np.full(count.size, x) for x in (600, 300, 2000)]
    value, slope = log_cdfs(count, *whole, np.full(count.size, log_odds))
    np.testing.assert_allclose(value, np.logaddexp.accumulate(log_pmf), rtol=1e-9, atol=1e-9)
    step = 1e-4
    sides = [log_cdfs(count, *whole, np.full(count.size, log_odds + x))[0] for x in (step, -step)]
    change = (sides[0] - sides[1]) / (2 * step)
    np.testing.assert_allclose(slope, change, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("mode", ["NUMBA", "FAST_COMPILE"])
def test_log_cdf_of_the_variable_has_its_bounds_and_its_gradient(mode):
    odds = pytensor.tensor.dscalar("odds")
    count = wallenius_count(None, 5, 3, 9, odds)
    value = pm.logcdf(count, np.array([-1, 0, 1, 2, 3, 4]))
    both = pytensor.function([odds], [value, pytensor.grad(value[2], odds)], mode=mode)
    here, slope = both(-0.8)
    log_pmf = kernel_values(5, 3, 9, -0.8)[0]
    np.testing.assert_allclose(
        here, [-np.inf, *np.logaddexp.accumulate(log_pmf)[:3], 0.0, 0.0], rtol=1e-12
    )
    change = (both(-0.8 + 1e-5)[0][2] - both(-0.8 - 1e-5)[0][2]) / 2e-5
    assert slope == pytest.approx(change, abs=1e-8)
    with pytest.raises(ParameterValueError, match="n_relevant <= n_documents"):
        pm.logcdf(wallenius_count(None, 5, pytensor.tensor.lscalar("m"), 9, odds), 2).eval(
            {"m": 10, "odds": 0.0}, mode=PYTHON
        )


@pytest.mark.parametrize("mode", ["NUMBA", "FAST_COMPILE"])
def test_draws_follow_the_pmf(mode):
    # One test at level 1e-4 per parameter: false alarm below 2e-4 over all seeds.
    for seed, log_odds in ((3, -1.5), (4, 0.7)):
        draws = pm.draw(
            wallenius_count(None, 20, 15, 60, log_odds), 5000, random_seed=seed, mode=mode
        )
        expected = 5000 * np.exp(kernel_values(20, 15, 60, log_odds)[0])
        observed = np.bincount(draws, minlength=expected.size)
        assert chi_square_tail(observed, expected) > 1e-4


def test_log_pmf_broadcasts_values_and_parameters():
    log_odds = np.array([[-2.0], [0.5]])
    n_draws = np.array([4, 10, 30])
    value = np.array([[2, 5, 9], [1, 1, 0]])
    result = pm.logp(wallenius_count(None, n_draws, 12, 50, log_odds), value).eval(mode=PYTHON)
    assert result.shape == (2, 3)
    for i in range(2):
        for j in range(3):
            expected = kernel_values(n_draws[j], 12, 50, log_odds[i, 0])[0][value[i, j]]
            assert result[i, j] == pytest.approx(expected, abs=1e-13)


def test_gradient_matches_finite_differences():
    operation = WalleniusCountLogp()
    whole = [np.array(x) for x in ([3, 0, 12], [10, 20, 12], [12, 12, 40], [50, 60, 700])]
    rng = np.random.default_rng(5)
    pytensor.gradient.verify_grad(
        lambda log_odds: operation(*whole, log_odds)[0],
        [np.array([-1.5, 0.3, -4.0])],
        rng=rng,
        mode=PYTHON,
    )


def test_fixed_numbers_enter_in_double_precision():
    bare = pm.logp(wallenius_count(None, 7, 11, 40, -0.1), 3).eval(mode=PYTHON)
    assert bare == pytest.approx(kernel_values(7, 11, 40, -0.1)[0][3], abs=1e-14)


@pytest.mark.slow
def test_nutpie_samples_a_model_and_predicts_from_it():
    n_draws, count = np.array([20, 40, 80]), np.array([9, 14, 22])
    with pm.Model(coords={"run": ["a", "b", "c"]}) as model:
        log_odds = pm.Normal("log_odds", np.float64(-1), np.float64(2), dims="run")
        wallenius_count("count", n_draws, 30, 200, log_odds, dims="run", observed=count)
        fit = pm.sample(
            500, tune=500, chains=2, cores=1, nuts_sampler="nutpie", random_seed=6,
            progressbar=False, quiet=True,
        )  # fmt: skip
    assert int(fit["sample_stats/diverging"].sum()) == 0
    predicted = pm.sample_posterior_predictive(fit, model, random_seed=7, progressbar=False)
    # The posterior predictive mean of a count lies near the count: sd of it is at most 3.
    mean = predicted["posterior_predictive/count"].mean(("chain", "draw"))
    np.testing.assert_allclose(mean, count, atol=1.5)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((3, 2.5, 10), "n_relevant must be whole numbers, 0 or more; found 2.5"),
        ((-1, 2, 10), "n_draws must be whole numbers, 0 or more; found -1"),
        (([3, 11], 2, 10), "n_draws must be at most n_documents; found 11 for 10"),
    ],
)
def test_numbers_that_no_urn_has_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        wallenius_count(None, *arguments, -1.0)


def test_random_numbers_that_no_urn_has_are_refused_with_the_log_pmf():
    n_relevant = pytensor.tensor.lscalar("n_relevant")
    log_pmf = pm.logp(wallenius_count(None, 3, n_relevant, 10, -1.0), 2)
    with pytest.raises(ParameterValueError, match="n_relevant <= n_documents"):
        log_pmf.eval({n_relevant: 12}, mode=PYTHON)
