"""Measures that are weighted sums of relevance over ranks: the weights."""

import numpy as np
from numpy.typing import NDArray

from bayeseval.measures.names import Measure


def precision(depth: int, measure: Measure) -> NDArray[np.floating]:
    """Weight 1/k on the first k ranks."""
    assert measure.cutoff is not None
    return np.repeat(np.float64(1.0 / measure.cutoff), depth)


def rank_biased_precision(depth: int, measure: Measure) -> NDArray[np.floating]:
    """Weight (1 - p) p^(i - 1) on rank i. Moffat and Zobel 2008; Park 2016, equation 1."""
    assert measure.persistence is not None
    return (1.0 - measure.persistence) * measure.persistence ** np.arange(depth)


def discounted_gain(depth: int, measure: Measure) -> NDArray[np.floating]:
    """Weight 1 / log2(i + 1) on rank i."""
    return 1.0 / np.log2(np.arange(2, depth + 2))


def retrieved(depth: int, measure: Measure) -> NDArray[np.floating]:
    """Weight 1 on every rank."""
    return np.ones(depth)


RANK_WEIGHTS = {
    "P": precision,
    "RBP": rank_biased_precision,
    "DCG": discounted_gain,
    "NumRelRet": retrieved,
}


def rank_weight(measure: Measure, depth: int) -> NDArray[np.floating]:
    r"""Weight of every rank in a linear measure.

    .. math:: score = \sum_i weight_i \, relevance(d_i)

    Parameters
    ----------
    measure : Measure
        P, RBP, DCG or NumRelRet, as ``parse_measures`` gives it.
    depth : int
        Ranks of the longest ranking.

    Returns
    -------
    ndarray (rank,)
        Weights down to the measure's cutoff, or to ``depth`` where that is less.

    Examples
    --------
    >>> from bayeseval.measures.names import parse_measures
    >>> rank_weight(parse_measures("RBP(p=0.5)@3")[0], depth=1000)
    array([0.5  , 0.25 , 0.125])
    """
    reach = depth if measure.cutoff is None else min(depth, measure.cutoff)
    return RANK_WEIGHTS[measure.name](reach, measure)
