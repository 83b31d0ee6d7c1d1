"""Ratios of two estimates: AP, nDCG, R@k by their denominators, and precision at R."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from bayeseval.estimators.counts import TopicCounts
from bayeseval.estimators.relevance import FilledRelevance, TopicRelevance
from bayeseval.estimators.topic_scores import TopicScore
from bayeseval.measures.measure import Measure
from bayeseval.measures.table import for_each_run
from bayeseval.rounding import ratio, settled
from bayeseval.uncertainty.slots import Slots

UNPREDICTED = 0.6  # of a ratio, for the error of the posterior of what divides
DOUBTFUL = 0.25  # relative variance (error, by the counts) above which a ratio is in [0, 1]
N_BOOTSTRAP = 100
N_CUTOFFS = 16


def relevant_count(filled: FilledRelevance, least: float = 1.0) -> tuple:
    """Estimated number of relevant documents, its expanded values, and where it had to be raised.

    It is never below the number of relevant documents seen, nor below one: an estimate of a tiny
    or negative number would make every ratio explode.
    """
    count = filled.value.sum(axis=0)
    floor = np.maximum(filled.seen, least)
    raised = count < floor
    expanded = np.where(raised[:, None], 0.0, filled.expanded)
    return np.where(raised, floor, count), expanded, raised


@dataclass(frozen=True, eq=False)
class Difference:
    """The difference estimator of a ratio, c s + E[1 / D] (N - c q D).

    c is the score that the predictions lead one to expect, or a part of it: an error of E[1 / D]
    then multiplies only the rest of the ratio. Where the model of the counts is right, D E[1 / D]
    is on average over topics the probability s that there is anything relevant; q is 1. Where D is
    the sum over seen relevant documents alone, s is whether any was seen, and q the chance of that:
    then a topic in which nothing relevant was seen scores 0.

    Parameters
    ----------
    counts : TopicCounts
        Posterior of D.
    constant, weight : float array (run, replicate)
        c s and c q.
    number : float array (replicate,)
        D as the topic's own sample estimates it.
    expanded : float array (replicate, slot)
        Its expanded values.
    """

    counts: TopicCounts
    constant: NDArray[np.float64]
    weight: NDArray[np.float64]
    number: NDArray[np.float64]
    expanded: NDArray[np.float64]

    def remainder(self, numerator: NDArray[np.float64]) -> NDArray[np.float64]:
        """N - c q D (run, replicate)."""
        return numerator - self.weight * self.number

    def fall(self, numerator: NDArray[np.float64]) -> NDArray[np.float64]:
        """How much the ratio (run, replicate) falls as the topic's own estimate of D rises."""
        counts = self.counts
        return self.remainder(numerator) * counts.inverse_fall + self.weight * counts.inverse


def difference_score(
    topic: TopicRelevance,
    numerator: NDArray[np.float64],
    expanded: NDArray[np.float64],
    followed: NDArray[np.float64],
    difference: Difference,
) -> TopicScore:
    """Ratio by the difference estimator.

    ``followed`` (replicate, slot) are the expanded values of D as far as its posterior follows the
    topic's own sample: 0 where the estimate from that sample alone had to be raised.
    """
    counts, remainder = difference.counts, difference.remainder(numerator)
    estimate = difference.constant + remainder * counts.inverse
    above = expanded - difference.weight[..., None] * difference.expanded
    below = topic.centred(followed[None])
    deviation = topic.centred(above) * counts.inverse[:, None]
    deviation = deviation - (remainder * counts.inverse_fall)[..., None] * below
    explained = counts.inverse_fall**2 * (below[0] ** 2).sum(axis=-1)
    return by_counts(topic, counts, estimate, deviation, numerator, explained)


def ratio_score(
    topic: TopicRelevance,
    numerator: NDArray[np.float64],
    expanded: NDArray[np.float64],
    denominator: NDArray[np.float64],
    denominator_expanded: NDArray[np.float64],
    raised: NDArray[np.bool_],
) -> TopicScore:
    """Ratio of two estimates from the topic's own sample, without its second-order bias.

    Beale's estimator (N D + C(N, D)) / (D^2 + V(D)) is N/D - N V(D) / D^3 + C(N, D) / D^2 to second
    order and stays finite where D is small.
    Where D was raised to a floor, or its relative variance is above a quarter, the ratio is limited
    to [0, 1] and its variance to 1/4. Elsewhere it is left alone: it is nearly linear there, and
    clipping would bias it, as it would P@k.
    """
    above = topic.centred(expanded)
    below = topic.centred(denominator_expanded[None])
    plain = ratio(numerator, denominator)
    variance = (below**2).sum(axis=-1)
    covariance = (above * below).sum(axis=-1)
    usable = np.isfinite(variance) & (denominator > 0)
    corrected = numerator * denominator + covariance
    raw = np.divide(corrected, denominator**2 + variance, out=plain.copy(), where=usable)
    unknown = np.where(np.isnan(above), np.nan, 0.0)
    linear = ratio(above - plain[..., None] * below, denominator[:, None], otherwise=unknown)
    relative = ratio(below, denominator[:, None])
    doubtful = raised | (variance > DOUBTFUL * denominator**2)
    deviation = _ratio_deviation(linear, relative)
    error = np.sqrt((deviation**2).sum(axis=-1, keepdims=True))
    bounded = deviation * np.minimum(1.0, 0.5 / np.maximum(error, 0.5))
    estimate = np.where(doubtful, np.clip(raw, 0.0, 1.0), raw)
    return topic.score(estimate, np.where(doubtful[..., None], bounded, deviation))


