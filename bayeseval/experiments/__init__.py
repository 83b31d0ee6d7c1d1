"""Experiments: replicated sampling, dual runs, the papers' tables."""

from bayeseval.experiments.comparison import comparison
from bayeseval.experiments.dual import dual_runs
from bayeseval.experiments.error import error_summary
from bayeseval.experiments.pool_width import pool_width_errors, sampled_pools
from bayeseval.experiments.replicate import replicate

__all__ = [
    "comparison",
    "dual_runs",
    "error_summary",
    "pool_width_errors",
    "replicate",
    "sampled_pools",
]
