"""Design and model combined: one estimate, one interval; and the three side by side."""

from bayeseval.combination.combine import combine
from bayeseval.combination.intervals import UNLIKE, compare_intervals
from bayeseval.combination.model_errors import with_model_errors
from bayeseval.combination.scores import N_CHAINS, Combination, combined_scores

__all__ = [
    "N_CHAINS",
    "UNLIKE",
    "Combination",
    "combine",
    "combined_scores",
    "compare_intervals",
    "with_model_errors",
]
