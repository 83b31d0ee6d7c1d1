"""Largest studentised difference over a family of pairs (compiled; import inside functions)."""

import numba
import numpy as np

BLOCK = 256  # draws at once, of which the errors of all runs stay near


@numba.njit(cache=True, nogil=True)
def largest_sizes(errors, inverse_error):
    """Largest |errors[r] - errors[s]| / error[r, s] over the pairs of each run r, (run, draw).

    ``errors`` (run, draw), ``inverse_error`` (run, run), 0 for runs that are one and the same.
    """
    n_runs, n_draws = errors.shape
    largest = np.zeros((n_runs, n_draws))
    for start in range(0, n_draws, BLOCK):
        stop = min(start + BLOCK, n_draws)
        for run in range(n_runs - 1):
            one, of_one = errors[run, start:stop], largest[run, start:stop]
            for other in range(run + 1, n_runs):
                two, of_two = errors[other, start:stop], largest[other, start:stop]
                inverse = inverse_error[run, other]
                for draw in range(one.size):
                    size = abs(one[draw] - two[draw]) * inverse
                    of_one[draw] = size if size > of_one[draw] else of_one[draw]
                    of_two[draw] = size if size > of_two[draw] else of_two[draw]
    return largest


@numba.njit(cache=True, nogil=True)
def largest_ratio(errors, inverse_error, family, draws):
    """Largest (errors[r] - errors[s]) / error[r, s] over the pairs (r, s) of a family, some draws.

    ``family`` bool (run, run), ``draws`` (chosen,); -inf where the family is empty.
    """
    n_runs = errors.shape[1]
    largest = np.full(draws.size, -np.inf)
    for place in range(draws.size):
        draw, found = draws[place], -np.inf
        for run in range(n_runs - 1):
            for other in range(run + 1, n_runs):
                # a pair can be in the family in either order
                ratio = (errors[draw, run] - errors[draw, other]) * inverse_error[run, other]
                if family[run, other] and ratio > found:
                    found = ratio
                if family[other, run] and -ratio > found:
                    found = -ratio
        largest[place] = found
    return largest


@numba.njit(cache=True, nogil=True)
def largest_ratio_of_run(errors, inverse_error, run, family, draws):
    """The same of one run: ``family`` bool (2, run), of its pairs where it is first, or second."""
    n_runs = errors.shape[1]
    largest = np.full(draws.size, -np.inf)
    for place in range(draws.size):
        draw, found = draws[place], -np.inf
        for other in range(n_runs):
            # the run first, or second
            ratio = (errors[draw, run] - errors[draw, other]) * inverse_error[other]
            if family[0, other] and ratio > found:
                found = ratio
            if family[1, other] and -ratio > found:
                found = -ratio
        largest[place] = found
    return largest
