"""Scores of all runs and topics as plain arrays, whatever kind of estimator makes them."""

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
from numpy.typing import NDArray

from bayeseval.estimators.judged import JudgedRelevance
from bayeseval.evaluation.problem import Problem
from bayeseval.frame.rankings import CollectionLists
from bayeseval.measures.measure import Measure
from bayeseval.measures.provided import provided_scores
from bayeseval.measures.scores import plain_scores, preference_scores, topic_total
from bayeseval.measures.table import BY_RELEVANCE, OWN
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
    by_topic = list(range(len(problem.measures)))
    if isinstance(problem.relevance, JudgedRelevance):
        by_topic = _scored_in_blocks(problem, arrays)
    scores = _scores_of(problem, by_topic)
    for topic, position in problem.topics() if by_topic else ():
        arrays["outside_weight"][:, :, topic] = problem.outside_weight(topic, position)
        for index, score in zip(by_topic, scores(topic, position), strict=True):
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


def _scored_in_blocks(problem: Problem, arrays: Arrays) -> list[int]:
    """Fill in what complete columns of relevance give, of many topics at once.

    Returns the places of the measures that are still to be scored topic by topic.
    """
    assert isinstance(problem.relevance, JudgedRelevance)
    rankings, sample = problem.frame.rankings, problem.frame.sample
    whole = [one.kind in BY_RELEVANCE and one.name not in OWN for one in problem.measures]
    for topics, position in problem.blocks() if any(whole) else ():
        if not problem.judged_topic[topics].any():
            continue
        length = rankings.length[:, topics]
        shape = (*length.shape, -1)
        lost = problem.outside_weight(topics, position)
        arrays["outside_weight"][:, :, topics] = lost.reshape(len(lost), *shape)
        start = sample.start[topics.start : topics.stop + 1] - sample.start[topics.start]
        for index in np.flatnonzero(whole).tolist():
            measure = problem.measures[index]
            value = problem.relevance.values(topics, measure)
            total = topic_total(measure, value, start)
            total = None if total is None else np.tile(total, (length.shape[0], 1))
            scores = plain_scores(measure, position, value, total, length.ravel())
            arrays["estimate"][index][:, topics] = scores.reshape(shape)
    for name in ("estimate", "outside_weight"):
        arrays[name][:, :, ~problem.judged_topic] = np.nan
    return np.flatnonzero(~np.array(whole)).tolist()


def _scores_of(problem: Problem, indices: list[int]) -> Callable[[int, NDArray], Iterator[Arrays]]:
    """What scores one topic, by the measures at some places, with the estimator of the problem."""
    if problem.list_scores is not None:
        return partial(_of_lists, problem, CollectionLists(problem.frame.collection))
    if isinstance(problem.relevance, JudgedRelevance):
        measures = [problem.measures[index] for index in indices]
        return partial(_plain, problem, measures, CollectionLists(problem.frame.collection))
    return partial(_estimated, problem)


def _plain(
    problem: Problem, measures: list[Measure], lists: CollectionLists, topic: int, position
) -> Iterator[Arrays]:
    """Scores by a user's functions of relevance, and by what is judged in whole lists."""
    assert isinstance(problem.relevance, JudgedRelevance)
    lengths = problem.frame.rankings.length
    for measure in measures:
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
