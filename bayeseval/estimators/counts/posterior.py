"""Posterior numbers of relevant documents of all topics, and what a ratio is divided by."""

from collections.abc import Hashable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from bayeseval.estimators.counts.cells import Counts, cells
from bayeseval.estimators.counts.fit import draw_directions, fit_counts
from bayeseval.frame.sample import Sample
from bayeseval.measures.table import discount_sum
from bayeseval.processors import each_on_a_core
from bayeseval.rounding import ratio

NOTHING = 1e-9  # number of documents that is none


@dataclass(frozen=True, eq=False)
class LevelCounts:
    """Relevant documents of all topics at one level, in draws from the posterior."""

    # (replicate, topic, draw): number of relevant documents, the seen ones included
    total: NDArray[np.float64]
    # (cell, draw), one per replicate: relevant among the unsampled documents of each cell, for the
    # level above
    unsampled: list[NDArray[np.float64]]
    # (draw, direction): where the hyperparameters stand, in standard deviations, this level's and
    # those above it
    direction: NDArray[np.float64]
    seen: NDArray[np.float64]  # (replicate, cell): relevant among the sampled documents
    # (replicate, topic): variance that an estimate from the topic's own strata alone would have
    # under the model
    own_variance: NDArray[np.float64]


class CountModel:
    """Posterior counts of a sample at any level, kept for the next measure.

    The sample has the ranks of its pairs; ``labelled`` and ``made_certain`` are those of
    :func:`.cells.cells`. Without ``graded`` there is one level.
    """

    def __init__(
        self,
        sample: Sample,
        random_seed: int,
        *,
        labelled: bool = False,
        made_certain: bool = False,
        graded: bool = True,
    ) -> None:
        self._sample = sample
        self._cells = cells(sample, labelled, made_certain)
        self._sampled = np.array([self._cells.sums(row) for row in sample.selected])
        self._random_seed = random_seed
        self._graded = graded
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

    def _fitted(
        self, observed: NDArray[np.float64], above: LevelCounts | None, number: int
    ) -> LevelCounts:
        seen = np.array([self._cells.sums(row) for row in observed])
        found = self._by_topic(seen.T).T  # in every topic
        sampled, unsampled = self._sampled, self._cells.size - self._sampled
        if above is not None:
            sampled, unsampled = above.seen, above.unsampled

        direction = draw_directions(self._cells.curve.shape[1] + 3, number)
        n_topics, n_cells = self._cells.start.size - 1, self._cells.size.size
        n_draws = len(direction)

        def drawn(replicate: int) -> tuple[NDArray[np.float64], ...]:
            counts = Counts(
                self._cells.start,
                seen[replicate] * self._cells.informative,
                sampled[replicate] * self._cells.informative,
                self._cells.curve,
                self._cells.slope,
            )
            fit = fit_counts(counts, shows_none=found[replicate] == 0.0, lowest=above is None)
            total, mean = np.empty((n_topics, n_draws)), np.zeros(n_cells)
            kept = np.empty((n_cells if self._graded else 0, n_draws))
            seed = self._random_seed
            for here, part in fit.draws(unsampled[replicate], number=number, random_seed=seed):
                total[:, here] = self._by_topic(part)
                mean += part.sum(axis=1) / n_draws
                if self._graded:
                    kept[:, here] = part
            return total, mean, kept

        parts = each_on_a_core(drawn, range(len(seen)), "numbers of relevant documents")
        total, mean, kept = zip(*parts, strict=True)
        if above is not None:
            direction = np.concatenate([above.direction, direction], axis=1)
        total = np.array(total) + found[..., None]
        return LevelCounts(total, list(kept), direction, seen, self._own_variance(np.array(mean)))

    def _by_topic(self, value: NDArray[np.float64]) -> NDArray[np.float64]:
        """Sums (topic, draw) over the cells of each topic."""
        start = self._cells.start
        running = np.concatenate([np.zeros((1, value.shape[1])), np.cumsum(value, axis=0)])
        return running[start[1:]] - running[start[:-1]]

    def _own_variance(self, relevant: NDArray[np.float64]) -> NDArray[np.float64]:
        """Variance N (N - n) / n p (1 - p), summed over a topic's cells, (replicate, topic).

        ``relevant`` (replicate, cell) is the mean number among the unsampled documents.
        """
        size, unsampled = self._cells.size, self._cells.size - self._sampled
        p = ratio(relevant, unsampled)
        cell = size * unsampled / np.maximum(self._sampled, 1.0) * p * (1.0 - p)
        return self._by_topic(cell.T).T


