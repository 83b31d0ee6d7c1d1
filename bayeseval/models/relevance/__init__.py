"""Hierarchical logistic models of relevance and of grades."""

from bayeseval.models.relevance.builder import grade_model, relevance_model

__all__ = ["grade_model", "relevance_model"]
