"""Sizes of documents, by the weights that measures and runs give them."""

import numpy as np
from numpy.typing import NDArray

from bayeseval.frame.rankings import Rankings
from bayeseval.measures.measure import Measure
from bayeseval.measures.names import parse_measures
from bayeseval.measures.scores import precision_weights, rank_weight
from bayeseval.processors import on_blocks

Floats = NDArray[np.float64]
Shares = list[tuple[Measure | None, float]]  # None: every document weighs the same

DEFAULT = {"AP": 0.65, "P@10": 0.1, "nDCG@10": 0.1}
BLOCK = 500  # topics of which the sizes are one piece of work
NAMED, PRECISIONS, CONSTANT = 0.6, 0.25, 0.15  # of the measures named together, of AP, of none


def variance_shares(measures) -> Shares:
    """Share of the variance that each measure has in the sizes, by default that of `DEFAULT`.

    Examples
    --------
    >>> [(each and each.name, round(share, 2)) for each, share in variance_shares(["P@10", "P@5"])]
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
    """Sizes (document,) of the documents of every topic, which are given in fused order.

    The formula is that of :func:`order`. For one linear measure of many runs these are the best
    sizes (Neyman 1934); the variance of each measure is divided by that of its own best sizes.
    """
    tasks = [(first, order[first : first + BLOCK]) for first in range(0, len(order), BLOCK)]
    parts = on_blocks(_block_sizes, (rankings, shares), tasks, "sizes", threads=False)
    return [size for part in parts for size in part]


def _block_sizes(
    rankings: Rankings, shares: Shares, task: tuple[int, list[NDArray[np.int64]]]
) -> list[Floats]:
    """Sizes of the documents of topics that stand together, from a first one on."""
    first, order = task
    by_topic = []
    for topic, documents in enumerate(order, first):
        if not documents.size:
            by_topic.append(np.zeros(0))
            continue
        p = chance(np.arange(1, documents.size + 1))
        spread = p * (1.0 - p)
        square = np.zeros(documents.size)
        for squares, share in squared_weights(rankings, topic, documents, p, shares):
            total = np.sqrt(squares * spread).sum()
            if total > 0.0:
                square += share * squares * spread / total**2
        by_topic.append(np.sqrt(square))
    return by_topic


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
