"""Inferred measures from stratified judgments: infAP, xinfAP, infNDCG, inferred P@k."""

from bayeseval.estimators.inferred.counts import (
    inferred_interpolated_precision,
    inferred_number_relevant,
    inferred_number_retrieved,
    inferred_precision,
)
from bayeseval.estimators.inferred.ratios import (
    INFERRED,
    inferred_average_precision,
    inferred_ndcg,
)

__all__ = [
    "INFERRED",
    "inferred_average_precision",
    "inferred_interpolated_precision",
    "inferred_ndcg",
    "inferred_number_relevant",
    "inferred_number_retrieved",
    "inferred_precision",
]
