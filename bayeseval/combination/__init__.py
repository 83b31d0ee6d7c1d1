"""Design and model combined: one estimate, one interval."""

from bayeseval.combination.combine import combine

__all__ = ["combine"]
