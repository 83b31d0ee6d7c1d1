"""Hierarchical logistic models of relevance and of grades."""

from bayeseval.models.relevance.builder import relevance_model
from bayeseval.models.relevance.grades import grade_model

__all__ = ["grade_model", "relevance_model"]
