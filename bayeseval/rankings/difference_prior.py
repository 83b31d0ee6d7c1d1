"""A prior on the differences of runs, learned from all of them: how sure a sign is."""

import numpy as np
from numpy.typing import NDArray

# prior variance of a difference over its error variance
SCALES = 4.0 ** np.arange(-2, 7)
PSEUDO_COUNT = 0.1  # of each scale, in independent differences
BINS = 200  # of |z|, for the learning
STEPS = 300
LARGEST = 30.0  # z beyond which a sign is sure

Floats = NDArray[np.floating]


def learned_weights(z: Floats, n_runs: int) -> Floats:
    """Weight (scale,), learned from differences over their standard errors by EM; NaN is left out.

    R runs have R - 1 independent differences, so all pairs together count as that many, beside a
    small number of observations of every scale, which stand in where there are few runs.

    Examples
    --------
    >>> learned_weights(np.array([0.1, -0.2]), 3).argmax()
    np.int64(0)
    """
    observed = np.minimum(np.abs(z[~np.isnan(z)]), LARGEST)
    weight = np.full(SCALES.size, 1.0 / SCALES.size)
    if not observed.size:
        return weight
    count, edge = np.histogram(observed, bins=BINS, range=(0.0, LARGEST))
    likelihood = _likelihood(0.5 * (edge[1:] + edge[:-1]))
    for _ in range(STEPS):
        share = likelihood * weight
        share /= share.sum(axis=1, keepdims=True)
        weight = (n_runs - 1.0) * (count @ share) / observed.size + PSEUDO_COUNT
        weight /= weight.sum()
    return weight


def probability_positive(z: Floats, weight: Floats | None) -> Floats:
    r"""Probability that differences are above 0, given their estimates by standard errors.

    With a flat prior (no weights) it is :math:`\Phi(z)`, which is too sure: many true differences
    among runs are small beside their errors. With weights, of :func:`learned_weights`, a difference
    has a normal prior around 0 whose variance is a multiple k of its error variance,

    .. math:: P(\delta > 0 \mid z) = \sum_k w_k(z)\, \Phi\left(z \sqrt{k / (1 + k)}\right),
        \qquad w_k(z) \propto w_k N(z; 0, 1 + k).

    References
    ----------
    Stephens, "False discovery rates: a new deal", Biostatistics 18 (2017),
    doi:10.1093/biostatistics/kxw041.
    """
    wrong = _wrong_sign(np.abs(z), weight)
    return np.where(z == 0, 0.5, np.where(z < 0, wrong, 1.0 - wrong))


def variance_factor(z: Floats, weight: Floats) -> Floats:
    """Factor on the error variance with which a flat prior is as sure as the learned one."""
    from scipy.special import ndtri

    size = np.clip(np.abs(z), 0.01, LARGEST)
    equivalent = -ndtri(_wrong_sign(size, weight))
    return np.maximum(np.square(size / equivalent), 1.0)


def _wrong_sign(size: Floats, weight: Floats | None) -> Floats:
    """Probability that a difference has the other sign than its estimate."""
    from scipy.special import ndtr

    if weight is None:
        return ndtr(-size)
    size = np.minimum(size, LARGEST)
    share = _likelihood(size) * weight
    share /= share.sum(axis=-1, keepdims=True)
    return (share * ndtr(-size[..., None] * np.sqrt(SCALES / (1.0 + SCALES)))).sum(axis=-1)


def _likelihood(size: Floats) -> Floats:
    """Density of |z| under every scale, up to a factor, (..., scale)."""
    variance = 1.0 + SCALES
    log = -0.5 * (np.log(variance) + np.square(size)[..., None] / variance)
    return np.exp(log - log.max(axis=-1, keepdims=True))
