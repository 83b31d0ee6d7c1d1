"""Tables whose first line names the columns, with commas, semicolons, tabs or blanks between."""

import csv
import io
import re
from collections.abc import Iterator

import pandas as pd

from bayeseval.trec.frames import LINE
from bayeseval.trec.lines import check_text
from bayeseval.trec.objects import BEIR, SYNONYMS, VALUE

_SEPARATORS = (",", ";", "\t")
_IN_ANY_CASE = {*SYNONYMS, *VALUE.values(), "stratum", "probability", "method", "label"}


def headed_frame(name: str, data: bytes, kind: str) -> pd.DataFrame | None:
    r"""Table of a file that begins with the names of its columns, or None where it does not.

    Such a file names a topic and a document, in any case and by any name that they have in other
    packages. Cells are text; an empty one is missing.

    Parameters
    ----------
    name : str
        The file, for messages.
    data : bytes
        What it holds, with at least one line.
    kind : {"run", "judgments"}
        What it should be: the score of BEIR's judgments is a grade.

    Returns
    -------
    DataFrame or None
        The index is the number of a row's line.

    Raises
    ------
    ValueError
        Where the file is not UTF-8 text, a line has other cells than the header, or there is no
        line.

    Examples
    --------
    >>> headed_frame("gpt.csv", b"qid,docno,label,why\n1,a,2,'no'\n1,b,,\n", "judgments")
         topic document label   why
    line
    2        1        a     2  'no'
    3        1        b   NaN   NaN
    """
    end = re.search(rb"[\r\n]", data)
    first = data[: end.start() if end else None].decode("utf-8-sig", errors="replace")
    separator = next((mark for mark in _SEPARATORS if mark in first), None)
    columns = our_columns(next(_lines(first, separator))[1], kind)
    if columns is None:
        return None
    check_text(name, data)
    lines = _lines(data.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n"), separator)
    next(lines)
    rows, numbers = [], []
    try:
        for number, cells in lines:
            if len(cells) not in (0, len(columns)):
                raise ValueError(
                    f"{name}, line {number}: {len(cells)} cells where the header has "
                    f"{len(columns)}; a cell with a separator in it needs quotes"
                )
            if cells:
                rows.append([cell.strip() for cell in cells])
                numbers.append(number)
    except csv.Error as error:
        raise ValueError(f"{name}: {error}") from error
    if not rows:
        raise ValueError(f"{name} has a header and no other line; it needs at least one.")
    place = pd.Index(numbers, name=LINE)
    table = pd.DataFrame(rows, index=place, columns=columns, dtype=object)
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


def our_columns(names: list[str], kind: str) -> list[str] | None:
    """Names of columns with those of topic and document ours; None where there are no such two.

    What else has a name of ours in capitals has it in small letters.

    Examples
    --------
    >>> our_columns(["query-id", "corpus-id", "score"], "judgments")
    ['topic', 'document', 'grade']
    """
    columns = [name.strip() for name in names]
    lower = [name.lower() for name in columns]
    if kind == "judgments" and BEIR <= set(lower) and not set(lower) & {"grade", "label"}:
        columns[lower.index("score")] = lower[lower.index("score")] = "grade"
    for own in ("topic", "document"):
        found = next((name for name in (own, *SYNONYMS[own]) if name in lower), None)
        if found is None:
            return None
        columns[lower.index(found)] = own
    return [
        small if small in _IN_ANY_CASE and small not in columns else name
        for name, small in zip(columns, lower, strict=True)
    ]
