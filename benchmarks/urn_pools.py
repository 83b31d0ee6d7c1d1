"""Errors of the urn's own, learned from depth pools: how far it is off in what nobody judged.

``run`` fits ``urn_model`` to depth pools of the collections of ``coverage_collections`` and keeps
estimates, posterior deviations and the weight of the ranks that the urns fill, pool by pool (what
is there already is not done again). ``learn`` learns the kind "lists" of the constants of the
package from the pools of all families (TREC-COVID is one), writes them and prints, with those of
the other families, what the intervals of each pool hold (``urn_pools/results.csv``). Frame: the
documents with a complete judgment; truth: the score under these. Real collections are those of the
folder that the environment variable BAYESEVAL_REAL_DATA names.
"""

import argparse
import os
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import xarray as xr
from scipy.special import expit, logit
from scipy.stats import norm

import bayeseval as be
from bayeseval.combination.constants import GROUPS, LISTS, Constants
from bayeseval.inference import verdict_text
from benchmarks.combination_table import PACKAGE, WANTED, Z, put
from benchmarks.coverage_collections import EVERY
from benchmarks.held import held
from benchmarks.real_data import REAL_DATA, round5

MEASURES = ["RBP(p=0.95)", "RBP(p=0.8)", "P@20", "P@50"]
ROUND5 = "trec-covid-5, all runs"
# (collection, depth of the pool, every how manieth run)
POOLS = [
    (ROUND5, 10, 1),
    (ROUND5, 20, 1),
    (ROUND5, 10, 3),
    ("clef-tar-2017", 10, 1),
    ("few-relevant", 10, 1),
    ("few-runs", 10, 1),
    ("graded", 10, 1),
    ("trec8-like", 10, 3),
]
TRIED = np.arange(0.0, 1.001, 0.05)  # in log odds
COLUMNS = ["estimate", "standard_error", "judged_score", "filled_weight"]
RESULTS = Path(__file__).parent / "urn_pools" / "results.csv"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("act", choices=["run", "learn"])
    parser.add_argument("--collection", action="append", choices=sorted({p[0] for p in POOLS}))
    parser.add_argument("--pools", type=Path, default=Path("urn-pools-output"))
    options = parser.parse_args()
    if options.act == "learn":
        learn(options.pools)
        return
    warnings.simplefilter("ignore")
    options.pools.mkdir(exist_ok=True)
    for name, depth, every in POOLS:
        real = name == ROUND5 or EVERY[name][1]
        if real and not os.environ.get(REAL_DATA):
            print(f"{name}: left out, {REAL_DATA} is not set")
        elif name in (options.collection or [name]):
            run(name, depth, every, options.pools)


def run(name: str, depth: int, every: int, folder: Path) -> None:
    """One pool: mean scores of every run (measure, run), and what the urns fill."""
    file = folder / f"{name}~{depth}~{every}.nc"
    if file.exists():
        return
    collection = round5() if name == ROUND5 else EVERY[name][0]()
    collection = be.select(collection, runs=collection["run"].to_numpy()[::every].tolist())
    pool = be.designs.depth_pool(collection, depth)
    sampled = be.reveal(collection, pool, be.draw(pool, random_seed=1), unjudged="nonrelevant")
    frame = collection["judgments/grade"].notnull()
    model = be.models.urn_model(sampled, depth=depth, frame=frame)
    fitted = be.fit(model, draws=500, tune=500, random_seed=1)
    found = be.summarize(be.posterior_scores(fitted, sampled, MEASURES, random_seed=1))
    truth = be.evaluate(collection, MEASURES, estimator="assumed").estimate.mean("topic")
    kept = found[COLUMNS].assign(truth=truth)
    kept.assign_attrs(collection=name, depth=depth, every=every).to_netcdf(file, engine="h5netcdf")
    print(f"{file.name}: {verdict_text(be.verdict(fitted))}", flush=True)


