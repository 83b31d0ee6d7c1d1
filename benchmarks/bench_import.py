"""How long `import bayeseval` takes, beside the libraries that it cannot do without."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[1]
HELP_LIMIT = 0.6  # seconds
# names that a process touches, and how many times as long as the libraries that may take: those of
# the main job, and all public ones, which took 1.57 times when importing the package imported them
TOUCHED = {
    "main job": (
        [
            "be.read_collection",
            "be.designs.pps_strata",
            "be.draw",
            "be.reveal",
            "be.evaluate",
            "be.mean_over_topics",
        ],
        1.3,
    ),
    "all names": (["[getattr(be, name) for name in be.__all__]"], 1.57),
}
# one process imports the libraries, then the package and the names, which it imports when they are
# first used: a busy machine slows both alike
CODE = """
import json, time
began = time.perf_counter()
import numpy, pandas, xarray
libraries = time.perf_counter() - began
import bayeseval as be
{names}
print(json.dumps([libraries, time.perf_counter() - began]))
"""


def seconds(names):
    """Seconds of a fresh Python until the libraries are imported, and until the names are."""
    code = CODE.format(names="\n".join(names))
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout)


@pytest.mark.parametrize("touched", TOUCHED)
def test_import_takes_little_more_than_its_libraries(benchmark, touched):
    names, limit = TOUCHED[touched]
    seen = []
    benchmark.pedantic(lambda: seen.append(seconds(names)), rounds=7, warmup_rounds=1)
    libraries, everything = np.transpose(seen)
    ratio = float(np.median(everything / libraries))
    benchmark.extra_info["ratio"] = ratio
    assert ratio <= limit


@pytest.mark.parametrize("words", [["--help"], ["evaluate", "--help"]], ids=" ".join)
def test_help_is_there_at_once(benchmark, words):
    program = [sys.executable, "-m", "bayeseval", *words]
    benchmark.pedantic(
        lambda: subprocess.run(program, cwd=ROOT, capture_output=True, check=True),
        rounds=5, warmup_rounds=1,
    )  # fmt: skip
    assert benchmark.stats["median"] <= HELP_LIMIT
