"""The mode of a log density of hyperparameters, and points about it that stand for them all."""

from abc import ABC, abstractmethod
from functools import cache, cached_property, partial

import numpy as np
from numpy.typing import NDArray

DRAWS_PER_POINT = 8
MOST_STEPS = 200  # of the search; samples need 10 to 50
STEP = 1e-4  # of the differences that give the curvature; the least standard deviation is about .1
CLIFF = 2.0  # fall of the log density at a point, by that of a normal one; samples have .3 to 1.8
WIDEST_SD = 10.0  # of any direction: where the data say nothing, the priors' widest
MOST_HALVINGS = 50  # of a step beyond it, which then is next to none


class Mode(ABC):
    """Hyperparameters where their density is largest."""

    hyper: NDArray[np.float64]  # (hyperparameter,): where they are set
    converged: bool  # whether they were found
    log_density: float  # of hyperparameters and data there, up to a constant

    @property
    @abstractmethod
    def n_hyper(self) -> int:
        """Number of directions in which the hyperparameters move."""

    @property
    def _moving(self) -> NDArray[np.int64]:
        """Positions of the hyperparameters that move, as many as directions or more."""
        return np.arange(self.n_hyper)

    @abstractmethod
    def _loss(self, hyper: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        """Minus the log density, and its gradient."""

    def _search(self, start: NDArray[np.float64], unit: NDArray[np.float64]) -> None:
        """Set the hyperparameters, by coordinates along the columns of ``unit``."""
        from scipy.optimize import minimize

        def loss(place):
            value, gradient = self._loss(unit @ place)
            return value, unit.T @ gradient

        options = {"maxiter": MOST_STEPS, "ftol": 1e-8, "gtol": 1e-3}
        search = partial(minimize, loss, jac=True, method="L-BFGS-B", options=options)
        found = search(np.linalg.solve(unit, start))
        if not found.success:  # mostly a line search that failed: once more from there
            found = search(found.x)
        self.converged = bool(found.success)
        self.hyper, self.log_density = unit @ found.x, -found.fun

    @cached_property
    def _root(self) -> NDArray[np.float64]:
        """Root of the inverse curvature (hyperparameter that moves, direction).

        Where more move than there are directions, those are left out in which the
        hyperparameters, in units of their own, vary least.
        """
        moving = self._moving
        hessian = np.empty((moving.size, moving.size))
        here = self._loss(self.hyper)[1]
        for column, step in enumerate(STEP * np.eye(self.hyper.size)[moving]):
            hessian[:, column] = (self._loss(self.hyper + step)[1] - here)[moving] / STEP
        value, vector = np.linalg.eigh(0.5 * (hessian + hessian.T))
        root = vector / np.sqrt(np.maximum(value, 1.0 / (WIDEST_SD) ** 2))
        return root @ vector.T if moving.size == self.n_hyper else root[:, : self.n_hyper]

    def _placed(self, along: NDArray[np.float64]) -> NDArray[np.float64]:
        """Hyperparameters in a direction from the mode, where the topics' effects stand then.

        A density that falls far faster than its curvature at the mode tells, as where no topic has
        a second relevant document, is not left: the step is halved until it has fallen little more.
        """
        step = self._root @ along
        for _ in range(MOST_HALVINGS):
            hyper = self.hyper.copy()
            hyper[self._moving] += step
            if self._loss(hyper)[0] + self.log_density <= CLIFF * self.n_hyper / 2.0:
                break
            step *= 0.5
        return hyper


@cache
def points(n: int) -> NDArray[np.float64]:
    """2 n points in n dimensions with mean 0 and unit covariance, (point, dimension)."""
    grid = np.arange(n)
    rotation = np.cos(np.pi * (grid[:, None] + 0.5) * grid / n) * np.sqrt(2.0)
    rotation[:, 0] = 1.0
    return np.concatenate([rotation, -rotation])


@cache
def draw_directions(n: int, number: int) -> NDArray[np.float64]:
    """Where n hyperparameters stand, in standard deviations, in each draw (draw, direction).

    Mean 0, unit covariance, and no correlation with those of the two other levels (a fourth level
    has the signs of the first again).
    """
    half = points(n)[:n]
    signs = ((1, -1, 1, -1), (1, -1, -1, 1), (1, 1, -1, -1))[number % 3]
    return np.repeat(np.concatenate([sign * half for sign in signs]), DRAWS_PER_POINT, axis=0)


@cache
def sequence(n: int, number: int) -> NDArray[np.float64]:
    """Evenly spread points in the unit square (point, 2): multiples of irrational steps."""
    root = 1.1127756842787055  # x^7 = x + 1: steps for three independent squares
    step = root ** -np.arange(1.0, 7.0)[2 * (number % 3) : 2 * (number % 3) + 2]
    return (0.5 + np.outer(np.arange(1, n + 1), step)) % 1.0
