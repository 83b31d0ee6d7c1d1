"""The runs' judged tops, and which of a topic's documents other runs show."""

import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from bayeseval.collection import check_collection
from bayeseval.collection.choices import check_choice, check_whole_numbers
from bayeseval.collection.labels import pair_labels
from bayeseval.collection.schema import check_one_sample, design_parameters
from bayeseval.frame.rankings import Rankings, contributing_runs, frame_mask
from bayeseval.frame.sample import grade_columns

UNJUDGED, NOTHING = -1, -2
DOCUMENTS = ("unshared", "all")
GAPS = ("refuse", "ignorable")


@dataclass(frozen=True, eq=False)
class Tops:
    """First ranks of the runs on every topic, with what is known of the documents.

    A run *shows* a document that it has at its first ``depth`` ranks; all runs of the pool are
    looked at, where the design names them, also those that the model is not fitted to. At the first
    ranks of a run the documents that another run shows too are those that two or more show.
    """

    collection: xr.DataTree
    run: NDArray[np.int64]  # (run,): positions of the runs
    depth: int  # ranks that are judged
    relevance_level: int  # least grade that counts as relevant
    in_frame: NDArray[np.bool_]  # (pair,): documents that an urn holds
    relevance: NDArray[np.int8]  # (pair,): 1 relevant, 0 not, -1 not judged
    # (pair,): number of runs that show the document at their first ``depth`` ranks
    shown_by: NDArray[np.int64]

    @classmethod
    def of(
        cls, collection: xr.DataTree, run: NDArray, *, depth: int, relevance_level: int, in_frame
    ) -> "Tops":
        """Tops of the runs at some positions."""
        grade = grade_columns(collection)[0]
        relevance = np.where(np.isnan(grade), UNJUDGED, grade >= relevance_level).astype(np.int8)
        pooled = np.isin(collection["run"].to_numpy(), _pool(collection).get("runs", []))
        showing = np.union1d(run, np.flatnonzero(pooled)).astype(np.int64)
        top = Rankings.of(collection, showing).top(depth).pair
        shown_by = np.bincount(top[top >= 0], minlength=grade.size)
        return cls(collection, run, depth, relevance_level, in_frame, relevance, shown_by)

    @property
    def n_others(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Documents of the frame that some other run shows, and the relevant ones (topic, run)."""
        shown = self.in_frame & (self.shown_by > 0)
        own = self.lists(self.in_frame & (self.shown_by == 1))
        number = self.count(shown)[:, None] - (own >= 0).sum(axis=2)
        relevant = self.count(shown & (self.relevance == 1))[:, None] - (own == 1).sum(axis=2)
        return number, relevant

    @property
    def coords(self) -> dict[str, Any]:
        """Labels of the model's dims."""
        return {
            "topic": self.collection["topic"].to_numpy(),
            "run": self.collection["run"].to_numpy()[self.run],
            "list": ["own"],
            "rank": np.arange(1, self.depth + 1),
        }

    @property
    def checksum(self) -> int:
        """Checksum (31 bits) of the topics, documents and relevance of the frame."""
        labels = pair_labels(self.collection, self.in_frame)
        of_labels = zlib.crc32("\n".join(labels.tolist()).encode())
        return zlib.crc32(self.relevance[self.in_frame].tobytes(), of_labels) & 0x7FFFFFFF

    @cached_property
    def rankings(self) -> Rankings:
        """Whole rankings of the runs."""
        return Rankings.of(self.collection, self.run)

    def count(self, chosen: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Number of chosen documents in each topic."""
        topic = self.collection["pair_topic"].to_numpy()[chosen]
        return np.bincount(topic, minlength=self.collection.sizes["topic"]).astype(np.int64)

    def n_shown(self, chosen: NDArray[np.bool_]) -> int:
        """Number of chosen documents that are judged and that a run shows at its first ranks."""
        return int((chosen & (self.shown_by > 0) & (self.relevance >= 0)).sum())

    def lists(self, chosen: NDArray[np.bool_]) -> NDArray[np.int8]:
        """Relevance (topic, run, rank) of the chosen documents among the first ranks, in order.

        A list is shorter than ``depth`` where some documents there are not chosen: -1 after them.
        """
        ranking = np.swapaxes(self.rankings.top(self.depth).pair, 0, 1)
        colour, _ = _moved_up((ranking >= 0) & chosen[ranking], self.relevance[ranking])
        short = self.depth - colour.shape[2]
        padded = np.pad(colour, ((0, 0), (0, 0), (0, short)), constant_values=UNJUDGED)
        return np.where(padded == NOTHING, UNJUDGED, padded).astype(np.int8)

    def topic_lists(
        self, topic: int, length: int, *, own: bool
    ) -> tuple[NDArray[np.int8], NDArray[np.int64], NDArray[np.int64]]:
        """Lists of one topic down to a length: relevance and rank (run, place), judged (run,).

        Of all documents of the frame, or of each run's ``own``, which no other shows. The relevance
        is -1 where it is not known, -2 past the end of a list; ranks are from 0; judged is the
        number of places that the first ``depth`` ranks fill.
        """
        ranking = self.rankings.pair[:, topic, :length]
        found = (ranking >= 0) & self.in_frame[ranking]
        if own:
            found[:, : self.depth] &= self.shown_by[ranking[:, : self.depth]] == 1
            found[:, self.depth :] &= self.shown_by[ranking[:, self.depth :]] == 0
        colour, rank = _moved_up(found, self.relevance[ranking])
        return colour, rank, found[:, : self.depth].sum(axis=1)

    def check_gaps(self) -> None:
        """Refuse an unjudged document of the frame at the first ranks of a run."""
        top = self.rankings.top(self.depth).pair
        known = self.count(self.relevance >= 0) > 0
        gap = (top >= 0) & self.in_frame[top] & (self.relevance[top] < 0) & known[:, None]
        if not gap.any():
            return
        run, topic, rank = (int(place) for place in np.argwhere(gap)[0])
        labels = self.coords["run"]
        raise ValueError(
            f"run '{labels[run]}' has an unjudged document of the frame at rank {rank + 1} of "
            f"topic '{self.coords['topic'][topic]}', as {int(gap.any(axis=(1, 2)).sum())} of "
            f"{labels.size} runs have down to rank {self.depth}; choose runs that were judged to "
            "one depth, and that depth, or for urn_model a frame without the document; one urn (in "
            "Python: documents='all') can sum over it with gaps='ignorable', if what was judged "
            "depended neither on relevance nor on other rankings"
        )

    def check_shown(self) -> None:
        """Refuse a judged document of the frame that no run shows."""
        stray = np.flatnonzero(self.in_frame & (self.relevance >= 0) & (self.shown_by == 0))
        if not stray.size:
            return
        topic = self.coords["topic"][int(self.collection["pair_topic"].to_numpy()[stray[0]])]
        document = self.collection["document"].to_numpy()[stray[0]]
        raise ValueError(
            f"{stray.size} judged documents of the frame, such as '{document}' of topic '{topic}', "
            f"are at the first {self.depth} ranks of no run: they were judged for runs or ranks "
            "that the model does not see, and it would take them for documents that only one run "
            "has; give the depth of the pool and all its runs, or a frame without them"
        )


def checked_tops(collection: xr.DataTree, *, documents: str, **asked) -> Tops:
    """Tops of a collection that ``urn_model`` may be fitted to; errors are its own."""
    check_collection(collection)
    tops = judged_tops(collection, **asked)
    if documents == "unshared":
        tops.check_shown()
    if "design" in collection.children and (tops.relevance[tops.in_frame] >= 0).all():
        raise ValueError(
            "every document of the frame is judged, so nothing is left to draw; the frame is what "
            "could have been judged: 'retrieved', or a bool DataArray over pair"
        )
    return tops


def judged_tops(
    collection: xr.DataTree,
    *,
    depth: int,
    frame,
    runs: Sequence[str] | None = None,
    relevance_level: int = 1,
    gaps: str = "refuse",
) -> Tops:
    """Tops that the likelihood of an urn is right for: judged to a depth, and without gaps."""
    if "rankings" not in collection.children:
        raise ValueError("the collection has no runs, and an urn is fitted to their tops")
    check_choice("gaps", gaps, GAPS)
    check_whole_numbers(1, relevance_level=relevance_level)
    check_whole_numbers(1, depth=depth)
    check_one_sample(collection, "an urn is fitted to one sample of judgments")
    pool = _pool(collection)
    if runs is None and "runs" in pool:
        runs = [run for run in collection["run"].to_numpy().tolist() if run in pool["runs"]]
    run = contributing_runs(collection, runs)
    _check_pool(pool, collection["run"].to_numpy()[run], depth)
    in_frame, _ = frame_mask(collection, frame, None, run)
    tops = Tops.of(collection, run, depth=depth, relevance_level=relevance_level, in_frame=in_frame)
    if gaps == "refuse":
        tops.check_gaps()
    if not (tops.lists(in_frame) >= 0).any():
        raise ValueError(f"no run has a judged document of the frame in its first {depth} ranks")
    return tops


def _pool(collection: xr.DataTree) -> dict:
    """Depth and runs of the pool that the judgments are, empty where no design says so."""
    design = collection.children.get("design")
    if design is None:
        return {}
    if design.attrs["scheme"] != "deterministic":
        raise ValueError(
            f"the judgments come from a {design.attrs['scheme']} design; the urn's likelihood is "
            "that of the judged top of a list and needs judgments to a depth, such as those of a "
            "pool."
        )
    return design_parameters(design) if design.attrs.get("name") == "depth_pool" else {}


def _check_pool(pool: dict, labels: NDArray[np.str_], depth: int) -> None:
    """Refuse ranks that the pool did not have judged, or has judged for other runs' sake."""
    if depth > pool.get("pool_depth", depth):
        raise ValueError(
            f"depth must be at most {pool['pool_depth']}, the depth of the pool, not {depth}: "
            "deeper ranks are judged only where another run ranks the document higher."
        )
    stray = [run for run in labels.tolist() if run not in pool.get("runs", labels)]
    if stray:
        raise ValueError(
            f"run '{stray[0]}' is not among the {len(pool['runs'])} runs of the pool, so which of "
            "its documents are judged depends on their relevance; name runs of the pool."
        )


def judgment_share(colour: NDArray[np.int8], n_judged: int) -> float:
    """Judged documents per judged place of the lists: 1 where no two lists show one document."""
    places = int((colour >= 0).sum())
    return min(1.0, n_judged / places) if places else 1.0


def _moved_up(
    found: NDArray[np.bool_], relevance: NDArray[np.int8]
) -> tuple[NDArray[np.int8], NDArray[np.int64]]:
    """Relevance (..., place) of the ranks found, without the others between them, and their ranks.

    Past the last place the relevance is -2.
    """
    order = np.argsort(~found, axis=-1, kind="stable")
    width = max(1, int(found.sum(axis=-1).max(initial=1)))
    known = np.where(found, relevance, NOTHING)
    colour = np.take_along_axis(known, order, axis=-1)[..., :width]
    return np.ascontiguousarray(colour, dtype=np.int8), order[..., :width]
