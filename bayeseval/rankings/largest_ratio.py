"""Largest studentised difference over a family of pairs (compiled; import inside functions)."""

import numba
import numpy as np


@numba.njit(cache=True, nogil=True)
def largest_ratio(errors, inverse_error, family):
    """Largest (errors[r] - errors[s]) / error[r, s] over the pairs (r, s) of a family, by draw.

    ``errors`` (draw, run), ``inverse_error`` (run, run), ``family`` bool (run, run); -inf where the
    family is empty.
    """
    n_draws, n_runs = errors.shape
    largest = np.full(n_draws, -np.inf)
    for draw in range(n_draws):
        found = -np.inf
        for run in range(n_runs - 1):
            for other in range(run + 1, n_runs):
                # a pair can be in the family in either order
                ratio = (errors[draw, run] - errors[draw, other]) * inverse_error[run, other]
                if family[run, other] and ratio > found:
                    found = ratio
                if family[other, run] and -ratio > found:
                    found = -ratio
        largest[draw] = found
    return largest


@numba.njit(cache=True, nogil=True)
def largest_ratio_of_run(errors, inverse_error, run, above, below):
    """The same over the pairs of one run: with those in ``above`` it first, in ``below`` second."""
    n_draws, n_runs = errors.shape
    largest = np.full(n_draws, -np.inf)
    for draw in range(n_draws):
        found = -np.inf
        for other in range(n_runs):
            # the run first, or second
            ratio = (errors[draw, run] - errors[draw, other]) * inverse_error[other]
            if above[other] and ratio > found:
                found = ratio
            if below[other] and -ratio > found:
                found = -ratio
        largest[draw] = found
    return largest
