"""`bayeseval fit`: posterior scores of runs from a model of relevance, with its diagnostics."""

import warnings
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

import bayeseval as be
from bayeseval.cli import options as option
from bayeseval.cli.combining import check_combined, write_combined
from bayeseval.cli.data import DataFrame, Dataset, DataTree
from bayeseval.cli.fit_folder import check_output, older_files, remove_older, write_fit
from bayeseval.cli.fit_remarks import remark_filled, remark_fit, remark_learning
from bayeseval.cli.groups import Judged, Rankings, grouped
from bayeseval.cli.models import MODELS, check_options, takes, taking
from bayeseval.cli.output import remark, working, write_result
from bayeseval.cli.reading import (
    check_level,
    input_files,
    judged_collection,
    judged_files,
    label_files,
)
from bayeseval.cli.remarks import cut_measures, judged_topics, remark_depth, remark_lacking
from bayeseval.cli.tables import FURTHER, as_json, as_scores, score_rows
from bayeseval.messages import counted

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
    Literal["table", "markdown", "latex", "csv", "json"], typer.Option(help="Output format.")
]
BROKEN = 1


@dataclass(kw_only=True)
class Sampling:
    """How the posterior is found."""

    draws: Annotated[int, typer.Option(min=4, help="Draws to keep from each chain.")] = 1000
    tune: Annotated[int, typer.Option(min=1, help="Tuning steps of each chain.")] = 1000
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
    learn_from: option.LearnFrom = "design",
    output: Folder = Path("fit-output"),
    plots: Plots = True,
    format: FitFormat = "table",
) -> None:
    """Fit a model to the judgments, and score RUNs by its posterior.

    One fit scores measures of one --relevance-level or, with --model grades, of all grades.

    CSV columns: the first eight of evaluate, n_topics and outside_weight; estimate is the posterior
    mean, standard_error the posterior standard deviation, with the model's own errors unless
    --posterior-only.

    For judgments of a random sample, design (dyn) and model are also combined: intervals are short,
    and honest for runs that the model predicts badly. The combined scores are printed too (table,
    markdown, latex). intervals.csv has design, model and combination side by side, with
    length_ratio (interval length over dyn's), model_weight (share of the model in the combined
    estimate) and unlike_model (probability that the run is not as modelled).

    If the sampler does not pass its checks, a warning says so and the results are still written
    (exit code 0; `passed` in the JSON). If it breaks, nothing is written (exit code 1).
    """
    from bayeseval.posterior.modelled import fitted_runs

    _check_asked(measure, model, relevance_level, ci_prob)
    check_output(output, judged_files(qrels, runs, judged), input_files([], runs, []))
    further = {"--outside model": outside == "model", "--learn-from": learn_from != "design"}
    _check_options(model, judged, sampling, relevance_level, pool_depth, further, rankings.depth)
    seed = option.chosen_seed(seed)
    collection = judged_collection(qrels, runs, judged, rankings)
    _check_scorable(collection, measure, rankings.depth, relevance_level, model)
    remark_depth(collection, rankings.depth)
    asked = {"measures": measure, "outside": outside, "population": population}
    with working("making the model"):
        known = list(label_files(judged.labels)), relevance_level, pool_depth
        made = MODELS[model].make(collection, *known, fitted_runs(collection, learn_from))
        rehearsed = None if sampling.approximation else _rehearse(made, collection, asked)
        check_combined(collection, asked | {"relevance_level": relevance_level})
    check_level(collection, relevance_level, measure, fitting=takes(model, "--relevance-level"))
    remark_learning(collection, made, rankings.depth, pool_depth, outside)
    remark_lacking(collection, None, zero=True)
    remark_filled(rehearsed)
    fitted = _fitted(made, asdict(sampling), seed)
    post = be.posterior_scores(fitted, collection, **asked, random_seed=seed)
    summary = _summary(post, ci_prob, wider=model_errors and population == "sample")
    found, seen, right = _verdicts(fitted, collection, post)
    remark_fit(summary, found, right, output)
    about, older = _about(summary, found, right, seed, learn_from), older_files(output)
    rows = _rows(summary, collection)
    files = ["fit.nc", "scores.csv", "scores.json"]
    listed = about | {"files": sorted(older | set(files))}  # if what follows is interrupted
    write_fit(fitted, rows, listed, output)
    write_result(as_scores(rows, about, format), None)
    drawn = {"scores": post, "judgments": seen, "ci_prob": ci_prob, "random_seed": seed}
    paths = be.diagnostic_plots(fitted, output, model=made, **drawn) if plots else []
    if post.attrs["draws_of"] == "documents":
        request = asked | {"ci_prob": ci_prob, "relevance_level": relevance_level, "format": format}
        files += write_combined(collection, post, summary, request, output, plots)
    written = [*files, *(path.name for path in paths)]
    write_result(as_json(rows, about | {"files": written}), output / "scores.json")
    remove_older(older - set(written), output)
    beside = f" and {counted(len(paths), 'plot')} of the fit" if plots else ""
    remark(f"{', '.join(files)}{beside} in {output}, seed {seed}")


