"""Loops over the draws of a model of relevance (compiled; import inside functions)."""

import numba
import numpy as np


@numba.njit(cache=True, nogil=True)
def residuals(relevance, number, logit, small):
    """Log likelihood (draw,); relevance less its probability is written in place of ``small``.

    ``logit`` and ``small``, the exponential of minus its size, are (topic, row, draw),
    ``relevance`` (topic, row). The first ``number`` rows of a topic count, other residuals are 0.
    log(1 + exp x) is max(x, 0) + log(1 + exp -|x|), whose last part is the logarithm of a product,
    taken of 64 factors between 1 and 2 at a time.
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
            if row % 64 == 63 or row == number[topic] - 1:
                likelihood -= np.log(product)
                product[:] = 1.0
        small[topic, number[topic] :] = 0.0
    return likelihood


@numba.njit(cache=True, nogil=True)
def codes_again(kept, logit, chance, columns, effect, relevant, out):
    """Fill ``out`` (row, draw) with the grade of each document, its log odds of relevance moved.

    A document of row r has the log odds ``logit[kept[r]] + columns[r] @ effect`` (draw,). Where its
    ``chance``, in log odds, is below that it has the grade ``relevant[kept[r]]``, else 0. Most
    columns of a document are 0.
    """
    moved = np.empty(logit.shape[1], dtype=logit.dtype)
    for row in range(kept.size):
        # the log odds
        for draw in range(moved.size):
            moved[draw] = logit[kept[row], draw]
        for column in range(columns.shape[1]):
            factor = columns[row, column]
            if factor != 0.0:
                for draw in range(moved.size):
                    moved[draw] += factor * effect[column, draw]
        # and what the chance makes of it
        own, grade = chance[kept[row]], relevant[kept[row]]
        for draw in range(moved.size):
            out[row, draw] = grade[draw] if own[draw] < moved[draw] else 0
