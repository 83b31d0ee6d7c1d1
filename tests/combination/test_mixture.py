import numpy as np
import pytest
from scipy.stats import norm

from bayeseval.combination.mixture import Prior, robust_posterior

PRIOR = {"mean": 0.4, "near": 0.02**2, "far": 0.15**2, "weight": 0.1}


def prior(**changed) -> Prior:
    return Prior(**{name: np.array([value]) for name, value in (PRIOR | changed).items()})


@pytest.mark.parametrize("bounds", [(-np.inf, np.inf), (0.0, 1.0), (0.45, 0.6)])
@pytest.mark.parametrize("d", [0.41, 0.47, 0.7])
def test_the_posterior_is_bayes_theorem_on_a_grid(d, bounds):
    theta = np.linspace(-1.0, 2.0, 60_001)
    near, far = (norm.pdf(theta, 0.4, PRIOR[name] ** 0.5) for name in ("near", "far"))
    density = np.stack([0.9 * near, 0.1 * far]) * norm.pdf(d, theta, 0.03)
    ends = np.isclose(theta, bounds[0]) | np.isclose(theta, bounds[1])  # of half a step
    density *= np.where(ends, 0.5, (bounds[0] < theta) & (theta < bounds[1]))
    unlike = density[1].sum() / density.sum()
    density = density.sum(axis=0) / density.sum()
    bounded = prior(lower=bounds[0], upper=bounds[1])
    posterior = robust_posterior(bounded, np.array([d]), np.array([0.03**2]))
    mean = density @ theta
    assert posterior.estimate[0] == pytest.approx(mean, abs=1e-6)
    assert posterior.variance[0] == pytest.approx(density @ (theta - mean) ** 2, rel=1e-4)
    assert posterior.unlike_model[0] == pytest.approx(unlike, rel=1e-5)
    for probability in (0.05, 0.5, 0.95):
        expected = theta[np.searchsorted(density.cumsum(), probability)]
        assert posterior.quantile(probability)[0] == pytest.approx(expected, abs=1e-4)


def test_components_far_outside_the_bounds_lie_at_the_bound():
    """And the other component, which reaches into them, decides where both are possible."""
    for d, bound in ((1.5, 1.0), (-0.5, 0.0), (1e3, 1.0), (1.0 + 1e-6, 1.0)):
        for error in (1e-9, 1e-6, 1e-3):
            bounded = prior(mean=d, lower=0.0, upper=1.0)
            posterior = robust_posterior(bounded, np.array([d]), np.array([error**2]))
            assert posterior.estimate[0] == pytest.approx(bound, abs=2 * error + 1e-9)
            assert 0.0 <= posterior.variance[0] <= error**2
            for probability in (0.05, 0.95):
                assert -1e-12 <= posterior.quantile(probability)[0] <= 1.0 + 1e-12


def test_a_run_unlike_the_model_keeps_the_design_estimate():
    posterior = robust_posterior(prior(), np.array([0.9]), np.array([0.02**2]))
    assert posterior.unlike_model[0] > 0.999
    assert posterior.estimate[0] == pytest.approx(0.9, abs=0.01)
    assert posterior.model_weight[0] < 0.03


def test_without_unknowns_the_estimate_is_the_score():
    known = prior(near=0.0, far=0.0)
    posterior = robust_posterior(known, np.array([0.4]), np.zeros(1))
    assert posterior.estimate[0] == 0.4
    assert posterior.quantile(0.95)[0] == pytest.approx(0.4)
    assert posterior.variance[0] == 0.0
