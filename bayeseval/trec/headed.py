"""Tables whose first line names the columns, with commas, semicolons, tabs or blanks between."""

import csv
import io
import re
from collections.abc import Iterator

import pandas as pd

from bayeseval.messages import counted, some_of
from bayeseval.trec.frames import LINE
from bayeseval.trec.lines import check_text
from bayeseval.trec.objects import SYNONYMS, VALUE, accepted, is_scored

_SEPARATORS = (",", ";", "\t", None)  # None: any number of blanks
_SPARE = re.compile(
    rb"((#|sep=)[^\r\n]*|[ \t]*)(\r\n|\r|\n)"
)  # line before a header; sep= is Excel's
_KNOWN = {*SYNONYMS, *(name for names in SYNONYMS.values() for name in names)}
_KNOWN |= {"stratum", "probability", "method"}
_QUOTED = (",", ";")
_QUOTES = "; a cell with a separator or a quote in it needs quotes around it"
LONGEST = 100_000  # bytes that a header may have


def headed_frame(name: str, data: bytes, kind: str) -> pd.DataFrame | None:
    r"""Table of a file that begins with the names of its columns, or None where it does not.

    Such a file names a topic and a document, in any case and by any name that they have in other
    packages. Cells are text; an empty one is missing. A line that repeats the header, as where two
    files were joined, is none. The index is the number of a row's line.

    ``name`` is the file, for messages, and ``kind`` ("run" or "judgments") what it should be: the
    score of BEIR's judgments is a grade. A ValueError where the file is not UTF-8 text, the columns
    are named and topic or document are not among them, a line has other cells than the header, or
    there is no line.

    Examples
    --------
    >>> headed_frame("gpt.csv", b"qid,docno,label,why\n1,a,2,'no'\n1,b,,\n", "judgments")
         topic document label   why
    line
    2        1        a     2  'no'
    3        1        b   NaN   NaN
    """
    begin, number = 0, 1
    while spare := _SPARE.match(data, begin):
        begin, number = spare.end(), number + 1
    first = re.split(rb"[\r\n]", data[begin : begin + LONGEST], maxsplit=1)[0]
    separator, columns = _header(first.decode(errors="replace"), kind)
    if columns is None:
        _check_names(f"{name}, line {number}", first.decode(errors="replace"), kind)
        return None
    check_text(name, data)
    text = data[begin:].decode().replace("\r\n", "\n").replace("\r", "\n")
    rows, numbers = [], []
    try:
        for line, cells in _lines(text, separator, number):
            if not any(cells) or (rows and _are_names(cells, rows[0])):
                continue
            if len(cells) != len(columns):
                raise ValueError(
                    f"{name}, line {line}: {counted(len(cells), 'cell')} where the header has "
                    f"{len(columns)}{_QUOTES if separator in _QUOTED else ''}"
                )
            rows.append(cells)
            numbers.append(line)
    except csv.Error as error:
        raise ValueError(f"{name}, {error}{_QUOTES}") from error
    if len(rows) < 2:
        raise ValueError(f"{name} has a header and no other line; it needs at least one.")
    place = pd.Index(numbers[1:], name=LINE)
    table = pd.DataFrame(rows[1:], index=place, columns=columns, dtype=object)
    return table.where(table != "")


def _header(first: str, kind: str) -> tuple[str | None, list[str] | None]:
    """The separator by which a line names a topic and a document, and its columns; else None."""
    for separator in _SEPARATORS:
        try:
            cells = next(cells for _, cells in _lines(first, separator, 1))
        except (csv.Error, StopIteration):
            continue
        columns = our_columns(cells, kind)
        if columns is not None and not any(map(_is_number, cells)):
            return separator, columns
    return None, None


def _are_names(cells: list[str], header: list[str]) -> bool:
    """Whether a line is the header of a file that was joined to others, byte order mark or not."""
    return cells[1:] == header[1:] and cells[0].removeprefix("\ufeff").strip('"') == header[0]


def _check_names(where: str, first: str, kind: str) -> None:
    """Refuse a first line that can only be names of columns, and names no topic or no document."""
    separator = max(_QUOTED, key=first.count)
    cells = [cell.strip(' "') for cell in first.split(separator)]
    named = all(not cell or cell[0].isidentifier() for cell in cells)
    if len(cells) > 1 and named and not any(map(_is_number, first.split())):
        needed = "; ".join(map(accepted, ("topic", "document", VALUE[kind])))
        raise ValueError(
            f"{where}: the columns are {some_of(cells, 10)}, and a topic and a document must be "
            f"among them; known names: {needed}."
        )


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _lines(text: str, separator: str | None, number: int) -> Iterator[tuple[int, list[str]]]:
    """Number of every line, where a row ends, and its cells without blanks around them.

    Commas and semicolons may stand in quotes. Between tabs a quote is one: LLMs' reasons have them.
    Lines with blanks alone between may be comments, as those of trec_eval.
    """
    if separator in _QUOTED:
        reader = csv.reader(
            io.StringIO(text), delimiter=separator, skipinitialspace=True, strict=True
        )
        try:
            for cells in reader:
                yield reader.line_num + number - 1, [cell.strip() for cell in cells]
        except csv.Error as error:
            raise csv.Error(f"line {reader.line_num + number - 1}: {error}") from error
        return
    for line, row in enumerate(text.split("\n"), start=number):
        if separator is None:
            yield line, [] if row.startswith("#") else row.split()
        else:
            yield line, [cell.strip() for cell in row.split(separator)]


def our_columns(names: list[str], kind: str) -> list[str] | None:
    """Names of columns with those of topic and document ours; None where there are no such two.

    Names that others have for these two come before ours, beside which ours may hold texts. What
    else has a known name in capitals has it in small letters.

    Examples
    --------
    >>> our_columns(["query-id", "corpus-id", "score"], "judgments")
    ['topic', 'document', 'grade']
    >>> our_columns(["qid", "docid", "document", "Score"], "run")
    ['topic', 'document', 'document (not read)', 'score']
    """
    columns = [name.strip() for name in names]
    lower = [name.lower() for name in columns]
    if kind == "judgments" and is_scored(lower):
        columns[lower.index("score")] = lower[lower.index("score")] = "grade"
    for own in ("topic", "document"):
        found = next((name for name in (*SYNONYMS[own], own) if name in lower), None)
        if found is None:
            return None
        if found != own and own in lower:
            place = lower.index(own)
            columns[place] = lower[place] = f"{own} (not read)"
        columns[lower.index(found)] = lower[lower.index(found)] = own
    return [
        small if small in _KNOWN and small not in columns else name
        for name, small in zip(columns, lower, strict=True)
    ]
