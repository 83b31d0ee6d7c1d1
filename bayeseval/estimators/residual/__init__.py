"""Rank-biased precision and its residual: bounds, moments and distribution of what is unjudged."""

from bayeseval.estimators.residual.bounds import rbp_bounds
from bayeseval.estimators.residual.cdf import rbp_uncertainty_cdf
from bayeseval.estimators.residual.uncertainty import rbp_uncertainty

__all__ = ["rbp_bounds", "rbp_uncertainty", "rbp_uncertainty_cdf"]
