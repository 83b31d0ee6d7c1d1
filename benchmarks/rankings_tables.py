"""Bias and variance of rankings on real collections: tables 1 to 3 of Cormack and Grossman (2019).

Reads the folder that the environment variable BAYESEVAL_REAL_DATA names. ``budgets`` are tables 1
and 2 on TREC-COVID round 5 (real runs; real and dual runs), ``judgments`` is table 3: round 1 with
three sets of judgments, CLEF TAR 2017 with complete, sampled and pooled ones. Both are written to
notebooks/results, where the notebook reads them.
"""

import argparse
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import xarray as xr

import bayeseval as be
from benchmarks.coverage_collections import clef as whole_clef
from benchmarks.real_data import round5, trec_covid, unpacked
from benchmarks.webber_park_2009 import two_stages

# the paper's estimators, and dyn as it is by default
SAMPLED = {
    "infAP": {"estimator": "inf"},
    "dynAP": {
        "estimator": "dyn",
        "predictor": "rank_logistic",
        "denominator": "topic",
    },
    "dyn": {"estimator": "dyn"},
}
TOGETHER = 4  # replicates scored at once; more take more memory
KEPT = ["bias", "sigma", "rmse"]


def scores(sampled: xr.DataTree, **how) -> xr.DataArray:
    """AP (replicate, run, topic), a topic without an estimate counting 0."""
    found = be.evaluate(sampled, "AP", random_seed=1, **how)
    return found.estimate.isel(measure=0, drop=True).fillna(0.0)


def replicates(collection, design, options, kept_as: str, methods=None) -> dict[str, xr.DataArray]:
    """Tables of the sampled methods, from the folder ``--keep`` where they are there already."""
    selected = be.draw(design, n_replicates=options.replicates, random_seed=1)
    found = {}
    for name in methods or SAMPLED:
        file = options.keep and options.keep / f"{kept_as}~{name}~{options.replicates}.nc"
        if file and file.exists():
            found[name] = xr.load_dataarray(file, engine="h5netcdf")
            continue
        parts = []
        for first in range(0, options.replicates, TOGETHER):
            some = selected.isel(replicate=slice(first, first + TOGETHER))
            sampled = be.reveal(collection, design, some, unjudged="nonrelevant")
            parts.append(scores(sampled, **SAMPLED[name]))
        found[name] = xr.concat(parts, dim="replicate")
        if file:
            found[name].to_netcdf(file, engine="h5netcdf")
            print(file.name, flush=True)
    return found


def pools(collection, budget: int) -> dict[str, tuple[xr.DataArray, float]]:
    """Tables of the depth-k pool next to the budget, and of hedge, with their cost a topic."""
    found = {}
    deeper = {k: be.designs.depth_pool(collection, k) for k in (5, 10, 20, 30)}
    cost = {k: float(pool.inclusion_probability.sum()) for k, pool in deeper.items()}
    wanted = budget * collection.sizes["topic"]
    depth = min(cost, key=lambda k: abs(np.log(cost[k] / wanted)))
    for name, pool in (
        (f"depth-{depth}", deeper[depth]),
        ("hedge", be.designs.hedge(collection, budget)),
    ):
        judged = float(pool.inclusion_probability.sum()) / collection.sizes["topic"]
        sampled = be.reveal(collection, pool, unjudged="nonrelevant")
        found[name] = scores(sampled, estimator="assumed"), judged
    return found


def row(table, gold, options, **facts) -> dict:
    """One line: bias, sigma, error with their Monte Carlo errors."""
    n_topics = facts.pop("n_topics", None)
    found = be.rankings.bias_variance(
        table, gold, n_boot=options.boot, n_topics=n_topics, random_seed=1
    )
    error = found.monte_carlo_error.to_series()
    cells = {name: found[name].item() for name in KEPT}
    cells |= {f"{name}_mc": error[name] for name in KEPT}
    print(facts, n_topics, {k: round(v, 4) for k, v in cells.items()}, flush=True)
    return facts | {"n_topics": n_topics or table.sizes["topic"]} | cells


