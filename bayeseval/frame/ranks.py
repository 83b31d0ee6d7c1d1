"""Ranks of a topic's documents in the runs that shaped the frame, and in their fusion."""

import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from bayeseval.collection import check_collection
from bayeseval.frame.gather import design_runs, framed_sample, judged_sample
from bayeseval.frame.members import contributing_runs
from bayeseval.frame.rankings import Rankings, TopicRanks


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

    @cached_property
    def rankings(self) -> Rankings:
        """Rankings of the runs whose ranks are predictors."""
        return Rankings.of(self.collection, self.run)

    @property
    def depth(self) -> int:
        """Deepest rank of any of these runs."""
        return self.rankings.depth

    def topics(self) -> Iterator[tuple[int, TopicRanks]]:
        """Topics that have a frame pair, with the ranks of all their pairs."""
        for topic in np.unique(self.topic).tolist():
            yield topic, self.ranks(topic)

    def ranks(self, topic: int) -> TopicRanks:
        """Ranks of all pairs of a topic."""
        start, stop = self.rankings.start[topic : topic + 2]
        in_frame = np.zeros(stop - start, dtype=bool)
        inside = np.searchsorted(self.pair, [start, stop])
        in_frame[self.pair[slice(*inside)] - start] = True
        return self.rankings.ranks(topic, in_frame)

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
