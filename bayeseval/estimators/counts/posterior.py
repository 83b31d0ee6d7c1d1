"""Posterior numbers of relevant documents of all topics, and what a ratio is divided by."""

from collections.abc import Hashable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from bayeseval.estimators.counts.cells import Counts, cells
from bayeseval.estimators.counts.fit import DRAWS_PER_POINT, draw_directions, fit_counts
from bayeseval.frame.sample import Sample
from bayeseval.measures.table import discount_sum
from bayeseval.processors import each_on_a_core
from bayeseval.rounding import ratio

NOTHING = 1e-9  # number of documents that is none
MOST_SPREAD = 0.25  # relative variance of an estimate that the posterior follows closely


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

    def _fitted(
        self, observed: NDArray[np.float64], above: LevelCounts | None, number: int
    ) -> LevelCounts:
        seen = np.array([self._cells.sums(row) for row in observed])
        found = self._by_topic(seen.T).T  # in every topic
        sampled, unsampled = self._sampled, self._cells.size - self._sampled
        if above is not None:
            sampled, unsampled = above.seen, above.unsampled

        def draws(replicate: int):
            counts = Counts(
                self._cells.start,
                seen[replicate] * self._cells.informative,
                sampled[replicate] * self._cells.informative,
                self._cells.curve,
                self._cells.slope,
            )
            fit = fit_counts(counts, shows_none=found[replicate] == 0.0, lowest=above is None)
            return fit.draws(unsampled[replicate], number=number, random_seed=self._random_seed)

        drawn = list(each_on_a_core(draws, range(len(seen)), "numbers of relevant documents"))
        direction = draw_directions(self._cells.curve.shape[1] + 3, number)
        if above is not None:
            direction = np.concatenate([above.direction, direction], axis=1)
        total = np.array([self._by_topic(row) for row in drawn]) + found[..., None]
        expanded = self._expanded(observed)
        return LevelCounts(total, drawn, direction, seen, self._own_variance(drawn), expanded)

    def _by_topic(self, value: NDArray[np.float64]) -> NDArray[np.float64]:
        """Sums (topic, draw) over the cells of each topic."""
        running = np.concatenate([np.zeros((1, value.shape[1])), np.cumsum(value, axis=0)])
        return running[self._cells.start[1:]] - running[self._cells.start[:-1]]

    def _own_variance(self, drawn) -> NDArray[np.float64]:
        """Variance N (N - n) / n p (1 - p), summed over a topic's cells, (replicate, topic)."""
        size, unsampled = self._cells.size, self._cells.size - self._sampled
        p = ratio([row.mean(axis=1) for row in drawn], unsampled)
        cell = size * unsampled / np.maximum(self._sampled, 1.0) * p * (1.0 - p)
        return self._by_topic(cell.T).T

    def _expanded(self, observed: NDArray[np.float64]) -> NDArray[np.float64]:
        """Sum (replicate, topic) of relevance by inclusion probability."""
        weight = 1.0 / self._sample.inclusion_probability
        n_topics = self._sample.n_topics
        return np.array(
            [np.bincount(self._sample.topic, row * weight, n_topics) for row in observed]
        )


@dataclass(frozen=True, eq=False)
class TopicCounts:
    """The denominator of a measure on one topic."""

    # (replicate, draw): number of relevant documents, or ideal gain, as drawn from its posterior
    draw: NDArray[np.float64]
    direction: NDArray[np.float64]  # (draw, direction): where the hyperparameters stand
    # (replicate,): weight of the topic's own sample in the posterior mean, as of a shrinkage
    # estimate: the posterior variance by the variance that the topic's own strata alone would leave
    # (with labels: that of the estimate that it follows), at most 1
    shrinkage_weight: NDArray[np.float64]
    # (replicate,): posterior standard deviation of the number of relevant documents by its mean
    relative_error: NDArray[np.float64]

    def following(
        self,
        estimate: NDArray[np.float64],
        expanded: NDArray[np.float64],
        seen: NDArray[np.float64],
        sharper: NDArray[np.float64] | None = None,
    ) -> "TopicCounts":
        r"""Posterior that follows a better estimate from the topic's own sample.

        The posterior mean follows the topic's own sample, by which the number of relevant documents
        is the sum of relevance by inclusion probability, with the shrinkage weight w. An estimate
        with the same expectation and a smaller variance takes that sum's place: the draws are moved
        by w (estimate - expanded), in proportion, but to no less than the number seen or half of
        what they were. All are (replicate,).

        ``sharper`` is the variance of the estimate by that of the sum, q, where it knows what the
        counts do not, such as labels. What the other topics say has the variance
        :math:`w / (1 - w)` of that of the sum, and the estimate the weight
        :math:`w' = w / (w + (1 - w) q)`. The posterior mean goes :math:`1 - r` of the way to the
        estimate, to one document at least, and keeps :math:`r = q / (w + (1 - w) q)` of its
        variance. A topic stays as the draws moved are where the relative variance of the estimate,
        by :math:`1 - q`, is above a quarter: it is not known well, or hardly better than the sum.
        """
        mean = self.draw.mean(axis=1)
        moved = mean + self.shrinkage_weight * (estimate - expanded)
        moved = np.maximum(moved, np.maximum(np.minimum(seen, mean), 0.5 * mean))
        factor = ratio(moved, mean, otherwise=1.0, least=NOTHING)
        draw = self.draw * factor[:, None]
        if sharper is None:
            return replace(self, draw=draw)
        share = self.shrinkage_weight
        left = ratio(sharper, share + (1.0 - share) * sharper, otherwise=1.0)
        goal = np.maximum(estimate, np.maximum(seen, 1.0))
        # r times the draws, which has r^2 of their variance, and around the estimate the rest
        spread = ratio(left * draw.var(axis=1), (1.0 - left) * goal**2)
        sure = spread < MOST_SPREAD
        left, spread = np.where(sure, left, 1.0), np.where(sure, spread, 0.0)
        around = goal[:, None] * _lognormal(spread, draw.shape[1])
        draw = left[:, None] * draw + (1.0 - left)[:, None] * around
        followed = np.where(sure, ratio(share, share + (1.0 - share) * sharper), share)
        error = ratio(draw.std(axis=1), draw.mean(axis=1), least=NOTHING)
        return replace(self, draw=draw, shrinkage_weight=followed, relative_error=error)

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

    def own_error(self, known: NDArray[np.float64]) -> NDArray[np.float64]:
        """Standard deviation of the inverse that the topic has for itself (replicate,).

        The variance ``known`` (replicate,) that the topic's own sample explains is taken off; what
        the sample does not explain is the least that remains.
        """
        variance = self._inverses.var(axis=1)
        left = np.maximum(variance - known, (1.0 - self.shrinkage_weight) * variance)
        return np.sqrt(np.maximum(left - (self.shared**2).sum(axis=1), 0.0))

    @property
    def _inverses(self) -> NDArray[np.float64]:
        return ratio(1.0, self.draw, least=NOTHING)


def _lognormal(variance: NDArray[np.float64], n_draws: int) -> NDArray[np.float64]:
    """Log-normal numbers (replicate, draw) of mean 1, alike where hyperparameters stand alike."""
    from scipy.special import ndtri

    place = np.argsort(np.arange(1, DRAWS_PER_POINT + 1) * np.sqrt(2.0) % 1.0)  # in no order
    normal = ndtri((place + 0.5) / DRAWS_PER_POINT)
    log = np.sqrt(np.log1p(variance))[:, None] * np.resize(normal / normal.std(), n_draws)
    number = np.exp(log)
    return number / number.mean(axis=1, keepdims=True)


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
