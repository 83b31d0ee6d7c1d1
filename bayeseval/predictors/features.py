"""Features of a document that the sample cannot change: its ranks, and external values."""

import numpy as np
from numpy.typing import NDArray

from bayeseval.frame.sample import Sample

FEW_LABELS = 20


def rank_features(sample: Sample) -> NDArray[np.float64]:
    """1, x and x squared (frame_pair, 3) with x the log of the fused rank less its mean."""
    log_rank = np.log(sample.fused_rank.astype(float))
    x = log_rank - (log_rank.mean() if log_rank.size else 0.0)
    return np.column_stack([np.ones(x.size), x, x**2])


def run_features(sample: Sample) -> NDArray[np.float64]:
    r"""Discounted rank of the document in every run (frame_pair, contributing_run).

    .. math:: g(rank) = 1 - \frac{\log rank}{\log(1 + depth)}

    with depth the deepest rank of any run; 0 where the run did not retrieve the document. The
    columns are sorted by their content, so that the order of the runs changes no digit of a fit.
    """
    depth = max(int(sample.run_rank.max(initial=0)), 1)
    discount = np.zeros(depth + 1)
    discount[1:] = 1.0 - np.log(np.arange(1, depth + 1)) / np.log1p(depth)
    runs = sorted(range(sample.n_runs), key=lambda run: sample.run_rank[:, run].tobytes())
    return discount[sample.run_rank[:, runs]]


def best_rank_features(sample: Sample) -> NDArray[np.float64]:
    """Log of the best, 2nd, 4th, 8th, ... best rank over the runs, less its mean.

    A document that a run did not retrieve counts as one below the deepest rank of any run.
    """
    n_features = int(sample.n_runs).bit_length()
    rank = np.where(sample.run_rank > 0, sample.run_rank, sample.run_rank.max(initial=0) + 1)
    best = np.sort(rank, axis=1)[:, 2 ** np.arange(n_features) - 1]
    return np.log(best) - np.log(best).mean(axis=0, keepdims=True)


def component_features(runs: NDArray[np.float64], n_components: int) -> NDArray[np.float64]:
    """Where the runs disagree: principal components 2, 3, ... of their features over the frame.

    The first component is how well the runs rank the document on the whole, which the fused rank
    says already; it only sets the scale: all components are divided by its standard deviation.
    """
    n_components = max(min(n_components, runs.shape[1] - 1), 0)
    centred = runs - runs.mean(axis=0, keepdims=True)
    size, direction = np.linalg.eigh(centred.T @ centred / max(len(runs), 1))
    if not n_components or size[-1] <= 0:
        return np.zeros((len(runs), 0))
    return centred @ direction[:, -2 : -2 - n_components : -1] / np.sqrt(size[-1])


def value_features(values: NDArray[np.float64] | None, n_pairs: int) -> NDArray[np.float64]:
    """Features (frame_pair, feature) of an external prediction, none where there is none.

    Up to 20 different values are labels, each a column of its own. More are numbers: the value
    with mean 0 and standard deviation 1, its square, and whether it is missing.
    """
    if values is None:
        return np.zeros((n_pairs, 0))
    known = ~np.isnan(values)
    labels = np.unique(values[known])
    if labels.size <= FEW_LABELS:
        return (values[:, None] == labels).astype(float)
    spread = values[known].std()
    scaled = np.where(known, (values - values[known].mean()) / spread, 0.0)
    return np.column_stack([scaled, scaled**2, ~known])
