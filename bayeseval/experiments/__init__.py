"""Experiments: replicated sampling, dual runs, the papers' tables."""

from bayeseval.experiments.calibration import simulation_based_calibration
from bayeseval.experiments.calibration_fits import RepeatedFits
from bayeseval.experiments.calibration_recovery import recovery
from bayeseval.experiments.calibration_studies import prior_predictive, prior_truth, relevance_study
from bayeseval.experiments.calibration_uniformity import plot_ranks, rank_band, rank_uniformity
from bayeseval.experiments.comparison import comparison
from bayeseval.experiments.dual import dual_runs
from bayeseval.experiments.pool_width import pool_width_errors, sampled_pools
from bayeseval.experiments.replicate import error_summary, replicate

__all__ = [
    "RepeatedFits",
    "comparison",
    "dual_runs",
    "error_summary",
    "plot_ranks",
    "pool_width_errors",
    "prior_predictive",
    "prior_truth",
    "rank_band",
    "rank_uniformity",
    "recovery",
    "relevance_study",
    "replicate",
    "sampled_pools",
    "simulation_based_calibration",
]
