"""Distances between bootstrap rankings: bias, variance and error, and intervals of these."""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from bayeseval.collection.choices import check_whole_numbers
from bayeseval.processors import in_chunks
from bayeseval.rankings.bootstrap import drawn_means, drawn_pairs, drawn_topics
from bayeseval.rankings.similarity import similarity_matrix, similarity_rows
from bayeseval.rounding import ratio, settled

DISTANCES = ("paper", "root")
TOPICS = ("independent", "together")
CHUNK = 20  # outer samples that are drawn together
QUANTITIES = ("bias", "sigma", "sigma_gold", "mse", "rmse")
# b^2 = Delta - sigma^2(X) - sigma^2(G), both variances, and MSE = b^2 + sigma^2(X), from
# (Delta, sigma^2(X), sigma^2(G))
SQUARES = np.array([[1.0, -1.0, -1.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, -1.0]])

Floats = NDArray[np.floating]


@dataclass(frozen=True)
class Request:
    """What to draw and how to measure distances: options of ``bias_variance``."""

    n_boot: int
    n_topics: int | None
    similarity: str
    distance: str
    topics: str
    replicates: str

    def squared(self, similarity: Floats) -> Floats:
        """Squared distance: (1 - similarity)^2, or 1 - similarity; never negative."""
        away = settled(1.0 - similarity)
        return away**2 if self.distance == "paper" else away


@dataclass(frozen=True)
class Geometry:
    """Mean squared distances, and the variances of their Monte Carlo errors."""

    distances: Floats  # (3,): Delta(X, G), sigma^2(X), sigma^2(G)
    # (result, 3): first-order share of each bootstrap result in their errors, of mean 0
    noise: Floats

    def squares(self) -> Floats:
        """(b^2, sigma^2(X), sigma^2(G), MSE)."""
        return settled(SQUARES @ self.distances)

    def squares_error(self) -> Floats:
        """Monte Carlo standard errors of these, of the finite number of bootstrap results."""
        parts = SQUARES @ self.noise.T
        return np.sqrt(parts.var(axis=1, ddof=1) / parts.shape[1])


class Influence(NamedTuple):
    """Influence (distance, topic) of topics: as found, and with squares freed of chance.

    And the number of topics of the table that each is of, (topic,).
    """

    found: Floats
    freed: Floats
    size: Floats


def geometry(
    table: Floats, gold: Floats, request: Request, random: np.random.Generator
) -> tuple[Geometry, list[NDArray[np.int64]]]:
    """Distances between bootstrap results of two tables (replicate, topic, run).

    And the topics (result, slot) of the results that the rows of the noise are of: one list for
    each table, one after the other; one in all where they are drawn together.
    """
    if request.topics == "together":
        return _together(table, gold, request, random)
    drawn, scores = [], []
    for values in (table, gold):
        drawn.append(drawn_topics(random, values.shape[1], request.n_boot, request.n_topics))
        scores.append(drawn_means(values, drawn[-1], random, request.replicates))
    return distances_between(scores[0], scores[1], request), drawn


def distances_between(scores: Floats, scores_gold: Floats, request: Request) -> Geometry:
    """Distances of independent results (result, run): all pairs of one set, and across sets."""
    across = request.squared(similarity_matrix(scores, scores_gold, request.similarity))
    distance = across.mean()
    variance, share = _own(scores, request)
    variance_gold, share_gold = _own(scores_gold, request)
    # results of X and of G are independent: their shares stand one after the other
    n, n_gold = len(scores), len(scores_gold)
    noise = np.zeros((n + n_gold, 3))
    noise[:n, 0] = (across.mean(axis=1) - distance) * (n + n_gold) / n
    noise[n:, 0] = (across.mean(axis=0) - distance) * (n + n_gold) / n_gold
    noise[:n, 1] = share * (n + n_gold) / n
    noise[n:, 2] = share_gold * (n + n_gold) / n_gold
    return Geometry(np.array([distance, variance, variance_gold]), noise)


