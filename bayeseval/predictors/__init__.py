"""Predictors M(d): probability that a frame document is relevant, learned without its stratum."""

from bayeseval.predictors.constant import constant
from bayeseval.predictors.external import external, recalibrated
from bayeseval.predictors.pooled import pooled
from bayeseval.predictors.rank_logistic import rank_logistic
from bayeseval.predictors.registry import (
    PREDICTORS,
    needs_column,
    predicted_relevance,
    reads_columns,
)

__all__ = [
    "PREDICTORS",
    "constant",
    "external",
    "needs_column",
    "pooled",
    "predicted_relevance",
    "rank_logistic",
    "reads_columns",
    "recalibrated",
]
