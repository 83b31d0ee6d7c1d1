"""Design and model combined: one estimate, one interval; and the three side by side."""

from bayeseval.combination.combine import combine
from bayeseval.combination.intervals import UNLIKE, compare_intervals
from bayeseval.combination.model_errors import with_model_errors
from bayeseval.combination.scores import N_CHAINS, Combination

__all__ = [
    "N_CHAINS",
    "UNLIKE",
    "Combination",
    "combine",
    "compare_intervals",
    "with_model_errors",
]
