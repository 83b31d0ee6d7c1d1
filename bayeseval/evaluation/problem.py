"""What an evaluation works on: measures, relevance and the runs' rankings, topic by topic."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from bayeseval.collection import check_collection, topic_starts
from bayeseval.designs.gather import grade_columns
from bayeseval.estimators import estimated_relevance
from bayeseval.estimators.registry import NEEDS_DESIGN
from bayeseval.estimators.relevance import EstimatedRelevance
from bayeseval.estimators.scoring import SCORES, TopicScore
from bayeseval.measures.linear import RANK_WEIGHTS, rank_weight
from bayeseval.measures.names import Measure, parse_measures

OPTIONS = {
    "outside": ("nonrelevant", "missing", "error"),
    "missing_topics": ("zero", "skip"),
    "population": ("sample", "topics"),
}


def check_option(**given: str) -> None:
    """Refuse a value that an option does not have, and list those it has."""
    for name, value in given.items():
        if value not in OPTIONS[name]:
            raise ValueError(f"{name} must be one of {', '.join(OPTIONS[name])}, not {value!r}")


@dataclass(frozen=True, eq=False)
class Problem:
    """Measures to evaluate, the estimated relevance, and the rankings as plain arrays.

    Parameters
    ----------
    collection : DataTree
    measures : list of Measure
    relevance : EstimatedRelevance
    ranking : int array (run, topic, rank)
        Positions of pairs, -1 for none.
    start : int array (topic + 1,)
        First pair of every topic.
    row_of_pair : int array (pair + 1,)
        Row of a pair among its topic's frame pairs, -1 outside; the last entry serves position -1.
    """

    collection: xr.DataTree
    measures: list[Measure]
    relevance: EstimatedRelevance
    ranking: NDArray[np.int32]
    start: NDArray[np.int64]
    row_of_pair: NDArray[np.int32]

    @classmethod
    def prepared(
        cls,
        collection: xr.DataTree,
        measures,
        *,
        estimator: str,
        predictor=None,
        relevance_level: int = 1,
        gain=None,
        random_seed: int | None = None,
    ) -> "Problem":
        """Check the request and estimate the relevances it needs."""
        check_collection(collection)
        if "rankings" not in collection.children:
            raise ValueError("the collection has no runs to evaluate")
        grade = grade_columns(collection)
        grades = np.unique(grade[~np.isnan(grade)]).tolist()
        parsed = parse_measures(measures, relevance_level=relevance_level, gain=gain, grades=grades)
        _check_estimable(parsed, estimator)
        relevance = estimated_relevance(collection, estimator, predictor, random_seed or 0)
        sample = relevance.sample
        row_of_pair = np.full(collection.sizes["pair"] + 1, -1, dtype=np.int32)
        row_of_pair[sample.pair] = np.arange(sample.n_pairs) - sample.start[sample.topic]
        return cls(
            collection=collection,
            measures=parsed,
            relevance=relevance,
            ranking=collection["rankings/ranking"].to_numpy(),
            start=topic_starts(collection),
            row_of_pair=row_of_pair,
        )

    @property
    def judged_topic(self) -> NDArray[np.bool_]:
        """Topics with at least one judgment."""
        sample = self.relevance.sample
        judged = sample.selected.any(axis=0)
        return np.bincount(sample.topic[judged], minlength=sample.n_topics) > 0

    @property
    def answered(self) -> NDArray[np.bool_]:
        """Whether a run has a ranking for a topic, (run, topic)."""
        return (self.ranking >= 0).any(axis=2)

    @property
    def n_replicates(self) -> int:
        """Number of samples side by side."""
        return self.relevance.sample.n_replicates

    @property
    def labels(self) -> dict[str, object]:
        """Labels of the dims of every result."""
        return {
            "measure": [measure.label for measure in self.measures],
            "run": self.collection["run"].to_numpy(),
            "topic": self.collection["topic"].to_numpy(),
        }

    def topic_scores(
        self, runs: Sequence[int] | None = None
    ) -> Iterator[tuple[int, int, TopicScore]]:
        """Score every estimable measure on every judged topic: (measure, topic, score)."""
        for topic in np.flatnonzero(self.judged_topic):
            position = self.position(topic, runs)
            relevance = self.relevance.topic(topic, position)
            for index, measure in enumerate(self.measures):
                if measure.name in SCORES:
                    yield index, topic, SCORES[measure.name](measure, relevance)

    def position(self, topic: int, runs: Sequence[int] | None = None) -> NDArray[np.int32]:
        """Frame row of the document at each rank (run, rank), -1 outside the frame."""
        ranking = self.ranking[:, topic] if runs is None else self.ranking[list(runs), topic]
        return self.row_of_pair[ranking]

    def outside_weight(self, measure: Measure, topic: int) -> NDArray[np.float64]:
        """Weight of the ranks whose document cannot be known under the frame, (run, replicate).

        For a linear measure the sum of its weights; for a ratio the share of the retrieved
        documents down to the cutoff, weighted as the measure weighs ranks (1/i for AP and Rprec).
        """
        ranking = self.ranking[:, topic]
        weight = _outside_weights(measure, ranking.shape[1])
        retrieved = ranking[:, : weight.size] >= 0
        inside = self.position(topic)[:, : weight.size]
        known = (inside >= 0)[..., None]
        if not self.relevance.random:
            sample = self.relevance.sample
            judged = sample.selected[:, sample.start[topic] : sample.start[topic + 1]].T
            if judged.shape[1] > 1:
                known = np.where(known, judged[inside], False)
        lost = np.einsum("rk,rkc,k->rc", retrieved, ~known, weight)
        if measure.kind == "linear" and measure.name in RANK_WEIGHTS:
            return lost
        total = (retrieved @ weight)[:, None]
        return np.divide(lost, total, out=np.zeros_like(lost), where=total > 0)


def _outside_weights(measure: Measure, depth: int) -> NDArray[np.float64]:
    """Weights that say how much an unknown document at each rank matters."""
    if measure.name in RANK_WEIGHTS:
        return rank_weight(measure, depth)
    rank = np.arange(1, depth + 1)
    weight = np.ones(depth)
    if measure.name == "nDCG":
        weight = 1.0 / np.log2(rank + 1.0)
    elif measure.name in ("AP", "Rprec", "infAP", "RR"):
        weight = 1.0 / rank
    return weight[: measure.cutoff]


def _check_estimable(measures: list[Measure], estimator: str) -> None:
    """Refuse measures that a design-based estimator does not have."""
    lacking = [measure.label for measure in measures if measure.name not in SCORES]
    if lacking and estimator in NEEDS_DESIGN:
        raise ValueError(
            f"{lacking[0]} is no sum of relevances, so it has no '{estimator}' estimate; measures "
            "that "
            f"have one: {', '.join(sorted(SCORES))}"
        )
