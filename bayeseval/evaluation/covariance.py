"""Covariance between the scores of runs."""

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from bayeseval.collection import check_one_sample
from bayeseval.collection.origin import topics_word
from bayeseval.estimators.registry import HAS_COVARIANCE
from bayeseval.evaluation.differences import (
    compared_pairs,
    design_differences,
    without_defaults,
)
from bayeseval.evaluation.means import mean_over_topics
from bayeseval.evaluation.problem import Problem
from bayeseval.evaluation.scores import evaluated
from bayeseval.processors import one_blas_thread


def covariance(
    sampled: xr.DataTree,
    measures,
    *,
    estimator: str,
    over: str | None = "topic",
    anticipated: bool = False,
    **options,
) -> xr.DataArray:
    r"""Design covariance between the scores of runs, which share judged documents.

    For a stratified sample :math:`\sum_h N_h^2 (1 - n_h/N_h) s_{h,ab} / n_h` with :math:`s_{h,ab}`
    the sample covariance in stratum h of the two runs' weight times residual. Where ratios are
    divided by what the counts of all topics say, their error is part of it, the part that topics
    share included.

    That is the unbiased one, for :func:`combine`. Where few sampled documents separate two runs the
    variance of their difference may be near 0 by luck, and the runs would be different with
    certainty. Orders of runs (:func:`rankings.rank_sets`) need the one with the ``anticipated``
    variance, by which each score and each difference has the error that its interval rests on
    (:func:`mean_over_topics`, :func:`compare`).

    Parameters
    ----------
    sampled : DataTree
        Collection with a sample, without replicates.
    measures, estimator
        As for :func:`evaluate`.
    over : {"topic"} or None
        Covariance of the means over topics, or one matrix per topic.
    anticipated : bool
        With the anticipated variance, so that means and all differences have the errors that their
        intervals rest on; over topics alone.
    **options
        ``predictor``, ``denominator``, ``relevance_level``, ``gain``, ``random_seed`` of
        :func:`evaluate`.

    Returns
    -------
    DataArray
        (measure, run, run_other), with topic too where ``over`` is None. One with the anticipated
        variance may have negative eigenvalues: it has the variances of means and differences, each
        by itself.

    Raises
    ------
    ValueError
        As :func:`evaluate`; a sample with replicates; an estimator without a design; anticipated
        errors of single topics.

    Examples
    --------
    >>> import pandas as pd, bayeseval as be
    >>> run = pd.DataFrame({"run": "a", "topic": "1", "document": list("abcd")})
    >>> qrels = pd.DataFrame({"topic": "1", "document": list("abcd"), "grade": [1, 0, 1, 0]})
    >>> collection = be.read_collection(qrels, run.assign(score=[4, 3, 2, 1]))
    >>> design = be.designs.pps_strata(collection, budget=4, n_strata=1)
    >>> sampled = be.reveal(collection, design, be.draw(design, random_seed=1))
    >>> be.covariance(sampled, "P@2", estimator="stat").values
    array([[[0.]]])
    """
    if over not in ("topic", None):
        raise ValueError(f"over must be 'topic' or None, not {over!r}")
    if anticipated and over is None:
        raise ValueError("anticipated errors are those of means over topics; leave over= out")
    if estimator not in HAS_COVARIANCE:
        raise ValueError(
            f"estimator '{estimator}' has no design covariance; estimators that have one: "
            f"{', '.join(HAS_COVARIANCE)}"
        )
    asked = without_defaults(options, "covariances count")
    problem = Problem.prepared(sampled, measures, estimator=estimator, **asked)
    check_one_sample(sampled, "covariances are of one sample")
    if over is None:
        labels = problem.labels | {"run_other": problem.labels["run"]}
        dims = ("measure", "topic", "run", "run_other")
        attrs = problem.attrs | {"anticipated": 0}
        return xr.DataArray(_by_topic(problem), labels, dims, name="covariance", attrs=attrs)
    return _covariance(problem, anticipated)


def means_with_covariance(
    sampled: xr.DataTree,
    measures,
    *,
    estimator: str,
    ci_prob: float = 0.9,
    anytime: bool = False,
    anticipated: bool = False,
    **options,
) -> xr.Dataset:
    """Means over these topics with their ``covariance``, by one fit of the counts.

    Both as :func:`mean_over_topics` and :func:`covariance` return them.
    """
    problem = Problem.prepared(sampled, measures, estimator=estimator, **options)
    check_one_sample(sampled, "covariances are of one sample")
    scores = evaluated(problem)
    mean = mean_over_topics(scores, ci_prob=ci_prob, anytime=anytime)
    return mean.assign(covariance=_covariance(problem, anticipated, mean))


def _covariance(
    problem: Problem, anticipated: bool, mean: xr.Dataset | None = None
) -> xr.DataArray:
    """Covariance (measure, run, run_other) of means over topics."""
    labels = {name: problem.labels[name] for name in ("measure", "run")}
    labels["run_other"] = labels["run"]
    topics = topics_word(problem.labels["topic"][problem.judged_topic])
    if anticipated:
        mean = mean_over_topics(evaluated(problem)) if mean is None else mean
        matrix = _with_anticipated(problem, mean)
    else:
        matrix = _of_means(problem)
    attrs = problem.attrs | {"anticipated": int(anticipated), "topics": topics}
    return xr.DataArray(matrix, labels, tuple(labels), name="covariance", attrs=attrs)


@one_blas_thread()
def _by_topic(problem: Problem) -> NDArray[np.floating]:
    """Covariances (measure, topic, run, run) of the scores of every topic."""
    n_runs, n_topics = problem.frame.rankings.length.shape
    matrix = np.zeros((len(problem.measures), n_topics, n_runs, n_runs))
    for index, topic, score in problem.topic_scores():
        deviation = score.deviation[:, 0]
        matrix[index, topic] = deviation @ deviation.T
        if score.shared is not None:
            matrix[index, topic] += score.shared[:, 0] @ score.shared[:, 0].T
    matrix[:, ~problem.judged_topic] = np.nan
    return matrix


@one_blas_thread()
def _of_means(problem: Problem) -> NDArray[np.floating]:
    """Covariances (measure, run, run) of means over the judged topics."""
    n_runs = problem.frame.rankings.length.shape[0]
    matrix = np.zeros((len(problem.measures), n_runs, n_runs))
    shared: dict[int, NDArray] = {}
    for index, _, score in problem.topic_scores():
        deviation = score.deviation[:, 0]
        matrix[index] += deviation @ deviation.T
        if score.shared is not None:
            shared[index] = shared.get(index, 0.0) + score.shared[:, 0]
    # what topics share by one model of their counts adds up before it is squared
    for index, total in shared.items():
        matrix[index] += total @ total.T
    return matrix / np.count_nonzero(problem.judged_topic) ** 2


def _with_anticipated(problem: Problem, mean: xr.Dataset) -> NDArray[np.floating]:
    """Matrix by which means and differences of means have the errors of their intervals."""
    variance = np.square(mean["standard_error"].transpose("measure", "run").to_numpy())
    total = variance[:, :, None] + variance[:, None]
    apart = np.zeros(total.shape)
    if variance.shape[1] > 1:
        first, second = compared_pairs(mean["run"].to_numpy())
        found = mean_over_topics(design_differences(problem, (first, second)))
        square = np.square(found["standard_error"].transpose("measure", "comparison").to_numpy())
        apart[:, first, second] = apart[:, second, first] = square
    return 0.5 * (total - apart)
