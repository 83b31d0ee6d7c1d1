"""Public names, and where they are; `__init__.py` imports each when it is first used."""

from . import (
    designs,
    experiments,
    inference,
    models,
    plots,
    posterior,
    predictors,
    rankings,
    report,
    simulate,
)
from .adjustment import adjust_by_topics, adjust_scores
from .collection import open_collection, save_collection, select
from .combination import (
    combine,
    combined_scores,
    compare_intervals,
    with_model_errors,
)
from .comparison import compare
from .designs import attach_judgments, draw, read_design, reveal, save_design
from .evaluation import (
    covariance,
    evaluate,
    label_agreement,
    mean_over_topics,
)
from .experiments import dual_runs
from .inference import (
    diagnostic_plots,
    fit,
    log_likelihood,
    open_fit,
    save_fit,
    verdict,
)
from .models.urn.estimate import urn_estimate
from .planning import plan
from .posterior import posterior_scores, summarize
from .residual import rbp_bounds, rbp_uncertainty, rbp_uncertainty_cdf
from .tidy import to_frame
from .trec import (
    add_predictions,
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

__version__: str

__all__ = [
    "add_predictions",
    "add_runs",
    "adjust_by_topics",
    "adjust_scores",
    "attach_judgments",
    "combine",
    "combined_scores",
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
    "log_likelihood",
    "mean_over_topics",
    "models",
    "open_collection",
    "open_fit",
    "plan",
    "plots",
    "posterior",
    "posterior_scores",
    "predictors",
    "qrels_frame",
    "rbp_bounds",
    "rbp_uncertainty",
    "rbp_uncertainty_cdf",
    "rankings",
    "read_collection",
    "read_design",
    "report",
    "reveal",
    "runs_frame",
    "save_collection",
    "save_design",
    "save_fit",
    "select",
    "simulate",
    "summarize",
    "to_frame",
    "urn_estimate",
    "verdict",
    "with_model_errors",
    "write_prels",
    "write_probs",
    "write_qrels",
    "write_run",
    "write_sampleval",
]