def _own(scores: Floats, request: Request) -> tuple[float, Floats]:
    """Half the mean squared distance of different results, and each one's share in its error."""
    n_results = len(scores)
    square = request.squared(similarity_matrix(scores, scores, request.similarity))
    np.fill_diagonal(square, 0.0)
    of_result = square.sum(axis=1) / (n_results - 1)
    mean = of_result.mean()
    return 0.5 * mean, of_result - mean


def _together(
    table: Floats, gold: Floats, request: Request, random: np.random.Generator
) -> tuple[Geometry, list[NDArray[np.int64]]]:
    """Distances of results that have their topics in common, and different replicates of each."""
    topics = drawn_topics(random, table.shape[1], request.n_boot, request.n_topics)
    first, second = drawn_pairs(table, topics, random, request.replicates)
    gold_first, gold_second = drawn_pairs(gold, topics, random, request.replicates)

    def square(left: Floats, right: Floats) -> Floats:
        return request.squared(similarity_rows(left, right, request.similarity))

    across = 0.5 * (square(first, gold_first) + square(second, gold_second))
    own, own_gold = 0.5 * square(first, second), 0.5 * square(gold_first, gold_second)
    noise = np.stack([across, own, own_gold], axis=1)
    distances = noise.mean(axis=0)
    return Geometry(distances, noise - distances), [topics]


def geometry_interval(
    tables: tuple[Floats, Floats],
    labels: tuple[NDArray, NDArray],
    request: Request,
    *,
    n_outer: int,
    ci_prob: float,
    random: np.random.Generator,
    executor=None,
    keep=None,
) -> Floats:
    r"""Corrected values and bounds, (quantity, 3): value, lower, upper.

    The bootstrap draws around the means of these topics, which are more variable than those of the
    population, so that its rankings are too stable. The means of outer samples of the topics are
    more variable by as much again. Each mean squared distance v is therefore corrected to
    :math:`v^2 / v^*`, v* being its mean over outer samples. The variance of v is the geometric mean
    of that by the influences of the topics (the infinitesimal jackknife), which is too large by
    terms of second order, and of the outer samples' (too small, for their rankings are too stable);
    that of :math:`2 \log v - \log v^*` follows by the slope of v* on v that the outer samples
    show, with the Monte Carlo errors added.

    Bounds of a variance are Student's, of its logarithm; those of b^2 and the MSE, sums of
    distances with signs, are recovered from theirs (:func:`bounds_of_differences`). Tables
    (replicate, topic, run) whose labels (topic,) are the same are drawn together.
    """
    from scipy.stats import t as student

    check_whole_numbers(20, n_outer=n_outer)
    tables, paired = _paired(tables, labels)
    sizes = [table.shape[1] for table in tables]
    most = replace(request, n_boot=max(request.n_boot, 4 * max(sizes)))
    found, drawn = geometry(*tables, most, random)
    influence = _joined(influences(found, drawn, sizes), paired)
    outer = _outer(tables, paired, request, n_outer, random, executor, keep)
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
    executor,
    keep,
) -> tuple[Floats, NDArray[np.int64], Floats]:
    """Distances (sample, 3) of outer samples, how often each has each topic, and their noise.

    The samples of topics are the same for both tables where they are paired.
    """
    few = replace(request, n_boot=min(request.n_boot, 100))
    sizes = [table.shape[1] for table in tables]
    drawn = [random.integers(size, size=(n_outer, size)) for size in sizes]
    if paired:
        drawn[1] = drawn[0]
    seeds = random.integers(2**63, size=n_outer)
    chunks = [slice(first, first + CHUNK) for first in range(0, n_outer, CHUNK)]
    tasks = [(drawn[0][chunk], drawn[1][chunk], seeds[chunk]) for chunk in chunks]
    said = f"{n_outer} outer samples"
    parts = list(in_chunks(_of_samples, (tables, few), tasks, said, executor, keep))
    found = xr.concat(parts, "sample")
    counts = [topic_counts(d, size) for d, size in zip(drawn, sizes, strict=True)]
    count = counts[0] if paired else np.concatenate(counts, axis=1)
    return found["value"].to_numpy(), count, found["noise"].to_numpy().mean(axis=0)


