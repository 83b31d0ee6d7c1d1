"""Bayesian models in PyMC: one function each, generative, fitted by ``bayeseval.fit``."""

from bayeseval.models.counts import count_model, relevant_numbers
from bayeseval.models.relevance import grade_model, relevance_model
from bayeseval.models.urn import urn_model

__all__ = [
    "count_model",
    "grade_model",
    "relevance_model",
    "relevant_numbers",
    "urn_model",
]
