"""Squared distances between bootstrap rankings, and what bias, variance and error they make."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bayeseval.rankings.bootstrap import drawn_means, drawn_pairs, drawn_topics
from bayeseval.rankings.similarity import similarity_matrix, similarity_rows
from bayeseval.rounding import settled

DISTANCES = ("paper", "root")
TOPICS = ("independent", "together")
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
