"""`bayeseval fit`: posterior scores of runs from a model of relevance, with its diagnostics."""

import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

import bayeseval as be
from bayeseval.cli import options as option
from bayeseval.cli.fit_output import (
    check_combined,
    check_output,
    draw_scores,
    older_files,
    remove_older,
    write_combined,
    write_fit,
)
from bayeseval.cli.notes import (
    cut_measures,
    judged_topics,
    note_depth,
    note_fit,
    note_missing_topics,
    note_model,
)
from bayeseval.cli.options import Dataset, DataTree, Judged, Rankings, grouped
from bayeseval.cli.output import note, working, write_result
from bayeseval.cli.reading import (
    check_level,
    input_files,
    judged_collection,
    judged_files,
    label_files,
)
from bayeseval.cli.tables import ERRORS, as_json, as_scores, score_rows
from bayeseval.messages import counted


@dataclass(frozen=True)
class FittedModel:
    """Row of the table of models that ``fit`` offers.

    ``summary`` stands beside its name in the help of ``--model``; ``make`` takes
    ``(collection, judges, relevance_level, depth, runs)`` to the model, with the runs that it is
    fitted to, or None; ``refuses`` has the options that it does not take, and why; ``needs`` those
    without which there is no such model, and what they are.
    """

    summary: str
    make: Callable[..., Any]
    refuses: dict[str, str]
    needs: dict[str, str] = field(default_factory=dict)


ANY_DEPTH = "it is fitted to whatever documents are judged"
MODELS = {
    "relevance": FittedModel(
        "grades from --relevance-level on",
        lambda collection, judges, level, depth, runs: be.models.relevance_model(
            collection, external=judges, relevance_level=level, runs=runs
        ),
        refuses={"--pool-depth": ANY_DEPTH},
    ),
    "grades": FittedModel(
        "all of them, for nDCG",
        lambda collection, judges, level, depth, runs: be.models.grade_model(
            collection, external=judges, runs=runs
        ),
        refuses={
            "--pool-depth": ANY_DEPTH,
            "--relevance-level": "there a measure names its level, such as P(rel=2)@10",
        },
    ),
    "urn": FittedModel(
        "how runs judged to --pool-depth draw their documents, for P@k and RBP",
        lambda collection, judges, level, depth, runs: be.models.urn_model(
            collection, depth=depth, frame="retrieved", relevance_level=level
        ),
        refuses={
            "--labels": "it does not distinguish documents",
            "--approximation": "only the sampler fits it",
            "--qrels-format": "it is fitted to plain qrels, judged to a depth, and to no sample",
            "--outside model": "it draws retrieved documents",
            "--learn-from": "it models each run by itself",
        },
        needs={"--pool-depth": "the number of ranks of every run that are judged"},
    ),
}


def taking(option: str) -> str:
    """Names of the models that take an option.

    Examples
    --------
    >>> taking("--labels")
    'relevance or grades'
    """
    return " or ".join(name for name, row in MODELS.items() if option not in row.refuses)


