"""Scores of runs from draws of the relevance of documents."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from bayeseval.evaluation.problem import Problem
from bayeseval.measures.measure import Measure, relevance
from bayeseval.measures.scores import plain_scores, topic_total
from bayeseval.models.relevance.departures import DEPTH, Departures, departing_columns
from bayeseval.models.relevance.draws import RelevanceDraws, TopicDraws
from bayeseval.posterior.modelled import modelled_measures


class DocumentScores:
    """Scores of every run under every draw, for a model that draws documents.

    Runs may have been added to the collection since the model was fitted to it: ``departures``
    ("learned" or "none") says whether they may depart from it. ``outside`` is "nonrelevant" or
    "model".
    """

    def __init__(
        self,
        draws: RelevanceDraws,
        sampled: xr.DataTree,
        measures,
        outside: str,
        departures: str,
    ) -> None:
        parsed = modelled_measures(measures, draws.binary_level(), sampled)
        self._problem = Problem(draws.frame, parsed, random=draws.frame.scheme == "poisson")
        self._draws, self._outside = draws, outside
        learned = departures == "learned"
        self._departures = Departures.learned(draws) if learned else Departures.none()
        self.departing = self._departures.run
        self.measures = parsed
        self.labels = self._problem.labels
        as_learned = np.concatenate([draws.frame.run, self._departures.copied])
        self.learned = np.isin(np.arange(len(self.labels["run"])), as_learned)
        self.judged_topic = self._problem.judged_topic
        self.relevance_level = draws.binary_level() or 0

    def topic(self, topic: int) -> tuple[Iterator[NDArray[np.float64]], NDArray | float]:
        """Scores (run + departing run, draw) by measure, and the weight outside (measure, run)."""
        frame, measures = self._problem.frame, self._problem.measures
        first, last = frame.rankings.start[topic : topic + 2]
        lost: NDArray | float = 0.0
        if self._outside == "model":
            pairs, position = np.arange(last - first), frame.rankings.local(topic)
        else:
            pairs = np.flatnonzero(frame.row_of_pair[first:last] >= 0)
            position = frame.row_of_pair[frame.rankings.pair[:, topic]]
            lost = self._problem.outside_weight(topic, position)[..., 0]
        top = position[self._departures.run, :DEPTH]
        kept = np.zeros(pairs.size, dtype=bool)
        kept[top[top >= 0]] = True
        drawn = self._draws.topic(topic, pairs, kept)
        departed = list(self._departed(drawn, top))
        scores = (self._scores(topic, measure, position, drawn, departed) for measure in measures)
        return scores, lost

    def variables(self, scores: xr.Dataset, modelled: NDArray) -> dict[str, Any]:
        """Mean and standard deviation of runs that depart, had they not; nothing if none does."""
        moments = {
            "modelled_mean": modelled.mean(axis=-1),
            "modelled_error": modelled.std(axis=-1, ddof=1),
        }
        variables = {}
        for name, values in moments.items() if self.departing.size else ():
            whole = np.full(tuple(scores.sizes[dim] for dim in ("measure", "run")), np.nan)
            whole[:, self.departing] = values
            variables[name] = (("measure", "run"), whole)
        return variables

    def _departed(
        self, drawn: TopicDraws, top: NDArray
    ) -> Iterator[tuple[int, NDArray, NDArray, NDArray[np.uint8]]]:
        """Of every departing run the ranks and rows of what it changes, and the codes there."""
        for number, (run, position) in enumerate(zip(self._departures.run, top, strict=True)):
            rank = np.flatnonzero((position >= 0) & (drawn.row[position] >= 0))
            if rank.size:
                rows = position[rank]
                seen = drawn.seen[drawn.row[rows]]
                columns = departing_columns(rank + 1, seen).astype(np.float32)
                effect = self._departures.of_run(number)
                yield int(run), rank, rows, drawn.again(rows, columns, effect)

    def _scores(
        self, topic: int, measure: Measure, position: NDArray, drawn: TopicDraws, departed
    ) -> NDArray[np.float64]:
        """Scores (run, draw) of a measure, a run that departs by the relevances it sees.

        The topic has as many relevant documents, or as large an ideal gain, for every run: what a
        run finds beyond what the model expects is missing elsewhere. The runs that depart follow
        once more, as the model has them.
        """
        table = relevance(measure, self._draws.scale)
        table = table if measure.graded else table.astype(np.int8)  # a byte where it is 0 or 1
        value = _looked_up(table, drawn.codes)
        total, length = topic_total(measure, value), self._problem.frame.rankings.length[:, topic]
        scores = plain_scores(measure, position, value, total, length)
        as_modelled = scores[self.departing]
        seen = value.copy() if departed else value
        for run, rank, every_row, codes in departed:
            reach = rank.size if measure.cutoff is None else np.searchsorted(rank, measure.cutoff)
            rows = every_row[:reach]
            seen[rows] = _looked_up(table, codes[:reach])
            scores[run] = plain_scores(measure, position[[run]], seen, total, length[[run]])[0]
            seen[rows] = value[rows]
        return np.concatenate([scores, as_modelled])


def _looked_up(table: NDArray, codes: NDArray[np.uint8]) -> NDArray:
    """Entries of a table; where they are the codes, a view of these, not to be written into."""
    if table.dtype == np.int8 and np.array_equal(table, [0, 1]):
        return codes.view(np.int8)
    return table[codes]
