"""Importance sampling from draws with replacement (Aslam, Pavlu and Yilmaz 2006)."""

from bayeseval.estimators.importance.average_precision import (
    IMPORTANCE,
    importance_average_precision,
    importance_sum_of_precisions,
)
from bayeseval.estimators.importance.linear import (
    importance_linear,
    importance_r_precision,
    importance_relevant_count,
)

__all__ = [
    "IMPORTANCE",
    "importance_average_precision",
    "importance_linear",
    "importance_r_precision",
    "importance_relevant_count",
    "importance_sum_of_precisions",
]
