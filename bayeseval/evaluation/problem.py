"""What an evaluation works on: measures, relevance and the runs' rankings, topic by topic."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from bayeseval.collection import check_collection
from bayeseval.collection.choices import check_choice, check_seed
from bayeseval.collection.labels import asked_labels
from bayeseval.collection.origin import origin
from bayeseval.collection.schema import design_parameters
from bayeseval.designs.judging_list import information, is_order
from bayeseval.estimators.difference import described_predictor
from bayeseval.estimators.judged import JudgedRelevance
from bayeseval.estimators.registry import (
    ESTIMATORS,
    HAS_COVARIANCE,
    check_estimable,
    check_estimator,
    checked_options,
    described_options,
)
from bayeseval.estimators.relevance import EstimatedRelevance, check_no_predictor
from bayeseval.estimators.scoring import SCORES, anticipated_differences
from bayeseval.estimators.topic_scores import ListScore, TopicScore
from bayeseval.evaluation.drawn_for import warn_drawn_for_others
from bayeseval.frame.frame import Frame
from bayeseval.frame.rankings import TopicLists
from bayeseval.frame.sample import grade_scale
from bayeseval.measures.measure import Measure, described_gains
from bayeseval.measures.names import by_inf, parse_measures
from bayeseval.measures.scores import rank_weight
from bayeseval.messages import Message, Option, warn

BLOCK = 4_000_000  # ranks that are scored at once
MANY = 50  # judged documents of which hardly all are relevant
ROUNDING = 1e-9  # relative, of probabilities that are equal
OPTIONS = {
    "outside": ("nonrelevant", "missing", "error"),
    "missing_topics": ("zero", "skip"),
    "population": ("sample", "topics"),
    "denominator": ("counts", "topic"),
}


def _check_denominator(denominator: str, estimator: str) -> None:
    check_option(denominator=denominator)
    if denominator != "counts" and estimator not in HAS_COVARIANCE:
        named = Option("denominator", denominator)
        why = f" goes with {' or '.join(HAS_COVARIANCE)}; '{estimator}' has no such choice"
        raise ValueError(Message(named, why))


def reading_labels(predictor, labels: str | Sequence[str] | None):
    """A predictor that reads the labels, where some are named; by default "pooled"."""
    if labels is None:
        return predictor
    names = asked_labels(labels)
    one = predictor == "external" and len(names) == 1
    return predictor or "pooled", names[0] if one else names


def check_option(**given: str) -> None:
    """Refuse a value that an option does not have, and list those it has."""
    for name, value in given.items():
        check_choice(name, value, OPTIONS[name])


@dataclass(frozen=True, eq=False)
class Problem:
    """Measures to evaluate, the estimated relevance, and the rankings as plain arrays."""

    frame: Frame  # rankings, pairs that could be judged, and which of them were
    measures: list[Measure]
    random: bool  # whether the sample was drawn at random
    attrs: dict[str, Any] = field(default_factory=dict)  # of results: what was asked for, of what
    # set for an estimator that fills in relevances
    relevance: EstimatedRelevance | JudgedRelevance | None = None
    # (measure, topic) -> ListScore: set for an estimator that scores whole ranked lists
    list_scores: Callable[[Measure, TopicLists], ListScore] | None = None

    @classmethod
    def prepared(
        cls,
        collection: xr.DataTree,
        measures,
        *,
        estimator: str,
        predictor=None,
        labels: str | Sequence[str] | None = None,
        relevance_level: int = 1,
        gain=None,
        random_seed: int | None = None,
        denominator: str = "counts",
        estimator_options: dict | None = None,
        **unknown: object,
    ) -> "Problem":
        """Check the request and estimate the relevances it needs."""
        if unknown:
            raise TypeError(f"unknown options of scores: {', '.join(map(repr, unknown))}")
        check_collection(collection, "rankings", "judgments")
        grades = grade_scale(collection)
        parsed = parse_measures(measures, relevance_level=relevance_level, gain=gain, grades=grades)
        _warn_level(collection, parsed)
        check_estimator(collection, estimator)
        check_estimable(parsed, estimator, grades)
        _warn_strata(collection, parsed)
        _check_denominator(denominator, estimator)
        predictor = reading_labels(predictor, labels)
        options = checked_options(estimator, estimator_options)
        attrs = {"estimator": estimator, "denominator": denominator}
        attrs |= {"predictor": described_predictor(collection, estimator, predictor)}
        attrs |= {"estimator_options": described_options(estimator, estimator_options)}
        attrs |= {"relevance_level": relevance_level, "gain": described_gains(parsed)}
        attrs |= origin(collection)
        row = ESTIMATORS[estimator]
        random = row.schemes is not None
        if estimator in HAS_COVARIANCE:
            design = collection["design"].to_dataset()
            attrs |= {"information": information(design)} if is_order(design) else {}
        frame = Frame.drawn_from(collection) if random else Frame.judged(collection)
        if random:
            warn_all_alike(collection, parsed)
            _warn_cut(frame, parsed)
            warn_drawn_for_others(frame, parsed)
        if row.relevance is None:
            check_no_predictor(estimator, predictor)
            assert row.lists is not None
            own = {} if options is None else {"options": options}
            return cls(frame, parsed, random, attrs, list_scores=partial(row.lists, **own))
        check_seed(random_seed)
        relevance = row.relevance(frame, predictor, random_seed or 0, denominator)
        return cls(frame, parsed, random, attrs, relevance)

    @cached_property
    def judged_topic(self) -> NDArray[np.bool_]:
        """Topics that can be scored: those with a judgment.

        Under Poisson sampling a sample may well be empty in a topic, and leaving that topic out
        would bias what is left: there every topic of the frame counts whose judging has begun.
        """
        sample = self.frame.sample
        judged = sample.selected.any(axis=0)
        if self.random and (sample.stratum < 0).all():
            judged = ~self.frame.not_begun[sample.topic]
        return np.bincount(sample.topic[judged], minlength=sample.n_topics) > 0

    @property
    def labels(self) -> dict[str, NDArray]:
        """Labels of the dims of every result."""
        return {
            "measure": np.array([measure.label for measure in self.measures]),
            "run": self.frame.collection["run"].to_numpy(),
            "topic": self.frame.collection["topic"].to_numpy(),
        }

    def topics(
        self, topics: slice = slice(None), runs: Sequence[int] | None = None
    ) -> Iterator[tuple[int, NDArray[np.int32]]]:
        """Judged topics and the rows of the runs' documents (run, rank) on each."""
        first = topics.start or 0
        for topic in (first + np.flatnonzero(self.judged_topic[topics])).tolist():
            ranking = self.frame.rankings.pair[slice(None) if runs is None else list(runs), topic]
            yield topic, self.frame.row_of_pair[ranking]

    def blocks(self) -> list[slice]:
        """Topics that stand together and are scored at once."""
        n_runs, n_topics, n_ranks = self.frame.rankings.pair.shape
        sample = self.frame.sample
        cells = n_runs * n_ranks + sample.n_replicates * int(np.diff(sample.start).max(initial=0))
        size = max(1, BLOCK // max(cells, 1))
        return [slice(first, min(first + size, n_topics)) for first in range(0, n_topics, size)]

    def positions(self, topics: slice) -> NDArray[np.int32]:
        """Rows of the runs' documents (list, rank) on topics of a block, from its first pair.

        The lists are those of the first run, topic by topic, then those of the next.
        """
        ranking, start = self.frame.rankings.pair, self.frame.sample.start
        row = self.frame.row_of_pair[np.asarray(ranking[:, topics])]
        first = (start[topics] - start[topics.start]).astype(np.int32)
        return np.where(row < 0, -1, row + first[:, None]).reshape(-1, ranking.shape[2])

    def sampled_scores(self, topic: int, position: NDArray[np.int32]) -> Iterator[TopicScore]:
        """Estimate every measure on one topic, of a sample.

        A ratio is 0, whatever the predictions say, where nothing relevant was seen on any topic.
        """
        assert isinstance(self.relevance, EstimatedRelevance)
        relevance = self.relevance.topic(topic, position)
        for measure in self.measures:
            score = SCORES[measure.name](measure, relevance)
            if measure.kind == "ratio":
                seen = self.relevance.sees_any(measure)
                score = replace(score, estimate=np.where(seen, score.estimate, 0.0))
            yield score

    def anticipated_differences(
        self, topic: int, position: NDArray[np.int32]
    ) -> Iterator[NDArray[np.floating] | None]:
        """Variances of differences (run, run_other) to be expected, measure by measure."""
        assert isinstance(self.relevance, EstimatedRelevance)
        relevance = self.relevance.topic(topic, position)
        for measure in self.measures:
            yield anticipated_differences(measure, relevance)

    def topic_scores(
        self, runs: Sequence[int] | None = None
    ) -> Iterator[tuple[int, int, TopicScore]]:
        """Estimate every measure on every judged topic, of a sample: (measure, topic, score)."""
        for topic, position in self.topics(runs=runs):
            for index, score in enumerate(self.sampled_scores(topic, position)):
                yield index, topic, score

    def outside_weight(
        self, topic: int | slice, position: NDArray[np.int32]
    ) -> NDArray[np.floating]:
        """Weight of the ranks whose document cannot be known, (measure, run, replicate).

        Of one topic, or of the lists of a block (:meth:`blocks`) in the place of runs.

        For a linear measure the sum of its weights; for a ratio the share of the retrieved
        documents down to the cutoff, weighted as the measure weighs ranks (1/i for AP and Rprec).
        """
        if self.random and self.frame.lists_sampled_alone:
            return np.full((len(self.measures), position.shape[0], 1), np.nan)
        depth = position.shape[1]
        weights = np.zeros((depth, len(self.measures)))
        for index, measure in enumerate(self.measures):
            weight = rank_weight(measure, depth)
            weights[: weight.size, index] = weight
        total = np.concatenate([np.zeros((1, len(self.measures))), np.cumsum(weights, axis=0)])
        retrieved = total[self.frame.rankings.length[:, topic].ravel()].T[..., None]
        lost = retrieved - self._inside_weight(topic, position, weights)
        lost = np.where(lost > 1e-12 * retrieved, lost, 0.0)  # what rounding leaves of nothing
        shares = np.array([measure.kind != "linear" for measure in self.measures])
        divisor = np.where(shares[:, None, None] & (retrieved > 0), retrieved, 1.0)
        return lost / divisor

    def _inside_weight(self, topic, position, weights) -> NDArray[np.floating]:
        """Weight of the ranks whose document is known, (measure, run, replicate)."""
        sample = self.frame.sample
        if self.random or sample.n_replicates == 1:
            return ((position >= 0).astype(float) @ weights).T[..., None]
        from bayeseval.measures.rank_sums import weighted_sum

        judged = sample.selected[:, sample.of_topics(topic)]
        known = np.ascontiguousarray(judged.T, dtype=float)
        return np.stack([weighted_sum(position, weight, known) for weight in weights.T])


def _warn_level(collection: xr.DataTree, measures: list[Measure]) -> None:
    """Say of the first measure that counts from a grade that no judged document has."""
    grade = collection["judgments/grade"].to_numpy()
    highest = grade[~np.isnan(grade)].max(initial=1.0)
    for measure in measures:
        if not measure.graded and measure.relevance_level > highest:
            warn(
                f"{measure.label} counts documents of grade {measure.relevance_level} or more, and "
                f"no judged document has one; the highest is {highest:g}",
            )
            return


def _warn_strata(collection: xr.DataTree, measures: list[Measure]) -> None:
    """Say of infAP that it takes a sample for uniform whose documents had unequal chances."""
    if "design" not in collection.children or all(one.name != "infAP" for one in measures):
        return
    chance = collection["design"].get("inclusion_probability")
    if chance is None:
        return
    drawn = chance.to_numpy() > 0
    topic, known = collection["pair_topic"].to_numpy()[drawn], chance.to_numpy()[drawn]
    highest = np.zeros(collection.sizes["topic"])
    np.maximum.at(highest, topic, known)
    if not (known < (1 - ROUNDING) * highest[topic]).any():
        return
    warn(
        by_inf(
            "infAP takes the judged documents for a uniform sample of the pool, and looks neither "
            "at strata nor at probabilities, which differ here within topics; ",
            "xinfap",
        ),
    )


def _warn_cut(frame: Frame, measures: list[Measure]) -> None:
    """Say of ratios that documents below the ranks that could be judged are no part of them."""
    depth = design_parameters(frame.collection.children.get("design")).get("pool_depth")
    ratios = [measure.label for measure in measures if measure.kind == "ratio"]
    if ratios and depth is not None and frame.rankings.length.max(initial=0) > depth:
        warn(
            f"{', '.join(ratios)}: relevant documents that no run has in its first {depth} ranks "
            "(pool_depth) could not be judged, and count for nothing: what is divided by is too "
            "small, and scores are off as far as there are such documents, mostly too high",
        )


def warn_all_alike(collection: xr.DataTree, measures: list[Measure]) -> None:
    """Say of the first measure for which all or nothing of a large random sample is relevant."""
    grade = collection["judgments/grade"].to_numpy()
    known = grade[~np.isnan(grade)]
    if known.size < MANY:
        return
    lowest, highest = known.min(), known.max()
    for measure in measures:
        level = 1 if measure.graded else measure.relevance_level
        if measure.gains is None and highest < level <= 1:  # higher ones are told as levels
            warn(
                f"none of {known.size} judged documents counts as relevant for {measure.label}: "
                f"the highest grade is {highest:g}, and nothing separates the runs; if grades "
                "were lost or are on another scale, mend the judgments",
            )
            return
        if not measure.graded and 0 < measure.relevance_level <= lowest:
            warn(
                Message(
                    f"all {known.size} judged documents count as relevant for {measure.label}: the "
                    f"lowest grade is {lowest:g}; if that says not relevant, set ",
                    Option("relevance_level", int(lowest) + 1),
                    " (or rel= in the measure)",
                ),
            )
            return
