"""`bayeseval fit`: posterior scores of runs from a model of relevance, with its diagnostics."""

from __future__ import annotations

import json
import os
import warnings
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

import bayeseval as be
from bayeseval.cli import options as option
from bayeseval.cli.combining import INTERVALS, check_combined, write_combined
from bayeseval.cli.groups import Judged, Rankings, grouped
from bayeseval.cli.models import MODELS, check_options, takes, taking
from bayeseval.cli.output import check_folder, check_outputs, remark, working, write_result
from bayeseval.cli.reading import (
    check_level,
    input_files,
    judged_collection,
    judged_files,
    label_files,
)
from bayeseval.cli.remarks import (
    counted,
    cut_measures,
    outside_shares,
    remark_depth,
    remark_lacking,
)
from bayeseval.cli.tables import FURTHER, as_csv, as_json, score_rows
from bayeseval.cli.typeset import WRITERS

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr


Model = Annotated[
    Literal[*MODELS],  # pyright: ignore[reportInvalidTypeForm]
    typer.Option(
        help="Models " + ", ".join(f"{name} ({row.says})" for name, row in MODELS.items()) + "."
    ),
]
JudgedDepth = Annotated[
    int | None,
    typer.Option(
        min=1,
        help=f"Ranks judged in every run; for --model {taking('--pool-depth')}.",
        show_default="none",
    ),
]
Folder = Annotated[
    Path,
    typer.Option(
        parser=option.folder,
        metavar="<path>",
        help="Folder for fit.nc, scores.csv, scores.json, intervals.csv and the plots.",
    ),
]
Plots = Annotated[bool, typer.Option("--plots/--no-plots", help="Whether to draw plots.")]
OutsideModel = Annotated[
    Literal["nonrelevant", "model"],
    typer.Option(help="Documents outside the frame: non-relevant, or as the model predicts."),
]
ModelErrors = Annotated[
    bool,
    typer.Option(
        "--model-errors/--posterior-only",
        help="Whether intervals of means over these topics include the errors that such models "
        "made on other collections.",
    ),
]
FitFormat = Annotated[
    Literal["table", "markdown", "latex", "csv", "json"],
    typer.Option(help="Output format."),
]
FILES = ("fit.nc", "scores.csv", "scores.json", INTERVALS)
EXACT = 1e-9  # standard errors below are rounding
BROKEN = 1


@dataclass(kw_only=True)
class Sampling:
    """How the posterior is found."""

    draws: Annotated[int, typer.Option(min=4, help="Draws to keep from each chain.")] = 1000
    tune: Annotated[int, typer.Option(min=1, help="Tuning steps of each chain.")] = 500
    chains: Annotated[int, typer.Option(min=2, help="Chains, at least two.")] = 4
    approximation: Annotated[
        Literal["laplace"] | None,
        typer.Option(
            help="Seconds instead of minutes, without sampler checks; --model "
            f"{taking('--approximation')} only."
        ),
    ] = None


