"""How long `import bayeseval` takes, beside the libraries that it cannot do without."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[1]
HELP_LIMIT = 0.6  # seconds
# names that a process touches, and how many times as long as the libraries that may take: those of
# the main job, and all public ones
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
        1.2,
    ),
    "all names": (["[getattr(be, name) for name in be.__all__]"], 1.3),
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


@pytest.fixture(scope="session")
def compiled(tmp_path_factory):
    """An environment where the package has its bytecode, as it has once it was installed.

    Installed libraries always have theirs; where Python may write none, the package would be
    compiled again by each process, which takes half as long as importing the libraries.
    """
    left = {name: os.environ[name] for name in os.environ if name != "PYTHONDONTWRITEBYTECODE"}
    return left | {"PYTHONPYCACHEPREFIX": str(tmp_path_factory.mktemp("bytecode"))}


def seconds(names, environment):
    """Seconds of a fresh Python until the libraries are imported, and until the names are."""
    code = CODE.format(names="\n".join(names))
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT, env=environment, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return json.loads(done.stdout)


@pytest.mark.parametrize("touched", TOUCHED)
def test_import_takes_little_more_than_its_libraries(benchmark, compiled, touched):
    names, limit = TOUCHED[touched]
    seen = []
    benchmark.pedantic(lambda: seen.append(seconds(names, compiled)), rounds=7, warmup_rounds=1)
    libraries, everything = np.transpose(seen[1:])
    ratio = float(np.median(everything / libraries))
    print(f"importing: {ratio:.2f} times numpy, pandas and xarray, allowed {limit}")
    assert ratio <= limit


@pytest.mark.parametrize("words", [["--help"], ["evaluate", "--help"]], ids=" ".join)
def test_help_is_there_at_once(benchmark, compiled, words):
    program = [sys.executable, "-m", "bayeseval", *words]
    benchmark.pedantic(
        lambda: subprocess.run(program, cwd=ROOT, env=compiled, capture_output=True, check=True),
        rounds=5, warmup_rounds=1,
    )  # fmt: skip
    assert benchmark.stats["min"] <= HELP_LIMIT  # other work on the machine only adds to it
