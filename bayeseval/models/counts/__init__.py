"""How many documents of a topic are relevant, from the counts of all topics, in PyMC."""

from bayeseval.models.counts.builder import count_model
from bayeseval.models.counts.draws import relevant_numbers

__all__ = ["count_model", "relevant_numbers"]
