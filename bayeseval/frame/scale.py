"""Predictors of relevance that the sample cannot change: what a frame's ranks say of a document."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bayeseval.frame.agreement import Agreement, best_ranks
from bayeseval.frame.features import discount, principal_directions
from bayeseval.frame.frame import Frame
from bayeseval.frame.rankings import TopicRanks
from bayeseval.progress import track


@dataclass(frozen=True, eq=False)
class RankScale:
    r"""How ranks become predictors; fixed once, by the frame and the runs that it was made from.

    A run's predictor is :math:`g(rank) = 1 - \log rank / \log(1 + depth)`, 0 where the run did not
    retrieve the document, less its regression on the log of the fused rank over the frame: what the
    run says that the fusion does not. The runs agree a lot, so the predictors are rotated to their
    principal components over the frame, of which the leading ones are kept. A rotation of
    coefficients that are independent normal with one variance leaves them so: what is lost is only
    what the last components hold. All predictors are then uncorrelated over the frame, which
    shortens the sampler's way.

    Parameters
    ----------
    depth : int
        Deepest rank of any run.
    log_rank_mean, log_rank_sd, log_rank_skew : float
        Of the log of the fused rank over the frame.
    run_mean, run_slope : float array (run,)
        Mean of g over the frame, and its regression on the scaled log rank.
    rotation : float array (run, component)
        Principal directions, the one that varies most first; the largest entry of each is positive.
    component_sd : float array (component,)
        Standard deviation over the frame of each component.
    tail : tuple of 3 floats
        Mean and slope of the cube root of the fused rank on the scaled log rank over the frame, and
        the standard deviation of what is left.
    agreement : Agreement
        What the best ranks over the runs say.
    """

    depth: int
    log_rank_mean: float
    log_rank_sd: float
    log_rank_skew: float
    run_mean: NDArray[np.float64]
    run_slope: NDArray[np.float64]
    rotation: NDArray[np.float64]
    component_sd: NDArray[np.float64]
    tail: tuple[float, float, float]
    agreement: Agreement

    @property
    def first_sd(self) -> float:
        """Standard deviation of the first component; 1 where the fused rank says it all."""
        return float(self.component_sd[0]) if self.component_sd.size else 1.0

    def log_rank(self, ranks: TopicRanks, rows: NDArray) -> NDArray[np.float64]:
        """Log of the fused rank (row,) with mean 0 and standard deviation 1 over the frame."""
        return (np.log(ranks.fused_rank[rows]) - self.log_rank_mean) / self.log_rank_sd

    def components(self, run_rank: NDArray, log_rank: NDArray) -> NDArray[np.float64]:
        """Components (row, component) of the runs' discounted ranks."""
        deepest = np.minimum(run_rank, self.depth + 1)
        values = discount(self.depth)[deepest] - self.run_mean - np.outer(log_rank, self.run_slope)
        return values @ self.rotation

    def curve(self, log_rank: NDArray[np.float64]) -> NDArray[np.float64]:
        """Square of the log rank, less its regression on the log rank over the frame."""
        return log_rank**2 - 1.0 - self.log_rank_skew * log_rank

    def tail_of(self, log_rank: NDArray[np.float64]) -> NDArray[np.float64]:
        """Cube root of the fused rank less its regression on the log rank, in standard units."""
        mean, slope, sd = self.tail
        cube_root = np.exp((log_rank * self.log_rank_sd + self.log_rank_mean) / 3.0)
        return (cube_root - mean - slope * log_rank) / sd


def rank_scale(frame: Frame, n_components: int) -> RankScale:
    """Scale of the predictors of a frame, with at most ``n_components`` components.

    Examples
    --------
    >>> import pandas as pd, bayeseval as be
    >>> runs = pd.DataFrame({"run": list("aaabbb"), "topic": "1", "document": list("xyzzyx")})
    >>> qrels = pd.DataFrame({"topic": "1", "document": list("xyz"), "grade": [1, 0, 0]})
    >>> collection = be.read_collection(qrels, runs.assign(score=[3, 2, 1] * 2))
    >>> rank_scale(Frame.of_one_sample(collection), 60).depth
    3
    """
    depth, n_runs = frame.shaping.depth, frame.run.size
    total, cross, product = np.zeros(n_runs), np.zeros(n_runs), np.zeros((n_runs, n_runs))
    parts, best = [], []
    for _, ranks in track(list(frame.topics()), "ranks of the frame"):
        parts.append(np.log(ranks.fused_rank[ranks.in_frame]))
        run_rank = ranks.run_rank[ranks.in_frame]
        best.append(best_ranks(run_rank, depth + 1))
        values = discount(depth)[run_rank]
        total += values.sum(axis=0)
        cross += parts[-1] @ values
        product += values.T @ values
    logs = np.concatenate(parts)
    centre, spread = float(logs.mean()), float(logs.std()) or 1.0
    log_rank = (logs - centre) / spread
    mean = total / logs.size
    slope = (cross / logs.size - centre * mean) / spread
    left = product / logs.size - np.outer(mean, mean) - np.outer(slope, slope)
    rotation, component_sd = principal_directions(left, n_components)
    skew = float((log_rank**3).mean())
    shape = np.column_stack([log_rank, log_rank**2 - 1.0 - skew * log_rank])
    agreement = Agreement.of(np.concatenate(best), depth + 1, shape)
    tail = _tail(np.exp(logs / 3.0), log_rank)
    numbers = (depth, centre, spread, skew)
    return RankScale(*numbers, mean, slope, rotation, component_sd, tail, agreement)


def _tail(
    cube_root: NDArray[np.float64], log_rank: NDArray[np.float64]
) -> tuple[float, float, float]:
    """Mean, slope on the log rank, and standard deviation of what is left."""
    mean, slope = float(cube_root.mean()), float(log_rank @ cube_root / log_rank.size)
    left = float((cube_root - mean - slope * log_rank).std())
    return mean, slope, left or 1.0
