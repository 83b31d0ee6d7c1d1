"""Relevance estimated from a random sample, level by level, with the predictions it rests on."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayeseval.estimators.counts import (
    CountModel,
    TopicCounts,
    ideal_counts,
    number_counts,
)
from bayeseval.estimators.stratum_rates import rates_beside, squared_residuals, stratum_rates
from bayeseval.estimators.topic_scores import TopicScore
from bayeseval.frame.sample import Sample
from bayeseval.measures.measure import Measure, at_least, is_counted, relevance
from bayeseval.measures.table import discount_sum
from bayeseval.messages import Message, Option
from bayeseval.uncertainty.slots import Slots, topic_slots

Model = Callable[[Sample, NDArray, tuple, bool], NDArray]


@dataclass(frozen=True, eq=False)
class FilledRelevance:
    """Estimated relevance of one topic's frame pairs."""

    # (pair, replicate): estimated relevance (or gain) of each frame pair of the topic
    value: NDArray[np.float64]
    # (replicate, slot): (relevance - M) / inclusion probability of sampled pairs, 0 at empty slots
    expanded: NDArray[np.float64]
    seen: NDArray[np.float64]  # (replicate,): number of sampled pairs that are relevant
    # (replicate, pair): probability p that each pair is relevant, which M or the rates of the
    # strata give
    predicted: NDArray[np.float64] | None = None
    # (replicate, pair): the same by blocks of falling probability, where there is no M and no
    # stratum
    rates: NDArray[np.float64] | None = None
    # (replicate, pair): expected square of relevance less M, where it is not p (1 - p)
    doubt: NDArray[np.float64] | None = None


@dataclass(frozen=True, eq=False)
class TopicRelevance:
    """What a scoring function may ask about one topic."""

    whole: "EstimatedRelevance"  # of all topics
    topic: int
    # (run, rank): row of the document among the topic's frame pairs, -1 for none
    position: NDArray[np.int32]
    slots: Slots  # sampled pairs
    odds: NDArray[np.float64]  # (pair,), (1 - pi) / pi, odds of a pair of the topic not to be drawn
    # (pair,): stratum of each pair of the topic, from 0; all 0 under Poisson sampling
    stratum: NDArray[np.int64]
    random_seed: int  # for measures whose variance is found by replication

    @property
    def predicts(self) -> bool:
        """Whether the estimator predicts the relevance of single documents."""
        return self.whole.predicts

    def binary(self, level: int) -> FilledRelevance:
        """Relevance from a level on."""
        return self.whole.filled(self.topic, at_least(level), False)

    def gain_levels(self, measure: Measure) -> list[tuple[float, FilledRelevance]]:
        """Gain as a sum of steps times the relevance "gain at or above this"."""
        return [
            (step, self.whole.filled(self.topic, counted, number > 0))
            for number, (step, counted) in enumerate(self.whole.steps(measure))
        ]

    def counts(self, measure: Measure) -> TopicCounts | None:
        """Posterior of the measure's denominator."""
        return self.whole.counts(self.topic, measure)

    def beside(self, level: int) -> NDArray[np.float64] | None:
        """Without M: rates (pair, replicate) of strata of which one was drawn, by the others."""
        rates = None if self.predicts else self.whole.rates_beside(at_least(level))
        inside = self.whole.sample.of_topic(self.topic)
        return None if rates is None else np.ascontiguousarray(rates[:, inside].T)

    def top(self, cutoff: int | None) -> NDArray[np.int32]:
        """Positions down to a cutoff."""
        return np.ascontiguousarray(self.position[:, :cutoff])

    def weights(self, weight: NDArray[np.floating]) -> NDArray[np.float64]:
        """Weight (run, pair) that each run gives to each pair, by those of the ranks (rank,)."""
        weights = np.zeros((self.position.shape[0], self.odds.size))
        run, rank = np.nonzero(self.position[:, : weight.size] >= 0)
        weights[run, self.position[run, rank]] = weight[rank]
        return weights

    def centred(self, expanded: NDArray[np.float64]) -> NDArray[np.float64]:
        """Deviations of expanded values (run, replicate, slot)."""
        from bayeseval.uncertainty.centred import centred

        return centred(np.ascontiguousarray(expanded), self.slots.probability, self.slots.group)

    def score(self, estimate, deviation) -> TopicScore:
        """Score whose deviations stand slot by slot."""
        return TopicScore(estimate, deviation, self.slots.group)


