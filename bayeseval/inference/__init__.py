"""Fitting a model, the verdict on its sampler, and fits on disk."""

from bayeseval.inference.sampling import fit
from bayeseval.inference.storage import open_fit, save_fit
from bayeseval.inference.verdict import verdict, verdict_text

__all__ = ["fit", "open_fit", "save_fit", "verdict", "verdict_text"]
