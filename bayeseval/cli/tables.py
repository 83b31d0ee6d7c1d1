"""Scores as rows, with marks of significant differences, and rows as text in every format."""

import json
import math
import re
import sys
from collections.abc import Iterable, Sequence
from io import StringIO
from string import ascii_lowercase

import bayeseval as be
from bayeseval.cli.options import DataFrame, Dataset, Table
from bayeseval.cli.output import printable
from bayeseval.messages import percent

COLUMNS = ["run", "topic", "measure", "estimator", "estimate", "standard_error", "lower", "upper"]
ALL = "all"  # the topic of a mean; in --against, all pairs of runs
ERRORS = ["degrees_of_freedom", "design_error"]  # of design estimates
COUNTS = ["n_topics", "outside_weight"]  # topics with a judgment, weight outside the frame
# of combined scores, and of looks
OPTIONAL = ["length_ratio", "model", "model_weight", "unlike_model", "more_judgments"]
OVER = {"sample": "these topics", "topics": "the population of topics"}
MARKS = ["better_than", "worse_than"]  # where --against asks for them
LEVEL = 0.05  # of a p value adjusted for all comparisons of the measure

_LATEX = str.maketrans({
    "\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    **{letter: f"\\{letter}" for letter in "_&%#${}"},
    "↑": r"\uparrow", "↓": r"\downarrow", "<": r"$<$", ">": r"$>$", "|": r"\textbar{}",
})  # fmt: skip
# of labels also what is an option after the end of a line: \\ [x]
_LATEX_LABELS = _LATEX | {ord(letter): f"{{{letter}}}" for letter in "[]*"}
_MARKDOWN = str.maketrans({letter: f"\\{letter}" for letter in "\\|*_`<"})
_MARKDOWN_LABELS = _MARKDOWN | {ord(letter): f"\\{letter}" for letter in "[]&~$#"}
_MARK = re.compile(r"\(([^)]*)\)")


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


def with_marks(rows: DataFrame, pairs: Dataset) -> DataFrame:
    """Rows of means with the runs that each is better and worse than, and the mark that says so.

    ``pairs`` are of ``be.compare``. Columns better_than and worse_than have labels with blanks
    between, mark the letters of the runs that it is better than, by their place in the table, or an
    arrow where all are compared with one; rows of single topics get none.
    """
    reference = pairs.attrs["reference"]
    above: dict[tuple[str, str], list[str]] = {}
    below: dict[tuple[str, str], list[str]] = {}
    for row in be.to_frame(pairs).to_dict("records"):
        if row["p_tukey"] < LEVEL and row["estimate"] != 0:
            first, second = row["run_a"], row["run_b"]
            better, worse = (first, second) if row["estimate"] > 0 else (second, first)
            above.setdefault((better, row["measure"]), []).append(worse)
            below.setdefault((worse, row["measure"]), []).append(better)
    keys = list(zip(rows["run"], rows["measure"], rows["topic"], strict=True))
    better, worse = (
        [runs.get((run, measure), []) if topic == ALL else [] for run, measure, topic in keys]
        for runs in (above, below)
    )
    if reference:
        marks = [
            "" if run == reference else "↑" if more else "↓" if less else ""
            for (run, _, _), more, less in zip(keys, better, worse, strict=True)
        ]
    else:
        letters = _letters(rows)
        joint = "" if len(letters) <= len(ascii_lowercase) else ","
        marks = [joint.join(letters[run] for run in letters if run in more) for more in better]
    texts = zip(MARKS, (better, worse), strict=True)
    columns = {name: [" ".join(runs) for runs in lists] for name, lists in texts}
    return rows.assign(**columns, mark=marks)


def _letters(rows: DataFrame) -> dict[str, str]:
    """Letter of every run by its place in the table; the place's number where there are many."""
    names = list(dict.fromkeys(rows["run"]))
    lettered = len(names) <= len(ascii_lowercase)
    return {name: ascii_lowercase[i] if lettered else str(i + 1) for i, name in enumerate(names)}


def all_pairs(against: str, runs: Iterable[str]) -> bool:
    """Whether --against asks for all pairs, since the word for that is no run's name."""
    return against == ALL and ALL not in runs


def marks_note(rows: DataFrame, about: dict) -> list[str]:
    """What the marks mean, as one sentence; none where there are none."""
    if "mark" not in rows:
        return []
    rule = f"(p < {LEVEL:g} by Tukey's test, adjusted for all comparisons of a measure)"
    against, letters = about["against"], _letters(rows)
    if not all_pairs(against, letters):
        return [f"↑ ↓: better or worse than {against} {rule}"]
    listed = ", ".join(f"{letter} {name}" for name, letter in letters.items())
    return [f"raised: the runs that it is better than {rule}; {listed}"]


