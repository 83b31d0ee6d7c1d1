"""Collections in which relevance is a cut through a latent quality that runs see through noise.

A document has a normal quality; it is relevant above a level that differs by topic (grades: further
levels). A run's score is its own multiple of the quality, less on hard topics, plus what the runs
of its family believe wrongly, plus noise of its own. So relevance falls with the rank nearly along
a line of logits, which is steeper on easy topics.
"""

import numpy as np
import xarray as xr

from bayeseval.simulate.urn import top_documents
from benchmarks.factor_worlds import gathered

LEVELS = (1.9, 2.4, 2.9)  # of the quality, from which a document has grade 1, 2, 3
N_TOPICS, N_RUNS, N_FAMILIES = 50, 24, 4
N_DOCUMENTS, DEPTH = 1500, 100


def latent_world(seed: int) -> xr.DataTree:
    """Collection of what the runs retrieved, all of it judged."""
    random = np.random.default_rng(seed)
    skill = random.permutation(np.linspace(0.6, 1.4, N_RUNS))
    family = np.arange(N_RUNS) % N_FAMILIES
    topics = []
    for _ in range(N_TOPICS):
        quality = random.normal(size=N_DOCUMENTS)
        levels = np.array(LEVELS) - random.normal(0.0, 0.4)
        hardness = np.exp(random.normal(0.0, 0.4))
        believed = random.normal(0.0, 0.8, (N_FAMILIES, N_DOCUMENTS))
        noise = random.normal(0.0, 0.6, (N_RUNS, N_DOCUMENTS))
        score = np.outer(skill / hardness, quality) + believed[family] + noise
        grade = (quality[:, None] > levels).sum(axis=1)
        topics.append((top_documents(score, DEPTH), grade, np.arange(N_DOCUMENTS)))
    return gathered(topics, family)
