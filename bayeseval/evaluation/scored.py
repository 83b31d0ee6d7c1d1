"""Scores of all runs and topics as plain arrays, whatever kind of estimator makes them."""

import numpy as np
from numpy.typing import NDArray

from bayeseval.estimators.scoring import SCORES
from bayeseval.estimators.topic import TopicRelevance
from bayeseval.evaluation.problem import Problem
from bayeseval.frame.grades import grade_columns
from bayeseval.frame.lists import CollectionLists
from bayeseval.measures.names import Measure
from bayeseval.measures.preference import preference_scores
from bayeseval.uncertainty import degrees_of_freedom

Arrays = dict[str, NDArray]


def scored(problem: Problem) -> Arrays:
    """Arrays (measure, run, topic, replicate) of everything a result holds."""
    n_runs, n_topics = problem.ranking.shape[:2]
    shape = (len(problem.measures), n_runs, n_topics, problem.n_replicates)
    names = ("estimate", "standard_error", "degrees_of_freedom", "outside_weight")
    arrays = {name: np.full(shape, np.nan) for name in names}
    arrays["limited"] = np.zeros(shape, dtype=bool)
    if problem.list_measures is None:
        _fill_in(problem, arrays)
    else:
        _score_lists(problem, arrays)
    return arrays


def _fill_in(problem: Problem, arrays: Arrays) -> None:
    """Scores from relevances filled in document by document."""
    for topic, relevance in problem.topics():
        arrays["outside_weight"][:, :, topic] = problem.outside_weight(topic, relevance.position)
        for index, measure in enumerate(problem.measures):
            at = (index, slice(None), topic)
            if measure.name in SCORES:
                _place(problem, arrays, at, measure, relevance)
            else:
                arrays["estimate"][at] = _preference(problem, measure, topic)


def _place(problem, arrays: Arrays, at: tuple, measure: Measure, relevance: TopicRelevance) -> None:
    score = SCORES[measure.name](measure, relevance)
    arrays["estimate"][at] = score.estimate
    arrays["limited"][at] = score.limited
    if problem.relevance.random:
        arrays["standard_error"][at] = np.sqrt(score.variance)
        arrays["degrees_of_freedom"][at] = degrees_of_freedom(score.variance, score.spread)


def _preference(problem: Problem, measure: Measure, topic: int) -> NDArray[np.floating]:
    """Scores (run, replicate) of a measure that is no sum of relevances."""
    pairs = slice(problem.start[topic], problem.start[topic + 1])
    ranking = problem.ranking[:, topic]
    position = np.where(ranking < 0, -1, ranking - problem.start[topic])
    pooled = problem.collection["judgments/pooled"].to_numpy()[pairs]
    columns = grade_columns(problem.collection)[:, pairs]
    return np.stack(
        [preference_scores(measure, position, grade, pooled) for grade in columns], axis=-1
    )


def _score_lists(problem: Problem, arrays: Arrays) -> None:
    """Scores of an estimator that takes whole ranked lists."""
    assert problem.list_measures is not None
    lists = CollectionLists(problem.collection)
    for topic in np.flatnonzero(problem.judged_topic).tolist():
        position = problem.row_of_pair[problem.ranking[:, topic]]
        arrays["outside_weight"][:, :, topic] = problem.outside_weight(topic, position)
        ranked = lists.topic(topic)
        for index, measure in enumerate(problem.measures):
            score = problem.list_measures[measure.name](
                measure, ranked, **problem.estimator_options
            )
            arrays["estimate"][index, :, topic] = score.estimate
            if score.variance is not None:
                arrays["standard_error"][index, :, topic] = np.sqrt(score.variance)
                arrays["degrees_of_freedom"][index, :, topic] = score.degrees_of_freedom
