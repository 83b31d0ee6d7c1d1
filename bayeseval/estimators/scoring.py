"""From sampled relevance to the score of every run on one topic, with its deviations."""

from dataclasses import replace

import numpy as np

from bayeseval.estimators import anticipated
from bayeseval.estimators.counts import TopicCounts
from bayeseval.estimators.ratios import Control, r_precision_score, ratio_score, relevant_count
from bayeseval.estimators.relevance import FilledRelevance, TopicRelevance
from bayeseval.estimators.topic_scores import TopicScore
from bayeseval.measures.measure import Measure
from bayeseval.measures.scores import rank_weight
from bayeseval.measures.table import discount_slope, discount_sum, names_of
from bayeseval.rounding import ratio

CONTROLLED = {"AP": 1.0, "R": 0.5}  # the top ranks of R@k tell less of what is off in all


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
    counts = topic.counts(measure)
    control = control_variate(measure, topic, counts)
    move = anticipated.inverse_and_fall(counts, numerator, denominator, control)
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
    position = topic.top(measure.cutoff)
    variance = anticipated.of_average_precision(
        topic, position, filled, topic.counts(measure), *move
    )
    return replace(score, anticipated=variance)


def control_variate(
    measure: Measure, topic: TopicRelevance, counts: TopicCounts | None
) -> Control | None:
    r"""Control variate of AP and R@k; None without a posterior.

    Its coefficient is c w A. A is the score that the predictions p (for ``stat`` the rates of the
    strata) lead one to expect, of AP :math:`\sum_i p_i (1 + \sum_{j < i} p_j) / i` by
    :math:`\sum p`; w is how far the topic's own sample tells the number of relevant documents
    (`TopicCounts.shrinkage_weight`), c that of `CONTROLLED`.
    The chance that something relevant is drawn is :math:`1 - \prod (1 - \pi p)`, with what is known
    for p where a document is drawn for certain; estimators that predict relevance need none.
    """
    from bayeseval.measures.rank_sums import precision_sum, weighted_sum

    if counts is None or measure.name not in CONTROLLED:
        return None
    filled = topic.binary(measure.relevance_level)
    predicted = filled.rates if filled.predicted is None else filled.predicted
    assert predicted is not None
    likely = np.ascontiguousarray(np.clip(predicted, 0.0, 1.0).T)
    if measure.name == "AP":
        above = precision_sum(topic.top(measure.cutoff), likely)
    else:
        weight = rank_weight(measure, topic.position.shape[1])
        above = weighted_sum(topic.position, weight, likely)
    expected = np.minimum(ratio(above, likely.sum(axis=0)), 1.0)
    some, chance = counts.some, np.ones_like(counts.some)
    if not topic.predicts:
        odds = topic.odds[:, None]
        drawn = np.where(odds > 0.0, likely / (1.0 + odds), filled.value)
        some, chance = (filled.seen > 0.0).astype(float), 1.0 - np.prod(1.0 - drawn, axis=0)
    coefficient = CONTROLLED[measure.name] * counts.shrinkage_weight * expected
    return Control(coefficient, some, chance, filled.value.sum(axis=0), filled.expanded)


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
    "Rprec": r_precision_score,
}


def _scored_ratio(
    measure: Measure, topic: TopicRelevance, above: tuple, below: tuple
) -> tuple[TopicScore, tuple[anticipated.Floats, anticipated.Floats]]:
    """Score of a ratio, and what the anticipated variance of the ratio rests on.

    ``above`` holds the numerator and its expanded values, ``below`` the denominator, its expanded
    values and where it was raised to its floor.
    """
    counts = topic.counts(measure)
    control = control_variate(measure, topic, counts)
    score = ratio_score(topic, *above, *below, counts=counts, control=control)
    return score, anticipated.inverse_and_fall(counts, above[0], below[0], control)


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