@dataclass(frozen=True, eq=False)
class TopicCounts:
    """The denominator of a measure on one topic."""

    # (replicate, draw): number of relevant documents, or ideal gain, as drawn from its posterior
    draw: NDArray[np.float64]
    direction: NDArray[np.float64]  # (draw, direction): where the hyperparameters stand
    # (replicate,): weight of the topic's own sample in the posterior mean, as of a shrinkage
    # estimate: the posterior variance by the variance that the topic's own strata alone would
    # leave, at most 1
    shrinkage_weight: NDArray[np.float64]
    # (replicate,): posterior standard deviation of the number of relevant documents by its mean
    relative_error: NDArray[np.float64]

    @property
    def inverse(self) -> NDArray[np.float64]:
        """Posterior mean of 1 / denominator (replicate,), 0 where there is nothing to divide by."""
        return self._inverses.mean(axis=1)

    @property
    def some(self) -> NDArray[np.float64]:
        """Posterior probability that there is anything to divide by (replicate,)."""
        return (self.draw > NOTHING).mean(axis=1)

    @property
    def inverse_fall(self) -> NDArray[np.float64]:
        """How much the inverse falls as the denominator by the topic's own sample rises."""
        return ratio(self.shrinkage_weight * self.inverse, self.draw.mean(axis=1), least=NOTHING)

    @property
    def shared(self) -> NDArray[np.float64]:
        """Deviations of the inverse that all topics share (replicate, direction)."""
        return self._inverses @ self.direction / self.direction.shape[0]

    def own_error(self, explained: NDArray[np.float64] | float) -> NDArray[np.float64]:
        """Standard deviation of the inverse that the topic has for itself (replicate,).

        The variance ``explained`` (replicate,) by the error of the topic's own sample is taken off.
        At least the share that the shrinkage weight leaves to the other topics remains.
        """
        variance = self._inverses.var(axis=1)
        left = np.maximum(variance - explained, (1.0 - self.shrinkage_weight) * variance)
        return np.sqrt(np.maximum(left - (self.shared**2).sum(axis=1), 0.0))

    @property
    def _inverses(self) -> NDArray[np.float64]:
        return ratio(1.0, self.draw, least=NOTHING)


def number_counts(level: LevelCounts, topic: int) -> TopicCounts:
    """Number of relevant documents of a topic."""
    draw = level.total[:, topic]
    share = ratio(draw.var(axis=1), level.own_variance[:, topic], otherwise=1.0, least=1e-12)
    error = ratio(draw.std(axis=1), draw.mean(axis=1), least=NOTHING)
    return TopicCounts(draw, level.direction, np.minimum(share, 1.0), error)


def ideal_counts(
    steps: list[float],
    numbers: list[TopicCounts],
    direction: NDArray[np.float64],
    cutoff: int | None,
) -> TopicCounts:
    """Ideal discounted gain of a topic, whose nested levels have these steps of the gain."""
    ideal = np.zeros_like(numbers[0].draw)
    for step, number in zip(steps, numbers, strict=True):
        count = number.draw
        ideal += step * discount_sum(count.ravel(), cutoff).reshape(count.shape)
    return replace(numbers[0], draw=ideal, direction=direction)
