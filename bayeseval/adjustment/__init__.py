"""Adjustment of the scores of runs that did not contribute to the pool (Webber and Park 2009)."""

from bayeseval.adjustment.common_topics import adjust_by_topics
from bayeseval.adjustment.scores import adjust_scores

__all__ = ["adjust_by_topics", "adjust_scores"]
