"""A drawn sample as plain arrays: what predictors and estimators work on."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from bayeseval.collection import topic_starts
from bayeseval.collection.schema import check_parts, describe_pair, design_parameters
from bayeseval.messages import warn

CELLS = 1_000_000  # ranks of documents in runs that are looked at at once


@dataclass(frozen=True, eq=False)
class Sample:
    r"""The frame of a collection, its design and one or many samples drawn from it.

    Only the :math:`n` pairs of the frame appear (inclusion probability above 0), in the order of
    the collection, so pairs are contiguous by topic. :math:`C` samples (replicates) of the same
    design stand side by side; ``C = 1`` where there is one. Relevance is not a field: it depends
    on the relevance level and on the gain of a measure, and is handed over beside the sample as
    an array (replicate, frame_pair) that is 0 wherever `selected` is false.

    Examples
    --------
    >>> sample = Sample(
    ...     pair=np.arange(4),
    ...     topic=np.zeros(4, np.int32),
    ...     start=np.array([0, 4]),
    ...     inclusion_probability=np.full(4, 0.5),
    ...     stratum=np.array([0, 0, 1, 1], np.int32),
    ...     selected=np.array([[True, False, False, True]]),
    ...     fused_rank=np.array([1, 2, 3, 4], np.int32),
    ...     run_rank=np.array([[1], [2], [0], [3]], np.int32),
    ... )
    >>> sample.n_pairs, sample.n_topics, sample.n_replicates, sample.n_runs
    (4, 1, 1, 1)
    """

    pair: NDArray[np.integer]  # (frame_pair,): positions in the collection, ascending
    topic: NDArray[np.int32]  # (frame_pair,)
    # (topic + 1,): the frame pairs of topic t are start[t]:start[t + 1]; a topic may have none
    start: NDArray[np.int64]
    inclusion_probability: NDArray[np.float64]  # (frame_pair,), in (0, 1]
    # (frame_pair,): never shared by two topics; -1 where there are none (Poisson sampling)
    stratum: NDArray[np.int32]
    selected: NDArray[np.bool_]  # (replicate, frame_pair): selected and judged
    # (frame_pair,): from 1 among the frame pairs of the topic, by reciprocal-rank fusion of the
    # contributing runs, ties by document id descending
    fused_rank: NDArray[np.int32]
    # (frame_pair, contributing_run): from 1; 0 where not retrieved. An array, or what makes the
    # rows that are asked for (RunRanks): of all pairs it may be larger than memory
    run_rank: Any

    @property
    def n_pairs(self) -> int:
        """Number of frame pairs."""
        return len(self.topic)

    @property
    def n_topics(self) -> int:
        """Number of topics, those without a frame pair included."""
        return len(self.start) - 1

    @property
    def n_replicates(self) -> int:
        """Number of samples side by side."""
        return self.selected.shape[0]

    def of_topic(self, topic: int) -> slice:
        """Frame pairs of a topic."""
        return slice(self.start[topic], self.start[topic + 1])

    def of_topics(self, topic: int | slice) -> slice:
        """Frame pairs of a topic, or of several that stand together."""
        if isinstance(topic, slice):
            return slice(self.start[topic.start], self.start[topic.stop])
        return self.of_topic(topic)

    @property
    def n_runs(self) -> int:
        """Number of contributing runs."""
        return self.run_rank.shape[1]

    def blocks(self) -> Iterator[slice]:
        """Frame pairs of topics that stand together, of which the ranks are looked at at once."""
        size = max(CELLS // max(self.n_runs, 1), 1)
        first = 0
        while first < self.n_pairs:
            topic = np.searchsorted(self.start, first + size, side="right") - 1
            last = int(self.start[topic]) if self.start[topic] > first else first + size
            yield slice(first, last)
            first = last


def grade_scale(collection: xr.DataTree) -> tuple[float, ...]:
    """Grades an assessor may give: those the judgments declare, else those that occur."""
    grade = grade_columns(collection)
    declared = collection.children["judgments"].attrs.get("grade_scale")
    if declared is not None:
        return tuple(float(value) for value in json.loads(declared))
    return tuple(np.unique(grade[~np.isnan(grade)]).tolist())


def grade_columns(collection: xr.DataTree) -> np.ndarray:
    """Grades as (replicate, pair), one replicate where there is no such dim."""
    check_parts(collection, "judgments")
    grade = collection["judgments/grade"].transpose(..., "pair").to_numpy()
    return grade.reshape(-1, grade.shape[-1])


def judged_sample(collection: xr.DataTree) -> tuple[Sample, np.ndarray]:
    """Judged pairs as a sample that selected them surely, and their grades (replicate, pair).

    The frame is every pair judged in some replicate; what a replicate did not judge is not
    selected.
    """
    frame = np.flatnonzero(~np.isnan(grade_columns(collection)).all(axis=0))
    return _sample(collection, frame, np.ones(frame.size))


def framed_sample(collection: xr.DataTree) -> tuple[Sample, np.ndarray]:
    """Frame and sample of a collection, whatever its scheme, and the grades (replicate, pair).

    Drawn with replacement, the frame is what can be drawn, and inclusion probabilities are not
    known; without a design it is the pool.
    """
    if "design" not in collection.children:
        frame = np.flatnonzero(collection["judgments/pooled"].to_numpy())
        return _sample(collection, frame, np.ones(frame.size))
    design = collection["design"]
    if design.attrs["scheme"] == "with_replacement":
        frame = np.flatnonzero(design["draw_probability"].to_numpy() > 0)
        return _sample(collection, frame, np.full(frame.size, np.nan))
    probability = design["inclusion_probability"].to_numpy()
    frame = np.flatnonzero(probability > 0)
    judged = ~np.isnan(grade_columns(collection)).all(axis=0)
    stray = np.flatnonzero((probability == 0) & judged)
    if stray.size:
        raise ValueError(
            f"{stray.size} judged pairs have inclusion probability 0, the first is "
            f"{describe_pair(collection, stray[0])}; a judged pair must be in the frame"
        )
    stratum = design["stratum"].to_numpy()[frame]
    sample, grade = _sample(collection, frame, probability[frame], stratum)
    if design.attrs["scheme"] == "stratified":
        _check_drawn(collection, sample)
    return sample, grade


def _sample(collection, frame, probability, stratum=None) -> tuple[Sample, np.ndarray]:
    """Sample of what is judged of a frame, whose ranks are still to come, and the grades."""
    grade = grade_columns(collection)[:, frame]
    sample = Sample(
        pair=frame,
        topic=collection["pair_topic"].to_numpy()[frame].astype(np.int32),
        start=np.searchsorted(frame, topic_starts(collection)),
        inclusion_probability=probability,
        stratum=np.full(frame.size, -1, dtype=np.int32) if stratum is None else stratum,
        selected=~np.isnan(grade),
        fused_rank=np.zeros(frame.size, dtype=np.int32),
        run_rank=np.zeros((frame.size, 0), dtype=np.int32),
    )
    return sample, grade


def _check_drawn(collection: xr.DataTree, sample: Sample) -> None:
    """Every replicate must have judged as many pairs of each stratum as the design drew."""
    drawn = collection["design/stratum_sample_size"].to_numpy()
    order = np.argsort(sample.stratum, kind="stable")
    occurring, first = np.unique(sample.stratum[order], return_index=True)
    if not occurring.size:
        return
    counts = np.add.reduceat(sample.selected[:, order].astype(np.int64), first, axis=1)
    topic_of = collection["design/stratum_topic"].to_numpy()[occurring]
    judged = np.zeros((len(counts), sample.n_topics), dtype=bool)
    replicate, column = np.nonzero(counts)
    judged[replicate, topic_of[column]] = True
    # a topic without any judgment is one that nobody has judged yet
    replicate, column = np.nonzero((counts != drawn[occurring]) & judged[:, topic_of])
    if replicate.size:
        stratum = occurring[column[0]]
        topic = collection["topic"].to_numpy()[topic_of[column[0]]]
        raise ValueError(
            f"stratum {stratum} (topic '{topic}') has {counts[replicate[0], column[0]]} judged "
            f"pairs where the design drew {drawn[stratum]}; the estimates need the grade of every "
            "drawn pair"
        )


def design_runs(collection: xr.DataTree) -> list[str] | None:
    """Runs that the design was made from, as far as they are here; None where none is known."""
    of_design = design_parameters(collection.children.get("design")).get("runs", [])
    here = set(collection["run"].to_numpy().tolist())
    present = [run for run in of_design if run in here]
    if len(present) < len(of_design):
        text = (
            f"{len(of_design) - len(present)} of the {len(of_design)} runs that the design was "
            "made from are not in the collection; what dyn and models predict rests on the others "
            "and will differ from what all of them say: give them too (a comparison may name one "
            "run as its reference)"
            if present
            else "none of the runs that the design was made from is in the collection; what dyn "
            "and models predict rests on other runs, and will differ from what those would say"
        )
        warn(text)
    return present or None
