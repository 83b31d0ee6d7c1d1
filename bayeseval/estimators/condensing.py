"""Rankings without their unjudged documents.

The module compiles with numba on first use and must be imported inside functions.
"""

import numba
import numpy as np


@numba.njit(cache=True, nogil=True)
def condensed_positions(position, place, depth, width):
    """Judged documents of every run, moved up: places (run, rank), -1 after the last one.

    ``place[row]`` numbers the judged documents of the topic and is -1 for the others. Only the
    first ``depth`` ranks are looked at, and the first ``width`` judged documents kept.
    """
    n_runs = position.shape[0]
    out = np.full((n_runs, width), -1, dtype=np.int32)
    for run in range(n_runs):
        found = 0
        for rank in range(min(depth, position.shape[1])):
            if found == width:
                break
            row = position[run, rank]
            if row >= 0 and place[row] >= 0:
                out[run, found] = place[row]
                found += 1
    return out
