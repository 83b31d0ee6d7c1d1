"""Processors that may be used, and independent work on all of them.

The pool is the standard library's: joblib offers processes and a cache, which nothing here needs.
"""

import hashlib
import os
import pickle
import platform
import warnings
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import (
    BrokenExecutor,
    CancelledError,
    Executor,
    Future,
    ThreadPoolExecutor,
    as_completed,
)
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from contextvars import ContextVar
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from bayeseval.collection.storage import restored
from bayeseval.progress import track
from bayeseval.whole_file import expanded_path, whole_file

_ON_WORKER = ContextVar("one of many workers", default=False)
_EXECUTOR: ContextVar[Any] = ContextVar("who does blocks of work", default=None)


def usable_processors() -> int:
    """Number of processors that this process, or this one of many workers, may use."""
    if _ON_WORKER.get():
        return 1
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Linear algebra on one core, as a context or on a function.

    The matrices here are small: BLAS that spreads each over all cores is no faster, keeps the cores
    busy all the same, and takes ten times as long where others use them. Numbers then do not depend
    on how many there are.
    """
    from threadpoolctl import threadpool_limits

    with threadpool_limits(limits=1, user_api="blas"):
        yield


def each_on_a_core[Task, Answer](
    function: Callable[[Task], Answer], tasks: Sequence[Task], description: str
) -> list[Answer]:
    """``[function(task) for task in tasks]`` in threads, as :func:`in_order` does it."""
    return list(in_order(function, tasks, description, usable_processors()))


@contextmanager
def working_on(executor: Any) -> Iterator[None]:
    """Blocks of work are done by an executor (:func:`in_chunks`); None: by this machine's cores."""
    check_executor(executor)
    before = _EXECUTOR.set(executor)
    try:
        yield
    finally:
        _EXECUTOR.reset(before)


def on_blocks(
    function: Callable, shared: tuple, tasks: Sequence, description: str, *, threads: bool = True
) -> Iterator[Any]:
    """Yield ``function(*shared, task)`` for each task in turn, by the executor that works.

    Without an executor this process does the work, in threads or one task after the other.
    """
    executor = _EXECUTOR.get()
    if executor is None and threads:
        return in_order(partial(function, *shared), tasks, description, usable_processors())
    return in_chunks(function, shared, tasks, description, executor)


def in_order[Task, Answer](
    function: Callable[[Task], Answer], tasks: Sequence[Task], description: str, at_once: int
) -> Iterator[Answer]:
    """Yield ``function(task)`` for each task in turn, in threads, one BLAS thread each.

    Of ``at_once`` tasks at a time no more than twice as many are ahead of the one that is yielded.
    """
    begun: deque[Future[Answer]] = deque()
    with one_blas_thread(), ThreadPoolExecutor(max_workers=at_once) as pool:
        try:
            for number, _ in enumerate(track(tasks, description)):
                for task in tasks[number + len(begun) : number + 2 * at_once]:
                    begun.append(pool.submit(function, task))
                yield begun.popleft().result()
        finally:  # where a task failed, or nobody wants the rest
            for future in begun:
                future.cancel()


def check_executor(executor: Any) -> None:
    """Refuse what is neither an executor nor a client of dask."""
    if getattr(executor, "status", "") == "closed":
        raise ValueError("the client that is the executor is closed")
    if not (executor is None or isinstance(executor, Executor) or hasattr(executor, "scatter")):
        raise TypeError(
            "executor must be a concurrent.futures.Executor or a dask.distributed.Client, not a "
            f"{type(executor).__name__}"
        )


def dask_client(address: str | None) -> AbstractContextManager:
    """Client of the dask scheduler at an address, as a context; None without an address."""
    if address is None:
        return nullcontext()
    try:
        from dask.distributed import Client
    except ImportError as error:
        raise ValueError("a scheduler needs dask: pip install 'bayeseval[scale]'") from error
    return Client(address, timeout=10)


def in_chunks(
    function: Callable,
    shared: tuple,
    tasks: Sequence,
    description: str,
    executor: Any = None,
    keep: str | os.PathLike | None = None,
) -> Iterator[Any]:
    """Yield ``function(*shared, task)`` for each task in turn, here or by an executor.

    An executor is a ``concurrent.futures.Executor`` or a ``dask.distributed.Client``; None is this
    process, one task after the other. The function stands in a module, and what it is given can be
    pickled; seeds are in the tasks, so that answers do not depend on who finds them. ``shared``
    goes to every worker of a Client once, and along with each task to those of an Executor, which
    takes 10 ms for a collection of 100,000 pairs.

    With a folder to ``keep`` them in, answers are Datasets, and files as soon as they are there,
    whose names are checksums of the version, the function, ``shared`` and the task. Answers that
    have a file are read.
    """
    import scipy.linalg  # noqa: F401  its BLAS must be loaded to be limited

    check_executor(executor)
    files: list[Any] = [None] * len(tasks)
    if keep is not None:
        files = _files(keep, function, shared, tasks)
    missing = {n: tasks[n] for n, file in enumerate(files) if file is None or not file.exists()}
    ready: dict[int, Any] = {}
    with one_blas_thread(), closing(_as_found(function, shared, missing, executor)) as found:
        for turn, file in enumerate(track(files, description)):
            while turn in missing and turn not in ready:
                try:
                    number, ready[number] = next(found)
                except Exception as error:
                    killed = isinstance(error, BrokenExecutor | CancelledError)
                    if not (killed or type(error).__name__ == "KilledWorker"):  # the last is dask's
                        raise
                    raise BrokenExecutor(_killed(files, keep)) from error
                if files[number] is not None:
                    with whole_file(files[number]) as part:
                        ready[number].to_netcdf(part, engine="h5netcdf")
            if turn in missing:
                yield ready.pop(turn)
            else:
                yield restored(xr.load_dataset(file, engine="h5netcdf")).drop_encoding()


