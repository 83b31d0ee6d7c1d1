"""Search evaluation with error bars when only some documents are judged."""

from bayeseval import (
    designs,
    experiments,
    inference,
    models,
    plots,
    posterior,
    predictors,
    simulate,
)
from bayeseval.adjustment import adjust_by_topics, adjust_scores
from bayeseval.collection import open_collection, save_collection, select
from bayeseval.designs import attach_judgments, draw, read_design, reveal, save_design
from bayeseval.evaluation import covariance, evaluate, mean_over_topics, paired_difference
from bayeseval.experiments import dual_runs
from bayeseval.inference import (
    diagnostic_plots,
    fit,
    log_likelihood,
    open_fit,
    save_fit,
    verdict,
)
from bayeseval.models.urn.estimate import urn_estimate
from bayeseval.posterior import posterior_scores, summarize
from bayeseval.residual import rbp_bounds, rbp_uncertainty, rbp_uncertainty_cdf
from bayeseval.trec import (
    add_runs,
    qrels_frame,
    read_collection,
    runs_frame,
    write_prels,
    write_probs,
    write_qrels,
    write_run,
    write_sampleval,
)

__all__ = [
    "add_runs",
    "adjust_by_topics",
    "adjust_scores",
    "attach_judgments",
    "covariance",
    "designs",
    "diagnostic_plots",
    "draw",
    "dual_runs",
    "evaluate",
    "experiments",
    "fit",
    "inference",
    "log_likelihood",
    "mean_over_topics",
    "models",
    "open_collection",
    "open_fit",
    "paired_difference",
    "plots",
    "posterior",
    "posterior_scores",
    "predictors",
    "qrels_frame",
    "rbp_bounds",
    "rbp_uncertainty",
    "rbp_uncertainty_cdf",
    "read_collection",
    "read_design",
    "reveal",
    "runs_frame",
    "save_collection",
    "save_design",
    "save_fit",
    "select",
    "simulate",
    "summarize",
    "urn_estimate",
    "verdict",
    "write_prels",
    "write_probs",
    "write_qrels",
    "write_run",
    "write_sampleval",
]
