"""Processors that may be used, and many small independent fits on all of them.

The pool is the standard library's: joblib would be one more dependency, for processes and a cache
that nothing here needs.
"""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

from bayeseval.progress import track


def usable_processors() -> int:
    """Number of processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def each_on_a_core[Task, Answer](
    function: Callable[[Task], Answer], tasks: Sequence[Task], description: str
) -> list[Answer]:
    """``[function(task) for task in tasks]`` in threads, one BLAS thread each.

    The fits are small: BLAS that spreads each over all cores makes them slower, by a factor of ten
    on a busy machine.
    """
    from threadpoolctl import threadpool_limits

    with (
        threadpool_limits(limits=1, user_api="blas"),
        ThreadPoolExecutor(max_workers=usable_processors()) as pool,
    ):
        futures = [pool.submit(function, task) for task in tasks]
        return [future.result() for future in track(futures, description)]
