"""Compiled kernels of the inferred measures: one topic, every run, many replicates at once.

``position[run, rank]`` is the pool document at a rank, -1 for another or none; ``stratum`` gives
its stratum, numbered from 0 in the topic. The sampled documents are listed as cells: those of
document d are ``first[d]:first[d + 1]`` in ``replicate`` (the sample it is in) and ``gain`` (above
0 where relevant). ``constants`` is what smoothing adds to the relevant and the sampled documents.
Imported on first use, inside functions.
"""

import numba
import numpy as np


@numba.njit(cache=True, nogil=True)
def expanded_sum(position, weight, stratum, n_strata, cells, n_replicates, constants):
    """Sum over strata of the list's pool documents by its sampled ones, times what these are worth.

    ``weight[rank]`` discounts the worth of a cell, the last of ``cells``; ``constants`` are added
    to the worth and to the number of sampled documents. Returns (run, replicate).
    """
    first, replicate, worth = cells
    total = np.zeros((position.shape[0], n_replicates))
    for run in range(position.shape[0]):
        pooled = np.zeros(n_strata)
        sampled = np.zeros((n_strata, n_replicates))
        found = np.zeros((n_strata, n_replicates))
        # what the list has of each stratum, and what the sampled ones are worth
        for rank in range(position.shape[1]):
            row = position[run, rank]
            if row < 0:
                continue
            pooled[stratum[row]] += 1.0
            for cell in range(first[row], first[row + 1]):
                sampled[stratum[row], replicate[cell]] += 1.0
                found[stratum[row], replicate[cell]] += weight[rank] * worth[cell]
        # expanded by stratum
        for number in range(n_strata):
            for column in range(n_replicates):
                share = sampled[number, column] + constants[1]
                if pooled[number] > 0.0 and share > 0.0:
                    share = (found[number, column] + constants[0]) / share
                    total[run, column] += pooled[number] * share
    return total


@numba.njit(cache=True, nogil=True)
def expected_precision_sum(position, stratum, expansion, cells, constants):
    """Sum over sampled relevant documents of their expected precision times ``expansion``.

    ``expansion`` (stratum, replicate) is pool documents by sampled documents of a stratum. The
    expected precision at rank k is (1 + expected relevant documents above) / k. Returns
    (run, replicate).
    """
    first, replicate, gain = cells
    n_strata, n_replicates = expansion.shape
    total = np.zeros((position.shape[0], n_replicates))
    for run in range(position.shape[0]):
        # above the first rank: relevant documents expected, and by stratum what they come from
        expected = np.zeros(n_replicates)
        pooled = np.zeros(n_strata)
        sampled = np.zeros((n_strata, n_replicates))
        relevant = np.zeros((n_strata, n_replicates))
        share = np.full((n_strata, n_replicates), constants[0] / constants[1])
        for rank in range(position.shape[1]):
            row = position[run, rank]
            if row < 0:
                continue
            at = stratum[row]
            # the precision here counts the document itself and what is expected above
            for cell in range(first[row], first[row + 1]):
                if gain[cell] > 0.0:
                    column = replicate[cell]
                    precision = (1.0 + expected[column]) / (rank + 1.0)
                    total[run, column] += precision * expansion[at, column]
            # one more pool document is expected to be relevant by the share so far
            pooled[at] += 1.0
            for column in range(n_replicates):
                expected[column] += share[at, column]
            # its own sample changes the share, for all of the stratum above too
            for cell in range(first[row], first[row + 1]):
                column = replicate[cell]
                sampled[at, column] += 1.0
                if gain[cell] > 0.0:
                    relevant[at, column] += 1.0
                before = share[at, column]
                after = (relevant[at, column] + constants[0]) / (sampled[at, column] + constants[1])
                share[at, column] = after
                expected[column] += pooled[at] * (after - before)
    return total
