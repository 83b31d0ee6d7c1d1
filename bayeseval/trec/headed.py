"""Tables whose first line names the columns, with commas, semicolons, tabs or blanks between."""

import csv
import io
from collections.abc import Iterator

import pandas as pd

from bayeseval.trec.objects import SYNONYMS

_SEPARATORS = (",", ";", "\t")


def headed_frame(name: str, data: bytes) -> pd.DataFrame | None:
    r"""Table of a file that begins with the names of its columns, or None where it does not.

    Such a file names a topic and a document, in any case and by any name that they have in other
    packages. Cells are text; an empty one is missing.

    Parameters
    ----------
    name : str
        The file, for messages.
    data : bytes
        What it holds: UTF-8 text, with at least one line.

    Returns
    -------
    DataFrame or None

    Raises
    ------
    ValueError
        Where a line has other cells than the header, or there is no line.

    Examples
    --------
    >>> headed_frame("gpt.csv", b"qid,docno,label,why\n1,a,2,'none'\n1,b,,\n")
      topic document label     why
    0     1        a     2  'none'
    1     1        b   NaN     NaN
    """
    text = data.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")
    first = text.partition("\n")[0]
    separator = next((mark for mark in _SEPARATORS if mark in first), None)
    lines = _lines(text, separator)
    columns = _columns(next(lines)[1])
    if columns is None:
        return None
    rows = []
    try:
        for number, cells in lines:
            if len(cells) not in (0, len(columns)):
                raise ValueError(
                    f"{name}, line {number}: {len(cells)} cells where the header has "
                    f"{len(columns)}; a cell with a separator in it needs quotes"
                )
            if cells:
                rows.append([cell.strip() for cell in cells])
    except csv.Error as error:
        raise ValueError(f"{name}: {error}") from error
    if not rows:
        raise ValueError(f"{name} has a header and no other line; it needs at least one.")
    table = pd.DataFrame(rows, columns=columns, dtype=object)
    return table.where(table != "")


def _lines(text: str, separator: str | None) -> Iterator[tuple[int, list[str]]]:
    """Number of every line, where a row ends, and its cells: none of an empty line."""
    if separator is None:
        for number, line in enumerate(text.split("\n"), start=1):
            yield number, line.split()
        return
    reader = csv.reader(io.StringIO(text), delimiter=separator, skipinitialspace=True)
    for cells in reader:
        yield reader.line_num, cells


def _columns(cells: list[str]) -> list[str] | None:
    """Names of columns, those of topic and document ours; None where there are no such two."""
    columns = [cell.strip() for cell in cells]
    lower = [cell.lower() for cell in columns]
    for own in ("topic", "document"):
        found = next((name for name in (own, *SYNONYMS[own]) if name in lower), None)
        if found is None:
            return None
        columns[lower.index(found)] = own
    return columns
