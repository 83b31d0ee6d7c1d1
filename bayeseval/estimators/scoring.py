"""From estimated relevance to the score of every run on one topic, with its deviations."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bayeseval.estimators.filled import FilledRelevance
from bayeseval.measures.linear import rank_weight
from bayeseval.measures.names import Measure
from bayeseval.measures.ratio import discount_slope, discount_sum
from bayeseval.uncertainty.slots import Slots

N_BOOTSTRAP = 100
DOUBTFUL = 0.25  # relative variance of a denominator above which a ratio needs limits


@dataclass(frozen=True, eq=False)
class TopicScore:
    """Scores of all runs on one topic.

    Parameters
    ----------
    estimate : float array (run, replicate)
    deviation : float array (run, replicate, slot)
        Squares add up to the design variance, products of two runs to their covariance.
    group : int array (replicate, slot) or None
        Variance groups of the leading slots; None where the deviations are those of a bootstrap.
    limited : bool array (run, replicate)
        Where a rule for ratios was needed: the number of relevant documents was raised to the
        number seen, or the ratio was brought back into [0, 1].
    """

    estimate: NDArray[np.float64]
    deviation: NDArray[np.float64]
    group: NDArray[np.int64] | None
    limited: NDArray[np.bool_]

    @property
    def variance(self) -> NDArray[np.float64]:
        """Design variance (run, replicate)."""
        return (self.deviation**2).sum(axis=-1)

    @property
    def spread(self) -> NDArray[np.float64]:
        """Sum over strata of variance^2 / (sampled documents - 1), (run, replicate)."""
        if self.group is None:
            return self.variance**2 / (N_BOOTSTRAP - 1.0)
        from bayeseval.uncertainty.centred import variance_spread

        return variance_spread(self.deviation, self.group)


@dataclass(frozen=True, eq=False)
class TopicRelevance:
    """What a scoring function may ask about one topic.

    Parameters
    ----------
    position : int array (run, rank)
        Row of the document among the topic's frame pairs, -1 for none.
    slots : Slots
        Sampled pairs.
    binary : callable (relevance_level) -> FilledRelevance
    gain_levels : callable (measure) -> list of (gain step, FilledRelevance)
        Gain as a sum of steps times the relevance "gain at or above this".
    random_seed : int
        For measures whose variance is found by replication.
    """

    position: NDArray[np.int32]
    slots: Slots
    binary: Callable[[int], FilledRelevance]
    gain_levels: Callable[[Measure], list[tuple[float, FilledRelevance]]]
    random_seed: int

    def top(self, cutoff: int | None) -> NDArray[np.int32]:
        """Positions down to a cutoff."""
        return self.position if cutoff is None else np.ascontiguousarray(self.position[:, :cutoff])

    def centred(self, expanded: NDArray[np.float64]) -> NDArray[np.float64]:
        """Deviations of expanded values (run, replicate, slot)."""
        from bayeseval.uncertainty.centred import centred

        return centred(np.ascontiguousarray(expanded), self.slots.probability, self.slots.group)

    def score(self, estimate, deviation, limited=None) -> TopicScore:
        """Score whose deviations stand slot by slot."""
        limited = np.zeros(estimate.shape, dtype=bool) if limited is None else limited
        return TopicScore(estimate, deviation, self.slots.group, limited)


def combined(levels: list[tuple[float, FilledRelevance]]) -> FilledRelevance:
    """Gain as one filled relevance: the sum of its steps."""
    value = sum(step * level.value for step, level in levels)
    expanded = sum(step * level.expanded for step, level in levels)
    return FilledRelevance(np.asarray(value), np.asarray(expanded), levels[0][1].seen)


def linear_score(measure: Measure, topic: TopicRelevance) -> TopicScore:
    """P@k, RBP, DCG@k and NumRelRet: weighted sums, exactly unbiased and never clipped."""
    graded = measure.graded
    filled = (
        combined(topic.gain_levels(measure)) if graded else topic.binary(measure.relevance_level)
    )
    weight = rank_weight(measure, topic.position.shape[1])
    estimate, expanded = _weighted(topic, weight, filled)
    return topic.score(estimate, topic.centred(expanded))


def relevant_count_score(measure: Measure, topic: TopicRelevance) -> TopicScore:
    """NumRel: the estimated number of relevant documents, the same for every run."""
    filled = topic.binary(measure.relevance_level)
    n_runs = topic.position.shape[0]
    estimate = np.repeat(filled.value.sum(axis=0)[None], n_runs, axis=0)
    expanded = np.repeat(filled.expanded[None], n_runs, axis=0)
    return topic.score(estimate, topic.centred(expanded))


def recall_score(measure: Measure, topic: TopicRelevance) -> TopicScore:
    """R@k: relevant documents in the top k, by the number of relevant documents."""
    filled = topic.binary(measure.relevance_level)
    weight = np.ones(topic.position.shape[1])[: measure.cutoff]
    estimate, expanded = _weighted(topic, weight, filled)
    return _ratio(topic, estimate, expanded, *_relevant_count(topic, filled))


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
    return _ratio(topic, numerator, expanded, *_relevant_count(topic, filled))


def normalised_gain_score(measure: Measure, topic: TopicRelevance) -> TopicScore:
    """Score of nDCG@k: discounted gain, by the ideal gain of the estimated counts per level."""
    levels = topic.gain_levels(measure)
    weight = _discount(topic.position.shape[1], measure.cutoff)
    gain, expanded = _weighted(topic, weight, combined(levels))
    ideal = np.zeros(gain.shape[1])
    ideal_expanded = np.zeros(topic.slots.row.shape)
    raised = np.zeros(gain.shape[1], dtype=bool)
    for step, level in levels:
        count, count_expanded, floored = _relevant_count(topic, level, least=0.0)
        ideal += step * discount_sum(count, measure.cutoff)
        ideal_expanded += step * discount_slope(count, measure.cutoff)[:, None] * count_expanded
        raised |= floored
    return _ratio(topic, gain, expanded, ideal, ideal_expanded, raised)


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


SCORES = {
    "P": linear_score,
    "RBP": linear_score,
    "DCG": linear_score,
    "NumRelRet": linear_score,
    "NumRel": relevant_count_score,
    "AP": average_precision_score,
    "nDCG": normalised_gain_score,
    "R": recall_score,
    "Rprec": r_precision_score,
}


def _discount(depth: int, cutoff: int | None) -> NDArray[np.float64]:
    reach = depth if cutoff is None else min(depth, cutoff)
    return 1.0 / np.log2(np.arange(2, reach + 2))


def _weighted(topic: TopicRelevance, weight, filled: FilledRelevance) -> tuple:
    """Weighted sum (run, replicate) and its expanded values (run, replicate, slot)."""
    from bayeseval.measures.rank_sums import picked_weight, weighted_sum

    estimate = weighted_sum(topic.position, weight, filled.value)
    if not topic.slots.row.size:
        return estimate, np.zeros((*estimate.shape, 0))
    at_slots = picked_weight(topic.position, weight, topic.slots.row, filled.value.shape[0])
    return estimate, at_slots * filled.expanded


def _relevant_count(topic: TopicRelevance, filled: FilledRelevance, least: float = 1.0) -> tuple:
    """Estimated number of relevant documents, its expanded values, and where it had to be raised.

    It is never below the number of relevant documents seen, nor below one: an estimate of a tiny
    or negative number would make every ratio explode.
    """
    count = filled.value.sum(axis=0)
    floor = np.maximum(filled.seen, least)
    raised = count < floor
    expanded = np.where(raised[:, None], 0.0, filled.expanded)
    certain = (topic.slots.probability >= 1.0).all(axis=1)  # nothing relevant, and all judged
    return np.where(raised, floor, count), expanded, raised & ~certain


def _ratio(topic, numerator, expanded, denominator, denominator_expanded, raised) -> TopicScore:
    """Ratio of two estimates with its second-order bias removed.

    (N D + C(N, D)) / (D^2 + V(D)): Beale's estimator. It equals N/D - N V(D) / D^3 + C(N, D) / D^2
    to second order and stays finite where D is small. Where D was raised to a floor, or its
    relative variance is above a quarter, the ratio is limited to [0, 1] and its variance to 1/4.
    Elsewhere it is left alone: it is nearly linear there, and clipping would bias it, as it would
    P@k.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        plain = np.where(denominator > 0, numerator / denominator, 0.0)
        above = topic.centred(expanded)
        below = topic.centred(denominator_expanded[None])
        variance = (below**2).sum(axis=-1)
        covariance = (above * below).sum(axis=-1)
        usable = np.isfinite(variance) & (denominator > 0)
        corrected = (numerator * denominator + covariance) / (denominator**2 + variance)
        raw = np.where(usable, corrected, plain)
        linear = np.where(
            (denominator > 0)[:, None],
            (above - plain[..., None] * below) / denominator[:, None],
            0.0,
        )
        relative = np.where((denominator > 0)[:, None], below / denominator[:, None], 0.0)
        doubtful = raised | (variance > DOUBTFUL * denominator**2)
    deviation = _ratio_deviation(linear, relative)
    estimate = np.where(doubtful, np.clip(raw, 0.0, 1.0), raw)
    deviation = np.where(doubtful[..., None], _bounded(deviation), deviation)
    limited = (np.abs(estimate - raw) > 1e-12) | raised
    return topic.score(estimate, deviation, limited)


