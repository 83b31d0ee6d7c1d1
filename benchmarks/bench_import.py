"""How long `import bayeseval` takes, beside the libraries that it cannot do without."""

import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
LIMIT = 1.5


def seconds(code):
    """Wall-clock seconds of a fresh Python that runs a line of code."""
    began = time.perf_counter()
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)
    return time.perf_counter() - began


def test_import_takes_at_most_half_as_long_again_as_its_libraries(benchmark):
    ours, theirs = [], []
    for _ in range(7):  # alternating, so that a busy moment hits both; the least is the least busy
        theirs.append(seconds("import numpy, pandas, xarray"))
        ours.append(seconds("import bayeseval"))
    benchmark.extra_info["ratio"] = min(ours) / min(theirs)
    benchmark.pedantic(seconds, args=("import bayeseval",), rounds=3)
    assert min(ours) <= LIMIT * min(theirs), f"{min(ours):.3f} s against {min(theirs):.3f} s"
