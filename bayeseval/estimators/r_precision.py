"""Precision at the estimated number of relevant documents, with a bootstrap variance."""

import numpy as np
from numpy.typing import NDArray

from bayeseval.estimators.relevance import TopicRelevance
from bayeseval.estimators.topic_scores import TopicScore
from bayeseval.measures.measure import Measure
from bayeseval.uncertainty.slots import Slots

N_BOOTSTRAP = 100


def r_precision_score(measure: Measure, topic: TopicRelevance) -> TopicScore:
    """Rprec: precision at the estimated number of relevant documents, its variance by replication.

    The cutoff is itself estimated, so the score is not a smooth ratio. Precision is linear between
    two whole cutoffs, and the deviations are those of a rescaled stratified bootstrap (Rao and Wu
    1988).
    """
    from bayeseval.measures.rank_sums import cumulative_at

    filled = topic.binary(measure.relevance_level)

    def precision_at_count(value, seen):
        count = np.maximum(value.sum(axis=0), np.maximum(seen, 1.0))
        return cumulative_at(topic.position, np.ascontiguousarray(value), count) / count

    seen = filled.seen
    raw = precision_at_count(filled.value, seen)
    limited = (raw < 0.0) | (raw > 1.0) | (filled.value.sum(axis=0) < np.maximum(seen, 1.0))
    limited &= (topic.slots.probability < 1.0).any(axis=1)
    estimate = np.clip(raw, 0.0, 1.0)
    factor = _bootstrap_factors(topic.slots, topic.random_seed)
    deviation = np.zeros((*estimate.shape, factor.shape[0]))
    uncertain = (topic.slots.probability < 1.0).any(axis=1)
    for column in np.flatnonzero(uncertain):
        rows = topic.slots.row[column]
        used = rows >= 0
        value = np.repeat(filled.value[:, column : column + 1], factor.shape[0], axis=1)
        change = (factor[:, column] - 1.0) * filled.expanded[column]
        value[rows[used]] += change[:, used].T
        again = precision_at_count(value, np.full(factor.shape[0], seen[column]))
        deviation[:, column] = (again - again.mean(axis=1, keepdims=True)) / np.sqrt(
            factor.shape[0] - 1.0
        )
    return TopicScore(estimate, deviation, None, limited)


def _bootstrap_factors(slots: Slots, random_seed: int) -> NDArray[np.float64]:
    """Multipliers (bootstrap, replicate, slot) of the expanded values, mean 1.

    Rao and Wu (1988): in a group of n slots draw n - 1 with replacement, t_i times each; the factor
    is 1 + sqrt(1 - pi_i) (t_i n / (n - 1) - 1). Independent slots get 1 + sqrt(1 - pi_i) times +-1.
    """
    n_replicates, n_slots = slots.row.shape
    factor = np.ones((N_BOOTSTRAP, n_replicates, n_slots))
    scale = np.sqrt(1.0 - slots.probability)
    for column in range(n_replicates):
        group = slots.group[column]
        random = np.random.default_rng(random_seed)  # the same for every replicate
        for label in np.unique(group):
            members = np.flatnonzero(group == label)
            n = members.size
            if label < 0:
                change = random.choice([-1.0, 1.0], size=(N_BOOTSTRAP, n))
            elif n == 1:
                change = np.full((N_BOOTSTRAP, n), np.nan if scale[column, members[0]] > 0 else 0.0)
            else:
                counts = random.multinomial(n - 1, np.full(n, 1.0 / n), size=N_BOOTSTRAP)
                change = counts * n / (n - 1.0) - 1.0
            factor[:, column, members] += scale[column, members] * change
    return factor
