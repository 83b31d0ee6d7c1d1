"""Scores as rows, and rows as text in every format."""

import json
import math
import sys
from collections.abc import Sequence
from io import StringIO
from typing import Any

from bayeseval.cli.options import DataFrame, Dataset, Table
from bayeseval.cli.output import printable
from bayeseval.messages import percent

COLUMNS = ["run", "topic", "measure", "estimator", "estimate", "standard_error", "lower", "upper"]
ALL = "all"  # the topic of a mean
ERRORS = ["degrees_of_freedom", "design_error"]  # of design estimates
COUNTS = ["n_topics", "outside_weight"]  # topics with a judgment, weight outside the frame
# of combined scores, and of looks
OPTIONAL = ["length_ratio", "model", "model_weight", "unlike_model", "more_judgments"]
OVER = {"sample": "these topics", "topics": "the population of topics"}
ABOUT = ("estimator", "population", "ci_prob", "prior")  # attributes that say what was asked
FEW = 5  # degrees of freedom, below which an error is hardly known
WIDTH = 80  # of a terminal

_LATEX = str.maketrans({
    "\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    **{letter: f"\\{letter}" for letter in "_&%#${}"},
    "<": r"$<$", ">": r"$>$", "|": r"\textbar{}",
})  # fmt: skip
# of labels also what is an option after the end of a line: \\ [x]
_LATEX_LABELS = _LATEX | {ord(letter): f"{{{letter}}}" for letter in "[]*"}
_MARKDOWN = str.maketrans({letter: f"\\{letter}" for letter in "\\|*_`<"})
_MARKDOWN_LABELS = _MARKDOWN | {ord(letter): f"\\{letter}" for letter in "[]&~$#"}


def score_rows(mean: Dataset, scores: Dataset | None = None) -> DataFrame:
    """One row for each run, topic and measure; topic `all` is the mean, after those of ``scores``.

    Columns are ``COLUMNS``, ``ERRORS`` (empty where there are none), ``COUNTS`` and those of
    ``OPTIONAL`` that there are.
    """
    import xarray as xr

    from bayeseval.tidy import BOUNDS, with_bounds

    def flat(result: Dataset) -> Dataset:
        unknown = result["estimate"].where(False)
        errors = {name: result.get(name, unknown) for name in ERRORS}
        kept = ["estimate", "standard_error", *BOUNDS, *COUNTS]
        kept += [name for name in OPTIONAL if name in result]
        return with_bounds(result)[kept].assign(errors)

    parts = [flat(mean).expand_dims(topic=[ALL])]
    if scores is not None:
        parts.insert(0, flat(scores.assign(n_topics=scores["estimate"].notnull().astype(int))))
    joined = xr.concat(parts, dim="topic", join="exact", combine_attrs="drop")
    rows = joined.to_dataframe(dim_order=["run", "topic", "measure"]).reset_index()
    rows = rows.assign(estimator=mean.attrs["estimator"])
    if "more_judgments" in rows:
        rows = rows.astype({"more_judgments": "Int64"})
    return rows.loc[:, COLUMNS + ERRORS + COUNTS + [name for name in OPTIONAL if name in rows]]


def sorted_rows(rows: DataFrame, measure: str) -> DataFrame:
    """Rows with the run that has the highest mean of a measure first; runs without one last."""
    asked = rows.loc[(rows["topic"] == ALL) & (rows["measure"] == measure)]
    means = asked.set_index("run")["estimate"]
    best_first = means.dropna().sort_values(ascending=False, kind="stable").index
    place = {run: number for number, run in enumerate(best_first)}
    return rows.sort_values("run", key=lambda runs: runs.map(place), kind="stable")


def as_csv(rows: DataFrame, about: dict) -> str:
    """Comma-separated, every digit, nothing where there is no number."""
    columns = [*COLUMNS, *ERRORS, *COUNTS, *OPTIONAL]
    present = [name for name in columns if name in rows]
    return rows.to_csv(index=False, lineterminator="\n", columns=present)


def as_json(rows: DataFrame, about: dict, name: str = "scores") -> str:
    """One object: what was asked, and a list of rows with null where there is no finite number."""
    whole = _finite(about | {name: rows.to_dict("records")})
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


def score_table(rows: DataFrame, about: dict) -> Table:
    """A line for each run (and topic), estimate and interval by measure."""
    title = f"{about['estimator']}, no intervals"
    if rows["lower"].notna().to_numpy().any():
        level, over = percent(about["ci_prob"]), OVER[about["population"]]
        title = f"{about['estimator']}, {level} {interval_title(about)} over {over}"
    keys = ["run"] if set(rows["topic"]) == {ALL} else ["run", "topic"]
    measures = list(dict.fromkeys(rows["measure"]))
    lines: dict[tuple[str, ...], dict[str, str]] = {}
    for row in rows.to_dict("records"):
        cell = f"{number_cell(row['estimate'])} {interval_cell(row)}".rstrip()
        more = row.get("more_judgments")
        if isinstance(more, int):  # where it is known
            cell += f"  {more} more" if more else "  enough"
        lines.setdefault(tuple(row[key] for key in keys), {})[row["measure"]] = cell
    table = new_table(title, keys, measures)
    for labels, of_run in lines.items():
        add_cells(table, *labels, *(of_run[name] for name in measures))
    return table


