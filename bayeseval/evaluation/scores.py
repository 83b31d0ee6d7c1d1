"""Scores of every run on every topic, with design standard errors."""

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from bayeseval.collection.labels import without_documents, without_judgment
from bayeseval.collection.origin import run_coords
from bayeseval.evaluation.problem import Problem, check_option
from bayeseval.evaluation.scored import scored
from bayeseval.frame.independence import RunsFollowSample, warn_following
from bayeseval.frame.rankings import Rankings
from bayeseval.messages import Message, Option, TopicsUnranked, counted, some_of, warn
from bayeseval.processors import working_on
from bayeseval.uncertainty import interval, with_anticipated


class TopicsUnjudged(UserWarning):
    """Topics that have no judgment, which are left out of means."""


def evaluate(
    sampled: xr.DataTree,
    measures,
    *,
    estimator: str,
    predictor=None,
    labels: str | Sequence[str] | None = None,
    relevance_level: int = 1,
    gain=None,
    outside: str = "nonrelevant",
    missing_topics: str = "zero",
    denominator: str = "counts",
    random_seed: int | None = None,
    ci_prob: float = 0.9,
    estimator_options: dict | None = None,
    executor=None,
) -> xr.Dataset:
    r"""Scores of every run on every topic, with design standard errors.

    Every linear measure is :math:`\sum_i weight_i \, v(d_i)`, where the estimator fills in the
    relevance v: the judgments, 0 where unjudged (``assumed``); y / pi (``stat``); M + (y - M) / pi
    (``dyn``). AP, nDCG, Rprec and R@k are ratios of such sums. See the page *methods*.

    Parameters
    ----------
    sampled : DataTree
        Collection with judgments, and with ``/design`` for ``stat`` and ``dyn``.
    measures : str, ir_measures object, or list of them
        "P@10", "RBP(p=0.8)", "DCG@20", "nDCG@10", "AP", "AP(rel=2)", "Rprec", "R@100", "NumRel",
        those of :func:`measure` ...; with "assumed" all that ir_measures scores on judgments.
    estimator : {"assumed", "stat", "dyn", "condensed", "inf", "stat_ap", "importance"}
    predictor : {"pooled", "recalibrated", "external", "rank_logistic", "constant"}, optional
        M of ``dyn``; default "pooled". A pair such as ("constant", 0.1) has a value too.
    labels : str or list of str, optional
        Predictions that were added (:func:`add_predictions`) and that the predictor reads; default:
        all of them ("pooled").
    relevance_level : int
        Least relevant grade; ``rel=`` in a measure wins.
    gain : dict or callable, optional
        Gain of each grade for the graded measures (DCG, nDCG, and RBP where given).
    outside : {"nonrelevant", "missing", "error"}
        Documents outside the frame (of ``assumed`` and ``condensed``: unjudged ones) are not
        relevant, or make the score NaN, or are an error.
    missing_topics : {"zero", "skip"}
        The score of a topic that a run does not have: 0, or NaN.
    denominator : {"counts", "topic"}
        The number of relevant documents in ratios by "stat" and "dyn": the empirical Bayes one from
        the counts of all topics, or that of the topic's own sample (taken for sampleval files).
    random_seed : int, optional
        For the variance of Rprec and the draws of the numbers of relevant documents. Default 0.
    ci_prob : float
        Coverage of the interval per topic.
    estimator_options : dict, optional
        "inf" has ``relevant_smoothing`` and ``sampled_smoothing``, "importance" ``conditioning``
        ("run" or "none") and ``ratio`` ("plain" or "beale"), "condensed" ``depth``.
    executor : concurrent.futures.Executor or dask.distributed.Client, optional
        It scores blocks of many topics; the numbers do not change. Default: this process.

    Returns
    -------
    Dataset
        Over measure, run, topic and replicate, if any: ``estimate``; ``standard_error`` with
        ``degrees_of_freedom``, on which ``interval`` rests: the variance of the design and the
        anticipated one, each by its degrees of freedom; ``design_error``, the unbiased standard
        error of the design alone; ``outside_weight``, the share (for linear measures, the weight)
        of the ranks whose document is outside the frame; for ratios by the counts of all topics
        ``shared_error`` (direction too), the errors that all topics share. Linear estimates may lie
        outside [0, 1]: clipping them would bias them.

    Raises
    ------
    ValueError
        Unknown measure or estimator; one that lacks its design, or has no such measure.

    References
    ----------
    Cormack and Grossman (2019), doi:10.1145/3331184.3331355.

    Examples
    --------
    >>> import pandas as pd, bayeseval as be
    >>> run = pd.DataFrame({"run": "a", "topic": "1", "document": list("abcd")})
    >>> qrels = pd.DataFrame({"topic": "1", "document": list("abcd"), "grade": [1, 0, 1, 0]})
    >>> collection = be.read_collection(qrels, run.assign(score=[4, 3, 2, 1]))
    >>> scores = be.evaluate(collection, ["P@2", "AP"], estimator="assumed")
    >>> scores.estimate.sel(run="a", topic="1").values.round(4)
    array([0.5   , 0.8333])
    """
    check_option(outside=outside, missing_topics=missing_topics)
    options = {"outside": outside, "missing_topics": missing_topics, "ci_prob": ci_prob}
    with working_on(executor):
        problem = Problem.prepared(
            sampled,
            measures,
            estimator=estimator,
            predictor=predictor,
            labels=labels,
            relevance_level=relevance_level,
            gain=gain,
            denominator=denominator,
            random_seed=random_seed,
            estimator_options=estimator_options,
        )
        return evaluated(problem, **options)


