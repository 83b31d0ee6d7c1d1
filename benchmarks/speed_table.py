"""Speed and memory beside other evaluators, as the table of docs/million_queries.md.

Everything is simulated and the same in every run. Each row is measured in processes of their own,
the packages one after the other; times are processor seconds, so that what else the machine does
matters little, and the least of the repetitions counts.

    python benchmarks/speed_table.py [--repeat 3] [--rows file,dicts,encoded,start,dyn]
"""

import argparse
import datetime
import json
import os
import platform
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parents[1]
PROGRAM = Path(sys.executable).parent
PRELUDE = """
import json, resource, sys, time
clock, marks = time.process_time, []
def mark(): marks.append(clock())
"""
CLOSING = """
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
print(json.dumps([peak, *(b - a for a, b in zip(marks, marks[1:]))]))
"""
DICTS = """
import numpy as np
rng, qrels, run = np.random.default_rng(0), {}, {}
for topic in range(10_000):
    documents = [f"D{number}" for number in rng.choice(8_000_000, 100, replace=False)]
    grades, scores = rng.integers(0, 3, 10).tolist(), np.sort(rng.normal(size=100))[::-1].tolist()
    qrels[str(topic)] = dict(zip(documents, grades))
    run[str(topic)] = dict(zip(documents, scores))
"""
OURS = "['nDCG@10', 'AP', 'R@100'], estimator='assumed'"
THEIRS = "{'ndcg_cut_10', 'map', 'recall_100'}"
FILE = {
    "bayeseval": f"""
mark()
import bayeseval as be
collection = be.read_collection('big.qrels', 'big.run')
be.evaluate(collection, {OURS})
mark()""",
    "pytrec_eval": f"""
mark()
import pytrec_eval
qrels, run = pytrec_eval.parse_qrel(open('big.qrels')), pytrec_eval.parse_run(open('big.run'))
pytrec_eval.RelevanceEvaluator(qrels, {THEIRS}).evaluate(run)
mark()""",
    "ranx": """
import numba
mark()
from ranx import Qrels, Run, evaluate
qrels, run = Qrels.from_file('big.qrels', kind='trec'), Run.from_file('big.run', kind='trec')
evaluate(qrels, run, ['ndcg@10', 'map', 'recall@100'])
mark()""",
}
IN_DICTS = {
    "bayeseval": DICTS
    + f"""
import bayeseval as be
be.evaluate(be.read_collection(qrels, run), {OURS})
mark()
collection = be.read_collection(qrels, run)
mark()
be.evaluate(collection, {OURS})
mark()""",
    "pytrec_eval": DICTS
    + f"""
import pytrec_eval
mark()
evaluator = pytrec_eval.RelevanceEvaluator(qrels, {THEIRS})
mark()
evaluator.evaluate(run)
mark()""",
    "ranx": DICTS
    + """
from ranx import Qrels, Run, evaluate
asked = ['ndcg@10', 'map', 'recall@100']
evaluate(Qrels(qrels), Run(run), asked)
mark()
encoded = Qrels(qrels), Run(run)
mark()
evaluate(*encoded, asked)
mark()""",
}
ENCODED = {
    "bayeseval": """
import bayeseval as be
collection = be.read_collection('many.qrels', 'many/*')
be.evaluate(collection, ['nDCG@10', 'AP', 'R@100'], estimator='assumed')
mark()
for _ in range(5):
    be.evaluate(collection, ['nDCG@10', 'AP', 'R@100'], estimator='assumed')
mark()""",
    "pytrec_eval": f"""
import glob, pytrec_eval
qrels = pytrec_eval.parse_qrel(open('many.qrels'))
runs = [pytrec_eval.parse_run(open(path)) for path in glob.glob('many/*')]
mark()
for _ in range(5):
    evaluator = pytrec_eval.RelevanceEvaluator(qrels, {THEIRS})
    for run in runs:
        evaluator.evaluate(run)
mark()""",
}
DYN = """
mark()
import bayeseval as be
collection = be.read_collection('wide.qrels', 'wide/*')
order = be.designs.order(collection, random_seed=1)
sampled = be.reveal(collection, order, be.draw(order, budget=50))
del collection
mark()
be.mean_over_topics(be.evaluate(sampled, ['AP', 'P@10'], estimator='dyn'))
mark()"""


def write_run(path: Path, name: str, topics: np.ndarray, depth: int, pool: int, rng) -> None:
    """A run over the first ``pool`` documents of every topic, in the format of TREC."""
    with open(path, "w") as file:
        for topic in topics:
            documents = topic * 20_000 + rng.choice(pool, depth, replace=False)
            scores = np.sort(rng.normal(20, 5, depth))[::-1]
            file.write(
                "".join(
                    f"{topic} Q0 {document} {rank} {score:.6f} {name}\n"
                    for rank, (document, score) in enumerate(zip(documents, scores, strict=True))
                )
            )


def write_qrels(path: Path, topics: np.ndarray, judged: int, pool: int, rng) -> None:
    """Judgments of some documents of every topic."""
    with open(path, "w") as file:
        for topic in topics:
            documents = topic * 20_000 + rng.choice(pool, judged, replace=False)
            grades = rng.integers(0, 3, judged)
            for document, grade in zip(documents, grades, strict=True):
                file.write(f"{topic} 0 {document} {grade}\n")


