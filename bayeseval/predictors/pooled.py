"""The default predictor: one regularised logistic regression over all topics."""

import itertools
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from bayeseval.frame.features import RankFeatures
from bayeseval.frame.sample import Sample
from bayeseval.predictors.cross_fitting import folds
from bayeseval.processors import each_on_a_core
from bayeseval.regression.ridge_logistic import (
    Coefficients,
    Penalty,
    TopicRows,
    logits,
    ridge_logistic,
)

INTERCEPT_PENALTY = 0.25
FEW_LABELS = 20  # different values, at most, that are labels and not numbers
N_FOLDS = 5

# features of a block of rows: those that all topics share, and each topic's own
Features = Callable[[slice], tuple[NDArray[np.float64], NDArray[np.float64]]]


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
    ranked = RankFeatures.of(sample, 3)  # with the 2nd, 3rd and 4th component
    external = None if values is None else value_features(values)
    n_external = 0 if external is None else external(slice(0, 0)).shape[1]
    of_rank = (INTERCEPT_PENALTY, 0.1, 1.0)  # of 1, log rank and log rank squared
    penalty = Penalty(
        np.concatenate([of_rank, np.ones(ranked.n_columns + n_external - len(of_rank))]),
        # of 1 and log rank of a topic, and of its components
        np.concatenate([(1.0, 3.0), np.full(ranked.direction.shape[1], 2.0)]),
    )

    def features(rows: slice) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        rank, runs = ranked.ranks(rows), ranked.runs(rows)
        labels = [] if external is None else [external(rows)]
        common = np.column_stack([rank, ranked.best_ranks(rows), *labels, runs])
        return common, np.column_stack([rank[:, :2], ranked.components(runs)])

    return cross_fitted(sample, relevance, features, penalty)


def cross_fitted(
    sample: Sample, relevance: NDArray[np.float64], features: Features, penalty: Penalty
) -> NDArray[np.float64]:
    """M (replicate, frame_pair) of each fold by :func:`ridge_logistic` on the other folds.

    The ``features`` of a block of rows are those that all topics share, and each topic's own.
    """
    from scipy.special import expit

    fold, blocks = folds(sample, N_FOLDS), list(sample.blocks())
    fits = _fits(sample, relevance, features, penalty, fold)
    predicted = np.zeros(sample.selected.shape)

    def fill(rows: slice) -> None:
        whole = TopicRows(*features(rows), sample.topic[rows], sample.n_topics)
        for number in range(N_FOLDS):
            member = np.flatnonzero(fold[rows] == number)
            held_out = _at(whole, member)
            for row, of_folds in zip(predicted, fits, strict=True):
                fitted = of_folds[number]
                if fitted is not None:
                    row[rows.start + member] = expit(logits(held_out, fitted))

    each_on_a_core(fill, blocks, "M from all topics")
    return predicted


def _fits(
    sample: Sample,
    relevance: NDArray[np.float64],
    features: Features,
    penalty: Penalty,
    fold: NDArray[np.int64],
) -> list[list[Coefficients | None]]:
    """Coefficients by the documents outside each fold, of every replicate; None where none are."""
    drawn = sample.selected.any(axis=0)
    place = np.cumsum(drawn) - 1  # of a drawn pair among these

    def known(rows: slice) -> tuple[NDArray[np.float64], ...]:
        return tuple(part[drawn[rows]] for part in features(rows))

    parts = each_on_a_core(known, list(sample.blocks()), "features of judged documents")
    if not parts:
        return [[None] * N_FOLDS for _ in relevance]
    shared, own = (np.concatenate(part) for part in zip(*parts, strict=True))
    rows = TopicRows(shared, own, sample.topic[drawn], sample.n_topics)

    def fit(task: tuple[int, int]) -> Coefficients | None:
        replicate, number = task
        training = np.flatnonzero(sample.selected[replicate] & (fold != number))
        if not training.size:
            return None
        return ridge_logistic(_at(rows, place[training]), relevance[replicate, training], penalty)

    tasks = list(itertools.product(range(len(relevance)), range(N_FOLDS)))
    found = each_on_a_core(fit, tasks, "M from all topics")
    return [found[first : first + N_FOLDS] for first in range(0, len(found), N_FOLDS)]


def _at(rows: TopicRows, position: NDArray[np.int64]) -> TopicRows:
    return TopicRows(
        rows.features[position], rows.topic_features[position], rows.topic[position], rows.n_topics
    )


def value_features(values: NDArray[np.float64]) -> Callable[[slice], NDArray[np.float64]]:
    """Features (frame_pair, feature) of external predictions (frame_pair,) or (frame_pair, judge).

    Up to 20 different values are labels, each a column of its own. More are numbers: the value
    with mean 0 and standard deviation 1, its square, and whether it is missing. They are made for
    a block of rows.
    """
    made = [_features(judge) for judge in values.reshape(len(values), -1).T]

    def features(rows: slice) -> NDArray[np.float64]:
        return np.column_stack([one(rows) for one in made])

    return features


def _features(values: NDArray[np.float64]) -> Callable[[slice], NDArray[np.float64]]:
    """Features (frame_pair, feature) of one judge."""
    known = ~np.isnan(values)
    labels = np.unique(values[known])
    if labels.size <= FEW_LABELS:
        return lambda rows: (values[rows, None] == labels).astype(float)
    mean, spread = values[known].mean(), values[known].std()

    def numbers(rows: slice) -> NDArray[np.float64]:
        scaled = np.where(known[rows], (values[rows] - mean) / spread, 0.0)
        return np.column_stack([scaled, scaled**2, ~known[rows]])

    return numbers
