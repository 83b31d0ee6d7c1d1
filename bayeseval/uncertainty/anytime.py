"""Intervals that hold at every look while judging goes on."""

import numpy as np

FIRST = 0.6  # rho over the information of the first round: bounds are shortest at four times that


def anytime_ratio(quantile, information: float):
    r"""What multiplies a quantile z so that a bound holds at every look, by the normal mixture.

    Estimates by a judging list, read backwards from the truth, are a martingale: given which
    documents are the first m, the mean of the estimate by the first n < m is the estimate by the m.
    By time inversion it is a Brownian motion in the information s, the inverse of the estimate's
    variance v. With a probability of at least :math:`1 - \alpha`, at all s at once,

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
        :math:`s / s_1` (:func:`bayeseval.designs.judging_list.information`). Where all is judged it
        is infinite, errors are 0, and the ratio is 1.

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


def at_one_look(z, information: float):
    """Quantiles of one look whose product with :func:`anytime_ratio` is z: its inverse.

    It is 0 where z is below the bound at every level, and z itself where all is judged.

    Examples
    --------
    >>> z = 1.645 * anytime_ratio(1.645, 4.0)
    >>> at_one_look(np.array([0.3, -z]), 4.0).round(3)
    array([-0.   , -1.645])
    """
    from scipy.special import ndtri_exp

    z = np.asarray(z, dtype=float)
    if np.isinf(information):
        return z
    log_alpha = 0.5 * (np.log1p(information / FIRST) - z**2 / (1.0 + FIRST / information))
    return -np.sign(z) * ndtri_exp(np.minimum(log_alpha, 0.0) - np.log(2.0))
