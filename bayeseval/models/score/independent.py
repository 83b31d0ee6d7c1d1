"""What a model says of scores apart from the judgments that the design's estimate counts too."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bayeseval.rounding import ratio

Floats = NDArray[np.floating]
MOST = 0.95  # of the design's variance that can be shared


@dataclass(frozen=True, eq=False)
class Independent:
    r"""A model's posterior, made independent of the estimate of a design from the same judgments.

    Model and design have seen the same judgments, so their errors go together. Where the model is
    right its posterior mean m is the expectation of the true score given all judgments, hence its
    error is uncorrelated with everything that they determine, the design's estimate d too:
    :math:`0 = Cov(m - \theta, d) = Cov(m - \theta, d - \theta) - Var(\theta \mid judgments)`, and

    .. math:: Cov(m - \theta, d - \theta) = c

    on average, with c the posterior variance. With :math:`\kappa = \min(c / v, .95)`, v the
    variance of d, what the model says beyond d is

    .. math:: m^* = \frac{m - \kappa d}{1 - \kappa}

    whose error is uncorrelated with that of d, has the variance :math:`c / (1 - \kappa)` about the
    true score, and multiplies the model's own errors by :math:`1 / (1 - \kappa)`. Where the model
    is right m* and d together give m with variance c again, and no judgment counts twice; the more
    the design knows beside the model, the less m* says. On six collections the mean product of the
    errors of m and d was .7 to 1.1 times c for P@10 of runs that the model learned from, .4 on the
    smallest (``benchmarks/combined_intervals/README.md``).

    Parameters
    ----------
    mean, variance : float array (measure, run)
        m* and its variance where the model is right.
    gain : float array (measure, run)
        What the model's own errors are multiplied by.

    Examples
    --------
    >>> one = [np.array([[value]]) for value in (0.50, 0.010**2, 0.54, 0.020**2)]
    >>> found = Independent.of(*one)
    >>> found.mean.round(4), found.gain.round(3)
    (array([[0.4867]]), array([[1.333]]))

    Both together are what the model said:

    >>> weight = np.array([1 / found.variance, 1 / one[3]])
    >>> np.average([found.mean, one[2]], weights=weight, axis=0).round(4)
    array([[0.5]])
    """

    mean: Floats
    variance: Floats
    gain: Floats

    @classmethod
    def of(
        cls, mean: Floats, variance: Floats, design: Floats, design_variance: Floats
    ) -> "Independent":
        """Of a model's mean and variance, and of a design's estimate and variance."""
        gain = 1.0 / (1.0 - np.minimum(ratio(variance, design_variance), MOST))
        return cls(design + gain * (mean - design), gain * variance, gain)
