"""Webber and Park (2009) on TREC-COVID round 1 as tables: ``make adjustment``.

Reads the folder that the environment variable BAYESEVAL_REAL_DATA names. Runs: the 143 of round 1,
of which 56 contributed to the pool. Truth: the judgments of round 1 and all later ones of the same
documents; what has none is non-relevant. First algorithm 3 (pools of a few of the 56 runs, one
other run unpooled), then the real second stage: what the judgments of round 1 alone say of the 87
runs that did not contribute, adjusted, against the later judgments.
"""

import argparse
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import xarray as xr

import bayeseval as be
from bayeseval.adjustment import adjust_by_topics
from bayeseval.trec import qrels_frame, runs_frame
from benchmarks.pool_width import pool_width_errors, sampled_pools
from benchmarks.real_data import trec_covid, unpacked

COMMON = (5, 10, 15, 20)
SOURCES = {"contributed": "of the 56 contributing runs", "other": "of the 87 other runs"}


def two_stages(folder: Path) -> tuple[xr.DataTree, pd.DataFrame]:
    """Collection of the round-1 runs with all judgments, and the judgments of round 1."""
    official = pd.read_csv(folder / "round1-official.csv")
    contributed = official["contributed judgments"] == "yes"
    table = official[["run", "team"]].assign(contributed=contributed)
    known = pd.read_csv(folder / "docids.covid.round1.txt.gz", header=None)[0]
    first = judgments(folder / "qrels.covid-round1.txt.gz")
    later = judgments(folder / "qrels.covid-complete.txt.gz")
    later = later[later["document"].isin(known) & later["topic"].isin(first["topic"])]
    every = pd.concat([first, later]).drop_duplicates(["topic", "document"])
    runs = unpacked(folder / "round1-runs.tar.xz")
    return be.read_collection(every, f"{runs}/*", run_table=table), first


def judgments(path: Path) -> pd.DataFrame:
    return qrels_frame(be.read_collection(path))


def show(title: str, rows: pd.DataFrame) -> None:
    print(f"\n**{title}**\n")
    print("| " + " | ".join(map(str, rows.columns)) + " |")
    print("| --- |" + " ---: |" * (rows.shape[1] - 1))
    for row in rows.itertuples(index=False):
        cells = (f"{value:.3f}" if isinstance(value, float) else str(value) for value in row)
        print("| " + " | ".join(cells) + " |")


def experiment(collection, options) -> None:
    """Algorithm 3: figure 1 and tables 1 to 4."""
    for source, described in SOURCES.items():
        pools = sampled_pools(
            collection,
            measure=options.measure,
            unpooled_from=source,
            n_samples=options.samples,
            random_seed=options.seed,
        )
        errors = pool_width_errors(
            pools, n_common=COMMON, n_samples=options.choices, random_seed=options.seed
        )
        bias = (pools["unpooled"] - pools["true"]).mean("topic")
        for base in errors["base"].values:
            title = f"{options.measure}, unpooled run one {described}, base {base}"
            show(f"Figure 1. {title}", bias_rows(bias.sel(base=base), pools["teammate"]))
            show(f"Tables 1 to 4. MAE of {title}", error_rows(errors.sel(base=base)))
            held = errors.sel(base=base).coverage.to_pandas().reset_index()
            show(f"Coverage of 90 % intervals (equations 3 and 7), {title}", held)


def bias_rows(bias: xr.DataArray, teammate: xr.DataArray) -> pd.DataFrame:
    quartiles = bias.quantile([0.25, 0.5, 0.75], dim="sample")
    columns = {"mean bias": bias.mean("sample").values}
    for share in (0.25, 0.5, 0.75):
        columns[f"q{100 * share:.0f}"] = quartiles.sel(quantile=share).values
    columns["teammate pooled"] = teammate.mean("sample").values
    return pd.DataFrame({"pool width": bias["pool_width"].values} | columns)


def error_rows(errors: xr.Dataset) -> pd.DataFrame:
    columns = {"pool width": errors["pool_width"].values, "unadjusted": errors.unadjusted.values}
    columns |= {"(MC error)": errors.unadjusted_error.values, "algorithm 1": errors.left_out.values}
    for name in ("mixed", "adjusted"):
        columns |= {f"{name} {n}": errors[name].sel(n_common=n).values for n in COMMON}
    return pd.DataFrame(columns)


