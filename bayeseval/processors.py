"""Processors that may be used, and independent work on all of them.

The pool is the standard library's: joblib offers processes and a cache, which nothing here needs.
"""

import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager

from bayeseval.progress import track


def usable_processors() -> int:
    """Number of processors that this process may use."""
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
