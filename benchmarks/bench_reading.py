"""Reading and encoding real runs, beside pytrec_eval reading the same files.

Run with ``BAYESEVAL_REAL_DATA`` set: ``pytest benchmarks/bench_reading.py``.
"""

import subprocess
import sys
import time

import pytest

from bayeseval.trec import read_collection

pytrec_eval = pytest.importorskip("pytrec_eval")
GIGABYTE = 2**20  # ru_maxrss counts kilobytes


def read_with_pytrec_eval(paths) -> None:
    for path in paths:
        with open(path) as file:
            pytrec_eval.parse_run(file)


@pytest.fixture(scope="module")
def paths(round5_runs):
    return sorted(round5_runs.iterdir())


def test_reading_runs(benchmark, paths):
    collection = benchmark.pedantic(read_collection, (None, paths), rounds=3, warmup_rounds=1)
    assert collection["run"].size == 126


def test_reading_runs_with_pytrec_eval(benchmark, paths):
    benchmark.pedantic(read_with_pytrec_eval, (paths,), rounds=3, warmup_rounds=0)


def test_reading_is_no_slower_than_pytrec_eval(paths):
    ours, theirs = [], []
    for _ in range(3):
        for times, read in ((ours, lambda: read_collection(None, paths)),
                            (theirs, lambda: read_with_pytrec_eval(paths))):  # fmt: skip
            start = time.process_time()
            read()
            times.append(time.process_time() - start)
    ratio = min(ours) / min(theirs)
    print(f"reading: {min(ours):.2f} s, pytrec_eval {min(theirs):.2f} s, ratio {ratio:.2f}")
    assert ratio <= 1


def test_reading_needs_little_memory(paths):
    code = (
        "import resource, sys; from bayeseval.trec import read_collection; "
        "read_collection(None, sys.argv[1]); "
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
    )
    command = [sys.executable, "-c", code, str(paths[0].parent / "*")]
    output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    peak = int(output.split()[-1]) / GIGABYTE
    print(f"peak memory {peak:.2f} GB")
    assert peak < 2.5
