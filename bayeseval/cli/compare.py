"""`bayeseval compare`: whether one run is better than another."""

import math
from typing import Annotated, Any

import typer

import bayeseval as be
from bayeseval.cli import options as option
from bayeseval.cli.notes import (
    note_estimator,
    note_lengths,
    note_missing_topics,
    note_no_error,
    note_outside_weight,
)
from bayeseval.cli.options import (
    DataFrame,
    Dataset,
    DataTree,
    Estimated,
    Judged,
    Source,
    Table,
    grouped,
)
from bayeseval.cli.output import note, working, write_result
from bayeseval.cli.reading import asked_of, measure_labels, over_topics, read_source
from bayeseval.cli.tables import (
    OVER,
    about,
    add_cells,
    as_rows,
    interval_cell,
    interval_title,
    new_table,
    number_cell,
    p_cell,
)
from bayeseval.messages import counted, percent

COLUMNS = ["run_a", "run_b", "measure", "estimator", "estimate", "standard_error"]
COLUMNS += ["lower", "upper", "probability_better", "standardised"]
COLUMNS += ["p_value", "p_holm", "p_tukey", "outside_weight_a", "outside_weight_b"]
EQUIVALENCE = ["probability_equivalent", "p_equivalence", "equivalent"]
FailIfWorse = Annotated[
    bool,
    typer.Option(
        "--fail-if-worse",
        help="Exit code 3 if a run is worse than the --reference, or A of --pair than B: if "
        "its interval lies below 0, or below minus --equivalence. Of many comparisons some "
        "fail by chance: raise --ci-prob. Combined intervals are valid on average over runs, "
        "those of dyn for each. With --anytime it may be asked often: 0 if every interval lies "
        "above that limit (a run as good as the reference needs --equivalence), 3 worse, 2 not "
        "yet known.",
    ),
]


@grouped
def compare(
    source: Source,
    judged: Judged,
    estimated: Estimated,
    reference: Annotated[
        str | None, typer.Option(help="Compare every run with this one.", show_default="all pairs")
    ] = None,
    pair: Annotated[
        tuple[str, str] | None,
        typer.Option(
            metavar="A B",
            help="Compare run A with run B alone; a model still learns from all RUNs.",
            show_default=False,
        ),
    ] = None,
    population: option.Population = None,
    topic_groups: option.TopicGroups = None,
    equivalence: Annotated[
        float | None, typer.Option(help="Largest difference of no practical importance.")
    ] = None,
    fail_if_worse: FailIfWorse = False,
    format: option.TidyFormat = None,
    output: option.OutputFile = None,
) -> None:
    """Compare RUNs in pairs: differences and adjusted p values.

    Relevant is what has grade 1 or more; -m 'P(rel=2)@10' asks for another grade.

    CSV columns: run_a, run_b, measure, estimator, estimate (a minus b), standard_error, lower,
    upper, probability_better, standardised, p_value, p_holm, p_tukey, outside_weight_a and
    outside_weight_b (weight on documents that are unjudged or outside the sampling frame). Combined
    scores have no tests: standardised, p values and equivalent are empty.

    In tables P(a > b) is probability_better, which rests on a prior that is estimated from all
    pairs (two runs say almost nothing about it) and is of one look, and size is standardised: the
    difference over the standard deviation of the topics' differences.
    """
    written = option.output_format(format, output)
    if fail_if_worse and reference is None and pair is None:
        raise ValueError(
            "--fail-if-worse needs the run that others may not fall behind; give it by --reference "
            "or --pair"
        )
    if not source.scores:
        measure_labels(source.measure, estimated.relevance_level, estimated.estimator)
    over: dict[str, Any] = over_topics(source, population, topic_groups)
    data: Any = read_source(source, judged, output, topic_groups)
    with working("comparing"):
        asked = asked_of(source, judged, estimated) | over
        pairs = be.compare(data, **asked, reference=reference, pair=pair, equivalence=equivalence)
    if not source.scores:
        note_estimator(estimated.estimator, pairs)
        note_missing_topics(data)
        note_outside_weight(_weights(pairs))
    _note_errors(pairs, data.sizes["run"])
    columns = COLUMNS if equivalence is None else COLUMNS + EQUIVALENCE
    columns = [*columns, "more_judgments"] if "more_judgments" in pairs else columns
    # a posterior has no tests, whose columns are empty
    rows = be.to_frame(pairs).assign(estimator=pairs.attrs["estimator"]).reindex(columns=columns)
    if "more_judgments" in rows:
        rows = rows.astype({"more_judgments": "Int64"})
    write_result(as_rows(rows, about(pairs), written, _table), output)
    if fail_if_worse:
        _fail_if_worse(rows, equivalence or 0.0, anytime=estimated.anytime)
        if not source.scores:
            _check_something_relevant(data, pairs)


def _weights(pairs: Dataset) -> Dataset:
    """Weight (measure, run) outside the frame of the runs that are compared."""
    import xarray as xr

    sides = [
        pairs[f"outside_weight_{side}"]
        .drop_vars(["run_a", "run_b"])
        .rename(comparison="run")
        .assign_coords(run=pairs[f"run_{side}"].to_numpy())
        for side in "ab"
    ]
    weight = xr.concat(sides, "run").drop_duplicates("run")
    known = {"outside_weight": weight, "estimate": xr.zeros_like(weight)}
    return xr.Dataset(known, attrs=pairs.attrs)


