"""Grades of one topic's documents under every draw, and the same drawn again for one run."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(eq=False)
class TopicDraws:
    """Grades of one topic's documents under every draw, some of which can be drawn again."""

    draws: Any
    codes: NDArray[np.uint8]  # (pair, draw): positions in the scale
    pairs: NDArray[np.integer]  # (pair,): positions in the collection
    row: NDArray[np.int64]  # (pair,): row of a pair among those kept, -1 for the others
    # (kept, draw): linear predictor, and the chance that decided on relevance
    logit: NDArray[np.float32]
    uniform: NDArray[np.float32]
    relevant: NDArray[np.uint8]  # (kept, draw): position in the scale if the document is relevant
    seen: NDArray[np.float64]  # (kept, 2): what a run departs by, of :meth:`RelevanceDraws.logit`

    @classmethod
    def empty(cls, draws, codes: NDArray, pairs: NDArray, kept: NDArray) -> "TopicDraws":
        """Nothing kept yet of the pairs at some rows."""
        row = np.full(pairs.size, -1)
        row[kept] = np.arange(kept.size)
        shape = kept.size, draws.n_draws
        logit, uniform = np.empty(shape, np.float32), np.empty(shape, np.float32)
        relevant, seen = np.ones(shape, np.uint8), np.empty((kept.size, 2))
        return cls(draws, codes, pairs, row, logit, uniform, relevant, seen)

    def keep(
        self, rows: NDArray, logit: NDArray, uniform: NDArray, relevant: NDArray, seen: NDArray
    ) -> None:
        """Keep what is to be kept of some rows."""
        inside = self.row[rows] >= 0
        kept = self.row[rows[inside]]
        self.logit[kept], self.uniform[kept] = logit[inside], uniform[inside]
        self.relevant[kept], self.seen[kept] = relevant[inside], seen[inside]

    def again(
        self, rows: NDArray, columns: NDArray[np.float32], effect: NDArray[np.float32]
    ) -> NDArray[np.uint8]:
        """Codes (row, draw) of kept pairs with ``columns @ effect`` added to their log odds.

        ``columns`` are (row, column), ``effect`` (column, draw).
        """
        kept = self.row[rows]
        if self.draws.labelled:
            before = self.logit[kept]
            share = self.draws.relevance(before + columns @ effect, self.pairs[rows], before)
            return (self.uniform[kept] < share) * self.relevant[kept]
        from bayeseval.models.relevance.kernels import codes_again

        codes = np.empty((rows.size, self.draws.n_draws), dtype=np.uint8)
        codes_again(kept, self.logit, self._log_odds, columns, effect, self.relevant, codes)
        return codes

    @cached_property
    def _log_odds(self) -> NDArray[np.float32]:
        """Log odds of the chance that decided."""
        with np.errstate(divide="ignore"):
            return np.log(self.uniform) - np.log1p(-self.uniform)
