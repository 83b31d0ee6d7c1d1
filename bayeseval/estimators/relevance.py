"""Estimated relevance of a whole sample, level by level, with the predictions it rests on."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from bayeseval.designs.sample import Sample
from bayeseval.estimators.filled import FilledRelevance, filled_relevance
from bayeseval.estimators.scoring import TopicRelevance
from bayeseval.measures.names import Measure, relevance
from bayeseval.uncertainty.slots import Slots, topic_slots

Model = Callable[[Sample, NDArray, tuple], NDArray | None]


class EstimatedRelevance:
    """Relevance at any level, filled in by one estimator and kept for the next measure.

    Parameters
    ----------
    sample : Sample
        Frame, design and selected pairs.
    grade : float array (replicate, frame_pair)
        Grades, NaN where not judged.
    model : callable (sample, observed, counted grades) -> M or None
        Predictions of the estimator; None where it uses none.
    random : bool
        Whether the sample was drawn at random; without a draw there are no slots and no variance.
    random_seed : int
        For measures whose variance is found by replication.
    """

    def __init__(
        self, sample: Sample, grade: NDArray, model: Model, *, random: bool, random_seed: int
    ) -> None:
        self.sample = sample
        self._grade = grade
        self._grades = tuple(np.unique(grade[~np.isnan(grade)]).tolist())
        self._model = model
        self.random = random
        self._random_seed = random_seed
        self._filled: dict[tuple, tuple] = {}
        self._slots: dict[int, Slots] = {}

    def topic(self, topic: int, position: NDArray[np.int32]) -> TopicRelevance:
        """What the scoring functions may ask about one topic, for runs at these positions."""
        return TopicRelevance(
            position=position,
            slots=self._topic_slots(topic),
            binary=lambda level: self._counted(topic, self._at_or_above(level)),
            gain_levels=lambda measure: self._gain_levels(topic, measure),
            random_seed=self._random_seed + topic,
        )

    def _topic_slots(self, topic: int) -> Slots:
        if topic not in self._slots:
            if self.random:
                self._slots[topic] = topic_slots(self.sample, topic)
            else:
                none = np.zeros((self.sample.n_replicates, 0))
                whole = none.astype(np.int64)
                self._slots[topic] = Slots(whole, none, whole, whole, none)
        return self._slots[topic]

    def _at_or_above(self, level: float) -> tuple:
        return tuple(grade for grade in self._grades if grade >= level)

    def _gain_levels(self, topic: int, measure: Measure) -> list[tuple[float, FilledRelevance]]:
        """Gain as steps: gain(grade) = sum of the steps at or below it."""
        gains = relevance(measure, np.array(self._grades))
        levels = np.unique(gains[gains > 0]) if (gains > 0).any() else np.ones(1)
        counted = [np.array(self._grades)[gains >= level].tolist() for level in levels]
        return [
            (float(step), self._counted(topic, tuple(grades)))
            for step, grades in zip(np.diff(levels, prepend=0.0), counted, strict=True)
        ]

    def _counted(self, topic: int, counted: tuple) -> FilledRelevance:
        """Filled relevance where exactly the grades ``counted`` are relevant."""
        if counted not in self._filled:
            observed = np.isin(self._grade, counted).astype(float)
            self._filled[counted] = (observed, self._model(self.sample, observed, counted))
        observed, model = self._filled[counted]
        slots = self._topic_slots(topic)
        if self.random:
            return filled_relevance(self.sample, topic, slots, observed, model)
        value = observed[:, self.sample.start[topic] : self.sample.start[topic + 1]]
        return FilledRelevance(
            np.ascontiguousarray(value.T), np.zeros(slots.row.shape), value.sum(axis=1)
        )
