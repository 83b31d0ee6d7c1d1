"""Measures that are ratios of sums: the plain scores, and ideal gain at an estimated number.

The numerator counts relevances as the run shows them, ``value``; the denominator, ``total``, is of
the topic, whatever the run: what a run shows may depart from what a model says of the topic.
"""

import numpy as np
from numpy.typing import NDArray

from bayeseval.measures.linear import discounted_gain, gain_discount
from bayeseval.measures.measure import Measure


def average_precision(measure: Measure, position, value, weight, total) -> NDArray[np.float64]:
    """Sum of the precisions at the relevant documents, by the number of relevant documents."""
    from bayeseval.measures.rank_sums import precision_sum

    return np.minimum(precision_sum(position, value) / np.maximum(total, 1.0), 1.0)


def normalised_gain(measure: Measure, position, value, weight, total) -> NDArray[np.float64]:
    """Discounted gain, by that of the best ranking; 0 where no document has a gain."""
    from bayeseval.measures.rank_sums import weighted_sum

    gain = weighted_sum(position, weight, value) / np.where(total > 0, total, 1.0)
    return np.minimum(gain, 1.0)


def ideal_gain(measure: Measure, value) -> NDArray[np.float64]:
    """Discounted gain (column,) of the best ranking of all documents."""
    from bayeseval.measures.rank_sums import best_sum

    reach = value.shape[0] if measure.cutoff is None else min(value.shape[0], measure.cutoff)
    return best_sum(discounted_gain(reach, measure), value)


def recall(measure: Measure, position, value, weight, total) -> NDArray[np.float64]:
    """Relevant documents down to the cutoff, by the number of relevant documents."""
    from bayeseval.measures.rank_sums import weighted_sum

    found = weighted_sum(position, weight, value) / np.maximum(total, 1.0)
    return np.minimum(found, 1.0)


def r_precision(measure: Measure, position, value, weight, total) -> NDArray[np.float64]:
    """Precision at the number of relevant documents."""
    from bayeseval.measures.rank_sums import cumulative_at

    number = np.maximum(total, 1.0)
    return cumulative_at(position, value, number) / number


def discount_sum(count: NDArray[np.float64], cutoff: int | None) -> NDArray[np.float64]:
    r"""Sum of the discounts :math:`1 / \log_2(i + 1)` of the first ``count`` ranks.

    Linear between two whole counts, constant past the cutoff, 0 below 0: the ideal discounted gain
    of ``count`` documents of gain 1, extended to estimated (fractional) counts.

    Examples
    --------
    >>> discount_sum(np.array([1.0, 1.5, 3.0]), cutoff=2).round(4)
    array([1.    , 1.3155, 1.6309])
    """
    reach = np.ceil(max(np.max(count, initial=0.0), 1.0)) if cutoff is None else cutoff
    ranks = np.arange(0, int(reach) + 1)
    cumulative = np.concatenate([[0.0], np.cumsum(gain_discount(ranks[1:]))])
    return np.interp(count, ranks, cumulative)


def discount_slope(count: NDArray[np.float64], cutoff: int | None) -> NDArray[np.float64]:
    """Derivative of :func:`discount_sum`: the discount of the next rank, 0 past the cutoff.

    At a whole count, where the function has a kink, it is the mean of the two sides.

    Examples
    --------
    >>> discount_slope(np.array([0.5, 1.5, 7.0]), cutoff=2).round(4)
    array([1.    , 0.6309, 0.    ])
    """
    limit = np.inf if cutoff is None else cutoff

    def after(whole):
        return np.where(whole < limit, gain_discount(np.maximum(whole, 0.0) + 1.0), 0.0)

    above = after(np.floor(count))
    below = after(np.ceil(count) - 1.0)
    return np.where(count > 0, 0.5 * (above + below), above)
