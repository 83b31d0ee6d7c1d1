"""Files that a user names: paths, globs and frames; compressed bytes read and written."""

import bz2
import glob
import gzip
import importlib
import lzma
import os
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from bayeseval.trec.frames import RUN, as_frame, described, holds_runs, of_run
from bayeseval.whole_file import expanded_path, whole_file

HDF5 = b"\x89HDF"  # how a netCDF file begins
_FORMATS = {".gz": "gzip", ".xz": "xz", ".bz2": "bzip2", ".zst": "zstandard"}
ENDINGS = tuple(_FORMATS)
_UNKNOWN = (".zip", ".z", ".7z", ".lz4", ".lzma", ".rar", ".tar", ".tgz", ".br", ".sz", ".zstd")
_FIRST_BYTES = {
    b"\x1f\x8b": ".gz",
    b"\xfd7zXZ\x00": ".xz",
    b"BZh": ".bz2",
    b"\x28\xb5\x2f\xfd": ".zst",
    b"PK\x03\x04": ".zip",
}
IR_DATASETS = "ir_datasets:"  # before the ID of a data set whose judgments are asked for
PARQUET = b"PAR1"  # how a Parquet file begins
_TABLES = {b"ARROW1": "Feather", b"\x80\x04\x95": "pickle", b"\x80\x05\x95": "pickle"}


class NamedFile(NamedTuple):
    """File of a run whose name is given, whatever its tag."""

    name: str
    path: Path


class RunDict(NamedTuple):
    """A run as ``{topic: {document: score}}``."""

    name: str
    table: Mapping


def expanded(sources, kind: str) -> list:
    """Files and frames, at least one, that sources stand for; of runs NamedFiles and RunDicts too.

    Several sources are a list, or an iterator such as ``Path.glob`` returns. A text that is no file
    and has ``*``, ``?`` or ``[`` is a glob; its files come sorted. Of a dict of runs some or all
    may be files. ``ir_datasets:ID`` is the data set of that package. What else there may be:
    :func:`bayeseval.trec.frames.as_frame`. ``kind``, "run"
    or "judgments", is for messages. A ValueError where a file is missing or named twice, or a glob
    matches nothing.
    """
    sources = list(sources) if isinstance(sources, Iterator) else sources
    if isinstance(sources, list | tuple) and not hasattr(next(iter(sources), None), "query_id"):
        items = [item for source in sources for item in _expanded_one(source, kind)]
    else:
        items = _expanded_one(sources, kind)
    if not items:
        raise ValueError(f"no {kind} file is named; at least one is needed.")
    seen = set()
    for item in items:
        path = item.path if isinstance(item, NamedFile) else item
        if isinstance(path, Path):
            real = os.path.realpath(path)
            if real in seen:
                raise ValueError(f"{kind} file {path} is named twice; once is allowed.")
            seen.add(real)
    return items


def _expanded_one(source, kind: str) -> list:
    if kind == "run" and isinstance(source, Mapping) and holds_runs(source):
        return [_named(str(name), one) for name, one in source.items()]
    if kind == "run" and isinstance(source, Mapping):
        return [RunDict(RUN, source)]
    if not isinstance(source, str | os.PathLike):
        frame = as_frame(source, kind)
        if frame is None:
            raise TypeError(
                f"{kind} must be a path, a glob, a DataFrame, a dict, an object of ranx or "
                f"ir_datasets, or a list of them, not {described(source)}."
            )
        return [frame]
    text = os.path.expanduser(os.fspath(source))
    if text.startswith(IR_DATASETS) and kind != "scores":
        return [_of_ir_datasets(text.removeprefix(IR_DATASETS), kind)]
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


def _of_ir_datasets(name: str, kind: str) -> pd.DataFrame:
    """Judgments, or the run, of a data set of the package ir_datasets, which loads them."""
    try:
        package = importlib.import_module("ir_datasets")
    except ImportError as error:
        raise ValueError(
            f"{IR_DATASETS}{name} needs the package ir_datasets; install it (pip install "
            "ir_datasets), or name a file"
        ) from error
    try:
        dataset = package.load(name)
    except KeyError as error:
        raise ValueError(
            f"ir_datasets has no data set '{name}'; its IDs are listed at https://ir-datasets.com"
        ) from error
    if not (dataset.has_scoreddocs() if kind == "run" else dataset.has_qrels()):
        raise ValueError(
            f"the data set '{name}' of ir_datasets has no {kind}; a part of it, such as "
            f"{name}/test, may have"
        )
    frame = as_frame(dataset, kind)
    assert frame is not None  # it has qrels_iter or scoreddocs_iter
    return frame


def shown(text: str) -> str:
    """A path as it is; the beginning of what a file holds, where that is given for its path."""
    if not {"\n", "\r"} & set(text):
        return text
    return f"{text[:60]!r}... (a path is needed, not what a file holds)"


