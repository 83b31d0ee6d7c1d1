"""Evaluation: scores, means over topics, covariances and differences of runs."""

from bayeseval.evaluation.covariance import covariance, means_with_covariance
from bayeseval.evaluation.differences import (
    compared_pairs,
    default_population,
    differences,
    differences_of_scores,
)
from bayeseval.evaluation.label_agreement import label_agreement
from bayeseval.evaluation.means import mean_over_topics
from bayeseval.evaluation.score_tables import read_scores, scores_by_topic
from bayeseval.evaluation.scores import evaluate

__all__ = [
    "compared_pairs",
    "covariance",
    "default_population",
    "differences",
    "differences_of_scores",
    "evaluate",
    "label_agreement",
    "mean_over_topics",
    "means_with_covariance",
    "read_scores",
    "scores_by_topic",
]
