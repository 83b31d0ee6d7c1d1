"""Tables that the notebook of this name reads: TREC-COVID round 1.

Run it with ``PYTHONPATH=. python notebooks/results/webber_park_2009.py`` where the environment
variable BAYESEVAL_REAL_DATA names the folder of the real data: some minutes. It writes ``pools``
(algorithm 3, one line a sample: figure 1 and the errors with and without teammates), ``errors``
(tables 1 to 4 and the coverage of the intervals) and ``second_stage`` (the 87 runs that did not
contribute, one line a run and measure) beside itself.
"""

import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import xarray as xr

import bayeseval as be
from benchmarks.pool_width import pool_width_errors, sampled_pools
from benchmarks.real_data import trec_covid
from benchmarks.webber_park_2009 import COMMON, SOURCES, two_stages

MEASURES = ["P@10", "RBP(p=0.8)@10"]


def main() -> None:
    collection, first = two_stages(trec_covid())
    pools = {name: sampled_pools(collection, unpooled_from=name, random_seed=1) for name in SOURCES}
    parts = {name: pool_rows(pool) for name, pool in pools.items()}
    save("pools", pd.concat(parts, names=["runs"]))
    errors = {
        name: pool_width_errors(pool, n_common=COMMON, random_seed=2)
        for name, pool in pools.items()
    }
    parts = {name: error.to_dataframe() for name, error in errors.items()}
    save("errors", pd.concat(parts, names=["runs"]))
    warnings.filterwarnings("ignore", message=".*count as non-relevant")
    save("second_stage", second_stage(collection, first))


def save(name: str, table: pd.DataFrame) -> None:
    path = Path(__file__).with_suffix("")
    table.to_csv(f"{path}_{name}.csv", float_format="%.6g")


def pool_rows(pool: xr.Dataset) -> pd.DataFrame:
    """Bias of the unpooled run, of its score after algorithm 1, and whether it has a teammate."""
    bias = (pool.unpooled - pool.true).mean("topic")
    columns = {"bias": bias, "adjusted": bias + pool.left_out_adjustment, "teammate": pool.teammate}
    return xr.Dataset(columns).to_dataframe()


def second_stage(collection, first: pd.DataFrame) -> pd.DataFrame:
    """What the judgments of round 1 say of the other runs, by all judgments and by both algorithms.

    Ten common topics at random for algorithm 2.
    """
    common = np.random.default_rng(3).choice(collection.topic.values, size=10, replace=False)
    asked = {"measures": MEASURES, "judged_before": first}
    by_runs = be.adjust_scores(collection, **asked)
    by_topics = be.adjust_scores(collection, **asked, common_topics=common)
    truth = be.evaluate(collection, MEASURES, estimator="assumed").estimate.mean("topic")
    bounds = {
        f"{name}{side}": by_topics[f"{name}interval"].sel(ci_bound=side, drop=True)
        for name in ("", "bootstrap_")
        for side in ("lower", "upper")
    }
    named = ["unadjusted", "adjusted", "standard_error", "common_mean", "common_mean_error"]
    named += ["helps", "confidence", "bootstrap_confidence"]
    columns = {"true": truth.sel(run=by_topics.run), "by_runs": by_runs.adjusted}
    columns |= {name: by_topics[name] for name in named} | bounds
    table = xr.Dataset(columns).reset_coords(drop=True).to_dataframe()
    return table.reorder_levels(["run", "measure"]).sort_index(
        level="measure", sort_remaining=False
    )


if __name__ == "__main__":
    main()
