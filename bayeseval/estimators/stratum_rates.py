"""Rates of relevance by stratum, from the sample alone."""

import numpy as np
from numpy.typing import NDArray

from bayeseval.frame.sample import Sample

PRIOR = 5.0  # documents that the strata of all topics count for in that of one


def stratum_rates(sample: Sample, observed: NDArray[np.float64]) -> NDArray[np.float64]:
    r"""Rate of relevance (replicate, frame_pair) of each pair's stratum.

    .. math:: \hat p_{th} = \frac{k_{th} + 5\, \hat r_h}{n_{th} + 5}, \qquad
              \hat r_h = \frac{1/2 + \sum_t k_{th}}{1 + \sum_t n_{th}}

    with k of the n sampled documents of stratum h of topic t relevant, h counting the strata of a
    topic: where few are sampled a rate leans on the same place in other topics. 0 in designs
    without strata, where a document's own probability says more than its topic does.

    Parameters
    ----------
    sample : Sample
    observed : float array (replicate, frame_pair)
        Relevance of the selected pairs, 0 elsewhere.

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
    stratum = sample.stratum
    if not stratum.size or (stratum < 0).any():
        return np.zeros(observed.shape)
    n_strata = int(stratum.max()) + 1
    topic_of = np.zeros(n_strata, dtype=np.int64)
    topic_of[stratum] = sample.topic
    first = np.searchsorted(topic_of, np.arange(sample.n_topics))
    place = np.arange(n_strata) - first[topic_of]
    rates = np.empty(observed.shape)
    for row, (chosen, relevant) in enumerate(zip(sample.selected, observed, strict=True)):
        drawn = np.bincount(stratum, chosen, n_strata)
        found = np.bincount(stratum, relevant, n_strata)
        at_place = (np.bincount(place, found) + 0.5) / (np.bincount(place, drawn) + 1.0)
        rates[row] = ((found + PRIOR * at_place[place]) / (drawn + PRIOR))[stratum]
    return rates