def _of_samples(
    tables: tuple[Floats, Floats], request: Request, task: tuple[NDArray, NDArray, NDArray]
) -> xr.Dataset:
    """Distances and their noise, of outer samples of the topics with a seed each."""
    value, noise = [], []
    for first, second, seed in zip(*task, strict=True):
        random = np.random.default_rng(int(seed))
        found, _ = geometry(tables[0][:, first], tables[1][:, second], request, random)
        value.append(found.distances)
        noise.append(_noise(found))
    dims = ("sample", "distance", "other")
    return xr.Dataset({"value": (dims[:2], value), "noise": (dims, noise)})


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
    residual = (off - seen * away) * by_there
    variance = change[:, None] * variance * change
    variance += (
        residual.T @ residual / len(residual) ** 2 + by_here[:, None] * _noise(found) * by_here
    )
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


def influences(
    found: Geometry, drawn: list[NDArray[np.int64]], sizes: list[int]
) -> list[Influence]:
    r"""Influence of every topic on (Delta, sigma^2(X), sigma^2(G)), by table.

    A bootstrap ranking b has drawn topic t :math:`N_{bt}` times out of n, and its mean squared
    distance to the others is :math:`\rho_b`. The derivative of the mean distance by the weight of
    a topic is the covariance of :math:`\rho_b` with :math:`T N_{bt} - n` (the infinitesimal
    jackknife), here by least squares. The squares are freed of what the finite number of rankings
    adds to them.

    ``found`` and ``drawn`` are of ``geometry``, ``sizes`` the numbers of topics of each table.

    References
    ----------
    Efron, "Estimation and accuracy after model selection", Journal of the American Statistical
    Association 109 (2014), doi:10.1080/01621459.2013.823775. Wager, Hastie and Efron, "Confidence
    intervals for random forests", Journal of Machine Learning Research 15 (2014).
    """
    blocks = np.split(found.noise, np.cumsum([len(topics) for topics in drawn])[:-1])
    return [
        _of_table(topics, block / (len(found.noise) / len(topics)), size)
        for topics, block, size in zip(drawn, blocks, sizes[: len(drawn)], strict=True)
    ]


def _of_table(topics: NDArray[np.int64], share: Floats, size: int) -> Influence:
    """Influence of the topics of one table.

    A variance is half the mean of the distances to all others, of which one is the other end of
    each: the share of a result in it is twice its own half.
    """
    n_results, n_slots = topics.shape
    count = topic_counts(topics, size).astype(float)
    centred = count - n_slots / size
    slope, *_ = np.linalg.lstsq(centred, share, rcond=1e-8)
    residual = share - centred @ slope
    influence = n_slots * (slope - slope.mean(axis=0)).T
    freedom = max(n_results - size, 1)
    noise = n_slots * size * np.square(residual).sum(axis=0) / freedom / n_results
    square = np.square(influence).mean(axis=1)
    kept = ratio(square - noise, square, 1.0)
    freed = influence * np.sqrt(np.maximum(kept, 0.05))[:, None]
    return Influence(influence, freed, np.full(size, float(size)))


def topic_counts(topics: NDArray[np.int64], size: int) -> NDArray[np.int64]:
    """How often (result, topic) each of ``size`` topics was drawn.

    Examples
    --------
    >>> topic_counts(np.array([[0, 0, 2]]), 3)
    array([[2, 0, 1]])
    """
    shifted = topics + size * np.arange(len(topics))[:, None]
    return np.bincount(shifted.ravel(), minlength=size * len(topics)).reshape(len(topics), size)
