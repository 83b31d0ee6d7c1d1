"""Predictors of relevance that the sample cannot change: what a frame's ranks say of a document."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bayeseval.frame.features import bow, discount, log_best_ranks, principal_directions
from bayeseval.frame.frame import Frame
from bayeseval.processors import one_blas_thread
from bayeseval.progress import track

SMALLEST_SD = 1e-6  # of what is no more than rounding
REACH = 1000  # rank, or deeper, where a document is that a run did not retrieve
CURVES = ["bow", "found"]


@dataclass(frozen=True, eq=False)
class Agreement:
    r"""How best ranks and the number of runs become predictors; fixed once, by the frame.

    The features of a document are the logs of the best, 2nd, 4th, 8th, ... best of its ranks over
    the runs, where a run that did not retrieve it counts as one below the deepest rank of any run,
    and :math:`\log(1 + n)` with n the number of runs that retrieved it. Each is scaled to mean 0
    and standard deviation 1. Further columns are their squares, the products of the ranks with the
    number of runs, whether no run retrieved the document, whether one alone did, and its best rank
    there. All columns less their regression on the log of the fused rank and its square are rotated
    to principal components. A document at the top of one run that no other run retrieved has the
    fused rank of one that many runs place in the middle; these columns distinguish the two.

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
        # the last three columns, of documents that no run or one run found; a rarer column is not
        # stretched further, as its effect is hardly seen
        rare = np.sqrt(weight @ (squares - square_mean)[:, -3:] ** 2)
        square_sd[-3:] = np.where(rare > SMALLEST_SD, np.maximum(rare, 0.1), np.inf)
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
        residual = columns - shape @ self.slope
        return residual @ self.rotation, residual[:, [0, scaled.shape[1] - 1]] / self.left_sd


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
        residual = self._product / self._weight - np.outer(mean, mean) - slope.T @ slope
        rotation, spread = principal_directions(residual, n_components)
        return RunColumns(self._of_rank, mean, slope, rotation, spread)


@dataclass(frozen=True, eq=False)
class RankScale:
    r"""How ranks become predictors; fixed once, by the frame and the runs that it was made from.

    All means, regressions and covariances over the frame weigh a pair by 1 / fused rank, so that
    ranks 1 to 10 weigh as much as 100 to 1000: the log of the rank is then spread evenly, no
    predictor is extreme at the top, where most is judged, and what a prior says of a coefficient
    hardly depends on how deep the frame is. Plainly weighed, nearly all pairs of a frame are deep.

    A run's predictor is :math:`g(rank) = 1 - \log rank / \log(1 + \max(depth, 1000))`, 0 where the
    run did not retrieve the document, less its regression on the log of the fused rank and its
    curve: what the run says that the fusion does not. Where lists end at rank 100, say, their last
    documents are still better than what is not in them. Two more bend its line, less the same
    regression: :math:`4 g (1 - g)`, since a reranker puts what is relevant at its very top and
    another run brings as much in the middle; and 1 where the run retrieved the document,
    since lists end where they are still good or long after. The runs agree a lot, so the predictors
    of each kind are rotated to their principal components, of which the leading ones are kept. A
    rotation of coefficients that are independent normal with one variance leaves them so: what is
    lost is only what the last components hold. All predictors of a kind are then uncorrelated,
    which shortens the sampler's way.

    Parameters
    ----------
    depth : int
        Deepest rank of any run.
    log_rank_mean, log_rank_sd, log_rank_skew : float
        Of the log of the fused rank.
    curve_sd : float
        Standard deviation of the square of the scaled log rank, less its regression on it; infinite
        where there are fewer than three ranks.
    tail : float array (4,)
        Of the cube root of the fused rank: mean, slopes on log rank and curve, and the standard
        deviation of what is left.
    lines : RunColumns
        Of g.
    curves : RunColumns
        Of the other two, which have components in common.
    agreement : Agreement
        What the best ranks over the runs say.
    """

    depth: int
    log_rank_mean: float
    log_rank_sd: float
    log_rank_skew: float
    curve_sd: float
    tail: NDArray[np.float64]
    lines: RunColumns
    curves: RunColumns
    agreement: Agreement

    @property
    def first_sd(self) -> float:
        """Standard deviation of the first component; 1 where the fused rank says it all."""
        return float(self.lines.spread[0]) if self.lines.spread.size else 1.0

    def shape_of(self, rank: NDArray) -> NDArray[np.float64]:
        """Log rank, curve and tail (row, 3) of fused ranks: uncorrelated, mean 0 and sd 1."""
        log_rank = (np.log(rank) - self.log_rank_mean) / self.log_rank_sd
        curve = (log_rank**2 - 1.0 - self.log_rank_skew * log_rank) / self.curve_sd
        mean, slope, bend, sd = self.tail
        tail = (np.cbrt(rank) - mean - slope * log_rank - bend * curve) / sd
        return np.column_stack([log_rank, curve, tail])


