"""Relevance as an estimator fills it in: one column per replicate."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bayeseval.frame.sample import Sample
from bayeseval.uncertainty.slots import Slots


@dataclass(frozen=True, eq=False)
class FilledRelevance:
    """Estimated relevance of one topic's frame pairs.

    Parameters
    ----------
    value : float array (pair, replicate)
        Estimated relevance (or gain) of each frame pair of the topic.
    expanded : float array (replicate, slot)
        (relevance - M) / inclusion probability of the sampled pairs, 0 at empty slots.
    seen : float array (replicate,)
        Number of sampled pairs that are relevant.
    """

    value: NDArray[np.float64]
    expanded: NDArray[np.float64]
    seen: NDArray[np.float64]


def filled_relevance(
    sample: Sample,
    topic: int,
    slots: Slots,
    observed: NDArray[np.float64],
    model: NDArray[np.float64] | None,
) -> FilledRelevance:
    r"""Relevance of one topic's frame by the difference estimator.

    .. math:: v(d) = M(d) + \frac{1[d \in J]}{\pi(d)} (rel(d) - M(d))

    Parameters
    ----------
    sample : Sample
        Frame and design.
    topic : int
        Position of the topic.
    slots : Slots
        Sampled pairs of the topic.
    observed : float array (replicate, frame_pair)
        Relevance of the selected pairs, 0 elsewhere.
    model : float array (replicate, frame_pair) or None
        M; None is 0 everywhere, the Horvitz-Thompson estimator.

    Returns
    -------
    FilledRelevance
        Values (pair, replicate) and expanded residuals (replicate, slot).
    """
    inside = slice(sample.start[topic], sample.start[topic + 1])
    seen = observed[:, inside]
    column = np.arange(sample.n_replicates)[:, None]
    empty = slots.row < 0
    residual = seen[column, slots.row] if slots.row.size else np.zeros(slots.row.shape)
    value = np.zeros((seen.shape[1], sample.n_replicates))
    if model is not None:
        predicted = model[:, inside]
        value[:] = predicted.T
        if slots.row.size:
            residual = residual - predicted[column, slots.row]
    expanded = np.where(empty, 0.0, residual / slots.probability)
    replicate, slot = np.nonzero(~empty)
    value[slots.row[replicate, slot], replicate] += expanded[replicate, slot]
    return FilledRelevance(value, expanded, seen.sum(axis=1))
