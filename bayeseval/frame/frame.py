"""What is known of a collection: its frame, grades, rankings, and the runs that shaped it."""

import json
import warnings
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from bayeseval.collection import check_collection, check_one_sample
from bayeseval.collection.labels import pair_labels, row_of_pair
from bayeseval.collection.schema import design_parameters
from bayeseval.frame.rankings import Rankings, RunRanks, TopicRanks, contributing_runs
from bayeseval.frame.sample import (
    Sample,
    design_runs,
    framed_sample,
    grade_scale,
    judged_sample,
)

BY_CHANCE = ("stratified", "poisson")  # schemes whose probabilities say what was left out


@dataclass(frozen=True, eq=False)
class Frame:
    """The one view of a collection that estimators, models and scores work on."""

    collection: xr.DataTree
    sample: Sample  # pairs that could be judged, and which of them were, in one sample or in many
    grade: NDArray[np.floating]  # (replicate, frame_pair), NaN where not judged
    # whose ranks are predictors; None: those that are fused
    runs: Sequence[str] | None = None
    # whose fusion is one; None: runs that made the design, or those that contributed
    fused: Sequence[str] | None = None

    @classmethod
    def judged(cls, collection: xr.DataTree, runs=None, fused=None) -> "Frame":
        """The judged pairs as a frame, whatever the design."""
        return cls(collection, *judged_sample(collection), runs, fused)

    @classmethod
    def drawn_from(cls, collection: xr.DataTree, runs=None, fused=None) -> "Frame":
        """The pairs that the design could select; without a design the pool."""
        return cls(collection, *framed_sample(collection), runs, fused)

    @classmethod
    def of(cls, collection: xr.DataTree, runs=None, fused=None) -> "Frame":
        """Frame of the design, else the judged pairs."""
        made = cls.drawn_from if "design" in collection.children else cls.judged
        return made(collection, runs, fused)

    @classmethod
    def of_one_sample(cls, collection: xr.DataTree, runs=None, fused=None) -> "Frame":
        """Frame that a model can be fitted to: one sample, with runs and judgments."""
        check_collection(collection, "rankings", "judgments")
        frame = cls.of(collection, runs, fused)
        check_one_sample(collection, "a model is fitted to one sample")
        if not np.isfinite(frame.grade).any():
            raise ValueError("no pair of the frame is judged, so there is nothing to learn from")
        if collection["rankings/ranking"].chunks is not None:
            # logs of the best ranks, their squares and products, scaled and rotated
            columns = 10 * (int(frame.run.size).bit_length() + 1) + 9
            size = 8e-9 * columns * frame.sample.n_pairs
            warnings.warn(
                f"the rankings are on disk, and a model keeps the features of all "
                f"{frame.sample.n_pairs} documents of the frame in memory: about {size:.2g} GB",
                stacklevel=3,
            )
        return frame

    @cached_property
    def lists_sampled_alone(self) -> bool:
        """Whether the design lists its sampled pairs alone (prels, probs), not the whole frame."""
        if "design" not in self.collection.children:
            return False
        design = self.collection["design"]
        if "draw_probability" in design:
            return False
        return bool(np.isnan(design["inclusion_probability"].to_numpy()).any())

    @property
    def scheme(self) -> str | None:
        """How the design draws; None without a design."""
        design = self.collection.children.get("design")
        return None if design is None else design.attrs["scheme"]

    @property
    def design_name(self) -> str | None:
        """Name of the design, or of the format of a file that it was read with; or None."""
        design = self.collection.children.get("design")
        return None if design is None else design.attrs.get("name")

    @cached_property
    def rankings(self) -> Rankings:
        """Rankings of all runs."""
        return Rankings.of(self.collection)

    @property
    def design_labels(self) -> list[str]:
        """Labels that made documents of one fused rank more or less likely to be judged."""
        return list(design_parameters(self.collection.children.get("design")).get("labels", []))

    @property
    def made_certain(self) -> bool:
        """Whether the design was given pairs to judge for certain, of an old pool or sample."""
        return bool(design_parameters(self.collection.children.get("design")).get("n_certain", 0))

    @property
    def not_begun(self) -> NDArray[np.bool_]:
        """Topics (topic,) in which judgments are due and none has come."""
        waiting = json.loads(self.collection["judgments"].attrs.get("not_begun", "[]"))
        return np.isin(self.collection["topic"].to_numpy(), waiting)

    @cached_property
    def row_of_pair(self) -> NDArray[np.int32]:
        """Row of a pair among its topic's frame pairs (pair + 1,), -1 outside.

        The last entry serves position -1, so that a ranking can be used as the index.
        """
        first = self.sample.start[self.sample.topic]
        return row_of_pair(self.sample.pair, self.rankings.n_pairs, first)

    @cached_property
    def scale(self) -> tuple[float, ...]:
        """Grades that an assessor may give."""
        return grade_scale(self.collection)

    @cached_property
    def run(self) -> NDArray[np.int64]:
        """Positions of the runs whose ranks are predictors."""
        return self.fused_run if self.runs is None else self._named(self.runs)

    @cached_property
    def fused_run(self) -> NDArray[np.int64]:
        """Positions of the runs whose fusion is a predictor: of a design those that ordered it.

        Where these are not known, those that contributed; without a design, or where none did, the
        runs whose own ranks are predictors.
        """
        if self.fused is not None:
            return self._named(self.fused)
        if self.runs is not None and self.scheme is None:
            return self._named(self.runs)
        named = design_runs(self.collection)
        unknown = named is None and not self.collection["contributed"].to_numpy().any()
        return self._named(self.runs if unknown else named)

    def _named(self, runs: Sequence[str] | None) -> NDArray[np.int64]:
        return contributing_runs(self.collection, runs)

    @cached_property
    def shaping(self) -> Rankings:
        """Rankings of the runs whose ranks are predictors."""
        return self.rankings.of_runs(self.run)

    @cached_property
    def _fusing(self) -> Rankings:
        same = np.array_equal(self.fused_run, self.run)
        return self.shaping if same else self.rankings.of_runs(self.fused_run)

    @property
    def pair(self) -> NDArray[np.integer]:
        """Positions of the frame pairs, ascending."""
        return self.sample.pair

    @property
    def topic(self) -> NDArray[np.int64]:
        """Position of the topic of each frame pair."""
        return self.sample.topic.astype(np.int64)

    def topics(self) -> Iterator[tuple[int, TopicRanks]]:
        """Topics that have a frame pair, with the ranks of all their pairs."""
        for topic in np.unique(self.topic).tolist():
            yield topic, self.ranks(topic)

    def ranks(self, topic: int) -> TopicRanks:
        """Ranks of all pairs of a topic, in the fusion and in the runs that are predictors."""
        in_frame = self._in_frame(topic)
        fused_rank = self._fusing.fused_rank(topic, in_frame)
        return TopicRanks(in_frame, fused_rank, self.shaping.run_rank(topic))

    def _in_frame(self, topic: int) -> NDArray[np.bool_]:
        """Which of all pairs of a topic are in the frame."""
        first, last = self.rankings.start[topic : topic + 2]
        in_frame = np.zeros(last - first, dtype=bool)
        in_frame[self.pair[self.sample.of_topic(topic)] - first] = True
        return in_frame

    @cached_property
    def ranked_sample(self) -> Sample:
        """Sample with the fused rank of its pairs and their rank in every shaping run."""
        fused_rank = np.zeros(self.sample.n_pairs, dtype=np.int32)
        for topic in np.unique(self.topic).tolist():
            in_frame = self._in_frame(topic)
            rank = self._fusing.fused_rank(topic, in_frame)
            fused_rank[self.sample.of_topic(topic)] = rank[in_frame]
        run_rank = RunRanks(self.shaping, self.sample.pair, self.sample.start)
        return replace(self.sample, fused_rank=fused_rank, run_rank=run_rank)

    def labels(self, rows: NDArray) -> NDArray[np.str_]:
        """Text ``topic document`` of some rows of the frame."""
        return pair_labels(self.collection, self.pair[rows]).astype(str)

    @property
    def checksum(self) -> int:
        """Checksum (31 bits) of the frame's labels and grades, whatever else there is."""
        text = "\n".join(self.labels(np.arange(self.pair.size)).tolist())
        grade = self.grade.astype(np.float64)
        grade[np.isnan(grade)] = np.nan  # a nan has many bit patterns
        return zlib.crc32(grade.tobytes(), zlib.crc32(text.encode())) & 0x7FFFFFFF
