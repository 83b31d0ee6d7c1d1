"""Adjustment of the scores of runs that did not contribute to the pool (Webber and Park 2009).

`adjust_scores` adjusts the runs of a collection, by the runs of the pool or by topics on which the
documents of the new runs were judged too; `adjust_by_topics` is the second of these for any two
tables of scores.
"""

from bayeseval.adjustment.algorithms import adjust_by_topics
from bayeseval.adjustment.scores import adjust_scores

__all__ = ["adjust_by_topics", "adjust_scores"]
