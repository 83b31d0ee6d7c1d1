"""The sums over ranks that plain scores of a few small files take, without numba.

Each is the function of its name in :mod:`bayeseval.measures.rank_sums`, in the same order of
additions, and so to the same bits.
"""

import numpy as np


def weighted_sum(position, weight, value):
    """Sum of ``weight[rank] * value[position[run, rank], column]``, dims (run, column)."""
    total = np.zeros((position.shape[0], value.shape[1]))
    for rank in range(min(position.shape[1], weight.size)):
        total += weight[rank] * _at(position[:, rank], value)
    return total


def best_sum(weight, value, start):
    """Sum of ``weight[rank] * value`` over the best ranking of a topic's rows (topic, column)."""
    total = np.zeros((start.size - 1, value.shape[1]))
    for topic, (first, stop) in enumerate(zip(start[:-1], start[1:], strict=True)):
        best = -np.sort(-value[first:stop], axis=0)
        for rank in range(min(len(best), weight.size)):
            if not (best[rank] > 0).any():
                break
            total[topic] += weight[rank] * np.maximum(best[rank], 0.0)
    return total


def cumulative_at(position, value, cutoff):
    """Sum of the values down to a fractional ``cutoff[run, column]``, linear between two ranks."""
    total = np.zeros((position.shape[0], value.shape[1]))
    for rank in range(min(position.shape[1], int(np.ceil(cutoff.max(initial=0.0))))):
        share = np.clip(cutoff - rank, 0.0, 1.0)
        total += share * _at(position[:, rank], value)
    return total


def precision_sum(position, value):
    """Sum over ranks i of (v_i + v_i * sum_(j<i) v_j) / i, dims (run, column)."""
    total, above = np.zeros((2, position.shape[0], value.shape[1]))
    for rank in range(position.shape[1]):
        current = _at(position[:, rank], value)
        total += 1.0 / (rank + 1.0) * current * (1.0 + above)
        above += current
    return total


def _at(row, value):
    """Values (run, column) of the rows at one rank, 0 where there is none."""
    return np.where(row[:, None] >= 0, value[row], 0.0)
