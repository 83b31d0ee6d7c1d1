"""Runs that were made with the judgments of the sample that is to score them.

A late run is made from each of some new runs: its judged relevant documents put first ("fed back"),
or the log of the ranks of judged documents moved by a factor of 2, 1.3 or 1.1, the relevant up and
the others down (as a ranker that was trained on them moves them), or without what was judged
("residual"). Prints of each kind the bias of the mean score by ``stat`` and ``dyn``, and how many
of these runs the warning names (share over runs and samples); above, the share of samples in which
it names one that was there before the draw.
"""

import argparse
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import xarray as xr

import bayeseval as be
from bayeseval.frame.frame import Frame
from bayeseval.frame.independence import deviations
from benchmarks.coverage_collections import EVERY, at_hand, roles, whole

MEASURES = ["P@10", "RBP(p=0.8)", "AP", "R@100"]
FACTORS = {"moved by 2": 2.0, "moved by 1.3": 1.3, "moved by 1.1": 1.1}
MADE_FROM = 3  # new runs


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--collection", choices=list(EVERY), action="append")
    parser.add_argument("--budget", type=int, default=100)
    parser.add_argument("--samples", type=int, default=8)
    parser.add_argument("--chunks", type=Path, default=Path("coverage-output"))
    options = parser.parse_args()
    options.chunks.mkdir(exist_ok=True)
    for name in at_hand(options.collection or list(EVERY)):
        table, alarms = studied(whole(name, options.chunks), options.budget, options.samples)
        print(f"\n{name}, honest runs named in {alarms:.2f} of the samples\n")
        print(table.to_string(float_format="{:.3f}".format), flush=True)


def studied(collection: xr.DataTree, budget: int, n_samples: int) -> tuple[pd.DataFrame, float]:
    """Bias and share named by kind of run; share of samples in which an honest one is named."""
    names, kinds = collection["run"].to_numpy(), roles(collection)
    old = be.select(collection, runs=names[kinds["contributed"] | kinds["new"]].tolist())
    contributed = old["contributed"].copy(data=np.isin(old["run"], names[kinds["contributed"]]))
    old = old.assign(contributed=contributed)
    new = old["run"].to_numpy()[~contributed.to_numpy()]
    chosen = new[:: max(1, len(new) // MADE_FROM)][:MADE_FROM].tolist()
    design = be.designs.pps_strata(old, budget=budget)
    selected = be.draw(design, n_replicates=n_samples, random_seed=881)
    rows, alarms = [], 0
    for number in range(n_samples):
        sampled = be.reveal(old, design, selected.isel(replicate=number))
        made = pd.concat([late for run in chosen for late in late_runs(sampled, run)])
        found, false = scored(be.add_runs(sampled, made), be.add_runs(old, made), len(old["run"]))
        rows.append(found)
        alarms += false
    kind = [run.split("~")[-1] for run in rows[0].index]
    return sum(rows).groupby(kind, sort=False).mean() / n_samples, alarms / n_samples


def late_runs(sampled: xr.DataTree, run: str) -> list[pd.DataFrame]:
    """Runs made of one by the judgments of a sample."""
    known = be.trec.qrels_frame(sampled).query("grade >= 0")
    one = be.trec.runs_frame(sampled).query("run == @run").merge(known, how="left")
    log_rank = np.log(one.groupby("topic")["score"].rank(ascending=False, method="first"))
    judged, relevant = one["grade"].notna(), one["grade"] >= 1
    side = np.where(judged, np.where(relevant, 1.0, -1.0), 0.0)
    made = {"fed back": one.assign(score=1e6 * relevant - log_rank)}
    made |= {name: one.assign(score=side * np.log(by) - log_rank) for name, by in FACTORS.items()}
    made["residual"] = one[~judged]
    return [
        frame.assign(run=f"{run}~{name}")[["run", "topic", "document", "score"]]
        for name, frame in made.items()
    ]


def scored(sampled: xr.DataTree, complete: xr.DataTree, n_old: int) -> tuple[pd.DataFrame, bool]:
    """Error of the mean scores of late runs, and whether they are named; and of any other one."""
    named = deviations(Frame.drawn_from(sampled)) != 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        truth = be.evaluate(complete, MEASURES, estimator="assumed").estimate.mean("topic")
        error = {
            estimator: be.evaluate(sampled, MEASURES, estimator=estimator).estimate.mean("topic")
            - truth
            for estimator in ("stat", "dyn")
        }
    table = pd.concat({name: one.to_pandas().T for name, one in error.items()}, axis=1)
    table = table.iloc[n_old:]
    table["named", ""] = named[n_old:].astype(float)
    return table, bool(named[:n_old].any())


if __name__ == "__main__":
    main()
