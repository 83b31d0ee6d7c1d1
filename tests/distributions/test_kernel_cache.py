"""The cache of kernels that call kernels of other files."""

import importlib.util
import os
import sys

import pytest

INNER = """
import numba

@numba.njit(cache=True)
def inner():
    return {value}
"""
OUTER = """
import cached_inner
from bayeseval.distributions.kernel_cache import compiled_over
from cached_inner import inner

@compiled_over(cached_inner)
def outer():
    return inner() + 1
"""


def loaded(name, path):
    """A module as a new process would load it."""
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def test_a_kernel_is_compiled_again_when_one_that_it_calls_changes(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    for name in ("cached_inner", "cached_outer"):
        monkeypatch.setitem(sys.modules, name, None)
    paths = tmp_path / "cached_inner.py", tmp_path / "cached_outer.py"
    paths[1].write_text(OUTER)
    hits = []
    for age, value in enumerate((10, 10, 25)):
        paths[0].write_text(INNER.format(value=value))
        os.utime(paths[0], (1e9 + age, 1e9 + age))
        loaded("cached_inner", paths[0])
        outer = loaded("cached_outer", paths[1]).outer
        assert outer() == value + 1
        hits.append(sum(outer.stats.cache_hits.values()))
    assert hits == [0, 1, 0]


@pytest.mark.parametrize("module", ["wallenius_topic_kernel", "wallenius_unjudged_kernel"])
def test_kernels_over_others_count_their_files_in(module):
    kernels = importlib.import_module(f"bayeseval.distributions.{module}")
    dispatchers = [
        x for x in vars(kernels).values()
        if hasattr(x, "py_func") and x.py_func.__module__ == kernels.__name__
    ]  # fmt: skip
    assert len(dispatchers) >= 5
    for dispatcher in dispatchers:
        assert isinstance(dispatcher._cache._cache_file._source_stamp, tuple)
