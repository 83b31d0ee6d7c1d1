"""Files that are no lines of trec_eval: a table with a header, or JSON."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from bayeseval.trec.compression import bare_name
from bayeseval.trec.frames import ENTRY
from bayeseval.trec.headed import headed_frame, our_columns
from bayeseval.trec.lines import check_text
from bayeseval.trec.objects import of_dict

_ENDINGS = (".csv", ".tsv", ".json", ".jsonl", ".ndjson")


def file_frame(name: str, data: bytes, kind: str) -> pd.DataFrame | None:
    """Table of a file that begins with the names of its columns, or is JSON; None where neither.

    JSON is ``{topic: {document: x}}``, as ranx and pytrec_eval have runs and judgments (of runs
    also ``{run: {topic: {document: x}}}``), a list of objects with a topic and a document each, or
    one such object a line.

    Parameters
    ----------
    name : str
        The file, for messages.
    data : bytes
        What it holds.
    kind : {"run", "judgments"}
        What the x of JSON is, and whether there may be several runs.

    Returns
    -------
    DataFrame or None
        Columns topic and document, and the others as they are called there (of nested JSON grade,
        or score and perhaps run). The index says where a row stands.

    Raises
    ------
    ValueError
        Where the file is not UTF-8 text, or has a header or JSON and no such table.

    Examples
    --------
    >>> file_frame("r.json", b'{"1": {"a": 0.5, "b": 2}}', "run")[["topic", "document", "score"]]
          topic document  score
    entry
    1         1        a    0.5
    2         1        b    2.0
    """
    if data.lstrip()[:1] not in (b"{", b"["):
        return headed_frame(name, data, kind)
    check_text(name, data)
    value = _parsed(name, data)
    if _is_nested(value):
        table = _nested(name, value, kind)
    else:
        table = _listed(name, value if isinstance(value, list) else [value], kind)
    if table.empty:
        raise ValueError(f"{name} is empty: its JSON lists no document.")
    return table.set_index(pd.RangeIndex(1, len(table) + 1, name=ENTRY))


def run_name(path: Path) -> str:
    """Name of the run in a file that names none: the file's, without the endings of its formats."""
    bare = Path(bare_name(path))
    return bare.stem if bare.suffix.lower() in _ENDINGS else bare.name


def _parsed(name: str, data: bytes) -> Any:
    """Value of a JSON text, or list of the values of its lines."""
    text = data.decode()
    try:
        return json.loads(text, object_pairs_hook=_once)
    except json.JSONDecodeError as error:
        if error.msg != "Extra data":
            raise ValueError(f"{name}, line {error.lineno}: not JSON ({error.msg})") from error
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from error
    values = []
    for number, line in enumerate(text.splitlines(), start=1):
        try:
            values += [json.loads(line, object_pairs_hook=_once)] if line.strip() else []
        except ValueError as error:
            told = error.msg if isinstance(error, json.JSONDecodeError) else error
            raise ValueError(f"{name}, line {number}: not JSON ({told})") from error
    return values


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Object of JSON, no name of which may come twice."""
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        again = next(name for place, name in enumerate(names) if name in names[:place])
        raise ValueError(f"'{again}' is there twice in one object")
    return found


def _is_nested(value: Any) -> bool:
    return isinstance(value, Mapping) and all(isinstance(part, Mapping) for part in value.values())


def _nested(name: str, value: Mapping, kind: str) -> pd.DataFrame:
    try:
        table = of_dict(value, kind)
    except TypeError as error:
        raise ValueError(f"{name}: {error}") from error
    several = any(_is_nested(part) and part for part in value.values())
    return table if several or kind != "run" else table.drop(columns="run")


def _listed(name: str, values: list, kind: str) -> pd.DataFrame:
    """Table of objects that have a topic and a document each."""
    if not all(isinstance(value, Mapping) for value in values):
        raise ValueError(
            f"{name}: JSON must be {{topic: {{document: x}}}} or objects with a topic and a "
            "document each, in a list or one a line"
        )
    table = pd.DataFrame(values, dtype=object)
    columns = our_columns([str(column) for column in table.columns], kind)
    if columns is None:
        raise ValueError(
            f"{name}: each object must have a topic and a document; the first has "
            f"{', '.join(map(str, table.columns)) or 'nothing'}"
        )
    table.columns = columns
    return table
