"""Ranks of a topic's documents in the runs that shaped the frame, and in their fusion."""

import zlib
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from bayeseval.collection import check_collection, topic_starts
from bayeseval.frame.fusion import fused_order, reciprocal_rank_fusion
from bayeseval.frame.gather import design_runs, framed_sample, judged_sample
from bayeseval.frame.members import contributing_runs


@dataclass(frozen=True, eq=False)
class TopicRanks:
    """Ranks of all pairs of one topic.

    Parameters
    ----------
    in_frame : bool array (pair,)
        Whether the pair is in the frame.
    fused_rank : int64 array (pair,)
        Rank, from 1, among the frame pairs of the topic by reciprocal-rank fusion. A pair outside
        the frame has the rank that it would take there.
    run_rank : int32 array (pair, run)
        Rank, from 1, in each run; 0 where the run did not retrieve the document.
    """

    in_frame: NDArray[np.bool_]
    fused_rank: NDArray[np.int64]
    run_rank: NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Frame:
    """Pairs that a model speaks of, their grades, and the runs that its predictors come from.

    Parameters
    ----------
    collection : DataTree
    pair : int array (frame_pair,)
        Positions of the frame pairs, ascending.
    grade : float array (frame_pair,)
        Grades, NaN where not judged.
    run : int array (run,)
        Positions of the runs whose ranks are predictors.
    """

    collection: xr.DataTree
    pair: NDArray[np.integer]
    grade: NDArray[np.float64]
    run: NDArray[np.int64]

    @classmethod
    def of(cls, sampled: xr.DataTree, runs=None) -> "Frame":
        """Frame of a collection: that of its design, else the judged pairs."""
        check_collection(sampled)
        if "rankings" not in sampled.children:
            raise ValueError("the collection has no runs, and a model learns from their ranks")
        designed = "design" in sampled.children
        sample, grade = framed_sample(sampled) if designed else judged_sample(sampled)
        if sample.n_replicates > 1:
            raise ValueError(
                "a model is fitted to one sample and this collection holds replicates; pick one "
                "with reveal(collection, design, selected.isel(replicate=0))"
            )
        if not np.isfinite(grade).any():
            raise ValueError("no pair of the frame is judged, so there is nothing to learn from")
        if runs is None and designed:
            runs = design_runs(sampled)
        chosen = contributing_runs(sampled, runs)
        return cls(sampled, sample.pair, grade[0].astype(np.float64), chosen)

    @property
    def topic(self) -> NDArray[np.int64]:
        """Position of the topic of each frame pair."""
        return self.collection["pair_topic"].to_numpy()[self.pair].astype(np.int64)

    @property
    def depth(self) -> int:
        """Deepest rank of any run."""
        ranking = self.collection["rankings/ranking"].to_numpy()[self.run]
        return int(np.count_nonzero(ranking >= 0, axis=2).max(initial=1))

    def topics(self) -> Iterator[tuple[int, TopicRanks]]:
        """Topics that have a frame pair, with the ranks of all their pairs."""
        for topic in np.unique(self.topic).tolist():
            yield topic, self.ranks(topic)

    def ranks(self, topic: int) -> TopicRanks:
        """Ranks of all pairs of a topic."""
        start, stop = topic_starts(self.collection)[topic : topic + 2]
        ranking = self.collection["rankings/ranking"].to_numpy()[self.run, topic]
        local = np.where(ranking < 0, -1, ranking - start)
        in_frame = np.zeros(stop - start, dtype=bool)
        inside = np.searchsorted(self.pair, [start, stop])
        in_frame[self.pair[slice(*inside)] - start] = True
        best_first = fused_order(reciprocal_rank_fusion(local, in_frame.size))
        ahead = np.cumsum(in_frame[best_first])
        fused_rank = np.empty(in_frame.size, dtype=np.int64)
        fused_rank[best_first] = ahead + ~in_frame[best_first]
        run_rank = np.zeros((in_frame.size, self.run.size), dtype=np.int32)
        run, rank = np.nonzero(local >= 0)
        run_rank[local[run, rank], run] = rank + 1
        return TopicRanks(in_frame, fused_rank, run_rank)

    def labels(self, rows: NDArray) -> NDArray[np.str_]:
        """Text ``topic document`` of some rows of the frame."""
        pair = self.pair[rows]
        topic = self.collection["topic"].to_numpy().astype(object)
        document = self.collection["document"].to_numpy().astype(object)
        spoken = topic[self.collection["pair_topic"].to_numpy()[pair]] + " " + document[pair]
        return spoken.astype(str)

    @property
    def checksum(self) -> int:
        """Checksum (31 bits) of the frame's labels and grades, whatever else there is."""
        text = "\n".join(self.labels(np.arange(self.pair.size)).tolist())
        grade = np.where(np.isnan(self.grade), np.nan, self.grade)  # a nan has many bit patterns
        return zlib.crc32(grade.tobytes(), zlib.crc32(text.encode())) & 0x7FFFFFFF
