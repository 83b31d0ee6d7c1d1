"""The number of relevant documents of a topic, from the counts of all topics."""

from bayeseval.estimators.counts.denominator import TopicCounts, ideal_counts, number_counts
from bayeseval.estimators.counts.posterior import CountModel, LevelCounts

__all__ = ["CountModel", "LevelCounts", "TopicCounts", "ideal_counts", "number_counts"]
