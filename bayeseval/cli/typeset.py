"""Rows in every format: tables for people, LaTeX and Markdown, with marks where there are some."""

import re
from collections.abc import Sequence

from bayeseval.cli.data import DataFrame, Table
from bayeseval.cli.output import printable
from bayeseval.cli.significance import marks_note, with_places
from bayeseval.cli.tables import as_csv, as_json, as_trec_eval, caption, rendered, score_table

_LATEX = str.maketrans({
    "\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    **{letter: f"\\{letter}" for letter in "_&%#${}"},
    "↑": r"\uparrow", "↓": r"\downarrow", "<": r"$<$", ">": r"$>$",
})  # fmt: skip
_MARKDOWN = str.maketrans({letter: f"\\{letter}" for letter in "\\|*_`<"})
_MARK = re.compile(r"\(([^)]*)\)")


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
