"""Collections that do not come from an urn: runs weigh factors of documents, relevance has aspects.

A document has K factors with heavy tails (what a run may look at), a relevant one is shifted along
them by one of the topic's aspects, the further the better it is, and one document in thirty is not
relevant but shifted too. A run's score is its weighted sum of the factors plus noise of its own;
runs of one team have like weights. So runs agree on the wrong documents as well, and which relevant
documents a run finds depends on its weights.
"""

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from bayeseval.collection import assemble
from bayeseval.simulate.urn import top_documents

FACTORS = 5
DECOYS = 0.03  # share of the documents that only look relevant
GRADE_FROM = (0.0, 0.9, 1.8)  # quality from which a document has grade 1, 2, 3


def factor_world(
    seed: int, *, n_runs: int, n_topics: int, median: float, spread: float, depth: int, graded: bool
) -> xr.DataTree:
    """Collection of what the runs retrieved, all of it judged.

    ``median`` and ``spread`` are those of the lognormal number of relevant documents of a topic, of
    which the runs find some half.
    """
    random = np.random.default_rng(seed)
    team = np.arange(n_runs) % (n_runs // 2)
    of_team = np.abs(random.normal(0.5, 0.4, (n_runs // 2, FACTORS)))
    weight = of_team[team] + random.normal(0.0, 0.15, (n_runs, FACTORS))
    weight *= np.exp(random.normal(0.0, 0.25, (n_runs, 1)))
    noise = np.exp(random.normal(np.log(0.8), 0.3, n_runs))
    topics = []
    for _ in range(n_topics):
        quality, factors = _documents(random, median, spread)
        own = weight * np.exp(random.normal(0.0, 0.3, weight.shape))
        score = own @ factors.T + noise[:, None] * random.normal(size=(n_runs, quality.size))
        ranking = top_documents(score, depth)
        number = random.permutation(quality.size)  # labels must not tell who is relevant
        levels = np.array(GRADE_FROM if graded else GRADE_FROM[:1])
        topics.append((ranking, (quality[:, None] > levels).sum(axis=1), number))
    return gathered(topics, team)


def gathered(
    topics: list[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]],
    team: NDArray[np.int64],
) -> xr.DataTree:
    """Collection of what runs retrieved, all of it judged.

    Of each topic: the documents (run, rank), and the grade and the number of all, (document,).
    """
    labels, grades, rankings, start = [], [], [], 0
    for topic, (ranking, grade, number) in enumerate(topics, start=1):
        kept = np.unique(ranking)
        kept = kept[np.argsort(number[kept])]
        position = np.full(number.size, -1)
        position[kept] = np.arange(kept.size)
        grades.append(grade[kept].astype(np.float32))
        labels.append([f"{topic}-{name:05d}" for name in number[kept]])
        rankings.append(position[ranking] + start)
        start += kept.size
    return assemble(
        topics=[str(topic + 1) for topic in range(len(topics))],
        runs=[f"run{run + 1:03d}" for run in range(team.size)],
        document=np.array([label for one in labels for label in one], dtype=object),
        pair_topic=np.repeat(np.arange(len(topics)), [len(one) for one in labels]).astype(np.int32),
        ranking=np.stack(rankings, axis=1).astype(np.int32),
        grade=np.concatenate(grades),
        pooled=np.ones(start, dtype=bool),
        team=np.array([f"team{number + 1}" for number in team]),
    )


def _documents(
    random: np.random.Generator, median: float, spread: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Quality (document,) of a topic's documents, 0 where not relevant, and their factors."""
    size = int(random.integers(3000, 9000))
    drawn = np.exp(random.normal(np.log(median), spread))
    n_relevant = int(np.clip(drawn, 2, size // 8))
    quality = np.zeros(size)
    quality[:n_relevant] = random.gamma(2.0, 0.5, n_relevant)
    n_aspects = int(random.integers(1, 4))
    aspects = np.abs(random.normal(1.2, 0.6, (n_aspects, FACTORS)))
    aspects *= np.exp(random.normal(0.0, 0.35))  # easy and hard topics
    shift = np.sqrt(quality)
    decoy = (quality == 0) & (random.random(size) < DECOYS)
    shift[decoy] = random.uniform(0.2, 0.9, decoy.sum())
    moved = shift[:, None] * aspects[random.integers(0, n_aspects, size)]
    return quality, random.standard_t(6, (size, FACTORS)) + moved
