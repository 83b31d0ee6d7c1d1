"""The urn of Park: a hierarchical model of runs and topics, and its likelihood maximised."""

from bayeseval.models.urn.builder import urn_model
from bayeseval.models.urn.estimate import urn_estimate

__all__ = ["urn_estimate", "urn_model"]
