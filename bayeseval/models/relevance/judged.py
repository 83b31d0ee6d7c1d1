"""Predictors of the judged pairs, as a model takes them."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayeseval.collection.choices import check_choice, check_whole_numbers
from bayeseval.frame.frame import Frame
from bayeseval.frame.scale import RankScale, rank_scale
from bayeseval.models.relevance.blocks import SHRUNK, Block, Parts, blocks
from bayeseval.models.relevance.constants import scale_coords


@dataclass(frozen=True, eq=False)
class Predictors:
    """Predictors of the judged pairs."""

    frame: Frame
    scale: RankScale
    parts: Parts  # which blocks there are

    @classmethod
    def of(
        cls,
        frame: Frame,
        *,
        n_components: int,
        n_topic_components: int,
        n_curve_components: int,
        topic_effects: bool | str,
        agreement: bool,
    ) -> "Predictors":
        """Predictors of the judged pairs of a frame, with the parts that it has columns for."""
        check_whole_numbers(
            0,
            n_components=n_components,
            n_topic_components=n_topic_components,
            n_curve_components=n_curve_components,
        )
        check_choice("topic_effects", str(topic_effects), ("True", "False", "centred"))
        scale = rank_scale(frame, n_components, n_curve_components if n_components else 0)
        n_own = min(n_topic_components, scale.lines.spread.size)
        agree = agreement and scale.agreement.rotation.shape[1] > 0
        return cls(frame, scale, Parts(n_own, topic_effects, agree))

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
            found.append(blocks(self.scale, ranks, rows, self.parts))
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
            "topic_component": number[: self.parts.n_topic_components],
            "judged_pair": self.frame.labels(self.judged),
        }
