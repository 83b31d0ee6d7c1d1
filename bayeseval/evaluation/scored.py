"""Scores of all runs and topics as plain arrays, whatever kind of estimator makes them."""

from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from bayeseval.estimators.judged import JudgedRelevance
from bayeseval.evaluation.problem import Problem
from bayeseval.frame.rankings import CollectionLists
from bayeseval.measures.measure import Measure
from bayeseval.measures.provided import provided_scores
from bayeseval.measures.scores import plain_scores, preference_scores, topic_total
from bayeseval.measures.table import BY_RELEVANCE
from bayeseval.processors import on_blocks
from bayeseval.uncertainty import degrees_of_freedom

Arrays = dict[str, NDArray]


def scored(problem: Problem, *, skip_missing: bool) -> Arrays:
    """Arrays (measure, run, topic, replicate) of everything a result holds.

    ``shared_error`` has the dim direction too. ``skip_missing``: a run has no score (NaN) on a
    topic for which it has no documents.
    """
    # one with judgments first, which makes what all topics share
    blocks = sorted(problem.blocks(), key=lambda topics: not problem.judged_topic[topics].any())
    first, rest = _block_scores(problem, blocks[0]), ()
    if len(blocks) > 1:
        said = "scores of topics"
        rest = on_blocks(_block_scores, (problem,), blocks[1:], said, threads=False)
    sample = problem.frame.sample
    shape = (*first["estimate"].shape[:2], sample.n_topics, sample.n_replicates)
    arrays = {name: np.empty(shape) for name in first}
    arrays["shared_error"] = np.zeros((*shape, 0))
    for topics, part in zip(blocks, chain([first], rest), strict=True):
        shared = part.pop("shared_error")
        arrays["shared_error"] = _widened(arrays["shared_error"], shared.shape[-1])
        arrays["shared_error"][:, :, topics, ..., : shared.shape[-1]] = shared
        for name, values in part.items():
            arrays[name][:, :, topics] = values
    if skip_missing:
        absent = problem.frame.rankings.length == 0
        for name in ("estimate", "design_error", "anticipated"):
            arrays[name][:, absent] = np.nan
    return arrays


def _block_scores(problem: Problem, topics: slice) -> Arrays:
    """Arrays of topics that stand together; NaN where a topic has no judgment."""
    length = problem.frame.rankings.length[:, topics]
    shape = (len(problem.measures), *length.shape, problem.frame.sample.n_replicates)
    names = ("estimate", "design_error", "degrees_of_freedom", "anticipated", "outside_weight")
    arrays: Arrays = {name: np.full(shape, np.nan) for name in names}
    arrays["shared_error"] = np.zeros((*shape, 0))
    by_topic = list(range(len(problem.measures)))
    if isinstance(problem.relevance, JudgedRelevance):
        by_topic = _complete_columns(problem, topics, arrays)
    scores = _scores_of(problem, by_topic)
    for topic, position in problem.topics(topics) if by_topic else ():
        place = topic - topics.start
        arrays["outside_weight"][:, :, place] = problem.outside_weight(topic, position)
        for index, score in zip(by_topic, scores(topic, position), strict=True):
            shared = score.pop("shared_error", None)
            if shared is not None:
                arrays["shared_error"] = placed(arrays["shared_error"], index, place, shared)
            for name, values in score.items():
                arrays[name][index, :, place] = values
    return arrays


def placed(array: NDArray, index: int, topic: int, values: NDArray) -> NDArray:
    """Array with one measure's values on a topic, widened where these have more directions."""
    array = _widened(array, values.shape[-1])
    array[index, :, topic, ..., : values.shape[-1]] = values
    return array


def _widened(array: NDArray, n_directions: int) -> NDArray:
    """Array with at least so many directions, 0 in those that it had not."""
    missing = n_directions - array.shape[-1]
    return np.pad(array, [(0, 0)] * (array.ndim - 1) + [(0, missing)]) if missing > 0 else array


def _complete_columns(problem: Problem, topics: slice, arrays: Arrays) -> list[int]:
    """Fill in what complete columns of relevance give, of many topics at once.

    Returns the places of the measures that are still to be scored topic by topic.
    """
    assert isinstance(problem.relevance, JudgedRelevance)
    whole = [one.kind in BY_RELEVANCE and one.own is None for one in problem.measures]
    judged = problem.judged_topic[topics]
    if any(whole) and judged.any():
        start = problem.frame.sample.start[topics.start : topics.stop + 1]
        length = problem.frame.rankings.length[:, topics]
        shape, position = (*length.shape, -1), problem.positions(topics)
        lost = problem.outside_weight(topics, position)
        arrays["outside_weight"][:] = lost.reshape(len(lost), *shape)
        for index in np.flatnonzero(whole).tolist():
            measure = problem.measures[index]
            value = problem.relevance.values(topics, measure)
            total = topic_total(measure, value, start - start[0])
            total = None if total is None else np.tile(total, (length.shape[0], 1))
            scores = plain_scores(measure, position, value, total, length.ravel())
            arrays["estimate"][index] = scores.reshape(shape)
        for name in ("estimate", "outside_weight"):
            arrays[name][:, :, ~judged] = np.nan
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
