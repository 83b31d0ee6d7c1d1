"""Importing the package must stay light: heavy libraries load on first use."""

import subprocess
import sys
from pathlib import Path

import bayeseval

HEAVY = ("arviz", "dask", "ir_measures", "matplotlib", "numba", "nutpie", "pymc", "sklearn")


def test_importing_the_package_leaves_heavy_libraries_alone():
    code = f"import sys, bayeseval; print([name for name in {HEAVY} if name in sys.modules])"
    root = Path(bayeseval.__file__).parents[1]
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"
