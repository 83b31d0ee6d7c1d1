"""Tables whose first line names the columns, with commas, semicolons, tabs or blanks between."""

import csv
import io
from typing import Any

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
        What it holds.

    Returns
    -------
    DataFrame or None

    Raises
    ------
    ValueError
        Where the table cannot be read, or has no row.

    Examples
    --------
    >>> headed_frame("gpt.csv", b"qid,docno,label,why\n1,a,2,'none'\n1,b,,\n")
      topic document label     why
    0     1        a     2  'none'
    1     1        b   NaN     NaN
    """
    first = data.split(b"\n", 1)[0].decode(errors="replace")
    separator = next((mark for mark in _SEPARATORS if mark in first), None)
    cells = next(csv.reader([first.strip()], delimiter=separator)) if separator else first.split()
    columns = _columns(cells)
    if columns is None:
        return None
    how: dict[str, Any] = {"sep": separator} if separator else {"sep": r"\s+"}
    try:
        table = pd.read_csv(
            io.BytesIO(data), dtype=str, header=0, names=columns, keep_default_na=False,
            na_values=[""], index_col=False, **how,
        )  # fmt: skip
    except (ValueError, UnicodeDecodeError) as error:  # pandas' own errors are ValueErrors
        raise ValueError(f"{name}: {str(error).strip()}") from error
    if table.empty:
        raise ValueError(f"{name} has a header and no other line; it needs at least one.")
    return table


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
