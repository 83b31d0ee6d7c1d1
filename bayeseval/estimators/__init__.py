"""Estimators: what was seen becomes an estimated relevance per document."""

from bayeseval.estimators.registry import (
    ESTIMATORS,
    HAS_COVARIANCE,
    WITHOUT_DESIGN,
    check_estimable,
    check_known,
    checked_options,
)

__all__ = [
    "ESTIMATORS",
    "HAS_COVARIANCE",
    "WITHOUT_DESIGN",
    "check_estimable",
    "check_known",
    "checked_options",
]
