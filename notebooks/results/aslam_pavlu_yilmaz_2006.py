"""Tables that the notebook of this name reads: TREC-COVID round 5, ten samples a budget.

Run it with ``PYTHONPATH=. python notebooks/results/aslam_pavlu_yilmaz_2006.py`` where the
environment variable BAYESEVAL_REAL_DATA names the folder of the real data: some minutes. It writes
``errors`` (agreement with the truth by budget, method and group of runs), ``means`` (figures 4 to
6), ``single`` (figures 8 and 9) and ``stopping`` (the bias of the stopping rule) beside itself.
"""

from pathlib import Path

import numpy as np
import pandas as pd
import xarray as xr

import bayeseval as be
from benchmarks.aslam_2006 import (
    MEASURES,
    agreement,
    bpref_scores,
    frame_of,
    mean_judged,
    pooled_scores,
    round5,
    sampled_scores,
)

DEPTHS = (1, 2, 4, 6, 10)
SUMS = ["NumRel", "P@100", "RBP(p=0.95)"]


def main() -> None:
    collection = round5("official", 1)
    frame = frame_of(collection)
    start = be.designs.with_replacement(collection, budget=1, pool_depth=1000)
    known = be.reveal(collection, start, frame.astype(int))
    truth = be.evaluate(known, MEASURES, estimator="assumed").estimate
    budgets = [mean_judged(collection, depth, frame) for depth in DEPTHS]
    pools = [pooled_scores(collection, depth, MEASURES) for depth in DEPTHS]
    samples = [sampled_scores(collection, n, MEASURES, 10, 1)["estimate"] for n in budgets]
    bprefs = [bpref_scores(collection, n, frame, 10, 1) for n in budgets]
    everything = be.evaluate(known, "Bpref", estimator="assumed").estimate.isel(measure=0)
    methods = {"pool": pools, "sampling": samples}
    save("errors", errors(truth, budgets, methods, bprefs, everything, collection.contributed))
    ends = [(budgets[i], pools[i], samples[i]) for i in (0, -1)]
    save("means", means(truth, ends, collection.contributed))
    save("single", single(truth, ends, collection.contributed))
    save("stopping", stopping(collection, budgets[0], budgets[-1]))


def save(name: str, table: pd.DataFrame) -> None:
    path = Path(__file__).with_suffix("")
    table.to_csv(f"{path}_{name}.csv", index=False, float_format="%.6g")


def errors(truth, budgets, methods, bprefs, everything, training) -> pd.DataFrame:
    """RMS error of every measure; correlation and tau with true MAP, on all runs and by group."""
    groups = {"all": training | True, "training": training, "testing": ~training}
    true_map = truth.sel(measure="AP")
    rows = []
    for group, mask in groups.items():
        runs = np.flatnonzero(mask)
        for name, estimates in methods.items():
            for judged, estimate in zip(budgets, estimates, strict=True):
                for measure in MEASURES:
                    parts = (x.sel(measure=measure).isel(run=runs) for x in (estimate, truth))
                    found = agreement(*parts)
                    rows.append([group, name, measure, judged, *found.values()])
        full = [*zip(budgets, bprefs, strict=True), (np.nan, everything)]
        for judged, estimate in full:
            found = agreement(estimate.isel(run=runs), true_map.isel(run=runs))
            rows.append([group, "bpref", "AP", judged, np.nan, np.nan, found["rho"], found["tau"]])
    columns = ["runs", "method", "measure", "judged", "bias", "rms", "correlation", "tau"]
    return pd.DataFrame(rows, columns=columns)


def typical(estimate: xr.DataArray, truth: xr.DataArray) -> xr.DataArray:
    """The sample whose RMS error of mean scores is the median one."""
    error = ((estimate.mean("topic") - truth.mean("topic")) ** 2).mean("run") ** 0.5
    return estimate.isel(replicate=int(error.argsort()[error.size // 2]))


def means(truth, ends, training) -> pd.DataFrame:
    """Mean scores of every run: true, from the pool and from the typical sample."""
    rows = []
    for judged, pool, sample in ends:
        for measure in MEASURES:
            true = truth.sel(measure=measure)
            shown = typical(sample.sel(measure=measure), true)
            columns = [x.mean("topic").values for x in (true, pool.sel(measure=measure), shown)]
            for number, values in enumerate(zip(training.values, *columns, strict=True)):
                rows.append([judged, measure, number, *values])
    columns = ["judged", "measure", "run", "training", "true", "pool", "sample"]
    return pd.DataFrame(rows, columns=columns)


def single(truth, ends, training) -> pd.DataFrame:
    """AP of all runs on topic number 10, and of the run of median MAP on all topics."""
    true = truth.sel(measure="AP")
    middle = int(true.mean("topic").argsort()[true.run.size // 2])
    parts = []
    for judged, _, sample in ends:
        shown = typical(sample.sel(measure="AP"), true)
        for kind, chosen in (("topic", {"topic": 10}), ("run", {"run": middle})):
            part = pd.DataFrame({"true": true.isel(chosen), "sample": shown.isel(chosen)})
            is_training = training.values if kind == "topic" else training.values[middle]
            parts.append(part.assign(of=kind, judged=judged, training=is_training))
    return pd.concat(parts)


def stopping(collection, *budgets: int) -> pd.DataFrame:
    """Error in per cent of ten topics' sums, drawing to T distinct documents or a fixed number."""
    training = collection.run.values[collection.contributed.values].tolist()
    ten = be.select(collection, topics=collection.topic.values[:10])
    few = be.select(ten, runs=training[:3])
    shape = {"pool_depth": 1000, "runs": training}
    start = be.designs.with_replacement(ten, budget=1, **shape)
    everything = be.reveal(few, start, (start.draw_probability > 0).astype(int))
    truth = be.evaluate(everything, SUMS, estimator="assumed").estimate.mean(["run", "topic"])
    rows = []
    for budget in budgets:
        design = be.designs.with_replacement(ten, budget=budget, **shape)
        mean_draws = be.draw(design, n_replicates=20, random_seed=2).sum("pair").mean() / 10
        rules = {"T distinct": {}, "fixed": {"n_draws": round(float(mean_draws))}}
        for rule, draws in rules.items():
            count = be.draw(design, n_replicates=300, random_seed=1, **draws)
            drawn = be.reveal(few, design, count)
            scores = be.evaluate(drawn, SUMS, estimator="importance").estimate
            error = 100 * (scores.mean(["run", "topic"]) / truth - 1)
            noise = error.std("replicate") / np.sqrt(300)
            for measure in SUMS:
                cells = (x.sel(measure=measure).item() for x in (error.mean("replicate"), noise))
                rows.append([budget, rule, measure, *cells])
    return pd.DataFrame(rows, columns=["judged", "rule", "sum", "error", "its error"])


if __name__ == "__main__":
    main()
