"""`bayeseval rank`: which ranks are possible for every run."""

from typing import TYPE_CHECKING, Annotated

import typer

import bayeseval as be
from bayeseval.cli.compare import TOPICS, tidy_text
from bayeseval.cli.evaluate import chosen_predictor
from bayeseval.cli.options import (
    CiProb,
    ComparedPopulation,
    Depth,
    DesignRead,
    Estimator,
    Labels,
    Measures,
    MissingTopics,
    OnDuplicate,
    OutputFile,
    Outside,
    Predictor,
    Prior,
    Qrels,
    QrelsFormat,
    RelevanceLevel,
    Runs,
    ScoreType,
    TidyFormat,
)
from bayeseval.cli.output import check_outputs, working, write_result
from bayeseval.cli.reading import (
    check_measures,
    input_files,
    judged_collection,
    label_files,
    labelled,
)
from bayeseval.cli.remarks import remark_depth, remark_scores

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr
    from rich.table import Table

COLUMNS = [
    "run",
    "measure",
    "estimator",
    "estimate",
    "rank",
    "lower",
    "upper",
    "tie_group",
    "expected_rank",
]


def rank(
    qrels: Qrels,
    runs: Runs,
    measure: Measures,
    estimator: Estimator,
    simultaneous: Annotated[
        bool, typer.Option("--simultaneous", help="Sets of ranks that hold for all runs at once.")
    ] = False,
    top: Annotated[
        int | None, typer.Option(help="Also: which runs may be among the best TOP?")
    ] = None,
    population: ComparedPopulation = None,
    prior: Prior = "normal",
    predictor: Predictor = None,
    qrels_format: QrelsFormat = "qrels",
    design: DesignRead = None,
    labels: Labels = None,
    ci_prob: CiProb = 0.9,
    outside: Outside = "nonrelevant",
    missing_topics: MissingTopics = "zero",
    relevance_level: RelevanceLevel = 1,
    depth: Depth = None,
    on_duplicate: OnDuplicate = "error",
    score_type: ScoreType = "float64",
    seed: Annotated[int, typer.Option(help="Of the draws of errors.")] = 0,
    format: TidyFormat = "table",
    output: OutputFile = None,
) -> None:
    """Rank RUNs, with a confidence set of ranks for each and groups that cannot be told apart.

    CSV columns: run, measure, estimator, estimate, rank, lower, upper (of the rank), tie_group,
    expected_rank, and best with --top.
    """
    check_measures(measure, relevance_level)
    judges = label_files(labels)
    chosen = chosen_predictor(predictor, estimator, list(judges))
    check_outputs({"--output": output}, input_files([qrels], runs, [design, *judges.values()]))
    collection = judged_collection(
        qrels,
        runs,
        design,
        qrels_format=qrels_format,
        depth=depth,
        on_duplicate=on_duplicate,
        score_type=score_type,
    )
    collection = labelled(collection, judges)
    options = {"predictor": chosen, "relevance_level": relevance_level}
    population = population or ("sample" if estimator in ("stat", "dyn") else "topics")
    with working("estimating"):
        scores = be.evaluate(
            collection,
            measure,
            estimator=estimator,
            outside=outside,
            missing_topics=missing_topics,
            ci_prob=ci_prob,
            **options,
        )
        mean = be.mean_over_topics(scores, population=population, ci_prob=ci_prob)
        known, matrix = scores, None
        if population == "sample":
            known = mean
            matrix = be.covariance(collection, measure, estimator=estimator, **options)
    remark_depth(collection, depth, scores["measure"].to_numpy())
    remark_scores(collection, scores, mean)
    with working("ranking"):
        rows = _rows(known, matrix, estimator, simultaneous, top, ci_prob, prior, seed)
    about = {"estimator": estimator, "population": population, "ci_prob": ci_prob}
    about |= {"simultaneous": simultaneous, "prior": prior}
    write_result(tidy_text(rows, about, format, _table), output)


def _rows(
    known: "xr.Dataset", matrix, estimator, simultaneous, top, ci_prob, prior, seed
) -> "pd.DataFrame":
    """One row for each run and measure, the best first."""
    sets = be.rankings.rank_sets(
        known,
        covariance=matrix,
        simultaneous=simultaneous,
        top=top,
        ci_prob=ci_prob,
        random_seed=seed,
    )
    ranks = be.rankings.rank_probabilities(
        known, covariance=matrix, prior=prior, ci_prob=ci_prob, random_seed=seed
    )
    frame = be.to_frame(sets.assign(expected_rank=ranks["expected_rank"]))
    frame = frame.assign(estimator=estimator).loc[:, COLUMNS + (["best"] if top else [])]
    order = sets["measure"].to_numpy().tolist()
    place = frame.assign(place=[order.index(label) for label in frame["measure"]])
    ordered = place.sort_values(["place", "rank", "run"], kind="stable")
    return ordered.drop(columns="place").reset_index(drop=True)


def _table(rows: "pd.DataFrame", about: dict) -> "Table":
    """A line for each run, the best first, a rule between groups that are told apart."""
    from rich.table import Table
    from rich.text import Text

    level = f"{100 * about['ci_prob']:g}%"
    held = "all at once" if about["simultaneous"] else "each by itself"
    over = TOPICS[about["population"]]
    table = Table(title=f"{about['estimator']}, {level} sets of ranks, {held}, over {over}")
    for name in ("measure", "run"):
        table.add_column(name, no_wrap=True)
    for name in ("estimate", "rank", "possible ranks", "expected", "group"):
        table.add_column(name, justify="right", no_wrap=True)
    if "best" in rows:
        table.add_column("among the best", justify="right", no_wrap=True)
    before = None
    for row in rows.to_dict("records"):
        group = (row["measure"], row["tie_group"])
        if before is not None and group != before:
            table.add_section()
        before = group
        cells = [f"{row['estimate']:.4f}", f"{row['rank']}", f"{row['lower']} to {row['upper']}"]
        cells += [f"{row['expected_rank']:.1f}", f"{row['tie_group']}"]
        if "best" in row:
            cells.append("possible" if row["best"] else "no")
        table.add_row(Text(row["measure"]), Text(row["run"]), *map(Text, cells))
    return table
