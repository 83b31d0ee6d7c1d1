"""Relevance estimated from a random sample, level by level, with the predictions it rests on."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from bayeseval.estimators.counts import (
    CountModel,
    LevelCounts,
    TopicCounts,
    ideal_counts,
    number_counts,
)
from bayeseval.estimators.stratum_rates import rates_beside, squared_residuals, stratum_rates
from bayeseval.estimators.topic_scores import TopicScore
from bayeseval.frame.sample import Sample
from bayeseval.measures.measure import Measure, at_least, is_counted, relevance
from bayeseval.messages import Message, Option
from bayeseval.uncertainty.slots import Slots, topic_slots

Model = Callable[[Sample, NDArray, tuple, bool], NDArray]


@dataclass(frozen=True, eq=False)
class FilledRelevance:
    """Estimated relevance of one topic's frame pairs.

    Parameters
    ----------
    value : float array (pair, replicate)
        Estimated relevance (or gain) of each frame pair of the topic.
    expanded : float array (replicate, slot)
        (relevance - M) / inclusion probability of the sampled pairs, 0 at empty slots.
    seen : float array (replicate,)
        Number of sampled pairs that are relevant.
    predicted : float array (replicate, pair), optional
        Probability p that each pair is relevant, which M or the rates of the strata give.
    rates : float array (replicate, pair), optional
        The same by blocks of falling probability, where there is no M and no stratum.
    doubt : float array (replicate, pair), optional
        Expected square of relevance less M, where it is not p (1 - p).
    """

    value: NDArray[np.float64]
    expanded: NDArray[np.float64]
    seen: NDArray[np.float64]
    predicted: NDArray[np.float64] | None = None
    rates: NDArray[np.float64] | None = None
    doubt: NDArray[np.float64] | None = None


@dataclass(frozen=True, eq=False)
class TopicRelevance:
    """What a scoring function may ask about one topic.

    Parameters
    ----------
    position : int array (run, rank)
        Row of the document among the topic's frame pairs, -1 for none.
    slots : Slots
        Sampled pairs.
    odds : float array (pair,)
        (1 - pi) / pi, odds of a pair of the topic not to be drawn.
    stratum : int array (pair,)
        Stratum of each pair of the topic, from 0; all 0 under Poisson sampling.
    binary : callable (relevance_level) -> FilledRelevance
    gain_levels : callable (measure) -> list of (gain step, FilledRelevance)
        Gain as a sum of steps times the relevance "gain at or above this".
    counts : callable (measure) -> TopicCounts or None
        Posterior of the measure's denominator.
    beside : callable (relevance_level) -> float array (pair, replicate) or None
        Without M: rate of relevance of the strata of which one document was drawn, by the others.
    random_seed : int
        For measures whose variance is found by replication.
    predicts : bool
        Whether the estimator predicts the relevance of single documents.
    """

    position: NDArray[np.int32]
    slots: Slots
    odds: NDArray[np.float64]
    stratum: NDArray[np.int64]
    binary: Callable[[int], FilledRelevance]
    gain_levels: Callable[[Measure], list[tuple[float, FilledRelevance]]]
    counts: Callable[[Measure], TopicCounts | None]
    beside: Callable[[int], NDArray[np.float64] | None]
    random_seed: int
    predicts: bool = False

    def top(self, cutoff: int | None) -> NDArray[np.int32]:
        """Positions down to a cutoff."""
        return np.ascontiguousarray(self.position[:, :cutoff])

    def centred(self, expanded: NDArray[np.float64]) -> NDArray[np.float64]:
        """Deviations of expanded values (run, replicate, slot)."""
        from bayeseval.uncertainty.centred import centred

        return centred(np.ascontiguousarray(expanded), self.slots.probability, self.slots.group)

    def score(self, estimate, deviation, limited=None) -> TopicScore:
        """Score whose deviations stand slot by slot."""
        limited = np.zeros(estimate.shape, dtype=bool) if limited is None else limited
        return TopicScore(estimate, deviation, self.slots.group, limited)


class EstimatedRelevance:
    """Relevance at any level, filled in by one estimator and kept for the next measure.

    Parameters
    ----------
    sample : Sample
        Frame, design and selected pairs.
    grade : float array (replicate, frame_pair)
        Grades, NaN where not judged.
    scale : tuple of float
        Grades that an assessor may give, fixed before the draw: what levels a gain has must not
        depend on the sample.
    model : callable (sample, observed, counted grades, higher) -> M, optional
        Predictions of the estimator, if it uses any. ``higher`` says that the grades counted are
        those of a step of the gain above the first.
    counts : callable () -> CountModel or None
        Model of the numbers of relevant documents, asked for where a ratio needs one.
    random_seed : int
        For measures whose variance is found by replication.
    as_given : bool
        Whether the predictions are taken as they are, and not learned from the sample: then only
        the sample's residuals tell how far off they are.
    """

    def __init__(
        self,
        sample: Sample,
        grade: NDArray,
        scale: tuple[float, ...],
        model: Model | None = None,
        *,
        counts: Callable[[], CountModel | None],
        random_seed: int,
        as_given: bool = False,
    ) -> None:
        self.sample = sample
        self._as_given = as_given
        self._grade = grade
        self._scale = np.array(scale)
        self._model = model
        self._random_seed = random_seed
        self._make_counts = counts
        self._filled: dict[tuple, tuple] = {}
        self._beside: dict[tuple[float, ...], NDArray[np.float64] | None] = {}
        self._observed: dict[tuple[float, ...], NDArray[np.float64]] = {}
        self._slots: dict[int, Slots] = {}

    def topic(self, topic: int, position: NDArray[np.int32]) -> TopicRelevance:
        """What the scoring functions may ask about one topic, for runs at these positions."""
        inside = self.sample.of_topic(topic)
        stratum = self.sample.stratum[inside]
        return TopicRelevance(
            position=position,
            slots=self._topic_slots(topic),
            odds=1.0 / self.sample.inclusion_probability[inside] - 1.0,
            stratum=(stratum - stratum.min(initial=stratum.max(initial=0))).astype(np.int64),
            binary=lambda level: self._counted(topic, at_least(level), False),
            gain_levels=lambda measure: self._gain_levels(topic, measure),
            counts=lambda measure: self._counts(topic, measure),
            beside=lambda level: self._rates_beside(topic, at_least(level)),
            random_seed=self._random_seed + topic,
            predicts=self._model is not None,
        )

    def _topic_slots(self, topic: int) -> Slots:
        if topic not in self._slots:
            self._slots[topic] = topic_slots(self.sample, topic)
        return self._slots[topic]

    def _gain_levels(self, topic: int, measure: Measure) -> list[tuple[float, FilledRelevance]]:
        """Gain as steps: gain(grade) = sum of the steps at or below it."""
        return [
            (step, self._counted(topic, counted, number > 0))
            for number, (step, counted) in enumerate(self._steps(measure))
        ]

    def _steps(self, measure: Measure) -> list[tuple[float, tuple[float, ...]]]:
        """Steps of the gain, each with the grades that have it."""
        gains = relevance(measure, self._scale)
        levels = np.unique(gains[gains > 0]) if (gains > 0).any() else np.ones(1)
        steps = np.diff(levels, prepend=0.0)
        return [
            (float(step), self._grades_with(gains >= level))
            for step, level in zip(steps, levels, strict=True)
        ]

    def prepare_counts(self) -> None:
        """Make the model of the counts now, with its warnings, and not where a ratio needs it."""
        _ = self._count_model

    @cached_property
    def _count_model(self) -> CountModel | None:
        return self._make_counts()

    def _counts(self, topic: int, measure: Measure) -> TopicCounts | None:
        """Posterior of the number of relevant documents of a topic, or of its ideal gain."""
        model = self._count_model
        if model is None:
            return None
        if measure.name != "nDCG":
            level = self._numbers(model, measure)
            posterior = number_counts(level, topic)
            if self._model is None:
                return posterior
            filled = self._counted(topic, at_least(measure.relevance_level), False)
            estimate = filled.value.sum(axis=0)
            return posterior.following(estimate, level.expanded[:, topic], filled.seen)
        steps = self._steps(measure)
        names = tuple(counted for _, counted in steps)
        observed = [self._relevant(counted) for counted in names]
        levels = [model.level(names[: n + 1], observed[: n + 1]) for n in range(len(names))]
        return ideal_counts([step for step, _ in steps], levels, topic, measure.cutoff)

    def _numbers(self, model: CountModel, measure: Measure) -> LevelCounts:
        """Numbers of relevant documents of all topics."""
        name = at_least(measure.relevance_level)
        return model.level((name,), [self._relevant(name)])

    def zero_inflated(self, measure: Measure) -> NDArray[np.bool_]:
        """Whether by the counts a share of the topics has nothing relevant (replicate,)."""
        model = self._count_model
        if model is None:
            return np.zeros(len(self._grade), dtype=bool)
        return self._numbers(model, measure).zero_inflated

    def unsampled(self, topic: int, measure: Measure) -> tuple[NDArray, NDArray[np.float64]] | None:
        """What :meth:`CountModel.unsampled` says of a topic at the measure's relevance level."""
        model = self._count_model
        return None if model is None else model.unsampled(self._numbers(model, measure), topic)

    def _rates_beside(self, topic: int, counted: tuple) -> NDArray[np.float64] | None:
        """Rates (pair, replicate) of strata with one draw where ``counted`` are relevant."""
        if self._model is not None:
            return None
        if counted not in self._beside:
            self._beside[counted] = rates_beside(self.sample, self._relevant(counted))
        rates = self._beside[counted]
        inside = self.sample.of_topic(topic)
        return None if rates is None else np.ascontiguousarray(rates[:, inside].T)

    def _relevant(self, counted: tuple[float, ...]) -> NDArray[np.float64]:
        """1 where a judged pair has one of the grades, or those of :func:`at_least`."""
        if counted not in self._observed:
            self._observed[counted] = is_counted(self._grade, counted).astype(float)
        return self._observed[counted]

    def _grades_with(self, enough: NDArray[np.bool_]) -> tuple[float, ...]:
        """Grades with enough gain: the lowest and all above it where these have it too."""
        counted = self._scale[enough]
        whole = counted.size and enough[self._scale >= counted.min()].all()
        return at_least(counted.min()) if whole else tuple(counted.tolist())

    def _counted(self, topic: int, counted: tuple, higher: bool) -> FilledRelevance:
        """Filled relevance where the grades ``counted`` are relevant."""
        if (counted, higher) not in self._filled:
            observed, model = self._relevant(counted), None
            if self._model is None:
                name = "rates" if (self.sample.stratum < 0).any() else "predicted"
                known = {name: stratum_rates(self.sample, observed)}
            else:
                model = self._model(self.sample, observed, counted, higher)
                doubt = squared_residuals(self.sample, observed, model) if self._as_given else None
                known = {"predicted": model, "doubt": doubt}
            self._filled[counted, higher] = (observed, model, known)
        observed, model, known = self._filled[counted, higher]
        filled = filled_relevance(self.sample, topic, self._topic_slots(topic), observed, model)
        inside = self.sample.of_topic(topic)
        own = {name: part[:, inside] for name, part in known.items() if part is not None}
        return replace(filled, **own)


