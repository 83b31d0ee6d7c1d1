"""Predictions made elsewhere: an LLM judge's labels or probabilities, another assessor's grades."""

from functools import partial

import numpy as np
from numpy.typing import NDArray

from bayeseval.frame.sample import Sample
from bayeseval.measures.measure import is_counted
from bayeseval.predictors.cross_fitting import held_out_prevalence
from bayeseval.predictors.pooled import (
    INTERCEPT_PENALTY,
    Floats,
    OfRows,
    cross_fitted,
    value_features,
)
from bayeseval.regression.ridge_logistic import Penalty


def external(
    sample: Sample,
    relevance: NDArray[np.float64],
    *,
    values: NDArray[np.float64],
    counted: tuple[float, ...] = (),
) -> NDArray[np.float64]:
    """M(d) = the external value as it is: a probability, or a grade as 0 or 1.

    Values within [0, 1] are probabilities of relevance and are used for every relevance level that
    a binary measure may have; of a measure of gains (DCG, nDCG) for its first step, while those
    above it, of which they say nothing, are learned from the sample (:func:`recalibrated`). Whole
    numbers, some above 1, are grades: M is 1 for a grade that the measure counts as relevant, 0 for
    the others. A document without a value (NaN) gets the prevalence of its topic outside its
    stratum (see :func:`constant`).

    Where it is used as it is, a column without gaps is fixed in advance, so the difference
    estimator is exactly unbiased, also for the numerator of AP; how good the values are only
    changes its variance. What is learned from the sample, or fills a gap, leaves linear measures
    alone exactly unbiased.

    Parameters
    ----------
    sample, relevance
        As for :func:`bayeseval.predictors.constant`.
    values : float array (frame_pair,)
        Probabilities or grades; NaN where there is none.
    counted : tuple of float
        Grades that the measure counts as relevant; with infinity among them all above the lowest
        do. Used for grades only.

    Returns
    -------
    ndarray (replicate, frame_pair)
        M in [0, 1].

    Raises
    ------
    ValueError
        Values that are neither all probabilities nor all whole numbers.

    Examples
    --------
    >>> from bayeseval.frame.sample import Sample
    >>> import numpy as np, bayeseval as be
    >>> sample = Sample(
    ...     np.arange(4), np.zeros(4, int), np.array([0, 4]), np.full(4, 0.5),
    ...     np.array([0, 0, 1, 1]), np.array([[1, 0, 0, 1]], bool),
    ...     np.arange(1, 5), np.arange(1, 5)[:, None])
    >>> judged = np.array([[1.0, 0, 0, 0]])
    >>> be.predictors.external(sample, judged, values=np.array([0.9, 0.2, 0.1, np.nan]))
    array([[0.9, 0.2, 0.1, 1. ]])
    >>> grades = np.array([3.0, 1.0, 2.0, 0.0])
    >>> be.predictors.external(sample, judged, values=grades, counted=(2.0, np.inf))
    array([[1., 0., 1., 0.]])
    """
    known = values[~np.isnan(values)]
    if np.any(known > 1) and np.all(known == np.round(known)):
        values = np.where(np.isnan(values), np.nan, is_counted(values, counted))
    elif np.any((known < 0) | (known > 1)):
        wrong = known[(known < 0) | (known > 1)][0]
        raise ValueError(
            f"an external predictor holds {wrong:g}; allowed: probabilities in [0, 1] or whole "
            "grades; other scores can be learned from with predictor=('recalibrated', column)."
        )
    if np.isnan(values).any():
        return np.where(np.isnan(values), held_out_prevalence(sample, relevance), values)
    return np.broadcast_to(values.astype(float), sample.selected.shape).copy()


def recalibrated(
    sample: Sample, relevance: NDArray[np.float64], *, values: NDArray[np.float64]
) -> NDArray[np.float64]:
    r"""M(d) learned from an external value by cross-fitted logistic regression.

    .. math:: \mathrm{logit} M(d) = \beta_0 + f(value(d)) + \gamma_t

    f has one coefficient per label where there are at most 20 different values, else it is a
    quadratic in the value; :math:`\gamma_t` is an effect of the topic. The coefficients have normal
    priors of standard deviation 1, :math:`\beta_0` of 2. The strata of every topic are dealt into
    five folds before the draw, and M of a fold comes from the judgments of the others, so that any
    score at all, also one on a wrong scale or with the wrong sign, leaves the estimate unbiased. To
    learn from the runs as well use ``pooled`` with values.

    Parameters
    ----------
    sample, relevance
        As for :func:`bayeseval.predictors.constant`.
    values : float array (frame_pair,) or (frame_pair, judge)
        Any finite numbers; NaN where there is none.

    Returns
    -------
    ndarray (replicate, frame_pair)
        M in [0, 1].

    Raises
    ------
    ValueError
        An infinite value.

    Examples
    --------
    >>> from bayeseval.frame.sample import Sample
    >>> import numpy as np, bayeseval as be
    >>> sample = Sample(
    ...     np.arange(4), np.zeros(4, int), np.array([0, 4]), np.full(4, 0.5),
    ...     np.array([0, 0, 1, 1]), np.array([[1, 0, 0, 1]], bool),
    ...     np.arange(1, 5), np.arange(1, 5)[:, None])
    >>> judged = np.array([[1.0, 0, 0, 0]])
    >>> be.predictors.recalibrated(sample, judged, values=np.array([2.0, 0.0, 2.0, 0.0])).round(2)
    array([[0.25, 0.22, 0.78, 0.75]])
    """
    if np.isinf(values).any():
        raise ValueError("an external predictor holds an infinite value; allowed: finite or NaN.")
    of_values = value_features(values)
    n_values = of_values(slice(0, 0)).shape[1]
    penalty = Penalty(np.array([INTERCEPT_PENALTY, *[1.0] * n_values]), np.ones(1))
    return cross_fitted(sample, relevance, partial(_with_intercept, of_values), penalty)


def _with_intercept(of_values: OfRows, rows: slice) -> tuple[Floats, Floats]:
    """Features of a block of rows: 1 and those of the values; each topic has an intercept."""
    own = of_values(rows)
    intercept = np.ones((len(own), 1))
    return np.column_stack([intercept, own]), intercept
