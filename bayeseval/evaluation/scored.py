"""Scores of all runs and topics as plain arrays, whatever kind of estimator makes them."""

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
from numpy.typing import NDArray

from bayeseval.estimators.judged import JudgedRelevance
from bayeseval.evaluation.problem import Problem
from bayeseval.frame.rankings import CollectionLists
from bayeseval.measures.provided import provided_scores
from bayeseval.measures.scores import plain_scores, preference_scores
from bayeseval.measures.table import BY_RELEVANCE
from bayeseval.uncertainty import degrees_of_freedom

Arrays = dict[str, NDArray]


def scored(problem: Problem, *, skip_missing: bool) -> Arrays:
    """Arrays (measure, run, topic, replicate) of everything a result holds.

    ``shared_error`` has the dim direction too. ``skip_missing``: a run has no score (NaN) on a
    topic for which it has no documents.
    """
    n_runs, n_topics = problem.frame.rankings.length.shape
    shape = (len(problem.measures), n_runs, n_topics, problem.frame.sample.n_replicates)
    names = ("estimate", "design_error", "degrees_of_freedom", "anticipated", "outside_weight")
    arrays: Arrays = {name: np.full(shape, np.nan) for name in names}
    arrays["shared_error"] = np.zeros((*shape, 0))
    scores = _scores_of(problem)
    for topic, position in problem.topics():
        arrays["outside_weight"][:, :, topic] = problem.outside_weight(topic, position)
        for index, score in enumerate(scores(topic, position)):
            shared = score.pop("shared_error", None)
            if shared is not None:
                arrays["shared_error"] = placed(arrays["shared_error"], index, topic, shared)
            for name, values in score.items():
                arrays[name][index, :, topic] = values
    if skip_missing:
        absent = problem.frame.rankings.length == 0
        for name in ("estimate", "design_error", "anticipated"):
            arrays[name][:, absent] = np.nan
    return arrays


def placed(array: NDArray, index: int, topic: int, values: NDArray) -> NDArray:
    """Array with one measure's values on a topic, widened where these have more directions."""
    missing = values.shape[-1] - array.shape[-1]
    if missing > 0:
        array = np.pad(array, [(0, 0)] * (array.ndim - 1) + [(0, missing)])
    array[index, :, topic, ..., : values.shape[-1]] = values
    return array


def _scores_of(problem: Problem) -> Callable[[int, NDArray], Iterator[Arrays]]:
    """What scores one topic, measure by measure, with the estimator of the problem."""
    if problem.list_scores is not None:
        return partial(_of_lists, problem, CollectionLists(problem.frame.collection))
    if isinstance(problem.relevance, JudgedRelevance):
        return partial(_plain, problem, CollectionLists(problem.frame.collection))
    return partial(_estimated, problem)


def _plain(problem: Problem, lists: CollectionLists, topic: int, position) -> Iterator[Arrays]:
    """Scores from complete columns of relevance; the lists are for what is no sum of these."""
    assert isinstance(problem.relevance, JudgedRelevance)
    lengths = problem.frame.rankings.length
    for measure in problem.measures:
        if measure.kind in BY_RELEVANCE:
            value, length = problem.relevance.values(topic, measure), lengths[:, topic]
            yield {"estimate": plain_scores(measure, position, value, length=length)}
            continue
        ranked = lists.topic(topic)
        known = measure, ranked.position
        if measure.kind == "provided":
            columns = [provided_scores(*known, grade) for grade in ranked.grade]
        else:
            columns = [preference_scores(*known, grade, ranked.pooled) for grade in ranked.grade]
        yield {"estimate": np.stack(columns, axis=-1)}


def _estimated(problem: Problem, topic: int, position) -> Iterator[Arrays]:
    """Scores from relevances estimated document by document, with their errors."""
    for score in problem.sampled_scores(topic, position):
        answer: Arrays = {
            "estimate": score.estimate,
            "design_error": np.sqrt(score.variance),
            "degrees_of_freedom": degrees_of_freedom(score.variance, score.spread),
        }
        if score.anticipated is not None:
            answer["anticipated"] = score.anticipated
        if score.shared is not None:
            answer["shared_error"] = score.shared
        yield answer


def _of_lists(problem: Problem, lists: CollectionLists, topic: int, position) -> Iterator[Arrays]:
    """Scores of an estimator that takes whole ranked lists."""
    assert problem.list_scores is not None
    ranked = lists.topic(topic)
    for measure in problem.measures:
        score = problem.list_scores(measure, ranked)
        answer: Arrays = {"estimate": score.estimate}
        if score.variance is not None:
            answer["design_error"] = np.sqrt(score.variance)
            answer["degrees_of_freedom"] = np.asarray(score.degrees_of_freedom)
        yield answer
