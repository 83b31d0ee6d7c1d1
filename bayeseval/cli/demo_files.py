"""Small run and qrels files of the shipped collection, to try the commands on."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import bayeseval as be
from bayeseval.cli.output import check_folder, remark, written_whole

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

N_TOPICS = 25
DEPTH = 50
POOL_DEPTH = 5
# from good to bad, by MAP on all judgments; the last two did not make the pool
RUNS = ("run021", "run118", "run004", "run055", "run097", "run114")
NEW = ("run101", "run105")
JUDGE_ERRORS = (0.1, 0.3)  # of a document that is not relevant, and of one that is


def write_files(folder: Path) -> None:
    """Write runs/, new/, complete.qrels, pool.qrels and llm.qrels into a folder."""
    check_folder("--files", folder)
    if folder.exists() and any(folder.iterdir()):
        raise ValueError(f"--files {folder} must name a new or an empty folder")
    collection = _small_collection()
    for place, runs in (("runs", RUNS), ("new", NEW)):
        (folder / place).mkdir(parents=True)
        for run in runs:
            be.write_run(collection, run, folder / place / f"{run}.txt")
    complete = be.qrels_frame(collection)
    pool = be.designs.depth_pool(collection, POOL_DEPTH, runs=list(RUNS))
    pooled = pool["inclusion_probability"].to_numpy() > 0  # of pairs, all of which are judged
    for name, table in (
        ("complete", complete),
        ("pool", complete[pooled]),
        ("llm", _labels(complete)),
    ):
        with written_whole(folder / f"{name}.qrels") as unfinished:
            be.write_qrels(be.read_collection(table), unfinished)
    listed = f"{len(RUNS)} runs in runs/ and {len(NEW)} in new/, {N_TOPICS} topics, {DEPTH} ranks"
    remark(f"wrote into {folder}: {listed}")
    remark(
        f"complete.qrels judges all {len(complete)} documents retrieved, pool.qrels the "
        f"{int(pooled.sum())} at ranks 1 to {POOL_DEPTH} of runs/, llm.qrels labels all with errors"
    )


def _small_collection() -> xr.DataTree:
    """Some runs and topics of the shipped collection; what its pool lacks is not relevant."""
    shipped = be.simulate.demo_collection()
    topics = shipped["topic"].to_numpy()[:N_TOPICS].tolist()
    cut = be.select(shipped, runs=[*RUNS, *NEW], topics=topics)
    runs = be.runs_frame(cut)
    rank = runs.groupby(["run", "topic"]).cumcount()
    runs = runs.loc[rank < DEPTH]
    pairs = runs.drop_duplicates(["topic", "document"]).loc[:, ["topic", "document"]]
    pairs = pairs.merge(be.qrels_frame(cut), how="left")
    pairs["grade"] = pairs["grade"].fillna(0).clip(lower=0).astype(int)
    return be.read_collection(pairs, runs)


def _labels(complete: pd.DataFrame) -> pd.DataFrame:
    """What a judge with errors says of every document."""
    import numpy as np

    random = np.random.default_rng(1)
    grade = complete["grade"].to_numpy()
    wrong = random.random(grade.size) < np.where(grade > 0, JUDGE_ERRORS[1], JUDGE_ERRORS[0])
    return complete.assign(grade=np.where(wrong, 1 - grade, grade))
