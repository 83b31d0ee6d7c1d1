"""Scores as rows, and rows as text in every format of the command line, with marks if there are."""

import json
import math
import re
import sys
from collections.abc import Sequence
from io import StringIO

from bayeseval.cli.data import DataFrame, Dataset, DataTree, Table
from bayeseval.cli.output import printable
from bayeseval.cli.significance import marks_note, with_places
from bayeseval.messages import percent

COLUMNS = ["run", "topic", "measure", "estimator", "estimate", "standard_error", "lower", "upper"]
ALL = "all"  # the topic of a mean
COUNTS = ["outside_weight", "n_topics", "n_limited"]
RAISED = ["raised_error", "raised_freedom"]  # what intervals over these topics rest on
FURTHER = ["denominator_error", "modelled_share", "degrees_of_freedom", *RAISED, "limited_share"]
OF_COMBINED = ["length_ratio", "model", "model_weight", "unlike_model"]  # of a model
OF_TOPICS = ["n_topics", "outside_weight"]  # topics with a judgment, weight outside the frame
OVER = {"sample": "these topics", "topics": "the population of topics"}
MARKS = ["better_than", "worse_than"]  # where they were asked for

_LATEX = str.maketrans({
    "\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    **{letter: f"\\{letter}" for letter in "_&%#${}"},
    "↑": r"\uparrow", "↓": r"\downarrow", "<": r"$<$", ">": r"$>$",
})  # fmt: skip
_MARKDOWN = str.maketrans({letter: f"\\{letter}" for letter in "\\|*_`<"})
_MARK = re.compile(r"\(([^)]*)\)")


def check_topics(collection: DataTree) -> None:
    """Refuse a topic that would be taken for the mean where every topic has its row."""
    if ALL in collection["topic"].to_numpy():
        raise ValueError(
            f"a topic is named '{ALL}', as the row of the mean over topics is; rename the topic, "
            "or leave out --per-topic"
        )


def score_rows(mean: Dataset, scores: Dataset | None = None) -> DataFrame:
    """One row for each run, topic and measure; topic `all` is the mean, after those of ``scores``.

    Columns are ``COLUMNS``, ``COUNTS`` and ``FURTHER``. Those of the denominator, for ratios over
    the counts of all topics, are the topic's; of a mean the median over topics, and the share of
    topics whose number of relevant documents rests mostly on the others. ``limited_share`` is the
    share of topics that `limited` marks. Of single topics the raised error is not told.
    """
    import xarray as xr

    mean = mean.rename(modelled_topics="modelled_share") if "modelled_topics" in mean else mean
    parts = [_flat(mean).expand_dims(topic=[ALL])]
    if scores is not None:
        counts = {
            "n_topics": scores["estimate"].notnull().astype(int),
            "n_limited": scores["limited"].astype(int),
        }
        parts.insert(0, _flat(scores.assign(counts)))
    flat = xr.concat(parts, dim="topic", join="exact", combine_attrs="drop")
    rows = flat.to_dataframe(dim_order=["run", "topic", "measure"]).reset_index()
    share = rows["n_limited"] / rows["n_topics"].where(rows["n_topics"] > 0)
    rows = rows.assign(estimator=mean.attrs["estimator"], limited_share=share)
    combined = [name for name in OF_COMBINED if name in rows]
    return rows.loc[:, COLUMNS + COUNTS + FURTHER + combined]


def _flat(result: Dataset) -> Dataset:
    """Estimate, standard error, the two bounds and the counts as variables of their own."""
    from bayeseval.tidy import BOUNDS, with_bounds

    unknown = result["estimate"].where(False)
    further = {name: result.get(name, unknown) for name in FURTHER[:-1]}
    kept = ["estimate", "standard_error", *BOUNDS, *COUNTS]
    kept += [name for name in OF_COMBINED if name in result]
    return with_bounds(result)[kept].assign(further)


def sorted_rows(rows: DataFrame, measure: str) -> DataFrame:
    """Rows with the run that has the highest mean of a measure first; runs without one last."""
    asked = rows.loc[(rows["topic"] == ALL) & (rows["measure"] == measure)]
    means = asked.set_index("run")["estimate"]
    best_first = means.dropna().sort_values(ascending=False, kind="stable").index
    place = {run: number for number, run in enumerate(best_first)}
    return rows.sort_values("run", key=lambda runs: runs.map(place), kind="stable")


