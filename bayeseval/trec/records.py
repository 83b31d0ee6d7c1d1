"""JSON and tables with a header as data frames."""

import csv
import io
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from bayeseval.messages import counted, some_of
from bayeseval.trec.exports import exported
from bayeseval.trec.frames import (
    ENTRY,
    LINE,
    SYNONYMS,
    TEXTS,
    VALUE,
    accepted,
    is_scored,
    of_dict,
    without_index,
)
from bayeseval.trec.lines import WrongFields, check_text, is_number, warn_of_comments
from bayeseval.trec.sources import PARQUET, bare_name, path_text, read_bytes

ENDINGS = (".csv", ".tsv", ".json", ".jsonl", ".ndjson", ".parquet", ".parq")
SHAPES = "{topic: {document: x}} or objects with a topic and a document (a list, or one a line)"
_JSON = re.compile(rb'\s*(\{\s*["}]|\[\s*[\[\]{"])')  # a line of a run may begin with [ or { too
_HALF = re.compile(r"\\u[dD][89a-fA-F]")
_SPARE = re.compile(
    rb"((#|sep=)[^\r\n]*|[ \t]*)(\r\n|\r|\n)"
)  # line before a header; sep= is Excel's
_KNOWN = {*SYNONYMS, *sum(SYNONYMS.values(), ()), "stratum", "probability", "method"}
_QUOTED = (",", ";")
_QUOTES = "; a cell with a separator or a quote in it needs quotes around it"


def file_frame(name: str, data: bytes, kind: str) -> pd.DataFrame | None:
    """Table of a file that names its columns: with a header, Parquet or JSON; None of another.

    JSON is ``{topic: {document: x}}``, as ranx and pytrec_eval have runs and judgments (of runs
    also ``{run: {topic: {document: x}}}``); what :func:`exported` reads; objects with a topic and a
    document each, in a list or one after the other; or what pandas makes of a DataFrame. Columns
    are topic and document, and the others as they are called there (of nested JSON grade, or score
    and perhaps run); the index says where a row stands. ``name`` and ``kind`` are as for
    :func:`headed_frame`, as are errors.

    Examples
    --------
    >>> file_frame("r.json", b'{"1": {"a": 0.5, "b": 2}}', "run")[["topic", "document", "score"]]
          topic document  score
    entry
    1         1        a    0.5
    2         1        b    2.0
    """
    if data.startswith(PARQUET) and b"\0" in data:
        return _parquet(name, data, kind)
    if not _JSON.match(data):
        return headed_frame(name, data, kind)
    check_text(name, data)
    values = json_values(name, data.decode())
    table = exported(name, values[0] if len(values) == 1 else values, kind)
    if table is None and len(values) == 1:
        table = _nested(name, values[0], kind)
    if table is None:
        table = _listed(name, values, kind)
    if table.empty:
        raise ValueError(f"{name} is empty: its JSON lists no document.")
    for column in ("topic", "document"):
        for label in table[column].tolist():
            if isinstance(label, Mapping | list):
                raise ValueError(
                    f"{name}: a {column} must be text or a number, not {str(label)[:50]}"
                )
    return table.set_index(pd.RangeIndex(1, len(table) + 1, name=ENTRY))


def _parquet(name: str, data: bytes, kind: str) -> pd.DataFrame:
    """Table of a Parquet file, which pandas reads by the package pyarrow (or fastparquet)."""
    try:
        table = pd.read_parquet(io.BytesIO(data))
    except ImportError as error:
        raise ValueError(
            f"{name} is a Parquet file, which needs the package pyarrow; install it, or write CSV"
        ) from error
    except (ValueError, OSError) as error:
        raise ValueError(f"{name} is not a whole Parquet file ({error})") from error
    table = without_index(table)
    names = [str(column) for column in table.columns]
    columns = our_columns(names, kind)
    if columns is None:
        needed = "; ".join(map(accepted, ("topic", "document", VALUE[kind])))
        raise ValueError(
            f"{name}: the columns are {some_of(names, 10)}, and a topic and a document must be "
            f"among them; known names: {needed}."
        )
    table.columns = columns
    return table.set_index(pd.RangeIndex(1, len(table) + 1, name=ENTRY))


