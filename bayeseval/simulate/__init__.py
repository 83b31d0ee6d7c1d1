"""Simulated collections: made from the urn model, or the one that the package ships."""

from bayeseval.simulate.shipped import demo_collection
from bayeseval.simulate.urn import urn_collection

__all__ = ["demo_collection", "urn_collection"]