class EstimatedRelevance:
    """Relevance at any level, filled in by one estimator and kept for the next measure.

    Of the frame, design and selected pairs of a ``sample``, with grades (replicate, frame_pair),
    NaN where not judged. The grades that an assessor may give, ``scale``, are fixed before the
    draw: what levels a gain has must not depend on the sample. ``model`` (sample, observed, counted
    grades, higher) gives the predictions M, if the estimator uses any, and ``higher`` says that the
    grades counted are those of a step of the gain above the first. ``counts`` gives the model of
    the numbers of relevant documents, where a ratio needs one; ``random_seed`` is for measures
    whose variance is found by replication. Predictions that are taken ``as_given`` are not learned
    from the sample: then only the sample's residuals tell how far off they are.
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
        self.predicts = model is not None
        self._as_given = as_given
        self._grade = grade
        self._scale = np.array(scale)
        self._model = model
        self._random_seed = random_seed
        self._make_counts = counts
        self._kept: dict[tuple, Any] = {}
        self._last_slots: tuple[int, Slots] | None = None  # of one topic

    def topic(self, topic: int, position: NDArray[np.int32]) -> TopicRelevance:
        """What the scoring functions may ask about one topic, for runs at these positions."""
        inside = self.sample.of_topic(topic)
        stratum = self.sample.stratum[inside]
        stratum = (stratum - stratum.min(initial=stratum.max(initial=0))).astype(np.int64)
        odds = 1.0 / self.sample.inclusion_probability[inside] - 1.0
        seed = self._random_seed + topic
        return TopicRelevance(self, topic, position, self._slots(topic), odds, stratum, seed)

    def steps(self, measure: Measure) -> list[tuple[float, tuple[float, ...]]]:
        """Steps of the gain, each with the grades that have it: a gain is their sum up to it."""
        gains = relevance(measure, self._scale)
        levels = np.unique(gains[gains > 0]) if (gains > 0).any() else np.ones(1)
        steps = np.diff(levels, prepend=0.0)
        return [
            (float(step), self._grades_with(gains >= level))
            for step, level in zip(steps, levels, strict=True)
        ]

    @cached_property
    def count_model(self) -> CountModel | None:
        """Model of the counts, made with its warnings where it is first asked for."""
        return self._make_counts()

    def counts(self, topic: int, measure: Measure) -> TopicCounts | None:
        """Posterior of the number of relevant documents of a topic, or of its ideal gain."""
        model = self.count_model
        if model is None:
            return None
        if measure.name != "nDCG":
            name = at_least(measure.relevance_level)
            level = model.level((name,), [self._relevant(name)])
            return number_counts(level, topic)
        steps = self.steps(measure)
        certain = np.zeros(1)  # ideal gain by what all documents have, where grade 0 has some
        lowest = self._scale.min()
        first = 0
        if len(steps) > 1 and steps[0][1] == at_least(lowest) and lowest <= 0.0:
            first = 1
            number = np.diff(self.sample.start[topic : topic + 2]).astype(float)
            certain = steps[0][0] * discount_sum(number, measure.cutoff)
        names = tuple(counted for _, counted in steps[first:])
        observed = [self._relevant(counted) for counted in names]
        levels = [model.level(names[: n + 1], observed[: n + 1]) for n in range(len(names))]
        numbers = [number_counts(level, topic) for level in levels]
        sizes = [step for step, _ in steps[first:]]
        ideal = ideal_counts(sizes, numbers, levels[-1].direction, measure.cutoff)
        return replace(ideal, draw=ideal.draw + certain)

    def sees_any(self, measure: Measure) -> NDArray[np.bool_]:
        """Whether any judged document of any topic counts for the measure, (replicate,)."""
        lowest = self.steps(measure)[0][1] if measure.graded else at_least(measure.relevance_level)
        return self._relevant(lowest).any(axis=1)

    def rates_beside(self, counted: tuple[float, ...]) -> NDArray[np.float64] | None:
        """Rates (replicate, frame_pair) of strata with one draw where ``counted`` are relevant."""
        make = partial(rates_beside, self.sample, self._relevant(counted))
        return self._once(("beside", counted), make)

    def filled(self, topic: int, counted: tuple[float, ...], higher: bool) -> FilledRelevance:
        r"""Relevance of one topic's frame where the grades ``counted`` are relevant.

        .. math:: v(d) = M(d) + \frac{1[d \in J]}{\pi(d)} (rel(d) - M(d))

        the difference estimator; with M = 0, without a model, the Horvitz-Thompson estimator.
        """
        inside, slots = self.sample.of_topic(topic), self._slots(topic)
        known = self._once((counted, higher), partial(self._known, counted, higher))
        own = {name: part[:, inside] for name, part in known.items()}
        seen = self._relevant(counted)[:, inside]
        predicted = own["predicted"] if self.predicts else np.zeros(seen.shape)
        residual = np.take_along_axis(seen - predicted, slots.row, axis=1)
        expanded = np.where(slots.row < 0, 0.0, residual / slots.probability)
        value = np.array(predicted.T, dtype=np.float64, order="C")
        replicate, slot = np.nonzero(slots.row >= 0)
        value[slots.row[replicate, slot], replicate] += expanded[replicate, slot]
        return FilledRelevance(value, expanded, seen.sum(axis=1), **own)

    def _known(self, counted: tuple[float, ...], higher: bool) -> dict[str, NDArray[np.float64]]:
        """What is predicted of every frame pair (replicate, frame_pair), as FilledRelevance has it.

        By M, or by the rates of the strata.
        """
        observed = self._relevant(counted)
        if self._model is None:
            name = "rates" if (self.sample.stratum < 0).any() else "predicted"
            return {name: stratum_rates(self.sample, observed)}
        model = self._model(self.sample, observed, counted, higher)
        if not self._as_given:
            return {"predicted": model}
        return {"predicted": model, "doubt": squared_residuals(self.sample, observed, model)}

    def _relevant(self, counted: tuple[float, ...]) -> NDArray[np.float64]:
        """1 where a judged pair has one of the grades, or those of :func:`at_least`."""
        return self._once(
            ("observed", counted), lambda: is_counted(self._grade, counted).astype(float)
        )

    def _grades_with(self, enough: NDArray[np.bool_]) -> tuple[float, ...]:
        """Grades with enough gain: the lowest and all above it where these have it too."""
        counted = self._scale[enough]
        whole = counted.size and enough[self._scale >= counted.min()].all()
        return at_least(counted.min()) if whole else tuple(counted.tolist())

    def _slots(self, topic: int) -> Slots:
        kept = self._last_slots
        if kept is None or kept[0] != topic:
            kept = self._last_slots = topic, topic_slots(self.sample, topic)
        return kept[1]

    def _once(self, name: tuple, make: Callable[[], Any]) -> Any:
        """What has been made before under a name, or is made now."""
        if name not in self._kept:
            self._kept[name] = make()
        return self._kept[name]


def check_no_predictor(estimator: str, predictor) -> None:
    """Refuse a predictor that the estimator would not use."""
    if predictor is not None:
        raise ValueError(
            Message(
                f"estimator '{estimator}' uses no predictor and no labels; use ",
                Option("estimator", "dyn"),
                " with these",
            )
        )