def rank_functions(depth: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Line (rank, 1) and curves (rank, 2) of a run: at rank 0 (not retrieved) to below the depth.

    Examples
    --------
    >>> line, curves = rank_functions(2)
    >>> line.round(2).tolist(), curves.round(2).tolist()
    ([[0.0], [1.0], [0.9], [0.0]], [[0.0, 0.0], [0.0, 1.0], [0.36, 1.0], [0.0, 0.0]])
    """
    line = discount(depth, REACH)
    return line[:, None], np.column_stack([bow(line), (line > 0.0).astype(float)])


@one_blas_thread()
def rank_scale(frame: Frame, n_components: int, n_curves: int) -> RankScale:
    """Scale of a frame's predictors, with at most so many components of lines and of curves."""
    depth, n_runs = frame.shaping.depth, frame.run.size
    lines, curves = (Moments(values, n_runs) for values in rank_functions(depth))
    parts, best = [], []
    for _, ranks in track(list(frame.topics()), "ranks of the frame"):
        parts.append(ranks.fused_rank[ranks.in_frame])
        run_rank = ranks.run_rank[ranks.in_frame]
        best.append(best_ranks(run_rank, depth + 1))
        for moments in (lines, curves):
            moments.add(run_rank, 1.0 / parts[-1], np.log(parts[-1]))
    rank = np.concatenate(parts)
    weight = 1.0 / rank
    weight /= weight.sum()
    line, tail, shape = _fused_line(rank, weight)
    powers = _powers(*line)
    return RankScale(
        depth,
        *line,
        tail=tail,
        lines=lines.columns(powers, n_components),
        curves=curves.columns(powers, n_curves),
        agreement=Agreement.of(np.concatenate(best), depth + 1, shape, weight),
    )


def _powers(mean: float, sd: float, skew: float, curve_sd: float) -> NDArray[np.float64]:
    """Scaled log rank and curve (3, 2) in terms of 1, the log of the rank, and its square."""
    log_rank = np.array([-mean, 1.0, 0.0]) / sd
    square = np.array([mean**2, -2.0 * mean, 1.0]) / sd**2
    curve = (square - np.array([1.0, 0.0, 0.0]) - skew * log_rank) / curve_sd
    return np.column_stack([log_rank, curve])


def _fused_line(rank: NDArray, weight: NDArray[np.float64]) -> tuple[tuple, NDArray, NDArray]:
    """Mean, sd and skew of log rank, sd of curve; the tail; log rank and curve (frame_pair, 2)."""
    logs = np.log(rank)
    centre = float(weight @ logs)
    spread = _sd(logs - centre, weight)
    log_rank = (logs - centre) / spread
    skew = float(weight @ log_rank**3)
    curve = log_rank**2 - 1.0 - skew * log_rank
    curve_sd = _sd(curve, weight, of_none=np.inf)  # of one rank alone the curve is -1, not 0
    shape = np.column_stack([log_rank, curve / curve_sd])
    cube_root = np.cbrt(rank)
    mean = float(weight @ cube_root)
    slopes = (weight * (cube_root - mean)) @ shape
    tail_sd = _sd(cube_root - mean - shape @ slopes, weight)
    return (centre, spread, skew, curve_sd), np.array([mean, *slopes, tail_sd]), shape


def _sd(centred: NDArray[np.float64], weight: NDArray[np.float64], of_none: float = 1.0) -> float:
    """Standard deviation, or another number where there is none."""
    sd = float(np.sqrt(weight @ (centred - weight @ centred) ** 2))
    return sd if sd > SMALLEST_SD else of_none
