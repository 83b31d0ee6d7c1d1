"""First and second moments of the relevances an urn shows, rank by rank.

The module compiles with numba on first use and must be imported inside functions.
"""

import numba
import numpy as np


@numba.njit(cache=True, nogil=True)
def _draw(state, rank, odds, n_documents, n_relevant, following):
    """Probability that the next document is relevant, summed over the states.

    ``state[b]`` is the probability of b relevant documents drawn (together with some event),
    ``following`` receives the states after the draw.
    """
    following[:] = 0.0
    relevant = 0.0
    for b in range(min(rank, n_relevant) + 1):
        left, other = n_relevant - b, odds * (n_documents - n_relevant - rank + b)
        if state[b] == 0.0 or left + other <= 0.0:
            continue
        chance = left / (left + other)
        relevant += chance * state[b]
        following[b] += (1.0 - chance) * state[b]
        if left > 0:
            following[b + 1] += chance * state[b]
    return relevant


@numba.njit(cache=True, nogil=True)
def _add_moments(weight, odds, n_documents, n_relevant, mean, product):
    """Add `weight` times E[x_i] and E[x_i x_j] of an urn with this M."""
    depth = mean.size
    state, after = np.zeros(depth + 2), np.zeros(depth + 2)
    event, next_event = np.zeros(depth + 2), np.zeros(depth + 2)
    state[0] = 1.0
    for rank in range(depth):
        chance = _draw(state, rank, odds, n_documents, n_relevant, after)
        mean[rank] += weight * chance
        product[rank, rank] += weight * chance
        event[:] = 0.0
        for b in range(min(rank, n_relevant - 1) + 1):
            left, other = n_relevant - b, odds * (n_documents - n_relevant - rank + b)
            if left + other > 0.0:
                event[b + 1] = state[b] * left / (left + other)
        for later in range(rank + 1, depth):
            both = weight * _draw(event, later, odds, n_documents, n_relevant, next_event)
            product[rank, later] += both
            product[later, rank] += both
            event, next_event = next_event, event
        state, after = after, state


@numba.njit(cache=True, nogil=True)
def mixed_moments(chance, odds, n_documents, depth):
    """E[x_i] (rank,) and E[x_i x_j] (rank, rank), M having the probabilities `chance` (M,)."""
    mean, product = np.zeros(depth), np.zeros((depth, depth))
    for n_relevant in range(chance.size):
        if chance[n_relevant] > 1e-18:
            _add_moments(chance[n_relevant], odds, n_documents, n_relevant, mean, product)
    return mean, product