def _named(name: str, source) -> NamedFile | RunDict | pd.DataFrame:
    """One run of a dict, which may be a file."""
    if isinstance(source, Mapping) and source and not holds_runs(source):
        return RunDict(name, source)
    if not isinstance(source, str | os.PathLike):
        return of_run(name, source)
    paths = _expanded_one(source, "run")
    if len(paths) > 1:
        raise ValueError(f"run '{name}' is one file, and glob {source} matches {len(paths)}.")
    return NamedFile(name, paths[0]) if isinstance(paths[0], Path) else of_run(name, paths[0])


def read_bytes(path: Path, kind: str) -> bytes:
    """Content of a file, uncompressed as its ending says and without a byte order mark.

    ``kind`` is what it should hold, for messages (``"judgments"``, ``"a run"`` or ``"labels"``). A
    ValueError where the file is missing, empty, a folder, a netCDF file, or compressed in another
    way than it says.
    """
    ending = _known_ending(path)
    if path.is_dir():
        raise ValueError(f"{path} is a folder; name its files, or write a glob such as {path}/*.")
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ValueError(f"{path} cannot be read ({error.strerror}).") from error
    if data and ending:
        data = _uncompressed(path, ending, data)
    elif other := next((end for first, end in _FIRST_BYTES.items() if data.startswith(first)), ""):
        raise ValueError(f"{path} holds {other} data; name it so that it ends in {other}.")
    table = next((name for first, name in _TABLES.items() if data.startswith(first)), "")
    if table and b"\0" in data:
        raise ValueError(
            f"{path} is a {table} file, which is not read; write CSV, or give its DataFrame to "
            "bayeseval in Python."
        )
    if data.startswith(HDF5):
        raise ValueError(f"{path} is a netCDF file (a design?), not {kind}.")
    if not data or data.isspace():
        raise ValueError(f"{path} is empty; a file needs at least one line.")
    return data.removeprefix(b"\xef\xbb\xbf")


def write_whole(path: str | os.PathLike, text: str) -> None:
    """Write text to a file, compressed as its ending says: whole or not at all."""
    path = expanded_path(path)
    ending = check_ending(path)
    data = text.encode()
    if ending == ".gz":
        data = gzip.compress(data, mtime=0)
    elif ending:
        data = _codec(ending, path).compress(data)
    with whole_file(path) as part:
        part.write_bytes(data)


def check_ending(path: Path) -> str:
    """The ending by which a file is to be compressed, or none; refused is one not written here."""
    ending = _known_ending(path)
    if ending:
        _codec(ending, path)
    return ending


def bare_name(path: Path) -> str:
    """Name of a file without the ending of its compression."""
    return path_text(path.stem if path.suffix.lower() in ENDINGS else path.name)


def path_text(path: str | os.PathLike) -> str:
    r"""A path as text, in which bytes that are not UTF-8 are written as escapes.

    Examples
    --------
    >>> print(path_text(os.fsdecode(b"caf\xe9.csv")))
    caf\xe9.csv
    """
    return os.fsencode(path).decode(errors="backslashreplace")


def _known_ending(path: Path) -> str:
    ending = path.suffix.lower()
    if ending in _UNKNOWN:
        raise ValueError(f"{path} ends in {ending}; plain text or {', '.join(ENDINGS)} is allowed.")
    return ending if ending in ENDINGS else ""


def _uncompressed(path: Path, ending: str, data: bytes) -> bytes:
    codec = _codec(ending, path)
    broken = [OSError, EOFError, ValueError, zlib.error, lzma.LZMAError, RuntimeError]
    if ending == ".zst":
        broken.append(codec.ZstdError)
    try:
        return codec.decompress(data)
    except tuple(broken) as error:
        if not any(data.startswith(first) for first, of in _FIRST_BYTES.items() if of == ending):
            text = f"{path} is not {_FORMATS[ending]} data (its name ends in {ending})."
            raise ValueError(text) from error
        raise ValueError(f"{path} is not a whole {ending} file ({error}).") from error


def _codec(ending: str, path: Path):
    if ending != ".zst":
        return {".gz": gzip, ".xz": lzma, ".bz2": bz2}[ending]
    try:
        return importlib.import_module("compression.zstd")
    except ImportError:
        pass
    try:
        return _ZstandardFrames(importlib.import_module("zstandard"))
    except ImportError as error:
        raise ValueError(
            f"{path} needs zstandard, which Python has from 3.14 on; install the package "
            "'zstandard', or use .gz, .xz or .bz2."
        ) from error


class _ZstandardFrames:
    """The package ``zstandard`` with the two functions of ``compression.zstd``."""

    def __init__(self, package):
        self.package = package
        self.ZstdError = package.ZstdError

    def compress(self, data: bytes) -> bytes:
        return self.package.ZstdCompressor().compress(data)

    def decompress(self, data: bytes) -> bytes:
        parts = []
        while data:
            frame = self.package.ZstdDecompressor().decompressobj()
            parts.append(frame.decompress(data))
            if not frame.eof:
                raise ValueError("the file ends too early")
            data = frame.unused_data
        return b"".join(parts)
