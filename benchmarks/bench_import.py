"""How long `import bayeseval` takes, beside the libraries that it cannot do without."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[1]
LIMIT = 1.3
HELP_LIMIT = 0.6  # seconds
# one process imports the libraries, then the package with every public name, which it imports when
# first used: a busy machine slows both alike
CODE = """
import json, time
began = time.perf_counter()
import numpy, pandas, xarray
libraries = time.perf_counter() - began
import bayeseval
for name in bayeseval.__all__:
    getattr(bayeseval, name)
print(json.dumps([libraries, time.perf_counter() - began]))
"""


def seconds():
    """Seconds of a fresh Python until the libraries are imported, and until the package is."""
    done = subprocess.run(
        [sys.executable, "-c", CODE], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout)


def test_import_takes_little_more_than_its_libraries(benchmark):
    seen = []
    benchmark.pedantic(lambda: seen.append(seconds()), rounds=7, warmup_rounds=1)
    libraries, everything = np.transpose(seen)
    ratio = float(np.median(everything / libraries))
    benchmark.extra_info["ratio"] = ratio
    assert ratio <= LIMIT


@pytest.mark.parametrize("words", [["--help"], ["evaluate", "--help"]], ids=" ".join)
def test_help_is_there_at_once(benchmark, words):
    program = [sys.executable, "-m", "bayeseval", *words]
    benchmark.pedantic(
        lambda: subprocess.run(program, cwd=ROOT, capture_output=True, check=True),
        rounds=5, warmup_rounds=1,
    )  # fmt: skip
    assert benchmark.stats["median"] <= HELP_LIMIT
