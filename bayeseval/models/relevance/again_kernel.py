"""Documents drawn again with another linear predictor (compiled; import inside functions)."""

import numba
import numpy as np


@numba.njit(cache=True, nogil=True)
def codes_again(kept, logit, chance, columns, effect, cutpoint, out):
    """Fill ``out`` (row, draw) with how many cutpoints each document exceeds, its predictor moved.

    A document of row r has the linear predictor ``logit[kept[r]] + columns[r] @ effect`` (draw,),
    and exceeds a cutpoint (step, draw) where its ``chance``, in log odds, is below what is left of
    that. Most columns of a document are 0.
    """
    moved = np.empty(logit.shape[1], dtype=logit.dtype)
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
            out[row, draw] = 0
        for step in range(cutpoint.shape[0]):
            for draw in range(moved.size):
                out[row, draw] += own[draw] < moved[draw] - cutpoint[step, draw]
