"""How near plans come: what a pilot says of larger samples, beside what these are really like.

``python benchmarks/planning.py`` draws pilots of 30 and 60 judgments a topic, three of each, on
every collection, plans 50, 100 and 200 judgments from each, and does the same with the complete
judgments. `planning/results.csv` has the ratios: half-width and error of a difference, planned over
true, over contributing runs.
"""

import argparse
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import xarray as xr

import bayeseval as be
from benchmarks.coverage_collections import COLLECTIONS, EVERY, at_hand, halved

MEASURES = ["P@10", "RBP(p=0.8)", "AP", "R@100"]
BUDGETS = [50, 100, 200]
PILOTS = (30, 60)
N_PILOTS = 3
RESULTS = Path(__file__).parent / "planning" / "results.csv"


def contributing(name: str) -> xr.DataTree:
    """The runs of a collection that contribute, with all judgments."""
    collection = halved(EVERY[name][0]())
    return be.select(collection, runs=collection["run"].values[collection["contributed"].values])


def compared(name: str) -> pd.DataFrame:
    """Ratios of planned to true, a row for each pilot, budget and measure."""
    collection = contributing(name)
    true = be.plan(collection, MEASURES, budget=BUDGETS, n_simulations=60, random_seed=1)
    rows = []
    for pilot in PILOTS:
        design = be.designs.pps_strata(collection, budget=pilot)
        for number in range(N_PILOTS):
            drawn = be.draw(design, random_seed=100 * pilot + number)
            planned = be.plan(
                be.reveal(collection, design, drawn), MEASURES, budget=BUDGETS, random_seed=2
            )
            rows += _rows(planned, true, {"collection": name, "pilot": pilot, "number": number})
    return pd.DataFrame(rows)


def _rows(planned: xr.Dataset, true: xr.Dataset, about: dict) -> list[dict]:
    """One row for each measure and budget."""
    rows = []
    for measure in MEASURES:
        for budget in BUDGETS:
            place = {"measure": measure, "budget": budget}
            one, other = (data.sel(place).isel(n_topics=0) for data in (planned, true))
            ratio = {
                kind: float((one[kind].mean() / other[kind].mean()).round(3))
                for kind in ("half_width", "error", "difference_error")
            }
            width = float(other["half_width"].mean().round(4))
            rows.append(about | place | ratio | {"true_half_width": width})
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--collection", action="append", choices=list(EVERY))
    chosen = parser.parse_args().collection or COLLECTIONS
    parts = []
    for name in at_hand(chosen):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            parts.append(compared(name))
        print(summary(parts[-1]).to_string(), flush=True)
    RESULTS.parent.mkdir(exist_ok=True)
    pd.concat(parts).to_csv(RESULTS, index=False)


def summary(rows: pd.DataFrame) -> pd.DataFrame:
    """Geometric mean and range of the ratios over pilots and budgets."""
    logs = rows.assign(width=np.log(rows["half_width"]), apart=np.log(rows["difference_error"]))
    found = logs.groupby(["collection", "pilot", "measure"], sort=False)[["width", "apart"]]
    return np.exp(found.agg(["mean", "min", "max"])).round(2)


if __name__ == "__main__":
    main()
