"""The default predictor: one regularised logistic regression over all topics."""

import numpy as np
from numpy.typing import NDArray

from bayeseval.designs.sample import Sample
from bayeseval.predictors.cross_fitting import folds
from bayeseval.predictors.features import rank_features, run_features, value_features
from bayeseval.predictors.ridge_logistic import Penalty, TopicRows, logits, ridge_logistic
from bayeseval.predictors.threads import each_on_a_core

N_FOLDS = 5
INTERCEPT_PENALTY = 0.25
RANK_PENALTY = (0.1, 1.0)  # log rank, log rank squared
TOPIC_PENALTY = (1.0, 3.0)  # intercept, log rank


def pooled(
    sample: Sample,
    relevance: NDArray[np.float64],
    *,
    values: NDArray[np.float64] | None = None,
    run_penalty: float = 1.0,
    n_folds: int = N_FOLDS,
) -> NDArray[np.float64]:
    r"""M(d) from the fused rank, the topic and every contributing run's rank, over all topics.

    .. math:: \mathrm{logit} M(d) = \beta_0 + \beta_1 x + \beta_2 x^2 + \gamma_t + \delta_t x
              + \sum_r \rho_r g(rank_r(d))

    x is the centred log of the fused rank, g a discount that falls with the log of the rank from
    1 at rank 1 to 0 for what run r did not retrieve, and :math:`\rho_r` the reliability of run r.
    Every judged document counts once. Ridge penalties stand for normal priors: standard deviation
    2 for the intercept, 1 for that of a topic, .58 for its slope and 1 for a reliability, which is
    wide beside what runs differ by and keeps the fit of a small collection finite. They were set
    where the likelihood of held-out judgments was near its best on the round-5 runs of TREC-COVID
    with 5 and 20 judgments a stratum; it is flat there: a factor of three either way changed the
    error of P@10 by 2 % at most.

    The strata of every topic are dealt into folds before the draw, and M of the documents of a fold
    comes from a fit to the other folds; so M of a document never depends on the sample of its own
    stratum. There is no calibration offset: one per topic made the error larger (the intercept of
    the topic does that work with less noise). Without any training document M is 0.

    Parameters
    ----------
    sample : Sample
        Frame, design and samples.
    relevance : float array (replicate, frame_pair)
        Relevance in [0, 1] of the selected pairs, 0 elsewhere.
    values : float array (frame_pair,), optional
        An external prediction to learn from as well; NaN where there is none.
    run_penalty : float
        Ridge penalty of the reliabilities; above 0.
    n_folds : int
        Number of folds, at least 2.

    Returns
    -------
    ndarray (replicate, frame_pair)
        M in [0, 1].

    Examples
    --------
    >>> sample = Sample(
    ...     np.arange(6), np.zeros(6, int), np.array([0, 6]), np.full(6, 0.5),
    ...     np.array([0, 0, 1, 1, 2, 2]), np.array([[1, 0, 1, 0, 0, 1]], bool),
    ...     np.arange(1, 7), np.arange(1, 7)[:, None])
    >>> pooled(sample, np.array([[1.0, 0, 0, 0, 0, 0]])).round(2)
    array([[0.32, 0.23, 0.44, 0.3 , 0.16, 0.12]])
    """
    if not run_penalty > 0:
        raise ValueError(f"run_penalty of pooled is {run_penalty}; allowed: above 0.")
    rank = rank_features(sample)
    runs = run_features(sample)
    external = value_features(values, sample.n_pairs)
    features = np.column_stack([rank, runs, external])
    penalty = Penalty(
        np.array(
            [
                INTERCEPT_PENALTY,
                *RANK_PENALTY,
                *[run_penalty] * runs.shape[1],
                *[1.0] * external.shape[1],
            ]
        ),
        np.array(TOPIC_PENALTY),
    )
    rows = TopicRows(features, rank[:, :2], sample.topic, sample.n_topics)
    return cross_fitted(sample, relevance, rows, penalty, n_folds=n_folds)


def cross_fitted(
    sample: Sample,
    relevance: NDArray[np.float64],
    rows: TopicRows,
    penalty: Penalty,
    *,
    n_folds: int = N_FOLDS,
) -> NDArray[np.float64]:
    """M (replicate, frame_pair) of each fold by :func:`ridge_logistic` on the other folds."""
    from scipy.special import expit

    if n_folds < 2:
        raise ValueError(f"n_folds is {n_folds}; allowed: 2 or more.")
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

    tasks = [
        (replicate, number) for replicate in range(len(predicted)) for number in range(n_folds)
    ]
    each_on_a_core(fill, tasks, "M from all topics")
    return predicted


def _at(rows: TopicRows, position: NDArray[np.int64]) -> TopicRows:
    return TopicRows(
        rows.features[position], rows.topic_features[position], rows.topic[position], rows.n_topics
    )
