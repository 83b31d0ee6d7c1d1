"""How alike the rankings of two runs are."""

import numpy as np
from numpy.typing import NDArray

from bayeseval.frame.rankings import Rankings


def likeness(rankings: Rankings, depth: int) -> NDArray[np.float64]:
    r"""Cosine of what the runs have at their tops, (run, run): 1 of copies, 0 of strangers.

    .. math:: \frac{\sum_d u_{rd} u_{sd}}{\sqrt{\sum_d u_{rd}^2 \sum_d u_{sd}^2}},
              \qquad u_{rd} = 1 - \frac{\log rank_{rd}}{\log(1 + depth)}

    over the documents of all topics. A run that is empty is like itself alone.

    Parameters
    ----------
    rankings : Rankings
    depth : int
        Ranks of each topic that count.

    Returns
    -------
    float array (run, run)

    Examples
    --------
    >>> rankings = Rankings(np.array([[[0, 1]], [[1, 0]], [[2, -1]]]), np.array([0, 3]))
    >>> likeness(rankings, 2).round(2)
    array([[1.  , 0.65, 0.  ],
           [0.65, 1.  , 0.  ],
           [0.  , 0.  , 1.  ]])
    """
    from scipy.sparse import csr_matrix

    top = rankings.top(depth).pair
    run, _, rank = np.nonzero(top >= 0)
    weight = 1.0 - np.log1p(rank) / np.log1p(depth)
    shape = (len(top), rankings.n_pairs)
    found = csr_matrix((weight, (run, top[top >= 0])), shape=shape)
    product = (found @ found.T).toarray()
    size = np.sqrt(np.diagonal(product))
    size = np.where(size > 0, size, 1.0)
    result = np.clip(product / np.outer(size, size), 0.0, 1.0)
    np.fill_diagonal(result, 1.0)
    return result