Model = Annotated[
    Literal[*MODELS],  # pyright: ignore[reportInvalidTypeForm]
    typer.Option(
        help="Models " + ", ".join(f"{name} ({row.summary})" for name, row in MODELS.items()) + "."
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
    and stay valid for runs that the model predicts badly. The combined scores are printed too
    (table, markdown, latex). intervals.csv has design, model and combination side by side, with
    length_ratio (interval length over dyn's), model_weight (share of the model in the combined
    estimate) and unlike_model (probability that the run is not as modelled).

    If the sampler does not pass its checks, a warning says so and the results are still written
    (exit code 0; `passed` in the JSON). If it breaks, nothing is written (exit code 1).
    """
    import xarray as xr

    from bayeseval.posterior.modelled import fitted_runs, modelled_measures

    _check_measures(measure, model, relevance_level, ci_prob)
    check_output(output, judged_files(qrels, runs, judged), input_files([], runs, []))
    others = {"--outside model": outside == "model", "--learn-from": learn_from != "design"}
    _check_options(model, judged, sampling, relevance_level, pool_depth, others, rankings.depth)
    seed = option.checked_seed(seed)
    collection = judged_collection(qrels, runs, judged, rankings)
    if model == "relevance":  # which has no more grades than these
        modelled_measures(measure, relevance_level, collection)
    if deeper := cut_measures(collection, measure, rankings.depth):
        raise ValueError(  # a model exists to fill ranks, not to take those not read for empty
            f"--depth {rankings.depth} is below the cutoff of {', '.join(deeper)}; read as many "
            "ranks of the runs, or more"
        )
    note_depth(collection, rankings.depth)
    asked = {"measures": measure, "outside": outside, "population": population}
    with working("making the model"):
        known = list(label_files(judged.labels)), relevance_level, pool_depth
        made = MODELS[model].make(collection, *known, fitted_runs(collection, learn_from))
        filled = None if sampling.approximation else _filled_weight(made, collection, asked)
        check_combined(collection, asked | {"relevance_level": relevance_level})
    fits_level = "--relevance-level" not in MODELS[model].refuses
    check_level(collection, relevance_level, measure, fitting=fits_level)
    note_model(made, collection, rankings.depth, pool_depth, outside)
    note_missing_topics(collection, zero=True)
    if filled == 0.0:
        note(
            "every document that counts is judged or outside the urns: nothing is left to draw, "
            "and evaluate --estimator assumed gives the same scores at once"
        )
    fitted = _fitted(made, asdict(sampling), seed)
    post = be.posterior_scores(fitted, collection, **asked, random_seed=seed)
    wider = model_errors and population == "sample"
    summary = (be.with_model_errors if wider else be.summarize)(post, ci_prob=ci_prob)
    verdict, seen, of_judgments = _verdicts(fitted, collection, post)
    note_fit(summary, verdict, of_judgments, output)
    about = _about(summary, verdict, of_judgments) | {"seed": seed, "learn_from": learn_from}
    n_topics = xr.full_like(summary["estimate"], judged_topics(collection).sum(), dtype=int)
    rows = score_rows(summary.assign(n_topics=n_topics)).drop(columns=ERRORS)
    files, older = ["fit.nc", "scores.csv", "scores.json"], older_files(output)
    listed = about | {"files": sorted(older | set(files))}  # if what follows is interrupted
    write_fit(fitted, rows, listed, output)
    write_result(as_scores(rows, about, format), None)
    drawn: dict[str, Any] = {"judgments": seen, "ci_prob": ci_prob, "random_seed": seed}
    paths = be.diagnostic_plots(fitted, output, model=made, **drawn) if plots else []
    names = [path.name for path in paths] + (draw_scores(summary, output) if plots else [])
    if post.attrs["draws_of"] == "documents":
        request = asked | {"ci_prob": ci_prob, "relevance_level": relevance_level, "format": format}
        files += write_combined(collection, post, summary, request, output, plots)
    written = [*files, *names]
    write_result(as_json(rows, about | {"files": written}), output / "scores.json")
    remove_older(older - set(written), output)
    drawings = f" and {counted(len(names), 'plot')} of the fit" if plots else ""
    note(f"{', '.join(files)}{drawings} in {output}, seed {seed}")


def _check_measures(measures: list[str], model: str, relevance_level: int, ci_prob: float) -> None:
    """Refuse, before files are read, measures that are none or have no posterior scores.

    So are those of another level than the model's, and a ``ci_prob`` outside (0, 1).
    """
    from bayeseval.collection.choices import check_ci_prob
    from bayeseval.measures.names import parse_measures
    from bayeseval.posterior.modelled import check_level_of_model, check_modelled

    parsed = parse_measures(measures, relevance_level=relevance_level)
    check_modelled(parsed)
    if "--relevance-level" not in MODELS[model].refuses:
        check_level_of_model(parsed, relevance_level)
    check_ci_prob(ci_prob)


def _check_options(
    model: str,
    judged: Judged,
    sampling: Sampling,
    relevance_level: int,
    pool_depth: int | None,
    others: dict[str, bool],
    depth: int | None,
) -> None:
    """Refuse options that the model lacks, or that do not go together; ``others`` if given."""
    given: dict[str, Any] = {
        "--labels": judged.labels,
        "--approximation": sampling.approximation,
        "--relevance-level": relevance_level != 1,
        "--pool-depth": pool_depth,
        "--qrels-format": judged.qrels_format != "qrels",
    } | others
    for flag, reason in MODELS[model].refuses.items():
        if given[flag]:
            raise ValueError(
                f"{flag} goes with --model {taking(flag)}, not with --model {model}: {reason}"
            )
    for flag, what in MODELS[model].needs.items():
        if not given[flag]:
            raise ValueError(f"--model {model} needs {flag}, {what}")
    if pool_depth is not None and depth is not None and pool_depth > depth:
        raise ValueError(
            f"--depth {depth} reads fewer ranks than the --pool-depth {pool_depth} that are judged"
        )
    if judged.qrels_format in ("prels", "probs") and not others["--outside model"]:
        raise ValueError(
            f"{judged.qrels_format} lists the sampled documents only, and all others would count "
            "as non-relevant; let the model predict them with --outside model, or use evaluate"
        )


def _filled_weight(made, collection: DataTree, asked: dict[str, Any]) -> float | None:
    """Largest weight on ranks that urns fill, by a draw of the prior; None for other models.

    What has no scores is refused here, before minutes of sampling.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        prior = be.inference.prior_fit(made, draws=1, random_seed=1)
        weight = be.posterior_scores(prior, collection, **asked, random_seed=1).get("filled_weight")
    return None if weight is None else float(weight.max())


def _fitted(made, sampling: dict[str, Any], seed: int) -> DataTree:
    """The fit, without its verdict, which comes later; a broken sampler in one sentence."""
    if not sampling["approximation"]:
        note("compiling the model, which may take a minute, then sampling")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", be.inference.SamplerWarning)
            return be.fit(made, **sampling, random_seed=seed)
    except RuntimeError as error:
        note(f"{' '.join(str(error).split())}; nothing is written")
        raise typer.Exit(1) from error


def _verdicts(fitted: DataTree, collection: DataTree, post: Dataset) -> tuple:
    """Verdict on the sampler, predicted judgments, verdict on these; None where there is none."""
    sampler = None if "approximation" in fitted.attrs else be.verdict(fitted)
    if post.attrs["draws_of"] != "documents":
        return sampler, None, None
    seen = be.inference.predicted_judgments(fitted, collection)
    return sampler, seen, be.inference.judgments_verdict(seen)


def _about(summary: Dataset, sampler: Dataset | None, judgments: Dataset | None) -> dict[str, Any]:
    """What was asked, and what the checks of the sampler and of the judgments gave."""
    names = ("estimator", "population", "outside", "ci_prob")
    about: dict[str, Any] = {name: summary.attrs[name] for name in names}
    about["model_errors"] = summary.attrs.get("model_errors", "none")
    checks = [part for part in (sampler, judgments) if part is not None]
    about |= {"approximation": "laplace"} if sampler is None else {}
    values = {name: x for part in checks for name, x in part["value"].to_series().items()}
    return about | {"passed": all(bool(p["passed"].all()) for p in checks), "verdict": values}
