"""A robust mixture: the model's prior for most runs, a wide one for those unlike all others."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.floating]


class Prior(NamedTuple):
    r"""Prior of the true scores around the model's means, within bounds.

    .. math:: p(\theta) \propto (1 - w)\, N(\theta; m, A_0) + w\, N(\theta; m, A_1), \qquad
              \theta \in [l, u]
    """

    mean: Floats  # (...): m
    # (...): variances A0 and A1
    near: Floats
    far: Floats
    weight: Floats  # (...): w, the prior probability that a run is not as modelled
    # (...): l and u, the least and the largest possible score
    lower: Floats | float = -np.inf
    upper: Floats | float = np.inf


@dataclass(frozen=True, eq=False)
class Posterior:
    """Two normal components, restricted to the possible scores."""

    # (2, ...): weights of the components, and their means and variances after the restriction; the
    # second weight is the probability that the run is not as modelled
    weight: Floats
    mean: Floats
    within: Floats
    # (2, ...): centres and standard deviations before it, and the bounds in these
    centre: Floats
    sd: Floats
    low: Floats
    high: Floats
    # (...): the share of the model in the estimate; the rest is the design's
    model_weight: Floats

    @property
    def unlike_model(self) -> Floats:
        """Posterior probability that the run is not as modelled."""
        return self.weight[1]

    @property
    def estimate(self) -> Floats:
        """Posterior mean."""
        return self.mean[0] + self.weight[1] * (self.mean[1] - self.mean[0])

    @property
    def variance(self) -> Floats:
        """Posterior variance."""
        off = self.mean - self.estimate
        return (self.weight * (self.within + off**2)).sum(axis=0)

    def quantile(self, probability: float) -> Floats:
        """Quantile, by halving the bracket that the one-sided inequality of Chebyshev gives."""
        reach = np.sqrt(self.variance)
        odds = np.sqrt(probability / (1.0 - probability))
        low, high = self.estimate - reach / odds, self.estimate + reach * odds
        unit = np.where(self.sd > 0, self.sd, 1.0)
        whole = _log_probability(self.low, self.high)
        for _ in range(40):
            middle = 0.5 * (low + high)
            off = np.clip((middle - self.centre) / unit, self.low, self.high)
            below = np.exp(_log_probability(self.low, off) - whole)
            below = np.where(self.sd > 0, below, middle >= self.centre)
            short = (self.weight * below).sum(axis=0) < probability
            low, high = np.where(short, middle, low), np.where(short, high, middle)
        return 0.5 * (low + high)


def robust_posterior(prior: Prior, estimate: Floats, variance: Floats) -> Posterior:
    r"""Posterior of the true scores given an unbiased estimate d with variance v.

    Component j is the normal distribution with the mean :math:`m + x A_j / (A_j + v)`, where
    :math:`x = d - m`, and the variance :math:`A_j v / (A_j + v)`, restricted to [l, u]. Its weight
    is proportional to

    .. math:: w_j\, \phi(x; 0, A_j + v)\, P_j, \qquad w_0 = 1 - w, \quad w_1 = w

    with :math:`P_j` the probability of [l, u] under that normal distribution.

    References
    ----------
    Schmidli et al., "Robust meta-analytic-predictive priors in clinical trials with historical
    control information", Biometrics 70 (2014), doi:10.1111/biom.12242.

    Examples
    --------
    >>> prior = Prior(*(np.array([value]) for value in (0.4, 0.01, 0.03, 0.1)))
    >>> posterior = robust_posterior(prior, np.array([0.5]), np.array([0.01]))
    >>> posterior.estimate.round(4), posterior.unlike_model.round(3)
    (array([0.452]), array([0.082]))

    No score is above 1:

    >>> bounded = prior._replace(mean=np.array([0.95]), lower=0.0, upper=1.0)
    >>> robust_posterior(bounded, np.array([1.1]), np.array([0.01])).estimate.round(4)
    array([0.9516])
    """
    off = estimate - prior.mean
    spread = np.stack([prior.near, prior.far])
    total = spread + variance
    certain = total <= 0  # nothing is unknown
    unit = np.where(certain, 1.0, total)
    share = np.where(certain, 0.0, spread / unit)
    centre, sd = prior.mean + share * off, np.sqrt(share * variance)
    sure = sd == 0
    centre = np.where(sure, np.clip(centre, prior.lower, prior.upper), centre)
    low, high = ((bound - centre) / np.where(sure, 1.0, sd) for bound in (prior.lower, prior.upper))
    # the restriction means nothing for a component without a spread
    low, high = np.where(sure, -np.inf, low), np.where(sure, np.inf, high)
    mean, within = _moments(low, high)
    with np.errstate(divide="ignore"):
        weight = np.stack([np.log1p(-prior.weight), np.log(prior.weight)])
    weight = weight - 0.5 * (off**2 / unit + np.log(unit)) + _log_probability(low, high)
    weight = np.exp(weight - weight.max(axis=0))
    weight /= weight.sum(axis=0)
    return Posterior(
        weight=weight,
        mean=np.clip(centre + sd * mean, prior.lower, prior.upper),
        within=sd**2 * within,
        centre=centre,
        sd=sd,
        low=low,
        high=high,
        model_weight=(weight * (1.0 - share)).sum(axis=0),
    )


def _log_probability(low: Floats, high: Floats) -> Floats:
    """Log of the probability that a standard normal variable lies between two bounds."""
    from scipy.special import log_ndtr

    low, high = np.where(low > 0, -high, low), np.where(low > 0, -low, high)  # in the lower tail
    with np.errstate(divide="ignore"):
        return log_ndtr(high) + np.log1p(-np.exp(log_ndtr(low) - log_ndtr(high)))


def _moments(low: Floats, high: Floats) -> tuple[Floats, Floats]:
    r"""Mean and variance of a standard normal variable between two bounds.

    With :math:`h(x) = \phi(x) / \Phi(x)` and :math:`r = \Phi(l) / \Phi(u)` the mean is
    :math:`(r\, h(l) - h(u)) / (1 - r)`, which is exact far out in the lower tail too; in the upper
    tail it is that of the mirror image.
    """
    from scipy.special import erfcx, log_ndtr

    mirrored = low > 0
    low, high = np.where(mirrored, -high, low), np.where(mirrored, -low, high)
    share = np.exp(log_ndtr(low) - log_ndtr(high))
    finite = [np.where(np.isfinite(bound), bound, 0.0) for bound in (low, high)]
    density = [
        np.where(np.isfinite(bound), part * np.sqrt(2.0 / np.pi) / erfcx(-x / np.sqrt(2.0)), 0.0)
        for bound, x, part in zip((low, high), finite, (share, 1.0), strict=True)
    ]
    mean = (density[0] - density[1]) / (1.0 - share)
    edges = (finite[0] * density[0] - finite[1] * density[1]) / (1.0 - share)
    variance = np.clip(1.0 + edges - mean**2, 0.0, 1.0)
    return np.where(mirrored, -mean, mean), variance
