"""Scores of runs from draws of each run's own list, as an urn gives them."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from bayeseval.measures.measure import Measure
from bayeseval.measures.names import parse_measures
from bayeseval.measures.scores import rank_weight
from bayeseval.measures.table import names_of
from bayeseval.messages import Message, Option
from bayeseval.models.urn.tops import UrnDraws

NEGLIGIBLE = 1e-7  # ranks below which a measure has no more than this of its weight are left out


class ListScores:
    """Scores of the runs of a model under every draw, each run's list drawn by itself.

    Measures are weighted sums over the ranks: what can be asked of each run by itself.
    """

    def __init__(
        self,
        draws: UrnDraws,
        sampled: xr.DataTree,
        measures,
        outside: str,
    ) -> None:
        if outside != "nonrelevant":
            raise ValueError("an urn holds the documents of its frame only; allowed: 'nonrelevant'")
        parsed = _linear(measures, draws.tops.relevance_level)
        depth = sampled["rankings"].sizes["rank"]
        self._draws, self.departing = draws, np.zeros(0, dtype=np.int64)
        self.learned = np.ones(len(draws.tops.coords["run"]), dtype=bool)
        self._weight = [_cut(rank_weight(measure, depth)) for measure in parsed]
        self.measures = parsed
        self.labels = {"measure": np.array([measure.label for measure in parsed])}
        self.labels |= {dim: draws.tops.coords[dim] for dim in ("run", "topic")}
        self.judged_topic = draws.tops.count(draws.tops.relevance >= 0) > 0
        self.relevance_level = draws.tops.relevance_level

    def topic(self, topic: int) -> tuple[Iterator[NDArray[np.float64]], NDArray[np.float64]]:
        """Scores (run, draw) measure by measure, and the weight outside (measure, run)."""
        scores = self._draws.scores(topic, self._weight)
        return scores, self._draws.outside_weight(topic, self._weight)

    def variables(self, scores: xr.Dataset, modelled: NDArray) -> dict[str, Any]:
        """What is judged and what urns fill, of scores or their means; no run has departures."""
        dims = ("measure", "run", "topic")
        parts = {
            "judged_score": self._draws.judged_score,
            "filled_weight": self._draws.filled_weight,
        }
        variables = {}
        for name, part in parts.items():
            values = np.full(tuple(len(self.labels[dim]) for dim in dims), np.nan)
            for topic in np.flatnonzero(self.judged_topic).tolist():
                values[:, :, topic] = part(topic, self._weight)
            by_topic = xr.DataArray(values, dims=dims)
            is_mean = "topic" not in scores.dims
            variables[name] = by_topic.mean("topic", skipna=True) if is_mean else by_topic
        return variables


def _linear(measures, relevance_level: int) -> list[Measure]:
    """Measures that are weighted sums over ranks: what an urn of each run can be asked for."""
    parsed = parse_measures(measures, relevance_level=relevance_level, grades=(0.0, 1.0))
    for measure in parsed:
        if measure.kind != "linear" or measure.graded:
            raise ValueError(
                f"{measure.label} has no posterior scores under urn_model: every run has urns of "
                "its own, and there is no number of relevant documents that is one for all runs; "
                f"measures that have them: {', '.join(names_of('linear'))}, of relevance; others "
                "need a sample of judgments and relevance_model or estimator='dyn'"
            )
        if measure.relevance_level != relevance_level:
            raise ValueError(
                Message(
                    f"{measure.label} counts grades from {measure.relevance_level} and the model "
                    f"those from {relevance_level}; fit it with ",
                    Option("relevance_level", measure.relevance_level),
                )
            )
    return parsed


def _cut(weight: NDArray[np.floating]) -> NDArray[np.floating]:
    """Weights without the ranks at the end that add next to nothing."""
    remaining = weight[::-1].cumsum()[::-1]
    return weight[: max(1, int((remaining > NEGLIGIBLE * remaining[0]).sum()))]