def _summary(post: Dataset, ci_prob: float, *, wider: bool) -> Dataset:
    """Means and intervals, with the errors that such models made elsewhere or without."""
    answer = be.with_model_errors if wider else be.summarize
    return answer(post, ci_prob=ci_prob)


def _verdicts(fitted: DataTree, collection: DataTree, post: Dataset) -> tuple:
    """Verdict on the sampler, predicted judgments, verdict on these; None where there is none."""
    found = None if "approximation" in fitted.attrs else be.verdict(fitted)
    if post.attrs["draws_of"] != "documents":
        return found, None, None
    seen = be.inference.predicted_judgments(fitted, collection)
    return found, seen, be.inference.judgments_verdict(seen)


def _check_asked(measures: list[str], model: str, relevance_level: int, ci_prob: float) -> None:
    """Refuse, before files are read, measures that are none or have no posterior scores.

    So are those of another level than the model's, and a ``ci_prob`` outside (0, 1).
    """
    from bayeseval.collection.choices import check_ci_prob
    from bayeseval.measures.names import parse_measures
    from bayeseval.posterior.modelled import check_level_of_model, check_modelled

    parsed = parse_measures(measures, relevance_level=relevance_level)
    check_modelled(parsed)
    if takes(model, "--relevance-level"):
        check_level_of_model(parsed, relevance_level)
    check_ci_prob(ci_prob)


def _check_options(
    model: str,
    judged: Judged,
    sampling: Sampling,
    relevance_level: int,
    pool_depth: int | None,
    further: dict[str, bool],
    depth: int | None,
) -> None:
    """Refuse options that the model lacks, or that do not go together; ``further`` if given."""
    given = {
        "--labels": judged.labels,
        "--approximation": sampling.approximation,
        "--relevance-level": relevance_level != 1,
        "--pool-depth": pool_depth,
        "--qrels-format": judged.qrels_format != "qrels",
    } | further
    check_options(model, given)
    if pool_depth is not None and depth is not None and pool_depth > depth:
        raise ValueError(
            f"--depth {depth} reads fewer ranks than the --pool-depth {pool_depth} that are judged"
        )
    if judged.qrels_format in ("prels", "probs") and not further["--outside model"]:
        raise ValueError(
            f"{judged.qrels_format} lists the sampled documents only, and all others would count "
            "as non-relevant; let the model predict them with --outside model, or use evaluate"
        )


def _check_scorable(
    collection: DataTree, measures: list[str], depth: int | None, level: int, model: str
) -> None:
    """Refuse measures that the model has no grades for.

    Also to score ranks as empty that were only not read: a model exists to fill them.
    """
    from bayeseval.posterior.modelled import modelled_measures

    if model == "relevance":  # which has no more grades than these
        modelled_measures(measures, level, collection)
    deeper = cut_measures(collection, measures, depth)
    if deeper:
        raise ValueError(
            f"--depth {depth} is below the cutoff of {', '.join(deeper)}; read as many ranks of "
            "the runs, or more"
        )


def _rehearse(made, collection: DataTree, asked: dict[str, Any]) -> Dataset:
    """Scores of a draw of the prior; what has none is refused before minutes of sampling.

    An approximation, which is there in seconds, needs none.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        prior = be.inference.prior_fit(made, draws=1, random_seed=1)
        return be.posterior_scores(prior, collection, **asked, random_seed=1)


def _fitted(made, how: dict[str, Any], seed: int) -> DataTree:
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


def _rows(summary: Dataset, collection: DataTree) -> DataFrame:
    """Rows of the means over topics, with how many topics were judged."""
    import xarray as xr

    none = xr.zeros_like(summary["estimate"], dtype=int)
    counts = {"n_topics": none + judged_topics(collection).sum(), "n_limited": none}
    return score_rows(summary.assign(counts)).drop(columns=["n_limited", *FURTHER])


def _about(
    summary: Dataset, found: Dataset | None, judged: Dataset | None, seed: int, learn_from: str
) -> dict[str, Any]:
    """What was asked, and what the checks of the sampler and of the judgments gave."""
    facts = ("estimator", "population", "outside", "ci_prob")
    about = {name: summary.attrs[name] for name in facts} | {"seed": seed}
    about |= {"model_errors": summary.attrs.get("model_errors", "none"), "learn_from": learn_from}
    checks = [part for part in (found, judged) if part is not None]
    about |= {"approximation": "laplace"} if found is None else {}
    values = {name: x for part in checks for name, x in part["value"].to_series().items()}
    return about | {"passed": all(bool(p["passed"].all()) for p in checks), "verdict": values}
