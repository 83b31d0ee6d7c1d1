"""Compilation of kernels that call kernels of other modules.

Numba keeps what it compiled until the file of the function changes, and does not see that a
function called from another file has changed: it would go on running the old one. Kernels that call
across files are compiled with `compiled_over`, which counts the other files in.

Imports numba: to be imported by kernel modules only.
"""

import zlib
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numba


def compiled_over(*modules: ModuleType) -> Callable[[Callable[..., Any]], Any]:
    """Decorator that compiles a function which calls kernels of these modules, cached on disk.

    Parameters
    ----------
    *modules : module
        All kernel modules that the function reaches, also those that it reaches through others.

    Returns
    -------
    callable
        Like ``numba.njit(cache=True, nogil=True, error_model="numpy")``; the function is compiled
        again when its own file or one of these files has changed.
    """
    sources = tuple(zlib.crc32(Path(str(module.__file__)).read_bytes()) for module in modules)

    def compiled(function: Callable[..., Any]) -> Any:
        dispatcher = numba.njit(cache=True, nogil=True, error_model="numpy")(function)
        # Not part of numba's interface: without it (or with compilation switched off) the cache is
        # numba's own, and a test says so.
        file = getattr(getattr(dispatcher, "_cache", None), "_cache_file", None)
        if file is not None:
            file._source_stamp = (file._source_stamp, sources)
        return dispatcher

    return compiled
