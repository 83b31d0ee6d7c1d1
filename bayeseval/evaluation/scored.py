"""Scores of all runs and topics as plain arrays, whatever kind of estimator makes them."""

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
from numpy.typing import NDArray

from bayeseval.estimators.assumed import JudgedRelevance
from bayeseval.estimators.denominators import given_back
from bayeseval.estimators.topic_scores import TopicScore
from bayeseval.evaluation.problem import Problem
from bayeseval.frame.rankings import CollectionLists
from bayeseval.measures.scores import plain_scores, preference_scores
from bayeseval.uncertainty import degrees_of_freedom

Arrays = dict[str, NDArray]
OF_COUNTS = ("denominator_error", "denominator_left", "modelled_share")
OF_TOPIC = (*OF_COUNTS, "denominator_direction")  # not of the run


def scored(problem: Problem, *, skip_missing: bool) -> Arrays:
    """Arrays (measure, run, topic, replicate) of everything a result holds.

    What belongs to the denominator of a topic has no dim run, and its directions one dim more.
    ``skip_missing``: a run has no score (NaN) on a topic for which it has no documents.
    """
    n_runs, n_topics = problem.frame.rankings.length.shape
    shape = (len(problem.measures), n_runs, n_topics, problem.frame.sample.n_replicates)
    names = ("estimate", "standard_error", "degrees_of_freedom", "outside_weight")
    arrays: Arrays = {name: np.full(shape, np.nan) for name in names}
    arrays["limited"] = np.zeros(shape, dtype=bool)
    arrays["anticipated_error"] = np.full(shape, np.nan)
    arrays["denominator_effect"] = np.zeros(shape)
    beyond = np.zeros(shape)
    for name in OF_COUNTS:
        arrays[name] = np.full((shape[0], *shape[2:]), np.nan)
    arrays["denominator_direction"] = np.zeros((shape[0], *shape[2:], 0))
    scores = _scores_of(problem)
    for topic, position in problem.topics():
        arrays["outside_weight"][:, :, topic] = problem.outside_weight(topic, position)
        for index, score in enumerate(scores(topic, position)):
            beyond[index, :, topic] = score.pop("beyond", 0.0)
            for name, values in score.items():
                if name in OF_TOPIC:
                    arrays[name] = placed(arrays[name], index, topic, values)
                else:
                    arrays[name][index, :, topic] = values
    if skip_missing:
        absent = problem.frame.rankings.length == 0
        for name in ("estimate", "standard_error", "anticipated_error"):
            arrays[name][:, absent] = np.nan
    beyond[np.isnan(arrays["estimate"])] = np.nan
    arrays["estimate"] = arrays["estimate"] + given_back(beyond)
    return arrays


def placed(array: NDArray, index: int, topic: int, values: NDArray) -> NDArray:
    """Array with the values of one measure and topic, widened where they have more directions."""
    if values.ndim == 1:
        array[index, topic] = values
        return array
    missing = values.shape[1] - array.shape[-1]
    if missing > 0:
        array = np.pad(array, [(0, 0)] * 3 + [(0, missing)])
    array[index, topic, :, : values.shape[1]] = values
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
    for measure in problem.measures:
        if measure.kind == "preference":
            ranked = lists.topic(topic)
            known = measure, ranked.position
            columns = [preference_scores(*known, grade, ranked.pooled) for grade in ranked.grade]
            yield {"estimate": np.stack(columns, axis=-1)}
        else:
            value = problem.relevance.values(topic, measure)
            yield {"estimate": plain_scores(measure, position, value)}


def _estimated(problem: Problem, topic: int, position) -> Iterator[Arrays]:
    """Scores from relevances estimated document by document, with their errors."""
    for score in problem.sampled_scores(topic, position):
        answer: Arrays = {
            "estimate": score.estimate,
            "limited": score.limited,
            "standard_error": np.sqrt(score.variance),
            "degrees_of_freedom": degrees_of_freedom(score.variance, score.spread),
        }
        if score.beyond is not None:
            answer["beyond"] = score.beyond
        if score.anticipated is not None:
            answer["anticipated_error"] = np.sqrt(score.anticipated)
        if score.counts is not None and score.effect is not None and score.direction is not None:
            answer["denominator_effect"] = score.effect
            answer["denominator_direction"] = score.direction
            answer |= of_counts(score)
        yield answer


def of_counts(score: TopicScore) -> Arrays:
    """Arrays (replicate,) of what the denominator of a topic rests on, by `OF_COUNTS`."""
    assert score.counts is not None and score.left is not None
    counts = score.counts
    return dict(
        zip(OF_COUNTS, (counts.relative_error, score.left, 1.0 - counts.own_share), strict=True)
    )


def _of_lists(problem: Problem, lists: CollectionLists, topic: int, position) -> Iterator[Arrays]:
    """Scores of an estimator that takes whole ranked lists."""
    assert problem.list_scores is not None
    ranked = lists.topic(topic)
    for measure in problem.measures:
        score = problem.list_scores(measure, ranked)
        answer: Arrays = {"estimate": score.estimate}
        if score.variance is not None:
            answer["standard_error"] = np.sqrt(score.variance)
            answer["degrees_of_freedom"] = np.asarray(score.degrees_of_freedom)
        yield answer
