"""Draws with replacement of one topic as plain arrays, and the mean over them."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bayeseval.collection.labels import row_of_pair
from bayeseval.frame.lists import TopicLists
from bayeseval.measures.measure import Measure, relevance

OPTIONS = {"conditioning": ("run", "none"), "ratio": ("plain", "beale")}


@dataclass(frozen=True, eq=False)
class Draws:
    """Draws of one topic, over the pairs that can be drawn.

    Parameters
    ----------
    position : int32 array (run, rank)
        Row of the document among these pairs, -1 for none.
    probability : float array (pair,)
        Probability M of each single draw, above 0.
    count : int array (pair, replicate)
        How often each pair was drawn.
    value : float array (pair, replicate)
        Relevance or gain; 0 where not drawn.
    """

    position: NDArray[np.int32]
    probability: NDArray[np.float64]
    count: NDArray[np.int64]
    value: NDArray[np.float64]

    @property
    def total(self) -> NDArray[np.int64]:
        """Number of draws K, (replicate,)."""
        return self.count.sum(axis=0)

    @property
    def relevant(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Estimated number of relevant documents and its variance, both (replicate,)."""
        z = self.value / self.probability[:, None]
        total, squares = (self.count * z).sum(axis=0), (self.count * z**2).sum(axis=0)
        return mean_and_variance(self.total, total, squares)


def topic_draws(measure: Measure, topic: TopicLists) -> Draws:
    """Draws of a topic, with what each document counts in a measure.

    Raises
    ------
    ValueError
        No design with replacement, a drawn document without a grade.
    """
    if topic.draw_probability is None or topic.draw_count is None:
        raise ValueError(
            "estimator 'importance' needs draws with replacement (draw_probability in the design, "
            "draw_count in the judgments); make the design with be.designs.with_replacement"
        )
    judged = ~np.isnan(topic.grade)
    begun = judged.any(axis=1, keepdims=True)  # a topic without any judgment is not judged yet
    drawn = (topic.draw_count > 0) & begun
    if (drawn & (topic.draw_probability <= 0)).any():
        raise ValueError("a drawn document has draw probability 0; it must be above 0")
    lacking = drawn & ~judged
    if lacking.any():
        raise ValueError(
            f"{int(lacking.any(axis=0).sum())} drawn documents of a topic have no grade; the "
            "estimates need the grade of every drawn document"
        )
    rows = np.flatnonzero(topic.draw_probability > 0)
    position = row_of_pair(rows, drawn.shape[1])[topic.top(measure.cutoff)]
    drawn = drawn[:, rows]
    value = np.where(drawn, relevance(measure, topic.grade[:, rows]), 0.0)
    return Draws(
        position=position,
        probability=topic.draw_probability[rows],
        count=np.ascontiguousarray(np.where(drawn, topic.draw_count[:, rows], 0).T),
        value=np.ascontiguousarray(value.T, dtype=np.float64),
    )


def freedom(number, variance) -> NDArray[np.float64]:
    """Degrees of freedom of such a variance: one less than the draws; infinite where it is 0."""
    return np.where(variance > 0, np.maximum(number - 1.0, 1.0), np.inf)


def mean_and_variance(number, total, squares) -> tuple:
    """Mean of independent terms and the unbiased variance of that mean; NaN where too few."""
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = np.where(number >= 1, total / number, np.nan)
        spread = np.maximum(squares - number * mean**2, 0.0)
        variance = np.where(number >= 2, spread / (number * (number - 1.0)), np.nan)
    return mean, variance


def check_options(conditioning: str, ratio: str) -> None:
    """Refuse a value that an option does not have, and list those it has."""
    for name, value in (("conditioning", conditioning), ("ratio", ratio)):
        if value not in OPTIONS[name]:
            raise ValueError(f"{name} must be one of {', '.join(OPTIONS[name])}, not {value!r}")
