"""From sampled relevance to the score of every run on one topic, with its deviations."""

from dataclasses import replace

import numpy as np

from bayeseval.estimators import anticipated
from bayeseval.estimators.ratios import (
    Difference,
    difference_score,
    r_precision_score,
    ratio_score,
    relevant_count,
)
from bayeseval.estimators.relevance import FilledRelevance, TopicRelevance
from bayeseval.estimators.topic_scores import TopicScore
from bayeseval.measures.measure import Measure
from bayeseval.measures.scores import plain_scores, rank_weight
from bayeseval.measures.table import discount_slope, discount_sum, names_of

# part of the expected score that the difference estimator starts from; with all of that of nDCG
# the curvature of the ideal gain would show
EXPECTED = {"AP": 1.0, "R": 1.0, "Rprec": 1.0, "nDCG": 0.5}


def combined(levels: list[tuple[float, FilledRelevance]]) -> FilledRelevance:
    """Gain as one filled relevance: the sum of its steps."""
    value = sum(step * level.value for step, level in levels)
    expanded = sum(step * level.expanded for step, level in levels)
    return FilledRelevance(np.asarray(value), np.asarray(expanded), levels[0][1].seen)


def linear_score(measure: Measure, topic: TopicRelevance) -> TopicScore:
    """Linear measures: weighted sums, exactly unbiased and never clipped."""
    levels = _levels(topic, measure)
    weight = rank_weight(measure, topic.position.shape[1])
    estimate, expanded = _weighted(topic, weight, combined(levels))
    score = topic.score(estimate, topic.centred(expanded))
    return replace(score, anticipated=anticipated.of_sum(topic, weight, levels))


def anticipated_differences(measure: Measure, topic: TopicRelevance) -> np.ndarray | None:
    """Variances of differences (run, run_other) to be expected; None where it has no such form."""
    levels = _levels(topic, measure)
    filled = levels[0][1]
    known = measure.name in ("R", "nDCG", "AP", *names_of("linear"))
    if not known or filled.predicted is None:
        return None
    if measure.name == "AP":
        position, chance = topic.top(measure.cutoff), np.clip(filled.predicted[0], 0.0, 1.0)
        weights = anticipated.weights_of_precisions(position, chance)
        numerator = sum_of_precisions(measure, topic)[0]
    else:
        weight = rank_weight(measure, topic.position.shape[1])
        weights = topic.weights(weight)
        if measure.name in names_of("linear"):
            return anticipated.of_differences(topic, weights, levels)
        numerator = _weighted(topic, weight, combined(levels))[0]
    if measure.name == "nDCG":
        denominator, _, _, below = _ideal(topic, measure, levels)
    else:
        denominator, below = relevant_count(filled)[0], [np.ones(1)]
    move = anticipated.inverse_and_fall(_difference(measure, topic), numerator, denominator)
    return anticipated.of_ratio_differences(topic, weights, levels, *move, below)


def relevant_count_score(measure: Measure, topic: TopicRelevance) -> TopicScore:
    """NumRel: the estimated number of relevant documents, the same for every run."""
    levels = _levels(topic, measure)
    filled, n_runs = levels[0][1], topic.position.shape[0]
    estimate = np.repeat(filled.value.sum(axis=0)[None], n_runs, axis=0)
    expanded = np.repeat(filled.expanded[None], n_runs, axis=0)
    score = topic.score(estimate, topic.centred(expanded))
    variance = anticipated.of_total(topic, levels)
    if variance is None:
        return score
    return replace(score, anticipated=np.repeat(variance[None], n_runs, axis=0))


def recall_score(measure: Measure, topic: TopicRelevance) -> TopicScore:
    """R@k: relevant documents in the top k, by the number of relevant documents."""
    levels = _levels(topic, measure)
    filled, weight = levels[0][1], rank_weight(measure, topic.position.shape[1])
    found = _weighted(topic, weight, filled)
    score, move = _scored_ratio(measure, topic, found, relevant_count(filled))
    one = [np.ones(score.estimate.shape[1])]
    variance = anticipated.of_ratio(topic, weight, levels, *move, one)
    return replace(score, anticipated=variance)


def average_precision_score(measure: Measure, topic: TopicRelevance) -> TopicScore:
    """AP and AP@k: the sum of precisions, by the number of relevant documents."""
    filled = topic.binary(measure.relevance_level)
    numerator, expanded = sum_of_precisions(measure, topic)
    count, count_expanded, raised = relevant_count(filled)
    if topic.beside(measure.relevance_level) is not None:
        raised = raised | (numerator < 0.0)  # as no such sum can be
    below = (count, count_expanded, raised)
    score, move = _scored_ratio(measure, topic, (numerator, expanded), below)
    if not score.by_counts:
        return score
    position = topic.top(measure.cutoff)
    variance = anticipated.of_average_precision(topic, position, filled, *move)
    return replace(score, anticipated=variance)


