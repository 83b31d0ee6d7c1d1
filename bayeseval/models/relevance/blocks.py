"""The linear predictor of relevance: blocks of columns, and the effects that multiply them.

It stands here once: the model makes variables of the effects, the draws of unjudged documents
multiply the columns by their draws, the approximation lays them out as one regression.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayeseval.frame.rankings import TopicRanks
from bayeseval.frame.scale import RankScale


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
    "topic_agreement": Effect(
        "topic_agreement_effect", ("topic_agreement",), by_topic=True, sd="topic_agreement_sd"
    ),
}
N_TOPIC_COMPONENTS = 16  # components that have an effect per topic
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

    def times(self, effect: NDArray[np.float64]) -> NDArray[np.float64]:
        """What the block adds (pair, draw) under draws of its effect (draw, column) or (draw,)."""
        values = self.values.astype(effect.dtype)
        return np.outer(values, effect) if values.ndim == 1 else values @ effect.T


def blocks(scale: RankScale, ranks: TopicRanks, rows: NDArray) -> list[Block]:
    """Blocks of some pairs (row,) of a topic, intercept and slope first."""
    shape, run_rank = scale.shape_of(ranks.fused_rank[rows]), ranks.run_rank[rows]
    log_rank, curve, tail = shape.T
    component = scale.lines.components(run_rank, shape[:, :2])
    own = np.column_stack([np.ones(log_rank.size), log_rank])
    found = [Block("topic", own), Block("curve", curve), Block("tail", tail)]
    if component.shape[1]:
        found.append(Block("component", component))
    if scale.curves.spread.size:
        found.append(Block("curve_component", scale.curves.components(run_rank, shape[:, :2])))
    if component.shape[1]:
        scaled = component[:, :N_TOPIC_COMPONENTS] / scale.first_sd
        found.append(Block("topic_component", scaled))
    if scale.agreement.rotation.shape[1]:
        agreement, alone = scale.agreement.predictors(run_rank, shape[:, :2])
        found += [Block("agreement", agreement), Block("topic_agreement", alone)]
    return found
