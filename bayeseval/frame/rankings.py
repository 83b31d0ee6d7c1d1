"""Rankings of a collection as plain arrays, the runs and pairs of a frame, and ranked lists."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from bayeseval.collection import topic_starts
from bayeseval.collection.choices import check_whole_numbers
from bayeseval.collection.labels import named_positions, row_of_pair
from bayeseval.collection.schema import check_parts
from bayeseval.frame.sample import grade_columns

CONSTANT = 60.0  # of the fusion, added to every rank
CELLS = 4_000_000  # ranks that are read at once
KEPT = 4  # blocks that stay in memory: several threads read different ones


@dataclass(frozen=True, eq=False)
class TopicRanks:
    """Ranks of all pairs of one topic."""

    in_frame: NDArray[np.bool_]  # (pair,)
    # (pair,): from 1 among the frame pairs, by reciprocal-rank fusion; of a pair outside the frame
    # the rank that it would take there
    fused_rank: NDArray[np.int64]
    run_rank: NDArray[np.int32]  # (pair, run): from 1; 0 where the run did not retrieve it


class StoredRanking:
    """Rankings (run, topic, rank) on disk, read by blocks of topics; an array where all are needed.

    What leaves the topics as they are, such as other runs or a smaller depth, reads nothing.
    """

    def __init__(self, data: Any) -> None:
        self._data = data  # a dask array
        self.shape, self.dtype = data.shape, data.dtype
        self._read: dict[int, NDArray] = {}  # blocks of topics, the latest last

    def __reduce__(self) -> tuple:
        return StoredRanking, (self._data,)  # without the blocks

    def __len__(self) -> int:
        return len(self._data)

    def __array__(self, dtype=None, copy=None) -> NDArray:
        return np.asarray(_read(self._data), dtype=dtype)

    def __getitem__(self, key: Any) -> Any:
        runs, topics, *ranks = key if isinstance(key, tuple) and key[0] is not ... else (key, None)
        if isinstance(topics, int | np.integer):
            size = max(CELLS // max(self.shape[0] * self.shape[2], 1), 1)
            number, place = divmod(int(topics), size)
            block = self._read.get(number)
            if block is None:
                block = _read(self._data[:, number * size : (number + 1) * size])
                self._read[number] = block
                for older in list(self._read)[:-KEPT]:
                    self._read.pop(older, None)
            return block[(runs, place, *ranks)]
        part = self._data[key]
        whole = part.ndim == 3 and part.shape[1] == self.shape[1]
        return StoredRanking(part) if whole else _read(part)


def _read(data: Any) -> NDArray[np.int32]:
    """Array of dask, read in this thread even where a client of dask is at work."""
    pairs = data.compute(scheduler="synchronous")
    if pairs.min(initial=-1) < -1:  # as where a chunk is missing
        raise ValueError(
            "the rankings of the store cannot be read: its folder is not there, or was changed "
            "after it was opened; the workers of an executor must see it too"
        )
    return pairs


@dataclass(frozen=True, eq=False)
class Rankings:
    """Ranked documents of runs, as positions of pairs.

    Examples
    --------
    >>> rankings = Rankings(np.array([[[1, 0, -1], [4, 2, 3]]]), np.array([0, 2, 5]))
    >>> rankings.local(1).tolist(), rankings.length.tolist(), rankings.run_rank(1).ravel().tolist()
    ([[2, 0, 1]], [[2, 3]], [2, 3, 1])
    """

    # (run, topic, rank): -1 where nothing is there. An array, or one on disk (StoredRanking)
    pair: Any
    start: NDArray[np.int64]  # (topic + 1,): the pairs of topic t are start[t]:start[t + 1]

    @classmethod
    def of(cls, collection: xr.DataTree, runs: NDArray[np.integer] | None = None) -> "Rankings":
        """Rankings of a collection, of all runs or of those at some positions."""
        check_parts(collection, "rankings")
        ranking = collection["rankings/ranking"]
        pair = ranking.to_numpy() if ranking.chunks is None else StoredRanking(ranking.data)
        rankings = cls(pair, topic_starts(collection))
        return rankings if runs is None else rankings.of_runs(runs)

    def of_runs(self, runs) -> "Rankings":
        """Rankings of the runs at some positions."""
        if np.array_equal(runs, np.arange(self.pair.shape[0])):
            return self
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
        parts = [np.count_nonzero(ranking >= 0, axis=2) for ranking in self._blocks()]
        return np.concatenate(parts or [np.zeros(self.pair.shape[:2], dtype=np.int64)], axis=1)

    def _blocks(self) -> Iterator[NDArray[np.int32]]:
        """Rankings (run, topic, rank) of topics that stand together."""
        n_runs, n_topics, n_ranks = self.pair.shape
        size = max(CELLS // max(n_runs * n_ranks, 1), 1)
        for first in range(0, n_topics, size):
            yield np.asarray(self.pair[:, first : first + size])

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
        for ranking in self._blocks():
            shown[ranking[ranking >= 0]] = True
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


@dataclass(frozen=True, eq=False)
class RunRanks:
    """Ranks (frame_pair, run) of frame pairs in runs, from 1, made for the rows that are read.

    Examples
    --------
    >>> rankings = Rankings(np.array([[[1, 0, -1], [4, 2, 3]]]), np.array([0, 2, 5]))
    >>> ranks = RunRanks(rankings, np.array([1, 2, 4]), np.array([0, 1, 3]))
    >>> ranks.shape, ranks[1:].ravel().tolist()
    ((3, 1), [2, 1])
    """

    rankings: Rankings
    pair: NDArray[np.integer]  # (frame_pair,): positions in the collection, ascending
    start: NDArray[np.int64]  # (topic + 1,): the frame pairs of topic t are start[t]:start[t + 1]

    @property
    def shape(self) -> tuple[int, int]:
        """Number of frame pairs, and of runs."""
        return self.pair.size, self.rankings.pair.shape[0]

    def __array__(self, dtype=None, copy=None) -> NDArray:
        return self[:].astype(dtype or np.int32)

    def __getitem__(self, rows: Any) -> NDArray[np.int32]:
        """Ranks of rows that stand together; of others by those of all rows."""
        if not isinstance(rows, slice):
            return self[:][rows]
        first, last, _ = rows.indices(self.pair.size)
        n_runs = self.shape[1]
        run_rank = np.zeros((last - first + 1, n_runs), dtype=np.int32)
        if last > first:
            begin, end = np.searchsorted(self.start, [first, last - 1], side="right") - 1
            lowest, highest = self.rankings.start[[begin, end + 1]]
            row = row_of_pair(self.pair[first:last] - lowest, highest - lowest)
            rankings = self.rankings.pair[:, begin : end + 1]
            rank = np.broadcast_to(np.arange(1, rankings.shape[2] + 1), rankings.shape[1:])
            for run, ranking in enumerate(rankings):
                run_rank[row[np.maximum(ranking - lowest, -1)], run] = rank
        return run_rank[:-1]  # what is not among the rows has gone to the last


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
    head = np.floor(term * 2.0**32) / 2.0**32
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


def contributing_runs(collection: xr.DataTree, runs) -> np.ndarray:
    """Positions of the runs that shape a design: those named, else those that contributed."""
    if runs is None:
        contributing = np.flatnonzero(collection["contributed"].to_numpy())
        if contributing.size == 0:
            raise ValueError(
                "no run of the collection contributed, so there is nothing to build a design from; "
                "name the runs to use with runs="
            )
        return contributing
    return np.unique(named_positions(collection, "run", runs, "runs"))


def pooled_by(rankings: Rankings, pool_depth: int) -> np.ndarray:
    """Mark the pairs (pair,) among the first ``pool_depth`` ranks of any run."""
    check_whole_numbers(1, pool_depth=pool_depth)
    return rankings.top(pool_depth).shown()


def frame_mask(collection: xr.DataTree, frame, pool_depth, runs: np.ndarray) -> tuple:
    """Pairs (bool) of the frame and the name of the rule that chose them."""
    rankings = Rankings.of(collection, runs)
    if frame is None:
        known = "judgments" in collection.children and "design" not in collection.children
        frame = "judged" if known else "retrieved"
    if not isinstance(frame, str):
        mask, name = pair_mask(frame, rankings.n_pairs, "frame"), "given"
    elif frame == "judged":
        if "judgments" not in collection.children:
            raise ValueError(
                "frame='judged' needs judgments and the collection has none; use frame='retrieved'"
            )
        grade = collection["judgments/grade"]
        if "replicate" in grade.dims:
            raise ValueError(
                "a design cannot be built on replicates of a sample; start from the truth"
            )
        mask, name = ~np.isnan(grade.to_numpy()), frame
    elif frame == "retrieved":
        mask, name = rankings.shown(), frame
    else:
        raise ValueError(
            f"frame must be 'judged', 'retrieved' or a bool DataArray over pair, not {frame!r}"
        )
    if pool_depth is not None:
        mask = mask & pooled_by(rankings, pool_depth)
    if not mask.any():
        raise ValueError(f"the frame ({name}) is empty: no pair could be judged under this design")
    return mask, name


def pair_mask(mask, n_pairs: int, name: str) -> np.ndarray:
    """A bool array over pairs, checked."""
    whole = isinstance(mask, xr.DataTree)
    values = np.zeros(0) if whole else np.asarray(mask)
    if values.dtype != bool or values.shape != (n_pairs,):
        given = "a collection" if whole else f"{values.dtype} of shape {values.shape}"
        raise ValueError(
            f"{name} must be a bool array over the {n_pairs} pairs of the collection, such as "
            f"collection['judgments/grade'].notnull(), not {given}"
        )
    return values


def ordered_frame(collection: xr.DataTree, mask: np.ndarray, runs: np.ndarray) -> list:
    """For each topic the frame's pair positions in fused order (:meth:`Rankings.fused`)."""
    rankings = Rankings.of(collection, runs)
    order = []
    for topic, start, stop in rankings.topics():
        best_first = rankings.fused(topic)
        order.append(start + best_first[mask[start:stop][best_first]])
    return order


