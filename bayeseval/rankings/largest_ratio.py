"""Largest studentised difference over a family of pairs (compiled; import inside functions)."""

import numba
import numpy as np


@numba.njit(cache=True, nogil=True)
def largest_ratio(errors, first, second, inverse_error):
    """Largest (errors[r] - errors[s]) / error over pairs (r, s), in each draw; -inf of no pair.

    ``errors`` (draw, run); ``first``, ``second`` and ``inverse_error`` (pair,).
    """
    largest = np.full(len(errors), -np.inf)
    for draw in range(len(errors)):
        for pair in range(first.size):
            ratio = (errors[draw, first[pair]] - errors[draw, second[pair]]) * inverse_error[pair]
            if ratio > largest[draw]:
                largest[draw] = ratio
    return largest
