"""Precision at the estimated number of relevant documents, with a bootstrap variance."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from bayeseval.estimators.counts import TopicCounts
from bayeseval.estimators.denominators import by_counts
from bayeseval.estimators.relevance import FilledRelevance, TopicRelevance
from bayeseval.estimators.topic_scores import TopicScore
from bayeseval.measures.measure import Measure
from bayeseval.rounding import settled
from bayeseval.uncertainty.slots import Slots

N_BOOTSTRAP = 100
N_CUTOFFS = 16


def r_precision_score(measure: Measure, topic: TopicRelevance) -> TopicScore:
    """Rprec: precision at the estimated number of relevant documents, its variance by replication.

    The cutoff is itself estimated, so the score is not a smooth ratio. Precision is linear between
    two whole cutoffs, and the deviations are those of a rescaled stratified bootstrap (Rao and Wu
    1988). Where there is a model of the counts of all topics, it is the mean precision at the
    numbers that their posterior holds for likely.
    """
    filled = topic.binary(measure.relevance_level)
    counts = topic.counts(measure)
    return _by_own_count(topic, filled) if counts is None else _by_counts(topic, filled, counts)


def _by_own_count(topic: TopicRelevance, filled: FilledRelevance) -> TopicScore:
    """Precision at the number of relevant documents that the topic's own sample estimates."""
    count, least = filled.value.sum(axis=0), np.maximum(filled.seen, 1.0)

    def precision_at_count(value, column):
        number = np.maximum(value.sum(axis=0), least[column])
        return _precision_at(topic.position, value, number)

    raw = precision_at_count(filled.value, slice(None))
    limited = (raw < 0.0) | (raw > 1.0) | (count < least)
    limited &= (topic.slots.probability < 1.0).any(axis=1)
    deviation = _bootstrapped(topic, filled, precision_at_count)
    score = topic.score(np.clip(raw, 0.0, 1.0), deviation, limited)
    return replace(score, by_slot=_linear(topic, filled, np.maximum(count, least)))


def _by_counts(topic: TopicRelevance, filled: FilledRelevance, counts: TopicCounts) -> TopicScore:
    """Mean precision at the numbers of relevant documents that the counts of all topics allow."""
    likely = 1.0 / np.where(counts.inverse > 0.0, counts.inverse, 1.0)

    def precision_at_likely(value, column):
        return _precision_at(topic.position, value, np.repeat(likely[column], value.shape[1]))

    estimate, slope = _over_counts(topic.position, filled.value, counts)
    deviation = _bootstrapped(topic, filled, precision_at_likely)
    score = by_counts(topic, counts, estimate=estimate, deviation=deviation, slope=slope)
    return replace(score, by_slot=_linear(topic, filled, likely))


def _precision_at(position, value, count) -> NDArray[np.float64]:
    """Precision (run, column) at fractional cutoffs (column,)."""
    from bayeseval.measures.rank_sums import cumulative_at

    return cumulative_at(position, np.ascontiguousarray(value), count) / count


def _linear(topic: TopicRelevance, filled: FilledRelevance, count) -> NDArray[np.float64]:
    """Deviations (run, replicate, slot) of precision at cutoffs (replicate,) taken for known."""
    parts = [
        topic.weights(np.minimum(one - np.arange(np.ceil(one)), 1.0) / one)[:, row]
        for one, row in zip(count, topic.slots.row, strict=True)
    ]
    return topic.centred(np.stack(parts, axis=1) * filled.expanded)


def _bootstrapped(topic: TopicRelevance, filled, score) -> NDArray[np.float64]:
    """Deviations (run, replicate, bootstrap) of a score of values that are drawn again."""
    factor = _bootstrap_factors(topic.slots, topic.random_seed)
    n_bootstrap, n_replicates, _ = factor.shape
    deviation = np.zeros((topic.position.shape[0], n_replicates, n_bootstrap))
    uncertain = (topic.slots.probability < 1.0).any(axis=1)
    for column in np.flatnonzero(uncertain):
        if np.isnan(factor[:, column]).any():  # one document alone tells no error
            deviation[:, column] = np.nan
            continue
        rows = topic.slots.row[column]
        used = rows >= 0
        value = np.repeat(filled.value[:, column : column + 1], n_bootstrap, axis=1)
        change = (factor[:, column] - 1.0) * filled.expanded[column]
        value[rows[used]] += change[:, used].T
        again = score(value, column)
        centred = again - again.mean(axis=1, keepdims=True)
        deviation[:, column] = centred / np.sqrt(n_bootstrap - 1.0)
    return deviation


def _over_counts(position, value, counts: TopicCounts) -> tuple:
    """Mean precision at likely numbers of relevant documents, and its slope on their inverse.

    The draws of the number are put in order and sixteen of them, evenly spaced, stand for all.
    """
    draws = np.sort(counts.draw, axis=1)
    some = draws[:, ((np.arange(N_CUTOFFS) + 0.5) / N_CUTOFFS * draws.shape[1]).astype(int)]
    mean, slope = (np.zeros((position.shape[0], len(some))) for _ in range(2))
    for column, count in enumerate(some):
        cutoff = np.maximum(count, 1.0)
        repeated = np.repeat(value[:, column : column + 1], N_CUTOFFS, axis=1)
        precision = np.where(count > 0.0, _precision_at(position, repeated, cutoff), 0.0)
        mean[:, column] = precision.mean(axis=1)
        inverse = np.where(count > 0.0, 1.0 / cutoff, 0.0)  # as the score where there is none
        inverse = settled(inverse - inverse.mean())
        square = (inverse**2).sum()
        slope[:, column] = precision @ inverse / square if square > 0.0 else 0.0
    return mean, slope


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
