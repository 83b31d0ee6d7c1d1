"""What an estimator answers on one topic: scores of all runs, and how far off they may be."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bayeseval.rounding import ratio


@dataclass(frozen=True, eq=False)
class TopicScore:
    """Scores from relevances filled in document by document."""

    estimate: NDArray[np.float64]  # (run, replicate)
    # (run, replicate, slot): squares add up to the design variance, products of two runs to their
    # covariance
    deviation: NDArray[np.float64]
    group: NDArray[np.int64]  # (replicate, slot): variance groups of the leading slots
    # (run, replicate, direction): deviations that all topics share, along the hyperparameters of
    # the model of their counts
    shared: NDArray[np.float64] | None = None
    by_counts: bool = False  # whether the last deviation is that of the denominator by this model
    # (run, replicate): anticipated variance: that of the design if documents are relevant with the
    # predicted probabilities
    anticipated: NDArray[np.float64] | None = None
    # (run, replicate, slot): deviations of the score's linear part, slot by slot, where `deviation`
    # is of a bootstrap
    by_slot: NDArray[np.float64] | None = None

    @property
    def variance(self) -> NDArray[np.float64]:
        """Variance of the error (run, replicate)."""
        variance = (self.deviation**2).sum(axis=-1)
        return variance if self.shared is None else variance + (self.shared**2).sum(axis=-1)

    @property
    def spread(self) -> NDArray[np.float64]:
        """Sum over strata of variance^2 / (sampled documents - 1), (run, replicate).

        Of a bootstrap, whose deviations have no strata, by the strata's shares of the linear part.
        """
        from bayeseval.uncertainty.centred import variance_spread

        if self.by_slot is None:
            return variance_spread(self.deviation, self.group)
        drawn = self.deviation[..., :-1] if self.by_counts else self.deviation
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
