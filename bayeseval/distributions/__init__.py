"""Wallenius' urn: moments, likelihood, and PyMC distributions; PyMC loads when one is used."""

from bayeseval.distributions.urn_moments import simulated_urn_means, urn_moments
from bayeseval.distributions.wallenius_count import wallenius_count
from bayeseval.distributions.wallenius_moments import wallenius_sequence_moments
from bayeseval.distributions.wallenius_sequence import wallenius_sequence
from bayeseval.distributions.wallenius_unjudged import wallenius_unjudged

__all__ = [
    "simulated_urn_means",
    "urn_moments",
    "wallenius_count",
    "wallenius_sequence",
    "wallenius_sequence_moments",
    "wallenius_unjudged",
]