def learn(folder: Path) -> None:
    """Constants of the package, and what each pool holds by those of the other families."""
    rows = joined(folder)
    ratio = best(rows)
    values = {field: 0.0 for field in Constants.__dataclass_fields__} | {"near_ratio": ratio}
    put(pd.DataFrame([{"kind": LISTS, "group": group} | values for group in GROUPS]), PACKAGE)
    print(f"all families: {ratio:.2f} in log odds")
    table = []
    for family, some in rows.groupby("family"):
        by_others = best(rows[rows.family != family])
        wider = tried(some, by_others).assign(plain=tried(some, 0.0).held)
        for (pool, measure), cell in wider.groupby(["pool", "measure"]):
            off = cell.estimate - cell.truth
            row = {"pool": pool, "measure": measure, "runs": len(cell), "bias": off.mean()}
            row |= {"rms_error": (off**2).mean() ** 0.5, "filled_weight": cell.filled_weight.mean()}
            odds = ((cell.odds - cell.true_odds) ** 2).mean() ** 0.5
            row |= {"posterior_held": cell.plain.mean(), "rms_log_odds": odds, "ratio": by_others}
            length = (cell.upper - cell.lower).mean()
            table.append(row | {"held": cell.held.mean(), "length": length})
    RESULTS.parent.mkdir(exist_ok=True)
    found = pd.DataFrame(table)
    found.to_csv(RESULTS, index=False, float_format="%.4g")
    print(found.to_string(index=False, float_format=lambda value: f"{value:.4f}"))


def joined(folder: Path) -> pd.DataFrame:
    """One row for every pool, measure and run, with the log odds of what fills the urns' ranks.

    Measures that look no deeper than the pool are left out, and shares of 0 and 1 count as half a
    document in a thousand.
    """
    parts = []
    for file in sorted(folder.glob("*~*.nc")):
        found = xr.load_dataset(file, engine="h5netcdf")
        name = found.attrs["collection"]
        some = "" if found.attrs["every"] == 1 else f", every run of {found.attrs['every']}"
        pool = f"{name}, depth {found.attrs['depth']}{some}"
        table = found[[*COLUMNS, "truth"]].to_dataframe().reset_index()
        table = table[table.filled_weight > 0][["measure", "run", *COLUMNS, "truth"]]
        parts.append(table.assign(pool=pool, family=name))
    if not parts:
        raise SystemExit(f"{folder} holds no pools; begin with 'run'")
    rows = pd.concat(parts, ignore_index=True)
    share, true_share = (
        ((rows[name] - rows.judged_score) / rows.filled_weight).clip(0.0005, 0.9995)
        for name in ("estimate", "truth")
    )
    error = rows.standard_error / (rows.filled_weight * share * (1.0 - share))
    return rows.assign(odds=logit(share), true_odds=logit(true_share), error=error)


def tried(rows: pd.DataFrame, ratio: float) -> pd.DataFrame:
    """Log scores and ends of intervals normal in log odds with some error, and which hold."""
    error = np.hypot(rows.error, ratio)
    low, high = (expit(rows.odds + sign * Z * error) for sign in (-1.0, 1.0))
    ends = {"lower": rows.judged_score + rows.filled_weight * low}
    ends |= {"upper": rows.judged_score + rows.filled_weight * high}
    inside = held(rows.truth, ends["lower"], ends["upper"])
    return rows.assign(score=norm.logpdf(rows.true_odds, rows.odds, error), held=inside, **ends)


def best(rows: pd.DataFrame) -> float:
    """The best mean log score of those that hold as often as wanted; families weigh the same."""
    found = {}
    for ratio in TRIED:
        table = tried(rows, ratio).groupby(["family", "pool", "measure"])[["score", "held"]].mean()
        mean = table.groupby("family").mean().mean()
        if mean.held >= WANTED:
            found[float(ratio)] = mean.score
    if not found:
        raise SystemExit(f"no error up to {TRIED[-1]:.2f} holds {WANTED:.0%} of the scores")
    return max(found, key=found.__getitem__)


if __name__ == "__main__":
    main()
