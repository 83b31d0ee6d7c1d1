"""Sampled relevances of one topic, each divided by its inclusion probability."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bayeseval.collection.labels import row_of_pair
from bayeseval.frame.lists import TopicLists
from bayeseval.measures.measure import Measure, relevance


@dataclass(frozen=True, eq=False)
class ExpandedSample:
    """Documents of one topic that some replicate sampled.

    Parameters
    ----------
    position : int32 array (run, rank)
        Sampled document at each rank, -1 for another or none.
    value : float array (document, replicate)
        1 / inclusion probability where sampled and relevant, 0 elsewhere.
    sampled : bool array (document, replicate)
    probability : float array (document,)
        Inclusion probability.
    """

    position: NDArray[np.int32]
    value: NDArray[np.float64]
    sampled: NDArray[np.bool_]
    probability: NDArray[np.float64]

    @property
    def n_sampled(self) -> NDArray[np.int64]:
        """Number of sampled documents, (replicate,)."""
        return self.sampled.sum(axis=0)

    @property
    def count(self) -> NDArray[np.float64]:
        """Estimated number of relevant documents, NaN where none was sampled, (replicate,)."""
        count = self.value.sum(axis=0)
        return np.where(count > 0, count, np.nan)


def expanded_sample(measure: Measure, topic: TopicLists) -> ExpandedSample:
    """Sampled relevances of a topic, expanded; the lists are cut at the measure's cutoff.

    Raises
    ------
    ValueError
        No design, or a judged document without an inclusion probability in (0, 1].
    """
    if topic.inclusion_probability is None:
        raise ValueError(
            "statAP needs a design with the inclusion probability of every judged document"
        )
    somewhere = ~np.isnan(topic.grade).all(axis=0)
    probability = topic.inclusion_probability
    wrong = np.flatnonzero(somewhere & ~((probability > 0) & (probability <= 1)))
    if wrong.size:
        raise ValueError(
            f"{wrong.size} judged documents have no inclusion probability in (0, 1], the first is "
            f"pair {wrong[0]} of its topic with {probability[wrong[0]]}; statAP needs one for each"
        )
    pairs = np.flatnonzero(somewhere)
    relevances = relevance(measure, topic.grade[:, pairs]).T
    expanded = np.nan_to_num(relevances) / probability[pairs, None]
    return ExpandedSample(
        position=row_of_pair(pairs, somewhere.size)[topic.top(measure.cutoff)],
        value=np.ascontiguousarray(expanded),
        sampled=np.ascontiguousarray(~np.isnan(relevances)),
        probability=probability[pairs],
    )
