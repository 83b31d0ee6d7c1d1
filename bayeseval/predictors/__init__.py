"""Predictors M(d): probability that a frame document is relevant, learned without its stratum."""

from bayeseval.predictors.cross_fitting import constant, rank_logistic
from bayeseval.predictors.external import external, recalibrated
from bayeseval.predictors.pooled import pooled
from bayeseval.predictors.registry import PREDICTORS, predicted_relevance

__all__ = [
    "PREDICTORS",
    "constant",
    "external",
    "pooled",
    "predicted_relevance",
    "rank_logistic",
    "recalibrated",
]
