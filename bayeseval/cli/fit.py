"""`bayeseval fit`: posterior scores of runs from a model of relevance, with its diagnostics."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

import bayeseval as be
from bayeseval.cli.fit_checks import (
    check_cut,
    check_depths,
    check_frame,
    check_level,
    check_model,
    check_output,
)
from bayeseval.cli.fit_remarks import (
    remark_frame,
    remark_outside_weight,
    remark_urn,
    remark_verdict,
)
from bayeseval.cli.judged import check_measures, input_files, judged_collection
from bayeseval.cli.options import (
    CiProb,
    Depth,
    DesignRead,
    Measures,
    OnDuplicate,
    Population,
    Qrels,
    QrelsFormat,
    RelevanceLevel,
    Runs,
    ScoreType,
    Seed,
    chosen_seed,
)
from bayeseval.cli.output import remark, working, write_result
from bayeseval.cli.remarks import remark_depth, remark_lacking
from bayeseval.cli.tables import FORMATS, as_csv, score_rows
from bayeseval.cli.wording import counted

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr


Model = Annotated[
    Literal["relevance", "grades", "urn"],
    typer.Option(
        help="Of relevance from --relevance-level on, of all grades (for nDCG), or of how runs "
        "judged to --pool-depth draw their documents (for P@k and RBP)."
    ),
]
JudgedDepth = Annotated[
    int | None,
    typer.Option(
        min=1, help="Ranks of every run that are judged; with --model urn.", show_default="none"
    ),
]
Draws = Annotated[int, typer.Option(min=4, help="Draws kept of each chain.")]
Tune = Annotated[int, typer.Option(min=1, help="Steps of adaptation of each chain.")]
Chains = Annotated[int, typer.Option(min=2, help="Chains; two or more can be compared.")]
Approximation = Annotated[
    Literal["laplace"] | None,
    typer.Option(help="Seconds instead of minutes, without a verdict; --model relevance only."),
]
Folder = Annotated[
    Path, typer.Option(help="Folder for fit.nc, scores.csv, scores.json and the plots.")
]
Plots = Annotated[bool, typer.Option("--plots/--no-plots", help="Whether to draw plots.")]
OutsideModel = Annotated[
    Literal["nonrelevant", "model"],
    typer.Option(help="Documents outside the frame: not relevant, or as the model says."),
]
FitFormat = Annotated[Literal["table", "csv", "json"], typer.Option(help="How to write scores.")]
BROKEN = 1


def fit(
    qrels: Qrels,
    runs: Runs,
    measure: Measures,
    model: Model = "relevance",
    qrels_format: QrelsFormat = "qrels",
    design: DesignRead = None,
    pool_depth: JudgedDepth = None,
    draws: Draws = 1000,
    tune: Tune = 500,
    chains: Chains = 4,
    approximation: Approximation = None,
    seed: Seed = None,
    ci_prob: CiProb = 0.9,
    population: Population = "sample",
    outside: OutsideModel = "nonrelevant",
    relevance_level: RelevanceLevel = 1,
    depth: Depth = None,
    on_duplicate: OnDuplicate = "error",
    score_type: ScoreType = "float64",
    output: Folder = Path("fit-output"),
    plots: Plots = True,
    format: FitFormat = "table",
) -> None:
    """Fit a model to the judgments in QRELS, and score RUNs by its posterior.

    CSV columns as of evaluate: estimate is the posterior mean, standard_error the posterior
    standard deviation. A sampler that did not pass is warned of (exit code 0: what it found is
    written, and the JSON says `passed`); one that broke writes nothing (exit code 1).
    """
    check_output(output, ci_prob, input_files([qrels], runs, [design]))
    check_model(model, approximation, relevance_level)
    check_measures(measure, relevance_level)
    check_depths(model, pool_depth, depth)
    check_frame(model, qrels_format, outside)
    seed = chosen_seed(seed)
    collection = judged_collection(
        qrels,
        runs,
        design,
        qrels_format=qrels_format,
        depth=depth,
        on_duplicate=on_duplicate,
        score_type=score_type,
    )
    check_cut(collection, measure, depth)
    remark_depth(collection, depth)
    asked = {"measures": measure, "outside": outside, "population": population}
    with working("making the model"):
        made = _made(collection, model, relevance_level, pool_depth)
        _rehearse(made, collection, asked)
    check_level(collection, model, relevance_level)
    if pool_depth is not None:
        remark_urn(collection, made, depth, pool_depth)
    else:
        remark_frame(collection, made, outside)
    remark_lacking(collection, None, zero=True)
    how = {"draws": draws, "tune": tune, "chains": chains, "approximation": approximation}
    fitted = _fitted(made, how, seed)
    post = be.posterior_scores(fitted, collection, **asked, random_seed=seed)
    summary = be.summarize(post, ci_prob=ci_prob)
    found = None if approximation else be.verdict(fitted)
    remark_outside_weight(summary)
    remark_verdict(found, output)
    _write(fitted, _rows(summary, collection), _about(summary, found, seed), output, format)
    options = {"scores": post, "ci_prob": ci_prob, "random_seed": seed}
    paths = be.diagnostic_plots(fitted, output, model=made, **options) if plots else []
    written = f"fit.nc, scores.csv, scores.json and {counted(len(paths), 'plot')}"
    remark(f"{written} in {output}, seed {seed}")


def _made(collection: xr.DataTree, model: str, relevance_level: int, pool_depth: int | None):
    """The model of that name."""
    if model == "grades":
        return be.models.grade_model(collection)
    if pool_depth is None:
        return be.models.relevance_model(collection, relevance_level=relevance_level)
    return be.models.urn_model(
        collection, depth=pool_depth, frame="retrieved", relevance_level=relevance_level
    )


def _rehearse(made, collection: xr.DataTree, asked: dict[str, Any]) -> None:
    """Score one draw of the prior: what cannot be scored is refused before minutes of sampling."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            prior = be.inference.prior_fit(made, draws=1, random_seed=1)
            be.posterior_scores(prior, collection, **asked, random_seed=1)
    except ValueError as error:
        text = str(error).replace("fit be.models.grade_model for it", "choose --model grades")
        raise ValueError(text.replace("fit be.models.grade_model", "choose --model grades")) from (
            error
        )


