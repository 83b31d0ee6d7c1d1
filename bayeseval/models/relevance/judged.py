"""Predictors of the judged pairs, as a model takes them."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayeseval.frame.frame import Frame
from bayeseval.frame.scale import RankScale, rank_scale
from bayeseval.models.relevance.blocks import N_TOPIC_COMPONENTS, SHRUNK, Block, blocks
from bayeseval.models.relevance.constants import scale_coords

N_COMPONENTS = 60  # components of the runs' ranks that are kept
N_CURVE_COMPONENTS = 30  # of the runs' curves


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
