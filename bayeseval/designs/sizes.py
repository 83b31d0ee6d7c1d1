"""Sizes of documents: how much the measures and runs need to know of each."""

import numpy as np
from numpy.typing import NDArray

from bayeseval.frame.rankings import Rankings
from bayeseval.measures.measure import Measure
from bayeseval.measures.names import parse_measures
from bayeseval.measures.scores import precision_weights, rank_weight

Floats = NDArray[np.float64]
Shares = list[tuple[Measure | None, float]]  # None: every document weighs the same

DEFAULT = {"AP": 0.65, "P@10": 0.1, "nDCG@10": 0.1}
NAMED, PRECISIONS, CONSTANT = 0.6, 0.25, 0.15  # of the measures named together, of AP, of none


def variance_shares(measures) -> Shares:
    """Share of the variance that each measure has in the sizes; by default the same for all uses.

    Examples
    --------
    >>> [(one and one.name, round(share, 2)) for one, share in variance_shares(["P@10", "P@5"])]
    [('P', 0.3), ('P', 0.3), ('AP', 0.25), (None, 0.15)]
    """
    if measures is None:
        shares = list(zip(parse_measures(list(DEFAULT)), DEFAULT.values(), strict=True))
    else:
        named = parse_measures(measures)
        shares = [(measure, NAMED / len(named)) for measure in named]
        shares.append((parse_measures("AP")[0], PRECISIONS))
    return [*shares, (None, CONSTANT)]


def chance(rank: NDArray) -> Floats:
    """Probability that a document at a fused rank (from 1) is relevant, before any is judged.

    Examples
    --------
    >>> chance(np.array([1, 10, 1000])).round(3)
    array([0.895, 0.574, 0.033])
    """
    return 1.0 / (1.0 + np.exp(-0.3) * (rank / 10.0) ** 0.8)


def sizes(rankings: Rankings, order: list[NDArray[np.int64]], shares: Shares) -> list[Floats]:
    r"""Sizes (document,) of the documents of every topic, which are given in fused order.

    .. math:: size(d)^2 = q(d) \sum_k share_k
              \frac{f_k(d)}{\left(\sum_{d'} \sqrt{f_k(d') q(d')}\right)^2}, \qquad q = p (1 - p)

    f is the mean over the runs of the squared weight that measure k gives to the rank at which the
    run has d (0 where it has not), and p the probability that d is relevant by its fused rank. For
    one linear measure of many runs these are the best sizes (Neyman); shares are of variances, each
    measure's by its own best.

    References
    ----------
    Neyman, "On the two different aspects of the representative method", Journal of the Royal
    Statistical Society 97 (1934), doi:10.2307/2342192.
    """
    found = []
    for topic, documents in enumerate(order):
        if not documents.size:
            found.append(np.zeros(0))
            continue
        p = chance(np.arange(1, documents.size + 1))
        spread = p * (1.0 - p)
        square = np.zeros(documents.size)
        for squares, share in squared_weights(rankings, topic, documents, p, shares):
            total = np.sqrt(squares * spread).sum()
            if total > 0.0:
                square += share * squares * spread / total**2
        found.append(np.sqrt(square))
    return found


def squared_weights(rankings: Rankings, topic: int, documents: NDArray, p: Floats, shares: Shares):
    """Mean squared weight (document,) over the runs, and the share, of every measure."""
    row = np.full(rankings.start[topic + 1] - rankings.start[topic] + 1, -1)
    row[documents - rankings.start[topic]] = np.arange(documents.size)
    position = row[rankings.local(topic)]
    for measure, share in shares:
        if measure is None or measure.name == "NumRel":
            yield np.ones(documents.size), share
            continue
        place = position[:, : measure.cutoff]
        if measure.name == "AP":
            weight = precision_weights(place, p)
        else:
            weight = np.broadcast_to(rank_weight(measure, place.shape[1]), place.shape)
        inside = place >= 0
        square = np.bincount(place[inside], weight[inside] ** 2, documents.size)
        yield square / len(place), share
