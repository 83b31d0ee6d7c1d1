"""Features of a document that the sample cannot change: what its ranks in the runs say."""

import numpy as np
from numpy.typing import NDArray

from bayeseval.frame.sample import Sample
from bayeseval.processors import one_blas_thread


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


def run_features(sample: Sample) -> NDArray[np.float64]:
    """Discounted rank of the document in every run (frame_pair, contributing_run).

    The columns are sorted by their content, so that the order of the runs changes no digit of a
    fit.
    """
    depth = max(int(sample.run_rank.max(initial=0)), 1)
    runs = sorted(range(sample.n_runs), key=lambda run: sample.run_rank[:, run].tobytes())
    return discount(depth)[sample.run_rank[:, runs]]


def best_rank_features(sample: Sample) -> NDArray[np.float64]:
    """Log of the best, 2nd, 4th, 8th, ... best rank over the runs, less its mean.

    A document that a run did not retrieve counts as one below the deepest rank of any run.
    """
    best = log_best_ranks(sample.run_rank, int(sample.run_rank.max(initial=0)) + 1)
    return best - best.mean(axis=0, keepdims=True)


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
def component_features(runs: NDArray[np.float64], n_components: int) -> NDArray[np.float64]:
    """Where the runs disagree: principal components 2, 3, ... of their features over the frame.

    The first component is how well the runs rank the document on the whole, which the fused rank
    says already; it only sets the scale: all components are divided by its standard deviation.
    """
    centred = runs - runs.mean(axis=0, keepdims=True)
    direction, spread = principal_directions(
        centred.T @ centred / max(len(runs), 1), 1 + n_components
    )
    if not spread.size:
        return np.zeros((len(runs), 0))
    return centred @ direction[:, 1:] / spread[0]


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
