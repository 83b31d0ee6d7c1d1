"""The default predictor: one regularised logistic regression over all topics."""

import itertools

import numpy as np
from numpy.typing import NDArray

from bayeseval.frame.features import (
    best_rank_features,
    component_features,
    log_ranks,
    run_features,
)
from bayeseval.frame.sample import Sample
from bayeseval.predictors.cross_fitting import folds
from bayeseval.processors import each_on_a_core
from bayeseval.regression.ridge_logistic import Penalty, TopicRows, logits, ridge_logistic

INTERCEPT_PENALTY = 0.25
FEW_LABELS = 20  # different values, at most, that are labels and not numbers


def pooled(
    sample: Sample,
    relevance: NDArray[np.float64],
    *,
    values: NDArray[np.float64] | None = None,
) -> NDArray[np.float64]:
    r"""M(d) from the fused rank, the topic and every contributing run's rank, over all topics.

    .. math:: \mathrm{logit} M(d) = \beta' f(d) + \sum_r \rho_r g(rank_r(d))
              + \gamma_{t0} + \gamma_{t1} x(d) + \sum_{c=2}^{4} \gamma_{tc} z_c(d)

    f holds 1, x (the centred log of the fused rank), its square, and the logs of the best, 2nd
    best, 4th best, ... rank over the runs; g is a discount that falls with the log of the rank from
    1 at rank 1 to 0 for what run r did not retrieve, :math:`\rho_r` the reliability of run r. The
    :math:`\gamma` belong to the topic t; z are the 2nd to 4th principal components of the g of all
    runs, so that runs of one kind may be good on one topic and bad on another.

    Every judged document counts once. Ridge penalties stand for normal priors: the standard
    deviation is 2 for the intercept, 1 for that of a topic, .58 for its slope, .71 for its
    components and 1 for a reliability.

    The strata of every topic are dealt into five folds before the draw, in the order of the topics'
    labels, and M of the documents of a fold comes from a fit to the other folds. M of a document
    therefore never depends on the sample of its own stratum. The intercept of the topic takes the
    place of a calibration offset. Without any training document M is 0.

    Parameters
    ----------
    sample, relevance
        As for :func:`bayeseval.predictors.constant`.
    values : float array (frame_pair,) or (frame_pair, judge), optional
        External predictions to learn from as well; NaN where there is none.

    Returns
    -------
    ndarray (replicate, frame_pair)
        M in [0, 1].

    Examples
    --------
    >>> from bayeseval.frame.sample import Sample
    >>> import numpy as np, bayeseval as be
    >>> sample = Sample(
    ...     np.arange(6), np.zeros(6, int), np.array([0, 6]), np.full(6, 0.5),
    ...     np.array([0, 0, 1, 1, 2, 2]), np.array([[1, 0, 1, 0, 0, 1]], bool),
    ...     np.arange(1, 7), np.arange(1, 7)[:, None])
    >>> be.predictors.pooled(sample, np.array([[1.0, 0, 0, 0, 0, 0]])).round(2)
    array([[0.34, 0.24, 0.44, 0.29, 0.15, 0.11]])
    """
    rank, runs = log_ranks(sample.fused_rank), run_features(sample)
    best = best_rank_features(sample)
    external = value_features(values, sample.n_pairs)
    components = component_features(runs, 3)  # the 2nd, 3rd and 4th
    common = np.column_stack([rank, best, external, runs])
    of_rank = (INTERCEPT_PENALTY, 0.1, 1.0)  # of 1, log rank and log rank squared
    penalty = Penalty(
        np.concatenate([of_rank, np.ones(common.shape[1] - len(of_rank))]),
        # of 1 and log rank of a topic, and of its components
        np.concatenate([(1.0, 3.0), np.full(components.shape[1], 2.0)]),
    )
    own = np.column_stack([rank[:, :2], components])
    rows = TopicRows(common, own, sample.topic, sample.n_topics)
    return cross_fitted(sample, relevance, rows, penalty)


def cross_fitted(
    sample: Sample, relevance: NDArray[np.float64], rows: TopicRows, penalty: Penalty
) -> NDArray[np.float64]:
    """M (replicate, frame_pair) of each fold by :func:`ridge_logistic` on the other folds."""
    from scipy.special import expit

    n_folds = 5
    fold = folds(sample, n_folds)
    members = [np.flatnonzero(fold == number) for number in range(n_folds)]
    predicted = np.zeros(sample.selected.shape)

    def fill(task: tuple[int, int]) -> None:
        replicate, number = task
        training = np.flatnonzero(sample.selected[replicate] & (fold != number))
        if training.size:
            coefficients = ridge_logistic(
                _at(rows, training), relevance[replicate, training], penalty
            )
            held_out = members[number]
            predicted[replicate, held_out] = expit(logits(_at(rows, held_out), coefficients))

    tasks = itertools.product(range(len(predicted)), range(n_folds))
    each_on_a_core(fill, list(tasks), "M from all topics")
    return predicted


def _at(rows: TopicRows, position: NDArray[np.int64]) -> TopicRows:
    return TopicRows(
        rows.features[position], rows.topic_features[position], rows.topic[position], rows.n_topics
    )


def value_features(values: NDArray[np.float64] | None, n_pairs: int) -> NDArray[np.float64]:
    """Features (frame_pair, feature) of external predictions (frame_pair,) or (frame_pair, judge).

    Up to 20 different values are labels, each a column of its own. More are numbers: the value
    with mean 0 and standard deviation 1, its square, and whether it is missing.
    """
    judges = () if values is None else values.reshape(n_pairs, -1).T
    return np.column_stack([np.zeros((n_pairs, 0)), *map(_features, judges)])


def _features(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Features (frame_pair, feature) of one judge."""
    known = ~np.isnan(values)
    labels = np.unique(values[known])
    if labels.size <= FEW_LABELS:
        return (values[:, None] == labels).astype(float)
    spread = values[known].std()
    scaled = np.where(known, (values - values[known].mean()) / spread, 0.0)
    return np.column_stack([scaled, scaled**2, ~known])
