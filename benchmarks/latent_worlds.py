"""Collections in which relevance is a cut through a latent quality that runs see through noise.

A document has a normal quality; it is relevant above a level that differs by topic (grades: further
levels). A run's score is its own multiple of the quality, less on hard topics, plus what the runs
of its family believe wrongly, plus noise of its own. So relevance falls with the rank nearly along
a line of logits, which is steeper on easy topics.
"""

import numpy as np
import xarray as xr

from bayeseval.collection import assemble
from bayeseval.simulate.noise import top_documents

LEVELS = (1.9, 2.4, 2.9)  # of the quality, from which a document has grade 1, 2, 3
N_TOPICS, N_RUNS, N_FAMILIES = 50, 24, 4
N_DOCUMENTS, DEPTH = 1500, 100


def latent_world(seed: int) -> xr.DataTree:
    """Collection of what the runs retrieved, all of it judged."""
    random = np.random.default_rng(seed)
    skill = random.permutation(np.linspace(0.6, 1.4, N_RUNS))
    family = np.arange(N_RUNS) % N_FAMILIES
    labels, grades, rankings, start = [], [], [], 0
    for topic in range(N_TOPICS):
        quality = random.normal(size=N_DOCUMENTS)
        levels = np.array(LEVELS) - random.normal(0.0, 0.4)
        hardness = np.exp(random.normal(0.0, 0.4))
        believed = random.normal(0.0, 0.8, (N_FAMILIES, N_DOCUMENTS))
        noise = random.normal(0.0, 0.6, (N_RUNS, N_DOCUMENTS))
        score = np.outer(skill / hardness, quality) + believed[family] + noise
        ranking = top_documents(score, DEPTH)
        kept = np.unique(ranking)
        position = np.full(N_DOCUMENTS, -1)
        position[kept] = np.arange(kept.size)
        grades.append((quality[kept, None] > levels).sum(axis=1).astype(np.float32))
        labels.append([f"{topic + 1}-{name:05d}" for name in kept])
        rankings.append(position[ranking] + start)
        start += kept.size
    return assemble(
        topics=[str(topic + 1) for topic in range(N_TOPICS)],
        runs=[f"run{run + 1:03d}" for run in range(N_RUNS)],
        document=np.array([label for one in labels for label in one], dtype=object),
        pair_topic=np.repeat(np.arange(N_TOPICS), [len(one) for one in labels]).astype(np.int32),
        ranking=np.stack(rankings, axis=1).astype(np.int32),
        grade=np.concatenate(grades),
        pooled=np.ones(start, dtype=bool),
        team=np.array([f"team{number + 1}" for number in family]),
    )
