"""Scores of runs from draws of the relevance of documents."""

from collections.abc import Iterator

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from bayeseval.evaluation.problem import Problem
from bayeseval.frame.frame import Frame
from bayeseval.frame.gather import grade_scale
from bayeseval.measures.measure import Measure, relevance
from bayeseval.measures.names import parse_measures
from bayeseval.measures.scores import plain_scores
from bayeseval.measures.table import names_of
from bayeseval.messages import Message, Option
from bayeseval.models.relevance.draws import RelevanceDraws

GRADES = Option("model", "grades", "be.models.grade_model")


class DocumentScores:
    """Scores of every run under every draw, for a model that draws documents.

    Parameters
    ----------
    draws : RelevanceDraws
    sampled : DataTree
        The collection that the model was fitted to; runs may have been added since.
    measures : str or list
    outside : {"nonrelevant", "model"}
    """

    def __init__(self, draws: RelevanceDraws, sampled: xr.DataTree, measures, outside: str) -> None:
        parsed = _parsed(measures, draws, sampled)
        self._problem = Problem(Frame.of(sampled), parsed, random=False)
        self._draws, self._outside = draws, outside
        self.labels = self._problem.labels
        self.judged_topic = self._problem.judged_topic
        self.relevance_level = draws.binary_level() or 0

    def topic(self, topic: int) -> tuple[Iterator[NDArray[np.float64]], NDArray | float]:
        """Scores (run, draw) measure by measure, and the weight outside (measure, run)."""
        frame, measures = self._problem.frame, self._problem.measures
        first, last = frame.rankings.start[topic : topic + 2]
        lost: NDArray | float = 0.0
        if self._outside == "model":
            pairs, position = np.arange(last - first), frame.rankings.local(topic)
        else:
            pairs = np.flatnonzero(frame.row_of_pair[first:last] >= 0)
            position = frame.row_of_pair[frame.rankings.pair[:, topic]]
            lost = self._problem.outside_weight(topic, position)[..., 0]
        codes, scale = self._draws.topic(topic, pairs), self._draws.scale
        scores = (
            plain_scores(measure, position, _relevance_of(measure, scale)[codes])
            for measure in measures
        )
        return scores, lost


def _parsed(measures, draws: RelevanceDraws, sampled: xr.DataTree) -> list[Measure]:
    """Measures, each of which the model must have relevances for."""
    grades = grade_scale(sampled)
    level = draws.binary_level()
    parsed = parse_measures(measures, relevance_level=level or 1, grades=grades)
    for measure in parsed:
        if measure.kind == "preference":
            raise ValueError(
                f"{measure.label} has no posterior scores; measures that have them: "
                f"{', '.join(names_of('linear', 'count', 'ratio'))}"
            )
        if level is None:
            continue
        if measure.graded and (level != 1 or max(grades, default=0.0) > 1):
            raise ValueError(Message(f"{measure.label} counts grades; take ", GRADES, " for it"))
        if not measure.graded and measure.relevance_level != level:
            raise ValueError(
                Message(
                    f"{measure.label} counts grades from {measure.relevance_level} and the model "
                    f"those from {level}; fit it with ",
                    Option("relevance_level", measure.relevance_level),
                    ", or take ",
                    GRADES,
                )
            )
    return parsed


def _relevance_of(measure: Measure, scale: NDArray) -> NDArray:
    """Relevance of each grade of the scale, a byte where it is 0 or 1."""
    seen = relevance(measure, scale)
    return seen if measure.graded else seen.astype(np.int8)