def _as_found(
    function: Callable, shared: Any, tasks: dict[int, Any], executor: Any
) -> Generator[tuple[int, Any]]:
    """Numbers of tasks and their answers, as soon as these are there."""
    if executor is None:
        for number, task in tasks.items():
            yield number, function(*shared, task)
        return
    if not isinstance(executor, Executor):
        shared = executor.scatter([shared], broadcast=True, hash=False)[0]
        executor = executor.get_executor(pure=False)
    numbers = {
        executor.submit(_on_worker, _process(), function, shared, task): number
        for number, task in tasks.items()
    }
    repeated: dict = {}  # a warning of many tasks is given once

    def given(future: Future) -> tuple[int, Any]:
        answer, caught = future.result()
        for warning in caught:
            warnings.warn_explicit(*warning, registry=repeated)
        return numbers.pop(future), answer

    try:
        for future in as_completed(list(numbers)):
            if future.cancelled() or future.exception():  # the others that have begun go on
                # a broken pool ends all by itself, and not if one of them is cancelled
                broken = not future.cancelled() and isinstance(future.exception(), BrokenExecutor)
                for other in as_completed([n for n in numbers if broken or not n.cancel()]):
                    if not other.exception():
                        yield given(other)
            yield given(future)
    finally:  # where a task failed, or nobody wants the rest
        for future in numbers:
            future.cancel()


def _killed(files: list[Any], keep: Any) -> str:
    """Say that a worker was killed, and what is not lost."""
    then = "begins again"
    if keep is not None:
        number = sum(file is not None and file.exists() for file in files)
        then = f"goes on from the {number} of {len(files)} chunks that are kept in {keep}"
    return (
        "a worker was killed, often because memory ran out, or it could not start, as where a "
        "script has no line if __name__ == '__main__': before its calls; the same call with a new "
        f"executor {then}"
    )


def _on_worker(home: tuple[str, int], function: Callable, shared: tuple, task: Any) -> tuple:
    """Answer to a task, by one core, and the warnings that another process would not see."""
    from threadpoolctl import threadpool_limits

    before = _ON_WORKER.set(True)
    try:
        if _process() == home:  # a thread, where warnings are given at once
            return function(*shared, task), []
        import scipy.linalg  # noqa: F401

        threadpool_limits(limits=1, user_api="blas")
        with warnings.catch_warnings(record=True, action="always") as caught:
            answer = function(*shared, task)
        return answer, [(w.message, w.category, w.filename, w.lineno) for w in caught]
    finally:
        _ON_WORKER.reset(before)


def _process() -> tuple[str, int]:
    """Which process of which machine this is."""
    return platform.node(), os.getpid()


def _files(keep: Any, function: Callable, shared: tuple, tasks: Sequence) -> list[Path]:
    """Files of the answers to tasks, in a folder that is made where it is missing."""
    folder = expanded_path(keep)
    folder.mkdir(exist_ok=True)
    common = hashlib.sha256()
    name = function.__name__.strip("_")
    _add(common, (version("bayeseval"), function.__module__, name, shared))
    files = []
    for task in tasks:
        checksum = common.copy()
        _add(checksum, task)
        files.append(folder / f"{name}-{checksum.hexdigest()[:20]}.nc")
    return files


def _add(checksum: Any, value: Any) -> None:
    """Add a value to a checksum that is the same in every process, as pickles are not."""
    if isinstance(value, xr.DataTree):
        value = {node.path: node.to_dataset(inherit=False) for node in value.subtree}
    elif isinstance(value, xr.DataArray):
        value = value.to_dataset(name="values of an array")
    if isinstance(value, xr.Dataset):
        value = (dict(value.variables), value.attrs)
    elif isinstance(value, xr.Variable):
        value = (value.dims, value.to_numpy(), value.attrs)
    if isinstance(value, dict):
        value = tuple(value.items())
    if isinstance(value, np.ndarray) and value.dtype != object:
        checksum.update(f"{value.dtype.str} {value.shape}".encode())
        checksum.update(np.ascontiguousarray(value).data)
    elif isinstance(value, list | tuple | np.ndarray):
        checksum.update(f"{len(value)} of".encode())
        for part in value:
            _add(checksum, part)
    elif value is None or isinstance(value, str | int | float):
        checksum.update(f"{value!r},".encode())
    else:
        checksum.update(pickle.dumps(value))
