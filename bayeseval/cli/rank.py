"""`bayeseval rank`: which ranks are possible for every run."""

from typing import Annotated, Any

import typer

import bayeseval as be
from bayeseval.cli import options as option
from bayeseval.cli.notes import note_estimator, note_scores
from bayeseval.cli.options import (
    DataFrame,
    Dataset,
    EstimatedAtLevel,
    Judged,
    Source,
    Table,
    grouped,
)
from bayeseval.cli.output import note, working, write_result
from bayeseval.cli.reading import asked_of, measure_labels, over_topics, read_source
from bayeseval.cli.tables import OVER, about, add_cells, as_rows, new_table
from bayeseval.messages import counted, percent

COLUMNS = ["run", "measure", "estimator", "estimate"]
COLUMNS += ["rank", "lower", "upper", "tie_group", "expected_rank"]


@grouped
def rank(
    source: Source,
    judged: Judged,
    estimated: EstimatedAtLevel,
    top: Annotated[
        int | None, typer.Option(help="Also say which runs may be among the best TOP.")
    ] = None,
    population: option.Population = None,
    topic_groups: option.TopicGroups = None,
    format: option.TidyFormat = None,
    output: option.OutputFile = None,
) -> None:
    """Rank RUNs, with a confidence set of ranks for each.

    Sets, groups and the best hold for all runs at once. Groups: every run of a group is found
    better than every run of the next. CSV columns: run, measure, estimator, estimate, rank, lower,
    upper (of the rank), tie_group, expected_rank; with --top also best.
    """
    written = option.output_format(format, output)
    if not source.scores:
        measure_labels(source.measure, estimated.relevance_level, estimated.estimator)
    over: dict[str, Any] = over_topics(source, population, topic_groups)
    data: Any = read_source(source, judged, output, topic_groups)
    with working("estimating and ranking"):
        sets = be.rank(data, **asked_of(source, judged, estimated), **over, top=top)
    if not source.scores:
        note_estimator(estimated.estimator, sets)
        note_scores(data, sets)
    asked = about(sets) | ({} if top is None else {"top": top})
    write_result(as_rows(_rows(sets), asked, written, _table), output)
    if top is not None:
        _note_best(sets, top)
    n_groups = sets["tie_group"].max("run")
    alike = n_groups["measure"].to_numpy()[n_groups.to_numpy() == 1].tolist()
    if alike:
        note(
            f"{', '.join(alike)}: one group, since nowhere are all runs above found better than "
            "all below"
        )


def _note_best(sets: Dataset, top: int) -> None:
    """Say of each measure whether the best runs are known, or how many may be among them."""
    level = percent(sets.attrs["ci_prob"])
    for label in sets["measure"].to_numpy():
        possible = sets["run"].to_numpy()[sets["best"].sel(measure=label).to_numpy()].tolist()
        if len(possible) == top:
            note(f"{label}: the best {top} with {level} confidence: {', '.join(possible)}")
        else:
            note(f"{label}: {counted(len(possible), 'run')} may be among the best {top}")


def _rows(sets: Dataset) -> DataFrame:
    """One row for each run and measure, the best first."""
    kept = ["estimate", "rank", "interval", "tie_group", "expected_rank"]
    frame = be.to_frame(sets[kept + (["best"] if "best" in sets else [])])
    frame = frame.assign(estimator=sets.attrs["estimator"])
    frame = frame.loc[:, COLUMNS + (["best"] if "best" in sets else [])]
    order = sets["measure"].to_numpy().tolist()
    frame = frame.assign(place=[order.index(label) for label in frame["measure"]])
    ordered = frame.sort_values(["place", "rank", "run"], kind="stable")
    return ordered.drop(columns="place").reset_index(drop=True)


def _table(rows: DataFrame, about: dict) -> Table:
    """A line for each run, the best first, a rule between groups; one measure is in the title."""
    held = "all at once" + (", at every look" if about.get("anytime") else "")
    over = OVER[about["population"]]
    title = f"{about['estimator']}, {percent(about['ci_prob'])} sets of ranks over {over}, {held}"
    several = len(set(rows["measure"])) > 1
    title = title if several else f"{rows['measure'].iloc[0]}, {title}"
    numbers, sure = ["estimate", "rank", "possible ranks", "expected", "group"], {}
    if "best" in rows:
        numbers.append(f"best {about['top']}")
        for label, of_measure in rows.groupby("measure"):
            sure[label] = of_measure["best"].to_numpy().sum() == about["top"]
    keys = ["measure", "run"] if several else ["run"]
    table = new_table(title, keys, numbers)
    for _, group in rows.groupby(["measure", "tie_group"], sort=False):
        for row in group.to_dict("records"):
            possible = f"{row['lower']} to {row['upper']}"
            cells = [f"{row['estimate']:z.4f}", f"{row['rank']}", possible]
            cells += [f"{row['expected_rank']:.1f}", f"{row['tie_group']}"]
            if "best" in row:
                certain = sure[row["measure"]] or row["upper"] <= about["top"]
                cells.append(("sure" if certain else "possible") if row["best"] else "no")
            add_cells(table, *(row[key] for key in keys), *cells)
        table.add_section()
    return table
