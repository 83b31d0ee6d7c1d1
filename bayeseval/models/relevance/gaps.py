"""Cutpoints between grades, as effects of the approximation's regression."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

LEAST_BEND = 0.1  # of the prior, in that of its log at the mode
NEAR = 0.5  # of a gap of the mode


@dataclass(frozen=True, eq=False)
class Gaps:
    r"""What is known of the gaps between cutpoints beside the rows of the regression.

    A document of a middle grade k reaches cutpoint k and misses the next one, :math:`\delta_k`
    above it:

    .. math:: P(grade = v_k) = \sigma(\eta - c_k)\, \sigma(c_{k+1} - \eta)\, (1 - e^{-\delta_k})

    So it stands in two rows of a logistic regression, in which every cutpoint above the first is
    the effect :math:`-c` of a column; what is left is the last factor, and the prior of the gaps.

    Parameters
    ----------
    columns : slice
        Columns of the cutpoints above the first among the common ones.
    number : int array (step,)
        Judged documents of each middle grade.
    mean, spread : float
        Of the log of a gap, a priori.
    """

    columns: slice
    number: NDArray[np.int64]
    mean: float
    spread: float

    @classmethod
    def none(cls) -> "Gaps":
        """Of a model of relevance, which has one cutpoint."""
        return cls(slice(0, 0), np.zeros(0, dtype=np.int64), 0.0, 1.0)

    def start(self) -> NDArray[np.float64]:
        """Effects (step,) of gaps of the prior's median."""
        return -np.exp(self.mean) * np.arange(1.0, self.number.size + 1.0)

    def apart(self, common: NDArray, mode: NDArray) -> NDArray[np.float64]:
        """Common effects (column, draw), with the cutpoints of the mode where others are too near.

        A chain that started from cutpoints that are not in order, or nearly one, would never move.
        """
        found = common.copy()
        wrong = (self.of(common) < NEAR * self.of(mode[:, None])).any(axis=0)
        found[self.columns] = np.where(wrong, mode[self.columns, None], common[self.columns])
        return found

    def of(self, common: NDArray) -> NDArray[np.float64]:
        """Gaps (step, draw) of common effects (column, draw)."""
        effects = common[self.columns]
        return np.concatenate([np.zeros_like(effects[:1]), effects[:-1]]) - effects

    def density(self, common: NDArray) -> tuple[NDArray, NDArray]:
        """Log density (draw,) of what the rows do not hold, and its gradient (step, draw)."""
        gap = self.of(common)
        possible = (gap > 0.0).all(axis=0)
        gap = np.where(gap > 0.0, gap, 1.0)
        log, off = np.log(gap), (np.log(gap) - self.mean) / self.spread
        number = self.number[:, None]
        density = (number * np.log(-np.expm1(-gap)) - log - 0.5 * off**2).sum(axis=0)
        slope = -number * np.exp(-gap) / np.expm1(-gap) - (1.0 + off / self.spread) / gap
        # an effect ends its own gap and begins the next one
        rise = np.concatenate([slope[1:], np.zeros_like(slope[:1])]) - slope
        return np.where(possible, density, -np.inf), rise

    def curvature(self, common: NDArray) -> NDArray[np.float64]:
        """Of minus the log density (step, step), above 0 everywhere, for effects (column,)."""
        gap = self.of(common[:, None])[:, 0]
        off = (np.log(gap) - self.mean) / self.spread
        prior = np.maximum(1.0 - self.spread * off - self.spread**2, LEAST_BEND)
        bend = self.number * np.exp(-gap) / np.expm1(-gap) ** 2 + prior / (self.spread * gap) ** 2
        steps = np.eye(gap.size, k=-1) - np.eye(gap.size)  # of gaps, in effects
        return steps.T @ (bend[:, None] * steps)


def graded_rows(grade: NDArray[np.integer], n_steps: int) -> tuple[NDArray, NDArray, NDArray]:
    """Rows of a logistic regression that say the same as grades 0, ..., n_steps.

    Of each row the position of its document, whether it reaches the cutpoint, and which that is.

    Examples
    --------
    >>> row, reached, cut = graded_rows(np.array([0, 1, 2]), 2)
    >>> row.tolist(), reached.tolist(), cut.tolist()
    ([1, 2, 0, 1], [1.0, 1.0, 0.0, 0.0], [0, 1, 0, 1])
    """
    above, below = np.flatnonzero(grade > 0), np.flatnonzero(grade < n_steps)
    row = np.concatenate([above, below])
    reached = np.repeat([1.0, 0.0], [above.size, below.size])
    return row, reached, np.concatenate([grade[above] - 1, grade[below]])
