"""Tables that the notebook of this name reads: the shipped collection and its dual runs.

Run it with ``PYTHONPATH=. python notebooks/results/cormack_grossman_2019.py``: some minutes. It
writes ``errors`` (stat and dyn under pps and uniform strata), ``runs`` (their mean error run by
run), ``comparison`` (all estimators) and ``inferred`` (`inf` run by run) beside itself.
"""

from pathlib import Path

import pandas as pd

import bayeseval as be

ESTIMATORS = ["assumed", "stat", ("dyn", "rank_logistic"), ("dyn", "pooled")]
MEASURES = ["P@10", "RBP(p=0.9)", "AP", "nDCG"]


def main() -> None:
    collection = be.dual_runs(be.simulate.demo_collection(), random_seed=1)
    pps = be.designs.pps_strata(collection, budget=100)
    uniform = be.designs.uniform_strata(collection, budget=100, random_seed=2)
    under_pps = be.experiments.replicate(
        collection, pps, MEASURES, estimators=ESTIMATORS, n_replicates=20, random_seed=3
    )
    under_uniform = be.experiments.replicate(
        collection, uniform, "P@10", estimators=ESTIMATORS[1:3], n_replicates=100, random_seed=3
    )
    results = {"pps": under_pps, "uniform": under_uniform}
    parts = {name: be.experiments.error_summary(r).to_dataframe() for name, r in results.items()}
    save("errors", pd.concat(parts, names=["strata"]))
    save("runs", by_run(under_pps))
    table = be.experiments.comparison(
        collection, budgets=[100], pool_depths=[5], n_replicates=10, random_seed=4
    )
    save("comparison", table.isel(measure=0, drop=True).to_dataframe())
    flat = be.designs.uniform_strata(collection, budget=100, n_strata=1, random_seed=5)
    inferred = {}
    for name, design in {"pps, 20 strata": pps, "uniform, 1 stratum": flat}.items():
        inferred[name] = by_run(
            be.experiments.replicate(
                collection, design, "P@10", estimators=["inf"], n_replicates=10, random_seed=6
            )
        )
    save("inferred", pd.concat(inferred, names=["strata"]))


def by_run(result) -> pd.DataFrame:
    """Mean error of MP@10 over samples, the truth, and whether the run is real (else a dual)."""
    result = result.sel(measure="P@10", drop=True)
    error = (result.estimate - result.truth).mean("replicate").rename("error")
    table = error.to_dataset().assign(true=result.truth, real=result.contributed)
    return table.to_dataframe()[["error", "true", "real"]]


def save(name: str, table: pd.DataFrame) -> None:
    path = Path(__file__).with_suffix("")
    table.to_csv(f"{path}_{name}.csv", float_format="%.6g")


if __name__ == "__main__":
    main()