def measured(code: str, folder: Path, repeat: int) -> np.ndarray:
    """Least peak memory (GB) and processor seconds of the parts of some code, over repetitions."""
    known = [json.loads(output(code, folder)) for _ in range(repeat)]
    return np.min(known, axis=0)


def output(code: str, folder: Path) -> str:
    """What a Python process of its own prints last."""
    left = {name: os.environ[name] for name in os.environ if name != "PYTHONDONTWRITEBYTECODE"}
    done = subprocess.run(
        [sys.executable, "-c", PRELUDE + code + CLOSING],
        cwd=folder, capture_output=True, text=True, check=True,
        env=left | {"PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    return done.stdout.splitlines()[-1]


def beside(title: str, codes: dict[str, str], folder: Path, repeat: int) -> None:
    """Print a row for each package, and its time over that of pytrec_eval."""
    times = {name: measured(code, folder, repeat) for name, code in codes.items()}
    theirs = times["pytrec_eval"]
    for name, (memory, *parts) in times.items():
        whole, last = sum(parts), parts[-1]
        ratio = f"{whole / sum(theirs[1:]):.2f}"
        alone = f" (scoring alone {last:.2f} s, {last / theirs[-1]:.2f})" if parts[1:] else ""
        print(
            f"| {title} | {name} | {whole:.2f} s{alone} | {ratio} | {memory:.1f} GB |", flush=True
        )


def starts(folder: Path, repeat: int) -> None:
    """Print how long commands on small files take, from start to end."""
    data = "trec/complete.qrels"
    sample = f"{PROGRAM}/bayeseval sample 'trec/runs/*' --seed 1 --design-file design.nc --output l"
    listed = (
        "awk 'NR==FNR {listed[$1,$2]; next} ($1,$3) in listed' l trec/complete.qrels > judged.qrels"
    )
    for command in (f"{PROGRAM}/bayeseval demo --output trec", sample, listed):
        subprocess.run(command, shell=True, cwd=folder, capture_output=True, check=True)
    design = "evaluate judged.qrels 'trec/runs/*' --design design.nc -m P@10 -m AP --estimator"
    commands = {
        "python with numpy, pandas and xarray": f"{sys.executable} -c 'import pandas, xarray'",
        "bayeseval evaluate, assumed": f"{PROGRAM}/bayeseval evaluate {data} 'trec/runs/*' -m P@10 "
        "-m AP --estimator assumed",
        "bayeseval evaluate, dyn": f"{PROGRAM}/bayeseval {design} dyn",
        "bayeseval evaluate, combined": f"{PROGRAM}/bayeseval {design} combined",
        "ir_measures, one run": f"{PROGRAM}/ir_measures {data} trec/runs/run004* P@10 AP",
    }
    for name, command in commands.items():
        used = []
        for _ in range(repeat + 1):
            before = os.times()
            subprocess.run(command, shell=True, cwd=folder, capture_output=True, check=True)
            after = os.times()
            used.append(sum(after[2:4]) - sum(before[2:4]))
        print(f"| start to end, small files | {name} | {min(used):.2f} s | | |", flush=True)


def main() -> None:
    """Write the files and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--rows", default="file,dicts,encoded,start,dyn")
    given = parser.parse_args()
    rows, repeat, rng = given.rows.split(","), given.repeat, np.random.default_rng(1)
    load = os.getloadavg()[0]
    print(
        f"{datetime.date.today()}, {platform.machine()}, {os.cpu_count()} cores, load {load:.1f}\n"
    )
    print("| job | with | processor time | over pytrec_eval | memory |\n|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if "file" in rows:
            topics = np.sort(rng.choice(1_100_000, 6980, replace=False))
            write_run(folder / "big.run", "bm25", topics, 1000, 20_000, rng)
            write_qrels(folder / "big.qrels", topics, 5, 20_000, rng)
            beside("file, 6,980 topics x 1,000 ranks", FILE, folder, repeat)
        if "dicts" in rows:
            beside("dicts, 10,000 topics x 100 ranks", IN_DICTS, folder, repeat)
        if "encoded" in rows:
            (folder / "many").mkdir()
            for run in range(38):
                write_run(folder / f"many/{run}", f"run{run}", np.arange(1, 51), 1000, 5000, rng)
            write_qrels(folder / "many.qrels", np.arange(1, 51), 1000, 5000, rng)
            beside("38 runs x 50 topics in memory, five times", ENCODED, folder, repeat)
        if "start" in rows:
            starts(folder, repeat)
        if "dyn" in rows:
            (folder / "wide").mkdir()
            for run in range(60):
                write_run(folder / f"wide/{run}", f"run{run}", np.arange(1, 501), 1000, 10_000, rng)
            write_qrels(folder / "wide.qrels", np.arange(1, 501), 5000, 10_000, rng)
            memory, reading, scoring = measured(DYN, folder, 1)
            print(
                f"| `dyn`, AP and P@10, 500 topics x 60 runs x 1,000 ranks | bayeseval | read and "
                f"sample {reading:.0f} s, estimate {scoring:.0f} s | | {memory:.1f} GB |"
            )


if __name__ == "__main__":
    main()
