"""`bayeseval compare`: whether one run is better than another."""

import json
from typing import TYPE_CHECKING, Annotated

import typer

import bayeseval as be
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
from bayeseval.cli.remarks import remark_depth, remark_lacking
from bayeseval.cli.tables import rendered
from bayeseval.cli.typeset import typeset

if TYPE_CHECKING:
    import pandas as pd
    from rich.table import Table

COLUMNS = [
    "run_a",
    "run_b",
    "measure",
    "estimator",
    "estimate",
    "standard_error",
    "lower",
    "upper",
    "probability_better",
    "standardised",
    "p_value",
    "p_holm",
    "p_tukey",
]
EQUIVALENCE = ["probability_equivalent", "p_equivalence", "equivalent"]
TOPICS = {"sample": "these topics", "topics": "the population of topics"}


def compare(
    qrels: Qrels,
    runs: Runs,
    measure: Measures,
    estimator: Estimator,
    reference: Annotated[
        str | None, typer.Option(help="Compare every run with this one; default: all pairs.")
    ] = None,
    population: ComparedPopulation = None,
    equivalence: Annotated[
        float | None, typer.Option(help="Largest difference without practical meaning.")
    ] = None,
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
    seed: Annotated[int, typer.Option(help="Of permutations and draws.")] = 0,
    format: TidyFormat = "table",
    output: OutputFile = None,
) -> None:
    """Compare RUNs pair by pair: difference, interval, probability, adjusted p values.

    CSV columns: run_a, run_b, measure, estimator, estimate (a less b), standard_error, lower,
    upper, probability_better, standardised, p_value, p_holm, p_tukey.
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
    with working("comparing"):
        pairs = be.compare(
            collection,
            measure,
            estimator=estimator,
            reference=reference,
            population=population,
            ci_prob=ci_prob,
            equivalence=equivalence,
            prior=prior,
            random_seed=seed,
            predictor=chosen,
            relevance_level=relevance_level,
            outside=outside,
            missing_topics=missing_topics,
        )
    remark_depth(collection, depth, pairs["measure"].to_numpy())
    import numpy as np

    judged = np.zeros(collection.sizes["topic"], dtype=bool)
    remark_lacking(collection, judged, zero=missing_topics == "zero")
    about = {"estimator": estimator, "population": pairs.attrs["population"], "ci_prob": ci_prob}
    columns = COLUMNS if equivalence is None else COLUMNS + EQUIVALENCE
    rows = be.to_frame(pairs).assign(estimator=estimator).loc[:, columns]
    write_result(tidy_text(rows, about, format, _table), output)


def tidy_text(rows: "pd.DataFrame", about: dict, format: str, table) -> str:
    """Rows as a table for people, LaTeX or Markdown, as CSV, or as JSON with what was asked.

    Parameters
    ----------
    rows : DataFrame
    about : dict
        What was asked; the head of the JSON.
    format : {"table", "markdown", "latex", "csv", "json"}
    table : callable (rows, about) -> rich Table
    """
    import pandas as pd

    if format == "csv":
        return rows.to_csv(index=False, lineterminator="\n")
    if format == "table":
        return rendered(table(rows, about))
    if format in ("latex", "markdown"):
        return typeset(table(rows, about), format)
    records = [
        {key: None if pd.isna(value) else value for key, value in row.items()}
        for row in rows.to_dict("records")
    ]
    return json.dumps(about | {"rows": records}, indent=1, ensure_ascii=False) + "\n"


def _table(rows: "pd.DataFrame", about: dict) -> "Table":
    """A line for each comparison."""
    from rich.table import Table
    from rich.text import Text

    level = f"{100 * about['ci_prob']:g}%"
    title = f"{about['estimator']}, {level} intervals over {TOPICS[about['population']]}"
    table = Table(title=title)
    for name in ("run a", "run b", "measure"):
        table.add_column(name, no_wrap=True)
    for name in ("a - b", "P(a > b)", "size", "p", "Holm", "Tukey"):
        table.add_column(name, justify="right", no_wrap=True)
    equivalent = "equivalent" in rows
    if equivalent:
        table.add_column("equivalent", justify="right")
    for row in rows.to_dict("records"):
        cells = [f"{row['estimate']:.4f} [{row['lower']:.4f}, {row['upper']:.4f}]"]
        cells += [f"{row['probability_better']:.3f}", f"{row['standardised']:.2f}"]
        cells += [f"{row[name]:.4f}" for name in ("p_value", "p_holm", "p_tukey")]
        if equivalent:
            cells.append("yes" if row["equivalent"] else "no")
        labels = (row["run_a"], row["run_b"], row["measure"])
        table.add_row(*map(Text, labels), *map(Text, cells))
    return table
