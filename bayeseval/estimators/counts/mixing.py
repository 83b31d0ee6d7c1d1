"""What topics are like where their effects are not normal, as the other topics show it."""

import numpy as np
from numpy.typing import NDArray

STILL = 5e-4  # mean change of a topic's probabilities in a step, after which nothing comes
MOST_STEPS = 200  # from the normal distribution; samples need 10 to 30, and 100 where topics differ
NORMAL = 0.1  # topics, beside those at hand, that are taken for normal
ALL_BUT_NORMAL = 0.98  # weight of the normal distribution from which on there is no other
OTHERS = 200  # topics that stand for all where there are more
SPREAD = 1e-4  # of the normal distribution's covariance, added to each topic's


def mixing(
    node: NDArray[np.float64],
    share: NDArray[np.float64],
    covariance: NDArray[np.float64],
    *,
    some: NDArray[np.float64],
    point: NDArray[np.float64],
) -> NDArray[np.float64]:
    r"""How much likelier the other topics make a topic's effects than the normal distribution.

    .. math:: r_t(u) = w + \frac{1 - w}{N(u; 0, \Sigma)} \;
              \frac{1}{T - 1} \sum_{s \ne t} N(u; m_s, V_s)

    m and V are mean and covariance of a topic's effects, given its counts and this ratio, so that
    they are found in steps from those of the normal distribution, until little changes: a tenth of
    navigational topics among rich ones needs a hundred, and one alone is not found. w is what makes
    the counts of all topics likeliest, each judged by the others (but for what these took from it
    in earlier steps), and a tenth of a topic that is normal. Where the effects are normal w is
    mostly near 1, and from .98 on nothing changes; where most topics fade alike and some end
    abruptly it is small.

    The nodes are about one standard deviation of their own topic apart, so that the densities of
    topics that are known better, beside one of which little was sampled, would fall between them:
    they are no narrower than .3 of its variance. Topics that may be of another kind, such as
    without relevant documents, and so without effects, count by the probability that they are not;
    fewer than 3 topics have ratios of 1.
    The time goes with the number of topics, beyond 200 of them, and else with its square.

    ``node`` (topic, node, 2) is a grid of two directions of the topic's own, ``share`` (topic,
    node) its probabilities where the effects are normal with ``covariance`` (2, 2), to be
    multiplied with the ratios (topic, node), after which their sums are not 1 any more. ``some``
    (topic,) is the probability that a topic has effects, ``point`` the steps of the grid, the same
    each way, as far up as down, with 0 in the middle.

    References
    ----------
    Steps from a smooth distribution towards the likeliest of any form: Laird and Louis,
    "Smoothing the non-parametric estimate of a prior distribution by roughening", Computational
    Statistics & Data Analysis 12 (1991). That each topic is judged by the others, and w, are ours.

    Examples
    --------
    Four topics with one node each, in two places; more often so than a normal distribution has it:

    >>> node = np.array([[[1.0, 0.0]], [[1.0, 0.0]], [[-1.0, 0.0]], [[-1.0, 0.0]]])
    >>> (mixing(node, np.ones((4, 1)), np.eye(2), some=np.ones(4), point=np.zeros(1)) > 1.0).ravel()
    array([ True,  True,  True,  True])
    """
    n_topics = node.shape[0]
    if some.sum() < 3.0:
        return np.ones(share.shape)
    from bayeseval.estimators.counts.kernel import likelier_by_others

    weight, ratio, given = 0.5, np.ones(share.shape), share
    own = _moments(node, share, covariance)[1]
    density = np.zeros(share.shape)
    every = -(-n_topics // OTHERS)
    for _ in range(MOST_STEPS):
        others = _moments(node, given, covariance)
        likelier_by_others(node, share, some, covariance, own, *others, every, point, density)
        weight = _weight((share * density).sum(axis=1), some, weight)
        if weight > ALL_BUT_NORMAL:
            return np.ones(share.shape)
        ratio = weight + (1.0 - weight) * density
        before, given = given, share * ratio
        given /= given.sum(axis=1, keepdims=True)
        if np.abs(given - before).sum(axis=1).mean() < STILL:
            break
    return ratio


def _moments(
    node: NDArray[np.float64], share: NDArray[np.float64], covariance: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Mean (topic, 2) and covariance (topic, 2, 2) of every topic's effects."""
    mean = np.einsum("tj,tjd->td", share, node)
    off = node - mean[:, None]
    return mean, np.einsum("tj,tjd,tje->tde", share, off, off) + SPREAD * covariance


def _weight(likelier: NDArray[np.float64], some: NDArray[np.float64], weight: float) -> float:
    """What is normal of a mixture, by how much likelier its other part makes each topic's counts.

    Examples
    --------
    >>> round(_weight(np.array([4.0, 4.0, 4.0, 0.25]), np.ones(4), 0.5), 2)
    0.17
    """
    for _ in range(50):
        normal = some * weight / (weight + (1.0 - weight) * likelier)
        weight = float((normal.sum() + NORMAL) / (some.sum() + NORMAL))
    return weight
