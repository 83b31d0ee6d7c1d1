"""Model of true scores, from a design's estimates and another model's posterior."""

from bayeseval.models.score.builder import score_model

__all__ = ["score_model"]
