"""A robust mixture: the model's prior for most runs, a wide one for those unlike all others."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.floating]
STEPS = 40  # halvings of the bracket of a quantile


class Prior(NamedTuple):
    r"""Prior of the true scores around the model's means.

    .. math:: \theta \sim (1 - w)\, N(m, A_0) + w\, N(m, A_1)
    """

    mean: Floats  # (...): m
    # (...): variances A0 and A1
    near: Floats
    far: Floats
    weight: Floats  # (...): w, the prior probability that a run is not as modelled


@dataclass(frozen=True, eq=False)
class Posterior:
    """Two normal components, and how much the data moved the first."""

    # (...): weight of the second component: probability that the run is not as modelled
    conflict: Floats
    # (2, ...): of the components
    mean: Floats
    variance: Floats
    # (...): what is left of the model in the estimate; the rest is the design's
    model_weight: Floats

    @property
    def estimate(self) -> Floats:
        """Posterior mean."""
        return (1.0 - self.conflict) * self.mean[0] + self.conflict * self.mean[1]

    @property
    def total_variance(self) -> Floats:
        """Posterior variance."""
        off = self.mean - self.estimate
        each = self.variance + off**2
        return (1.0 - self.conflict) * each[0] + self.conflict * each[1]

    def widened(self, variance: Floats) -> "Posterior":
        """The same with an independent normal error added."""
        return Posterior(self.conflict, self.mean, self.variance + variance, self.model_weight)

    def quantile(self, probability: float) -> Floats:
        """Quantile, by halving the bracket of those of the two components."""
        from scipy.special import ndtr, ndtri

        sd = np.sqrt(self.variance)
        each = self.mean + sd * ndtri(probability)
        low, high = each.min(axis=0), each.max(axis=0)
        unit = np.where(sd > 0, sd, 1.0)
        for _ in range(STEPS):
            middle = 0.5 * (low + high)
            below = np.where(sd > 0, ndtr((middle - self.mean) / unit), middle >= self.mean)
            short = (1.0 - self.conflict) * below[0] + self.conflict * below[1] < probability
            low, high = np.where(short, middle, low), np.where(short, high, middle)
        return 0.5 * (low + high)


def robust_posterior(prior: Prior, estimate: Floats, variance: Floats) -> Posterior:
    r"""Posterior of the true scores given an unbiased estimate d with variance v.

    .. math:: q = \frac{w\, \phi(x; 0, A_1 + v)}
              {w\, \phi(x; 0, A_1 + v) + (1 - w)\, \phi(x; 0, A_0 + v)}, \qquad x = d - m

    is the weight of the second component; component j has the mean
    :math:`m + x A_j / (A_j + v)` and the variance :math:`A_j v / (A_j + v)`.

    References
    ----------
    Schmidli et al., "Robust meta-analytic-predictive priors in clinical trials with historical
    control information", Biometrics 70 (2014), doi:10.1111/biom.12242.

    Examples
    --------
    >>> prior = Prior(*(np.array([value]) for value in (0.4, 0.01, 0.03, 0.1)))
    >>> found = robust_posterior(prior, np.array([0.5]), np.array([0.01]))
    >>> found.estimate.round(4), found.conflict.round(3)
    (array([0.452]), array([0.082]))
    """
    off = estimate - prior.mean
    spread = np.stack([prior.near, prior.far])
    total = spread + variance
    certain = total <= 0  # nothing is unknown
    unit = np.where(certain, 1.0, total)
    log_density = -0.5 * (off**2 / unit + np.log(unit))
    odds = log_density[1] - log_density[0]
    with np.errstate(divide="ignore"):
        prior_odds = np.log(prior.weight) - np.log1p(-prior.weight)
    conflict = 1.0 / (1.0 + np.exp(np.clip(-odds - prior_odds, -700.0, 700.0)))
    share = np.where(certain, 0.0, spread / unit)
    kept = (1.0 - conflict) * (1.0 - share[0]) + conflict * (1.0 - share[1])
    return Posterior(conflict, prior.mean + share * off, share * variance, kept)
