"""The runs' judged tops, and draws of the unjudged ranks from what is left in their urns."""

import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from bayeseval.collection import check_collection
from bayeseval.collection.choices import check_choice, check_whole_numbers
from bayeseval.collection.labels import check_frame, check_rankings, pair_labels
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

    def count(self, selected: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Number of chosen documents in each topic."""
        topic = self.collection["pair_topic"].to_numpy()[selected]
        return np.bincount(topic, minlength=self.collection.sizes["topic"]).astype(np.int64)

    def n_shown(self, selected: NDArray[np.bool_]) -> int:
        """Number of chosen documents that are judged and that a run shows at its first ranks."""
        return int((selected & (self.shown_by > 0) & (self.relevance >= 0)).sum())

    def lists(self, selected: NDArray[np.bool_]) -> NDArray[np.int8]:
        """Relevance (topic, run, rank) of the chosen documents among the first ranks, in order.

        A list is shorter than ``depth`` where some documents there are not chosen: -1 after them.
        """
        ranking = np.swapaxes(self.rankings.top(self.depth).pair, 0, 1)
        colour, _ = _moved_up((ranking >= 0) & selected[ranking], self.relevance[ranking])
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
        member = (ranking >= 0) & self.in_frame[ranking]
        if own:
            member[:, : self.depth] &= self.shown_by[ranking[:, : self.depth]] == 1
            member[:, self.depth :] &= self.shown_by[ranking[:, self.depth :]] == 0
        colour, rank = _moved_up(member, self.relevance[ranking])
        return colour, rank, member[:, : self.depth].sum(axis=1)

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


def checked_tops(collection: xr.DataTree, *, documents: str, **options) -> Tops:
    """Tops of a collection that ``urn_model`` may be fitted to; errors are its own."""
    tops = judged_tops(collection, **options)
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
    check_collection(collection, "rankings", "judgments")
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
    member: NDArray[np.bool_], relevance: NDArray[np.int8]
) -> tuple[NDArray[np.int8], NDArray[np.int64]]:
    """Relevance (..., place) of the ranks found, without the others between them, and their ranks.

    Past the last place the relevance is -2.
    """
    order = np.argsort(~member, axis=-1, kind="stable")
    width = max(1, int(member.sum(axis=-1).max(initial=1)))
    known = np.where(member, relevance, NOTHING)
    colour = np.take_along_axis(known, order, axis=-1)[..., :width]
    return np.ascontiguousarray(colour, dtype=np.int8), order[..., :width]


class UrnDraws:
    """Scores of the runs of an urn model under every draw, topic by topic.

    Under every draw of the parameters M is drawn given the judged tops, then each run's unjudged
    ranks: those among the judged ones by forward filtering and backward sampling, those below from
    what is left in the urn. With two urns this is the urn of the documents that no other run shows,
    each run's own; all others keep what is known of them.

    Parameters
    ----------
    fitted : DataTree
        Fit of ``urn_model``.
    sampled : DataTree
        The collection that it was fitted to.
    random_seed : int or None
        For the draws of the unjudged ranks.
    """

    def __init__(self, fitted: xr.DataTree, sampled: xr.DataTree, random_seed: int | None) -> None:
        constant = fitted["constant_data"].to_dataset()
        posterior = fitted["posterior"].to_dataset()
        pairs = constant["frame_pair"].to_numpy()
        in_frame = np.zeros(sampled.sizes["pair"], dtype=bool)
        in_frame[pairs[pairs < in_frame.size]] = True
        self.tops = Tops.of(
            sampled,
            contributing_runs(sampled, posterior["run"].to_numpy().tolist()),
            depth=int(constant["urn_depth"]),
            relevance_level=int(constant["relevance_level"]),
            in_frame=in_frame,
        )
        same = self.tops.checksum == int(constant["frame_checksum"])
        check_frame(same and pairs.max() < in_frame.size)
        run, topic = (self.tops.coords[dim] for dim in ("run", "topic"))
        check_rankings(sampled, self.tops.run, constant["run_checksum"].sel(run=run).to_numpy())
        self.sizes = {dim: posterior.sizes[dim] for dim in ("chain", "draw")}
        self.n_draws = self.sizes["chain"] * self.sizes["draw"]
        self._log_odds = self._flat(posterior["log_odds"].sel(run=run))
        self._logit_prevalence = self._flat(posterior["logit_prevalence"].sel(topic=topic))
        self._weight = float(constant["relevance_weight"])
        self._own = bool(int(constant["unshared"]))
        number = self.tops.count(in_frame)
        self._number = number[:, None] - self.tops.n_others[0] if self._own else number[:, None]
        words = np.random.SeedSequence(random_seed).generate_state(self._number.size + 1)
        self.seed_word, self._seeds = int(words[0]), words[1:].reshape(self._number.shape)

    def _flat(self, values: xr.DataArray) -> NDArray[np.float64]:
        return values.transpose("chain", "draw", ...).to_numpy().reshape(self.n_draws, -1)

    def scores(self, topic: int, weight: list[NDArray]) -> Iterator[NDArray[np.float64]]:
        """Weighted sums (run, draw) of the relevances of one topic's rankings, per measure."""
        length = max(part.size for part in weight)
        colour, rank, judged = self.tops.topic_lists(topic, length, own=self._own)
        self._check_ignorable(topic, colour, judged)
        filled = self._filled(topic, colour, judged)
        ranking = self.tops.rankings.pair[:, topic, :length]
        known = (ranking >= 0) & (self.tops.relevance[ranking] == 1)
        gap = colour == UNJUDGED
        for part in weight:
            padded = np.pad(part, (0, length - part.size))
            worth = np.where(gap, padded[rank], 0.0)
            yield (known @ padded)[:, None] + weighted_sums(filled, worth)

    def _filled(self, topic: int, colour: NDArray[np.int8], judged: NDArray[np.int64]):
        """Lists (draw, run, place) with the unjudged places drawn."""
        from bayeseval.distributions.wallenius_sequence_draws import filled_topic

        logit = self._logit_prevalence[:, topic]
        number, seeds = self._number[topic].tolist(), self._seeds[topic].tolist()
        filled = np.empty((self.n_draws, *colour.shape), dtype=np.int8)
        urns = np.array_split(np.arange(len(colour)), len(number))  # the runs that draw from each
        for sharing, size, seed in zip(urns, number, seeds, strict=True):
            filled[:, sharing], _ = filled_topic(
                seed,
                colour[sharing],
                judged[sharing],
                self._log_odds[:, sharing],
                logit,
                size,
                self._weight,
            )
        return filled

    def _check_ignorable(self, topic: int, colour, judged) -> None:
        """Refuse lists in which documents are judged below the depth, for other runs' sake."""
        below = np.arange(colour.shape[1]) >= judged[:, None]
        mixed = (below & (colour >= 0)).any(axis=1) & (below & (colour == UNJUDGED)).any(axis=1)
        if mixed.any():
            run, label = int(np.argmax(mixed)), self.tops.coords["topic"][topic]
            raise ValueError(
                f"run '{self.tops.coords['run'][run]}' has judged and unjudged documents below "
                f"rank {self.tops.depth} on topic '{label}': what other runs had judged is better "
                "than the rest, and an urn of both does not know it; fit with "
                "documents='unshared' to all runs of the pool"
            )

    def outside_weight(self, topic: int, weight: list[NDArray]) -> NDArray[np.float64]:
        """Weight (measure, run) of retrieved documents that no urn holds and nobody judged."""
        return self._weight_of(topic, weight, ~self.tops.in_frame & (self.tops.relevance < 0))

    def filled_weight(self, topic: int, weight: list[NDArray]) -> NDArray[np.float64]:
        """The same of those that nobody judged and urns hold: of the ranks that they fill."""
        return self._weight_of(topic, weight, self.tops.in_frame & (self.tops.relevance < 0))

    def judged_score(self, topic: int, weight: list[NDArray]) -> NDArray[np.float64]:
        """Scores (measure, run) by the judged documents alone."""
        return self._weight_of(topic, weight, self.tops.relevance == 1)

    def _weight_of(self, topic: int, weight: list[NDArray], selected: NDArray[np.bool_]) -> NDArray:
        """Weight (measure, run) of the ranks of some pairs of the collection (pair,)."""
        length = max(part.size for part in weight)
        ranking = self.tops.rankings.pair[:, topic, :length]
        counted = (ranking >= 0) & selected[ranking]
        return np.stack([counted[:, : part.size].astype(float) @ part for part in weight])


def weighted_sums(filled: NDArray[np.int8], worth: NDArray[np.float64]) -> NDArray[np.float64]:
    """Sums (run, draw) of the worth (run, place) of places that hold 1 in (draw, run, place)."""
    sums = [(filled[:, run] == 1) @ worth[run] for run in range(worth.shape[0])]
    return np.stack(sums)
