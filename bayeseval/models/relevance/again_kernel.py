"""Documents drawn again with other log odds of relevance (compiled; import inside functions)."""

import numba
import numpy as np


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
