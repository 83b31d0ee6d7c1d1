"""Short steps of the log odds of a few documents (compiled; import inside functions)."""

import math

import numba
import numpy as np

LEAST = 1e-5  # less is no pull
LARGEST = 700.0  # log odds, for the exponential


@numba.njit(cache=True, nogil=True)
def bounced(relevance, logit, rise, products, step, n_steps):
    """Pulls (wall, draw) added up over a step, and on average over its way.

    ``logit`` and ``rise`` (wall, draw) are where the log odds begin and how fast they change,
    ``products`` (draw, wall, wall) how fast they change by a pull on one of them; ``n_steps``
    (draw,) leapfrog steps make up the ``step``.
    """
    n_walls, n_draws = logit.shape
    kick, mean = np.zeros((n_walls, n_draws)), np.zeros((n_walls, n_draws))
    for draw in range(n_draws):
        here, speed = logit[:, draw].copy(), rise[:, draw].copy()
        short = step / n_steps[draw]
        for number in range(n_steps[draw] + 1):
            time = short if 0 < number < n_steps[draw] else 0.5 * short
            for wall in range(n_walls):
                x = min(max(here[wall], -LARGEST), LARGEST)
                pull = relevance[wall] - 1.0 / (1.0 + math.exp(-x))
                if abs(pull) > LEAST:
                    kick[wall, draw] += time * pull
                    for other in range(n_walls):
                        speed[other] += time * pull * products[draw, wall, other]
            if number < n_steps[draw]:
                for wall in range(n_walls):
                    here[wall] += short * speed[wall]
                    mean[wall, draw] += kick[wall, draw] / n_steps[draw]
    return kick, mean
