"""Results to stdout or to whole files, progress and notes to stderr."""

import errno
import os
import re
import stat
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from bayeseval.messages import Message, Option
from bayeseval.whole_file import check_writable, new_folder, whole_file

STDOUT = Path("-")
# of all commands; what else a message names is an argument of Python
OPTIONS = {
    *("measure", "estimator", "design", "labels", "population", "topic-groups", "ci-prob"),
    *("relevance-level", "per-topic", "sort", "output", "format", "seed", "reference", "pair"),
    *("equivalence", "fail-if-worse", "top", "budget", "certain", "pool-depth", "design-file"),
    *("scheme", "model", "unpooled", "common-topics", "n-topics", "anytime", "half-width"),
    *("judged", "unjudgeable", "scores", "nuts", "draws", "depth", "qrels-format", "scheduler"),
    "exclude",
}


def check_outputs(outputs: Mapping[str, Path | None], inputs: Iterable[Path]) -> None:
    """Refuse, before any work, outputs that cannot be written or would replace what is read.

    ``outputs`` are by their option; None and ``-`` are stdout. One that is an input, through links
    too, or another output is a ValueError, as is an ending of ``--output`` by which nothing is
    compressed here; a file that must not be written is an OSError.
    """
    from bayeseval.trec.sources import check_ending

    inputs = list(inputs)
    before: list[tuple[str, Path]] = []
    for option, path in outputs.items():
        path = STDOUT if path is None else path
        for other, taken in before:
            if _same_file(path, taken):
                raise ValueError(f"{other} and {option} both name {path}; give each its own file")
        before.append((option, path))
        if path != STDOUT:
            check_writable(path)
            if option == "--output":
                check_ending(path)
        for source in inputs:
            if _would_lose(path, source):
                act = f"{option} {path} would replace"
                raise ValueError(
                    f"{'stdout would go into' if path == STDOUT else act} {source}, which this "
                    "command reads; name another file"
                )


def check_folder(option: str, folder: Path) -> None:
    """Refuse, before any work, a folder for results that cannot be made or written."""
    if folder == STDOUT:
        raise ValueError(f"{option} names a folder to write into, which - (stdout) is not")
    above = next(path for path in (folder, *folder.absolute().parents) if os.path.lexists(path))
    if above.is_symlink() and not above.exists():
        raise ValueError(f"{above} is a link to nothing; name another {option}")
    if not above.is_dir():
        raise ValueError(f"{above} is a file; {option} names a folder to write into")
    if not os.access(above, os.W_OK):
        raise ValueError(f"the folder {above} cannot be written; name another {option}")


def _would_lose(path: Path, source: Path) -> bool:
    """Whether writing to a path, or stdout, would change a file that is read.

    What has a path of its own, such as a pipe or a terminal, can be read and written; a path such
    as ``/dev/fd/3`` is as good as the file that is open there.
    """
    if path != STDOUT:
        return _same_file(path, source) and not (path.exists() and not path.is_file())
    try:
        open_there = os.fstat(1)
    except OSError:
        return False  # stdout is closed
    regular = stat.S_ISREG(open_there.st_mode) and source.exists()
    return regular and os.path.samestat(open_there, os.stat(source))


def _same_file(one: Path, other: Path) -> bool:
    """Whether two paths name one file that can be lost; what is written to /dev/null is."""
    if STDOUT in (one, other) or not (one.exists() and other.exists()):
        return os.path.realpath(one) == os.path.realpath(other)
    return one.samefile(other) and not one.samefile(os.devnull)


@contextmanager
def written_whole(path: Path | None) -> Iterator[Path]:
    """A file to write, of the same ending, which becomes `path` when everything went well.

    None and ``-`` are stdout.
    """
    if path is not None and path != STDOUT:
        with whole_file(path) as part:
            yield part
        return
    with new_folder(STDOUT, Path(tempfile.gettempdir())) as folder:
        part = folder / "stdout"
        yield part
        _write_stdout(part.read_bytes())


def write_result(text: str, path: Path | None) -> None:
    """Write to stdout, or whole to a file, compressed as its ending says."""
    from bayeseval.trec.sources import write_whole

    if path is None or path == STDOUT:
        if sys.stdout is not None and sys.stdout.isatty():
            # a terminal would obey the escape characters of a label
            text = re.sub(r"[^\n\t]+", lambda found: printable(found[0]), text)
        _write_stdout(text)
        return
    write_whole(path, text)


def _write_stdout(content: str | bytes) -> None:
    """Write to stdout, whose reader may have read enough before the end (`| head`)."""
    if sys.stdout is None:
        raise OSError(errno.EBADF, "it is closed", "stdout")
    try:
        if isinstance(content, bytes):
            sys.stdout.flush()
            sys.stdout.buffer.write(content)
        else:
            sys.stdout.write(content)
        sys.stdout.flush()
    except UnicodeEncodeError as error:
        missing = error.object[error.start]
        raise ValueError(
            f"stdout is written as {sys.stdout.encoding}, which has no {missing!r}; "
            "set PYTHONIOENCODING=utf-8 in the environment"
        ) from error
    except OSError as error:
        _discard(sys.stdout)
        if not isinstance(error, BrokenPipeError):
            raise OSError(error.errno, error.strerror, "stdout") from error


def _discard(stream: TextIO) -> None:
    """Discard a stream's buffer, else the flush at exit would fail."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def printable(text: str) -> str:
    """Text in which what a terminal would obey, or not show, is written as an escape."""
    text = re.sub("[\udc80-\udcff]", lambda byte: f"\\x{ord(byte[0]) - 0xDC00:02x}", text)
    return "".join(
        letter if letter.isprintable() else letter.encode("unicode_escape").decode()
        for letter in text
    )


def one_line(message: object) -> str:
    """A message, error or warning on one line, its options as one types them in the shell."""
    if isinstance(message, OSError) and message.strerror:
        text = message.strerror
        message = f"{message.filename}: {text}" if message.filename else text
    elif isinstance(message, BaseException) and not isinstance(message, UnicodeError):
        message = message.args[0] if message.args else type(message).__name__
    parts = message.parts if isinstance(message, Message) else (str(message),)
    words = []
    for part in parts:
        if isinstance(part, Option):
            flag = "seed" if part.name == "random_seed" else part.name.replace("_", "-")
            if flag in OPTIONS:
                part = f"--{flag}" if part.value is None else f"--{flag} {part.value}"
            else:
                part = f"{part} in Python"
        words.append(part)
    return " ".join("".join(words).split())


def note(text: str) -> None:
    """Write one line to stderr."""
    write_stderr(f"bayeseval: {printable(text)}")


def write_stderr(text: str) -> None:
    """Write lines to stderr, which may have no reader any more (`2>&1 | head`)."""
    try:
        print(text, file=sys.stderr, flush=True)
    except OSError:  # there is nowhere to say so
        _discard(sys.stderr)


@contextmanager
def working(text: str) -> Iterator[None]:
    """A moving bar and the time while something runs whose length is not known; terminals only."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(
        *columns, console=console, transient=True, disable=not console.is_terminal
    ) as bar:
        bar.add_task(text, total=None)
        yield
