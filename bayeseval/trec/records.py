"""Files that are no lines of trec_eval: a table with a header, or JSON."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from bayeseval.trec.compression import bare_name
from bayeseval.trec.frames import ENTRY
from bayeseval.trec.headed import headed_frame, our_columns
from bayeseval.trec.lines import WrongFields, check_text
from bayeseval.trec.objects import accepted, of_dict

ENDINGS = (".csv", ".tsv", ".json", ".jsonl", ".ndjson")
SHAPES = "{topic: {document: x}} or objects with a topic and a document (a list, or one a line)"
_JSON = re.compile(rb'\s*(\{\s*["}]|\[\s*[\[\]{"])')  # a line of a run may begin with [ or { too

_HALF = re.compile(r"\\u[dD][89a-fA-F]")


def file_frame(name: str, data: bytes, kind: str) -> pd.DataFrame | None:
    """Table of a file that begins with the names of its columns, or is JSON; None where neither.

    JSON is ``{topic: {document: x}}``, as ranx and pytrec_eval have runs and judgments (of runs
    also ``{run: {topic: {document: x}}}``); objects with a topic and a document each, in a list or
    one after the other; or what pandas makes of a DataFrame. Columns are topic and document, and
    the others as they are called there (of nested JSON grade, or score and perhaps run); the index
    says where a row stands. ``name`` and ``kind`` are as for :func:`headed_frame`, as are errors.

    Examples
    --------
    >>> file_frame("r.json", b'{"1": {"a": 0.5, "b": 2}}', "run")[["topic", "document", "score"]]
          topic document  score
    entry
    1         1        a    0.5
    2         1        b    2.0
    """
    if not _JSON.match(data):
        return headed_frame(name, data, kind)
    check_text(name, data)
    values = _parsed(name, data.decode())
    table = _nested(name, values[0], kind) if len(values) == 1 else None
    if table is None:
        table = _listed(name, values, kind)
    if table.empty:
        raise ValueError(f"{name} is empty: its JSON lists no document.")
    for column in ("topic", "document"):
        _check_labels(name, table[column].tolist(), column)
    return table.set_index(pd.RangeIndex(1, len(table) + 1, name=ENTRY))


def run_name(path: Path) -> str:
    """Name of the run in a file that names none: the file's, without the endings of its formats."""
    bare = Path(bare_name(path))
    return bare.stem if bare.suffix.lower() in ENDINGS else bare.name


def _parsed(name: str, text: str) -> list:
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
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        again = next(name for place, name in enumerate(names) if name in names[:place])
        raise ValueError(f"'{again}' is there twice in one object")
    return found


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


def _check_labels(name: str, labels: list, column: str) -> None:
    """Refuse labels that are no text or number."""
    for label in labels:
        if isinstance(label, Mapping | list):
            raise ValueError(f"{name}: a {column} must be text or a number, not {str(label)[:50]}")