def _fitted(made, how: dict[str, Any], seed: int) -> xr.DataTree:
    """The fit; its verdict is told later, and a broken sampler in one sentence."""
    if sys.stderr.isatty() and not how["approximation"]:
        remark("compiling the model, which may take a minute, then sampling")
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="the sampler did not pass")
            return be.fit(made, **how, random_seed=seed)
    except RuntimeError as error:
        remark(f"{' '.join(str(error).split())}; nothing is written")
        raise typer.Exit(BROKEN) from error


def _rows(summary: xr.Dataset, collection: xr.DataTree) -> pd.DataFrame:
    """Rows of the means over topics, with how many topics were judged."""
    import xarray as xr

    judged = collection["judgments/grade"].notnull().to_numpy()
    n_topics = len(set(collection["pair_topic"].to_numpy()[judged].tolist()))
    counts = {
        name: xr.full_like(summary["estimate"], value, dtype=int)
        for name, value in (("n_topics", n_topics), ("n_limited", 0))
    }
    return score_rows(summary.assign(counts)).drop(columns="n_limited")


def _about(summary: xr.Dataset, found: xr.Dataset | None, seed: int) -> dict[str, Any]:
    """What was asked, and what the sampler's checks gave."""
    facts = ("estimator", "population", "outside", "ci_prob")
    about = {name: summary.attrs[name] for name in facts} | {"seed": seed}
    if found is None:
        return about | {"approximation": "laplace"}
    values = found["value"].to_series().to_dict()
    return about | {"passed": bool(found["passed"].all()), "verdict": values}


def _write(fitted, rows: pd.DataFrame, about: dict[str, Any], output: Path, format: str) -> None:
    """Write the fit and the scores into the folder, and the scores to stdout."""
    output.mkdir(parents=True, exist_ok=True)
    be.save_fit(fitted, output / "fit.nc")
    write_result(as_csv(rows, {}), output / "scores.csv")
    write_result(FORMATS["json"](rows, about), output / "scores.json")
    write_result(FORMATS[format](rows, about), None)
