"""What tests and benchmarks share: the real collections, and the same examples on every run."""

import os
from pathlib import Path

import pytest
from hypothesis import settings

# Else pytest, which imports the modules of doctests one by one, would leave a module such as
# `be.designs.poisson` in the place of the function of its name.
import bayeseval.combination
import bayeseval.designs
import bayeseval.experiments
import bayeseval.inference
import bayeseval.predictors
import bayeseval.rankings  # noqa: F401
from benchmarks.real_data import REAL_DATA, unpacked

# The same examples on every run: a failure is the change's, not the day's.
settings.register_profile("same", derandomize=True, deadline=None)
settings.load_profile("same")


@pytest.fixture(scope="session")
def real_data() -> Path:
    """Folder of real collections; the test is skipped where there is none."""
    folder = os.environ.get(REAL_DATA)
    if not folder or not Path(folder).is_dir():
        pytest.skip(f"{REAL_DATA} names no folder of real collections")
    return Path(folder)


@pytest.fixture(scope="session")
def round5_runs(real_data) -> Path:
    """Folder of the 126 TREC-COVID round-5 runs, unpacked."""
    return unpacked(real_data / "trec-covid" / "round5-runs.tar.xz")


@pytest.fixture(scope="session")
def round1_runs(real_data) -> Path:
    """Folder of the 143 TREC-COVID round-1 runs, unpacked."""
    return unpacked(real_data / "trec-covid" / "round1-runs.tar.xz")