def budgets(options) -> pd.DataFrame:
    """Tables 1 and 2: four methods, two budgets, two numbers of topics, real and dual runs."""
    both = be.dual_runs(round5(), random_seed=1)
    gold = scores(both, estimator="assumed")
    real = both["run"].values[both["contributed"].values]
    lists = {"real": real, "real and dual": both["run"].values}
    rows = []
    for budget in options.budgets:
        design = be.designs.pps_strata(both, budget=budget)
        tables = {
            name: (table, float(budget))
            for name, table in replicates(both, design, options, f"round5~{budget}").items()
        }
        tables |= pools(both, budget)
        for label, some in lists.items():
            for n_topics in (50, 200):
                chosen = [(*tables[name], name) for name in tables]
                if budget == options.budgets[-1]:
                    chosen.append((gold, np.nan, "reference"))
                for table, judged, name in chosen:
                    rows.append(
                        row(
                            table.sel(run=some), gold.sel(run=some), options, runs=label,
                            budget=budget, method=name, judged=judged, n_topics=n_topics,
                        )
                    )  # fmt: skip
        save("budgets", pd.DataFrame(rows))
    return pd.DataFrame(rows)


def round1(options) -> dict[str, xr.DataArray]:
    """The 143 runs by the judgments of round 1, by all later ones too, and by a sample of these."""
    collection, first = two_stages(trec_covid())
    runs = unpacked(trec_covid() / "round1-runs.tar.xz")
    early = be.read_collection(first, f"{runs}/*")
    design = be.designs.pps_strata(collection, budget=100)
    return {
        "round 1": scores(early, estimator="assumed"),
        "all": scores(collection, estimator="assumed"),
        "sampled, dyn": replicates(collection, design, options, "round1", ["dyn"])["dyn"],
    }


def clef(options) -> dict[str, xr.DataArray]:
    """The runs of CLEF TAR 2017 by complete judgments, by samples, and by a pool."""
    collection = whole_clef()
    design = be.designs.pps_strata(collection, budget=100)
    return {
        "complete": scores(collection, estimator="assumed"),
        "sampled, dyn": replicates(collection, design, options, "clef", ["dyn"])["dyn"],
        "depth-10": scores(
            be.reveal(collection, be.designs.depth_pool(collection, 10), unjudged="nonrelevant"),
            estimator="assumed",
        ),
    }


def judgments(options) -> pd.DataFrame:
    """Table 3: every set of judgments as gold for every other, with intervals."""
    rows = []
    for name, tables in (("round 1", round1(options)), ("CLEF TAR 2017", clef(options))):
        shared = sorted(set.intersection(*(set(t.topic.values) for t in tables.values())))
        for gold_name, gold in tables.items():
            for method, table in tables.items():
                found = be.rankings.bias_variance(
                    table.sel(topic=shared), gold.sel(topic=shared, run=table.run.values),
                    n_boot=options.boot, n_outer=options.outer, random_seed=1,
                )  # fmt: skip
                cells = {quantity: found[quantity].item() for quantity in KEPT}
                for quantity in KEPT:
                    one = found.sel(quantity=quantity)
                    cells[f"{quantity}_corrected"] = one.corrected.item()
                    cells[f"{quantity}_lower"], cells[f"{quantity}_upper"] = one.interval.values
                cells["bias_found"] = found.bias_found.item()
                rows.append({"collection": name, "gold": gold_name, "method": method} | cells)
                print(rows[-1], flush=True)
        save("judgments", pd.DataFrame(rows))
    return pd.DataFrame(rows)


def save(name: str, table: pd.DataFrame) -> None:
    folder = Path(__file__).parents[1] / "notebooks" / "results"
    path = folder / f"cormack_grossman_rankings_2019_{name}.csv"
    table.to_csv(path, float_format="%.5g", index=False)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--budgets", type=int, nargs="+", default=[100, 400])
    parser.add_argument("--replicates", type=int, default=15)
    parser.add_argument("--boot", type=int, default=300)
    parser.add_argument("--outer", type=int, default=40)
    parser.add_argument("--only", choices=("budgets", "judgments"))
    parser.add_argument("--keep", type=Path, help="folder that keeps the scores of samples")
    options = parser.parse_args()
    if options.keep:
        options.keep.mkdir(exist_ok=True)
    warnings.simplefilter("ignore")
    if options.only != "judgments":
        budgets(options)
    if options.only != "budgets":
        judgments(options)


if __name__ == "__main__":
    main()
