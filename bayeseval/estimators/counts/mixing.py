"""What topics are like where their effects are not normal, as the other topics show it."""

import numpy as np
from numpy.typing import NDArray

STEPS = 10  # of the iteration
NORMAL = 0.1  # topics, beside those at hand, that are taken for normal
SPREAD = 1e-4  # least variance of a topic's effects


def mixing(
    node: NDArray[np.float64], share: NDArray[np.float64], covariance: NDArray[np.float64]
) -> NDArray[np.float64]:
    r"""How much likelier the other topics make a topic's effects than the normal distribution.

    .. math:: r_t(u) = w + \frac{1 - w}{N(u; 0, \Sigma)} \;
              \frac{1}{T - 1} \sum_{s \ne t} N(u; m_s, V_s)

    m and V are mean and covariance of a topic's effects, given its counts and this ratio, so that
    they are found step by step from those of the normal distribution; w is what makes the counts of
    all topics likeliest, each judged by the others. Where the effects are normal w is near 1 and
    nothing changes; where most topics fade alike and some end abruptly, or the tails of easy topics
    differ and those of hard ones do not, it is small.

    Parameters
    ----------
    node : float array (topic, node, 2)
        Points of each topic's effects.
    share : float array (topic, node)
        Their probabilities where the effects are normal.
    covariance : float array (2, 2)
        Of the normal distribution.

    Returns
    -------
    float array (topic, node)

    References
    ----------
    A few steps from a smooth distribution towards the likeliest of any form: Laird and Louis,
    "Smoothing the non-parametric estimate of a prior distribution by roughening", Computational
    Statistics & Data Analysis 12 (1991). That each topic is judged by the others, and w, are ours.
    """
    n_topics = node.shape[0]
    if n_topics < 3:
        return np.ones(share.shape)
    from bayeseval.estimators.counts.kernel import likelier_by_others

    weight, ratio, given = 0.5, np.ones(share.shape), share
    likelier = np.zeros(share.shape)
    for _ in range(STEPS):
        likelier_by_others(node, share, covariance, *_moments(node, given), likelier)
        weight = _weight((share * likelier).sum(axis=1), weight)
        ratio = weight + (1.0 - weight) * likelier
        given = share * ratio
        given /= given.sum(axis=1, keepdims=True)
    return ratio


def _moments(
    node: NDArray[np.float64], share: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Mean (topic, 2) and covariance (topic, 2, 2) of every topic's effects."""
    mean = np.einsum("tj,tjd->td", share, node)
    off = node - mean[:, None]
    return mean, np.einsum("tj,tjd,tje->tde", share, off, off) + SPREAD * np.eye(2)


def _weight(likelier: NDArray[np.float64], weight: float) -> float:
    """What is normal of a mixture, by how much likelier its other part makes each topic's counts.

    Examples
    --------
    >>> round(_weight(np.array([4.0, 4.0, 4.0, 0.25]), 0.5), 2)
    0.21
    """
    for _ in range(50):
        normal = weight / (weight + (1.0 - weight) * likelier)
        weight = float((normal.sum() + NORMAL) / (likelier.size + NORMAL))
    return weight