def _difference(measure: Measure, topic: TopicRelevance) -> Difference | None:
    r"""Difference estimator of a ratio; None without a posterior of what divides.

    The score that the predictions p (for ``stat`` the rates of the strata) lead one to expect is
    that of p itself, of AP :math:`\sum_i p_i (1 + \sum_{j < i} p_j) / i` by :math:`\sum p`. The
    chance that something relevant is drawn is :math:`1 - \prod (1 - \pi p)`, with what is known
    for p where a document is drawn for certain; estimators that predict relevance need none.
    """
    counts = topic.counts(measure)
    if counts is None:
        return None
    levels = _levels(topic, measure)
    first = levels[0][1]
    likely = [_probabilities(level) for _, level in levels]
    if measure.name == "nDCG":
        number, expanded, _, _ = _ideal(topic, measure, levels)
        ideal = [discount_sum(p.sum(axis=0), measure.cutoff) for p in likely]
        total = sum(step * gain for (step, _), gain in zip(levels, ideal, strict=True))
    else:
        number, expanded, total = first.value.sum(axis=0), first.expanded, likely[0].sum(axis=0)
    gain = sum(step * p for (step, _), p in zip(levels, likely, strict=True))
    expected = plain_scores(measure, topic.position, np.ascontiguousarray(gain), np.asarray(total))
    expected = EXPECTED[measure.name] * expected
    if topic.predicts:
        return Difference(counts, expected * counts.some, expected, number, expanded)
    odds = topic.odds[:, None]
    drawn = np.where(odds > 0.0, likely[0] / (1.0 + odds), first.value)
    chance = 1.0 - np.prod(1.0 - drawn, axis=0)
    return Difference(counts, expected * (first.seen > 0.0), expected * chance, number, expanded)


def _probabilities(filled: FilledRelevance) -> np.ndarray:
    """Predicted probability (pair, replicate) of relevance, or the rate of a pair's stratum."""
    predicted = filled.rates if filled.predicted is None else filled.predicted
    assert predicted is not None
    return np.clip(predicted, 0.0, 1.0).T


def sum_of_precisions(measure: Measure, topic: TopicRelevance) -> tuple:
    """Numerator of AP (run, replicate) and its expanded values (run, replicate, slot)."""
    from bayeseval.measures.rank_sums import lone_products, precision_sum_influence

    filled, slots = topic.binary(measure.relevance_level), topic.slots
    value = np.ascontiguousarray(filled.value)
    sampled = (topic.top(measure.cutoff), value, slots.row, filled.expanded)
    both = precision_sum_influence(*sampled, slots.joint_excess, slots.stratum)
    beside = topic.beside(measure.relevance_level)
    if beside is not None:
        both += lone_products(*sampled, beside, topic.stratum)
    return both[..., 0], both[..., 1:]


def normalised_gain_score(measure: Measure, topic: TopicRelevance) -> TopicScore:
    """Score of nDCG@k: discounted gain, by the ideal gain of the estimated counts per level."""
    levels = _levels(topic, measure)
    weight = rank_weight(measure, topic.position.shape[1])
    gain = _weighted(topic, weight, combined(levels))
    *ideal, below = _ideal(topic, measure, levels)
    score, move = _scored_ratio(measure, topic, gain, tuple(ideal))
    variance = anticipated.of_ratio(topic, weight, levels, *move, below)
    return replace(score, anticipated=variance)


def r_precision(measure: Measure, topic: TopicRelevance) -> TopicScore:
    """Rprec: precision at the number of relevant documents."""
    return r_precision_score(measure, topic, _difference(measure, topic))


def _ideal(topic: TopicRelevance, measure: Measure, levels: anticipated.Levels) -> tuple:
    """Ideal gain, its expanded values, where it was raised, what a document of each level adds."""
    n_replicates = levels[0][1].value.shape[1]
    ideal, raised = np.zeros(n_replicates), np.zeros(n_replicates, dtype=bool)
    expanded, below = np.zeros(topic.slots.row.shape), []
    for step, level in levels:
        count, count_expanded, floored = relevant_count(level, least=0.0)
        ideal += step * discount_sum(count, measure.cutoff)
        below.append(step * discount_slope(count, measure.cutoff))
        expanded += below[-1][:, None] * count_expanded
        raised |= floored
    return ideal, expanded, raised, below


SCORES = {name: linear_score for name in names_of("linear")} | {
    "NumRel": relevant_count_score,
    "AP": average_precision_score,
    "nDCG": normalised_gain_score,
    "R": recall_score,
    "Rprec": r_precision,
}


def _scored_ratio(
    measure: Measure, topic: TopicRelevance, above: tuple, below: tuple
) -> tuple[TopicScore, tuple[anticipated.Floats, anticipated.Floats]]:
    """Score of a ratio, and what the anticipated variance of the ratio rests on.

    ``above`` holds the numerator and its expanded values, ``below`` the denominator, its expanded
    values and where it was raised to its floor.
    """
    difference = _difference(measure, topic)
    numerator, expanded = above
    if difference is None:
        score = ratio_score(topic, numerator, expanded, *below)
    else:
        score = difference_score(topic, numerator, expanded, below[1], difference)
    return score, anticipated.inverse_and_fall(difference, numerator, below[0])


def _levels(topic: TopicRelevance, measure: Measure) -> anticipated.Levels:
    """Steps of the gain, each with its relevance; relevance itself is a gain of one step."""
    if measure.graded:
        return topic.gain_levels(measure)
    return [(1.0, topic.binary(measure.relevance_level))]


def _weighted(topic: TopicRelevance, weight, filled: FilledRelevance) -> tuple:
    """Weighted sum (run, replicate) and its expanded values (run, replicate, slot)."""
    from bayeseval.measures.rank_sums import weighted_sum

    estimate = weighted_sum(topic.position, weight, filled.value)
    return estimate, topic.weights(weight)[:, topic.slots.row] * filled.expanded
