"""Rates of relevance by stratum, from the sample alone."""

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bayeseval.estimators.counts.cells import N_CELLS, blocks
from bayeseval.frame.sample import Sample
from bayeseval.regression.ridge_logistic import Penalty, TopicRows, logits, ridge_logistic

PRIOR = 5.0  # documents that the strata of all topics count for in that of one
CURVE_PENALTY = 0.1  # of the curve over places


def stratum_rates(sample: Sample, observed: NDArray[np.float64]) -> NDArray[np.float64]:
    r"""Rate of relevance (replicate, frame_pair) of each pair's stratum.

    .. math:: \hat p_{th} = \frac{k_{th} + 5\, \hat r_h}{n_{th} + 5}, \qquad
              \hat r_h = \frac{1/2 + \sum_t k_{th}}{1 + \sum_t n_{th}}

    with k of the n sampled documents of stratum h of topic t relevant: where few are sampled a rate
    leans on the same place in other topics. Places are counted among the strata of a topic that are
    not wholly judged. Poisson samples have none: blocks of a topic's pairs by falling inclusion
    probability stand for them. ``observed`` is the relevance of the selected pairs, 0 elsewhere.
    """
    return _rates(sample, observed, *_strata_and_places(sample))


def rates_beside(sample: Sample, observed: NDArray[np.float64]) -> NDArray[np.float64] | None:
    r"""Rate of relevance of strata of which one document was drawn, by the other draws.

    .. math:: \mathrm{logit}\, p_{th} = \beta_0 + \beta_1 h + \beta_2 1[\pi_{th} = 1] + \gamma_t,
              \qquad \gamma_t \sim N(0, 1)

    h is the place of a stratum among those of its topic that are not wholly judged, so that the
    rate falls with the rank of exponential strata. The fit is to all draws; from the rate of a
    stratum its own draw is taken out by one Newton step, so that it has no say in the rate (to
    first order).

    Parameters
    ----------
    sample : Sample
    observed : float array (replicate, frame_pair)
        Relevance of the selected pairs, 0 elsewhere.

    Returns
    -------
    float array (replicate, frame_pair) or None
        0 in strata that are judged in full, or of which two or more were drawn, and where nothing
        relevant was drawn in any topic; None where there are no others.

    References
    ----------
    Pregibon, "Logistic regression diagnostics", Annals of Statistics 9 (1981), on the step.
    """
    if (sample.stratum < 0).any():
        return None
    stratum, place = _strata_and_places(sample)
    size = np.bincount(stratum)
    rates = np.zeros(observed.shape)
    for row, (chosen, of_pairs) in enumerate(zip(sample.selected, observed, strict=True)):
        lone = (np.bincount(stratum, chosen) == 1.0) & (size > 1)
        if lone.any() and of_pairs.any():
            drawn = np.flatnonzero(chosen)
            where = stratum[drawn]
            at = place[where].astype(float)
            features = np.stack([np.ones(drawn.size), at, (at == 0.0).astype(float)], axis=1)
            rate = _left_out(features, sample.topic[drawn], of_pairs[drawn], sample.n_topics)
            by_stratum = np.zeros(size.size)
            by_stratum[where] = rate
            rates[row] = np.where(lone, by_stratum, 0.0)[stratum]
    return rates if rates.any() else None


def _left_out(
    features: NDArray[np.float64], topic: NDArray, relevant: NDArray[np.float64], n_topics: int
) -> NDArray[np.float64]:
    """Rate (draw,) that all draws but this one lead one to expect of each."""
    from scipy.special import expit

    features[:, 1] -= features[:, 1].mean()
    features[:, 1] /= max(features[:, 1].std(), 1e-9)
    penalty = Penalty(np.full(features.shape[1], CURVE_PENALTY), np.ones(1))
    rows = TopicRows(features, np.ones((topic.size, 1)), topic, n_topics)
    logit = logits(rows, ridge_logistic(rows, relevant, penalty))
    rate = expit(logit)
    # variance of each logit, the effects of topics eliminated
    weight = rate * (1.0 - rate)
    whole = np.bincount(topic, weight, n_topics) + 1.0
    mean = np.stack([np.bincount(topic, weight * x, n_topics) for x in features.T], axis=1)
    inside = (features * weight[:, None]).T @ features - (mean / whole[:, None]).T @ mean
    inverse = np.linalg.inv(inside + CURVE_PENALTY * np.eye(features.shape[1]))
    off = features - (mean / whole[:, None])[topic]
    variance = 1.0 / whole[topic] + np.einsum("dj,jk,dk->d", off, inverse, off)
    return expit(logit - variance * (relevant - rate) / (1.0 - weight * variance))


def squared_residuals(
    sample: Sample, observed: NDArray[np.float64], predicted: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Mean squared residual (replicate, frame_pair) of each pair's stratum, smoothed as rates are.

    Of predictions p that are taken as they are, p (1 - p) says nothing of their errors. Without
    strata those of a topic stand for them, but for what is judged for certain.
    """
    square = np.where(sample.selected, np.square(observed - predicted), 0.0)
    if (sample.stratum < 0).any():
        stratum = 2 * sample.topic + (sample.inclusion_probability == 1.0)
        return _rates(sample, square, stratum, np.tile([0, 1], sample.n_topics))
    return _rates(sample, square, *_strata_and_places(sample))


def _strata_and_places(sample: Sample) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Number of each pair's stratum (without strata: block), and the place of each in its topic."""
    if (sample.stratum < 0).any():
        inside = [sample.of_topic(topic) for topic in range(sample.n_topics)]
        label = np.concatenate([_blocks(sample.inclusion_probability[part]) for part in inside])
        place = np.arange(N_CELLS + 1)
        return sample.topic * place.size + label, np.tile(place, sample.n_topics)
    _, first, stratum = np.unique(sample.stratum, return_index=True, return_inverse=True)
    place = _places(sample.topic[first], sample.inclusion_probability[first] < 1.0)
    return stratum, place


def _blocks(probability: NDArray[np.float64]) -> NDArray[np.int64]:
    """Block from 1 of each pair of a topic by falling inclusion probability; 0 of the certain ones.

    Pairs of one probability are in one block.

    Examples
    --------
    >>> _blocks(np.array([1.0, 0.1, 0.5, 0.1]))
    array([ 0, 19, 16, 19])
    """
    rank = 1 + np.searchsorted(np.sort(-probability), -probability, side="left")
    return np.where(probability < 1.0, 1 + blocks(rank), 0)


def _rates(
    sample: Sample, value: NDArray[np.float64], stratum: NDArray, place: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Means of the selected pairs' values by stratum, which lean on those of their place."""
    rates = np.empty(value.shape)
    for row, (chosen, of_pairs) in enumerate(zip(sample.selected, value, strict=True)):
        drawn = np.bincount(stratum, chosen, place.size)
        found = np.bincount(stratum, of_pairs, place.size)
        at_place = (np.bincount(place, found) + 0.5) / (np.bincount(place, drawn) + 1.0)
        rates[row] = ((found + PRIOR * at_place[place]) / (drawn + PRIOR))[stratum]
    return rates


def _places(topic: NDArray[np.integer], is_open: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Number from 1 of each stratum among the open ones of its topic; 0 of those wholly judged.

    Examples
    --------
    >>> _places(np.array([0, 0, 0, 1, 1, 0]), np.array([False, True, True, True, True, True]))
    array([0, 1, 2, 1, 2, 3])
    """
    place = np.zeros(topic.size, dtype=np.int64)
    place[is_open] = 1 + pd.Series(topic[is_open]).groupby(topic[is_open]).cumcount()
    return place