def evaluated(
    problem: Problem,
    *,
    outside: str = "nonrelevant",
    missing_topics: str = "zero",
    ci_prob: float = 0.9,
) -> xr.Dataset:
    """Scores of a problem, as :func:`evaluate` returns them."""
    warn_of_topics_and_runs(problem, missing_topics)
    arrays = scored(problem, skip_missing=missing_topics == "skip")
    _warn_without_score(problem, arrays["estimate"])
    _apply_outside(problem, arrays, outside)
    attrs = {"outside": outside, "missing_topics": missing_topics, "ci_prob": ci_prob}
    return _labelled(problem, arrays, ci_prob).assign_attrs(problem.attrs | attrs)


def warn_of_topics_and_runs(problem: Problem, missing_topics: str = "zero") -> None:
    """Warn once of topics that lack judgments or documents, and of runs that follow the sample."""
    judged = problem.judged_topic
    unjudged = problem.frame.collection["topic"].to_numpy()[~judged]
    if not judged.any():
        raise ValueError("no topic of the collection has a judgment")
    if unjudged.size:
        text = without_judgment(unjudged, int(judged.sum()))
        warn(text, TopicsUnjudged)
    if problem.random:
        warn_following(problem.frame)
    if missing_topics == "zero":
        warn_unranked(problem.frame.collection, problem.frame.rankings, judged)


def warn_unranked(collection: xr.DataTree, rankings: Rankings, judged: NDArray[np.bool_]) -> None:
    """Say once which judged topics (topic,) no run has documents for, since all score 0 there."""
    empty = judged & (rankings.length == 0).all(axis=0)
    if empty.any():
        text = without_documents(collection["topic"].to_numpy()[empty].tolist(), int(judged.sum()))
        warn(text, TopicsUnranked)


@contextmanager
def topics_said() -> Iterator[None]:
    """Say nothing of topics that lack judgments or documents, nor of runs, as the caller has."""
    with warnings.catch_warnings():
        for category in (TopicsUnjudged, TopicsUnranked, RunsFollowSample):
            warnings.simplefilter("ignore", category)
        yield


def _warn_without_score(problem: Problem, estimate: NDArray) -> None:
    """Say of which judged topics a measure of ``ir_measures`` has no score."""
    ranked = (problem.frame.rankings.length > 0)[..., None]
    for measure, scores in zip(problem.measures, estimate, strict=True):
        if measure.kind == "provided":
            lost = (np.isnan(scores) & ranked)[:, problem.judged_topic].any(axis=(0, 2))
            if lost.any():
                names = problem.labels["topic"][problem.judged_topic][lost].tolist()
                warn(
                    f"{measure.label} is not defined for {lost.sum()} of "
                    f"{counted(lost.size, 'topic')} ({some_of(names, 5)}), which are left out of "
                    "means",
                )


def _apply_outside(problem: Problem, arrays: dict, outside: str) -> None:
    """Refuse or blank scores with weight outside the frame."""
    if outside == "nonrelevant":
        return
    if problem.frame.lists_sampled_alone:
        raise ValueError(
            Message(
                Option("outside", outside),
                " needs to know what lies outside the frame, and these judgments (prels or probs) "
                "list only the sampled documents of it; allowed: nonrelevant",
            )
        )
    lost = (arrays["outside_weight"] > 1e-12) & ~np.isnan(arrays["estimate"])
    if outside == "error" and lost.any():
        measure, run, topic, _ = first = tuple(np.argwhere(lost)[0])
        labels = problem.labels
        where = "outside the frame" if problem.random else "on unjudged documents"
        raise ValueError(
            Message(
                Option("outside", "error"),
                f" allows no weight {where}, and {int(lost.sum())} of {lost.size} scores have "
                f"some, the first is {labels['measure'][measure]} of run '{labels['run'][run]}' "
                f"on topic '{labels['topic'][topic]}' with "
                f"{arrays['outside_weight'][first]:.3g}",
            )
        )
    for name in ("estimate", "design_error", "anticipated"):
        arrays[name] = np.where(lost, np.nan, arrays[name])


def _labelled(problem: Problem, arrays: dict, ci_prob: float) -> xr.Dataset:
    dims = ("measure", "run", "topic", "replicate")
    held = {name: ((*dims, "direction")[: values.ndim], values) for name, values in arrays.items()}
    if not arrays["shared_error"].shape[-1]:  # no model of the counts was used
        del held["shared_error"]
    scores = xr.Dataset(held, coords=problem.labels | run_coords(problem.frame.collection))
    if "replicate" not in problem.frame.collection["judgments/grade"].dims:
        scores = scores.isel(replicate=0)
    variance, freedom = with_anticipated(
        scores["design_error"] ** 2,
        scores["degrees_of_freedom"],
        scores["anticipated"].fillna(0.0),
    )
    error = (variance**0.5).where(variance != scores["design_error"] ** 2, scores["design_error"])
    bounds = interval(scores["estimate"], error, ci_prob=ci_prob, degrees_of_freedom=freedom)
    scores = scores.assign(standard_error=error, degrees_of_freedom=freedom, interval=bounds)
    scores = scores.drop_vars("anticipated")
    return scores if scores["design_error"].notnull().any() else scores.drop_vars("design_error")
