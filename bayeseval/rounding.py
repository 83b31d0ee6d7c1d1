"""Scores that differ by rounding alone are equal; and ratios where nothing may be below."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

ROUNDING = 1e-12  # of scores up to 1, and as a share of larger ones
DECIMALS = 10  # that are left of scores whose order is asked for


def settled(difference: NDArray[np.floating], *scores: NDArray[np.floating]) -> NDArray:
    """Differences, 0 where rounding alone can have made them.

    It grows with the size of the ``scores`` that were subtracted; none: up to 1.

    Examples
    --------
    >>> settled(np.array([0.1 + 0.2 - 0.3, 0.1]))
    array([0. , 0.1])
    """
    size: NDArray | float = 1.0
    for score in scores:
        size = np.maximum(size, np.abs(score))
    return np.where(np.abs(difference) < ROUNDING * size, 0.0, difference)


def ratio(
    above: ArrayLike, below: ArrayLike, otherwise: ArrayLike = 0.0, least: float = 0.0
) -> NDArray[np.float64]:
    """Above / below where that is more than the least, else a number.

    Examples
    --------
    >>> ratio(np.array([1.0, 2.0]), np.array([4.0, 0.0]))
    array([0.25, 0.  ])
    """
    out = np.full(np.broadcast_shapes(np.shape(above), np.shape(below)), otherwise, dtype=float)
    return np.divide(above, below, out=out, where=np.asarray(below) > least)
