"""How far the runs agree on a document: its best ranks over the runs, and how many found it."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bayeseval.frame.features import log_best_ranks, principal_directions

SMALLEST_SD = 1e-6  # of a column that the fused rank does not say already
N_FEW = 3  # columns of documents that no run or one run found
RAREST_SD = 0.1  # what is rarer is not stretched further: its effect is hardly seen


@dataclass(frozen=True, eq=False)
class Agreement:
    r"""How best ranks and the number of runs become predictors; fixed once, by the frame.

    Of a document: the logs of the best, 2nd, 4th, 8th, ... best of its ranks over the runs, where a
    run that did not retrieve it counts as one below the deepest rank of any run, and
    :math:`\log(1 + n)` with n the number of runs that retrieved it. Each is taken with mean 0 and
    standard deviation 1, and beside them their squares, the products of the ranks with the number
    of runs, whether no run found the document, whether one alone did, and its best rank there; all
    less their regression on the log of the fused rank and its square, and rotated to principal
    components. A document at the top of one run that no other run found has the fused rank of one
    that many runs place in the middle: these columns tell the two apart. What no run found was
    judged for another reason, such as for runs that are not here, and one found by a single run is
    no step from there to one found by two.

    Parameters
    ----------
    absent_rank : int
        Rank where a run did not retrieve the document.
    mean, sd : float array (feature,)
        Over the frame, weighed as in :class:`bayeseval.frame.scale.RankScale`; an sd of a feature
        that does not vary is infinite.
    square_mean, square_sd : float array (square,)
        Means of squares, products and the three columns of few runs, and what they are divided by:
        1 but for the last three.
    slope : float array (2, column)
        Regression of features, squares and products on the log rank and its curve.
    rotation : float array (column, agreement)
        Principal directions of what is left.
    left_sd : float array (2,)
        Standard deviation of what is left of the log of the best rank and of the number of runs;
        infinite where nothing is.
    """

    absent_rank: int
    mean: NDArray[np.float64]
    sd: NDArray[np.float64]
    square_mean: NDArray[np.float64]
    square_sd: NDArray[np.float64]
    slope: NDArray[np.float64]
    rotation: NDArray[np.float64]
    left_sd: NDArray[np.float64]

    @classmethod
    def of(
        cls,
        best: NDArray[np.float64],
        absent_rank: int,
        shape: NDArray[np.float64],
        weight: NDArray[np.float64],
    ) -> "Agreement":
        """Predictors from the features of the frame.

        Parameters
        ----------
        best : float array (frame_pair, feature)
            Of :func:`best_ranks`.
        absent_rank : int
        shape : float array (frame_pair, 2)
            Log rank and its curve: uncorrelated, with mean 0 and standard deviation 1.
        weight : float array (frame_pair,)
            Of the pairs in means; their sum is 1.
        """
        mean = weight @ best
        sd = np.sqrt(weight @ (best - mean) ** 2)
        sd[sd < SMALLEST_SD] = np.inf
        scaled = (best - mean) / sd
        squares = _squares(best, scaled)
        square_mean = weight @ squares
        square_sd = np.ones(square_mean.size)
        rare = np.sqrt(weight @ (squares - square_mean)[:, -N_FEW:] ** 2)
        square_sd[-N_FEW:] = np.where(rare > SMALLEST_SD, np.maximum(rare, RAREST_SD), np.inf)
        columns = np.column_stack([scaled, (squares - square_mean) / square_sd])
        slope = (shape * weight[:, None]).T @ columns
        left = columns - shape @ slope
        rotation, _ = principal_directions((left * weight[:, None]).T @ left, left.shape[1])
        own = np.sqrt(weight @ left[:, [0, best.shape[1] - 1]] ** 2)
        own[own < SMALLEST_SD] = np.inf
        return cls(absent_rank, mean, sd, square_mean, square_sd, slope, rotation, own)

    def predictors(
        self, run_rank: NDArray[np.integer], shape: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Components (pair, agreement), and what best rank and number of runs leave (pair, 2)."""
        best = best_ranks(run_rank, self.absent_rank)
        scaled = (best - self.mean) / self.sd
        squares = (_squares(best, scaled) - self.square_mean) / self.square_sd
        columns = np.column_stack([scaled, squares])
        left = columns - shape @ self.slope
        return left @ self.rotation, left[:, [0, scaled.shape[1] - 1]] / self.left_sd


def best_ranks(run_rank: NDArray[np.integer], absent_rank: int) -> NDArray[np.float64]:
    """Logs of the best, 2nd, 4th, ... best rank, and of 1 + the number of runs (pair, feature).

    Examples
    --------
    >>> best_ranks(np.array([[1, 9, 0]]), 20).round(2)
    array([[0. , 2.2, 1.1]])
    """
    n_runs = (run_rank > 0).sum(axis=1)
    return np.column_stack([log_best_ranks(run_rank, absent_rank), np.log1p(n_runs)])


def _squares(best: NDArray[np.float64], scaled: NDArray[np.float64]) -> NDArray[np.float64]:
    """Squares of the features, products of ranks and number of runs, and columns of few runs."""
    n_runs = np.rint(np.expm1(best[:, -1]))
    alone = (n_runs == 1.0).astype(float)
    few = np.column_stack([n_runs == 0.0, alone, alone * scaled[:, 0]])
    return np.column_stack([scaled**2, scaled[:, :-1] * scaled[:, -1:], few])
