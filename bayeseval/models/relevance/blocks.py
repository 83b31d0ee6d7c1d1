"""The linear predictor of relevance: blocks of columns, and the effects that multiply them.

It stands here once: the model makes variables of the effects, the draws of unjudged documents
multiply the columns by their draws, the approximation lays them out as one regression. At the end
stands what finds the columns of other pairs, kept with the model and with its fit.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from bayeseval.collection.labels import ranking_checksums
from bayeseval.frame.frame import Frame
from bayeseval.frame.rankings import TopicRanks
from bayeseval.frame.scale import (
    CURVES,
    Agreement,
    RankScale,
    RunColumns,
    rank_functions,
    rank_scale,
)

N_TOPIC_COMPONENTS = 16  # components that have an effect per topic
N_COMPONENTS = 60  # components of the runs' ranks that are kept
N_CURVE_COMPONENTS = 30  # of the runs' curves
SHAPE_WEIGHT = 2.0  # effects of curvature and tail by topic are so much larger than their others
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
    "left_sd": ("agreement_residual",),
}
LABELS = {
    "line": ["mean", "log_rank", "curvature", "sd"],
    "shape": ["log_rank", "curvature"],
    "curve": CURVES,
    "agreement_residual": ["best_rank", "n_runs"],
    "topic_shape": ["best_rank", "n_runs", "curvature", "tail"],
}


class Effect(NamedTuple):
    """Row of the table of effects."""

    variable: str  # name of the variable that holds them
    # of one topic's effects, and of the block's columns; none where the effect is one number
    dims: tuple[str, ...]
    by_topic: bool = False  # whether each topic has effects of its own
    # name of their standard deviation, learned from the judgments; None where it is not one
    sd: str | None = None

    @property
    def all_dims(self) -> tuple[str, ...]:
        """Dims of the variable."""
        return ("topic", *self.dims) if self.by_topic else self.dims


# The order is that of random numbers in the approximation: another gives other draws.
EFFECTS = {
    "topic": Effect("topic_effect", ("predictor",), by_topic=True),
    "curve": Effect("curvature", ()),
    "tail": Effect("tail_effect", ()),
    "component": Effect("component_effect", ("component",), sd="reliability_sd"),
    "curve_component": Effect(
        "curve_component_effect", ("curve_component",), sd="curve_component_sd"
    ),
    "agreement": Effect("agreement_effect", ("agreement",), sd="agreement_sd"),
    "topic_component": Effect(
        "topic_component_effect", ("topic_component",), by_topic=True, sd="topic_component_sd"
    ),
    "topic_shape": Effect(
        "topic_shape_effect", ("topic_shape",), by_topic=True, sd="topic_shape_sd"
    ),
}
SHRUNK = {name: effect.sd for name, effect in EFFECTS.items() if effect.sd is not None}


class Block(NamedTuple):
    """Columns of some pairs, and which effects they are multiplied by."""

    # key of ``EFFECTS``; the model holds the columns of the judged pairs as ``NAME_value``
    name: str
    values: NDArray[np.float64]  # (pair, column), or (pair,) where the effect is one number

    @property
    def effect(self) -> str:
        """Name of the variable that holds the effects."""
        return EFFECTS[self.name].variable

    @property
    def by_topic(self) -> bool:
        """Whether each topic has effects of its own."""
        return EFFECTS[self.name].by_topic


def blocks(scale: RankScale, ranks: TopicRanks, rows: NDArray) -> list[Block]:
    """Blocks of some pairs (row,) of a topic, intercept and slope first."""
    shape, run_rank = scale.shape_of(ranks.fused_rank[rows]), ranks.run_rank[rows]
    log_rank, curve, tail = shape.T
    component = scale.lines.components(run_rank, shape[:, :2])
    own = np.column_stack([np.ones(log_rank.size), log_rank])
    made = [Block("topic", own), Block("curve", curve), Block("tail", tail)]
    if component.shape[1]:
        made.append(Block("component", component))
    if scale.curves.spread.size:
        made.append(Block("curve_component", scale.curves.components(run_rank, shape[:, :2])))
    if component.shape[1]:
        scaled = component[:, :N_TOPIC_COMPONENTS] / scale.first_sd
        made.append(Block("topic_component", scaled))
    agreement, alone = scale.agreement.predictors(run_rank, shape[:, :2])
    if agreement.shape[1]:
        made.append(Block("agreement", agreement))
    made.append(Block("topic_shape", np.column_stack([alone, SHAPE_WEIGHT * shape[:, 1:]])))
    return made


@dataclass(frozen=True, eq=False)
class Predictors:
    """Predictors of the judged pairs."""

    frame: Frame
    scale: RankScale

    @classmethod
    def of(cls, frame: Frame) -> "Predictors":
        """Predictors of the judged pairs of a frame."""
        return cls(frame, rank_scale(frame, N_COMPONENTS, N_CURVE_COMPONENTS))

    @cached_property
    def judged(self) -> NDArray[np.int64]:
        """Rows of the frame that are judged."""
        return np.flatnonzero(~np.isnan(self.frame.grade[0]))

    @cached_property
    def topic(self) -> NDArray[np.int64]:
        """Position of the topic of each judged pair."""
        return self.frame.topic[self.judged]

    @cached_property
    def blocks(self) -> list[Block]:
        """Blocks of the linear predictor of the judged pairs."""
        known = ~np.isnan(self.frame.grade[0])
        found = []
        for topic, ranks in self.frame.topics():
            inside = known[self.frame.topic == topic]
            rows = np.flatnonzero(ranks.in_frame)[inside]
            found.append(blocks(self.scale, ranks, rows))
        return [
            Block(part[0].name, np.concatenate([block.values for block in part]))
            for part in zip(*found, strict=True)
        ]

    @property
    def coords(self) -> dict[str, Any]:
        """Labels of the model's dims."""
        collection = self.frame.collection
        number = np.arange(1, self.scale.lines.spread.size + 1)
        return scale_coords(self.scale) | {
            "topic": collection["topic"].to_numpy(),
            "run": collection["run"].to_numpy()[self.frame.run],
            "fused_run": collection["run"].to_numpy()[self.frame.fused_run],
            "block": [block.name for block in self.blocks],
            "predictor": ["intercept", "log_rank"],
            "fixed_effect": ["intercept", "log_rank", "curvature", "tail"],
            "topic_number": ["intercept_sd", "slope_sd", "fisher_z"],
            "scale": [sd.removesuffix("_sd") for sd in SHRUNK.values()],
            "prior_number": ["mean", "sd"],
            "component": number,
            "curve_component": np.arange(1, self.scale.curves.spread.size + 1),
            "topic_component": number[:N_TOPIC_COMPONENTS],
            "judged_pair": self.frame.labels(self.judged),
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