def run_name(path: Path) -> str:
    """Name of the run in a file that names none: the file's, without the endings of its formats."""
    bare = Path(bare_name(path))
    return bare.stem if bare.suffix.lower() in ENDINGS else bare.name


def json_values(name: str, text: str) -> list:
    """Values of a JSON text, which may hold several, one after the other."""
    decoder = json.JSONDecoder(object_pairs_hook=_once)
    values, place = [], 0
    try:
        while found := re.compile(r"\S").search(text, place):
            place = found.start()
            value, place = decoder.raw_decode(text, place)
            values.append(value)
    except json.JSONDecodeError as error:
        raise ValueError(f"{name}, line {error.lineno}: not JSON ({error.msg})") from error
    except RecursionError as error:
        raise ValueError(f"{name}: JSON must be {SHAPES}; this is nested far deeper") from error
    except ValueError as error:
        line = text.count("\n", 0, place) + 1
        raise ValueError(f"{name}, in what begins in line {line}: {error}") from error
    try:
        if _HALF.search(text):
            json.dumps(values, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        raise ValueError(
            f"{name}: half of a surrogate pair (\\ud800 to \\udfff) stands alone"
        ) from error
    return values[0] if len(values) == 1 and isinstance(values[0], list) else values


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Object of JSON, no name of which may come twice."""
    unique = dict(pairs)
    if len(unique) < len(pairs):
        names = [name for name, _ in pairs]
        again = next(name for place, name in enumerate(names) if name in names[:place])
        raise ValueError(f"'{again}' is there twice in one object")
    return unique


def _nested(name: str, value: Any, kind: str) -> pd.DataFrame | None:
    """Table of objects in an object; None where it is none of these."""
    if not isinstance(value, Mapping) or not all(isinstance(p, Mapping) for p in value.values()):
        return None
    if our_columns([*value], kind) is not None:  # columns, as pandas writes them
        return _listed(name, pd.DataFrame(value).to_dict("records"), kind)
    parts = [part for part in value.values() if part]
    if parts and all(our_columns([*part], kind) is not None for part in parts):  # rows
        return _listed(name, parts, kind)
    deep = [_depth(part) for part in parts]
    if kind == "judgments" and deep and min(deep) > 1:
        raise WrongFields(f"{name}: judgments are {{topic: {{document: grade}}}}; this is deeper.")
    if deep and (max(deep) != min(deep) or max(deep) > 2):
        raise ValueError(f"{name}: JSON must be {SHAPES}; of runs also {{run: that}}.")
    try:
        table = of_dict(value, kind)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from error
    return table if kind != "run" or 2 in deep else table.drop(columns="run")


def _depth(value: Any) -> int:
    """How many objects are in each other, at most."""
    if not isinstance(value, Mapping):
        return 0
    return 1 + max((_depth(part) for part in value.values()), default=0)


def _listed(name: str, values: list, kind: str) -> pd.DataFrame:
    """Table of objects that have a topic and a document each."""
    if not all(isinstance(value, Mapping) for value in values):
        raise ValueError(f"{name}: JSON must be {SHAPES}.")
    table = pd.DataFrame(values, dtype=object)
    if table.empty:
        raise ValueError(f"{name} is empty: its JSON lists no document.")
    columns = our_columns([str(column) for column in table.columns], kind)
    if columns is None:
        shown = ", ".join(map(str, table.columns[:5])) or "nothing"
        names = "; ".join(map(accepted, ("topic", "document")))
        raise ValueError(
            f"{name}: each object must have a topic and a document; there is {shown}; known names: "
            f"{names}"
        )
    table.columns = columns
    return table.where(table != "")


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
    begin, number, first = _first_line(data)
    separator, columns = _header(first, kind)
    if columns is None:
        _check_names(f"{name}, line {number}", first, kind)
        return None
    return _table(name, data, (begin, number), separator, columns)


def named_frame(path: Path, needed: tuple[str, ...]) -> pd.DataFrame:
    """Table of a file that begins with the names of its columns, refused where one is missing.

    Cells are text and those of the ``needed`` columns are not empty; names of columns are in any
    case, and of topics, documents and runs by any name that they have in other packages. Commas,
    semicolons or tabs separate cells. The index is as for :func:`headed_frame`.
    """
    name, data = path_text(path), read_bytes(path, f"a table with the columns {', '.join(needed)}")
    check_text(name, data)
    begin, number, first = _first_line(data)
    separator = max((*_QUOTED, "\t"), key=first.count)
    try:
        cells = next((cells for _, cells in _lines(first, separator, number)), [])
    except csv.Error as error:
        raise ValueError(f"{name}, {error}{_QUOTES}") from error
    lower = [cell.lower() for cell in cells]
    for column in needed:
        known = next((one for one in (column, *SYNONYMS.get(column, ())) if one in lower), None)
        if known is None:
            raise ValueError(
                f"{name} has the columns {', '.join(cells)}; it needs {' and '.join(needed)}"
            )
        cells[lower.index(known)] = column
    table = _table(name, data, (begin, number), separator, cells)
    for column in needed:
        empty = table[column].isna().to_numpy()
        if empty.any():
            raise ValueError(f"{name}, line {table.index[empty][0]}: the {column} is empty")
    return table


def _first_line(data: bytes) -> tuple[int, int, str]:
    """Where the first line begins that is no comment, its number and its text."""
    begin, number = 0, 1
    while spare := _SPARE.match(data, begin):
        begin, number = spare.end(), number + 1
    first = re.split(rb"[\r\n]", data[begin : begin + 100_000], maxsplit=1)[0]
    return begin, number, first.decode(errors="replace")


def _table(
    name: str, data: bytes, start: tuple[int, int], separator: str | None, columns: list[str]
) -> pd.DataFrame:
    """Table below a header, of which ``start`` is the first byte and the number of its line."""
    check_text(name, data)
    if separator is None:
        warn_of_comments(name, data)
    begin, number = start
    text = data[begin:].decode().replace("\r\n", "\n").replace("\r", "\n")
    rows, numbers = [], []
    try:
        for line, cells in _lines(text, separator, number):
            if not any(cells):
                continue
            # the header of a file that was joined to others, byte order mark or not
            if rows and cells[1:] == rows[0][1:]:
                if cells[0].removeprefix("\ufeff").strip('"') == rows[0][0]:
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
    for separator in (",", ";", "\t", None):  # None: any number of blanks
        try:
            cells = next(cells for _, cells in _lines(first, separator, 1))
        except (csv.Error, StopIteration):
            continue
        columns = our_columns(cells, kind)
        if columns is not None and not any(map(is_number, cells)):
            return separator, columns
    return None, None


def _check_names(where: str, first: str, kind: str) -> None:
    """Refuse a first line that can only be names of columns, and names no topic or no document."""
    separator = max(_QUOTED, key=first.count)
    cells = [cell.strip(' "') for cell in first.split(separator)]
    named = all(not cell or cell[0].isidentifier() for cell in cells)
    if len(cells) > 1 and named and not any(map(is_number, first.split())):
        needed = "; ".join(map(accepted, ("topic", "document", VALUE[kind])))
        raise ValueError(
            f"{where}: the columns are {some_of(cells, 10)}, and a topic and a document must be "
            f"among them; known names: {needed}."
        )


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
        known = (*SYNONYMS[own], own, *TEXTS.get(own, ()))
        name_here = next((name for name in known if name in lower), None)
        if name_here is None:
            return None
        if name_here != own and own in lower:
            place = lower.index(own)
            columns[place] = lower[place] = f"{own} (not read)"
        columns[lower.index(name_here)] = lower[lower.index(name_here)] = own
    return [
        small if small in _KNOWN and small not in columns else name
        for name, small in zip(columns, lower, strict=True)
    ]
