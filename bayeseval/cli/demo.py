"""`bayeseval demo`: small files of the shipped collection, to try the commands on."""

from pathlib import Path
from typing import Annotated

import typer

import bayeseval as be
from bayeseval.cli.options import DataTree, folder
from bayeseval.cli.output import check_folder, note, written_whole

N_TOPICS = 25
DEPTH = 50
POOL_DEPTH = 5
# from good to bad, by MAP on all judgments; the last two did not make the pool
RUNS = ("run021", "run118", "run004", "run055", "run097", "run114")
NEW = ("run101", "run105")


def demo(
    output: Annotated[
        Path,
        typer.Option(parser=folder, metavar="<path>", help="New folder for the files."),
    ] = Path("demo"),
) -> None:
    """Write runs and judgments of a small collection, to try the commands on.

    The folder has runs/ (that made the pool), new/ (that did not), complete.qrels, pool.qrels, and
    llm.qrels, labels with errors. The help of every command has an example on them.
    """
    import numpy as np

    check_folder("--output", output)
    if output.exists() and any(output.iterdir()):
        raise ValueError(f"--output {output} must name a new or an empty folder")
    collection = _small_collection()
    for place, runs in (("runs", RUNS), ("new", NEW)):
        (output / place).mkdir(parents=True)
        for run in runs:
            be.trec.write_run(collection, run, output / place / f"{run}.txt")
    complete = be.trec.qrels_frame(collection)
    pool = be.designs.depth_pool(collection, POOL_DEPTH, runs=list(RUNS))
    pooled = pool["inclusion_probability"].to_numpy() > 0  # of pairs, all of which are judged
    # labels with errors: of documents that are not relevant .1, of relevant ones .3
    grade = complete["grade"].to_numpy()
    wrong = np.random.default_rng(1).random(grade.size) < np.where(grade > 0, 0.3, 0.1)
    labels = complete.assign(grade=np.where(wrong, 1 - grade, grade))
    tables = {"complete": complete, "pool": complete[pooled], "llm": labels}
    for name, table in tables.items():
        with written_whole(output / f"{name}.qrels") as unfinished:
            be.trec.write_qrels(be.read_collection(table), unfinished)
    listed = f"{len(RUNS)} runs in runs/ and {len(NEW)} in new/, {N_TOPICS} topics, {DEPTH} ranks"
    note(f"wrote into {output}: {listed}")
    note(
        f"complete.qrels judges all {len(complete)} documents retrieved, pool.qrels the "
        f"{int(pooled.sum())} at ranks 1 to {POOL_DEPTH} of runs/, llm.qrels labels all with errors"
    )


def _small_collection() -> DataTree:
    """Some runs and topics of the shipped collection; all its documents get a grade."""
    shipped = be.simulate.demo_collection()
    topics = shipped["topic"].to_numpy()[:N_TOPICS].tolist()
    cut = be.select(shipped, runs=[*RUNS, *NEW], topics=topics)
    runs = be.trec.runs_frame(cut)
    rank = runs.groupby(["run", "topic"]).cumcount()
    runs = runs.loc[rank < DEPTH]
    pairs = runs.drop_duplicates(["topic", "document"]).loc[:, ["topic", "document"]]
    pairs = pairs.merge(be.trec.qrels_frame(cut), how="left")
    pairs["grade"] = pairs["grade"].fillna(0).clip(lower=0).astype(int)
    return be.read_collection(pairs, runs)
