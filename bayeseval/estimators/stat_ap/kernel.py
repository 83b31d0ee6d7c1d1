"""Compiled kernel of the variance that the statAP program prints.

Imported on first use, inside functions.
"""

import numba
import numpy as np


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
