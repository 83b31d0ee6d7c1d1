"""How long `import bayeseval` takes, beside the libraries that it cannot do without."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parents[1]
LIMIT = 1.5
# one process imports the libraries, then the package: a busy machine slows both alike
CODE = """
import json, time
began = time.perf_counter()
import numpy, pandas, xarray
libraries = time.perf_counter() - began
import bayeseval
print(json.dumps([libraries, time.perf_counter() - began]))
"""


def seconds():
    """Seconds of a fresh Python until the libraries are imported, and until the package is."""
    done = subprocess.run(
        [sys.executable, "-c", CODE], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout)


def test_import_takes_at_most_half_as_long_again_as_its_libraries(benchmark):
    seen = []
    benchmark.pedantic(lambda: seen.append(seconds()), rounds=7, warmup_rounds=1)
    libraries, everything = np.transpose(seen)
    ratio = float(np.median(everything / libraries))
    benchmark.extra_info["ratio"] = ratio
    assert ratio <= LIMIT
