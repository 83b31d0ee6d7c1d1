"""The default predictor: one regularised logistic regression over all topics."""

import itertools
from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray

from bayeseval.frame.features import RankFeatures
from bayeseval.frame.sample import Sample
from bayeseval.predictors.cross_fitting import folds
from bayeseval.processors import in_order, on_blocks, usable_processors
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
LARGE = 10_000_000  # above so many features fits are made one after the other, for memory

Floats = NDArray[np.float64]
OfRows = Callable[[slice], Floats]
# features of a block of rows: those that all topics share, and each topic's own
Features = Callable[[slice], tuple[Floats, Floats]]
Fits = list[list[Coefficients | None]]  # of every replicate and fold


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
    return cross_fitted(sample, relevance, partial(_of_rows, ranked, external), penalty)


def _of_rows(ranked: RankFeatures, external: OfRows | None, rows: slice) -> tuple[Floats, Floats]:
    """Features of a block of rows: of their ranks, and of external predictions."""
    rank, runs = ranked.ranks(rows), ranked.runs(rows)
    labels = [] if external is None else [external(rows)]
    common = np.column_stack([rank, ranked.best_ranks(rows), *labels, runs])
    return common, np.column_stack([rank[:, :2], ranked.components(runs)])


def cross_fitted(
    sample: Sample, relevance: NDArray[np.float64], features: Features, penalty: Penalty
) -> NDArray[np.float64]:
    """M (replicate, frame_pair) of each fold by :func:`ridge_logistic` on the other folds.

    The ``features`` of a block of rows are those that all topics share, and each topic's own.
    """
    fold = folds(sample, N_FOLDS)
    fits = _fits(sample, relevance, features, penalty, fold)
    known, blocks = (features, sample.topic, sample.n_topics, fold, fits), list(sample.blocks())
    predicted = np.zeros(sample.selected.shape)
    parts = on_blocks(_held_out, known, blocks, "M from all topics")
    for rows, part in zip(blocks, parts, strict=True):
        predicted[:, rows] = part
    return predicted


def _held_out(
    features: Features,
    topic: NDArray,
    n_topics: int,
    fold: NDArray[np.int8],
    fits: Fits,
    rows: slice,
) -> Floats:
    """M (replicate, row) of a block of rows, each by the fit to the other folds."""
    from scipy.special import expit

    whole = TopicRows(*features(rows), topic[rows], n_topics)
    predicted = np.zeros((len(fits), len(whole.topic)))
    for number in range(N_FOLDS):
        member = np.flatnonzero(fold[rows] == number)
        held_out = whole.at(member)
        for row, of_folds in zip(predicted, fits, strict=True):
            fitted = of_folds[number]
            if fitted is not None:
                row[member] = expit(logits(held_out, fitted))
    return predicted


def _fits(
    sample: Sample,
    relevance: NDArray[np.float64],
    features: Features,
    penalty: Penalty,
    fold: NDArray[np.int8],
) -> Fits:
    """Coefficients by the documents outside each fold, of every replicate; None where none are."""
    drawn = sample.selected.any(axis=0)
    if not drawn.any():
        return [[None] * N_FOLDS for _ in relevance]
    n_drawn, first = np.count_nonzero(drawn), 0
    shared = own = np.empty(0)  # filled block by block, as both at once would take twice the memory
    said, blocks = "features of judged documents", list(sample.blocks())
    for of_shared, of_own in on_blocks(_drawn_features, (features, drawn), blocks, said):
        if not first:
            shared, own = (np.empty((n_drawn, part.shape[1])) for part in (of_shared, of_own))
        inside = slice(first, first + len(of_own))
        shared[inside], own[inside] = of_shared, of_own
        first = inside.stop
    drawn = np.flatnonzero(drawn)
    rows = TopicRows(shared, own, sample.topic[drawn], sample.n_topics)
    selected, fold = sample.selected[:, drawn], fold[drawn]

    def fit(task: tuple[int, int]) -> Coefficients | None:
        replicate, number = task
        training = np.flatnonzero(selected[replicate] & (fold != number))
        if not training.size:
            return None
        return ridge_logistic(rows, relevance[replicate, drawn[training]], penalty, training)

    tasks = list(itertools.product(range(len(relevance)), range(N_FOLDS)))
    at_once = 1 if rows.features.size > LARGE else usable_processors()  # each copies its rows
    found = list(in_order(fit, tasks, "M from all topics", at_once))
    return [found[first : first + N_FOLDS] for first in range(0, len(found), N_FOLDS)]


def _drawn_features(
    features: Features, drawn: NDArray[np.bool_], rows: slice
) -> tuple[Floats, ...]:
    """Features of the drawn pairs of a block."""
    return tuple(part[drawn[rows]] for part in features(rows))


def value_features(values: Floats) -> OfRows:
    """Features (frame_pair, feature) of external predictions (frame_pair,) or (frame_pair, judge).

    Up to 20 different values are labels, each a column of its own. More are numbers: the value
    with mean 0 and standard deviation 1, its square, and whether it is missing. They are made for
    a block of rows.
    """
    return partial(_of_judges, [_of_judge(judge) for judge in values.reshape(len(values), -1).T])


def _of_judges(judges: list[OfRows], rows: slice) -> Floats:
    return np.column_stack([judge(rows) for judge in judges])


def _of_judge(values: Floats) -> OfRows:
    """Features (frame_pair, feature) of one judge."""
    known = values[~np.isnan(values)]
    labels = np.unique(known)
    if labels.size <= FEW_LABELS:
        return partial(_of_labels, values, labels)
    return partial(_of_numbers, values, known.mean(), known.std())


def _of_labels(values: Floats, labels: Floats, rows: slice) -> Floats:
    return (values[rows, None] == labels).astype(float)


def _of_numbers(values: Floats, mean: float, spread: float, rows: slice) -> Floats:
    known = ~np.isnan(values[rows])
    scaled = np.where(known, (values[rows] - mean) / spread, 0.0)
    return np.column_stack([scaled, scaled**2, ~known])
