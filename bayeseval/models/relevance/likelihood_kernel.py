"""Log likelihood of many draws in one pass (compiled; import inside functions)."""

import numba
import numpy as np

ROWS = 64  # factors between 1 and 2 whose product is taken before its logarithm


@numba.njit(cache=True, nogil=True)
def residuals(relevance, number, logit, small):
    """Log likelihood (draw,); relevance less its probability is written in place of ``small``.

    ``logit`` and ``small``, the exponential of minus its size, are (topic, row, draw),
    ``relevance`` (topic, row). The first ``number`` rows of a topic count, other residuals are 0.
    log(1 + exp x) is max(x, 0) + log(1 + exp -|x|), whose last part is the logarithm of a product.
    """
    n_topics, n_rows, n_draws = logit.shape
    likelihood = np.zeros(n_draws)
    product = np.ones(n_draws)
    for topic in range(n_topics):
        for row in range(number[topic]):
            known = relevance[topic, row]
            for draw in range(n_draws):
                x, e = logit[topic, row, draw], small[topic, row, draw]
                likelihood[draw] += known * x - max(x, 0.0)
                product[draw] *= 1.0 + e
                small[topic, row, draw] = known - (1.0 if x > 0.0 else e) / (1.0 + e)
            if row % ROWS == ROWS - 1 or row == number[topic] - 1:
                likelihood -= np.log(product)
                product[:] = 1.0
        small[topic, number[topic] :] = 0.0
    return likelihood