def filled_relevance(
    sample: Sample,
    topic: int,
    slots: Slots,
    observed: NDArray[np.float64],
    model: NDArray[np.float64] | None,
) -> FilledRelevance:
    r"""Relevance of one topic's frame by the difference estimator.

    .. math:: v(d) = M(d) + \frac{1[d \in J]}{\pi(d)} (rel(d) - M(d))

    ``observed`` (replicate, frame_pair) is the relevance of the selected pairs, 0 elsewhere; M is
    the model's (replicate, frame_pair), and 0 where that is None, the Horvitz-Thompson estimator.
    """
    inside = sample.of_topic(topic)
    seen = observed[:, inside]
    predicted = np.zeros(seen.shape) if model is None else model[:, inside]
    residual = np.take_along_axis(seen - predicted, slots.row, axis=1)
    expanded = np.where(slots.row < 0, 0.0, residual / slots.probability)
    value = np.array(predicted.T, dtype=np.float64, order="C")
    replicate, slot = np.nonzero(slots.row >= 0)
    value[slots.row[replicate, slot], replicate] += expanded[replicate, slot]
    return FilledRelevance(value, expanded, seen.sum(axis=1))


def check_no_predictor(estimator: str, predictor) -> None:
    """Refuse a predictor that the estimator would not use."""
    if predictor is not None:
        raise ValueError(
            Message(
                f"estimator '{estimator}' uses no predictor; use ",
                Option("estimator", "dyn"),
                " with a predictor",
            )
        )
