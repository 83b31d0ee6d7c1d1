"""Reciprocal-rank fusion of the runs of one topic, exact and blind to the order of runs."""

import numpy as np
from numpy.typing import NDArray

CONSTANT = 60.0  # added to every rank
_HEAD = 2.0**32  # the head of a term is a multiple of 2^-32


def reciprocal_rank_fusion(ranking: NDArray[np.integer], n_pairs: int) -> NDArray[np.float64]:
    r"""Fused score (pair,) of every document of one topic; 0 for one that no run retrieved.

    .. math:: score(d) = \sum_r \frac{1}{60 + rank_r(d)}

    over the runs that retrieved d. The sum is rounded once, exactly as ``math.fsum`` does, so
    neither the order of the runs nor the grouping of the terms can change a score or break a tie.
    To that end each double 1 / (60 + rank) is cut into a head, a multiple of :math:`2^{-32}`, and a
    tail below it; heads and tails are each added without any rounding error (they are integers
    below :math:`2^{53}` times a power of two) while ranks and runs stay below 65,000.

    ``ranking`` (run, rank) has the position of the document among the topic's ``n_pairs`` pairs, -1
    where nothing is there.

    References
    ----------
    G. V. Cormack, C. L. A. Clarke and S. Buettcher, "Reciprocal rank fusion outperforms Condorcet
    and individual rank learning methods", SIGIR 2009, doi:10.1145/1571941.1572114.

    Examples
    --------
    >>> ranking = np.array([[0, 1, -1], [1, 2, 0]])
    >>> reciprocal_rank_fusion(ranking, 4).round(4)
    array([0.0323, 0.0325, 0.0161, 0.    ])
    """
    n_ranks = ranking.shape[-1]
    term = 1.0 / (CONSTANT + np.arange(1, n_ranks + 1))
    head = np.floor(term * _HEAD) / _HEAD
    flat = ranking.ravel()
    retrieved = np.flatnonzero(flat >= 0)
    document, rank = flat[retrieved], retrieved % max(n_ranks, 1)
    heads = np.bincount(document, weights=head[rank], minlength=n_pairs)
    tails = np.bincount(document, weights=(term - head)[rank], minlength=n_pairs)
    return (heads + tails).astype(np.float64)


def fused_order(score: NDArray[np.float64]) -> NDArray[np.int64]:
    """Positions of one topic's pairs from the best fused score to the worst.

    Pairs of a topic are sorted by document id, so "ties by document id descending" is "ties by
    position descending".
    """
    position = np.arange(len(score))
    return np.lexsort((-position, -score))