@dataclass(frozen=True, eq=False)
class TopicLists:
    """Ranked lists, judgments and design of one topic; None of a design is what it has not."""

    position: NDArray[np.int32]  # (run, rank): row among the topic's pairs, -1 for none
    grade: NDArray[np.floating]  # (replicate, pair), NaN where not judged
    pooled: NDArray[np.bool_]  # (pair,): in the pool, judged or not
    inclusion_probability: NDArray[np.float64] | None = None  # (pair,), NaN where unknown
    stratum: NDArray[np.int32] | None = None  # (pair,), -1 for none
    stratum_size: NDArray[np.int64] | None = None  # (stratum_id,), of all strata of the design
    draw_probability: NDArray[np.float64] | None = None  # (pair,), of each draw with replacement
    draw_count: NDArray[np.int64] | None = None  # (replicate, pair), how often it was drawn

    @property
    def n_replicates(self) -> int:
        """Number of samples side by side."""
        return self.grade.shape[0]

    def top(self, cutoff: int | None) -> NDArray[np.int32]:
        """Positions down to a cutoff."""
        return np.ascontiguousarray(self.position[:, :cutoff])


class CollectionLists:
    """A collection's rankings, judgments and design as plain arrays, topic by topic."""

    def __init__(self, collection: xr.DataTree) -> None:
        self._rankings = Rankings.of(collection)
        self._grade = grade_columns(collection)
        self._pooled = collection["judgments/pooled"].to_numpy()
        design = collection.children["design"] if "design" in collection.children else {}
        names = ("inclusion_probability", "stratum", "draw_probability")
        self._of_pair = {name: design[name].to_numpy() for name in names if name in design}
        self._stratum_size = design["stratum_size"].to_numpy() if "stratum_size" in design else None
        if "draw_count" in collection["judgments"]:
            count = collection["judgments/draw_count"].transpose(..., "pair")
            self._of_pair["draw_count"] = np.atleast_2d(count.to_numpy())

    def topic(self, topic: int) -> TopicLists:
        """Arrays of one topic."""
        first, last = self._rankings.start[topic : topic + 2]
        return TopicLists(
            position=self._rankings.local(topic),
            grade=np.ascontiguousarray(self._grade[:, first:last], dtype=np.float64),
            pooled=self._pooled[first:last],
            stratum_size=self._stratum_size,
            **{name: values[..., first:last] for name, values in self._of_pair.items()},
        )
