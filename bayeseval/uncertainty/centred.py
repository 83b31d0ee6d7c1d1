"""Deviations of expanded values within strata (compiled; import inside functions)."""

import numba
import numpy as np


@numba.njit(cache=True, nogil=True)
def centred(expanded, probability, group):
    """Scaled deviations whose squares add up to the design variance of a sum.

    ``expanded[run, column, slot]`` is weight * residual / inclusion probability. In a group of n
    slots the deviation is sqrt((1 - pi_i) n / (n - 1)) * (expanded_i - weighted mean), which for a
    stratum drawn by simple random sampling gives N^2 (1 - n/N) s^2 / n. Slots of group -1 are
    independent: sqrt(1 - pi_i) * expanded_i. A lone slot with pi < 1 has no variance estimate: NaN.
    The products of two runs' deviations add up to the design covariance of the two runs.
    """
    n_runs, n_columns, n_slots = expanded.shape
    out = np.zeros((n_runs, n_columns, n_slots))
    for column in range(n_columns):
        first = 0
        while first < n_slots:
            last = first + 1
            label = group[column, first]
            while label >= 0 and last < n_slots and group[column, last] == label:
                last += 1
            total = 0.0
            for slot in range(first, last):
                total += 1.0 - probability[column, slot]
            if total > 0.0:
                _centre_group(
                    expanded[:, column],
                    probability[column],
                    label,
                    first,
                    last,
                    total,
                    out[:, column],
                )
            first = last
    return out


@numba.njit(cache=True, nogil=True)
def _centre_group(expanded, probability, label, first, last, total, out):
    count = last - first
    for run in range(expanded.shape[0]):
        if label < 0:
            out[run, first] = np.sqrt(1.0 - probability[first]) * expanded[run, first]
        elif count == 1:
            out[run, first] = np.nan
        else:
            mean = 0.0
            for slot in range(first, last):
                mean += (1.0 - probability[slot]) * expanded[run, slot]
            mean /= total
            for slot in range(first, last):
                factor = (1.0 - probability[slot]) * count / (count - 1.0)
                out[run, slot] = np.sqrt(factor) * (expanded[run, slot] - mean)
