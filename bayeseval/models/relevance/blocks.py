"""The linear predictor of relevance: blocks of columns, and the effects that multiply them.

It stands here once: the model makes variables of the effects, the draws of unjudged documents
multiply the columns by their draws, the approximation lays them out as one regression.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayeseval.frame.scale import RankScale

# Effect of each block: name of the variable, and whether each topic has one of its own.
EFFECTS = {
    "topic": ("topic_effect", True),
    "population": ("population_effect", False),
    "component": ("component_effect", False),
    "curve": ("curvature", False),
    "topic_component": ("topic_component_effect", True),
}


class Block(NamedTuple):
    """Columns of some pairs, and which effects they are multiplied by.

    Parameters
    ----------
    name : str
        Key of ``EFFECTS``; the model holds the columns of the judged pairs as ``NAME_value``.
    values : float array (pair, column), or (pair,) where the effect is one number
    """

    name: str
    values: NDArray[np.float64]

    @property
    def effect(self) -> str:
        """Name of the variable that holds the effects."""
        return EFFECTS[self.name][0]

    @property
    def by_topic(self) -> bool:
        """Whether each topic has effects of its own."""
        return EFFECTS[self.name][1]

    def times(self, effect: NDArray[np.float64]) -> NDArray[np.float64]:
        """What the block adds (pair, draw) under draws of its effect (draw, column) or (draw,)."""
        if self.values.ndim == 1:
            return np.outer(self.values, effect)
        return self.values @ effect.T


def blocks(
    scale: RankScale,
    log_rank: NDArray[np.float64],
    component: NDArray[np.float64],
    *,
    n_topic_components: int,
    topic_effects: bool,
) -> list[Block]:
    """Blocks of pairs with these log ranks (pair,) and components (pair, component).

    Intercept and slope come first, of every topic or of all together.

    Examples
    --------
    >>> scale = RankScale(9, 0.0, 1.0, 0.0, *np.zeros((2, 1)), np.eye(1), np.full(1, 0.5))
    >>> found = blocks(
    ...     scale, np.ones(2), np.ones((2, 1)), n_topic_components=1, topic_effects=True
    ... )
    >>> [(block.effect, block.values[0].tolist()) for block in found]
    [('topic_effect', [1.0, 1.0]), ('component_effect', [1.0]), ('curvature', 0.0),
     ('topic_component_effect', [2.0])]
    """
    own = np.column_stack([np.ones(log_rank.size), log_rank])
    found = [Block("topic" if topic_effects else "population", own)]
    if component.shape[1]:
        found.append(Block("component", component))
    found.append(Block("curve", scale.curve(log_rank)))
    if n_topic_components:
        scaled = component[:, :n_topic_components] / scale.first_sd
        found.append(Block("topic_component", scaled))
    return found
