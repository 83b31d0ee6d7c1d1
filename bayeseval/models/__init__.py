"""Bayesian models in PyMC: one function each, generative, fitted by ``bayeseval.fit``."""

from bayeseval.models.relevance import grade_model, relevance_model
from bayeseval.models.urn import urn_model

__all__ = [
    "grade_model",
    "relevance_model",
    "urn_model",
]
