"""Predictors of relevance that the sample cannot change: what a frame's ranks say of a document."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bayeseval.frame.agreement import Agreement, best_ranks
from bayeseval.frame.features import bow, discount
from bayeseval.frame.frame import Frame
from bayeseval.frame.run_columns import Moments, RunColumns
from bayeseval.processors import one_blas_thread
from bayeseval.progress import track

SMALLEST_SD = 1e-6  # of what is no more than rounding
REACH = 1000  # rank, or deeper, where a document is that a run did not retrieve
CURVES = ["bow", "found"]


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
