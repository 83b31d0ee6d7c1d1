"""What it takes to find the predictors of other pairs, kept with the model and with its fit."""

from typing import Any

import numpy as np
import xarray as xr

from bayeseval.collection.labels import ranking_checksums
from bayeseval.frame.frame import Frame
from bayeseval.frame.scale import CURVES, Agreement, RankScale, RunColumns, rank_functions

NUMBERS = {
    "rank_depth": "depth",
    "log_rank_mean": "log_rank_mean",
    "log_rank_sd": "log_rank_sd",
    "log_rank_skew": "log_rank_skew",
    "curve_sd": "curve_sd",
}
# columns of runs -> dims of the columns, and that of their components
RUN_COLUMNS = {
    "run_line": (("run",), "component"),
    "run_curve": (("curve", "run"), "curve_component"),
}
AGREEMENT = {
    "mean": ("rank_feature",),
    "sd": ("rank_feature",),
    "square_mean": ("rank_square",),
    "square_sd": ("rank_square",),
    "slope": ("shape", "rank_column"),
    "rotation": ("rank_column", "agreement"),
    "left_sd": ("topic_agreement",),
}
LABELS = {
    "line": ["mean", "log_rank", "curvature", "sd"],
    "shape": ["log_rank", "curvature"],
    "curve": CURVES,
    "topic_agreement": ["best_rank", "n_runs"],
}


def keep_scale(frame: Frame, scale: RankScale) -> None:
    """Write the scale and the checksums of a frame as data of the model of the context."""
    import pymc as pm

    for name, field in NUMBERS.items():
        value = getattr(scale, field)
        pm.Data(name, np.int64(value) if name == "rank_depth" else np.float64(value))
    pm.Data("tail", scale.tail, dims="line")
    runs = (scale.lines, scale.curves)
    for columns, (name, (dims, component)) in zip(runs, RUN_COLUMNS.items(), strict=True):
        sizes = (len(CURVES), frame.run.size)[-len(dims) :]
        pm.Data(f"{name}_mean", columns.mean.reshape(sizes), dims=dims)
        pm.Data(f"{name}_slope", columns.slope.reshape(2, *sizes), dims=("shape", *dims))
        rotation = columns.rotation.reshape(*sizes, columns.spread.size)
        pm.Data(f"{name}_rotation", rotation, dims=(*dims, component))
        pm.Data(f"{name}_spread", columns.spread, dims=component)
    for name, dims in AGREEMENT.items():
        pm.Data(f"rank_feature_{name}", getattr(scale.agreement, name), dims=dims)
    pm.Data("frame_checksum", np.int64(frame.checksum))
    for name, positions in (("run", frame.run), ("fused_run", frame.fused_run)):
        pm.Data(f"{name}_checksum", ranking_checksums(frame.collection, positions), dims=name)


def scale_coords(scale: RankScale) -> dict[str, Any]:
    """Labels of the dims of what is kept."""
    n_features = scale.agreement.mean.size
    best = [f"best_{2**number}" for number in range(n_features - 1)]
    features = [*best, "n_runs"]
    squares = [*(f"{name}_squared" for name in features), *(f"{name}_n_runs" for name in best)]
    squares += ["no_run", "one_run", "one_run_rank"]
    return LABELS | {
        "rank_feature": features,
        "rank_square": squares,
        "rank_column": [*features, *squares],
        "agreement": np.arange(1, scale.agreement.rotation.shape[1] + 1),
    }


def kept_scale(constant: xr.Dataset) -> RankScale:
    """Scale that a fit has kept."""

    def array(name: str, *dims: str):
        return constant[name].transpose(*dims).to_numpy()

    numbers: dict[str, Any] = {field: constant[name].item() for name, field in NUMBERS.items()}
    tail = array("tail", "line")
    runs = []
    for of_rank, (name, (dims, component)) in zip(
        rank_functions(numbers["depth"]), RUN_COLUMNS.items(), strict=True
    ):
        spread = array(f"{name}_spread", component)
        mean = array(f"{name}_mean", *dims).ravel()
        slope = array(f"{name}_slope", "shape", *dims).reshape(2, mean.size)
        rotation = array(f"{name}_rotation", *dims, component).reshape(mean.size, spread.size)
        runs.append(RunColumns(of_rank, mean, slope, rotation, spread))
    parts = {name: array(f"rank_feature_{name}", *dims) for name, dims in AGREEMENT.items()}
    agreement = Agreement(absent_rank=numbers["depth"] + 1, **parts)
    return RankScale(**numbers, tail=tail, lines=runs[0], curves=runs[1], agreement=agreement)
