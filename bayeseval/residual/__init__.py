"""Rank-biased precision when documents are unjudged, and the urn that predicts their relevance.

`rbp_bounds` has what the unjudged documents can make of a score (Moffat and Zobel 2008);
`rbp_uncertainty` and `rbp_uncertainty_cdf` have its mean, interval and distribution when each is
relevant with a given probability (Park 2016); `urn_estimate` estimates that probability, and the
relevance ratio of each run, from the judged tops of the runs.
"""

from bayeseval.models.urn.estimate import urn_estimate
from bayeseval.residual.rank_biased_precision import (
    rbp_bounds,
    rbp_uncertainty,
    rbp_uncertainty_cdf,
)

__all__ = ["rbp_bounds", "rbp_uncertainty", "rbp_uncertainty_cdf", "urn_estimate"]
