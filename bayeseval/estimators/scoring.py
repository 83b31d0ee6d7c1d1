"""From sampled relevance to the score of every run on one topic, with its deviations."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from bayeseval.estimators.r_precision import r_precision_score
from bayeseval.estimators.ratios import ratio_score, relevant_count
from bayeseval.estimators.relevance import FilledRelevance, TopicRelevance
from bayeseval.estimators.topic_scores import TopicScore
from bayeseval.measures.measure import Measure
from bayeseval.measures.ratio import discount_slope, discount_sum
from bayeseval.measures.scores import rank_weight
from bayeseval.measures.table import names_of


def combined(levels: list[tuple[float, FilledRelevance]]) -> FilledRelevance:
    """Gain as one filled relevance: the sum of its steps."""
    value = sum(step * level.value for step, level in levels)
    expanded = sum(step * level.expanded for step, level in levels)
    return FilledRelevance(np.asarray(value), np.asarray(expanded), levels[0][1].seen)


def linear_score(measure: Measure, topic: TopicRelevance) -> TopicScore:
    """Linear measures: weighted sums, exactly unbiased and never clipped."""
    levels = [(1.0, topic.binary(measure.relevance_level))]
    if measure.graded:
        levels = topic.gain_levels(measure)
    weight = rank_weight(measure, topic.position.shape[1])
    estimate, expanded = _weighted(topic, weight, combined(levels))
    score = topic.score(estimate, topic.centred(expanded))
    return replace(score, anticipated=_anticipated(topic, weight, levels))


def relevant_count_score(measure: Measure, topic: TopicRelevance) -> TopicScore:
    """NumRel: the estimated number of relevant documents, the same for every run."""
    filled = topic.binary(measure.relevance_level)
    n_runs = topic.position.shape[0]
    estimate = np.repeat(filled.value.sum(axis=0)[None], n_runs, axis=0)
    expanded = np.repeat(filled.expanded[None], n_runs, axis=0)
    anticipated = (topic.odds[:, None] * gain_variance([(1.0, filled)])).sum(axis=0)
    score = topic.score(estimate, topic.centred(expanded))
    return replace(score, anticipated=np.repeat(anticipated[None], n_runs, axis=0))


def recall_score(measure: Measure, topic: TopicRelevance) -> TopicScore:
    """R@k: relevant documents in the top k, by the number of relevant documents."""
    filled = topic.binary(measure.relevance_level)
    weight = rank_weight(measure, topic.position.shape[1])
    estimate, expanded = _weighted(topic, weight, filled)
    number = relevant_count(topic, filled)
    score = ratio_score(topic, estimate, expanded, *number, counts=topic.counts(measure))
    return _divided(score, number[0], _anticipated(topic, weight, [(1.0, filled)]))


def average_precision_score(measure: Measure, topic: TopicRelevance) -> TopicScore:
    """AP and AP@k: the sum of precisions, by the number of relevant documents."""
    from bayeseval.measures.rank_sums import precision_sum, precision_sum_influence

    filled = topic.binary(measure.relevance_level)
    position, slots = topic.top(measure.cutoff), topic.slots
    if slots.row.shape[1] == 0:
        numerator = precision_sum(position, filled.value)
        expanded = np.zeros((*numerator.shape, 0))
    else:
        both = precision_sum_influence(
            position, filled.value, slots.row, filled.expanded, slots.joint_excess, slots.stratum
        )
        numerator, expanded = both[..., 0], both[..., 1:]
    return ratio_score(
        topic, numerator, expanded, *relevant_count(topic, filled), counts=topic.counts(measure)
    )


def normalised_gain_score(measure: Measure, topic: TopicRelevance) -> TopicScore:
    """Score of nDCG@k: discounted gain, by the ideal gain of the estimated counts per level."""
    levels = topic.gain_levels(measure)
    weight = rank_weight(measure, topic.position.shape[1])
    gain, expanded = _weighted(topic, weight, combined(levels))
    ideal = np.zeros(gain.shape[1])
    ideal_expanded = np.zeros(topic.slots.row.shape)
    raised = np.zeros(gain.shape[1], dtype=bool)
    for step, level in levels:
        count, count_expanded, floored = relevant_count(topic, level, least=0.0)
        ideal += step * discount_sum(count, measure.cutoff)
        ideal_expanded += step * discount_slope(count, measure.cutoff)[:, None] * count_expanded
        raised |= floored
    counts = topic.counts(measure)
    score = ratio_score(topic, gain, expanded, ideal, ideal_expanded, raised, counts)
    return _divided(score, ideal, _anticipated(topic, weight, levels))


SCORES = {name: linear_score for name in names_of("linear")} | {
    "NumRel": relevant_count_score,
    "AP": average_precision_score,
    "nDCG": normalised_gain_score,
    "R": recall_score,
    "Rprec": r_precision_score,
}


def gain_variance(levels: list[tuple[float, FilledRelevance]]) -> NDArray[np.float64]:
    r"""Variance (pair, replicate) of a document's gain about its prediction.

    .. math:: \sum_{jk} step_j\, step_k (p_{\max(j, k)} - p_j p_k)

    with p_j the predicted probability of step j or more: a document that has a step has those
    below it. For relevance alone p (1 - p).
    """
    steps = [
        (step, np.clip(level.predicted, 0.0, 1.0))
        for step, level in levels
        if level.predicted is not None
    ]
    total = np.zeros(levels[0][1].value.T.shape)
    for number, (step, chance) in enumerate(steps):
        below = sum((low * np.maximum(other, chance) for low, other in steps[:number]), step * 0.0)
        both = sum(low for low, _ in steps[:number])
        total += step * chance * (step * (1.0 - chance) + 2.0 * (both - below))
    return np.ascontiguousarray(np.maximum(total, 0.0).T)


def _anticipated(topic: TopicRelevance, weight, levels) -> NDArray[np.float64]:
    """Design variance (run, replicate) of a weighted sum if the predictions are right."""
    from bayeseval.measures.rank_sums import weighted_sum

    return weighted_sum(topic.position, weight**2, topic.odds[:, None] * gain_variance(levels))


def _divided(score: TopicScore, denominator, anticipated) -> TopicScore:
    """Ratio with what its numerator's variance should be; that of the denominator is left out."""
    if score.counts is not None:
        inverse = score.counts.inverse
    else:
        inverse = np.divide(
            1.0, denominator, out=np.zeros(denominator.shape), where=denominator > 0
        )
    return replace(score, anticipated=anticipated * inverse**2)


def _weighted(topic: TopicRelevance, weight, filled: FilledRelevance) -> tuple:
    """Weighted sum (run, replicate) and its expanded values (run, replicate, slot)."""
    from bayeseval.measures.rank_sums import picked_weight, weighted_sum

    estimate = weighted_sum(topic.position, weight, filled.value)
    if not topic.slots.row.size:
        return estimate, np.zeros((*estimate.shape, 0))
    at_slots = picked_weight(topic.position, weight, topic.slots.row, filled.value.shape[0])
    return estimate, at_slots * filled.expanded
