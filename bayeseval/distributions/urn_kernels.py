"""Draws from Park's urn, rank by rank: moments and simulation of a list.

An urn holds N documents, M of them relevant. After c relevant documents among the first i draws
the next one is relevant with probability (M - c) / ((M - c) + w (N - M - i + c)) (equation 12).

The module compiles with numba on first use and must be imported inside functions.
"""

import numba
import numpy as np


@numba.njit(cache=True, nogil=True)
def relevant_chance(left, other, odds):
    """Probability of drawing one of `left` relevant documents beside `other` non-relevant ones."""
    if left <= 0:
        return 0.0
    return 1.0 if other <= 0 else left / (left + odds * other)


@numba.njit(cache=True, nogil=True)
def contribution_moments(n_documents, n_relevant, odds, weight):
    """Mean and mean square of the sum of weight[rank] * relevance[rank], exact.

    Forward over the ranks; per number of relevant documents drawn so far the probability, and the
    mean and mean square of the sum on that event.
    """
    states = min(n_relevant, weight.size) + 1
    chance, first, second = np.zeros(states), np.zeros(states), np.zeros(states)
    chance[0] = 1.0
    for rank in range(min(weight.size, n_documents)):
        gain = weight[rank]
        for c in range(min(rank, states - 1), -1, -1):
            p = relevant_chance(n_relevant - c, n_documents - n_relevant - rank + c, odds)
            if p > 0.0:  # never true in the last state, where no relevant document is left
                chance[c + 1] += p * chance[c]
                first[c + 1] += p * (first[c] + gain * chance[c])
                second[c + 1] += p * (second[c] + 2.0 * gain * first[c] + gain**2 * chance[c])
            chance[c] *= 1.0 - p
            first[c] *= 1.0 - p
            second[c] *= 1.0 - p
    return first.sum(), second.sum()


@numba.njit(cache=True, nogil=True)
def mixed_moments(n_documents, number_chance, odds, weight):
    """Mean and mean square where the number of relevant documents M has these probabilities."""
    mean, square = 0.0, 0.0
    for n_relevant in range(n_documents + 1):
        if number_chance[n_relevant] > 1e-20:
            one = contribution_moments(n_documents, n_relevant, odds, weight)
            mean += number_chance[n_relevant] * one[0]
            square += number_chance[n_relevant] * one[1]
    return mean, square


@numba.njit(cache=True, nogil=True)
def simulated_means(rng, n_replicates, n_topics, n_documents, probability, odds, weight):
    """Mean over topics of the weighted relevances of drawn lists, per replicate."""
    out = np.zeros(n_replicates)
    for replicate in range(n_replicates):
        for _ in range(n_topics):
            left = rng.binomial(n_documents, probability)
            other = n_documents - left
            for rank in range(min(weight.size, n_documents)):
                if rng.random() < relevant_chance(left, other, odds):
                    left -= 1
                    out[replicate] += weight[rank]
                else:
                    other -= 1
        out[replicate] /= n_topics
    return out
