"""Sums over draws with replacement, for many runs and replicates of one topic at once.

``position[run, rank]`` is the row of the document at that rank among those that can be drawn, or
-1. ``probability[row]`` is the probability M of each single draw, ``count[row, column]`` says how
often the row was drawn in each replicate, ``value[row, column]`` what it counts: its relevance, or
its gain.

The module compiles with numba on first use and must be imported inside functions.
"""

import numba
import numpy as np


@numba.njit(cache=True, nogil=True)
def drawn_sums(position, weight, probability, count, value):
    """Draws that fell on documents with a weight, as sums over the ranks.

    Returns an array (4, run, column): the number of such draws, the probability that a single draw
    is one, and the sums over them of z and z^2, where z = weight[rank, column] * value / M.
    """
    n_runs, n_columns = position.shape[0], count.shape[1]
    depth = min(position.shape[1], weight.shape[0])
    total = np.zeros((4, n_runs, n_columns))
    for run in range(n_runs):
        for rank in range(depth):
            row = position[run, rank]
            if row < 0:
                continue
            for column in range(n_columns):
                if weight[rank, column] <= 0.0:
                    continue
                # every document with a weight can be drawn
                total[1, run, column] += probability[row]
                if count[row, column] == 0:
                    continue
                # what was drawn, expanded
                z = weight[rank, column] * value[row, column] / probability[row]
                total[0, run, column] += count[row, column]
                total[2, run, column] += count[row, column] * z
                total[3, run, column] += count[row, column] * z * z
    return total


@numba.njit(cache=True, nogil=True)
def induced_pairs(position, probability, count, value, number, mass):
    """Sum of precisions from all ordered pairs of draws, and what each draw adds to it.

    ``number[run, column]`` draws are taken as independent with probabilities M / mass[run, column].
    A pair of distinct documents counts k_i k_j rel_i rel_j / (n (n - 1) M_i M_j max(i, j)), once
    per unordered pair; a document with itself k_i^2 rel_i / (i (n (n - 1) M_i^2 + n M_i)).

    Returns an array (4, run, column): the sum of precisions, NaN with fewer than two draws; then,
    with u what dropping a draw changes times the number of draws and z = relevance / M, the sums
    over draws of u, u^2 and u z. Draws on documents that are not relevant have u = 0.
    """
    n_runs, depth = position.shape
    n_columns = count.shape[1]
    total = np.zeros((4, n_runs, n_columns))
    pairs = np.zeros((depth, n_columns))
    running = np.empty(n_columns)
    for run in range(n_runs):
        # from the top: what the drawn documents above each rank stand for
        running[:] = 0.0
        for rank in range(depth):
            row = position[run, rank]
            if row < 0:
                continue
            for column in range(n_columns):
                if count[row, column] == 0 or value[row, column] == 0.0:
                    continue
                pairs[rank, column] = running[column] / (rank + 1.0)
                share = probability[row] / mass[run, column]
                running[column] += count[row, column] * value[row, column] / share
        # from below, so that each pair is met once and `running` holds its partners below
        running[:] = 0.0
        for rank in range(depth - 1, -1, -1):
            row = position[run, rank]
            if row < 0:
                continue
            for column in range(n_columns):
                draws, times = number[run, column], count[row, column]
                if times == 0 or value[row, column] == 0.0 or draws < 2.0:
                    continue
                share = probability[row] / mass[run, column]
                expanded = value[row, column] / share
                # a document with itself
                own = value[row, column] / ((rank + 1.0) * draws * share)
                own /= (draws - 1.0) * share + 1.0
                above = times * expanded * pairs[rank, column] / (draws * (draws - 1.0))
                total[0, run, column] += above + times * times * own
                # what dropping one of its draws takes away
                u = expanded * (pairs[rank, column] + running[column]) / (draws - 1.0)
                u += draws * (2.0 * times - 1.0) * own
                total[1, run, column] += times * u
                total[2, run, column] += times * u * u
                total[3, run, column] += times * u * value[row, column] / probability[row]
                running[column] += times * expanded / (rank + 1.0)
        # one draw makes no pair
        for column in range(n_columns):
            if number[run, column] < 2.0:
                total[:, run, column] = np.nan
    return total
