"""What an estimator answers on one topic: scores of all runs, and how far off they may be."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bayeseval.estimators.counts import TopicCounts
from bayeseval.rounding import ratio


@dataclass(frozen=True, eq=False)
class TopicScore:
    """Scores from relevances filled in document by document."""

    estimate: NDArray[np.float64]  # (run, replicate)
    # (run, replicate, slot): squares add up to the design variance, products of two runs to their
    # covariance
    deviation: NDArray[np.float64]
    group: NDArray[np.int64]  # (replicate, slot): variance groups of the leading slots
    # (run, replicate): where a rule for ratios was needed: the number of relevant documents was
    # raised to the number seen, or the ratio was brought back into [0, 1]
    limited: NDArray[np.bool_]
    # (run, replicate): how much the score moves with `direction`
    effect: NDArray[np.float64] | None = None
    # (replicate, direction): deviations that all topics share, along the hyperparameters of a model
    # of all topics
    direction: NDArray[np.float64] | None = None
    # (replicate,): deviation along `effect` that is not of the topic's sample, alone and shared,
    # where topics have few relevant documents; 0 elsewhere
    left: NDArray[np.float64] | None = None
    counts: TopicCounts | None = None  # posterior of the denominator, where there is one
    # (run, replicate): design variance to be expected if documents are relevant with the predicted
    # probabilities
    anticipated: NDArray[np.float64] | None = None
    # (run, replicate): what the limits [0, 1] took from the estimate
    beyond: NDArray[np.float64] | None = None
    # (run, replicate, slot): deviations of the score's linear part, slot by slot, where `deviation`
    # is of a bootstrap
    by_slot: NDArray[np.float64] | None = None

    @property
    def shared(self) -> NDArray[np.float64]:
        """Deviations that all topics share (run, replicate, direction)."""
        if self.effect is None or self.direction is None:
            return np.zeros((*self.estimate.shape, 0))
        return self.effect[..., None] * self.direction

    @property
    def variance(self) -> NDArray[np.float64]:
        """Variance of the error (run, replicate)."""
        return (self.deviation**2).sum(axis=-1) + (self.shared**2).sum(axis=-1)

    @property
    def spread(self) -> NDArray[np.float64]:
        """Sum over strata of variance^2 / (sampled documents - 1), (run, replicate).

        Of a bootstrap, whose deviations have no strata, by the strata's shares of the linear part.
        """
        from bayeseval.uncertainty.centred import variance_spread

        if self.by_slot is None:
            return variance_spread(self.deviation, self.group)
        drawn = self.deviation if self.counts is None else self.deviation[..., :-1]
        whole, linear = ((part**2).sum(axis=-1) for part in (drawn, self.by_slot))
        strata = variance_spread(self.by_slot, self.group)
        least = 1.0 / np.maximum((self.group >= 0).sum(axis=-1) - 1.0, 1.0)
        return whole**2 * ratio(strata, linear**2, otherwise=least)


@dataclass(frozen=True, eq=False)
class ListScore:
    """Scores by a method that takes whole ranked lists."""

    estimate: NDArray[np.float64]  # (run, replicate): NaN where the method gives no estimate
    variance: NDArray[np.float64] | None = None  # (run, replicate), where the method gives one
    # (run, replicate), or one number: of the variance; infinite where it is taken for known
    degrees_of_freedom: NDArray[np.float64] | float = np.inf