def as_csv(rows: DataFrame, about: dict) -> str:
    """Comma-separated, every digit, nothing where there is no number."""
    further = [name for name in FURTHER + OF_TOPICS + OF_COMBINED + MARKS if name in rows]
    return rows.to_csv(index=False, lineterminator="\n", columns=COLUMNS + further)


def as_json(rows: DataFrame, about: dict, name: str = "scores") -> str:
    """One object: what was asked, and a list of rows with null where there is no finite number."""
    records = rows.drop(columns="mark", errors="ignore").to_dict("records")
    whole = _finite(about | {name: records})
    return json.dumps(whole, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def _finite(value):
    """The same, at any depth, with None for NaN, infinity and what is missing."""
    import pandas as pd

    if isinstance(value, dict):
        return {key: _finite(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(one) for one in value]
    unknown = pd.isna(value) or (isinstance(value, float) and math.isinf(value))
    return None if unknown else value


def as_trec_eval(rows: DataFrame, about: dict) -> str:
    """The three columns of trec_eval, measure, topic and value, a `runid` line before each run.

    Measures have its names where it has them.
    """
    from bayeseval.measures.names import trec_eval_name

    lines = []
    for run, of_run in rows.groupby("run", sort=False):
        lines.append(f"{'runid':<22}\tall\t{run}")
        for row in of_run.to_dict("records"):
            measure = trec_eval_name(row["measure"])
            lines.append(f"{measure:<22}\t{row['topic']}\t{row['estimate']:.4f}")
    return "\n".join(lines) + "\n"


def title(rows: DataFrame, about: dict) -> str:
    """The estimator, and what the intervals are where there are any."""
    if rows["lower"].isna().to_numpy().all():
        return f"{about['estimator']}, no intervals"
    level, over = percent(about["ci_prob"]), OVER[about["population"]]
    return f"{about['estimator']}, {level} intervals over {over}"


def caption(rows: DataFrame) -> list[str]:
    """Least degrees of freedom of each measure's intervals, and ratios that were limited."""
    means = rows.loc[(rows["topic"] == ALL) & rows["lower"].notna()]
    means = means.reindex(columns=["measure", "degrees_of_freedom", "limited_share"])
    known = means.loc[means["degrees_of_freedom"] < math.inf]
    freedom = known.groupby("measure", sort=False)["degrees_of_freedom"].min()
    some = means.loc[means["limited_share"] > 0]
    limited = some.groupby("measure", sort=False)["limited_share"].max()
    parts = []
    if freedom.size:
        listed = ", ".join(f"{label} {value:.0f}" for label, value in freedom.items())
        parts.append(f"degrees of freedom, least of the runs: {listed}")
    if limited.size:
        listed = ", ".join(f"{label} {value:.0%}" for label, value in limited.items())
        parts.append(
            f"topics whose ratio was limited to what is possible, in the run with most: {listed}"
        )
    return parts


def score_table(rows: DataFrame, about: dict) -> Table:
    """A line for each run (and topic), estimate and interval by measure."""
    keys = ["run"] if set(rows["topic"]) == {ALL} else ["run", "topic"]
    measures = list(dict.fromkeys(rows["measure"]))
    lines: dict[tuple[str, ...], dict[str, str]] = {}
    for row in rows.to_dict("records"):
        labels = tuple(row[key] for key in keys)
        lines.setdefault(labels, {})[row["measure"]] = _cell(row)
    table = new_table(title(rows, about), keys, measures)
    for labels, of_run in lines.items():
        add_cells(table, *labels, *(of_run[name] for name in measures))
    return table


def _cell(row: dict) -> str:
    """Estimate, mark and interval, of what was not sampled the estimate; a dash where none is."""
    mark = f"({row['mark']})" if row.get("mark") else ""
    return f"{number_cell(row['estimate'])}{mark} {interval_cell(row)}".rstrip()


def number_cell(number: float, form: str = "z.4f") -> str:
    """A number, a dash where it is not known."""
    return "-" if math.isnan(number) else f"{number:{form}}"


def interval_cell(row: dict) -> str:
    """The interval of a row; nothing where it has none."""
    known = not math.isnan(row["lower"])
    return f"[{row['lower']:z.4f}, {row['upper']:z.4f}]" if known else ""


def new_table(title: str, keys: Sequence[str], numbers: Sequence[str]) -> Table:
    """A table without lines: columns of labels to the left, of numbers to the right."""
    from rich.table import Table
    from rich.text import Text

    table = Table(title=title)
    for name in keys:
        table.add_column(Text(name), no_wrap=True)
    for name in numbers:
        table.add_column(Text(name), justify="right", no_wrap=True)
    return table


def add_cells(table: Table, *cells: str) -> None:
    """Add a line, in which what a terminal would obey is written as an escape."""
    from rich.text import Text

    table.add_row(*(Text(printable(cell)) for cell in cells))


def rendered(table: Table) -> str:
    """The plain text of a table, as wide as it needs; in ASCII where stdout has no other lines."""
    from rich import box
    from rich.console import Console

    text = StringIO()
    if not _encodes(str(table.box)):
        table.box = box.ASCII
    Console(file=text, width=10_000, color_system=None, legacy_windows=False).print(table)
    return "\n".join(line.rstrip() for line in text.getvalue().splitlines()) + "\n"


def _encodes(text: str) -> bool:
    """Whether stdout has the letters of a text; under Windows those of a file are few."""
    try:
        text.encode(getattr(sys.stdout, "encoding", None) or "utf-8")
    except UnicodeEncodeError:
        return False
    return True


def as_scores(rows: DataFrame, about: dict, format: str) -> str:
    """Rows of scores: as a table for people, typeset, as CSV or JSON, or as trec_eval has them."""
    if format in WRITERS:
        return WRITERS[format](rows, about)
    # beside a table for people the letters are told below alone
    table = score_table(rows if format == "table" else with_places(rows, about), about)
    return _typeset(table, format, [*caption(rows), *marks_note(rows, about)])


def as_rows(rows: DataFrame, about: dict, format: str, table) -> str:
    """Rows of a command of its own columns: as a table for people, typeset, as CSV or as JSON.

    ``about`` is what was asked, the head of the JSON; ``table`` makes a rich Table of both.
    """
    if format == "csv":
        return rows.to_csv(index=False, lineterminator="\n")
    if format == "json":
        return as_json(rows, about, "rows")
    return _typeset(table(rows, about), format)


def _typeset(table: Table, format: str, notes: Sequence[str] = ()) -> str:
    """A table with notes, for people, in LaTeX or Markdown.

    Columns to the right have numbers; what stands there in brackets is a mark, which is raised.
    """
    if format == "table":
        return rendered(table) + "".join(f"{printable(note)}\n" for note in notes)
    latex = format == "latex"
    letters, raised = (_LATEX, r"$^{\1}$") if latex else (_MARKDOWN, r"<sup>\1</sup>")
    columns, sides = [], ""
    for column in table.columns:
        cells = [str(cell).translate(letters) for cell in column.cells]
        if column.justify == "right":
            cells = [_MARK.sub(raised, cell) for cell in cells]
        if latex and column.justify == "right":  # a minus where text has a hyphen
            cells = [cell.replace("-", "$-$") for cell in cells]
        columns.append([str(column.header).translate(letters), *cells])
        sides += "r" if column.justify == "right" else "l"
    header, *lines = zip(*columns, strict=True)
    title = str(table.title)
    if latex:
        text = [f"% {note}".replace("↑", "up").replace("↓", "down") for note in (title, *notes)]
        text += [f"\\begin{{tabular}}{{{sides}}}", r"\toprule"]
        text += [" & ".join(header) + r" \\", r"\midrule"]
        text += [" & ".join(line) + r" \\" for line in lines]
        return "\n".join([*text, r"\bottomrule", r"\end{tabular}"]) + "\n"
    rule = ["---:" if side == "r" else "---" for side in sides]
    pipes = [f"| {' | '.join(line)} |" for line in (header, rule, *lines)]
    return "\n".join([title, "", *pipes, *(f"\n{note}" for note in notes)]) + "\n"


WRITERS = {"csv": as_csv, "json": as_json, "trec_eval": as_trec_eval}