def second_stage(collection, first: pd.DataFrame, options) -> None:
    """Scores by the judgments of round 1, adjusted, against those by all judgments."""
    measures = ["P@10", "RBP(p=0.8)@10"]
    other = collection["run"].values[~collection["contributed"].values]
    runs = runs_frame(collection)
    early = be.read_collection(first, runs, run_table=facts(collection))
    true = be.evaluate(collection, measures, estimator="assumed").estimate
    for base, estimator in (("nonrelevant", "assumed"), ("condensed", "condensed")):
        score = be.evaluate(early, measures, estimator=estimator).estimate
        lists = {"all 143 runs": collection["run"].values, "87 other runs": other}
        means = [
            {"measure": m, "runs": name, "round 1": values(score, m, some).mean(),
             "all judgments": values(true, m, some).mean()}
            for m in measures for name, some in lists.items()
        ]  # fmt: skip
        show(f"Mean scores, base {base}", pd.DataFrame(means))
        rows = left_out_rows(early, true, measures, base)
        show(f"Algorithm 1 on the 87 other runs, base {base}", pd.DataFrame(rows))
        show(
            f"Algorithm 2 on the 87 other runs, base {base}, {options.choices} sets of topics",
            common_rows(true.sel(run=other), score.sel(run=other), options),
        )


def facts(collection) -> pd.DataFrame:
    names = ("run", "contributed", "team")
    return pd.DataFrame({name: collection[name].values for name in names})


def values(scores: xr.DataArray, measure: str, runs) -> np.ndarray:
    return scores.sel(measure=measure, run=runs).mean("topic").values


def left_out_rows(early, true, measures, base) -> list[dict]:
    rows = []
    for pool_depth in (7, 10):
        result = be.adjust_scores(early, measures=measures, base=base, pool_depth=pool_depth)
        truth = true.sel(run=result["run"]).mean("topic")
        for measure in measures:
            one, target = result.sel(measure=measure), truth.sel(measure=measure)
            bounds = one["interval"]
            inside = (bounds[..., 0] <= target) & (target <= bounds[..., 1])
            rows.append(
                {
                    "measure": measure,
                    "pool depth": pool_depth,
                    "MAE raw": abs(one["unadjusted"] - target).mean().item(),
                    "MAE adjusted": abs(one["adjusted"] - target).mean().item(),
                    "bias raw": (one["unadjusted"] - target).mean().item(),
                    "bias adjusted": (one["adjusted"] - target).mean().item(),
                    "coverage": inside.mean().item(),
                }
            )
    return rows


def common_rows(true, score, options) -> pd.DataFrame:
    rows = []
    random = np.random.default_rng(options.seed)
    target = true.mean("topic")
    for n in COMMON:
        parts = []
        for _ in range(options.choices):
            keys = random.random(true.sizes["topic"]).argsort().argsort()
            common = xr.DataArray(keys < n, dims="topic", coords={"topic": true["topic"]})
            seed = int(random.integers(2**31))
            result = adjust_by_topics(true, score, common, n_boot=400, random_seed=seed)
            parts.append(answers(result, target))
        mean = xr.concat(parts, dim="choice").mean(["choice", "run"])
        for measure in true["measure"].values:
            one = {name: mean[name].sel(measure=measure).item() for name in mean.data_vars}
            rows.append({"measure": measure, "n": n} | one)
    return pd.DataFrame(rows)


def answers(result: xr.Dataset, target: xr.DataArray) -> xr.Dataset:
    error = abs(result["adjusted"] - target)
    raw = abs(result["unadjusted"] - target)
    known = result["standard_error"].notnull()
    held = {
        f"coverage {name}": (
            (result[kind][..., 0] - 1e-12 <= target) & (target <= result[kind][..., 1] + 1e-12)
        ).where(known)
        for name, kind in (("t", "interval"), ("bootstrap", "bootstrap_interval"))
    }
    return xr.Dataset(
        {
            "MAE raw": raw,
            "MAE adjusted": error,
            "MAE common mean": abs(result["common_mean"] - target),
            "bias": result["adjusted"] - target,
            "error known": known.astype(float),
            **held,
            "nearer": (error < raw).astype(float),
            "condition 6": result["helps"].astype(float),
            "confidence": result["confidence"],
        }
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--measure", default="RBP(p=0.8)@10")
    parser.add_argument("--samples", type=int, default=100)
    parser.add_argument("--choices", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    collection, first = two_stages(trec_covid())
    n_judged = int(collection["judgments/grade"].notnull().sum())
    print(f"{len(first)} judgments in round 1, {n_judged} in all")
    experiment(collection, options)
    warnings.simplefilter("ignore")
    second_stage(collection, first, options)


if __name__ == "__main__":
    main()
