"""Collections on which intervals are tried: real ones, and four simulated ones.

Half of the runs contribute, every other one in the order of their names unless it is known which
did; the others are new. Every contributing run has a dual run beside it, which is new too.
"""

import os
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import xarray as xr

import bayeseval as be
from bayeseval.collection import with_node
from benchmarks.real_data import REAL_DATA, clef_tar, trec_covid, unpacked
from benchmarks.webber_park_2009 import two_stages


def round5() -> xr.DataTree:
    """TREC-COVID round 5, every third run: rich topics, complete judgments of a pool as truth."""
    folder = trec_covid()
    paths = sorted(unpacked(folder / "round5-runs.tar.xz").iterdir())[::3]
    return be.read_collection(
        folder / "qrels.covid-complete.txt.gz", [str(path) for path in paths], depth=1000
    )


def clef() -> xr.DataTree:
    """CLEF eHealth TAR 2017, 19 runs to rank 1,000: 2 to 460 relevant documents a topic."""
    folder = clef_tar()
    paths = sorted(unpacked(folder / "runs.tar.xz").iterdir())
    kept = [str(path) for path in paths if not path.name.startswith("AMC")]
    return be.read_collection(folder / "qrels.txt.xz", kept, depth=1000)


def trec8_like() -> xr.DataTree:
    """Shipped simulated collection, every second run."""
    collection = be.simulate.demo_collection()
    some = be.select(collection, runs=collection["run"].to_numpy()[::2].tolist())
    return some.assign(contributed=xr.ones_like(some["contributed"]))  # halved like the others


def few_relevant(seed: int = 11) -> xr.DataTree:
    """17 runs of which pairs are alike, 80 topics, of median 36 relevant documents."""
    random = np.random.default_rng(seed)
    odds = _odds(random, 17, 80, 0.02)
    return be.simulate.urn_collection(
        odds,
        n_relevant=_numbers(random, 80, 36, 0.95, 2, 400),
        n_documents=random.integers(3000, 9000, 80),
        difficulty_sd=0.7,
        shared=0.55,
        team_shared=0.5,
        team=[f"team{run // 2}" for run in range(17)],
        depth=150,
        keep="retrieved",
        random_seed=seed + 1,
    )


def few_runs(seed: int = 21) -> xr.DataTree:
    """6 runs, 50 topics, of median 30 relevant documents."""
    random = np.random.default_rng(seed)
    odds = _odds(random, 6, 50, 0.03)
    return be.simulate.urn_collection(
        odds,
        n_relevant=_numbers(random, 50, 30, 1.0, 1, 400),
        n_documents=random.integers(2000, 9000, 50),
        difficulty_sd=0.7,
        shared=0.45,
        depth=300,
        keep="retrieved",
        random_seed=seed + 1,
    )


def graded(seed: int = 31) -> xr.DataTree:
    """30 runs, 43 topics, grades 0 to 3; topics differ in their share of high grades."""
    random = np.random.default_rng(seed)
    odds = _odds(random, 30, 43, 0.03)
    collection = be.simulate.urn_collection(
        odds,
        n_relevant=_numbers(random, 43, 60, 0.9, 3, 600),
        n_documents=random.integers(3000, 9000, 43),
        difficulty_sd=0.6,
        shared=0.55,
        team_shared=0.5,
        team=[f"team{run // 2}" for run in range(30)],
        depth=100,
        keep="retrieved",
        grade_proportions=(0.7, 0.22, 0.08),
        random_seed=seed + 1,
    )
    judgments = collection["judgments"].to_dataset(inherit=False)
    grade = judgments["grade"].to_numpy().copy()
    share = random.beta(0.5, 1.0, 43)[collection["pair_topic"].to_numpy()]
    grade[(grade > 1) & (random.random(grade.size) > share)] = 1
    return with_node(collection, "judgments", judgments.assign(grade=("pair", grade)))


def round1() -> xr.DataTree:
    """TREC-COVID round 1, every third run, of which 56 of 143 contributed, with all judgments."""
    collection, _ = two_stages(trec_covid())
    return be.select(collection, runs=sorted(collection["run"].to_numpy().tolist())[::3])


def deep_learning() -> xr.DataTree:
    """TREC 2019 Deep Learning, 21 topics: grades 0 to 3, of which 2 and 3 count as relevant."""
    folder = trec_covid().parent / "dl19-half"
    runs = unpacked(folder / "runs.tar.xz")
    return be.read_collection(folder / "qrels.txt.xz", f"{runs}/*", depth=1000)


def _odds(random: np.random.Generator, n_runs: int, n_topics: int, centre: float) -> np.ndarray:
    """Odds (run, topic) of a non-relevant document: runs differ, and so do their topics."""
    run = np.exp(random.normal(np.log(centre), 0.6, n_runs))
    return run[:, None] * np.exp(random.normal(0.0, 0.6, (n_runs, n_topics)))


def _numbers(random, n_topics: int, median: float, spread: float, least: int, most: int):
    """Numbers of relevant documents (topic,), lognormal and whole."""
    drawn = np.exp(random.normal(np.log(median), spread, n_topics))
    return np.clip(np.round(drawn), least, most).astype(int)


# name -> what makes it, whether it needs the real data
COLLECTIONS = {
    "trec-covid-5": (round5, True),
    "clef-tar-2017": (clef, True),
    "trec8-like": (trec8_like, False),
    "few-relevant": (few_relevant, False),
    "few-runs": (few_runs, False),
    "graded": (graded, False),
}

# the same of collections on which no constant is learned; made when asked for
HELD_OUT = {
    "trec-covid-1": (round1, True),
    "dl19-half": (deep_learning, True),
}

EVERY = COLLECTIONS | HELD_OUT

LEVELS = {"dl19-half": 2}  # least grade that counts as relevant; 1 elsewhere


def at_hand(names: Iterable[str]) -> list[str]:
    """Collections that can be made: the real ones only where their data are."""
    found = []
    for name in names:
        if EVERY[name][1] and not os.environ.get(REAL_DATA):
            print(f"{name}: left out, {REAL_DATA} is not set")
        else:
            found.append(name)
    return found


def whole(name: str, folder: Path) -> xr.DataTree:
    """Collection with all duals, kept on disk since some take a while to make."""
    file = folder / f"{name}.nc"
    if not file.exists():
        be.save_collection(halved(EVERY[name][0]()), file)
    return be.open_collection(file)


def halved(collection: xr.DataTree) -> xr.DataTree:
    """Collection in which some runs contributed, with the duals of those that did."""
    labels = sorted(collection["run"].to_numpy().tolist())
    known = collection["contributed"]
    contributing = set(labels[::2] if known.all() else known["run"].to_numpy()[known].tolist())
    both = be.dual_runs(collection, random_seed=1)
    kept = labels + [f"{label}~dual" for label in labels if label in contributing]
    both = be.select(both, runs=kept)
    contributed = [label in contributing for label in both["run"].to_numpy().tolist()]
    return both.assign(contributed=xr.DataArray(np.array(contributed), dims="run"))


def roles(collection: xr.DataTree) -> dict[str, np.ndarray]:
    """Which runs (run,) contributed, are new, or are duals."""
    contributed = collection["contributed"].to_numpy()
    dual = np.char.endswith(collection["run"].to_numpy().astype(str), "~dual")
    return {"contributed": contributed, "new": ~contributed & ~dual, "dual": dual}
