"""Draws with replacement whose every sequence can be listed."""

import numpy as np


def stopped_chances(probability, n_distinct, most_draws=12) -> dict[tuple, float]:
    """Chance of every vector of counts when draws stop at a number of distinct documents.

    By enumeration of the sequences of up to ``most_draws`` draws.
    """
    chances = {}
    alive = {(0,) * len(probability): 1.0}
    for _ in range(most_draws):
        following = {}
        for counts, chance in alive.items():
            for pair, each in enumerate(probability):
                drawn = counts[:pair] + (counts[pair] + 1,) + counts[pair + 1 :]
                done = np.count_nonzero(drawn) == n_distinct
                target = chances if done else following
                target[drawn] = target.get(drawn, 0.0) + chance * each
        alive = following
    return chances
