"""Posterior numbers of relevant documents of all topics, in many samples at once."""

from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bayeseval.estimators.counts.cells import Counts, cells
from bayeseval.estimators.counts.choice import fit_counts, warn_of_dispersion
from bayeseval.estimators.counts.mode import draw_directions
from bayeseval.frame.sample import Sample
from bayeseval.processors import each_on_a_core
from bayeseval.rounding import ratio


@dataclass(frozen=True, eq=False)
class LevelCounts:
    """Relevant documents of all topics at one level, in draws from the posterior."""

    # (replicate, topic, draw): number of relevant documents, the seen ones included
    total: NDArray[np.float64]
    # (cell, draw), one per replicate: relevant among the unsampled documents of each cell
    unsampled: list[NDArray[np.float64]]
    # (draw, direction): where the hyperparameters stand, in standard deviations, this level's and
    # those above it
    direction: NDArray[np.float64]
    seen: NDArray[np.float64]  # (replicate, cell): relevant among the sampled documents
    # (replicate, topic): variance that an estimate from the topic's own strata alone would have
    # under the model
    own_variance: NDArray[np.float64]
    # (replicate, topic): sum of relevance by inclusion probability over the sampled documents
    expanded: NDArray[np.float64]
    # (replicate, topic): whether the number itself is what is known best (:class:`.few.FewFit`)
    few: NDArray[np.bool_]
    zero_inflated: NDArray[np.bool_]  # (replicate,): whether a share of the topics has none


class CountModel:
    """Posterior counts of a sample at any level, kept for the next measure.

    The sample has the ranks of its pairs; ``labelled`` and ``made_certain`` are those of
    :func:`.cells.cells`.
    """

    def __init__(
        self,
        sample: Sample,
        random_seed: int,
        *,
        labelled: bool = False,
        made_certain: bool = False,
    ) -> None:
        self._sample = sample
        self._cells = cells(sample, labelled, made_certain)
        self._sampled = np.array([self._cells.sums(row) for row in sample.selected])
        self._random_seed = random_seed
        self._levels: dict[tuple[Hashable, ...], LevelCounts] = {}

    def level(
        self, names: tuple[Hashable, ...], observed: list[NDArray[np.float64]]
    ) -> LevelCounts:
        """Counts at the last of some nested levels, each level among the one before.

        Of each, from the lowest, its name, and the relevance of the selected pairs (replicate,
        frame_pair).
        """
        if names not in self._levels:
            above = self.level(names[:-1], observed[:-1]) if len(names) > 1 else None
            self._levels[names] = self._fitted(observed[-1], above, len(names) - 1)
        return self._levels[names]

    def unsampled(self, level: LevelCounts, topic: int) -> tuple[NDArray, NDArray[np.float64]]:
        """Cell of each frame pair of a topic (pair,), and of each cell what is expected to be left.

        That is the posterior mean number (replicate, cell) of relevant documents among those that
        were not sampled; cells are those of the topic, from 0.
        """
        first, last = self._cells.start[topic : topic + 2]
        of_pair = self._cells.of_pair[self._sample.of_topic(topic)] - first
        return of_pair, np.array([drawn[first:last].mean(axis=1) for drawn in level.unsampled])

    def _fitted(
        self, observed: NDArray[np.float64], above: LevelCounts | None, number: int
    ) -> LevelCounts:
        seen = np.array([self._cells.sums(row) for row in observed])
        found = self._by_topic(seen.T).T  # in every topic
        sampled, left = self._sampled, self._cells.size - self._sampled
        if above is not None:
            sampled, left = above.seen, above.unsampled

        def draws(replicate: int):
            fit = fit_counts(
                Counts(
                    self._cells.start,
                    seen[replicate] * self._cells.tell,
                    sampled[replicate] * self._cells.tell,
                    self._cells.curve,
                    self._cells.slope,
                ),
                self._cells.levelling,
                shows_none=found[replicate] == 0.0,
                lowest=above is None,
                left=left[replicate] if above is None and self._cells.tell.all() else None,
            )
            if above is None:
                warn_of_dispersion(fit)
            drawn = fit.draws(left[replicate], number=number, random_seed=self._random_seed)
            return drawn, fit.few, fit.zero_inflated

        fitted = each_on_a_core(draws, range(len(seen)), "numbers of relevant documents")
        unsampled, few, zero_inflated = zip(*fitted, strict=True)
        direction = draw_directions(self._cells.curve.shape[1] + 3, number)
        if above is not None:
            direction = np.concatenate([above.direction, direction], axis=1)
        total = np.array([self._by_topic(drawn) for drawn in unsampled]) + found[..., None]
        own = self._own_variance(unsampled)
        return LevelCounts(
            total,
            list(unsampled),
            direction,
            seen,
            own,
            self._expanded(observed),
            np.array(few),
            np.array(zero_inflated),
        )

    def _by_topic(self, value: NDArray[np.float64]) -> NDArray[np.float64]:
        """Sums (topic, draw) over the cells of each topic."""
        running = np.concatenate([np.zeros((1, value.shape[1])), np.cumsum(value, axis=0)])
        return running[self._cells.start[1:]] - running[self._cells.start[:-1]]

    def _own_variance(self, unsampled) -> NDArray[np.float64]:
        """Variance N (N - n) / n p (1 - p), summed over a topic's cells, (replicate, topic)."""
        size, left = self._cells.size, self._cells.size - self._sampled
        p = ratio([drawn.mean(axis=1) for drawn in unsampled], left)
        cell = size * left / np.maximum(self._sampled, 1.0) * p * (1.0 - p)
        return self._by_topic(cell.T).T

    def _expanded(self, observed: NDArray[np.float64]) -> NDArray[np.float64]:
        """Sum (replicate, topic) of relevance by inclusion probability."""
        weight = 1.0 / self._sample.inclusion_probability
        n_topics = self._sample.n_topics
        return np.array(
            [np.bincount(self._sample.topic, row * weight, n_topics) for row in observed]
        )
