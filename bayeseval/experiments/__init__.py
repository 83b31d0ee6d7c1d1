"""Experiments: replicated sampling, dual runs, the papers' tables."""

from bayeseval.experiments.comparison import comparison
from bayeseval.experiments.dual import dual_runs
from bayeseval.experiments.replicate import error_summary, replicate

__all__ = [
    "comparison",
    "dual_runs",
    "error_summary",
    "replicate",
]