@grouped
def fit(
    qrels: option.Qrels,
    runs: option.Runs,
    measure: option.Measures,
    judged: Judged,
    rankings: Rankings,
    sampling: Sampling,
    model: Model = "relevance",  # pyright: ignore[reportInvalidTypeForm]
    pool_depth: JudgedDepth = None,
    seed: option.Seed = None,
    ci_prob: option.CiProb = 0.9,
    population: option.Population = "sample",
    outside: OutsideModel = "nonrelevant",
    relevance_level: option.RelevanceLevel = 1,
    model_errors: ModelErrors = True,
    output: Folder = Path("fit-output"),
    plots: Plots = True,
    format: FitFormat = "table",
) -> None:
    """Fit a model to the judgments, and score RUNs by its posterior.

    CSV columns: the first eight of evaluate, n_topics and outside_weight; estimate is the posterior
    mean, standard_error the posterior standard deviation, with the model's own errors unless
    --posterior-only.

    For judgments of a random sample, design (dyn) and model are also combined: intervals are short,
    and honest for runs that the model predicts badly. The combined scores are printed too (table,
    markdown, latex). intervals.csv has design, model and combination side by side, with
    length_ratio (interval length over dyn's), conflict (probability that the run is not as
    modelled), model_weight (share of the model in the combined estimate) and flagged (design and
    model contradict each other).

    If the sampler does not pass its checks, a warning says so and the results are still written
    (exit code 0; `passed` in the JSON). If it breaks, nothing is written (exit code 1).
    """
    _check_measures(measure, relevance_level)
    _check_output(output, ci_prob, judged_files(qrels, runs, judged), input_files([], runs, []))
    _check_model(model, judged, sampling, relevance_level, pool_depth, outside)
    _check_depths(pool_depth, rankings.depth)
    _check_frame(judged.qrels_format, outside)
    seed = option.chosen_seed(seed)
    collection = judged_collection(qrels, runs, judged, rankings)
    _check_cut(collection, measure, rankings.depth)
    remark_depth(collection, rankings.depth)
    asked = {"measures": measure, "outside": outside, "population": population}
    with working("making the model"):
        made = _made(collection, model, relevance_level, pool_depth, judged.labels)
        rehearsed = _rehearse(made, collection, asked)
        check_combined(collection, asked | {"relevance_level": relevance_level})
    check_level(collection, relevance_level, measure, fitting=takes(model, "--relevance-level"))
    _remark_learning(collection, made, rankings.depth, pool_depth, outside)
    remark_lacking(collection, None, zero=True)
    _remark_filled(rehearsed)
    fitted = _fitted(made, asdict(sampling), seed)
    post = be.posterior_scores(fitted, collection, **asked, random_seed=seed)
    wider = model_errors and population == "sample"
    summary = _summary(post, wider, ci_prob, seed)
    found, seen, right = _verdicts(fitted, collection, post)
    _remark_fit(summary, found, right, output)
    about = _about(summary, found, right, seed)
    older = _older(output)
    rows = _rows(summary, collection)
    files = ["fit.nc", "scores.csv", "scores.json"]
    listed = about | {"files": sorted(older | set(files))}  # if what follows is interrupted
    _write(fitted, rows, listed, output)
    write_result(WRITERS[format](rows, about), None)
    drawn = {"scores": post, "judgments": seen, "ci_prob": ci_prob, "random_seed": seed}
    paths = be.diagnostic_plots(fitted, output, model=made, **drawn) if plots else []
    if post.attrs["draws_of"] == "documents":
        request = asked | {"ci_prob": ci_prob, "relevance_level": relevance_level, "format": format}
        files += write_combined(collection, post, summary, request, output, plots)
    written = [*files, *(path.name for path in paths)]
    write_result(as_json(rows, about | {"files": written}), output / "scores.json")
    _remove(older - set(written), output)
    beside = f" and {counted(len(paths), 'plot')} of the fit" if plots else ""
    remark(f"{', '.join(files)}{beside} in {output}, seed {seed}")


def _verdicts(fitted: xr.DataTree, collection: xr.DataTree, post: xr.Dataset) -> tuple:
    """Verdict on the sampler, predicted judgments, verdict on these; None where there is none."""
    found = None if "approximation" in fitted.attrs else be.verdict(fitted)
    if post.attrs["draws_of"] != "documents":
        return found, None, None
    seen = be.inference.predicted_judgments(fitted, collection)
    return found, seen, be.inference.judgments_verdict(seen)


def _remark_fit(summary, found, right, output: Path) -> None:
    """What speaks against the scores: documents outside, errors, the sampler, the judgments."""
    _remark_outside_weight(summary)
    _remark_errors(summary)
    _remark_verdict(found, output)
    _remark_judgments(right)


def _check_measures(measures: list[str], relevance_level: int) -> None:
    """Refuse, before files are read, measures that are none or have no posterior scores."""
    from bayeseval.measures.names import parse_measures
    from bayeseval.posterior.documents import check_modelled

    check_modelled(parse_measures(measures, relevance_level=relevance_level))


def _check_output(output: Path, ci_prob: float, inputs: list[Path], runs: list[Path]) -> None:
    """Refuse before the work what could only fail after it."""
    _check_no_runs(output, runs)
    check_folder("--output", output)
    written = [output / name for name in FILES]
    drawn = sorted(output.glob("*.png"))
    there = [path for path in [*written, *drawn] if os.path.lexists(path)]
    check_outputs({f"--output ({path.name})": path for path in there}, inputs)
    if not 0 < ci_prob < 1:
        raise ValueError(f"--ci-prob must be between 0 and 1, not {ci_prob}")


