"""`bayeseval plan`: how many documents to judge, of how many topics."""

from typing import Annotated, Any, Literal

import typer

import bayeseval as be
from bayeseval.cli import options as option
from bayeseval.cli.notes import note_missing_topics
from bayeseval.cli.options import (
    DataFrame,
    Dataset,
    DataTree,
    EstimatedAtLevel,
    Judged,
    Source,
    Table,
    grouped,
)
from bayeseval.cli.output import note, working, write_result
from bayeseval.cli.reading import asked_of, measure_labels, read_source
from bayeseval.cli.tables import (
    OVER,
    about,
    add_cells,
    as_rows,
    interval_title,
    new_table,
    number_cell,
)
from bayeseval.messages import counted, percent

KEYS = ["measure", "budget", "n_topics"]
COLUMNS = ["half_width", "largest_half_width", "error", "coverage", "difference_error"]


@grouped
def plan(
    source: Source,
    judged: Judged,
    budget: Annotated[list[int], typer.Option(help="Judgments per topic to try; repeatable.")],
    n_topics: Annotated[
        list[int] | None,
        typer.Option(help="Numbers of topics to try; repeatable.", show_default="those there are"),
    ] = None,
    half_width: Annotated[
        float | None, typer.Option(help="Also say the budget at which intervals are +- HALF-WIDTH.")
    ] = None,
    population: option.Population = None,
    estimator: Annotated[
        Literal["dyn", "stat"], typer.Option(help="Estimator of the samples to come.")
    ] = "dyn",
    relevance_level: option.RelevanceLevel = 1,
    ci_prob: option.CiProb = 0.9,
    anytime: option.Anytime = False,
    scheduler: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="Let the workers of this dask scheduler do the work, such as tcp://host:8786.",
            show_default="this machine",
        ),
    ] = None,
    format: option.TidyFormat = None,
    output: option.OutputFile = None,
) -> None:
    """Say how wide intervals will be, by judgments per topic and number of topics.

    QRELS are the judgments of a pilot (with its --design), or complete judgments of an earlier
    collection. CSV columns: measure, budget, n_topics, judgments (in all), half_width (median of
    the runs), largest_half_width, error (RMS), coverage, difference_error (of two runs), detectable
    (difference found 4 times in 5); with --half-width also budget_needed. Of --scores budget,
    judgments and coverage are empty, and --half-width gives topics_needed.
    """
    from bayeseval.processors import dask_client

    written = option.output_format(format, output)
    if not source.scores:
        measure_labels(source.measure, relevance_level)
    data: Any = read_source(source, judged, output)
    how = EstimatedAtLevel(relevance_level=relevance_level, ci_prob=ci_prob, anytime=anytime)
    asked = asked_of(source, judged, how) | {"n_topics": n_topics, "half_width": half_width}
    if not source.scores:
        asked |= {"estimator": estimator, "budget": budget, "population": population or "sample"}
    with working("planning"), dask_client(scheduler) as executor:
        planned = be.plan(data, **asked, executor=executor)
    if source.scores:
        _note_topics(planned, half_width)
    else:
        note_missing_topics(data)
        _note_plan(data, planned, half_width)
    write_result(as_rows(_rows(planned), about(planned), written, _table), output)


def _rows(planned: Dataset) -> DataFrame:
    """One row for each measure, budget and number of topics."""
    widths = planned["half_width"]
    over_runs = planned.drop_dims("run").assign(
        half_width=widths.median("run"),
        largest_half_width=widths.max("run"),
        error=(planned["error"] ** 2).mean("run") ** 0.5,
    )
    order = [name for name in ("measure", "n_topics", "budget") if name in over_runs.dims]
    rows = over_runs.to_dataframe(dim_order=order).reset_index()
    last = [name for name in ("budget_needed", "topics_needed") if name in rows]
    if "budget" not in rows:  # scores per topic, of which nothing is judged here
        return rows.reindex(columns=[*KEYS, "judgments", *COLUMNS, "detectable", *last])
    rows["judgments"] = rows["judgments"].round().astype(int)
    return rows.loc[:, [*KEYS, "judgments", *COLUMNS, "detectable", *last]]


def _note_topics(planned: Dataset, half_width: float | None) -> None:
    """Say how many topics are needed."""
    if half_width is None:
        return
    for label, number in planned["topics_needed"].to_series().items():
        note(f"{label} within +-{half_width:g} (median run): {counted(number, 'topic')}")


def _note_plan(collection: DataTree, planned: Dataset, half_width: float | None) -> None:
    """Say what the plan rests on, which budgets are too large, and which one is needed."""
    if "design" not in collection.children:
        judged = collection["judgments/grade"].notnull().mean().item()
        note(
            f"without --design the judgments count as complete: {judged:.0%} of the documents here "
            "are judged, and the plan is for samples of these"
        )
    of_topic = planned["judgments"].isel(n_topics=0) / planned["n_topics"].to_numpy()[0]
    too_large = of_topic["budget"] - of_topic > 1e-9 * of_topic  # more than there is to judge
    budgets = planned["budget"].to_numpy()
    if too_large.any():
        note(
            "some topics have fewer documents in the frame than "
            f"{', '.join(map(str, budgets[too_large.to_numpy()].tolist()))}; "
            "they are judged in full there"
        )
    if "length_ratio" in planned:
        ratios = ", ".join(f"{ratio:.2f}" for ratio in planned["length_ratio"].to_numpy())
        note(
            f"intervals that hold at every look are {ratios} times as long as those of a single "
            "look (from the smallest budget on)"
        )
    if half_width is None:
        return
    needed = planned["budget_needed"]
    for label in needed["measure"].to_numpy():
        parts = []
        for topics in needed["n_topics"].to_numpy():
            value = needed.sel(measure=label, n_topics=topics).item()
            number = f"about {value:.0f}" if value == value else f"more than {budgets.max()}"
            number = f"at most {value:.0f}" if value in budgets else number
            parts.append(f"{number} judgments per topic with {counted(topics, 'topic')}")
        note(f"{label} within +-{half_width:g} (median run): {', '.join(parts)}")


def _table(rows: DataFrame, about: dict) -> Table:
    """A line for each measure, budget and number of topics."""
    level = percent(about["ci_prob"])
    over = OVER[about["population"]]
    title = f"{about['estimator']}, {level} {interval_title(about)} over {over}, planned"
    numbers = ["per topic", "topics", "in all", "+-", "widest", "detectable"]
    table = new_table(title, ("measure",), numbers)
    for measure, of_measure in rows.groupby("measure", sort=False):
        for row in of_measure.to_dict("records"):
            cells = [number_cell(row[name], ".0f") for name in ("budget", "n_topics", "judgments")]
            # a dash for what is unknown from one run or one draw
            names = ("half_width", "largest_half_width", "detectable")
            add_cells(table, str(measure), *cells, *(number_cell(row[name]) for name in names))
        table.add_section()
    return table
