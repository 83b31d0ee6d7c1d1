"""`bayeseval fit`: posterior scores of runs from a model of relevance, with its diagnostics."""

import os
import sys
import warnings
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import pandas as pd
import typer
import xarray as xr

import bayeseval as be
from bayeseval.cli.judged import judged_collection
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
    check_seed,
)
from bayeseval.cli.output import remark, working, write_result, written_whole
from bayeseval.cli.remarks import cut_measures, remark_lacking
from bayeseval.cli.tables import FORMATS, as_csv, score_rows
from bayeseval.cli.wording import counted
from bayeseval.inference import prior_fit, verdict_text

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
EXACT = 1e-9  # standard errors below are rounding
MODELS = {
    "relevance": be.models.relevance_model,
    "grades": be.models.grade_model,
    "urn": be.models.urn_model,
}


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
    depth: Depth = 1000,
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
    _check_options(output, relevance_level, ci_prob)
    _check_model(model, approximation, relevance_level, pool_depth)
    if model == "urn":
        _check_urn(qrels_format, outside, depth, pool_depth)
    _check_frame(qrels_format, outside)
    seed = int(np.random.SeedSequence().generate_state(1)[0]) if seed is None else seed
    check_seed(seed)
    collection = judged_collection(
        qrels,
        runs,
        design,
        qrels_format=qrels_format,
        depth=depth,
        on_duplicate=on_duplicate,
        score_type=score_type,
    )
    _check_cut(collection, measure, depth)
    special = {} if model == "grades" else {"relevance_level": relevance_level}
    if model == "urn":
        special |= {"depth": pool_depth, "frame": "retrieved"}
    asked = {"measures": measure, "outside": outside, "population": population}
    with working("making the model"):
        made = MODELS[model](collection, **special)
        _rehearse(made, collection, asked)
    _check_level(collection, model, relevance_level)
    if model == "urn":
        _remark_urn(collection, made, depth, pool_depth)
    else:
        _remark_frame(collection, made, outside)
    remark_lacking(collection, np.zeros(collection.sizes["topic"], dtype=bool), zero=True)
    how = {"draws": draws, "tune": tune, "chains": chains, "approximation": approximation}
    fitted = _fitted(made, how, seed)
    post = be.posterior_scores(fitted, collection, **asked, random_seed=seed)
    summary = be.summarize(post, ci_prob=ci_prob)
    found = None if approximation else be.verdict(fitted)
    _remark_outside_weight(summary)
    _remark_verdict(found, output)
    rows = _rows(summary, collection)
    output.mkdir(parents=True, exist_ok=True)
    with written_whole(output / "fit.nc") as unfinished:
        be.save_fit(fitted, unfinished)
    write_result(as_csv(rows, {}), output / "scores.csv")
    about = _about(summary, found, seed)
    write_result(FORMATS["json"](rows, about), output / "scores.json")
    write_result(FORMATS[format](rows, about), None)
    options = {"scores": post, "ci_prob": ci_prob, "random_seed": seed}
    paths = be.diagnostic_plots(fitted, output, model=made, **options) if plots else []
    written = f"fit.nc, scores.csv, scores.json and {counted(len(paths), 'plot')}"
    remark(f"{written} in {output}, seed {seed}")


def _check_options(output, relevance_level: int, ci_prob) -> None:
    """Refuse before the work what could only fail after it."""
    above = next(folder for folder in (output, *output.absolute().parents) if folder.exists())
    if not above.is_dir():
        raise ValueError(f"{above} is a file; --output names a folder to write into")
    if not os.access(above, os.W_OK):
        raise ValueError(f"the folder {above} cannot be written; name another --output")
    if relevance_level < 1:
        raise ValueError(f"--relevance-level must be 1 or more, not {relevance_level}")
    if not 0 < ci_prob < 1:
        raise ValueError(f"--ci-prob must be between 0 and 1, not {ci_prob}")


def _check_model(model: str, approximation, relevance_level: int, pool_depth) -> None:
    """Refuse options that the model lacks, or an urn without its depth."""
    if approximation and model != "relevance":
        raise ValueError(f"--approximation {approximation} goes with --model relevance only")
    if model == "grades" and relevance_level != 1:
        raise ValueError(
            "--relevance-level does not go with --model grades: there a measure names its level, "
            f"such as P(rel={relevance_level})@10"
        )
    if model == "urn" and pool_depth is None:
        raise ValueError(
            "--model urn needs --pool-depth, the number of ranks of every run that are judged"
        )
    if model != "urn" and pool_depth is not None:
        raise ValueError(f"--pool-depth goes with --model urn, not with --model {model}")


