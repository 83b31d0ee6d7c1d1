"""Prior of the departures, from all runs that a model was not fitted to, and how alike runs are."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bayeseval.frame.rankings import Rankings

LEVEL = np.linspace(-6.0, 10.0, 65)
SLOPE = np.linspace(-4.0, 8.0, 49)
# Normal priors (mean, sd) of what is learned: means of level and slope, logs of their standard
# deviations, log odds of being unlike all others
HYPERPRIOR = np.array([[0.0, 1.0], [0.0, 1.0], [-0.7, 1.0], [-0.7, 1.0], [-2.0, 1.0]])
POWER = 4  # of the likeness: variants of one system are like each other, most systems hardly


@dataclass(frozen=True, eq=False)
class Grid:
    """Points of level and slope, (grid point,) each."""

    level: NDArray[np.float64]
    slope: NDArray[np.float64]
    step: tuple[float, float]  # distance of neighbours in level and in slope

    @classmethod
    def of_size(cls, level: NDArray = LEVEL, slope: NDArray = SLOPE) -> "Grid":
        """Grid of all levels and slopes."""
        every = np.meshgrid(level, slope, indexing="ij")
        step = float(level[1] - level[0]), float(slope[1] - slope[0])
        return cls(every[0].ravel(), every[1].ravel(), step)

    @classmethod
    def of_levels(cls, level: NDArray = LEVEL) -> "Grid":
        """Grid of all levels, without a slope."""
        return cls(level, np.zeros(level.size), (float(level[1] - level[0]), 0.0))

    def normal(self, mean, sd) -> NDArray[np.float64]:
        """Log probabilities of a normal distribution, independent in level and slope."""
        off = (self.level - mean[0]) / sd[0], (self.slope - mean[1]) / sd[1]
        return _normalised(-0.5 * (off[0] ** 2 + off[1] ** 2))

    def drawn(self, log_weight: NDArray, uniform: NDArray) -> tuple[NDArray, NDArray]:
        """Levels and slopes (draw,), uniform within the cell of a point that is drawn.

        ``uniform`` (3, draw) are random numbers from 0 to 1: for the point, and within the cell.
        """
        weight = np.cumsum(np.exp(_normalised(log_weight)))
        point = np.searchsorted(weight, uniform[0] * weight[-1])
        point = np.minimum(point, weight.size - 1)
        level = self.level[point] + self.step[0] * (uniform[1] - 0.5)
        return level, self.slope[point] + self.step[1] * (uniform[2] - 0.5)


def learned_prior(likelihood: NDArray[np.float64], grid: Grid) -> NDArray[np.float64]:
    r"""Log prior (grid point,) of a departure, where the marginal likelihood of all is largest.

    .. math:: (a, b) \sim (1 - w)\, N(\mu, \mathrm{diag}(s^2)) + w\, N((1, 1), 3^2 I)

    with :math:`\mu`, s and w at the mode of their posterior. Most runs depart a little, and some
    are unlike all others, which one normal distribution cannot say. ``likelihood`` (run, grid
    point) is the log likelihood of every run's judgments.

    Examples
    --------
    >>> grid = Grid.of_size(np.linspace(-2, 2, 9), np.linspace(-2, 2, 9))
    >>> prior = learned_prior(np.zeros((1, 81)), grid)
    >>> bool(np.isclose(np.exp(prior).sum(), 1.0)), prior.argmax()
    (True, np.int64(40))
    """
    from scipy.optimize import minimize
    from scipy.special import logsumexp

    def loss(values: NDArray) -> float:
        evidence = np.asarray(logsumexp(likelihood + _prior(values, grid), axis=1))
        off = (values - HYPERPRIOR[:, 0]) / HYPERPRIOR[:, 1]
        return float(0.5 * off @ off - evidence.sum())

    start = HYPERPRIOR[:, 0]
    simplex = np.vstack([start, start + 0.5 * np.diag(HYPERPRIOR[:, 1])])
    options = {"initial_simplex": simplex, "maxiter": 2000, "xatol": 0.01, "fatol": 0.01}
    fitted = minimize(loss, start, method="Nelder-Mead", options=options)
    return _prior(fitted.x, grid)


def _prior(values: NDArray, grid: Grid) -> NDArray[np.float64]:
    """Log prior (grid point,) under the numbers that are learned."""
    from scipy.special import log_expit

    near = grid.normal(values[:2], np.exp(values[2:4]))
    far = grid.normal((1.0, 1.0), (3.0, 3.0))  # runs unlike all others, such as dual runs
    return np.logaddexp(log_expit(-values[4]) + near, log_expit(values[4]) + far)


def _normalised(log_weight: NDArray) -> NDArray[np.float64]:
    """Log weights whose exponentials add up to 1."""
    top = log_weight.max()
    return log_weight - top - np.log(np.exp(log_weight - top).sum())


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
        # variants among the runs of the model would leave the matrix without an inverse
        of_known = kernel[np.ix_(known, known)] + 1e-6 * np.eye(known.size)
        left = kernel[np.ix_(others, others)] - between.T @ np.linalg.solve(of_known, between)
        share = np.sqrt(np.clip(np.diagonal(left), 0.0, 1.0))
        share = np.where(share > 0.01, share, 0.0)  # less is that of a copy
        size = np.where(share > 0, share, np.inf)
        correlation = left / np.outer(size, size)
        np.fill_diagonal(correlation, 1.0)
        value, vector = np.linalg.eigh(correlation)
        root = vector * np.sqrt(np.maximum(value, 0.0))
        return cls(share, root / np.linalg.norm(root, axis=1, keepdims=True))

    def of_runs(self, runs: NDArray[np.bool_]) -> "Kinship":
        """That of some of the runs."""
        return Kinship(self.share[runs], self.root[runs])

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
    documents = csr_matrix((weight, (run, top[top >= 0])), shape=shape)
    product = (documents @ documents.T).toarray()
    size = np.sqrt(np.diagonal(product))
    size = np.where(size > 0, size, 1.0)
    result = np.clip(product / np.outer(size, size), 0.0, 1.0)
    np.fill_diagonal(result, 1.0)
    return result
