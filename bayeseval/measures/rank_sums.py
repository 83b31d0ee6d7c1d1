"""Sums over the ranks of a ranking, for many columns of relevance at once, and shortened rankings.

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
def best_sum(weight, value, start):
    """Sum of ``weight[rank] * value`` over the best ranking of a topic's rows (topic, column).

    Those of topic t are ``start[t]:start[t + 1]``.
    """
    n_topics, n_columns = start.size - 1, value.shape[1]
    total = np.zeros((n_topics, n_columns))
    for topic in range(n_topics):
        for column in range(n_columns):
            own = value[start[topic] : start[topic + 1], column]
            best = np.sort(own[own > 0])[::-1]
            for rank in range(min(best.size, weight.size)):
                total[topic, column] += weight[rank] * best[rank]
    return total


@numba.njit(cache=True, nogil=True)
def cumulative_at(position, value, cutoff):
    """Sum of the values down to a fractional ``cutoff[run, column]``, linear between two ranks."""
    n_runs, n_columns = position.shape[0], value.shape[1]
    total = np.zeros((n_runs, n_columns))
    for run in range(n_runs):
        deepest = 0  # rank from which on no column counts anything
        for column in range(n_columns):
            deepest = max(deepest, int(np.ceil(cutoff[run, column])))
        for rank in range(min(position.shape[1], deepest)):
            row = position[run, rank]
            if row >= 0:
                # a rank counts whole above the cutoff, in part where the cutoff falls into it
                for column in range(n_columns):
                    share = min(1.0, max(0.0, cutoff[run, column] - rank))
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
    above = np.empty(n_columns)  # sum of the values at the ranks above
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
def first_reciprocal(position, value):
    """1 / rank of the first document with a value above 0, 0 where there is none (run, column)."""
    n_runs, n_columns = position.shape[0], value.shape[1]
    found = np.zeros((n_runs, n_columns))
    for run in range(n_runs):
        for rank in range(position.shape[1]):
            row = position[run, rank]
            if row >= 0:
                for column in range(n_columns):
                    if value[row, column] > 0 and found[run, column] == 0.0:
                        found[run, column] = 1.0 / (rank + 1.0)
    return found


@numba.njit(cache=True, nogil=True)
def stopping_sum(position, value):
    """Sum of v_i / i times the product of 1 - v_j over the ranks j above i, dims (run, column)."""
    n_runs, n_columns = position.shape[0], value.shape[1]
    total = np.zeros((n_runs, n_columns))
    going_on = np.empty(n_columns)
    for run in range(n_runs):
        going_on[:] = 1.0
        for rank in range(position.shape[1]):
            row = position[run, rank]
            if row >= 0:
                share = 1.0 / (rank + 1.0)
                for column in range(n_columns):
                    total[run, column] += share * going_on[column] * value[row, column]
                    going_on[column] *= 1.0 - value[row, column]
    return total


@numba.njit(cache=True, nogil=True)
def best_precision(position, value, least):
    """Highest precision at a relevant document from number ``least[run, column]`` on."""
    n_runs, n_columns = position.shape[0], value.shape[1]
    best = np.zeros((n_runs, n_columns))
    found = np.empty(n_columns)  # relevant documents down to the rank
    for run in range(n_runs):
        found[:] = 0.0
        for rank in range(position.shape[1]):
            row = position[run, rank]
            if row >= 0:
                for column in range(n_columns):
                    if value[row, column] > 0:
                        found[column] += 1.0
                        if found[column] >= least[run, column]:
                            best[run, column] = max(best[run, column], found[column] / (rank + 1.0))
    return best


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
        # from the top: the numerator, and what a document gains from those above it
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
        # from the bottom: what it brings to those below it
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
def lone_products(position, value, picked, expanded, chance, stratum):
    """What is added to the numerator of average precision for pairs that are never both sampled.

    Two documents of a stratum of which one is drawn have no product v_i v_j. With p the ``chance``
    (pair, column) of such strata, 0 in others, p v_i + p v_j - p^2 stands for it, by the rank of
    the lower one. Returns (run, column, 1 + slot) as :func:`precision_sum_influence` does.
    """
    n_runs, depth = position.shape
    n_rows, n_columns = value.shape
    n_slots, n_strata = picked.shape[1], stratum.max() + 1
    out = np.zeros((n_runs, n_columns, 1 + n_slots))
    gradient = np.zeros((depth, n_columns))
    rank_of = np.full(n_rows, -1, dtype=np.int64)
    for run in range(n_runs):
        # from the top: the products, and what a document gains from those of its stratum above
        above, total = np.zeros(n_strata), np.zeros((n_strata, n_columns))
        for rank in range(depth):
            row = position[run, rank]
            if row >= 0:
                rank_of[row] = rank
                share, own = 1.0 / (rank + 1.0), stratum[row]
                for column in range(n_columns):
                    p, current = chance[row, column], value[row, column]
                    whole = total[own, column] + above[own] * (current - p)
                    out[run, column, 0] += share * p * whole
                    gradient[rank, column] = share * p * above[own]
                    total[own, column] += current
                above[own] += 1.0
        # from the bottom: what it brings to those below
        below = np.zeros(n_strata)
        for rank in range(depth - 1, -1, -1):
            row = position[run, rank]
            if row >= 0:
                for column in range(n_columns):
                    gradient[rank, column] += chance[row, column] * below[stratum[row]]
                below[stratum[row]] += 1.0 / (rank + 1.0)
        for column in range(n_columns):
            for slot in range(n_slots):
                row = picked[column, slot]
                if row >= 0 and rank_of[row] >= 0:
                    slope = gradient[rank_of[row], column]
                    out[run, column, 1 + slot] = slope * expanded[column, slot]
        for rank in range(depth):
            if position[run, rank] >= 0:
                rank_of[position[run, rank]] = -1
    return out


@numba.njit(cache=True, nogil=True)
def expected_precision_sums(position, chance, spread):
    """Sums over documents of spread times weight, and of spread times weight squared.

    The weight is what a document is expected to add to a run's sum of precisions, where others are
    relevant with the probabilities ``chance`` (pair, column): at rank i (1 + the sum of those
    above) / i, and the sum of p / j over the ranks j below. Returns (2, run, column).
    """
    n_runs, depth = position.shape
    n_columns = chance.shape[1]
    out = np.zeros((2, n_runs, n_columns))
    weight = np.empty((depth, n_columns))
    running = np.empty(n_columns)
    for run in range(n_runs):
        # from the top: what a document gains from those above it
        running[:] = 0.0
        for rank in range(depth):
            row = position[run, rank]
            if row >= 0:
                share = 1.0 / (rank + 1.0)
                for column in range(n_columns):
                    weight[rank, column] = share * (1.0 + running[column])
                    running[column] += chance[row, column]
        # from the bottom: what it brings to those below it, and then the sums
        running[:] = 0.0
        for rank in range(depth - 1, -1, -1):
            row = position[run, rank]
            if row >= 0:
                share = 1.0 / (rank + 1.0)
                for column in range(n_columns):
                    whole = weight[rank, column] + running[column]
                    part = spread[row, column] * whole
                    out[0, run, column] += part
                    out[1, run, column] += part * whole
                    running[column] += share * chance[row, column]
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
            # the linear part, and for a stratum of dependent draws the pairs with later slots
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


@numba.njit(cache=True, nogil=True)
def list_variance_sums(position, value, sampled, probability, estimate):
    """What the retrieved documents add to the variance of statAP, (term, run, replicate).

    ``value`` (pair, replicate) is 1 / inclusion probability of the sampled relevant documents, 0
    elsewhere; ``estimate`` (run, replicate) is statAP. With p the precision at a document, x its
    estimate, v its value and u the sum of value / rank below it, the terms are the sums of
    v^2 (1 - pi) (p^2 - 2 p x), of v^2 (p^2 - 2 p x), of v^2 (1 - pi) u^2, and the number sampled.
    """
    n_runs, depth = position.shape
    n_replicates = value.shape[1]
    out = np.zeros((4, n_runs, n_replicates))
    sums = np.empty(n_replicates)
    for run in range(n_runs):
        # from the top: precision at each sampled relevant document, and the first two terms
        sums[:] = 0.0
        for rank in range(depth):
            row = position[run, rank]
            if row < 0:
                continue
            for column in range(n_replicates):
                current = value[row, column]
                out[3, run, column] += sampled[row, column]
                if current > 0.0:
                    precision = (1.0 + sums[column]) / (rank + 1.0)
                    term = precision * (precision - 2.0 * estimate[run, column])
                    term *= current * current
                    out[0, run, column] += (1.0 - probability[row]) * term
                    out[1, run, column] += term
                    sums[column] += current
        # from the bottom: u, the sum of value / rank below, and the third term
        sums[:] = 0.0
        for rank in range(depth - 1, -1, -1):
            row = position[run, rank]
            if row < 0:
                continue
            for column in range(n_replicates):
                current = value[row, column]
                if current > 0.0:
                    term = current * sums[column]
                    out[2, run, column] += (1.0 - probability[row]) * term * term
                    sums[column] += current / (rank + 1.0)
    return out


@numba.njit(cache=True, nogil=True)
def condensed_positions(position, place, depth, width):
    """Judged documents of every run, moved up: places (run, rank), -1 after the last one.

    ``place[row]`` numbers the judged documents of the topic and is -1 for the others. Only the
    first ``depth`` ranks are looked at, and the first ``width`` judged documents kept.
    """
    n_runs = position.shape[0]
    out = np.full((n_runs, width), -1, dtype=np.int32)
    for run in range(n_runs):
        found = 0
        for rank in range(min(depth, position.shape[1])):
            if found == width:
                break
            row = position[run, rank]
            # what was judged moves up to the next free place
            if row >= 0 and place[row] >= 0:
                out[run, found] = place[row]
                found += 1
    return out
