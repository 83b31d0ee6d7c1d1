"""Simulated collections: made from the urn model, or the one that the package ships."""

from bayeseval.simulate.urn import demo_collection, urn_collection

__all__ = ["demo_collection", "urn_collection"]
