"""Scores as LaTeX and Markdown tables, with marks of significance where they were asked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from bayeseval.cli.significance import marks_note, with_places
from bayeseval.cli.tables import (
    as_csv,
    as_json,
    as_table,
    as_trec_eval,
    caption,
    cells,
    rendered,
    title,
)

if TYPE_CHECKING:
    import pandas as pd
    from rich.table import Table

_LATEX = {
    "\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    **{letter: f"\\{letter}" for letter in "_&%#${}"},
    "↑": r"\uparrow", "↓": r"\downarrow", "<": r"$<$", ">": r"$>$",
}  # fmt: skip


def as_latex(rows: pd.DataFrame, about: dict) -> str:
    """A tabular for the package booktabs, the title and the notes as comments."""
    named = with_places(rows, about)
    keys, measures, lines = cells(named, lambda text: f"$^{{{text}}}$", _latex)
    notes = [title(rows, about), *caption(rows), *marks_note(rows, about)]
    return _tabular([*keys, *measures], lines, len(keys), notes)


def as_markdown(rows: pd.DataFrame, about: dict) -> str:
    """A table of Markdown, the title above and the notes below."""
    named = with_places(rows, about)
    keys, measures, lines = cells(named, lambda text: f"<sup>{text}</sup>", _markdown)
    notes = [*caption(rows), *marks_note(rows, about)]
    table = _pipes([*keys, *measures], lines, len(keys))
    return "\n".join([title(rows, about), "", *table, *(f"\n{note}" for note in notes)]) + "\n"


def as_rows(rows: pd.DataFrame, about: dict, format: str, table) -> str:
    """Rows of a command of its own columns: as a table for people, typeset, as CSV or as JSON.

    ``about`` is what was asked, the head of the JSON; ``table`` makes a rich Table of both.
    """
    if format == "csv":
        return rows.to_csv(index=False, lineterminator="\n")
    if format == "json":
        return as_json(rows, about, "rows")
    made = table(rows, about)
    return rendered(made) if format == "table" else _typeset(made, format)


def _typeset(table: Table, format: str) -> str:
    """A table made for people, in LaTeX or Markdown; columns to the right have numbers."""
    escape = _latex if format == "latex" else _markdown
    header = [escape(str(column.header)) for column in table.columns]
    columns = [[escape(str(cell)) for cell in column.cells] for column in table.columns]
    lines = [list(line) for line in zip(*columns, strict=True)]
    n_keys = sum(column.justify != "right" for column in table.columns)
    if format == "latex":
        return _tabular(header, lines, n_keys, [str(table.title)])
    return "\n".join([str(table.title), "", *_pipes(header, lines, n_keys)]) + "\n"


def _tabular(header: list[str], lines: list[list[str]], n_keys: int, notes: list[str]) -> str:
    """LaTeX, the first columns to the left and the others to the right."""
    text = [f"% {_ascii(note)}" for note in notes]
    text += [f"\\begin{{tabular}}{{{'l' * n_keys}{'r' * (len(header) - n_keys)}}}", r"\toprule"]
    text += [" & ".join(header) + r" \\", r"\midrule"]
    text += [" & ".join(_with_minus(line, n_keys)) + r" \\" for line in lines]
    return "\n".join([*text, r"\bottomrule", r"\end{tabular}"]) + "\n"


def _with_minus(line: list[str], n_keys: int) -> list[str]:
    """A line whose numbers, the cells after the first, have a minus where text has a hyphen."""
    return [*line[:n_keys], *(cell.replace("-", "$-$") for cell in line[n_keys:])]


def _pipes(header: list[str], lines: list[list[str]], n_keys: int) -> list[str]:
    """Lines of a Markdown table, the first columns to the left and the others to the right."""
    rule = ["---"] * n_keys + ["---:"] * (len(header) - n_keys)
    return [f"| {' | '.join(line)} |" for line in (header, rule, *lines)]


def _latex(text: str) -> str:
    return "".join(_LATEX.get(letter, letter) for letter in text)


def _markdown(text: str) -> str:
    return "".join(f"\\{letter}" if letter in "\\|*_`<" else letter for letter in text)


def _ascii(text: str) -> str:
    return text.replace("↑", "up").replace("↓", "down")


WRITERS: dict[str, Callable[[pd.DataFrame, dict], str]] = {
    "table": as_table,
    "markdown": as_markdown,
    "latex": as_latex,
    "csv": as_csv,
    "json": as_json,
    "trec_eval": as_trec_eval,
}
