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


def test_scores_of_small_files_need_neither_numba_nor_dask(tmp_path):
    (tmp_path / "qrels").write_text("1 0 a 1\n1 0 b 0\n2 0 c 2\n")
    (tmp_path / "run").write_text("1 Q0 b 1 2 r\n1 Q0 a 2 1 r\n2 Q0 c 1 3 r\n")
    words = ["bayeseval", "evaluate", f"{tmp_path}/qrels", f"{tmp_path}/run"]
    words += ["--estimator", "assumed", *("-m P@10 -m AP -m nDCG@10 -m Rprec -m R@5".split())]
    code = f"sys.argv = {words}; from bayeseval.__main__ import main; main()"
    heavy = ("numba", "dask.array", "scipy.stats", "pymc", "arviz", "matplotlib")
    assert imported(code, heavy) == "[]"
