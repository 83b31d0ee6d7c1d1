"""Compiled kernels of the inferred measures: one topic, every run, many replicates at once.

``position[run, rank]`` is the pair at a rank, -1 for none; ``stratum[pair]`` numbers the topic's
strata from 0, -1 outside the pool; ``seen[pair, replicate]`` is 1 for a sampled relevant document,
0 for another sampled one, -1 for one that was not sampled. Imported on first use, inside functions.
"""

import numba
import numpy as np


@numba.njit(cache=True, nogil=True)
def expected_relevant(position, stratum, n_strata, seen, constants):
    """Sum over strata of pool documents in the list times their smoothed share of relevant ones.

    ``constants`` are what is added to the relevant and to the sampled documents. Returns
    (run, replicate).
    """
    n_runs, n_replicates = position.shape[0], seen.shape[1]
    total = np.zeros((n_runs, n_replicates))
    for run in range(n_runs):
        pooled = np.zeros(n_strata)
        sampled = np.zeros((n_strata, n_replicates))
        relevant = np.zeros((n_strata, n_replicates))
        for rank in range(position.shape[1]):
            row = position[run, rank]
            if row < 0 or stratum[row] < 0:
                continue
            pooled[stratum[row]] += 1.0
            _count(sampled[stratum[row]], relevant[stratum[row]], seen[row])
        for number in range(n_strata):
            if pooled[number] > 0.0:
                for column in range(n_replicates):
                    share = relevant[number, column] + constants[0]
                    share /= sampled[number, column] + constants[1]
                    total[run, column] += pooled[number] * share
    return total


@numba.njit(cache=True, nogil=True)
def expected_relevant_by_rank(position, stratum, n_strata, seen, constants):
    """As `expected_relevant`, down to every rank: (run, rank, replicate)."""
    n_runs, depth = position.shape
    n_replicates = seen.shape[1]
    out = np.zeros((n_runs, depth, n_replicates))
    for run in range(n_runs):
        expected = np.zeros(n_replicates)
        pooled = np.zeros(n_strata)
        sampled = np.zeros((n_strata, n_replicates))
        relevant = np.zeros((n_strata, n_replicates))
        share = np.full((n_strata, n_replicates), constants[0] / constants[1])
        for rank in range(depth):
            row = position[run, rank]
            if row >= 0 and stratum[row] >= 0:
                at = stratum[row]
                pooled[at] += 1.0
                _advance(
                    expected, pooled[at], sampled[at], relevant[at], share[at], seen[row], constants
                )
            out[run, rank] = expected
    return out


@numba.njit(cache=True, nogil=True)
def expected_precision_sum(position, stratum, expansion, seen, constants):
    """Sum over sampled relevant documents of their expected precision times ``expansion``.

    ``expansion`` (stratum, replicate) is pool documents by sampled documents of a stratum. The
    expected precision at rank k is (1 + expected relevant documents above) / k. Returns
    (run, replicate).
    """
    n_runs = position.shape[0]
    n_strata, n_replicates = expansion.shape
    total = np.zeros((n_runs, n_replicates))
    for run in range(n_runs):
        expected = np.zeros(n_replicates)
        pooled = np.zeros(n_strata)
        sampled = np.zeros((n_strata, n_replicates))
        relevant = np.zeros((n_strata, n_replicates))
        share = np.full((n_strata, n_replicates), constants[0] / constants[1])
        for rank in range(position.shape[1]):
            row = position[run, rank]
            if row < 0 or stratum[row] < 0:
                continue
            at = stratum[row]
            for column in range(n_replicates):
                if seen[row, column] == 1:
                    precision = (1.0 + expected[column]) / (rank + 1.0)
                    total[run, column] += precision * expansion[at, column]
            pooled[at] += 1.0
            _advance(
                expected, pooled[at], sampled[at], relevant[at], share[at], seen[row], constants
            )
    return total


@numba.njit(cache=True, nogil=True)
def expanded_gain(position, weight, stratum, n_strata, gain):
    """Sum over strata of the list's pool documents by its sampled ones, times their gain.

    ``gain[pair, replicate]`` is NaN where not sampled; ``weight[rank]`` discounts it. Returns
    (run, replicate).
    """
    n_runs, n_replicates = position.shape[0], gain.shape[1]
    total = np.zeros((n_runs, n_replicates))
    for run in range(n_runs):
        pooled = np.zeros(n_strata)
        sampled = np.zeros((n_strata, n_replicates))
        gained = np.zeros((n_strata, n_replicates))
        for rank in range(min(position.shape[1], weight.size)):
            row = position[run, rank]
            if row < 0 or stratum[row] < 0:
                continue
            at = stratum[row]
            pooled[at] += 1.0
            for column in range(n_replicates):
                if not np.isnan(gain[row, column]):
                    sampled[at, column] += 1.0
                    gained[at, column] += weight[rank] * gain[row, column]
        for number in range(n_strata):
            for column in range(n_replicates):
                if sampled[number, column] > 0.0:
                    share = pooled[number] / sampled[number, column]
                    total[run, column] += share * gained[number, column]
    return total


@numba.njit(cache=True, nogil=True)
def ideal_gain(count, level, last_rank):
    """Discounted gain of the best ranking, from estimated counts (level, replicate) per gain.

    Levels fall; each count is rounded to a whole number, halves up, and nothing stands below
    ``last_rank``. Returns (replicate,).
    """
    n_levels, n_replicates = count.shape
    total = np.zeros(n_replicates)
    for column in range(n_replicates):
        rank = 0
        for number in range(n_levels):
            last = rank + int(np.floor(count[number, column] + 0.5 + 1e-9))
            while rank < min(last, last_rank):
                rank += 1
                total[column] += level[number] / np.log2(rank + 1.0)
    return total


@numba.njit(cache=True, nogil=True)
def _count(sampled, relevant, seen):
    """Add a document to the counts of its stratum, in every replicate that sampled it."""
    for column in range(seen.size):
        if seen[column] >= 0:
            sampled[column] += 1.0
            relevant[column] += seen[column]


@numba.njit(cache=True, nogil=True)
def _advance(expected, pooled, sampled, relevant, share, seen, constants):
    """Move the expected number of relevant documents past one more document of a stratum."""
    for column in range(seen.size):
        if seen[column] < 0:
            expected[column] += share[column]
            continue
        sampled[column] += 1.0
        relevant[column] += seen[column]
        before = (pooled - 1.0) * share[column]
        share[column] = (relevant[column] + constants[0]) / (sampled[column] + constants[1])
        expected[column] += pooled * share[column] - before
