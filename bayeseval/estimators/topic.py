"""One topic: what a scoring function may ask, and what it answers."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bayeseval.estimators.filled import FilledRelevance
from bayeseval.measures.measure import Measure
from bayeseval.uncertainty.slots import Slots


@dataclass(frozen=True, eq=False)
class TopicScore:
    """Scores of all runs on one topic.

    Parameters
    ----------
    estimate : float array (run, replicate)
    deviation : float array (run, replicate, slot)
        Squares add up to the design variance, products of two runs to their covariance.
    group : int array (replicate, slot) or None
        Variance groups of the leading slots; None where the deviations are those of a bootstrap.
    limited : bool array (run, replicate)
        Where a rule for ratios was needed: the number of relevant documents was raised to the
        number seen, or the ratio was brought back into [0, 1].
    """

    estimate: NDArray[np.float64]
    deviation: NDArray[np.float64]
    group: NDArray[np.int64] | None
    limited: NDArray[np.bool_]

    @property
    def variance(self) -> NDArray[np.float64]:
        """Design variance (run, replicate)."""
        return (self.deviation**2).sum(axis=-1)

    @property
    def spread(self) -> NDArray[np.float64]:
        """Sum over strata of variance^2 / (sampled documents - 1), (run, replicate)."""
        if self.group is None:
            return self.variance**2 / (self.deviation.shape[-1] - 1.0)
        from bayeseval.uncertainty.centred import variance_spread

        return variance_spread(self.deviation, self.group)


@dataclass(frozen=True, eq=False)
class TopicRelevance:
    """What a scoring function may ask about one topic.

    Parameters
    ----------
    position : int array (run, rank)
        Row of the document among the topic's frame pairs, -1 for none.
    slots : Slots
        Sampled pairs.
    binary : callable (relevance_level) -> FilledRelevance
    gain_levels : callable (measure) -> list of (gain step, FilledRelevance)
        Gain as a sum of steps times the relevance "gain at or above this".
    random_seed : int
        For measures whose variance is found by replication.
    """

    position: NDArray[np.int32]
    slots: Slots
    binary: Callable[[int], FilledRelevance]
    gain_levels: Callable[[Measure], list[tuple[float, FilledRelevance]]]
    random_seed: int

    def top(self, cutoff: int | None) -> NDArray[np.int32]:
        """Positions down to a cutoff."""
        return self.position if cutoff is None else np.ascontiguousarray(self.position[:, :cutoff])

    def centred(self, expanded: NDArray[np.float64]) -> NDArray[np.float64]:
        """Deviations of expanded values (run, replicate, slot)."""
        from bayeseval.uncertainty.centred import centred

        return centred(np.ascontiguousarray(expanded), self.slots.probability, self.slots.group)

    def score(self, estimate, deviation, limited=None) -> TopicScore:
        """Score whose deviations stand slot by slot."""
        limited = np.zeros(estimate.shape, dtype=bool) if limited is None else limited
        return TopicScore(estimate, deviation, self.slots.group, limited)
