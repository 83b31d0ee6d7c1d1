"""One topic's ranked lists: what an estimator that scores whole lists may ask, and answers.

``assumed``, ``stat`` and ``dyn`` fill in a relevance per document, the measure does the rest.
The estimators of this kind (condensed lists, inferred measures, statAP, importance sampling) need
the ranked list itself: which documents above a rank were pooled, sampled or judged.
"""

from dataclasses import dataclass

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from bayeseval.frame.gather import grade_columns
from bayeseval.frame.rankings import Rankings


@dataclass(frozen=True, eq=False)
class TopicLists:
    """Ranked lists, judgments and design of one topic; None of a design is what it has not."""

    position: NDArray[np.int32]  # (run, rank): row among the topic's pairs, -1 for none
    grade: NDArray[np.floating]  # (replicate, pair), NaN where not judged
    pooled: NDArray[np.bool_]  # (pair,): in the pool, judged or not
    inclusion_probability: NDArray[np.float64] | None = None  # (pair,), NaN where unknown
    stratum: NDArray[np.int32] | None = None  # (pair,), -1 for none
    stratum_size: NDArray[np.int64] | None = None  # (stratum_id,), of all strata of the design
    draw_probability: NDArray[np.float64] | None = None  # (pair,), of each draw with replacement
    draw_count: NDArray[np.int64] | None = None  # (replicate, pair), how often it was drawn

    @property
    def n_replicates(self) -> int:
        """Number of samples side by side."""
        return self.grade.shape[0]

    def top(self, cutoff: int | None) -> NDArray[np.int32]:
        """Positions down to a cutoff."""
        return np.ascontiguousarray(self.position[:, :cutoff])


class CollectionLists:
    """A collection's rankings, judgments and design as plain arrays, topic by topic."""

    def __init__(self, collection: xr.DataTree) -> None:
        self._rankings = Rankings.of(collection)
        self._grade = grade_columns(collection)
        self._pooled = collection["judgments/pooled"].to_numpy()
        design = collection.children["design"] if "design" in collection.children else {}
        names = ("inclusion_probability", "stratum", "draw_probability")
        self._of_pair = {name: design[name].to_numpy() for name in names if name in design}
        self._stratum_size = design["stratum_size"].to_numpy() if "stratum_size" in design else None
        if "draw_count" in collection["judgments"]:
            count = collection["judgments/draw_count"].transpose(..., "pair")
            self._of_pair["draw_count"] = np.atleast_2d(count.to_numpy())

    def topic(self, topic: int) -> TopicLists:
        """Arrays of one topic."""
        first, last = self._rankings.start[topic : topic + 2]
        return TopicLists(
            position=self._rankings.local(topic),
            grade=np.ascontiguousarray(self._grade[:, first:last], dtype=np.float64),
            pooled=self._pooled[first:last],
            stratum_size=self._stratum_size,
            **{name: values[..., first:last] for name, values in self._of_pair.items()},
        )