def as_csv(rows: DataFrame, about: dict) -> str:
    """Comma-separated, every digit, nothing where there is no number."""
    columns = [*COLUMNS, *ERRORS, *COUNTS, *OPTIONAL, *MARKS]
    present = [name for name in columns if name in rows]
    return rows.to_csv(index=False, lineterminator="\n", columns=present)


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
        mark = f"({row['mark']})" if row.get("mark") else ""
        cell = f"{number_cell(row['estimate'])}{mark} {interval_cell(row)}".rstrip()
        more = row.get("more_judgments")
        if isinstance(more, int):  # where it is known
            cell += f"  {more} more" if more else "  enough"
        lines.setdefault(tuple(row[key] for key in keys), {})[row["measure"]] = cell
    table = new_table(title, keys, measures)
    for labels, of_run in lines.items():
        add_cells(table, *labels, *(of_run[name] for name in measures))
    return table


def interval_title(about: dict) -> str:
    """The noun of a title: intervals of one look, or those that hold at every look."""
    return "intervals at every look" if about.get("anytime") else "intervals"


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

    table = Table(title=Text(title))  # a label in it is no markup
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
    Console(file=text, width=10_000, color_system=None, legacy_windows=False).print(table)
    return "\n".join(line.rstrip() for line in text.getvalue().splitlines()) + "\n"


def as_scores(rows: DataFrame, about: dict, format: str) -> str:
    """Rows of scores: as a table for people, typeset, as CSV or JSON, or as trec_eval has them.

    Notes below a table are the least degrees of freedom of each measure's intervals, and what its
    marks mean.
    """
    if format in WRITERS:
        return WRITERS[format](rows, about)
    shown, letters = rows, _letters(rows)
    # below a table for people a note has the letters of the runs
    if format != "table" and "mark" in rows and all_pairs(about["against"], letters):
        shown = rows.assign(run=[f"{run} ({letters[run]})" for run in rows["run"]])
    table = score_table(shown, about)
    notes, known = [], rows.loc[(rows["topic"] == ALL) & rows["lower"].notna()]
    if "degrees_of_freedom" in rows:
        known = known.loc[known["degrees_of_freedom"] < math.inf]
        freedom = known.groupby("measure", sort=False)["degrees_of_freedom"].min()
        if freedom.size:
            listed = ", ".join(f"{label} {value:.0f}" for label, value in freedom.items())
            notes.append(f"degrees of freedom, least of the runs: {listed}")
    if "more_judgments" in rows and (rows["more_judgments"].dropna() > 0).to_numpy().any():
        notes.append(
            "more: about how many further documents of each topic are to be judged until half of "
            f"the interval's length is {about['half_width']:g}"
        )
    return _typeset(table, format, [*notes, *marks_note(rows, about)])


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
    of_labels = _LATEX_LABELS if latex else _MARKDOWN_LABELS
    columns, sides = [], ""
    for column in table.columns:
        own = letters if column.justify == "right" else of_labels
        cells = [str(cell).translate(own) for cell in column.cells]
        if column.justify == "right":
            cells = [_MARK.sub(raised, cell) for cell in cells]
        if latex and column.justify == "right":  # a minus where text has a hyphen
            cells = [cell.replace("-", "$-$") for cell in cells]
        columns.append([str(column.header).translate(letters), *cells])
        sides += "r" if column.justify == "right" else "l"
    header, *lines = zip(*columns, strict=True)
    title, *notes = (printable(note) for note in (str(table.title), *notes))
    if latex:
        text = [f"% {note}".replace("↑", "up").replace("↓", "down") for note in (title, *notes)]
        text += [f"\\begin{{tabular}}{{{sides}}}", r"\toprule"]
        text += [" & ".join(header) + r" \\", r"\midrule"]
        text += [" & ".join(line) + r" \\" for line in lines]
        return "\n".join([*text, r"\bottomrule", r"\end{tabular}"]) + "\n"
    rule = ["---:" if side == "r" else "---" for side in sides]
    pipes = [f"| {' | '.join(line)} |" for line in (header, rule, *lines)]
    title, *notes = (note.translate(_MARKDOWN) for note in (title, *notes))
    return "\n".join([title, "", *pipes, *(f"\n{note}" for note in notes)]) + "\n"


WRITERS = {"csv": as_csv, "json": as_json, "trec_eval": as_trec_eval}
