"""Time and peak memory of a collection on disk: read, sampled and scored by blocks of topics.

Every step runs in a process of its own, whose peak is that of the process with all it imports:

    python benchmarks/larger_than_memory.py --topics 20000 --runs 50 --ranks 100

``--check`` reads the same files into memory too, and compares all numbers: for small sizes.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np

MEASURES = ["AP", "P@10"]
BUDGET = 30
RELEVANT = 12  # documents of a topic


def write_files(folder: Path, n_topics: int, n_runs: int, n_ranks: int) -> None:
    """Files of runs that rank the documents of a topic alike, and the relevant documents."""
    n_documents = 4 * n_ranks
    for run in range(n_runs):
        random = np.random.default_rng([1, run])
        with (folder / f"run{run:03d}.txt").open("w") as file:
            for topic in range(n_topics):
                score = -np.log1p(np.arange(n_documents)) + random.gumbel(size=n_documents)
                best = np.argsort(-score)[:n_ranks].tolist()
                first = topic * 7919
                file.write(
                    "".join(
                        f"{topic + 1} Q0 D{first + document:09d} 0 {n_ranks - rank} run{run:03d}\n"
                        for rank, document in enumerate(best)
                    )
                )
    random = np.random.default_rng(2)
    with (folder / "qrels").open("w") as file:
        for topic in range(n_topics):
            found = np.unique(random.geometric(0.05, size=RELEVANT) % n_documents)
            lines = (f"{topic + 1} 0 D{topic * 7919 + document:09d} 1\n" for document in found)
            file.writelines(lines)


def read(folder: Path, stored: bool) -> None:
    """Read the runs into a store, or into memory."""
    import bayeseval as be

    store = {"store": folder / "whole.zarr"} if stored else {}
    collection = be.read_collection(folder / "qrels", folder / "run*.txt", **store)
    if not stored:
        be.save_collection(collection, folder / "whole.nc")


def sample(folder: Path, stored: bool) -> None:
    """Make an order, and judge the first documents of each topic."""
    import bayeseval as be

    collection = opened(folder, "whole", stored)
    order = be.designs.order(collection, frame="retrieved", budget=BUDGET, random_seed=1)
    sampled = be.reveal(collection, order, be.draw(order), unjudged="nonrelevant")
    be.save_collection(sampled, folder / ("sampled.zarr" if stored else "sampled.nc"))


def score(folder: Path, stored: bool, estimator: str) -> None:
    """Scores of all runs on all topics."""
    import bayeseval as be

    collection = opened(folder, "whole" if estimator == "assumed" else "sampled", stored)
    found = be.evaluate(collection, MEASURES, estimator=estimator)
    found.to_netcdf(folder / f"{estimator}-{stored}.nc", engine="h5netcdf")


def opened(folder: Path, name: str, stored: bool):
    """A collection with its rankings on disk, or in memory."""
    import bayeseval as be

    path = folder / f"{name}.zarr" if stored else folder / f"{name}.nc"
    return be.open_collection(path, chunks={} if stored else None)


STEPS = {
    "read": read,
    "order": sample,
    **{
        name: lambda folder, stored, name=name: score(folder, stored, name)
        for name in ("assumed", "stat", "dyn")
    },
}


def one_step(name: str, folder: Path, stored: bool) -> None:
    """One step in this process, and what it took as a line of JSON."""
    warnings.simplefilter("ignore")
    began = time.perf_counter()
    STEPS[name](folder, stored)
    usage = resource.getrusage(resource.RUSAGE_SELF)
    found = {
        "seconds": time.perf_counter() - began,
        "processor": usage.ru_utime + usage.ru_stime,
        "gigabytes": usage.ru_maxrss * 1024 / 1e9,
    }
    print(json.dumps(found))


def measured(name: str, folder: Path, stored: bool) -> dict[str, float]:
    """What a step took in a process of its own."""
    command = [sys.executable, __file__, "--step", name, "--folder", str(folder)]
    command += ["--stored"] if stored else []
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True)
    return json.loads(done.stdout)


def check(folder: Path) -> None:
    """Compare the scores of a store with those in memory."""
    import xarray as xr

    for name in ("assumed", "stat", "dyn"):
        first, second = (
            xr.load_dataset(folder / f"{name}-{stored}.nc", engine="h5netcdf")
            for stored in (True, False)
        )
        print(f"{name}: {'the same to the last digit' if first.equals(second) else 'NOT THE SAME'}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    for name, number in (("topics", 200), ("runs", 10), ("ranks", 100)):
        parser.add_argument(f"--{name}", type=int, default=number)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--step", choices=STEPS, help=argparse.SUPPRESS)
    parser.add_argument("--stored", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.step:
        one_step(asked.step, asked.folder, asked.stored)
        return
    with tempfile.TemporaryDirectory(dir=asked.folder) as name:
        folder = Path(name)
        write_files(folder, asked.topics, asked.runs, asked.ranks)
        print(f"{asked.topics} topics, {asked.runs} runs, {asked.ranks} ranks")
        for stored in (True, False) if asked.check else (True,):
            print("in a store" if stored else "in memory")
            for step in STEPS:
                found = measured(step, folder, stored)
                shown = "{seconds:8.1f} s, {processor:8.1f} s of a processor, {gigabytes:6.2f} GB"
                load = os.getloadavg()[0]
                print(f"  {step:8} {shown.format(**found)}, load {load:.1f}", flush=True)
        if asked.check:
            check(folder)


if __name__ == "__main__":
    main()
