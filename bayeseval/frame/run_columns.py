"""Columns of documents that the ranks in the runs give, less what the fused rank says already."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bayeseval.frame.features import principal_directions


@dataclass(frozen=True, eq=False)
class RunColumns:
    """Functions of the rank in every run, less their regression on the fused rank, rotated.

    A column is a function and a run; those of the first function come first.
    """

    # (rank, function): values at rank 0 (not retrieved), 1, ..., the depth, and anything deeper
    of_rank: NDArray[np.float64]
    mean: NDArray[np.float64]  # (column,), over the frame
    # (2, column): regression on log rank and curve of the fused rank, which are uncorrelated, with
    # mean 0 and standard deviation 1
    slope: NDArray[np.float64]
    # (column, component): principal directions, the one that varies most first; the largest entry
    # of each is positive
    rotation: NDArray[np.float64]
    spread: NDArray[np.float64]  # (component,): standard deviations

    def components(
        self, run_rank: NDArray[np.integer], shape: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Components (row, component) by the ranks in runs (row, run) and the shape (row, 2)."""
        values = run_values(self.of_rank, np.minimum(run_rank, len(self.of_rank) - 1))
        return (values - self.mean - shape @ self.slope) @ self.rotation


def run_values(of_rank: NDArray[np.float64], run_rank: NDArray[np.integer]) -> NDArray[np.float64]:
    """Values (row, column) of functions of the rank (rank, function) at some ranks (row, run).

    Examples
    --------
    >>> run_values(np.array([[0.0, 0.0], [1.0, 5.0], [0.5, 5.0]]), np.array([[2, 0]]))
    array([[0.5, 0. , 5. , 0. ]])
    """
    return np.concatenate([values[run_rank] for values in of_rank.T], axis=1)


class Moments:
    """Sums over the frame that :class:`RunColumns` are made from, topic by topic.

    Examples
    --------
    >>> moments = Moments(np.array([[0.0], [1.0], [0.5], [0.0]]), n_runs=2)
    >>> run_rank, fused_rank = np.array([[1, 2], [2, 1], [0, 0]]), np.array([1, 2, 3])
    >>> moments.add(run_rank, 1.0 / fused_rank, np.log(fused_rank))
    >>> columns = moments.columns(np.zeros((3, 2)), n_components=1)
    >>> columns.rotation.round(2).tolist(), columns.spread.round(2)
    ([[0.85], [0.53]], array([0.41]))
    """

    def __init__(self, of_rank: NDArray[np.float64], n_runs: int) -> None:
        self._of_rank = of_rank
        n_columns = of_rank.shape[1] * n_runs
        self._powers = np.zeros((3, n_columns))  # with 1, the log of the fused rank, and its square
        self._product = np.zeros((n_columns, n_columns))
        self._weight = 0.0

    def add(self, run_rank: NDArray, weight: NDArray, log_rank: NDArray) -> None:
        """Documents of one topic: ranks (row, run), weights and logs of fused ranks (row,)."""
        values = run_values(self._of_rank, run_rank)
        weighted = values * weight[:, None]
        self._powers += np.stack([np.ones(log_rank.size), log_rank, log_rank**2]) @ weighted
        self._product += weighted.T @ values
        self._weight += float(weight.sum())

    def columns(self, powers: NDArray[np.float64], n_components: int) -> RunColumns:
        """Columns with at most ``n_components`` components.

        ``powers`` (3, 2) are log rank and curve, scaled, in terms of 1, the log of the rank, and
        its square.
        """
        mean = self._powers[0] / self._weight
        slope = powers.T @ self._powers / self._weight
        left = self._product / self._weight - np.outer(mean, mean) - slope.T @ slope
        rotation, spread = principal_directions(left, n_components)
        return RunColumns(self._of_rank, mean, slope, rotation, spread)
