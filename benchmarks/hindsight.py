"""How little could any weighting of design and model err? Weights chosen with the truth at hand.

From the chunks that ``benchmarks/interval_coverage.py run --estimator dyn --estimator
relevance_model --estimator combined`` keeps: RMS errors over those of ``dyn`` of the model, of the
combination, and of w times the model plus 1 - w times ``dyn``, with the w that errs least for a
kind of runs of a collection, and with one for each run (0 to 1). Both are bounds, not estimators:
with few samples those of each run follow the noise too. Kept beside the other tables of the
combination (combined_intervals/hindsight.csv); the means over collections are printed.
"""

import argparse
from pathlib import Path

import numpy as np
import pandas as pd
import xarray as xr

import bayeseval as be
from benchmarks.coverage_collections import COLLECTIONS, roles
from benchmarks.interval_coverage import WITH_ERRORS

RESULTS = Path(__file__).parent / "combined_intervals" / "hindsight.csv"
NAMES = ["dyn", "relevance_model", "combined"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--budget", type=int, default=100)
    parser.add_argument("--chunks", type=Path, default=Path("coverage-output"))
    options = parser.parse_args()
    rows = []
    for name in COLLECTIONS:
        files = [options.chunks / f"{name}~{options.budget}~{each}~1.nc" for each in NAMES]
        if not all(file.exists() for file in files):
            raise SystemExit(
                f"{options.chunks} lacks chunks of {name}; run interval_coverage first"
            )
        parts = [xr.load_dataset(file, engine="h5netcdf") for file in files]
        kinds = roles(be.open_collection(options.chunks / f"{name}.nc"))
        for label in WITH_ERRORS:
            design, model, combined = (errors(part, label) for part in parts)
            for kind, chosen in kinds.items():
                found = bounds(design[chosen], model[chosen], combined[chosen])
                cell = {"collection": name, "measure": label, "runs": kind}
                rows.append(cell | {"samples": design.shape[1]} | found)
    table = pd.DataFrame(rows)
    table.to_csv(RESULTS, index=False, float_format="%.4g")
    over = table.drop(columns=["collection", "samples"]).groupby(["measure", "runs"]).mean()
    print(over.to_string(float_format="%.2f"))


def errors(found: xr.Dataset, label: str) -> np.ndarray:
    """Errors (run, sample) of the means over topics."""
    of = found[["estimate", "truth"]].sel(measure=label)
    return (of.estimate - of.truth).transpose("run", "replicate").to_numpy()


def bounds(design: np.ndarray, model: np.ndarray, combined: np.ndarray) -> dict[str, float]:
    """RMS errors over the design's of errors (run, sample), and of the best weights."""

    def rms(error: np.ndarray) -> float:
        return float(np.sqrt((error**2).mean()))

    one = best_weight(design.ravel(), model.ravel())
    each = np.array([best_weight(d, m) for d, m in zip(design, model, strict=True)])[:, None]
    return {
        "model": rms(model) / rms(design),
        "combined": rms(combined) / rms(design),
        "one_weight": rms(one * model + (1.0 - one) * design) / rms(design),
        "weight": one,
        "weight_a_run": rms(each * model + (1.0 - each) * design) / rms(design),
    }


def best_weight(design: np.ndarray, model: np.ndarray) -> float:
    """Weight in [0, 1] of the model with which w m + (1 - w) d has the least square."""
    apart = design - model
    square = float(apart @ apart)
    return float(np.clip(design @ apart / square, 0.0, 1.0)) if square > 0 else 0.0


if __name__ == "__main__":
    main()
