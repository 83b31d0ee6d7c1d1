"""How far runs that a model did not learn from are like those it did, and like each other."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bayeseval.frame.rankings import Rankings

POWER = 4  # of the likeness: variants of one system are like each other, most systems hardly
NUGGET = 1e-6  # variants among the runs of the model would leave the matrix without an inverse
NO_SHARE = 1e-2  # and less is that of a copy


@dataclass(frozen=True, eq=False)
class Kinship:
    r"""Departures as a Gaussian process over runs, 0 where the model has learned from the run.

    With k the fourth power of the likeness of two runs (:func:`likeness`),
    c the runs of the model and r, s others,

    .. math:: \mathrm{Cov}(r, s) = k_{rs} - k_{rc} K_{cc}^{-1} k_{cs}.

    The root of the variance is the ``share`` of a run's departures that is left; the correlations
    go to the random numbers by which the departures of different runs are drawn.

    Parameters
    ----------
    share : float array (run,)
    root : float array (run, number)
        A root of the correlations: rows of length 1.

    References
    ----------
    Rasmussen and Williams, "Gaussian Processes for Machine Learning" (2006), equation 2.19.
    """

    share: NDArray[np.float64]
    root: NDArray[np.float64]

    @classmethod
    def of(cls, likeness: NDArray[np.float64], known: NDArray, others: NDArray) -> "Kinship":
        """Kinship of other runs with those known to the model and with each other, by positions.

        Examples
        --------
        >>> alike = np.array([[1.0, 1.0, 0.8], [1.0, 1.0, 0.8], [0.8, 0.8, 1.0]])
        >>> Kinship.of(alike, np.array([0]), np.array([1, 2])).share.round(2)
        array([0.  , 0.91])
        """
        kernel = likeness**POWER
        between = kernel[np.ix_(known, others)]
        of_known = kernel[np.ix_(known, known)] + NUGGET * np.eye(known.size)
        left = kernel[np.ix_(others, others)] - between.T @ np.linalg.solve(of_known, between)
        share = np.sqrt(np.clip(np.diagonal(left), 0.0, 1.0))
        share = np.where(share > NO_SHARE, share, 0.0)
        size = np.where(share > 0, share, np.inf)
        correlation = left / np.outer(size, size)
        np.fill_diagonal(correlation, 1.0)
        value, vector = np.linalg.eigh(correlation)
        root = vector * np.sqrt(np.maximum(value, 0.0))
        return cls(share, root / np.linalg.norm(root, axis=1, keepdims=True))

    def of_runs(self, chosen: NDArray[np.bool_]) -> "Kinship":
        """That of some of the runs."""
        return Kinship(self.share[chosen], self.root[chosen])

    def uniform(self, n_draws: int, random: np.random.Generator) -> NDArray[np.float64]:
        """Random numbers (run, 3, draw) from 0 to 1, the more the same the more alike runs are."""
        from scipy.special import ndtr

        normal = random.normal(size=(self.root.shape[1], 3 * n_draws))
        return ndtr(self.root @ normal).reshape(-1, 3, n_draws)


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