def _note_errors(pairs: Dataset, n_runs: int) -> None:
    """Say how long intervals are, which differences have no error, and what the prior rests on."""
    if "length_ratio" in pairs:
        note_lengths(pairs["length_ratio"].median("comparison"), "median of the differences")
        longer = pairs["length_ratio"].max("measure").fillna(0.0).to_numpy()
        number, worst = int((longer > 1.25).sum()), int(longer.argmax())
        if number:
            names = " and ".join(str(pairs[name].to_numpy()[worst]) for name in ("run_a", "run_b"))
            note(
                f"dyn knows {number} of {counted(longer.size, 'difference')} better, most that of "
                f"{names} (its interval is {1.0 / longer[worst]:.2f} times as long): take "
                "--estimator dyn for such pairs"
            )
    if pairs.attrs["population"] == "sample":
        note_no_error(pairs)
    elif "n_topics" in pairs and (pairs["n_topics"] == 1).any():
        note(
            "a difference on 1 topic has no standard error: that comes from its spread over topics"
        )
    if n_runs < 3 and pairs.attrs["prior"] != "flat":
        note(
            "P(a > b) rests on a prior of the difference that is estimated from all pairs of runs, "
            "and with one pair what is assumed beforehand dominates; trust the interval more"
        )


def _fail_if_worse(rows: DataFrame, margin: float, *, anytime: bool) -> None:
    """End with an exit code of its own where intervals lie below minus the margin.

    At every look a run is not worse where its interval lies above; else nobody can tell yet.
    """
    worse, unknown = rows.loc[rows["upper"] < -margin], rows.loc[rows["upper"].isna()]
    if len(worse):
        named = ", ".join(f"{row['run_a']} ({row['measure']})" for row in worse.to_dict("records"))
        note(f"worse than {worse.iloc[0]['run_b']}: {named}")
        raise typer.Exit(3)  # 1 is the code of an unforeseen error
    if len(unknown):
        first = unknown.iloc[0]
        raise ValueError(
            f"--fail-if-worse cannot tell: {len(unknown)} of {counted(len(rows), 'comparison')} "
            f"without an interval; the first is {first['measure']} of {first['run_a']}"
        )
    open_ones = rows.loc[anytime & (rows["lower"] < -margin)]
    if len(open_ones):
        most = open_ones.loc[open_ones["more_judgments"].idxmax()]
        raise ValueError(
            f"--fail-if-worse cannot tell yet: {len(open_ones)} of "
            f"{counted(len(rows), 'comparison')} {'is' if len(rows) == 1 else 'are'} open; about "
            f"{most['more_judgments']} more documents of each topic would decide all (most for "
            f"{most['measure']} of {most['run_a']}), if estimates stay as they are"
        )


def _check_something_relevant(collection: DataTree, pairs: Dataset) -> None:
    """Refuse to say that no run is worse where no judged document is relevant."""
    import numpy as np

    from bayeseval.measures.names import parse_measures

    highest = np.nanmax(collection["judgments/grade"].to_numpy())
    for measure in parse_measures(pairs["measure"].to_numpy().tolist()):
        if highest < (1 if measure.graded else measure.relevance_level):
            raise ValueError(
                "--fail-if-worse cannot tell: no judged document is relevant for "
                f"{measure.label}, the highest grade is {highest:g}"
            )


TESTED = {  # column of the table: column of the rows, and its digits
    "P(a > b)": ("probability_better", ".3f"),
    "size": ("standardised", "z.2f"),
    "p": ("p_value", ""),
    "Tukey": ("p_tukey", ""),
}
POSTERIOR = {
    "P(a > b)": ("probability_better", ".3f"),
    "P(equivalent)": ("probability_equivalent", ".3f"),
}


def _table(rows: DataFrame, about: dict) -> Table:
    """A line for each comparison; one measure stands in the title."""
    over = OVER[about["population"]]
    title = f"{about['estimator']}, {percent(about['ci_prob'])} {interval_title(about)} over {over}"
    posterior = about["estimator"] == "combined"
    known = POSTERIOR if posterior else TESTED
    columns = {head: column for head, column in known.items() if column[0] in rows}
    tested = "equivalent" in rows and not posterior
    numbers = ["a - b", *columns, *(["equivalent"] if tested else [])]
    several = len(set(rows["measure"])) > 1
    title = title if several else f"{rows['measure'].iloc[0]}, {title}"
    keys = ["run_a", "run_b", *(["measure"] if several else [])]
    table = new_table(title, [key.replace("_", " ") for key in keys], numbers)
    for row in rows.to_dict("records"):
        cells = [f"{row['estimate']:z.4f} {interval_cell(row)}".rstrip()]
        for name, form in columns.values():
            cells.append(number_cell(row[name], form) if form else p_cell(row[name]))
        if tested:
            verdict = "yes" if row["equivalent"] else "no"
            cells.append("-" if math.isnan(row["p_equivalence"]) else verdict)
        add_cells(table, *(row[key] for key in keys), *cells)
    return table
