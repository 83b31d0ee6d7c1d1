"""Design variances to be expected if documents are relevant with the predicted probabilities."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from bayeseval.estimators.ratios import Difference
from bayeseval.estimators.relevance import FilledRelevance, TopicRelevance
from bayeseval.measures.scores import precision_weights
from bayeseval.rounding import ROUNDING, ratio, settled

LARGEST = 0.25  # variance of a score in [0, 1]

Floats = NDArray[np.floating]
Levels = list[tuple[float, FilledRelevance]]


def level_covariance(levels: Levels, first: Sequence[Floats], second: Sequence[Floats]) -> Floats:
    r"""Covariance (pair, replicate) of two sums over the levels that a document reaches.

    .. math:: \sum_{jk} a_j b_k (\min(p_j, p_k) - p_j p_k)

    with p_j the predicted probability of level j or more: a document that reaches a level reaches
    those below it. With the steps of a gain for a and b its variance; of relevance p (1 - p). Where
    the doubts v of the levels are known their errors are taken to go together,
    :math:`\sum_{jk} a_j b_k \sqrt{v_j v_k}`. a and b are the first and second, (replicate,) each.
    """
    doubt = [level.doubt for _, level in levels if level.doubt is not None]
    if len(doubt) == len(levels):
        one, other = (
            sum(step[:, None] * np.sqrt(v) for step, v in zip(steps, doubt, strict=True))
            for steps in (first, second)
        )
        return np.ascontiguousarray(np.asarray(one * other).T)
    chance = [np.clip(np.asarray(level.predicted), 0.0, 1.0) for _, level in levels]
    total = np.zeros(chance[0].shape)
    for a, p in zip(first, chance, strict=True):
        for b, q in zip(second, chance, strict=True):
            total += (a * b)[:, None] * (np.minimum(p, q) - p * q)
    return np.ascontiguousarray(total.T)


def of_sum(topic: TopicRelevance, weight: Floats, levels: Levels) -> Floats | None:
    r"""Of a weighted sum over ranks, (run, replicate); None without predictions.

    .. math:: \sum_d \frac{1 - \pi_d}{\pi_d} w_d^2 \, Var(gain_d)

    the mean design variance of the difference estimator where M are the probabilities; for ``stat``
    that of a difference estimator with the rates of the strata, which is less than its own.
    """
    from bayeseval.measures.rank_sums import weighted_sum

    if not _predicted(levels):
        return None
    gain = _steps(levels)
    return weighted_sum(topic.position, weight**2, _spread(topic, levels, gain, gain))


def weights_of_precisions(position: NDArray[np.int32], chance: Floats) -> Floats:
    """What every document is expected to add to every run's sum of precisions, (run, pair).

    Of :func:`precision_weights`, 0 where a run does not rank the document.

    Examples
    --------
    >>> weights_of_precisions(np.array([[1, 0]]), np.array([0.5, 1.0]))
    array([[1.  , 1.25]])
    """
    weights = np.zeros((position.shape[0], chance.size))
    run, rank = np.nonzero(position >= 0)
    weights[run, position[run, rank]] = precision_weights(position, chance)[run, rank]
    return weights


def of_differences(topic: TopicRelevance, weights: Floats, levels: Levels) -> Floats:
    r"""Of differences of weighted sums over documents, (run, run_other), as :func:`of_sum` of each.

    .. math:: \sum_d \frac{1 - \pi_d}{\pi_d} (w_{da} - w_{db})^2 \, Var(gain_d)

    Of one sample, by weights w (run, pair) and levels that have predictions.
    """
    gain = _steps(levels)
    between = (weights * _spread(topic, levels, gain, gain)[:, 0]) @ weights.T
    alone = np.diagonal(between)
    whole = alone[:, None] + alone[None]
    apart = whole - 2.0 * between
    return np.where(apart > ROUNDING * whole, apart, 0.0)


def of_total(topic: TopicRelevance, levels: Levels) -> Floats | None:
    """Of the sum over all documents of the frame, (replicate,)."""
    if not _predicted(levels):
        return None
    gain = _steps(levels)
    return _spread(topic, levels, gain, gain).sum(axis=0)


def of_ratio(
    topic: TopicRelevance,
    weight: Floats,
    levels: Levels,
    inverse: Floats,
    fall: Floats,
    below: Sequence[Floats],
) -> Floats | None:
    """Of a ratio, by its linear error as far as the topic's own sample moves the denominator.

    ``inverse`` and ``fall`` are those of :func:`inverse_and_fall`, ``below`` (replicate,) is what a
    document of each level adds to the denominator.
    """
    from bayeseval.measures.rank_sums import weighted_sum

    own = of_sum(topic, weight, levels)
    if own is None:
        return None
    joint = _spread(topic, levels, _steps(levels), below)
    both = weighted_sum(topic.position, weight, joint)
    whole = _spread(topic, levels, below, below).sum(axis=0)
    variance = inverse**2 * own - 2.0 * inverse * fall * both + fall**2 * whole
    return np.clip(variance, 0.0, LARGEST)


def of_average_precision(
    topic: TopicRelevance,
    position: NDArray[np.int32],
    filled: FilledRelevance,
    inverse: Floats,
    fall: Floats,
) -> Floats | None:
    """Of AP, as :func:`of_ratio`, by what every document is expected to add to the numerator.

    None by learned predictions, where the estimated variance serves.
    ``inverse`` and ``fall`` are those of :func:`inverse_and_fall`.
    """
    from bayeseval.measures.rank_sums import expected_precision_sums

    levels = [(1.0, filled)]
    learned = topic.predicts and filled.doubt is None
    if learned or not _predicted(levels):
        return None
    one = [np.ones(fall.shape[1])]
    spread = _spread(topic, levels, one, one)
    chance = np.ascontiguousarray(np.clip(np.asarray(filled.predicted), 0.0, 1.0).T)
    both, own = expected_precision_sums(position, chance, spread)
    variance = inverse**2 * own - 2.0 * inverse * fall * both + fall**2 * spread.sum(axis=0)
    return np.clip(variance, 0.0, LARGEST)


def of_ratio_differences(
    topic: TopicRelevance,
    weights: Floats,
    levels: Levels,
    inverse: Floats,
    fall: Floats,
    below: Sequence[Floats],
) -> Floats:
    """Of differences of ratios (run, run_other), as :func:`of_ratio` is of each.

    Of one sample. Parameters as there, but for ``weights`` (run, pair).
    """
    apart = of_differences(topic, weights, levels)
    both = weights @ _spread(topic, levels, _steps(levels), below)[:, 0]
    whole = _spread(topic, levels, below, below)[:, 0].sum()
    one, other = fall[:, :1], fall[:, 0]
    steeper = settled(one - other, one, other)
    joint = settled(both[:, None] - both, both[:, None], both)
    variance = inverse[0] ** 2 * apart - 2.0 * inverse[0] * steeper * joint
    return np.clip(variance + steeper**2 * whole, 0.0, 4.0 * LARGEST)


def inverse_and_fall(
    difference: Difference | None, numerator: NDArray[np.float64], denominator: Floats
) -> tuple[Floats, Floats]:
    """What the anticipated variance of a ratio rests on.

    That is 1 / denominator (replicate,), by the posterior or as the topic's own sample estimates
    it, and how much the ratio (run, replicate) falls as the denominator by that sample rises.
    """
    if difference is not None:
        return difference.counts.inverse, difference.fall(numerator)
    inverse = ratio(1.0, denominator)
    return inverse, numerator * inverse**2


def _spread(
    topic: TopicRelevance, levels: Levels, first: Sequence[Floats], second: Sequence[Floats]
) -> Floats:
    """What each document's :func:`level_covariance` adds to that of sums, (pair, replicate)."""
    return topic.odds[:, None] * level_covariance(levels, first, second)


def _predicted(levels: Levels) -> bool:
    return all(level.predicted is not None for _, level in levels)


def _steps(levels: Levels) -> list[Floats]:
    """Step of every level, for all replicates."""
    return [np.full(level.value.shape[1], step) for step, level in levels]
