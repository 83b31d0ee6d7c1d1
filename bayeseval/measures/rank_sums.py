"""Sums over the ranks of a ranking, for many columns of relevance at once.

Every kernel works on one topic. ``position[run, rank]`` is the row of ``value`` that holds the
document at that rank, or -1 where there is none (nothing retrieved, or outside the frame). A column
of ``value`` is one filling of the relevances: the judgments themselves, the estimate of one
sampling replicate, or one posterior draw. ``picked[column, slot]`` lists the sampled rows of a
column, -1 where a column has fewer, and ``expanded`` holds what each of them adds to ``value``
beyond the model: (relevance - M) / inclusion probability.

The module compiles with numba on first use and must be imported inside functions.
"""

import numba
import numpy as np


@numba.njit(cache=True, nogil=True)
def weighted_sum(position, weight, value):
    """Sum of ``weight[rank] * value[position[run, rank], column]``, dims (run, column)."""
    n_runs, n_columns = position.shape[0], value.shape[1]
    depth = min(position.shape[1], weight.size)
    total = np.zeros((n_runs, n_columns))
    for run in range(n_runs):
        for rank in range(depth):
            row = position[run, rank]
            if row >= 0:
                for column in range(n_columns):
                    total[run, column] += weight[rank] * value[row, column]
    return total


@numba.njit(cache=True, nogil=True)
def best_sum(weight, value):
    """Sum of ``weight[rank] * value`` over the best ranking of all rows, dims (column,)."""
    n_columns = value.shape[1]
    total = np.zeros(n_columns)
    for column in range(n_columns):
        own = value[:, column]
        best = np.sort(own[own > 0])[::-1]
        for rank in range(min(best.size, weight.size)):
            total[column] += weight[rank] * best[rank]
    return total


@numba.njit(cache=True, nogil=True)
def picked_weight(position, weight, picked, n_rows):
    """Weight that each run gives to each sampled document, dims (run, column, slot)."""
    n_runs, depth = position.shape[0], min(position.shape[1], weight.size)
    n_columns, n_slots = picked.shape
    out = np.zeros((n_runs, n_columns, n_slots))
    row_weight = np.zeros(n_rows)
    for run in range(n_runs):
        for rank in range(depth):
            if position[run, rank] >= 0:
                row_weight[position[run, rank]] = weight[rank]
        for column in range(n_columns):
            for slot in range(n_slots):
                row = picked[column, slot]
                if row >= 0:
                    out[run, column, slot] = row_weight[row]
        for rank in range(depth):
            if position[run, rank] >= 0:
                row_weight[position[run, rank]] = 0.0
    return out


@numba.njit(cache=True, nogil=True)
def cumulative_at(position, value, cutoff):
    """Sum of the values down to a fractional ``cutoff[column]``, linear between two ranks."""
    n_runs, n_columns = position.shape[0], value.shape[1]
    total = np.zeros((n_runs, n_columns))
    deepest = 0
    for column in range(n_columns):
        deepest = max(deepest, int(np.ceil(cutoff[column])))
    for run in range(n_runs):
        for rank in range(min(position.shape[1], deepest)):
            row = position[run, rank]
            if row >= 0:
                for column in range(n_columns):
                    share = min(1.0, max(0.0, cutoff[column] - rank))
                    total[run, column] += share * value[row, column]
    return total


@numba.njit(cache=True, nogil=True)
def precision_sum(position, value):
    """Sum over ranks i of (v_i + v_i * sum_(j<i) v_j) / i, dims (run, column).

    For relevances 0 and 1 this is the sum of the precisions at the relevant documents, the
    numerator of average precision. The diagonal is v_i, not its square: relevance squared is
    relevance.
    """
    n_runs, n_columns = position.shape[0], value.shape[1]
    total = np.zeros((n_runs, n_columns))
    above = np.empty(n_columns)
    for run in range(n_runs):
        above[:] = 0.0
        for rank in range(position.shape[1]):
            row = position[run, rank]
            if row >= 0:
                share = 1.0 / (rank + 1.0)
                for column in range(n_columns):
                    current = value[row, column]
                    total[run, column] += share * current * (1.0 + above[column])
                    above[column] += current
    return total


@numba.njit(cache=True, nogil=True)
def precision_sum_influence(position, value, picked, expanded, joint_excess, group):
    """Numerator of average precision with its joint correction and its linear part.

    Returns an array (run, column, 1 + slot): first the numerator, then for every sampled document
    the derivative of the numerator by its relevance times ``expanded``. Two sampled documents of
    one stratum enter with pi_i pi_j / pi_ij = 1 + joint_excess times the product of their expanded
    values, so that the product of two residuals is estimated without bias.
    """
    n_runs, depth = position.shape
    n_rows, n_columns = value.shape
    n_slots = picked.shape[1]
    out = np.zeros((n_runs, n_columns, 1 + n_slots))
    gradient = np.empty((depth, n_columns))
    rank_of = np.full(n_rows, -1, dtype=np.int64)
    running = np.empty(n_columns)
    for run in range(n_runs):
        running[:] = 0.0
        for rank in range(depth):
            row = position[run, rank]
            if row >= 0:
                rank_of[row] = rank
                share = 1.0 / (rank + 1.0)
                for column in range(n_columns):
                    current = value[row, column]
                    slope = share * (1.0 + running[column])
                    gradient[rank, column] = slope
                    out[run, column, 0] += slope * current
                    running[column] += current
        running[:] = 0.0
        for rank in range(depth - 1, -1, -1):
            row = position[run, rank]
            if row >= 0:
                share = 1.0 / (rank + 1.0)
                for column in range(n_columns):
                    gradient[rank, column] += running[column]
                    running[column] += share * value[row, column]
        _add_sampled(out[run], rank_of, gradient, picked, expanded, joint_excess, group)
        for rank in range(depth):
            if position[run, rank] >= 0:
                rank_of[position[run, rank]] = -1
    return out


@numba.njit(cache=True, nogil=True)
def _add_sampled(out, rank_of, gradient, picked, expanded, joint_excess, group):
    """Fill the linear part of one run and add the correction for pairs of one stratum."""
    n_columns, n_slots = picked.shape
    for column in range(n_columns):
        for slot in range(n_slots):
            row = picked[column, slot]
            if row < 0 or rank_of[row] < 0:
                continue
            rank = rank_of[row]
            out[column, 1 + slot] += gradient[rank, column] * expanded[column, slot]
            excess = joint_excess[column, slot]
            if excess == 0.0:
                continue
            other = slot + 1
            while other < n_slots and group[column, other] == group[column, slot]:
                other_row = picked[column, other]
                if other_row >= 0 and rank_of[other_row] >= 0:
                    product = excess * expanded[column, slot] * expanded[column, other]
                    product /= max(rank, rank_of[other_row]) + 1.0
                    out[column, 0] += product
                    out[column, 1 + slot] += product
                    out[column, 1 + other] += product
                other += 1
