"""Rankings of systems: their bias and variance, and which ranks are possible."""

from bayeseval.rankings.bias_variance import bias_variance
from bayeseval.rankings.bootstrap import bootstrap_scores
from bayeseval.rankings.comparisons import compare_draws
from bayeseval.rankings.rank_probabilities import rank_probabilities
from bayeseval.rankings.rank_sets import rank_sets
from bayeseval.rankings.similarity import rank_similarity

__all__ = [
    "bias_variance",
    "bootstrap_scores",
    "compare_draws",
    "rank_probabilities",
    "rank_sets",
    "rank_similarity",
]
