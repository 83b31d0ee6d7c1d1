"""Prior of the departures, learned from all runs that a model did not learn from."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

LEVEL = np.linspace(-6.0, 10.0, 65)
SLOPE = np.linspace(-4.0, 8.0, 49)
FAR = 3.0  # standard deviation of the departures of runs unlike all others
FAR_CENTRE = 1.0  # as of dual runs; with it rare relevance is likelier where no judgment tells
# Normal priors (mean, sd) of what is learned: means of level and slope, logs of their standard
# deviations, log odds of being unlike all others
HYPERPRIOR = np.array([[0.0, 1.0], [0.0, 1.0], [-0.7, 1.0], [-0.7, 1.0], [-2.0, 1.0]])


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
        chosen = np.searchsorted(weight, uniform[0] * weight[-1])
        chosen = np.minimum(chosen, weight.size - 1)
        level = self.level[chosen] + self.step[0] * (uniform[1] - 0.5)
        return level, self.slope[chosen] + self.step[1] * (uniform[2] - 0.5)


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
    found = minimize(loss, start, method="Nelder-Mead", options=options)
    return _prior(found.x, grid)


def _prior(values: NDArray, grid: Grid) -> NDArray[np.float64]:
    """Log prior (grid point,) under the numbers that are learned."""
    from scipy.special import log_expit

    near = grid.normal(values[:2], np.exp(values[2:4]))
    far = grid.normal((FAR_CENTRE, FAR_CENTRE), (FAR, FAR))
    return np.logaddexp(log_expit(-values[4]) + near, log_expit(values[4]) + far)


def _normalised(log_weight: NDArray) -> NDArray[np.float64]:
    """Log weights whose exponentials add up to 1."""
    top = log_weight.max()
    return log_weight - top - np.log(np.exp(log_weight - top).sum())
