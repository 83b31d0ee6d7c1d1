"""What an estimator answers on one topic: scores of all runs, and how far off they may be."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bayeseval.estimators.counts import TopicCounts
from bayeseval.rounding import ratio


@dataclass(frozen=True, eq=False)
class TopicScore:
    """Scores from relevances filled in document by document.

    Parameters
    ----------
    estimate : float array (run, replicate)
    deviation : float array (run, replicate, slot)
        Squares add up to the design variance, products of two runs to their covariance.
    group : int array (replicate, slot)
        Variance groups of the leading slots.
    limited : bool array (run, replicate)
        Where a rule for ratios was needed: the number of relevant documents was raised to the
        number seen, or the ratio was brought back into [0, 1].
    effect : float array (run, replicate), optional
        How much the score moves with `direction`.
    direction : float array (replicate, direction), optional
        Deviations that all topics share, along the hyperparameters of a model of all topics.
    left : float array (replicate,), optional
        Deviation along `effect` that is not of the topic's sample, alone and shared, where topics
        have few relevant documents; 0 elsewhere.
    counts : TopicCounts, optional
        Posterior of the denominator, where there is one.
    anticipated : float array (run, replicate), optional
        Design variance to be expected if documents are relevant with the predicted probabilities.
    beyond : float array (run, replicate), optional
        What the limits [0, 1] took from the estimate.
    by_slot : float array (run, replicate, slot), optional
        Deviations of the score's linear part, slot by slot, where `deviation` is of a bootstrap.
    """

    estimate: NDArray[np.float64]
    deviation: NDArray[np.float64]
    group: NDArray[np.int64]
    limited: NDArray[np.bool_]
    effect: NDArray[np.float64] | None = None
    direction: NDArray[np.float64] | None = None
    left: NDArray[np.float64] | None = None
    counts: TopicCounts | None = None
    anticipated: NDArray[np.float64] | None = None
    beyond: NDArray[np.float64] | None = None
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
    """Scores by a method that takes whole ranked lists.

    Parameters
    ----------
    estimate : float array (run, replicate)
        NaN where the method gives no estimate.
    variance : float array (run, replicate) or None
        None where the method gives none.
    degrees_of_freedom : float array (run, replicate), or float
        Of the variance; infinite where it is taken for known.
    """

    estimate: NDArray[np.float64]
    variance: NDArray[np.float64] | None = None
    degrees_of_freedom: NDArray[np.float64] | float = np.inf
