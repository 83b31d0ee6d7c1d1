"""What each topic does to the mean squared distances of bootstrap rankings."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayeseval.rankings.geometry import Geometry
from bayeseval.rounding import ratio

LEAST_KEPT = 0.05  # share of the squares of influences that is kept, however noisy they are

Floats = NDArray[np.floating]


class Influence(NamedTuple):
    """Influence (distance, topic) of topics: as found, and with squares freed of chance.

    And the number of topics of the table that each is of, (topic,).
    """

    found: Floats
    freed: Floats
    size: Floats


def influences(
    found: Geometry, drawn: list[NDArray[np.int64]], sizes: list[int]
) -> list[Influence]:
    r"""Influence of every topic on (Delta, sigma^2(X), sigma^2(G)), by table.

    A bootstrap ranking b has drawn topic t :math:`N_{bt}` times out of n, and its mean squared
    distance to the others is :math:`\rho_b`. The derivative of the mean distance by the weight of
    a topic is the covariance of :math:`\rho_b` with :math:`T N_{bt} - n` (the infinitesimal
    jackknife), here by least squares. The squares are freed of what the finite number of rankings
    adds to them.

    ``found`` and ``drawn`` are of ``geometry``, ``sizes`` the numbers of topics of each table.

    References
    ----------
    Efron, "Estimation and accuracy after model selection", Journal of the American Statistical
    Association 109 (2014), doi:10.1080/01621459.2013.823775. Wager, Hastie and Efron, "Confidence
    intervals for random forests", Journal of Machine Learning Research 15 (2014).
    """
    blocks = np.split(found.noise, np.cumsum([len(topics) for topics in drawn])[:-1])
    return [
        _of_table(topics, block / (len(found.noise) / len(topics)), size)
        for topics, block, size in zip(drawn, blocks, sizes[: len(drawn)], strict=True)
    ]


def _of_table(topics: NDArray[np.int64], share: Floats, size: int) -> Influence:
    """Influence of the topics of one table.

    A variance is half the mean of the distances to all others, of which one is the other end of
    each: the share of a result in it is twice its own half.
    """
    n_results, n_slots = topics.shape
    count = topic_counts(topics, size).astype(float)
    centred = count - n_slots / size
    slope, *_ = np.linalg.lstsq(centred, share, rcond=1e-8)
    left = share - centred @ slope
    influence = n_slots * (slope - slope.mean(axis=0)).T
    freedom = max(n_results - size, 1)
    noise = n_slots * size * np.square(left).sum(axis=0) / freedom / n_results
    square = np.square(influence).mean(axis=1)
    kept = ratio(square - noise, square, 1.0)
    freed = influence * np.sqrt(np.maximum(kept, LEAST_KEPT))[:, None]
    return Influence(influence, freed, np.full(size, float(size)))


def topic_counts(topics: NDArray[np.int64], size: int) -> NDArray[np.int64]:
    """How often (result, topic) each of ``size`` topics was drawn.

    Examples
    --------
    >>> topic_counts(np.array([[0, 0, 2]]), 3)
    array([[2, 0, 1]])
    """
    shifted = topics + size * np.arange(len(topics))[:, None]
    return np.bincount(shifted.ravel(), minlength=size * len(topics)).reshape(len(topics), size)
