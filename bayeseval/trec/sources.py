"""What a user may name as input: paths, globs, data frames, dicts and lists of them."""

import glob
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from bayeseval.trec.objects import as_frame, described, holds_runs, of_run

SHOWN = 60  # characters of a text that is no path


class NamedFile(NamedTuple):
    """File of a run whose name is given, whatever its tag."""

    name: str
    path: Path


def expanded(sources, kind: str) -> list:
    """Files and data frames, at least one, that sources stand for; of runs also NamedFiles.

    Several sources are a list, or an iterator such as ``Path.glob`` returns. A text that is no file
    and has ``*``, ``?`` or ``[`` is a glob; its files come sorted. Of a dict of runs some or all
    may be files. What else there may be: :func:`bayeseval.trec.objects.as_frame`. ``kind``, "run"
    or "judgments", is for messages. A ValueError where a file is missing or named twice, or a glob
    matches nothing.
    """
    sources = list(sources) if isinstance(sources, Iterator) else sources
    if isinstance(sources, list | tuple) and not hasattr(next(iter(sources), None), "query_id"):
        found = [item for source in sources for item in _expanded_one(source, kind)]
    else:
        found = _expanded_one(sources, kind)
    if not found:
        raise ValueError(f"no {kind} file is named; at least one is needed.")
    _check_distinct(found, kind)
    return found


def _check_distinct(found: list, kind: str) -> None:
    seen = set()
    for item in found:
        path = item.path if isinstance(item, NamedFile) else item
        if isinstance(path, Path):
            real = os.path.realpath(path)
            if real in seen:
                raise ValueError(f"{kind} file {path} is named twice; once is allowed.")
            seen.add(real)


def _expanded_one(source, kind: str) -> list:
    if kind == "run" and isinstance(source, Mapping) and holds_runs(source):
        return [_named(str(name), one) for name, one in source.items()]
    if not isinstance(source, str | os.PathLike):
        frame = as_frame(source, kind)
        if frame is None:
            raise TypeError(
                f"{kind} must be a path, a glob, a DataFrame, a dict, an object of ranx or "
                f"ir_datasets, or a list of them, not {described(source)}."
            )
        return [frame]
    text = os.path.expanduser(os.fspath(source))
    if os.path.exists(text):
        return [Path(text)]
    if not glob.has_magic(text):
        piped = " (what is piped in is /dev/stdin)" if text == "-" else ""
        raise ValueError(f"{kind} file {shown(text)} does not exist{piped}.")
    matches = [Path(match) for match in sorted(glob.glob(text, recursive=True))]
    matches = [match for match in matches if not match.is_dir()]
    if not matches:
        raise ValueError(f"glob {shown(text)} matches no {kind} file.")
    return matches


def shown(text: str) -> str:
    """A path as it is; the beginning of what a file holds, where that is given for its path."""
    if not {"\n", "\r"} & set(text):
        return text
    return f"{text[:SHOWN]!r}... (a path is needed, not what a file holds)"


def _named(name: str, source) -> NamedFile | pd.DataFrame:
    """One run of a dict, which may be a file."""
    if not isinstance(source, str | os.PathLike):
        return of_run(name, source)
    paths = _expanded_one(source, "run")
    if len(paths) > 1:
        raise ValueError(f"run '{name}' is one file, and glob {source} matches {len(paths)}.")
    return NamedFile(name, paths[0])