def _check_no_runs(output: Path, runs: list[Path]) -> None:
    """Refuse a folder of runs: a glob of it would take what is written for runs."""
    for run in runs:
        if os.path.realpath(run.parent) == os.path.realpath(output):
            raise ValueError(
                f"--output {output} is the folder of the RUN {run}, and a glob of its runs would "
                "find what is written there; name another folder"
            )


def _older(output: Path) -> set[str]:
    """Names of what an earlier fit says to have written into the folder."""
    if not (output / "fit.nc").exists():
        return set()
    try:
        names = json.loads((output / "scores.json").read_text(encoding="utf-8"))["files"]
        own = {name for name in names if name in FILES or name.endswith(".png")}
        return {name for name in own if Path(name).name == name}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return set()


def _remove(older: set[str], output: Path) -> None:
    """Remove what a fit has not replaced: it is of another one."""
    left = sorted(name for name in older if (output / name).is_file())
    for name in left:
        (output / name).unlink()
    if left:
        remark(f"removed from {output}, left by an earlier fit: {', '.join(left)}")


def _check_model(
    model: str,
    judged: Judged,
    sampling: Sampling,
    relevance_level: int,
    pool_depth: int | None,
    outside: str,
) -> None:
    """Refuse options that the model lacks."""
    given = {
        "--labels": judged.labels,
        "--approximation": sampling.approximation,
        "--relevance-level": relevance_level != 1,
        "--pool-depth": pool_depth,
        "--qrels-format": judged.qrels_format != "qrels",
        "--outside model": outside == "model",
    }
    check_options(model, given)


def _check_depths(pool_depth: int | None, depth: int | None) -> None:
    """Refuse a pool beyond the ranks that are read."""
    if pool_depth is not None and depth is not None and pool_depth > depth:
        raise ValueError(
            f"--depth {depth} reads fewer ranks than the --pool-depth {pool_depth} that are judged"
        )


def _check_frame(qrels_format: str, outside: str) -> None:
    """Refuse to count as non-relevant what may be left out by chance."""
    if qrels_format in ("prels", "probs") and outside == "nonrelevant":
        raise ValueError(
            f"{qrels_format} lists the sampled documents only, and all others would count as "
            "non-relevant; let the model predict them with --outside model, or use evaluate"
        )


def _check_cut(collection: xr.DataTree, measures: list[str], depth: int | None) -> None:
    """Refuse to score ranks as empty that were only not read: a model exists to fill them."""
    deeper = cut_measures(collection, measures, depth)
    if deeper:
        raise ValueError(
            f"--depth {depth} is below the cutoff of {', '.join(deeper)}; read as many ranks of "
            "the runs, or more"
        )


def _made(
    collection: xr.DataTree,
    model: str,
    relevance_level: int,
    pool_depth: int | None,
    labels: list[str] | None,
):
    """The model of that name."""
    return MODELS[model].make(collection, list(label_files(labels)), relevance_level, pool_depth)


def _rehearse(made, collection: xr.DataTree, asked: dict[str, Any]) -> xr.Dataset:
    """Scores of a draw of the prior; what has none is refused before minutes of sampling."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        prior = be.inference.prior_fit(made, draws=1, random_seed=1)
        return be.posterior_scores(prior, collection, **asked, denominator="model", random_seed=1)


def _fitted(made, how: dict[str, Any], seed: int) -> xr.DataTree:
    """The fit; its verdict is told later, and a broken sampler in one sentence."""
    if not how["approximation"]:
        remark("compiling the model, which may take a minute, then sampling")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", be.inference.SamplerWarning)
            return be.fit(made, **how, random_seed=seed)
    except RuntimeError as error:
        remark(f"{' '.join(str(error).split())}; nothing is written")
        raise typer.Exit(BROKEN) from error


def _summary(post: xr.Dataset, wider: bool, ci_prob: float, seed: int) -> xr.Dataset:
    """Summary of the posterior, with the model's own errors if wanted."""
    answer = be.with_model_errors(post, random_seed=seed) if wider else post
    return be.summarize(answer, ci_prob=ci_prob)


def _remark_urn(collection: xr.DataTree, made, depth: int | None, pool_depth: int) -> None:
    """Say what the urn learns from, and what its scores are not."""
    learned = counted(len(made.coords["run"]), "run")
    remark(f"the model learns from the first {pool_depth} ranks of {learned}")
    remark(
        "each run is modelled by itself: use the scores, not differences between runs; with few "
        "runs in the pool, scores deeper than the pool are too low"
    )
    if collection.attrs["runs_cut"]:
        remark(
            f"the urns hold what the runs retrieved at their first {depth} ranks (--depth); a "
            "deeper look changes the scores"
        )


