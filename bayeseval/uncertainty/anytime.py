"""Intervals that hold at every look while judging goes on."""

import numpy as np

FIRST = 0.6  # rho over the information of the first round
SHORTEST = 4.0  # times that information: there bounds are shortest, in errors of one look


def anytime_ratio(quantile, information: float):
    r"""What multiplies a quantile z so that a bound holds at every look, by the normal mixture.

    The estimates of a judging list that grows, read backwards from the truth, are a martingale: the
    mean of the estimate by the first n documents, given which the first m > n are, is the estimate
    by these. By time inversion it is a Brownian motion in the information s, the inverse of the
    estimate's variance v. With the probability :math:`1 - \alpha`, at all s at once,

    .. math:: |x_s - \theta| \le \sqrt{v}
              \sqrt{\frac{s + \rho}{s} \left(2 \ln \frac{1}{\alpha}
                                             + \ln \frac{s + \rho}{\rho}\right)}

    with :math:`\alpha = 2 \Phi(-z)`, :math:`\rho = .6 s_1` and :math:`s_1` the information of the
    first round.

    Parameters
    ----------
    quantile : float array
        z of one look, above 0.
    information : float
        :math:`s / s_1` (:func:`bayeseval.designs.judging_list.information`), infinite where all is
        judged; then no ratio is too large, and this one is that of a single look.

    Returns
    -------
    float array
        The second root above over z.

    References
    ----------
    Robbins, "Statistical methods related to the law of the iterated logarithm", Annals of
    Mathematical Statistics 41 (1970), doi:10.1214/aoms/1177696786. Waudby-Smith, Arbour, Sinha,
    Kennedy and Ramdas, "Time-uniform central limit theory and asymptotic confidence sequences",
    Annals of Statistics 52 (2024), doi:10.1214/24-AOS2408.

    Examples
    --------
    >>> anytime_ratio(1.645, 4.0).round(2)
    np.float64(1.68)
    """
    from scipy.special import log_ndtr

    if np.isinf(information):
        return np.ones_like(quantile, dtype=float)
    log_alpha = np.log(2.0) + log_ndtr(-np.asarray(quantile))
    added = np.log1p(information / FIRST)
    return np.sqrt((1.0 + FIRST / information) * (added - 2.0 * log_alpha)) / quantile


def anytime_p(p_value, information: float):
    """The smallest level whose bound at every look excludes what a p value of one look is of.

    Of a two-sided p value. Where all is judged it is that of one look.

    Examples
    --------
    >>> anytime_p(np.array([0.5, 0.001]), 4.0).round(3)
    array([1.   , 0.025])
    """
    from scipy.special import ndtri

    if np.isinf(information):
        return p_value
    z = ndtri(0.5 * np.asarray(p_value))
    evidence = 0.5 * (np.log1p(information / FIRST) - z**2 / (1.0 + FIRST / information))
    return np.exp(np.minimum(evidence, 0.0))
