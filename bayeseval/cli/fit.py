"""`bayeseval fit`: posterior scores of runs from a model of relevance, with its diagnostics."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

import bayeseval as be
from bayeseval.cli import options as option
from bayeseval.cli.fit_output import check_combined, check_output, write_folder
from bayeseval.cli.notes import cut_measures, note_depth, note_missing_topics, note_model
from bayeseval.cli.options import DataTree, Judged, grouped
from bayeseval.cli.output import note, working
from bayeseval.cli.reading import input_files, judged_collection, judged_files, label_files


@dataclass(frozen=True)
class FittedModel:
    """Row of the table of models that ``fit`` offers.

    ``summary`` stands beside its name in the help of ``--model``; ``make`` takes
    ``(collection, judges, relevance_level, depth)`` to the model; ``refuses`` has the options that
    it does not take, and why; ``needs`` those without which there is no such model, and what they
    are.
    """

    summary: str
    make: Callable[..., Any]
    refuses: dict[str, str]
    needs: dict[str, str] = field(default_factory=dict)


ANY_DEPTH = "it is fitted to whatever documents are judged"
MODELS = {
    "relevance": FittedModel(
        "grades from --relevance-level on",
        lambda collection, judges, level, depth: be.models.relevance_model(
            collection, external=judges, relevance_level=level
        ),
        refuses={"--pool-depth": ANY_DEPTH},
    ),
    "grades": FittedModel(
        "all of them, for nDCG",
        lambda collection, judges, level, depth: be.models.grade_model(collection, external=judges),
        refuses={
            "--pool-depth": ANY_DEPTH,
            "--relevance-level": "there a measure names its level, such as P(rel=2)@10",
        },
    ),
    "urn": FittedModel(
        "how runs judged to --pool-depth draw their documents, for P@k and RBP",
        lambda collection, judges, level, depth: be.models.urn_model(
            collection, depth=depth, frame="retrieved", relevance_level=level
        ),
        refuses={
            "--labels": "it does not distinguish documents",
            "--qrels-format": "it is fitted to plain qrels, judged to a depth, and to no sample",
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
FitFormat = Annotated[
    Literal["table", "markdown", "latex", "csv", "json"], typer.Option(help="Output format.")
]


@grouped
def fit(
    qrels: option.Qrels,
    runs: option.Runs,
    measure: option.Measures,
    judged: Judged,
    depth: option.Depth = None,
    model: Model = "relevance",  # pyright: ignore[reportInvalidTypeForm]
    pool_depth: JudgedDepth = None,
    nuts: Annotated[
        bool,
        typer.Option(
            "--nuts",
            help="Sample the posterior by NUTS, with its checks: minutes instead of seconds "
            "(always for --model urn).",
        ),
    ] = False,
    draws: Annotated[
        int, typer.Option(min=4, help="Draws to keep of each of four chains; NUTS tunes as long.")
    ] = 1000,
    population: Annotated[
        Literal["sample", "topics"],
        typer.Option(help="Intervals for these topics, or for the population they represent."),
    ] = "sample",
    relevance_level: option.RelevanceLevel = 1,
    ci_prob: option.CiProb = 0.9,
    seed: option.Seed = None,
    output: Folder = Path("fit-output"),
    format: FitFormat = "table",
) -> None:
    """Fit a model to the judgments, and score RUNs by its posterior.

    One fit scores measures of one --relevance-level or, with --model grades, of all grades. It is a
    Laplace approximation unless --nuts.

    CSV columns: the first eight of evaluate, n_topics and outside_weight; estimate is the posterior
    mean, standard_error the posterior standard deviation with the errors that such models made on
    other collections (for these topics).

    For judgments of a random sample, design (dyn) and model are also combined: intervals are short,
    and stay valid for runs that the model predicts badly. The combined scores are printed too
    (table, markdown, latex). intervals.csv has design, model and combination side by side, with
    length_ratio (interval length over dyn's), model_weight (share of the model in the combined
    estimate) and unlike_model (probability that the run is not as modelled).

    If the sampler does not pass its checks, a warning says so and the results are still written
    (exit code 0; `passed` in the JSON). If it breaks, nothing is written (exit code 1).
    """
    _check_measures(measure, model, relevance_level, ci_prob)
    check_output(output, judged_files(qrels, runs, judged), input_files([], runs, []))
    _check_options(model, judged, relevance_level, pool_depth, depth)
    seed = option.checked_seed(seed)
    collection = judged_collection(qrels, runs, judged, depth)
    asked = {"measures": measure, "population": population}
    about = {"ci_prob": ci_prob, "relevance_level": relevance_level, "format": format}
    nuts = nuts or model == "urn"
    made = _model(collection, model, judged, pool_depth, depth, nuts, asked, about)
    fitted = _fitted(made, draws, nuts, seed)
    post = be.posterior_scores(fitted, collection, **asked, random_seed=seed)
    wider = population == "sample"
    summary = (be.with_model_errors if wider else be.summarize)(post, ci_prob=ci_prob)
    write_folder(fitted, made, collection, post, summary, asked | about | {"seed": seed}, output)


def _model(
    collection: DataTree,
    model: str,
    judged: Judged,
    pool_depth: int | None,
    depth: int | None,
    nuts: bool,
    asked: dict[str, Any],
    about: dict[str, Any],
):
    """The model, with notes on what it is fitted to; what would fail later is refused."""
    from bayeseval.posterior.modelled import modelled_measures

    measures, level = asked["measures"], about["relevance_level"]
    if model == "relevance":  # which has no more grades than these
        modelled_measures(measures, level, collection)
    if deeper := cut_measures(collection, measures, depth):
        raise ValueError(  # a model exists to fill ranks, not to take those not read for empty
            f"--depth {depth} is below the cutoff of {', '.join(deeper)}; read as many ranks of "
            "the runs, or more"
        )
    note_depth(collection, depth)
    with working("making the model"):
        known = list(label_files(judged.labels)), level, pool_depth
        made = MODELS[model].make(collection, *known)
        filled = _filled_weight(made, collection, asked) if nuts else None
        check_combined(collection, asked | about)
    note_model(made, collection, depth, pool_depth)
    note_missing_topics(collection)
    if filled == 0.0:
        note(
            "every document that counts is judged or outside the urns: nothing is left to draw, "
            "and evaluate --estimator assumed gives the same scores at once"
        )
    return made


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
    relevance_level: int,
    pool_depth: int | None,
    depth: int | None,
) -> None:
    """Refuse options that the model lacks, or that do not go together."""
    given: dict[str, Any] = {
        "--labels": judged.labels,
        "--relevance-level": relevance_level != 1,
        "--pool-depth": pool_depth,
        "--qrels-format": judged.qrels_format != "qrels",
    }
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
    if judged.qrels_format in ("prels", "probs"):
        raise ValueError(
            f"{judged.qrels_format} lists the sampled documents only, and all others would count "
            "as non-relevant; use evaluate, or in Python be.posterior_scores with outside='model'"
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


def _fitted(made, draws: int, nuts: bool, seed: int) -> DataTree:
    """The fit, without its verdict, which comes later; a broken sampler in one sentence."""
    how: dict[str, Any] = {"draws": draws, "random_seed": seed}
    if not nuts:
        return be.fit(made, **how, approximation="laplace")
    note("compiling the model, which may take a minute, then sampling")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", be.inference.SamplerWarning)
            return be.fit(made, **how, tune=draws)
    except RuntimeError as error:
        note(f"{' '.join(str(error).split())}; nothing is written")
        raise typer.Exit(1) from error
