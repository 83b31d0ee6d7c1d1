"""Wallenius' urn as PyMC distributions, of counts and of sequences; PyMC loads when one is used."""

from bayeseval.distributions.wallenius_count import wallenius_count
from bayeseval.distributions.wallenius_sequence import wallenius_sequence

__all__ = ["wallenius_count", "wallenius_sequence"]