def _remark_learning(collection, made, depth, pool_depth: int | None, outside: str) -> None:
    """Say what the model learns from: pools of the urn's lists, or documents."""
    if pool_depth is not None:
        _remark_urn(collection, made, depth, pool_depth)
    else:
        _remark_frame(collection, made, outside)


def _remark_filled(rehearsed: xr.Dataset) -> None:
    """Say before minutes of sampling that the urns have no rank to fill."""
    if "filled_weight" in rehearsed and not rehearsed["filled_weight"].any():
        remark(
            "every document that counts is judged or outside the urns: nothing is left to draw, "
            "and evaluate --estimator assumed gives the same scores at once"
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
    shares = outside_shares(summary["outside_weight"])
    if shares:
        remark(f"weight on documents outside the frame, mean over runs: {shares}")
    if float(summary["standard_error"].max()) >= EXACT:
        return
    if not shares:
        remark("every document that counts is judged: scores are exact, and no model was needed")


def _remark_errors(summary: xr.Dataset) -> None:
    """Say that intervals are wider than the posterior."""
    if "model_errors" in summary.attrs and float(summary["standard_error"].max()) >= EXACT:
        remark(
            "intervals include the errors that such models made on other collections "
            "(--posterior-only leaves them out)"
        )


def _remark_verdict(found: xr.Dataset | None, output: Path) -> None:
    """Say what the sampler's checks gave, and what to do where they failed."""
    if found is None:
        remark("a Laplace approximation has no sampler to check; use it for a quick look")
        return
    text = be.inference.verdict_text(found)
    if found["passed"].all():
        remark(f"the sampler passed: {text}")
    else:
        remark(
            f"warning: the sampler did not pass its checks, and the scores may be wrong: {text}; "
            f"take more --draws and --tune, and look at the plots in {output}"
        )


def _remark_judgments(judged: xr.Dataset | None) -> None:
    """Say whether the judgments are as the model predicts them, and what to do where not."""
    if judged is None:
        return
    text = be.inference.verdict_text(judged)
    if judged["passed"].all():
        remark(
            "the judgments agree with the model's predictions; largest standardised differences by "
            f"kind: {text}"
        )
    else:
        remark(
            "warning: the judgments contradict the model's predictions: its scores may be wrong, "
            f"and combined intervals too short: {text}; compare them with evaluate --estimator dyn"
        )


def _rows(summary: xr.Dataset, collection: xr.DataTree) -> pd.DataFrame:
    """Rows of the means over topics, with how many topics were judged."""
    import xarray as xr

    judged = collection["judgments/grade"].notnull().to_numpy()
    n_topics = len(set(collection["pair_topic"].to_numpy()[judged].tolist()))
    counts = {
        name: xr.full_like(summary["estimate"], value, dtype=int)
        for name, value in (("n_topics", n_topics), ("n_limited", 0))
    }
    return score_rows(summary.assign(counts)).drop(columns=["n_limited", *FURTHER])


def _about(
    summary: xr.Dataset, found: xr.Dataset | None, judged: xr.Dataset | None, seed: int
) -> dict[str, Any]:
    """What was asked, and what the checks of the sampler and of the judgments gave."""
    facts = ("estimator", "population", "outside", "ci_prob")
    about = {name: summary.attrs[name] for name in facts} | {"seed": seed}
    about |= {"model_errors": summary.attrs.get("model_errors", "none")}
    checks = [part for part in (found, judged) if part is not None]
    about |= {"approximation": "laplace"} if found is None else {}
    values = {name: x for part in checks for name, x in part["value"].to_series().items()}
    return about | {"passed": all(bool(p["passed"].all()) for p in checks), "verdict": values}


def _write(fitted, rows: pd.DataFrame, about: dict[str, Any], output: Path) -> None:
    """Write the fit and the scores into the folder."""
    output.mkdir(parents=True, exist_ok=True)
    be.save_fit(fitted, output / "fit.nc")
    write_result(as_csv(rows, {}), output / "scores.csv")
    write_result(as_json(rows, about), output / "scores.json")
