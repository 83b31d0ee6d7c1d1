"""What all topics tell of the curve of the counts (compiled; import inside functions)."""

import numba
import numpy as np

FARTHEST = 30.0  # log odds beyond which a document has nothing to tell


@numba.njit(cache=True, nogil=True)
def by_topics(start, relevant, sampled, curve, slope, beta, prior, effect, effect_prior):
    """Information on the coefficients, and their slopes, the topics' effects integrated out.

    Also what Newton's step of a topic's effects is: the third (topic, 2) less the fourth
    (topic, 2, column) times the step of the coefficients. ``prior`` and ``effect_prior`` are
    precisions of normal distributions with mean 0.
    """
    n_columns, n_topics = beta.size, start.size - 1
    information, slopes = np.diag(prior), -prior * beta
    alone, told = np.empty((n_topics, 2)), np.empty((n_topics, 2, n_columns))
    crossed = np.zeros((2, n_columns))
    for topic in range(n_topics):
        # gradient and information of the effects
        g0, g1 = -effect_prior[0] * effect[topic, 0], -effect_prior[1] * effect[topic, 1]
        h00, h01, h11 = effect_prior[0], 0.0, effect_prior[1]
        crossed[:] = 0.0
        for cell in range(start[topic], start[topic + 1]):
            if sampled[cell] == 0.0:
                continue
            logit = effect[topic, 0] + effect[topic, 1] * slope[cell]
            for i in range(n_columns):
                logit += curve[cell, i] * beta[i]
            p = 1.0 / (1.0 + np.exp(-min(max(logit, -FARTHEST), FARTHEST)))
            residual = relevant[cell] - sampled[cell] * p
            weight = sampled[cell] * p * (1.0 - p)
            g0 += residual
            g1 += residual * slope[cell]
            h00 += weight
            h01 += weight * slope[cell]
            h11 += weight * slope[cell] ** 2
            for i in range(n_columns):
                slopes[i] += residual * curve[cell, i]
                crossed[0, i] += weight * curve[cell, i]
                crossed[1, i] += weight * curve[cell, i] * slope[cell]
                for j in range(n_columns):
                    information[i, j] += weight * curve[cell, i] * curve[cell, j]
        # what they take from the coefficients
        determinant = h00 * h11 - h01 * h01
        alone[topic, 0] = (h11 * g0 - h01 * g1) / determinant
        alone[topic, 1] = (h00 * g1 - h01 * g0) / determinant
        for i in range(n_columns):
            told[topic, 0, i] = (h11 * crossed[0, i] - h01 * crossed[1, i]) / determinant
            told[topic, 1, i] = (h00 * crossed[1, i] - h01 * crossed[0, i]) / determinant
        for i in range(n_columns):
            slopes[i] -= crossed[0, i] * alone[topic, 0] + crossed[1, i] * alone[topic, 1]
            for j in range(n_columns):
                information[i, j] -= crossed[0, i] * told[topic, 0, j]
                information[i, j] -= crossed[1, i] * told[topic, 1, j]
    return information, slopes, alone, told
