"""Results to stdout or to whole files, progress and remarks to stderr."""

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn


@contextmanager
def written_whole(path: Path) -> Iterator[Path]:
    """A file to write that takes the place of `path` only when everything went well.

    Parameters
    ----------
    path : Path
        Where the file shall stand in the end.

    Yields
    ------
    Path
        A new file in the same folder, of the same ending.

    Raises
    ------
    ValueError
        Where the folder does not exist, or `path` is a folder.
    """
    check_writable(path)
    number, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.stem}-", suffix=path.suffix)
    os.close(number)
    try:
        yield Path(name)
        # mkstemp files are for their owner only; give the mode that a plain open would have given
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(name, 0o666 & ~mask)
        os.replace(name, path)
    finally:
        Path(name).unlink(missing_ok=True)


def check_writable(path: Path) -> None:
    """Refuse a path that cannot become a file, before the work rather than after it."""
    if path.is_dir():
        raise ValueError(f"{path} is a folder; name a file to write")
    if not path.parent.is_dir():
        raise ValueError(
            f"{path} cannot be written because the folder {path.parent} does not exist"
        )


def write_result(text: str, path: Path | None) -> None:
    """Write to stdout, or whole to a file."""
    if path is None:
        _write_stdout(text)
        return
    with written_whole(path) as unfinished:
        unfinished.write_text(text, encoding="utf-8")


def _write_stdout(text: str) -> None:
    """Write to stdout, whose reader may have read enough before the end (`| head`)."""
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        # what is left in the buffer goes nowhere, else the flush at exit would fail
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def remark(text: str) -> None:
    """Write one line to stderr."""
    print(f"bayeseval: {text}", file=sys.stderr)


@contextmanager
def working(text: str) -> Iterator[None]:
    """A moving bar and the time while something runs whose length is not known; terminals only."""
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(
        *columns, console=console, transient=True, disable=not console.is_terminal
    ) as bar:
        bar.add_task(text, total=None)
        yield
