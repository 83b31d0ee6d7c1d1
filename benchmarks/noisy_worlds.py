"""Collections of topics that are harder or easier than each other, seen by runs of much noise.

A relevant document has a quality, any other none. A run's score is its own multiple of the quality,
less on hard topics, plus what the two runs of its team believe wrongly, plus heavy-tailed noise of
its own: what hard topics show at their tops says little of how many relevant documents there are.
Topics have lognormal numbers of them; or a tenth has one alone and the others some three hundred;
or a third has one to three, which runs rank high, and the others hundreds, or are hard, or both; or
half have hundreds and half are hard; or a third has none. Runs of another kind match exactly: what
they find ends abruptly. In worlds of four grades the quality goes with the highest.
"""

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from bayeseval.simulate.urn import top_documents
from benchmarks.factor_worlds import gathered

N_TOPICS, N_RUNS, DEPTH = 60, 20, 150
TEAM = np.arange(N_RUNS) // 2


def noisy_world(seed: int) -> xr.DataTree:
    """Lognormal numbers of relevant documents, median 45; hardness varies much."""
    random = np.random.default_rng(seed)
    number = np.exp(random.normal(np.log(45), 0.9, N_TOPICS)).round().clip(2, 400)
    return _world(random, number.astype(int), np.exp(random.normal(0.0, 0.5, N_TOPICS)))


def navigational_world(seed: int) -> xr.DataTree:
    """Six topics with one relevant document, which runs rank high, among 54 of some 300."""
    random = np.random.default_rng(seed)
    number = np.exp(random.normal(np.log(300), 0.3, N_TOPICS)).round().clip(2, 600)
    number[:6] = 1
    ease = np.exp(random.normal(np.where(number == 1, 0.6, 0.1), 0.25))
    return _world(random, number.astype(int), ease)


def mixed_world(seed: int) -> xr.DataTree:
    """Twenty topics each with one to three relevant documents, with hundreds, and hard ones."""
    return _of_kinds(seed, (20, 20, 20))


def navigational_or_rich_world(seed: int) -> xr.DataTree:
    """Twenty topics with one to three relevant documents, and forty with hundreds."""
    return _of_kinds(seed, (20, 40, 0))


def navigational_or_hard_world(seed: int) -> xr.DataTree:
    """Twenty topics with one to three relevant documents, and forty hard ones of 8 to 39."""
    return _of_kinds(seed, (20, 0, 40))


def rich_or_hard_world(seed: int) -> xr.DataTree:
    """Thirty topics with hundreds of relevant documents, and thirty hard ones of 8 to 39."""
    return _of_kinds(seed, (0, 30, 30))


def _of_kinds(seed: int, topics: tuple[int, int, int]) -> xr.DataTree:
    """As many navigational, rich and hard topics."""
    random = np.random.default_rng(seed)
    kind = np.repeat([0, 1, 2], topics)
    number = random.integers(np.array([1, 150, 8])[kind], np.array([4, 500, 40])[kind])
    ease = np.array([2.5, 1.0, 0.4])[kind] * np.exp(random.normal(0.0, 0.2, kind.size))
    return _world(random, number, ease)


def empty_world(seed: int) -> xr.DataTree:
    """Twenty topics with nothing relevant among forty of some 20 relevant documents."""
    random = np.random.default_rng(seed)
    number = np.exp(random.normal(np.log(20), 0.9, N_TOPICS)).round().clip(1, 300)
    number[: N_TOPICS // 3] = 0
    return _world(random, number.astype(int), np.exp(random.normal(0.0, 0.25, N_TOPICS)))


def abrupt_world(seed: int) -> xr.DataTree:
    """Runs that find most of a set of documents, .3 to .95 of it relevant, and then noise."""
    random = np.random.default_rng(seed)
    reach = random.uniform(0.6, 0.98, N_RUNS)
    topics = []
    for _ in range(N_TOPICS):
        size = int(random.integers(2000, 4000))
        n_relevant = int(np.exp(random.normal(np.log(60), 1.0)).clip(3, 500))
        n_matched = max(int(0.7 * n_relevant), 1)
        n_wrong = int(n_matched * (1.0 / random.uniform(0.3, 0.95) - 1.0))
        relevant = np.arange(size) < n_relevant
        matched = np.zeros(size, dtype=bool)
        matched[:n_matched] = matched[n_relevant : n_relevant + n_wrong] = True
        found = matched & (random.random((N_RUNS, size)) < reach[:, None])
        score = 10.0 * found + random.normal(size=(N_RUNS, size))
        topics.append((top_documents(score, 250), relevant.astype(int), random.permutation(size)))
    return gathered(topics, TEAM)


def _world(
    random: np.random.Generator, number: NDArray[np.int64], ease: NDArray[np.float64]
) -> xr.DataTree:
    """Collection of what the runs retrieved, all of it judged."""
    skill = random.permutation(np.linspace(1.2, 4.0, N_RUNS))
    topics = []
    for n_relevant, easy in zip(number, ease, strict=True):
        size = int(random.integers(2000, 7000))
        relevant = np.arange(size) < n_relevant
        quality = relevant * random.gamma(3.0, 1.0 / 3.0, size)
        believed = random.normal(0.0, 0.7, (TEAM.max() + 1, size))
        noise = 0.8 * random.standard_t(5, (N_RUNS, size))
        score = np.outer(easy * skill, quality) + believed[TEAM] + noise
        label = random.permutation(size)  # must not tell who is relevant
        topics.append((top_documents(score, DEPTH), relevant.astype(int), label))
    return gathered(topics, TEAM)


def steep_world(seed: int) -> xr.DataTree:
    """Forty runs that rank the highest of four grades well, and the others hardly above chance."""
    random = np.random.default_rng(seed)
    team = np.arange(40) // 2
    skill = random.permutation(np.linspace(3.0, 8.0, team.size))
    topics = []
    for _ in range(N_TOPICS):
        size = int(random.integers(2000, 7000))
        drawn = np.exp(random.normal(np.log([40, 20, 10]), 0.8))
        number = drawn.round().clip(1, 300).astype(int)
        grade = np.zeros(size, dtype=int)
        grade[: number.sum()] = np.repeat([1, 2, 3], number)
        seen = np.array([0.0, 0.03, 0.05, 1.0])[grade] * random.gamma(6.0, 1.0 / 6.0, size)
        believed = random.normal(0.0, 0.7, (team.max() + 1, size))
        noise = 0.8 * random.standard_t(5, (team.size, size))
        ease = np.exp(random.normal(0.0, 0.3))
        score = np.outer(ease * skill, seen) + believed[team] + noise
        topics.append((top_documents(score, DEPTH), grade, random.permutation(size)))
    return gathered(topics, team)
