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
    last, share, root = _factors(probability, group)
    for run in range(n_runs):
        for column in range(n_columns):
            first = 0
            while first < n_slots:  # group by group, first:end
                # weighted mean of the group, then the scaled deviations from it
                end = last[column, first]
                mean = 0.0
                for slot in range(first, end):
                    mean += share[column, slot] * expanded[run, column, slot]
                for slot in range(first, end):
                    out[run, column, slot] = root[column, slot] * (
                        expanded[run, column, slot] - mean
                    )
                first = end
    return out


@numba.njit(cache=True, nogil=True)
def _factors(probability, group):
    """End of each slot's group, its share in the group's mean and its scale, (column, slot)."""
    n_columns, n_slots = probability.shape
    last = np.zeros((n_columns, n_slots), dtype=np.int64)
    share = np.zeros((n_columns, n_slots))
    root = np.zeros((n_columns, n_slots))
    for column in range(n_columns):
        first = 0
        while first < n_slots:
            # first:end is a run of slots of one stratum; a slot without one stands alone
            label = group[column, first]
            end = first + 1
            while label >= 0 and end < n_slots and group[column, end] == label:
                end += 1
            # shares by 1 - pi; the scale n / (n - 1) pays for the estimated mean
            count = end - first
            total = 0.0
            for slot in range(first, end):
                total += 1.0 - probability[column, slot]
            for slot in range(first, end):
                open_share = 1.0 - probability[column, slot]
                last[column, slot] = end
                if label < 0:
                    root[column, slot] = np.sqrt(open_share)
                elif total > 0.0:
                    share[column, slot] = open_share / total
                    scale = count / (count - 1.0) if count > 1 else np.nan
                    root[column, slot] = np.sqrt(open_share * scale)
            first = end
    return last, share, root


@numba.njit(cache=True, nogil=True)
def variance_spread(deviation, group):
    """Sum over strata of (variance of the stratum)^2 / (sampled documents - 1), (run, column).

    What Satterthwaite's degrees of freedom divide by. Slots past those of ``group`` are left out.
    """
    n_runs, n_columns, _ = deviation.shape
    n_slots = group.shape[1]
    total = np.zeros((n_runs, n_columns))
    for run in range(n_runs):
        for column in range(n_columns):
            first = 0
            while first < n_slots:
                # squared deviations of one stratum add up to its variance
                label = group[column, first]
                variance = deviation[run, column, first] ** 2
                end = first + 1
                while label >= 0 and end < n_slots and group[column, end] == label:
                    variance += deviation[run, column, end] ** 2
                    end += 1
                total[run, column] += variance**2 / max(end - first - 1, 1)
                first = end
    return total
