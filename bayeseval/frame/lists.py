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
    """Ranked lists, judgments and design of one topic.

    Parameters
    ----------
    position : int32 array (run, rank)
        Row of the document among the topic's pairs, -1 for none.
    grade : float array (replicate, pair)
        Grades of all pairs of the topic, NaN where not judged.
    pooled : bool array (pair,)
        In the pool, judged or not.
    inclusion_probability : float array (pair,) or None
        0 outside the frame, NaN where unknown; None where there is no design.
    stratum : int32 array (pair,) or None
        Stratum number, -1 for none.
    stratum_size : int64 array (stratum_id,) or None
        Of all strata of the design; ``stratum`` points into it.
    draw_probability : float array (pair,) or None
        Probability of each single draw; None unless drawn with replacement.
    draw_count : int64 array (replicate, pair) or None
        How often each pair was drawn.
    """

    position: NDArray[np.int32]
    grade: NDArray[np.floating]
    pooled: NDArray[np.bool_]
    inclusion_probability: NDArray[np.float64] | None = None
    stratum: NDArray[np.int32] | None = None
    stratum_size: NDArray[np.int64] | None = None
    draw_probability: NDArray[np.float64] | None = None
    draw_count: NDArray[np.int64] | None = None

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
