"""Scores under the pool of a few runs, as plain arrays."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bayeseval.measures.measure import Measure, relevance
from bayeseval.measures.scores import rank_weight

BASES = ("nonrelevant", "condensed")


@dataclass(frozen=True, eq=False)
class PoolScores:
    """Rankings, true relevance and weights, to score a run by the judgments of any pool.

    Documents that some run returns to the pool depth have a row each, all others the last one.
    """

    ranking: NDArray[np.int32]  # (run, topic, rank): rows
    value: NDArray[np.float64]  # (row + 1,): true relevance or gain, 0 at last
    weight: NDArray[np.floating]  # (rank,), down to the cutoff
    pool_depth: int
    label: str  # of the measure

    @classmethod
    def prepared(
        cls, ranking: NDArray, grade: NDArray, measure: Measure, pool_depth: int
    ) -> "PoolScores":
        """Keep the documents that can be pooled; what has no grade counts as not relevant."""
        top = ranking[:, :, :pool_depth]
        rows = np.unique(top[top >= 0])
        row_of_pair = np.full(grade.size + 1, rows.size, dtype=np.int32)
        row_of_pair[rows] = np.arange(rows.size)
        value = np.append(np.nan_to_num(relevance(measure, grade[rows])), 0.0)
        weight = rank_weight(measure, ranking.shape[2])
        return cls(row_of_pair[ranking], value, weight, pool_depth, measure.label)

    def of_pool(
        self, members: NDArray[np.int64], run: int
    ) -> tuple[NDArray[np.floating], list[NDArray[np.floating]], list[float]]:
        """Scores of an unpooled run beside the pool of some members.

        Its scores (topic,) by the pool of these and itself; by the pool of these alone, for each
        base; and for each base the mean bias of the members, each left out with the unpooled run in
        its place.
        """
        count = np.bincount(self._top(members).ravel(), minlength=self.value.size)
        returned = np.zeros(self.value.size, dtype=bool)
        returned[self._top(run).ravel()] = True
        count[-1], returned[-1] = 0, False  # no document
        row = self.ranking[run]
        true = self._score(row, ((count > 0) | returned)[row], "nonrelevant")
        unpooled = [self._score(row, (count > 0)[row], base) for base in BASES]
        return true, unpooled, self._left_out(self.ranking[members], count, returned)

    def _left_out(self, row: NDArray, count: NDArray, returned: NDArray[np.bool_]) -> list[float]:
        """Mean bias of the members, by base; ``count`` says how many have a document."""
        if len(row) < 2:
            return [np.nan] * len(BASES)
        known = (count > 0)[row]
        alone = (count[row] == 1) & ~returned[row]
        alone[:, :, self.pool_depth :] = False  # that other member's, not this one's
        pooled = self._score(row, known, "nonrelevant")
        return [float((pooled - self._score(row, known & ~alone, base)).mean()) for base in BASES]

    def _top(self, runs) -> NDArray[np.int32]:
        return self.ranking[runs][..., : self.pool_depth]

    def _score(self, row: NDArray, known: NDArray[np.bool_], base: str) -> NDArray[np.floating]:
        """Weighted sum over ranks, the last axis, by the judgments that are known."""
        cutoff = min(self.weight.size, row.shape[-1])
        if base == "nonrelevant":
            top = row[..., :cutoff]
            return np.where(known[..., :cutoff], self.value[top], 0.0) @ self.weight[:cutoff]
        n_lists = int(np.prod(row.shape[:-1]))
        line, rank = np.nonzero(known.reshape(n_lists, -1))
        place = np.arange(line.size) - np.searchsorted(line, line)  # rank in the condensed list
        line, rank, place = (array[place < cutoff] for array in (line, rank, place))
        gain = self.weight[place] * self.value[row.reshape(n_lists, -1)[line, rank]]
        return np.bincount(line, weights=gain, minlength=n_lists).reshape(row.shape[:-1])
