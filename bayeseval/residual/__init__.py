"""Rank-biased precision and its residual: bounds, moments and distribution of what is unjudged."""

from bayeseval.residual.bounds import rbp_bounds
from bayeseval.residual.cdf import rbp_uncertainty_cdf
from bayeseval.residual.uncertainty import rbp_uncertainty

__all__ = ["rbp_bounds", "rbp_uncertainty", "rbp_uncertainty_cdf"]
