"""Scores of all runs and topics as plain arrays, whatever kind of estimator makes them."""

import numpy as np
from numpy.typing import NDArray

from bayeseval.estimators.assumed import JudgedRelevance
from bayeseval.evaluation.problem import Problem
from bayeseval.frame.gather import grade_columns
from bayeseval.frame.lists import CollectionLists
from bayeseval.measures.measure import Measure
from bayeseval.measures.scores import plain_scores, preference_scores
from bayeseval.uncertainty import degrees_of_freedom

Arrays = dict[str, NDArray]


def scored(problem: Problem) -> Arrays:
    """Arrays (measure, run, topic, replicate) of everything a result holds."""
    n_runs, n_topics = problem.frame.rankings.length.shape
    shape = (len(problem.measures), n_runs, n_topics, problem.n_replicates)
    names = ("estimate", "standard_error", "degrees_of_freedom", "outside_weight")
    arrays = {name: np.full(shape, np.nan) for name in names}
    arrays["limited"] = np.zeros(shape, dtype=bool)
    for topic, position in problem.topics():
        arrays["outside_weight"][:, :, topic] = problem.outside_weight(topic, position)
    if problem.list_scores is not None:
        _score_lists(problem, arrays)
    elif isinstance(problem.relevance, JudgedRelevance):
        _score_plainly(problem, problem.relevance, arrays)
    else:
        _estimate(problem, arrays)
    return arrays


def _score_plainly(problem: Problem, relevance: JudgedRelevance, arrays: Arrays) -> None:
    """Scores from complete columns of relevance."""
    for topic, position in problem.topics():
        for index, measure in enumerate(problem.measures):
            if measure.kind == "preference":
                score = _preference(problem, measure, topic)
            else:
                score = plain_scores(measure, position, relevance.values(topic, measure))
            arrays["estimate"][index, :, topic] = score


def _estimate(problem: Problem, arrays: Arrays) -> None:
    """Scores from relevances estimated document by document, with their deviations."""
    for index, topic, score in problem.topic_scores():
        at = (index, slice(None), topic)
        arrays["estimate"][at] = score.estimate
        arrays["limited"][at] = score.limited
        arrays["standard_error"][at] = np.sqrt(score.variance)
        arrays["degrees_of_freedom"][at] = degrees_of_freedom(score.variance, score.spread)


def _preference(problem: Problem, measure: Measure, topic: int) -> NDArray[np.floating]:
    """Scores (run, replicate) of a measure that is no sum of relevances."""
    rankings, collection = problem.frame.rankings, problem.frame.collection
    pairs = slice(rankings.start[topic], rankings.start[topic + 1])
    position = rankings.local(topic)
    pooled = collection["judgments/pooled"].to_numpy()[pairs]
    columns = grade_columns(collection)[:, pairs]
    return np.stack(
        [preference_scores(measure, position, grade, pooled) for grade in columns], axis=-1
    )


def _score_lists(problem: Problem, arrays: Arrays) -> None:
    """Scores of an estimator that takes whole ranked lists."""
    assert problem.list_scores is not None
    lists = CollectionLists(problem.frame.collection)
    for topic in np.flatnonzero(problem.judged_topic).tolist():
        ranked = lists.topic(topic)
        for index, measure in enumerate(problem.measures):
            score = problem.list_scores(measure, ranked)
            arrays["estimate"][index, :, topic] = score.estimate
            if score.variance is not None:
                arrays["standard_error"][index, :, topic] = np.sqrt(score.variance)
                arrays["degrees_of_freedom"][index, :, topic] = score.degrees_of_freedom
