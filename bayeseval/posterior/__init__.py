"""From posterior draws of relevance to posterior scores of runs, and their summaries."""

from bayeseval.posterior.scores import posterior_scores
from bayeseval.posterior.summary import summarize

__all__ = ["posterior_scores", "summarize"]
