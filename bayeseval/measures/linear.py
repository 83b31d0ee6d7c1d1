"""Measures that are sums of relevance: weights of the ranks, and the plain scores."""

import numpy as np
from numpy.typing import NDArray

from bayeseval.measures.measure import Measure


def precision(depth: int, measure: Measure) -> NDArray[np.floating]:
    """Weight 1/k on the first k ranks."""
    assert measure.cutoff is not None
    return np.repeat(np.float64(1.0 / measure.cutoff), depth)


def rank_biased_precision(depth: int, measure: Measure) -> NDArray[np.floating]:
    """Weight (1 - p) p^(i - 1) on rank i. Moffat and Zobel 2008; Park 2016, equation 1."""
    assert measure.persistence is not None
    return (1.0 - measure.persistence) * measure.persistence ** np.arange(depth)


def gain_discount(rank: NDArray) -> NDArray[np.floating]:
    """What DCG makes of gain at a rank (from 1): 1 / log2(rank + 1)."""
    return 1.0 / np.log2(rank + 1.0)


def discounted_gain(depth: int, measure: Measure) -> NDArray[np.floating]:
    """Weight 1 / log2(i + 1) on rank i."""
    return gain_discount(np.arange(1, depth + 1))


def equal_weight(depth: int, measure: Measure) -> NDArray[np.floating]:
    """Weight 1 on every rank."""
    return np.ones(depth)


def reciprocal_weight(depth: int, measure: Measure) -> NDArray[np.floating]:
    """Weight 1 / i on rank i."""
    return 1.0 / np.arange(1, depth + 1)


def linear(measure: Measure, position, value, weight, total) -> NDArray[np.float64]:
    """Weighted sum of relevances over the ranks."""
    from bayeseval.measures.rank_sums import weighted_sum

    return weighted_sum(position, weight, value)


def of_every_run(measure: Measure, position, value, weight, total) -> NDArray[np.float64]:
    """What the topic has, the same for every run."""
    return np.repeat(total[None], position.shape[0], axis=0)


def relevant_number(measure: Measure, value) -> NDArray[np.float64]:
    """Number of relevant documents (column,)."""
    return value.sum(axis=0, dtype=np.float64)