def _ratio_deviation(linear: NDArray[np.float64], relative: NDArray[np.float64]) -> NDArray:
    """Deviations of a ratio to third order: those of its linear part, widened, and one slot more.

    With l the linear error and d the relative error of the denominator the error of a ratio is
    l - l d + l d^2 - ..., whose variance for normal errors is V(l) (1 + 3 V(d)) + 5 C(l, d)^2.
    Taking off the bias takes off some of that again, but the residuals of real judgments are
    skewed, and the linear part alone is too small.
    """
    widening = np.sqrt(1.0 + 3.0 * (relative**2).sum(axis=-1, keepdims=True))
    product = (linear * relative).sum(axis=-1, keepdims=True)
    return np.concatenate([linear * widening, np.sqrt(5.0) * product], axis=-1)


def by_counts(
    topic: TopicRelevance,
    counts: TopicCounts,
    estimate: NDArray[np.float64],
    deviation: NDArray[np.float64],
    numerator: NDArray[np.float64],
    explained: NDArray[np.float64] | float = 0.0,
) -> TopicScore:
    """Ratio by the posterior of its denominator D, with the errors of both.

    The error of E[1 / D] has three parts. The posterior mean of D follows the topic's own sample
    with the shrinkage weight: that part goes with the error of the numerator, slot by slot. What
    the posterior variance has beyond that is the topic's own, the same for all runs; and a part of
    that, by the hyperparameters, is shared by all topics. The last two multiply what the
    predictions leave of the ratio, which is not known: they are taken to leave .6 of the
    ``numerator`` (run, replicate).

    ``estimate`` (run, replicate) has the ``deviation`` (run, replicate, slot), of which the first
    part of the error of E[1 / D] has the variance ``explained`` (replicate,). Where that part is
    not in the deviation, all is taken for the topic's own, which makes intervals longer. Where the
    number of relevant documents has a relative error above a quarter, the estimate is limited to
    [0, 1].
    """
    unpredicted = UNPREDICTED * numerator
    own = unpredicted * counts.own_error(explained)
    poor = counts.relative_error > DOUBTFUL
    estimate = np.where(poor, np.clip(estimate, 0.0, 1.0), estimate)
    score = topic.score(estimate, np.concatenate([deviation, own[..., None]], axis=-1))
    return replace(score, shared=unpredicted[..., None] * counts.shared, by_counts=True)


def r_precision_score(
    measure: Measure, topic: TopicRelevance, difference: Difference | None
) -> TopicScore:
    """Rprec: precision at the estimated number of relevant documents, its variance by replication.

    The cutoff is itself estimated, so the score is not a smooth ratio. Precision is linear between
    two whole cutoffs, and the deviations are those of a rescaled stratified bootstrap (Rao and Wu
    1988). Where there is a model of the counts of all topics, it is the mean precision at the
    numbers that their posterior holds for likely.
    """
    filled = topic.binary(measure.relevance_level)
    if difference is None:
        return _by_own_count(topic, filled)
    return _by_counts(topic, filled, difference)


def _by_own_count(topic: TopicRelevance, filled: FilledRelevance) -> TopicScore:
    """Precision at the number of relevant documents that the topic's own sample estimates."""
    count, least = filled.value.sum(axis=0), np.maximum(filled.seen, 1.0)

    def precision_at_count(value, column):
        number = np.maximum(value.sum(axis=0), least[column])
        return _precision_at(topic.position, value, number)

    estimate = np.clip(precision_at_count(filled.value, slice(None)), 0.0, 1.0)
    score = topic.score(estimate, _bootstrapped(topic, filled, precision_at_count))
    return replace(score, by_slot=_linear(topic, filled, np.maximum(count, least)))


def _by_counts(
    topic: TopicRelevance, filled: FilledRelevance, difference: Difference
) -> TopicScore:
    """Mean precision at the numbers of relevant documents that the counts of all topics allow.

    c s is added and c q D E[1 / D] taken off, as for other ratios.
    """
    counts = difference.counts
    likely = 1.0 / np.where(counts.inverse > 0.0, counts.inverse, 1.0)
    taken = difference.weight * counts.inverse  # of every relevant document

    def remainder_at_likely(value, column):
        precision = _precision_at(topic.position, value, np.repeat(likely[column], value.shape[1]))
        return precision - taken[:, column, None] * value.sum(axis=0)

    mean, slope = _over_counts(topic.position, filled.value, counts)
    estimate = mean + difference.constant - taken * difference.number
    deviation = _bootstrapped(topic, filled, remainder_at_likely)
    score = by_counts(topic, counts, estimate, deviation, slope)
    return replace(score, by_slot=_linear(topic, filled, likely))


def _precision_at(position, value, count) -> NDArray[np.float64]:
    """Precision (run, column) at fractional cutoffs (column,)."""
    from bayeseval.measures.rank_sums import cumulative_at

    cutoff = for_each_run(count, position)
    return cumulative_at(position, np.ascontiguousarray(value), cutoff) / count


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