def _check_urn(qrels_format: str, outside: str, depth: int, pool_depth: int | None) -> None:
    """Refuse samples, documents that no urn holds, and ranks that are not read."""
    if pool_depth is not None and pool_depth > depth:
        raise ValueError(
            f"--depth {depth} reads fewer ranks than the --pool-depth {pool_depth} that are judged"
        )
    if qrels_format != "qrels":
        raise ValueError(
            f"{qrels_format} holds a sample, and --model urn learns from judgments to a depth; "
            "choose --model relevance"
        )
    if outside == "model":
        raise ValueError("--outside model does not go with --model urn: it draws retrieved ones")


def _check_frame(qrels_format: str, outside: str) -> None:
    """Refuse to take documents for non-relevant that may have been left out by chance."""
    if qrels_format in ("prels", "probs") and outside == "nonrelevant":
        raise ValueError(
            f"{qrels_format} lists the sampled documents only, and the model would count all "
            "others as not relevant; let it speak of them with --outside model, or use evaluate"
        )


def _check_level(collection: xr.DataTree, model: str, relevance_level: int) -> None:
    """Refuse a level that makes no document relevant, as a mistyped one does."""
    highest = int(np.nanmax(collection["judgments/grade"].to_numpy()))
    if model != "grades" and relevance_level > max(highest, 1):
        raise ValueError(
            f"no judged document has the grade --relevance-level {relevance_level} or more; the "
            f"highest is {highest}"
        )


def _check_cut(collection: xr.DataTree, measures: list[str], depth: int) -> None:
    """Refuse to score ranks as empty that were only not read: a model exists to fill them."""
    deeper = cut_measures(collection, measures, depth)
    if deeper:
        raise ValueError(
            f"--depth {depth} is below the cutoff of {', '.join(deeper)}; read as many ranks of "
            "the runs, or more"
        )


def _rehearse(made, collection: xr.DataTree, asked: dict[str, Any]) -> None:
    """Score one draw of the prior: what cannot be scored is refused before minutes of sampling."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            be.posterior_scores(
                prior_fit(made, draws=1, random_seed=1), collection, **asked, random_seed=1
            )
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
    judged = ~np.isnan(collection["judgments/grade"].to_numpy())
    n_topics = np.unique(collection["pair_topic"].to_numpy()[judged]).size
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


def _remark_urn(collection: xr.DataTree, made, depth: int, pool_depth: int | None) -> None:
    """Say what the urn learns from, and what its scores are not."""
    learned = counted(len(made.coords["run"]), "run")
    remark(f"the model learns from the first {pool_depth} ranks of {learned}")
    remark(
        "runs are drawn one by one: scores of each run, not differences of two, are meant; with "
        "few runs in the pool intervals below it are too narrow and too low"
    )
    if collection["rankings"].sizes["rank"] >= depth:
        remark(
            f"the urns hold what the runs retrieved at their first {depth} ranks (--depth); a "
            "deeper look changes the scores"
        )


def _remark_frame(collection: xr.DataTree, made, outside: str) -> None:
    """Say what the model learns from, and what it speaks of."""
    judged, learned = len(made.coords["judged_pair"]), len(made.coords["run"])
    learning = f"{counted(judged, 'judged document')} and the ranks of {counted(learned, 'run')}"
    remark(f"the model learns from {learning}")
    if "design" not in collection.children:
        fate = "count as not relevant" if outside == "nonrelevant" else "are left to the model"
        remark(
            f"no design: the judged documents are the frame, and all others {fate}; judgments of "
            "a random sample need its --design"
        )


def _remark_outside_weight(summary: xr.Dataset) -> None:
    """Say how much of each measure fell on documents that the model does not speak of."""
    shares = []
    for label in summary["measure"].to_numpy():
        weight = summary["outside_weight"].sel(measure=label)
        if float(weight.max()) > 0:
            worst = weight["run"].to_numpy()[int(weight.argmax("run"))]
            shares.append(
                f"{label} {float(weight.mean()):.3f}, up to {float(weight.max()):.3f} (run {worst})"
            )
    if shares:
        remark(f"weight on documents outside the frame, mean over runs: {'; '.join(shares)}")
    if float(summary["standard_error"].max()) >= EXACT:
        return
    if not shares:
        remark("every document that counts is judged: scores are exact, and no model was needed")
        return
    remark(
        "warning: every document that the model speaks of is judged, so it changed nothing: the "
        "weight above counts as not relevant; for judgments of a sample give its --design, for "
        "those of a pool take --model urn, or --outside model"
    )


def _remark_verdict(found: xr.Dataset | None, output: Path) -> None:
    """Say what the sampler's checks gave, and what to do where they failed."""
    if found is None:
        remark("a Laplace approximation has no verdict; it is for a quick look")
    elif found["passed"].all():
        remark(f"the sampler passed: {verdict_text(found)}")
    else:
        remark(
            f"warning: the sampler did not pass, and the scores may be off: {verdict_text(found)}; "
            f"take more --draws and --tune, and look at the plots in {output}"
        )
