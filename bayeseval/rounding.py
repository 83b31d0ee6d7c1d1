"""Scores that differ by rounding alone are equal: sums of the same terms in another order."""

import numpy as np
from numpy.typing import NDArray

ROUNDING = 1e-12  # of scores up to 1, and as a share of larger ones
DECIMALS = 10  # that are left of scores whose order is asked for


def settled(difference: NDArray[np.floating], *scores: NDArray[np.floating]) -> NDArray:
    """Differences, 0 where rounding alone can have made them.

    Parameters
    ----------
    difference : float array
    *scores : float arrays that broadcast with it
        What was subtracted, whose size rounding grows with; none: up to 1.

    Examples
    --------
    >>> settled(np.array([0.1 + 0.2 - 0.3, 0.1]))
    array([0. , 0.1])
    """
    size: NDArray | float = 1.0
    for score in scores:
        size = np.maximum(size, np.abs(score))
    return np.where(np.abs(difference) < ROUNDING * size, 0.0, difference)
