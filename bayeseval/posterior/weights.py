"""Weights of the topics in a mean score, under every draw."""

import numpy as np
from numpy.typing import NDArray

BOOTSTRAP_STREAM = 1


def topic_weights(
    judged: NDArray[np.bool_], n_draws: int, seed_word: int, over: str | None, population: str
) -> NDArray[np.float64] | None:
    """Weight of each topic in the mean under each draw (topic, draw); None for no mean.

    Topics without a judgment weigh 0. For the population of topics the weights are those of the
    Bayesian bootstrap, the same for all runs.

    Examples
    --------
    >>> topic_weights(np.array([True, False, True]), 1, 0, "topic", "sample").ravel()
    array([0.5, 0. , 0.5])
    """
    if over is None:
        return None
    weights = np.zeros((judged.size, n_draws))
    if population == "sample":
        weights[judged] = 1.0 / judged.sum()
    else:
        random = np.random.default_rng([seed_word, BOOTSTRAP_STREAM])
        weights[judged] = random.dirichlet(np.ones(judged.sum()), size=n_draws).T
    return weights
