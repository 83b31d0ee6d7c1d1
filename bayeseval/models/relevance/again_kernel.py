"""Documents drawn again with another linear predictor (compiled; import inside functions)."""

import numba
import numpy as np


@numba.njit(cache=True, nogil=True)
def codes_again(kept, logit, chance, columns, effect, level, slope, out):
    """Fill ``out`` (row, draw) with the grade of each document, its log odds of relevance moved.

    A document of row r has the log odds ``logit[kept[r]] + columns[r] @ effect`` (draw,), and is
    relevant where its ``chance``, in log odds, is below that. It reaches a higher grade where the
    chance is below the product of relevance and of the steps up to there, which have ``level`` and
    ``slope`` (step, draw) and go with the log odds before they were moved. Most columns of a
    document are 0.
    """
    moved = np.empty(logit.shape[1], dtype=logit.dtype)
    one = moved.dtype.type(1.0)
    for row in range(kept.size):
        # the linear predictor
        for draw in range(moved.size):
            moved[draw] = logit[kept[row], draw]
        for column in range(columns.shape[1]):
            factor = columns[row, column]
            if factor != 0.0:
                for draw in range(moved.size):
                    moved[draw] += factor * effect[column, draw]
        # and what the chance makes of it
        own = chance[kept[row]]
        for draw in range(moved.size):
            out[row, draw] = own[draw] < moved[draw]
        if not level.shape[0]:
            continue
        for draw in range(moved.size):
            if out[row, draw]:
                odds = logit[kept[row], draw]
                share = one / (one + np.exp(-moved[draw]))
                limit = one / (one + np.exp(-own[draw]))
                bend = max(odds, 0 * odds) + np.log1p(np.exp(-abs(odds)))
                for step in range(level.shape[0]):
                    share /= one + np.exp(-level[step, draw] - slope[step, draw] * bend)
                    out[row, draw] += limit < share
