"""Intervals of bias, variance and error: corrected by an outer bootstrap of the tables' topics."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from bayeseval.collection.choices import check_whole_numbers
from bayeseval.progress import track
from bayeseval.rankings.geometry import SQUARES, Geometry, Request, geometry
from bayeseval.rankings.influence import Influence, influences, topic_counts
from bayeseval.rounding import ratio

QUANTITIES = ("bias", "sigma", "sigma_gold", "mse", "rmse")
INNER = 100  # rankings of an outer sample at most: its distances have no bias, whatever the number
LEAST_BY_TOPIC = 4  # rankings of the tables themselves for each topic

Floats = NDArray[np.floating]


def geometry_interval(
    tables: tuple[Floats, Floats],
    labels: tuple[NDArray, NDArray],
    request: Request,
    *,
    n_outer: int,
    ci_prob: float,
    random: np.random.Generator,
) -> Floats:
    r"""Corrected values and bounds, (quantity, 3): value, lower, upper.

    The bootstrap draws around the means of these topics, which lie further apart than those of the
    population, so that its rankings are too stable. Outer samples of the topics have means still
    further apart, by as much again. Each mean squared distance v is therefore corrected to
    :math:`v^2 / v^*`, v* being its mean over outer samples. The variance of v is the geometric mean
    of that by the influences of the topics (the infinitesimal jackknife), which is too large by
    terms of second order, and of the outer samples' (too small, for their rankings are too stable);
    that of :math:`2 \log v - \log v^*` follows by the slope of v* on v that the outer samples
    show, with the Monte Carlo errors added.

    Bounds of a variance are Student's, of its logarithm; those of b^2 and the MSE, sums of
    distances with signs, are recovered from theirs (:func:`bounds_of_differences`), and so as
    lopsided. Tables (replicate, topic, run) whose labels (topic,) are the same are drawn together.
    """
    from scipy.stats import t as student

    check_whole_numbers(20, n_outer=n_outer)
    tables, paired = _paired(tables, labels)
    sizes = [table.shape[1] for table in tables]
    most = replace(request, n_boot=max(request.n_boot, LEAST_BY_TOPIC * max(sizes)))
    found, drawn = geometry(*tables, most, random)
    influence = _joined(influences(found, drawn, sizes), paired)
    outer = _outer(tables, paired, request, n_outer, random)
    corrected, variance = _corrected(found, influence, outer)
    error = np.sqrt(np.maximum(np.diagonal(variance), 0.0))
    reach = float(student.ppf(0.5 + 0.5 * ci_prob, min(sizes) - 1)) * error
    bounds = bounds_of_differences(corrected, reach, variance)
    bounds[3, 1] = max(bounds[3, 1], min(bounds[3, 0], 0.0))  # an MSE is a mean of squares
    roots = signed_root(np.minimum(bounds, request.squared(np.array(-1.0))))
    return np.stack([roots[0], roots[1], roots[2], roots[3] * np.abs(roots[3]), roots[3]])


def bounds_of_differences(corrected: Floats, reach: Floats, variance: Floats) -> Floats:
    r"""Bounds of sums of distances with signs, recovered from those of the distances.

    .. math:: u - \theta = \sqrt{\textstyle\sum_{ij} a_i a_j \rho_{ij} e_i e_j}

    :math:`\theta = \sum_i a_i v_i`, e the way from v up to its upper bound where a > 0 and down to
    its lower one where a < 0; downwards the other way round. Bounds of v are v / f and v f,
    :math:`f = \exp(r / v)`, and v - r and v + r where v is not above 0.

    ``corrected`` (distance,) is v, ``reach`` (distance,) is r, Student's quantile times the
    standard error, and ``variance`` (distance, distance), for the correlations, that of the errors
    of v. Value, lower and upper bound are (quantity of SQUARES, 3).

    References
    ----------
    Zou and Donner (2008), "Construction of confidence limits about effect measures", Statistics in
    Medicine 27, doi:10.1002/sim.3095.
    """
    known = corrected > 0
    factor = np.exp(np.minimum(ratio(reach, corrected), 100.0))
    above = np.where(known, corrected * (factor - 1.0), reach)
    below = np.where(known, corrected * (1.0 - 1.0 / factor), reach)
    error = np.sqrt(np.maximum(np.diagonal(variance), 0.0))
    together = ratio(variance, np.outer(error, error))
    square = SQUARES @ corrected

    def away(up: Floats, down: Floats) -> Floats:
        found = SQUARES * np.where(SQUARES > 0, up, down)
        return np.sqrt(np.maximum(np.einsum("qi,ij,qj->q", found, together, found), 0.0))

    return np.stack([square, square - away(below, above), square + away(above, below)], axis=-1)


def _paired(
    tables: tuple[Floats, Floats], labels: tuple[NDArray, NDArray]
) -> tuple[tuple[Floats, Floats], bool]:
    """Tables with the topics of both in one order where they are the same, and whether they are."""
    shared = np.isin(labels[0], labels[1])
    if not shared.any():
        return tables, False
    if not (shared.all() and len(labels[0]) == len(labels[1])):
        raise ValueError(
            f"{int(shared.sum())} of the {len(labels[0])} topics of table_x are among the "
            f"{len(labels[1])} of table_gold; intervals need the same topics, or none in common"
        )
    first, second = (
        table[:, np.argsort(label)] for table, label in zip(tables, labels, strict=True)
    )
    return (first, second), True


def _outer(
    tables: tuple[Floats, Floats],
    paired: bool,
    request: Request,
    n_outer: int,
    random: np.random.Generator,
) -> tuple[Floats, NDArray[np.int64], Floats]:
    """Distances (sample, 3) of outer samples, how often each has each topic, and their noise.

    The samples of topics are the same for both tables where they are paired.
    """
    few = replace(request, n_boot=min(request.n_boot, INNER))
    sizes = [table.shape[1] for table in tables]
    drawn = [random.integers(size, size=(n_outer, size)) for size in sizes]
    if paired:
        drawn[1] = drawn[0]
    value, noise = np.empty((n_outer, 3)), np.zeros((3, 3))
    for index, row in enumerate(track(value, f"{n_outer} outer samples")):
        one, other = (table[:, d[index]] for table, d in zip(tables, drawn, strict=True))
        found, _ = geometry(one, other, few, random)
        row[:] = found.distances
        noise += _noise(found) / n_outer
    counts = [topic_counts(d, size) for d, size in zip(drawn, sizes, strict=True)]
    return value, counts[0] if paired else np.concatenate(counts, axis=1), noise


def _noise(found: Geometry) -> Floats:
    """Covariance (3, 3) of the Monte Carlo errors of the distances."""
    return found.noise.T @ found.noise / len(found.noise) ** 2


def _joined(by_table: list[Influence], paired: bool) -> Influence:
    """Influences of the topics of both tables: their sum where the topics are the same."""
    found, freed, size = zip(*by_table, strict=True)
    if paired:
        return Influence(np.sum(found, axis=0), np.sum(freed, axis=0), size[0])
    return Influence(*(np.concatenate(parts, axis=-1) for parts in (found, freed, size)))


def _corrected(found: Geometry, influence: Influence, outer: tuple) -> tuple[Floats, Floats]:
    """Corrected distances (3,) and the covariance (3, 3) of their errors."""
    here, size = found.distances, influence.size
    value, count, noise = outer
    linear = count @ (influence.found / size).T  # (sample, distance), of mean 0
    away, off = linear - linear.mean(axis=0), value - value.mean(axis=0)
    seen = ratio((away * off).sum(axis=0), np.square(away).sum(axis=0))
    there = value.mean(axis=0) - seen * linear.mean(axis=0)
    corrected = here * ratio(here, there, 1.0)
    by_here = 2.0 * ratio(corrected, here, 1.0)
    by_there = ratio(corrected, there)
    # noise of the influences, which makes `seen` too small, is no part of how v* follows v, and v*
    # follows v at most one for one
    free = count @ (influence.freed / size).T
    squares = np.square(free - free.mean(axis=0)).sum(axis=0)
    slope = np.clip(ratio((away * off).sum(axis=0), squares), 0.0, 1.0)
    of_square = 1.0 / (size * np.maximum(size - 1.0, 1.0))  # what one counts in a variance
    jackknife = (influence.freed * of_square) @ influence.freed.T
    variance = _between(jackknife, np.cov(value.T) - noise)
    change = by_here - by_there * slope
    left = (off - seen * away) * by_there
    variance = change[:, None] * variance * change
    variance += left.T @ left / len(left) ** 2 + by_here[:, None] * _noise(found) * by_here
    return corrected, variance


def _between(larger: Floats, smaller: Floats) -> Floats:
    """Covariances (3, 3) with geometric means of the variances, and the mean's correlations."""
    mean = 0.5 * (larger + smaller)
    product = np.maximum(np.diagonal(larger), 0.0) * np.maximum(np.diagonal(smaller), 0.0)
    scale = np.sqrt(ratio(np.sqrt(product), np.diagonal(mean)))
    return mean * scale * scale[:, None]


def signed_root(square: Floats) -> Floats:
    """sign(x) sqrt(|x|): what stands for |b| where b^2 came out negative."""
    return np.sign(square) * np.sqrt(np.abs(square))
