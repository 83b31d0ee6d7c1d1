"""Files written whole or not at all, in the place of nothing but a file.

A file is written in a new folder next to its place first. Links are followed: the target of a link
is replaced, and the link stays. A pipe, a terminal or a device (``/dev/full``) is written through.
"""

import os
import re
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

UNFINISHED: set[Path] = set()  # folders to remove by whoever ends the process at once
_DESCRIPTORS = re.compile(r"/dev/fd|/proc/(\d+)(/task/\d+)?/fd")


def expanded_path(path: str | os.PathLike) -> Path:
    """A path, in which a ~ at the beginning is the home folder."""
    return Path(os.path.expanduser(path))


@contextmanager
def whole_file(path: str | os.PathLike) -> Iterator[Path]:
    """A new file, in a folder of its own, that becomes ``path`` when everything went well.

    An existing file is replaced (the target of a link instead of the link), and a path that is no
    regular file is written through. A ValueError where the path is a folder or a disk, or its
    folder does not exist; an OSError, with the path, where the system refuses.

    Examples
    --------
    >>> path = Path(tempfile.mkdtemp()) / "scores.csv"
    >>> with whole_file(path) as part:
    ...     _ = part.write_text("run,score")
    >>> path.read_text()
    'run,score'
    """
    path = expanded_path(path)
    check_writable(path)
    target = Path(os.path.realpath(path))
    through = is_special(path)
    with new_folder(path, Path(tempfile.gettempdir()) if through else target.parent) as folder:
        part = folder / path.name
        yield part
        if through:
            _write_through(part, path)
            return
        if target.exists():
            shutil.copymode(target, part)
        os.replace(part, target)


@contextmanager
def whole_folder(path: str | os.PathLike) -> Iterator[Path]:
    """A new folder to fill, which becomes ``path`` when everything went well.

    The body of ``with`` makes a folder of the same name in another one. A folder that is there is
    replaced, a link's target instead of the link; one to go into that does not exist is refused.
    """
    path = expanded_path(path)
    target = Path(os.path.realpath(path))
    _check_parent(path)
    with new_folder(path, target.parent) as folder:
        part = folder / target.name
        yield part
        if not target.is_dir():
            os.replace(part, target)
            return
        # not in a folder that whoever ends the process removes
        kept = Path(tempfile.mkdtemp(prefix=".bayeseval-", dir=target.parent))
        try:
            target.rename(kept / target.name)
            os.replace(part, target)
        except BaseException:
            if not target.exists():
                (kept / target.name).rename(target)
            raise
        finally:
            if target.exists():
                shutil.rmtree(kept)


def picture_name(label: str) -> str:
    """Name of the picture of something that has a label, such as a measure.

    Examples
    --------
    >>> picture_name("scores_RBP(p=0.8)"), picture_name("intervals_P@10")
    ('scores_RBP_p=0.8.png', 'intervals_P@10.png')
    """
    return re.sub(r"[^\w.@=-]+", "_", label).strip("_") + ".png"


def check_writable(path: Path) -> None:
    """Refuse a path that cannot be written, before the work rather than after it.

    A folder, a disk or a file in no folder is a ValueError, one without permission, or in a folder
    without, an OSError.
    """
    _check_parent(path)
    parent = Path(os.path.realpath(path)).parent
    if not is_special(path) and not os.access(parent, os.W_OK):
        raise PermissionError(13, os.strerror(13), str(path))
    if not os.path.exists(path):
        return
    if path.is_dir():
        raise ValueError(f"{path} is a folder, which a file cannot replace; name a file in it.")
    if path.is_block_device():
        raise ValueError(f"{path} is a disk, which is not written; name a file.")
    if not os.access(path, os.W_OK):
        raise PermissionError(13, os.strerror(13), str(path))


def is_special(path: Path) -> bool:
    """Whether a path names something open or no regular file, which is there to be written to."""
    if _descriptor(path) is not None:
        return True
    try:
        return not stat.S_ISREG(os.stat(path).st_mode)
    except FileNotFoundError:
        return False


def _check_parent(path: Path) -> None:
    """Refuse a file in a folder that does not exist, behind a link too."""
    for folder in (path.parent, Path(os.path.realpath(path)).parent):
        if not folder.is_dir() and _descriptor(path) is None:
            raise ValueError(f"{path} cannot be written because folder {folder} does not exist.")


def _descriptor(path: Path) -> int | None:
    """Number of the open file of this process that a path such as ``/dev/stdout`` stands for."""
    for _ in range(40):  # as many links as the kernel follows
        found = _DESCRIPTORS.fullmatch(os.path.realpath(path.parent))
        if found and path.name.isdigit() and found[1] in (None, str(os.getpid())):
            return int(path.name)
        if not path.is_symlink():
            return None
        path = path.parent / os.readlink(path)
    return None


@contextmanager
def new_folder(path: Path, parent: Path) -> Iterator[Path]:
    """A folder of one's own for what becomes a path, gone in the end."""
    try:
        folder = Path(tempfile.mkdtemp(prefix=".bayeseval-", dir=parent))
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from error
    UNFINISHED.add(folder)
    try:
        yield folder
    finally:
        shutil.rmtree(folder)
        UNFINISHED.discard(folder)


def _write_through(part: Path, path: Path) -> None:
    """Copy a file into what is open or special, after all that was printed before."""
    number = _descriptor(path)
    if number is not None:
        sys.stdout.flush()
    try:
        with part.open("rb") as source:
            with open(path if number is None else os.dup(number), "wb") as sink:
                shutil.copyfileobj(source, sink)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from error
