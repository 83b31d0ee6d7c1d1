"""Rankings of a collection as plain arrays: the one place that reads ``rankings/ranking``."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from bayeseval.collection import topic_starts

CONSTANT = 60.0  # of the fusion, added to every rank
_HEAD = 2.0**32  # the head of a term is a multiple of 2^-32


@dataclass(frozen=True, eq=False)
class TopicRanks:
    """Ranks of all pairs of one topic."""

    in_frame: NDArray[np.bool_]  # (pair,)
    # (pair,): from 1 among the frame pairs, by reciprocal-rank fusion; of a pair outside the frame
    # the rank that it would take there
    fused_rank: NDArray[np.int64]
    run_rank: NDArray[np.int32]  # (pair, run): from 1; 0 where the run did not retrieve it


@dataclass(frozen=True, eq=False)
class Rankings:
    """Ranked documents of runs, as positions of pairs.

    Examples
    --------
    >>> rankings = Rankings(np.array([[[1, 0, -1], [4, 2, 3]]]), np.array([0, 2, 5]))
    >>> rankings.local(1).tolist(), rankings.length.tolist(), rankings.run_rank(1).ravel().tolist()
    ([[2, 0, 1]], [[2, 3]], [2, 3, 1])
    """

    pair: NDArray[np.int32]  # (run, topic, rank): -1 where nothing is there
    start: NDArray[np.int64]  # (topic + 1,): the pairs of topic t are start[t]:start[t + 1]

    @classmethod
    def of(cls, collection: xr.DataTree, runs: NDArray[np.integer] | None = None) -> "Rankings":
        """Rankings of a collection, of all runs or of those at some positions."""
        pair = collection["rankings/ranking"].to_numpy()
        return cls(pair if runs is None else pair[runs], topic_starts(collection))

    def of_runs(self, runs) -> "Rankings":
        """Rankings of the runs at some positions."""
        return replace(self, pair=self.pair[runs])

    def top(self, depth: int | None) -> "Rankings":
        """Rankings cut at a depth; None cuts nothing."""
        return replace(self, pair=self.pair[..., :depth])

    @property
    def n_pairs(self) -> int:
        """Number of pairs of the collection."""
        return int(self.start[-1])

    @cached_property
    def length(self) -> NDArray[np.int64]:
        """Number of documents that a run ranks for a topic, (run, topic); 0 where it lacks it."""
        return np.count_nonzero(self.pair >= 0, axis=2)

    @property
    def depth(self) -> int:
        """Deepest rank of any run, at least 1."""
        return max(int(self.length.max(initial=1)), 1)

    def topics(self) -> Iterator[tuple[int, int, int]]:
        """Position, first pair and last pair (excluded) of every topic."""
        for topic, first in enumerate(self.start[:-1].tolist()):
            yield topic, first, int(self.start[topic + 1])

    def local(self, topic: int) -> NDArray[np.int32]:
        """Positions (run, rank) among the topic's own pairs, -1 where nothing is there."""
        first = self.pair.dtype.type(self.start[topic])
        return np.maximum(self.pair[:, topic] - first, -1).astype(np.int32, copy=False)

    def shown(self) -> NDArray[np.bool_]:
        """Pairs (pair,) that any of the runs ranks."""
        shown = np.zeros(self.n_pairs, dtype=bool)
        shown[self.pair[self.pair >= 0]] = True
        return shown

    def run_rank(self, topic: int) -> NDArray[np.int32]:
        """Rank, from 1, of the topic's pairs in every run (pair, run); 0 where not retrieved."""
        local = self.local(topic)
        size = int(self.start[topic + 1] - self.start[topic])
        run_rank = np.zeros((size + 1, len(local)), dtype=np.int32)
        run_rank[local, np.arange(len(local))[:, None]] = np.arange(1, local.shape[1] + 1)
        return run_rank[:-1]  # -1 has gone to the last row

    def fused(self, topic: int) -> NDArray[np.int64]:
        """Positions among the topic's own pairs, best reciprocal-rank fusion score first.

        Ties are broken by document id, descending. Pairs that no run retrieved score 0 and come
        last.
        """
        size = int(self.start[topic + 1] - self.start[topic])
        return fused_order(reciprocal_rank_fusion(self.local(topic), size))

    def fused_rank(self, topic: int, in_frame: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Fused ranks (pair,) of the topic's pairs, counted among those of a frame."""
        best_first = self.fused(topic)
        ahead = np.cumsum(in_frame[best_first])
        fused_rank = np.empty(in_frame.size, dtype=np.int64)
        fused_rank[best_first] = ahead + ~in_frame[best_first]
        return fused_rank


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
