import numpy as np
import pytest
from scipy.stats import norm

from bayeseval.combination.each_run import intervals_for_each
from bayeseval.combination.mixture import Prior, robust_posterior

PRIOR = {"mean": 0.4, "near": 0.02**2, "far": 0.15**2, "weight": 0.1}
N_ESTIMATES = 201


def prior(n_runs: int = 1, **changed) -> Prior:
    return Prior(**{name: np.full(n_runs, value) for name, value in (PRIOR | changed).items()})


@pytest.mark.parametrize("d", [0.41, 0.47, 0.7])
def test_the_posterior_is_bayes_theorem_on_a_grid(d):
    theta = np.linspace(-1.0, 2.0, 60_001)
    near, far = (norm.pdf(theta, 0.4, PRIOR[name] ** 0.5) for name in ("near", "far"))
    density = (0.9 * near + 0.1 * far) * norm.pdf(d, theta, 0.03)
    density /= density.sum()
    found = robust_posterior(prior(), np.array([d]), np.array([0.03**2]))
    mean = density @ theta
    assert found.estimate[0] == pytest.approx(mean, abs=1e-6)
    assert found.total_variance[0] == pytest.approx(density @ (theta - mean) ** 2, rel=1e-4)
    for probability in (0.05, 0.5, 0.95):
        expected = theta[np.searchsorted(density.cumsum(), probability)]
        assert found.quantile(probability)[0] == pytest.approx(expected, abs=1e-4)


def test_a_run_in_conflict_with_the_model_keeps_the_design_estimate():
    found = robust_posterior(prior(), np.array([0.9]), np.array([0.02**2]))
    assert found.conflict[0] > 0.999
    assert found.estimate[0] == pytest.approx(0.9, abs=0.01)
    assert found.model_weight[0] < 0.03


def test_without_unknowns_the_estimate_is_the_score():
    known = prior(near=0.0, far=0.0)
    found = robust_posterior(known, np.array([0.4]), np.zeros(1))
    assert found.estimate[0] == 0.4
    assert found.quantile(0.95)[0] == pytest.approx(0.4)
    assert found.total_variance[0] == 0.0


def share_that_holds(some: Prior, truth: float, error: float, ci_prob: float) -> float:
    """Share of intervals for each run that hold, of estimates at the quantiles of a normal."""
    estimate = truth + error * norm.ppf((np.arange(N_ESTIMATES) + 0.5) / N_ESTIMATES)
    low, high = intervals_for_each(some, estimate, np.full(N_ESTIMATES, error), ci_prob)
    return ((low <= truth) & (truth <= high)).mean()


@pytest.mark.parametrize("truth", [0.2, 0.4, 0.43, 0.5, 0.8])
def test_the_interval_for_each_run_holds_whatever_the_true_score(truth):
    assert share_that_holds(prior(N_ESTIMATES), truth, 0.05, 0.9) > 0.9 - 1 / N_ESTIMATES


@pytest.mark.parametrize("near", [5e-4, 1e-5])
@pytest.mark.parametrize("ci_prob", [0.9, 0.5])
@pytest.mark.parametrize("off", [0.0, 0.005, 0.02, 0.05])
def test_it_holds_near_the_mean_of_the_prior_too(near, ci_prob, off):
    """Ends of intervals lie at the prior's mean, where the shares of the tails turn over."""
    some = prior(N_ESTIMATES, near=near, far=0.02, weight=0.05)
    assert share_that_holds(some, 0.4 + 0.1 * off, 0.1, ci_prob) > ci_prob - 0.005


def test_the_interval_for_each_run_is_shorter_where_the_prior_is_right_and_never_too_short():
    random = np.random.default_rng(2)
    truth = random.normal(0.4, 0.02, 1000)
    low, high = intervals_for_each(
        prior(1000), random.normal(truth, 0.05), np.full(1000, 0.05), 0.9
    )
    length = (high - low).mean() / (2 * norm.ppf(0.95) * 0.05)
    assert 0.8 < length < 0.93
