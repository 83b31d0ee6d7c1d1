"""What a ratio is divided by, as a posterior: a number of documents, or an ideal gain."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from bayeseval.estimators.counts.mode import DRAWS_PER_POINT
from bayeseval.estimators.counts.posterior import LevelCounts
from bayeseval.measures.table import discount_sum
from bayeseval.rounding import ratio

NOTHING = 1e-9  # number of documents that is none
MOST_SPREAD = 0.25  # relative variance of an estimate that the posterior follows closely


@dataclass(frozen=True, eq=False)
class TopicCounts:
    """The denominator of a measure on one topic."""

    # (replicate, draw): number of relevant documents, or ideal gain, as drawn from its posterior
    draw: NDArray[np.float64]
    direction: NDArray[np.float64]  # (draw, direction): where the hyperparameters stand
    # (replicate,): posterior variance of the number of relevant documents by the variance that the
    # topic's own strata alone would leave (beside labels: that of the estimate that it follows), at
    # most 1: 1 where the other topics tell nothing new
    own_share: NDArray[np.float64]
    # (replicate,): posterior standard deviation of the number of relevant documents by its mean
    relative_error: NDArray[np.float64]
    # (replicate,): whether the topic has so few that their number is modelled itself
    few: NDArray[np.bool_]

    def following(
        self,
        estimate: NDArray[np.float64],
        expanded: NDArray[np.float64],
        seen: NDArray[np.float64],
        sharper: NDArray[np.float64] | None = None,
    ) -> "TopicCounts":
        r"""Posterior that follows a better estimate from the topic's own sample.

        The posterior mean follows the topic's own sample, by which the number of relevant documents
        is the sum of relevance by inclusion probability, with the weight `own_share`. An
        estimate with the same expectation and a smaller variance takes that sum's place: the draws
        are moved by own_share (estimate - expanded), in proportion, but to no less than the number
        seen or half of what they were. All are (replicate,).

        ``sharper`` is the variance of the estimate by that of the sum, q, where it knows what the
        counts do not, such as labels. With the weight w (`own_share`) what the other topics say has
        the variance :math:`w / (1 - w)` of that of the sum, and the estimate the weight
        :math:`w' = w / (w + (1 - w) q)`. The posterior mean goes :math:`1 - r` of the way to the
        estimate, to one document at least, and keeps :math:`r = q / (w + (1 - w) q)` of its
        variance. A topic stays as the draws moved are where the relative variance of the estimate,
        by :math:`1 - q`, is above a quarter: it is not known well, or hardly better than the sum.
        """
        mean = self.draw.mean(axis=1)
        moved = mean + self.own_share * (estimate - expanded)
        moved = np.maximum(moved, np.maximum(np.minimum(seen, mean), 0.5 * mean))
        factor = ratio(moved, mean, otherwise=1.0, least=NOTHING)
        draw = self.draw * factor[:, None]
        if sharper is None:
            return replace(self, draw=draw)
        share = self.own_share
        left = ratio(sharper, share + (1.0 - share) * sharper, otherwise=1.0)
        goal = np.maximum(estimate, np.maximum(seen, 1.0))
        # r times the draws, which has r^2 of their variance, and around the estimate the rest
        spread = ratio(left * draw.var(axis=1), (1.0 - left) * goal**2)
        sure = spread < MOST_SPREAD
        left, spread = np.where(sure, left, 1.0), np.where(sure, spread, 0.0)
        around = goal[:, None] * _scattered(spread, draw.shape[1])
        draw = left[:, None] * draw + (1.0 - left)[:, None] * around
        followed = np.where(sure, ratio(share, share + (1.0 - share) * sharper), share)
        error = ratio(draw.std(axis=1), draw.mean(axis=1), least=NOTHING)
        return replace(self, draw=draw, own_share=followed, relative_error=error)

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
        return ratio(self.own_share * self.inverse, self.draw.mean(axis=1), least=NOTHING)

    @property
    def common(self) -> NDArray[np.float64]:
        """Deviations of the inverse that all topics share (replicate, direction)."""
        return self._inverses @ self.direction / self.direction.shape[0]

    def own_error(self, known: NDArray[np.float64]) -> NDArray[np.float64]:
        """Standard deviation of the inverse that the topic has for itself (replicate,).

        Beside the variance ``known`` (replicate,) that the topic's own sample accounts for, and not
        less than the part that the sample does not explain.
        """
        variance = self._inverses.var(axis=1)
        left = np.maximum(variance - known, (1.0 - self.own_share) * variance)
        return np.sqrt(np.maximum(left - (self.common**2).sum(axis=1), 0.0))

    @property
    def _inverses(self) -> NDArray[np.float64]:
        return ratio(1.0, self.draw, least=NOTHING)


def _scattered(variance: NDArray[np.float64], n_draws: int) -> NDArray[np.float64]:
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
    return TopicCounts(draw, level.direction, np.minimum(share, 1.0), error, level.few[:, topic])


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
