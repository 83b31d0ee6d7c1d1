"""Evaluation: scores, means over topics, covariances and paired differences."""

from bayeseval.evaluation.means import mean_over_topics
from bayeseval.evaluation.pairs import covariance, paired_difference
from bayeseval.evaluation.scores import evaluate

__all__ = ["covariance", "evaluate", "mean_over_topics", "paired_difference"]
