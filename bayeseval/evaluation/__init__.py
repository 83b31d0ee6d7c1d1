"""Evaluation: scores, means over topics, covariances and differences of runs."""

from bayeseval.evaluation.covariance import covariance, means_with_covariance
from bayeseval.evaluation.differences import compared_pairs, default_population, differences
from bayeseval.evaluation.label_agreement import label_agreement
from bayeseval.evaluation.means import mean_over_topics
from bayeseval.evaluation.scores import evaluate

__all__ = [
    "compared_pairs",
    "covariance",
    "default_population",
    "differences",
    "evaluate",
    "label_agreement",
    "mean_over_topics",
    "means_with_covariance",
]
