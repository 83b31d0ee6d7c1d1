"""Estimators: what was seen becomes an estimated relevance per document."""

from bayeseval.estimators.registry import ESTIMATORS, estimated_relevance

__all__ = ["ESTIMATORS", "estimated_relevance"]
