"""Fitting a model, the verdict on it and on its sampler, comparing models, and fits on disk."""

from bayeseval.inference.diagnostics import diagnostic_plots
from bayeseval.inference.judgments import predicted_judgments
from bayeseval.inference.likelihood import log_likelihood
from bayeseval.inference.predictive import predictive_draws, prior_fit, prior_overlap
from bayeseval.inference.sampling import SamplerWarning, fit
from bayeseval.inference.storage import open_fit, save_fit
from bayeseval.inference.verdict import judgments_verdict, verdict, verdict_text

__all__ = [
    "SamplerWarning",
    "diagnostic_plots",
    "fit",
    "judgments_verdict",
    "log_likelihood",
    "open_fit",
    "predicted_judgments",
    "predictive_draws",
    "prior_fit",
    "prior_overlap",
    "save_fit",
    "verdict",
    "verdict_text",
]