def about(result: Dataset) -> dict[str, Any]:
    """What was asked, by the attributes of a result: the head of the JSON."""
    asked = {name: result.attrs[name] for name in ABOUT if result.attrs.get(name)}
    return asked | ({"anytime": True} if result.attrs.get("anytime") else {})


def interval_title(about: dict) -> str:
    """The noun of a title: intervals of one look, or those that hold at every look."""
    return "intervals at every look" if about.get("anytime") else "intervals"


def number_cell(number: float, form: str = "z.4f") -> str:
    """A number, a dash where it is not known."""
    return "-" if math.isnan(number) else f"{number:{form}}"


def p_cell(number: float) -> str:
    """A p value, which is never 0."""
    return "< .0001" if number < 0.0001 else number_cell(number, ".4f")


def interval_cell(row: dict) -> str:
    """The interval of a row; nothing where it has none."""
    known = not math.isnan(row["lower"])
    return f"[{row['lower']:z.4f}, {row['upper']:z.4f}]" if known else ""


def new_table(title: str, keys: Sequence[str], numbers: Sequence[str]) -> Table:
    """A table without lines: columns of labels to the left, of numbers to the right."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(
        title=Text(title),  # a label in it is no markup
        box=box.SIMPLE_HEAD,
        pad_edge=False,
        collapse_padding=True,
    )
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
    try:  # under Windows the letters of a file are few
        str(table.box).encode(getattr(sys.stdout, "encoding", None) or "utf-8")
    except UnicodeEncodeError:
        table.box = box.ASCII
    title, table.title = table.title, None  # it may be wider than the table
    Console(file=text, width=10_000, color_system=None, legacy_windows=False).print(table)
    table.title = title
    lines = [line.rstrip() for line in text.getvalue().splitlines()]
    lines = lines[not lines[0] :]  # the upper edge of a table without lines
    return "\n".join([*([f"{title}\n"] if title else []), *lines]) + "\n"


def as_scores(rows: DataFrame, about: dict, format: str) -> str:
    """Rows of scores: as a table for people, typeset, as CSV or JSON, or as trec_eval has them.

    A note below a table says where errors have few degrees of freedom.
    """
    if format in WRITERS:
        return WRITERS[format](rows, about)
    notes, known = [], rows.loc[(rows["topic"] == ALL) & rows["lower"].notna()]
    if "degrees_of_freedom" in rows:
        freedom = known.groupby("measure", sort=False)["degrees_of_freedom"].min()
        few = [f"{label} {value:.0f}" for label, value in freedom.items() if value < FEW]
        if few:
            notes.append(
                f"errors are known from few numbers (degrees of freedom: {', '.join(few)}): "
                "so intervals are long"
            )
    if "more_judgments" in rows and (rows["more_judgments"].dropna() > 0).to_numpy().any():
        notes.append(
            "more: about how many further documents of each topic are to be judged until half of "
            f"the interval's length is {about['half_width']:g}"
        )
    if format != "table":
        return _typeset(score_table(rows, about), format, notes)
    text = "\n".join(rendered(table) for table in _narrow_tables(rows, about))
    return text + "".join(f"{printable(note)}\n" for note in notes)


def _narrow_tables(rows: DataFrame, about: dict) -> list[Table]:
    """Tables of as many measures each as fit a terminal, of one at least."""
    measures = list(dict.fromkeys(rows["measure"]))
    for number in range(len(measures), 0, -1):
        parts = [measures[first : first + number] for first in range(0, len(measures), number)]
        tables = [score_table(rows.loc[rows["measure"].isin(part)], about) for part in parts]
        lines = [line for table in tables for line in rendered(table).splitlines()]
        if number == 1 or max(map(len, lines)) <= WIDTH:
            return tables
    return []


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
    """A table with notes, for people, in LaTeX or Markdown; columns to the right have numbers."""
    if format == "table":
        return rendered(table) + "".join(f"{printable(note)}\n" for note in notes)
    latex = format == "latex"
    letters = _LATEX if latex else _MARKDOWN
    of_labels = _LATEX_LABELS if latex else _MARKDOWN_LABELS
    columns, sides = [], ""
    for column in table.columns:
        own = letters if column.justify == "right" else of_labels
        cells = [str(cell).translate(own) for cell in column.cells]
        if latex and column.justify == "right":  # a minus where text has a hyphen
            cells = [cell.replace("-", "$-$") for cell in cells]
        columns.append([str(column.header).translate(letters), *cells])
        sides += "r" if column.justify == "right" else "l"
    header, *lines = zip(*columns, strict=True)
    title, *notes = (printable(note) for note in (str(table.title), *notes))
    if latex:
        text = [f"% {note}" for note in (title, *notes)]
        text += [f"\\begin{{tabular}}{{{sides}}}", r"\toprule"]
        text += [" & ".join(header) + r" \\", r"\midrule"]
        text += [" & ".join(line) + r" \\" for line in lines]
        return "\n".join([*text, r"\bottomrule", r"\end{tabular}"]) + "\n"
    rule = ["---:" if side == "r" else "---" for side in sides]
    pipes = [f"| {' | '.join(line)} |" for line in (header, rule, *lines)]
    title, *notes = (note.translate(_MARKDOWN) for note in (title, *notes))
    return "\n".join([title, "", *pipes, *(f"\n{note}" for note in notes)]) + "\n"


WRITERS = {"csv": as_csv, "json": as_json, "trec_eval": as_trec_eval}
