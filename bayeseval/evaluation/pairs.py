"""Covariance between runs, and the difference of two."""

from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from bayeseval.collection import check_one_sample
from bayeseval.collection.origin import origin, topics_word
from bayeseval.estimators.difference import described_predictor
from bayeseval.estimators.registry import HAS_COVARIANCE, described_options
from bayeseval.evaluation.differences import (
    compared_pairs,
    differences,
    run_position,
    without_defaults,
)
from bayeseval.evaluation.means import mean_over_topics
from bayeseval.evaluation.problem import Problem
from bayeseval.evaluation.scores import evaluate, topics_said
from bayeseval.evaluation.topic_groups import Groups
from bayeseval.measures.measure import described_gains
from bayeseval.processors import one_blas_thread


def covariance(
    sampled: xr.DataTree,
    measures,
    *,
    estimator: str,
    over: str | None = "topic",
    raised: bool = False,
    **options,
) -> xr.DataArray:
    r"""Design covariance between the scores of runs, which share judged documents.

    For a stratified sample :math:`\sum_h N_h^2 (1 - n_h/N_h) s_{h,ab} / n_h` with :math:`s_{h,ab}`
    the sample covariance in stratum h of the two runs' weight times residual. Where ratios are
    divided by what the counts of all topics say, their error is part of it, the part that topics
    share included.

    That is the unbiased one, for :func:`combine`. Where few sampled
    documents tell two runs apart the variance of their difference may be near 0 by luck, and the
    runs would be taken for different with certainty. Orders of runs (:func:`rankings.rank_sets`)
    need the ``raised`` one, by which each score and each difference has the error that its interval
    rests on (:func:`mean_over_topics`, :func:`compare`).

    Parameters
    ----------
    sampled : DataTree
        Collection with a sample, without replicates.
    measures, estimator
        As for :func:`evaluate`.
    over : {"topic"} or None
        Covariance of the means over topics, or one matrix per topic.
    raised : bool
        Variances of means and of all differences raised by what the predictions lead one to expect;
        over topics alone.
    **options
        ``predictor``, ``estimator_options``, ``relevance_level``, ``gain``, ``random_seed`` of
        :func:`evaluate`.

    Returns
    -------
    DataArray
        (measure, run, run_other), with topic too where ``over`` is None. A raised one may have
        negative eigenvalues: its variances are of means and differences, each by itself.

    Raises
    ------
    ValueError
        As :func:`evaluate`; a sample with replicates; an estimator without a design; ``raised``
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
    if raised and over is None:
        raise ValueError("raised errors are those of means over topics; leave over= out")
    if estimator not in HAS_COVARIANCE:
        raise ValueError(
            f"estimator '{estimator}' has no design covariance; estimators that have one: "
            f"{', '.join(HAS_COVARIANCE)}"
        )
    asked = without_defaults(options, "covariances count")
    problem = Problem.prepared(sampled, measures, estimator=estimator, **asked)
    check_one_sample(sampled, "covariances are of one sample")
    attrs: dict[str, Any] = {
        "estimator": estimator,
        "predictor": described_predictor(sampled, estimator, options.get("predictor")),
        "estimator_options": described_options(estimator, options.get("estimator_options")),
        "gain": described_gains(problem.measures),
        "raised": int(raised),
    }
    attrs |= origin(sampled)
    labels = problem.labels | {"run_other": problem.labels["run"]}
    dims = ("measure", "topic", "run", "run_other")
    if over is None:
        return xr.DataArray(_by_topic(problem), labels, dims, name="covariance", attrs=attrs)
    topics = labels.pop("topic")[problem.judged_topic]
    attrs["topics"] = topics_word(topics)
    matrix = _raised(sampled, measures, estimator, options) if raised else _of_means(problem)
    return xr.DataArray(matrix, labels, (dims[0], *dims[2:]), name="covariance", attrs=attrs)


@one_blas_thread()
def _by_topic(problem: Problem) -> NDArray[np.floating]:
    """Covariances (measure, topic, run, run) of the scores of every topic."""
    n_runs, n_topics = problem.frame.rankings.length.shape
    matrix = np.zeros((len(problem.measures), n_topics, n_runs, n_runs))
    for index, topic, score in problem.topic_scores():
        deviation, common = score.deviation[:, 0], score.shared[:, 0]
        matrix[index, topic] = deviation @ deviation.T + common @ common.T
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
        shared[index] = shared.get(index, 0.0) + score.shared[:, 0]
    # what topics share by one model of their counts adds up before it is squared
    for index, common in shared.items():
        matrix[index] += common @ common.T
    return matrix / np.count_nonzero(problem.judged_topic) ** 2


def _raised(sampled, measures, estimator: str, options: dict) -> NDArray[np.floating]:
    """Matrix by which means and differences of means have their raised errors."""
    mean = mean_over_topics(evaluate(sampled, measures, estimator=estimator, **options))
    variance = np.square(mean["raised_error"].transpose("measure", "run").to_numpy())
    total = variance[:, :, None] + variance[:, None]
    apart = np.zeros(total.shape)
    if variance.shape[1] > 1:
        first, second = compared_pairs(mean["run"].to_numpy())
        with topics_said():
            found = differences(
                sampled, measures, estimator=estimator, pairs=(first, second), **options
            )
        square = np.square(found["believed"].transpose("measure", "comparison").to_numpy())
        apart[:, first, second] = apart[:, second, first] = square
    return 0.5 * (total - apart)


def paired_difference(
    sampled: xr.DataTree,
    measures,
    run_a: str,
    run_b: str,
    *,
    estimator: str,
    population: str | None = None,
    ci_prob: float = 0.9,
    topic_groups: Groups | None = None,
    **options,
) -> xr.Dataset:
    """Difference of two runs' mean scores, with the standard error of the pair.

    The two runs share topics and judged documents, so their errors are correlated and the standard
    error of the difference is often much smaller than their own suggest. The interval
    rests on that error raised as for single scores (:func:`evaluate`, Notes), by the variance that
    the predictions lead one to expect of the difference; of Rprec on the error as it is.

    Parameters
    ----------
    sampled : DataTree
        Collection without replicates: with a sample, or with judgments that are taken as complete.
    measures, estimator
        As for :func:`evaluate`.
    run_a, run_b : str
        The difference is run_a minus run_b.
    population : {"sample", "topics"}, optional
        As for :func:`mean_over_topics`. Default: "sample" where the design gives the error of a
        difference (``stat``, ``dyn``); "topics" for all other estimators, whose errors about these
        very topics are not known (NaN): then the interval is Student's for paired topics.
    ci_prob : float
        Coverage of the interval.
    topic_groups : mapping, Series or DataArray of topic to group, optional
        For ``population="topics"``, as for :func:`mean_over_topics`.
    **options
        ``predictor``, ``relevance_level``, ``gain``, ``random_seed`` of :func:`evaluate`; over
        "topics" all of its options.

    Returns
    -------
    Dataset
        ``estimate``, ``standard_error``, ``degrees_of_freedom``, ``interval`` and ``n_topics`` over
        measure.

    Raises
    ------
    ValueError
        As :func:`evaluate`; replicates; a run that the collection does not have.

    Examples
    --------
    >>> import pandas as pd, bayeseval as be
    >>> names = ["a"] * 4 + ["b"] * 4
    >>> run = pd.DataFrame({"run": names, "topic": "1", "document": list("abcddcba")})
    >>> qrels = pd.DataFrame({"topic": "1", "document": list("abcd"), "grade": [1, 0, 0, 0]})
    >>> collection = be.read_collection(qrels, run.assign(score=[4, 3, 2, 1] * 2))
    >>> design = be.designs.pps_strata(collection, budget=4, n_strata=1)
    >>> sampled = be.reveal(collection, design, be.draw(design, random_seed=1))
    >>> be.paired_difference(sampled, "P@2", "a", "b", estimator="stat").estimate.item()
    0.5
    """
    runs = sampled["run"].to_numpy()
    pair = tuple(np.array([run_position(runs, name)]) for name in (run_a, run_b))
    result = differences(
        sampled,
        measures,
        estimator=estimator,
        pairs=(pair[0], pair[1]),
        population=population,
        ci_prob=ci_prob,
        topic_groups=topic_groups,
        **options,
    )
    return (
        result.drop_vars(["difference", "believed", "believed_freedom", "run_a", "run_b"])
        .isel(comparison=0)
        .drop_dims("topic")
        .assign_attrs(run_a=run_a, run_b=run_b)
    )
