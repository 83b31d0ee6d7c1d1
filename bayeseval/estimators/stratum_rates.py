"""Rates of relevance by stratum, from the sample alone."""

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bayeseval.frame.sample import Sample

PRIOR = 5.0  # documents that the strata of all topics count for in that of one
ALIKE = 2.0  # relevant documents that all topics count for in how many one topic has


def stratum_rates(sample: Sample, observed: NDArray[np.float64]) -> NDArray[np.float64] | None:
    r"""Rate of relevance (replicate, frame_pair) of each pair's stratum; None without strata.

    .. math:: \hat p_{th} = \frac{k_{th} + 5\, \hat r_h}{n_{th} + 5}, \qquad
              \hat r_h = \frac{1/2 + \sum_t k_{th}}{1 + \sum_t n_{th}}

    with k of the n sampled documents of stratum h of topic t relevant: where few are sampled a rate
    leans on the same place in other topics. Places are counted among the strata of a topic that are
    not wholly judged. ``observed`` is the relevance of the selected pairs, 0 elsewhere.

    Examples
    --------
    >>> sample = Sample(
    ...     pair=np.arange(4),
    ...     topic=np.zeros(4, np.int32),
    ...     start=np.array([0, 4]),
    ...     inclusion_probability=np.full(4, 0.5),
    ...     stratum=np.array([0, 0, 1, 1], np.int32),
    ...     selected=np.array([[True, False, False, True]]),
    ...     fused_rank=np.array([1, 2, 3, 4], np.int32),
    ...     run_rank=np.array([[1], [2], [0], [3]], np.int32),
    ... )
    >>> stratum_rates(sample, np.array([[1.0, 0.0, 0.0, 0.0]])).round(3)
    array([[0.792, 0.792, 0.208, 0.208]])
    """
    if not sample.stratum.size or (sample.stratum < 0).any():
        return None
    return _rates(sample, observed, *_strata_and_places(sample))


def rates_beside(sample: Sample, observed: NDArray[np.float64]) -> NDArray[np.float64] | None:
    r"""Rate of relevance of strata of which one document was drawn, by the other strata alone.

    .. math:: \hat p = \frac{\lambda \hat r}{1 - \hat r + \lambda \hat r}, \qquad
              \lambda = \frac{2 + \sum_g k_{tg}}{2 + \sum_g n_{tg} \hat r_g}

    with :math:`\hat r` the rate at that place in the other topics, and sums over the other strata
    of the topic: how much richer it is than others. The single document itself has no say, so that
    the rate is independent of which one was drawn.

    Parameters
    ----------
    sample : Sample
    observed : float array (replicate, frame_pair)
        Relevance of the selected pairs, 0 elsewhere.

    Returns
    -------
    float array (replicate, frame_pair) or None
        0 in strata that are judged in full, or of which two or more were drawn; None where there
        are no others.
    """
    if not sample.stratum.size or (sample.stratum < 0).any():
        return None
    stratum, place = _strata_and_places(sample)
    size = np.bincount(stratum)
    topic = np.zeros(size.size, dtype=np.int64)
    topic[stratum] = sample.topic
    rates = np.zeros(observed.shape)
    for row, (chosen, of_pairs) in enumerate(zip(sample.selected, observed, strict=True)):
        drawn, found = np.bincount(stratum, chosen), np.bincount(stratum, of_pairs)
        lone = (drawn == 1.0) & (size > 1)
        at_place = np.bincount(place, found)[place] - found + 0.5
        at_place /= np.bincount(place, drawn)[place] - drawn + 1.0
        expected = drawn * at_place
        richer = np.bincount(topic, found)[topic] - found + ALIKE
        richer /= np.bincount(topic, expected)[topic] - expected + ALIKE
        rate = richer * at_place / (1.0 - at_place + richer * at_place)
        rates[row] = np.where(lone, rate, 0.0)[stratum]
    return rates if rates.any() else None


def squared_residuals(
    sample: Sample, observed: NDArray[np.float64], predicted: NDArray[np.float64]
) -> NDArray[np.float64]:
    r"""Mean squared residual (replicate, frame_pair) of each pair's stratum, smoothed as rates are.

    Of predictions p that are taken as they are, p (1 - p) says nothing of their errors. Without
    strata those of a topic stand for them, but for what is judged for certain.

    Examples
    --------
    >>> sample = Sample(
    ...     pair=np.arange(4),
    ...     topic=np.zeros(4, np.int32),
    ...     start=np.array([0, 4]),
    ...     inclusion_probability=np.full(4, 0.5),
    ...     stratum=np.array([0, 0, 1, 1], np.int32),
    ...     selected=np.array([[True, False, False, True]]),
    ...     fused_rank=np.array([1, 2, 3, 4], np.int32),
    ...     run_rank=np.array([[1], [2], [0], [3]], np.int32),
    ... )
    >>> labels = np.array([[1.0, 1.0, 0.0, 1.0]])
    >>> squared_residuals(sample, np.array([[1.0, 0.0, 0.0, 0.0]]), labels).round(3)
    array([[0.208, 0.208, 0.792, 0.792]])
    """
    square = np.where(sample.selected, np.square(observed - predicted), 0.0)
    if (sample.stratum < 0).any():
        stratum = 2 * sample.topic + (sample.inclusion_probability == 1.0)
        return _rates(sample, square, stratum, np.tile([0, 1], sample.n_topics))
    return _rates(sample, square, *_strata_and_places(sample))


def _strata_and_places(sample: Sample) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Number of each pair's stratum, and the place of each stratum in its topic."""
    _, first, stratum = np.unique(sample.stratum, return_index=True, return_inverse=True)
    place = _places(sample.topic[first], sample.inclusion_probability[first] < 1.0)
    return stratum, place


def _rates(
    sample: Sample, value: NDArray[np.float64], stratum: NDArray, place: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Means of the selected pairs' values by stratum, which lean on those of their place."""
    rates = np.empty(value.shape)
    for row, (chosen, of_pairs) in enumerate(zip(sample.selected, value, strict=True)):
        drawn = np.bincount(stratum, chosen, place.size)
        found = np.bincount(stratum, of_pairs, place.size)
        at_place = (np.bincount(place, found) + 0.5) / (np.bincount(place, drawn) + 1.0)
        rates[row] = ((found + PRIOR * at_place[place]) / (drawn + PRIOR))[stratum]
    return rates


def _places(topic: NDArray[np.integer], is_open: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Number from 1 of each stratum among the open ones of its topic; 0 of those wholly judged.

    Examples
    --------
    >>> _places(np.array([0, 0, 0, 1, 1, 0]), np.array([False, True, True, True, True, True]))
    array([0, 1, 2, 1, 2, 3])
    """
    place = np.zeros(topic.size, dtype=np.int64)
    place[is_open] = 1 + pd.Series(topic[is_open]).groupby(topic[is_open]).cumcount()
    return place
