"""Distributions for PyMC models; PyMC loads when one is used."""

from bayeseval.distributions.wallenius_count import wallenius_count

__all__ = ["wallenius_count"]
