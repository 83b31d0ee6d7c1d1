"""The number of relevant documents of a topic, from the counts of all topics."""

from bayeseval.estimators.counts.fit import CountsMisfit
from bayeseval.estimators.counts.posterior import (
    CountModel,
    TopicCounts,
    ideal_counts,
    number_counts,
)

__all__ = [
    "CountModel",
    "CountsMisfit",
    "TopicCounts",
    "ideal_counts",
    "number_counts",
]
