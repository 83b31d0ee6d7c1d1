"""`bayeseval demo`: the main job on the shipped collection, or small files of it to try."""

from pathlib import Path
from typing import Annotated, Any

import typer

import bayeseval as be
from bayeseval.cli.options import Dataset, DataTree, Table, checked_seed, folder
from bayeseval.cli.output import check_folder, note, working, write_result, written_whole
from bayeseval.cli.tables import ERRORS, add_cells, as_csv, new_table, rendered, score_rows

ESTIMATORS = ("assumed", "stat", "dyn")
MEASURES = ["P@10", "RBP(p=0.8)", "AP"]
SHOWN = "P@10"
N_BEST = 10
NOTE = """truth: the score with all documents of the pool judged. In brackets: 90% intervals, which
are wide for runs that did not contribute to the pool.
"""
# the files of --files
N_TOPICS = 25
DEPTH = 50
POOL_DEPTH = 5
# from good to bad, by MAP on all judgments; the last two did not make the pool
RUNS = ("run021", "run118", "run004", "run055", "run097", "run114")
NEW = ("run101", "run105")


def demo(
    output: Annotated[
        Path,
        typer.Option(parser=folder, metavar="<path>", help="Folder for the scores and the plot."),
    ] = Path("demo-output"),
    budget: Annotated[int, typer.Option(help="Documents judged per topic.")] = 100,
    seed: Annotated[int, typer.Option(help="Random seed of the sample.")] = 1,
    files: Annotated[
        Path | None,
        typer.Option(
            parser=folder,
            metavar="DIR",
            help="Instead write small run and qrels files there, to try the commands on.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Estimate scores of a shipped collection, beside the known truth."""
    if files is not None:
        write_files(files)
        return
    import pandas as pd

    check_folder("--output", output)
    seed = checked_seed(seed)
    with working(f"sampling {budget} documents a topic, and estimating"):
        collection = be.simulate.demo_collection()
        design = be.designs.order(collection, budget=budget, random_seed=seed)
        sampled = be.reveal(collection, design, be.draw(design))
        truth = be.mean_over_topics(be.evaluate(collection, MEASURES, estimator="assumed"))
        means = {
            name: be.mean_over_topics(be.evaluate(sampled, MEASURES, estimator=name))
            for name in ESTIMATORS
        }
    output.mkdir(parents=True, exist_ok=True)
    parts = [truth.assign_attrs(estimator="truth"), *means.values()]
    rows = pd.concat(map(score_rows, parts), ignore_index=True).drop(columns=ERRORS)
    write_result(as_csv(rows, {}), output / "scores.csv")
    picture = be.plots.plot_intervals(means, SHOWN, truth=truth, runs=_best_runs(truth))
    figure: Any = picture.figure
    with written_whole(output / "intervals.png") as unfinished:
        figure.savefig(unfinished, dpi=150)
    write_result(rendered(_table(truth, means, budget)) + NOTE, None)
    note(f"scores of all runs in {output / 'scores.csv'}, plot in {output / 'intervals.png'}")


def _best_runs(truth: Dataset) -> list[str]:
    """The runs that truly score best."""
    ranked = truth["estimate"].sel(measure=SHOWN).to_series().sort_values(ascending=False)
    return list(ranked.index[:N_BEST])


def _table(truth: Dataset, means: dict[str, Dataset], budget: int) -> Table:
    """The best runs: the truth, then each estimate with its interval."""
    title = f"{SHOWN} of the {N_BEST} best runs, {budget} documents judged per topic"
    named = [name if name == "assumed" else f"{name} (90%)" for name in means]
    table = new_table(title, ("run",), ("truth", *named))
    for run in _best_runs(truth):
        place = {"measure": SHOWN, "run": run}
        cells = [f"{truth['estimate'].sel(place).item():.3f}"]
        for mean in means.values():
            one = mean.sel(place)
            lower, upper = one["interval"].transpose("ci_bound").to_numpy()
            interval = "" if lower != lower else f" ({lower:.3f} to {upper:.3f})"
            cells.append(f"{one['estimate'].item():.3f}{interval}")
        add_cells(table, run, *cells)
    return table


def write_files(folder: Path) -> None:
    """Write runs/, new/, complete.qrels, pool.qrels and llm.qrels into a folder."""
    import numpy as np

    check_folder("--files", folder)
    if folder.exists() and any(folder.iterdir()):
        raise ValueError(f"--files {folder} must name a new or an empty folder")
    collection = _small_collection()
    for place, runs in (("runs", RUNS), ("new", NEW)):
        (folder / place).mkdir(parents=True)
        for run in runs:
            be.trec.write_run(collection, run, folder / place / f"{run}.txt")
    complete = be.trec.qrels_frame(collection)
    pool = be.designs.depth_pool(collection, POOL_DEPTH, runs=list(RUNS))
    pooled = pool["inclusion_probability"].to_numpy() > 0  # of pairs, all of which are judged
    # labels with errors: of documents that are not relevant .1, of relevant ones .3
    grade = complete["grade"].to_numpy()
    wrong = np.random.default_rng(1).random(grade.size) < np.where(grade > 0, 0.3, 0.1)
    labels = complete.assign(grade=np.where(wrong, 1 - grade, grade))
    tables = {"complete": complete, "pool": complete[pooled], "llm": labels}
    for name, table in tables.items():
        with written_whole(folder / f"{name}.qrels") as unfinished:
            be.trec.write_qrels(be.read_collection(table), unfinished)
    listed = f"{len(RUNS)} runs in runs/ and {len(NEW)} in new/, {N_TOPICS} topics, {DEPTH} ranks"
    note(f"wrote into {folder}: {listed}")
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
