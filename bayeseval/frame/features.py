"""Features of a document that the sample cannot change: what its ranks in the runs say."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayeseval.frame.sample import Sample
from bayeseval.processors import on_blocks, one_blas_thread


def discount(depth: int, reach: int = 0) -> NDArray[np.float64]:
    r"""Discount of rank 0 (not retrieved), 1, ..., depth, and of anything deeper.

    .. math:: g(rank) = 1 - \frac{\log rank}{\log(1 + \max(depth, reach))}

    and 0 where the run did not retrieve the document. With a ``reach`` beyond the depth the last
    document of a short list still differs from one that is not in it, which may lie far below.

    Examples
    --------
    >>> discount(3).round(3), discount(3, reach=10).round(3)
    (array([0.   , 1.   , 0.5  , 0.208, 0.   ]), array([0.   , 1.   , 0.711, 0.542, 0.   ]))
    """
    values = np.zeros(depth + 2)
    logs = np.log(np.arange(1, depth + 1))
    values[1 : depth + 1] = 1.0 - logs / np.log1p(max(depth, reach))
    return values


def bow(discounted: NDArray[np.float64]) -> NDArray[np.float64]:
    """Parabola over a discount: 0 where it is 0 or 1, and 1 half-way.

    Examples
    --------
    >>> bow(discount(3)).round(3)
    array([0.   , 0.   , 1.   , 0.658, 0.   ])
    """
    return 4.0 * discounted * (1.0 - discounted)


def log_ranks(fused_rank: NDArray[np.integer]) -> NDArray[np.float64]:
    """1, x and x squared (frame_pair, 3) with x the log of the fused rank less its mean."""
    log_rank = np.log(fused_rank.astype(float))
    x = log_rank - (log_rank.mean() if log_rank.size else 0.0)
    return np.column_stack([np.ones(x.size), x, x**2])


@dataclass(frozen=True, eq=False)
class RankFeatures:
    """Features of frame pairs, made by blocks of topics from a few sums over the whole frame."""

    sample: Sample  # with the ranks of its pairs
    log_rank_mean: float  # of the fused rank
    of_rank: NDArray[np.float64]  # (rank,): discount of rank 0 (not retrieved), 1, ...
    # columns of the runs, sorted by their content, so that the order of the runs changes no digit
    # of a fit
    run: NDArray[np.int64]
    best_mean: NDArray[np.float64]  # (feature,)
    run_mean: NDArray[np.float64]  # (run,)
    direction: NDArray[np.float64]  # (run, component), by the spread along the first

    @classmethod
    def of(cls, sample: Sample, n_components: int) -> "RankFeatures":
        """Features of a sample, with components 2, 3, ... of those of its runs."""
        blocks = list(sample.blocks()) or [slice(0, 0)]
        depth = max(on_blocks(_deepest, (sample.run_rank,), blocks, "ranks of documents"))
        run, of_rank = by_content(sample), discount(depth)
        known = sample.run_rank, run, of_rank
        parts = on_blocks(_rank_sums, known, blocks, "features of documents")
        best, total, square = (
            np.sum(part, axis=0) / max(sample.n_pairs, 1) for part in zip(*parts, strict=True)
        )
        direction = component_directions(square - np.outer(total, total), n_components)
        log_rank = np.log(sample.fused_rank.astype(float))
        mean = float(log_rank.mean()) if log_rank.size else 0.0
        return cls(sample, mean, of_rank, run, best, total, direction)

    @property
    def n_columns(self) -> int:
        """Number of columns that all topics share."""
        return 3 + self.best_mean.size + self.run.size

    def ranks(self, rows: slice) -> NDArray[np.float64]:
        """1, x and x squared (frame_pair, 3), as :func:`log_ranks`, of a block of rows."""
        x = np.log(self.sample.fused_rank[rows].astype(float)) - self.log_rank_mean
        return np.column_stack([np.ones(x.size), x, x**2])

    def best_ranks(self, rows: slice) -> NDArray[np.float64]:
        """Log of the best, 2nd, 4th, 8th, ... best rank over the runs, less its mean.

        A document that a run did not retrieve counts as one below the deepest rank of any run.
        """
        return log_best_ranks(self.sample.run_rank[rows], self.of_rank.size - 1) - self.best_mean

    def runs(self, rows: slice) -> NDArray[np.float64]:
        """Discounted rank of the documents in every run (frame_pair, contributing_run)."""
        return self.of_rank[self.sample.run_rank[rows][:, self.run]]

    def components(self, runs: NDArray[np.float64]) -> NDArray[np.float64]:
        """Where the runs disagree, by their features: principal components 2, 3, ..."""
        return (runs - self.run_mean) @ self.direction


def _deepest(run_rank: Any, rows: slice) -> int:
    return int(run_rank[rows].max(initial=1))


def _rank_sums(run_rank: Any, run, of_rank, rows: slice) -> tuple[NDArray[np.float64], ...]:
    """Sums over a block of rows: of logs of best ranks, and of runs' discounts and their products.

    The discounts are ``of_rank`` of the runs' ranks, in the order of ``run``.
    """
    ranks = run_rank[rows]
    runs = of_rank[ranks[:, run]]
    best = log_best_ranks(ranks, of_rank.size - 1)
    return best.sum(axis=0), runs.sum(axis=0), runs.T @ runs


def by_content(sample: Sample) -> NDArray[np.int64]:
    """Runs in the order of what they rank, as bytes, whatever order they come in."""
    place = np.zeros(sample.n_runs, dtype=np.int64)
    for rows in sample.blocks():
        ranks = sample.run_rank[rows]
        keys = [(place[run], ranks[:, run].tobytes()) for run in range(sample.n_runs)]
        order = {key: number for number, key in enumerate(sorted(set(keys)))}
        place = np.array([order[key] for key in keys], dtype=np.int64)
        if len(order) == sample.n_runs:
            break
    return np.argsort(place, kind="stable")


def log_best_ranks(run_rank: NDArray[np.integer], absent_rank: int) -> NDArray[np.float64]:
    """Logs of the best, 2nd, 4th, 8th, ... best rank over the runs (pair, feature).

    A document that a run did not retrieve, or retrieved below it, has ``absent_rank`` there.

    Examples
    --------
    >>> log_best_ranks(np.array([[1, 9, 0]]), 20).round(2)
    array([[0. , 2.2]])
    """
    rank = np.where(run_rank > 0, np.minimum(run_rank, absent_rank), absent_rank)
    n_features = int(run_rank.shape[1]).bit_length()
    return np.log(np.sort(rank, axis=1)[:, 2 ** np.arange(n_features) - 1])


@one_blas_thread()
def component_directions(covariance: NDArray[np.float64], n_components: int) -> NDArray[np.float64]:
    """Directions (run, component) along which runs disagree: principal components 2, 3, ...

    The first component is how well the runs rank the document on the whole, which the fused rank
    says already; it only sets the scale: all are divided by its standard deviation.
    """
    direction, spread = principal_directions(covariance, 1 + n_components)
    return direction[:, 1:] / spread[:1]


def principal_directions(
    covariance: NDArray[np.float64], n_components: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Leading principal directions (run, component), and the standard deviations along them.

    The one that varies most comes first; directions along which next to nothing varies are left
    out; the largest entry of each is positive.

    Examples
    --------
    >>> direction, spread = principal_directions(np.diag([0.01, 0.04, 0.0]), 3)
    >>> direction.T.tolist(), spread.tolist()
    ([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]], [0.2, 0.1])
    """
    size, direction = np.linalg.eigh(covariance)
    leading = np.argsort(-size)[:n_components]
    kept = leading[size[leading] > 1e-9]  # of a variance of at most 1/4
    rotation = direction[:, kept]
    if not kept.size:
        return rotation, np.zeros(0)
    largest = np.abs(rotation).argmax(axis=0)
    sign = np.sign(rotation[largest, np.arange(kept.size)])
    return rotation * sign, np.sqrt(size[kept])
