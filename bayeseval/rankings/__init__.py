"""Orders of systems: how biased and how sure they are."""

from bayeseval.rankings.bias_variance import bias_variance
from bayeseval.rankings.bootstrap import bootstrap_scores
from bayeseval.rankings.similarity import rank_similarity

__all__ = ["bias_variance", "bootstrap_scores", "rank_similarity"]
