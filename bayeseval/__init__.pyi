"""Public names, and where they are; `__init__.py` imports each when it is first used."""

from . import (
    adjustment,
    designs,
    experiments,
    inference,
    models,
    plots,
    posterior,
    predictors,
    rankings,
    residual,
    simulate,
    trec,
)
from .adjustment import adjust_scores
from .answers import compare, rank, scores
from .collection import open_collection, save_collection, select
from .combination import combine, compare_intervals, with_model_errors
from .designs import attach_judgments, draw, read_design, reveal, save_design
from .evaluation import covariance, evaluate, label_agreement, mean_over_topics, read_scores
from .experiments import dual_runs
from .inference import diagnostic_plots, fit, open_fit, save_fit, verdict
from .measures.own import measure
from .planning import plan
from .posterior import posterior_scores, summarize
from .reporting import about, report
from .tidy import to_frame
from .trec import add_predictions, add_runs, read_collection

__version__: str

__all__ = [
    "about",
    "add_predictions",
    "add_runs",
    "adjust_scores",
    "adjustment",
    "attach_judgments",
    "combine",
    "compare",
    "compare_intervals",
    "covariance",
    "designs",
    "diagnostic_plots",
    "draw",
    "dual_runs",
    "evaluate",
    "experiments",
    "fit",
    "inference",
    "label_agreement",
    "mean_over_topics",
    "measure",
    "models",
    "open_collection",
    "open_fit",
    "plan",
    "plots",
    "posterior",
    "posterior_scores",
    "predictors",
    "rank",
    "rankings",
    "read_collection",
    "read_design",
    "read_scores",
    "report",
    "residual",
    "reveal",
    "save_collection",
    "save_design",
    "save_fit",
    "scores",
    "select",
    "simulate",
    "summarize",
    "to_frame",
    "trec",
    "verdict",
    "with_model_errors",
]
