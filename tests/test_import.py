"""Importing the package must stay light: heavy libraries load on first use."""

import importlib.metadata
import subprocess
import sys
from pathlib import Path

import bayeseval

HEAVY = (
    *("arviz", "dask", "ir_measures", "matplotlib", "numba", "nutpie", "pymc", "scipy.special"),
    "sklearn",
)
LIBRARIES = ("numpy", "pandas", "xarray", *HEAVY)


def imported(code, names):
    """Which modules of these a fresh Python has imported after some code."""
    code = f"import sys, bayeseval; {code}; print([m for m in {names} if m in sys.modules])"
    root = Path(bayeseval.__file__).parents[1]
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=True
    )
    return done.stdout.splitlines()[-1]


def test_importing_every_public_name_leaves_heavy_libraries_alone():
    assert imported("[getattr(bayeseval, name) for name in bayeseval.__all__]", HEAVY) == "[]"


def test_the_version_is_that_of_the_installed_package():
    assert bayeseval.__version__ == importlib.metadata.version("bayeseval")


def test_the_help_of_a_command_needs_no_library():
    code = "from bayeseval.cli import main; main(['evaluate', '--help'])"
    assert imported(code, LIBRARIES) == "[]"
