"""External values of documents as features."""

import numpy as np
from numpy.typing import NDArray

FEW_LABELS = 20


def value_features(values: NDArray[np.float64] | None, n_pairs: int) -> NDArray[np.float64]:
    """Features (frame_pair, feature) of external predictions, none where there is none.

    Up to 20 different values are labels, each a column of its own. More are numbers: the value
    with mean 0 and standard deviation 1, its square, and whether it is missing.

    Parameters
    ----------
    values : float array (frame_pair,) or (frame_pair, judge), optional
    n_pairs : int
    """
    if values is None:
        return np.zeros((n_pairs, 0))
    if values.ndim == 2:
        parts = [_features(column) for column in values.T]
        return np.column_stack([np.zeros((n_pairs, 0)), *parts])
    return _features(values)


def _features(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Features (frame_pair, feature) of one judge."""
    known = ~np.isnan(values)
    labels = np.unique(values[known])
    if labels.size <= FEW_LABELS:
        return (values[:, None] == labels).astype(float)
    spread = values[known].std()
    scaled = np.where(known, (values - values[known].mean()) / spread, 0.0)
    return np.column_stack([scaled, scaled**2, ~known])