def _ratio_deviation(linear: NDArray[np.float64], relative: NDArray[np.float64]) -> NDArray:
    """Deviations of a ratio to third order: those of its linear part, widened, and one slot more.

    With l the linear error and d the relative error of the denominator the error of a ratio is l -
    l d + l d^2 - ..., whose variance for normal errors is V(l) (1 + 3 V(d)) + 5 C(l, d)^2. Taking
    off the bias takes off some of that again, but the residuals of real judgments are skewed: on
    TREC runs with 100 judgments a topic the linear part alone is .84 (AP) of the true variance
    under ``stat`` and this is 1.02; under ``dyn`` it errs to the safe side.
    """
    widening = np.sqrt(1.0 + 3.0 * (relative**2).sum(axis=-1, keepdims=True))
    product = (linear * relative).sum(axis=-1, keepdims=True)
    return np.concatenate([linear * widening, np.sqrt(5.0) * product], axis=-1)


def _bounded(deviation: NDArray[np.float64]) -> NDArray[np.float64]:
    """Deviations with a variance of at most 1/4, the most that a score in [0, 1] can have."""
    error = np.sqrt((deviation**2).sum(axis=-1, keepdims=True))
    return deviation * np.minimum(1.0, 0.5 / np.maximum(error, 0.5))


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
