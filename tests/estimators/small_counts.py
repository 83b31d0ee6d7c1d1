"""Counts of few topics, made up or drawn, on which the tests of this folder work."""

from dataclasses import replace

import numpy as np
from scipy.special import expit
from scipy.stats import multivariate_normal

from bayeseval.estimators.counts.cells import Counts


def small_counts(n_topics=4, n_cells=3, seed=1) -> Counts:
    random = np.random.default_rng(seed)
    n = n_topics * n_cells
    slope = np.tile(np.linspace(-1.2, 1.2, n_cells), n_topics)
    sampled = random.integers(0, 8, n).astype(float)
    relevant = random.binomial(sampled.astype(int), expit(-1.0 - slope)).astype(float)
    curve = np.column_stack([np.ones(n), slope])
    return Counts(np.arange(0, n + 1, n_cells), relevant, sampled, curve, slope)


def grid_posterior(counts, topic, hyper, half=9.0, points=401):
    """Log integral over one topic's effects on a fine grid, and the grid's posterior."""
    inside = slice(*counts.start[topic : topic + 2])
    s0, s1, rho = np.exp(hyper[-3]), np.exp(hyper[-2]), np.tanh(hyper[-1])
    axis = np.linspace(-half, half, points)
    u0, u1 = np.meshgrid(axis * s0, axis * s1, indexing="ij")
    covariance = [[s0**2, rho * s0 * s1], [rho * s0 * s1, s1**2]]
    density = multivariate_normal.logpdf(np.stack([u0, u1], axis=-1), cov=covariance)
    eta = counts.curve[inside] @ hyper[:-3]
    for k, n, base, z in zip(
        counts.relevant[inside], counts.sampled[inside], eta, counts.slope[inside], strict=True
    ):
        logit = base + u0 + u1 * z
        density = density + k * logit - n * np.logaddexp(0.0, logit)
    step = (axis[1] - axis[0]) ** 2 * s0 * s1
    highest = density.max()
    mass = np.exp(density - highest)
    return highest + np.log(mass.sum() * step), mass / mass.sum(), u0, u1


def topics_without_any(n_without: int, seed: int) -> tuple[Counts, np.ndarray, np.ndarray]:
    """45 topics of four cells; of the others' 20 relevant documents a sample shows some five."""
    random = np.random.default_rng(seed)
    size, sampled = np.tile([20.0, 40.0, 80.0, 160.0], 45), np.tile([8.0] * 4, 45)
    share = np.array([0.4, 0.12, 0.05, 0.02]) * np.exp(random.normal(0.0, 0.5, (45, 1)))
    share[:n_without] = 0.0
    relevant = random.binomial(sampled.astype(int), share.clip(max=0.9).ravel()).astype(float)
    place = np.tile(np.arange(4.0), 45)
    curve = np.column_stack([np.ones(180), (place - 1.5) / 1.118])
    counts = Counts(np.arange(0, 181, 4), relevant, sampled, curve, curve[:, 1])
    return counts, size - sampled, relevant.reshape(45, 4).sum(axis=1) == 0.0


def many_counts(effects, seed, n_cells=12, most=30) -> Counts:
    """Counts of a topic for each pair of effects, of as many documents in every cell."""
    random = np.random.default_rng(seed)
    slope = np.linspace(-1.7, 1.7, n_cells)
    p = expit(-1.0 + effects[:, :1] + effects[:, 1:] * slope)
    relevant = random.binomial(most, p).ravel().astype(float)
    n = relevant.size
    slope = np.tile(slope, len(effects))
    curve = np.column_stack([np.ones(n), slope])
    sampled = np.full(n, float(most))
    return Counts(np.arange(0, n + 1, n_cells), relevant, sampled, curve, slope)


def lacking(topics, seed=1, n_topics=4) -> Counts:
    """Small counts of which some topics show none."""
    counts = small_counts(n_topics=n_topics, seed=seed)
    of_topic = np.repeat(np.arange(n_topics), 3)
    return replace(counts, relevant=np.where(np.isin(of_topic, topics), 0.0, counts.relevant))
