"""Simulated collections: made from the urn model, or the one that the package ships."""

from bayeseval.simulate.noise import top_documents, urn_noise
from bayeseval.simulate.shipped import demo_collection, packed, unpacked
from bayeseval.simulate.urn import urn_collection

__all__ = [
    "demo_collection",
    "packed",
    "top_documents",
    "unpacked",
    "urn_collection",
    "urn_noise",
]
