"""Judged documents whose log odds are so open that their judgments are walls to a path.

What a judgment says is flat where the log odds agree with it, and falls like them where they do
not. In the units of a normal approximation that gives them a standard deviation s, this bend is
4 / s wide, and the steps of a Hamiltonian path that shall not end there have to be shorter. With s
in the hundreds, as of a document unlike all others, paths are a hundred times as expensive. So the
pull of the documents with the most open log odds has short steps of its own inside each long step;
in them only these log odds have to be known.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayeseval.models.relevance.regression import Arrow, Regression

Effects = tuple[NDArray, NDArray]  # common (column, draw), and topics' (topic, own column, draw)

OPEN = 5.0  # standard deviation of the log odds, and more
MOST = 16


class Walls(NamedTuple):
    """Rows of a regression."""

    relevance: NDArray[np.float64]  # (wall,)
    topic: NDArray[np.int64]  # (wall,)
    common: NDArray[np.float64]  # (wall, column)
    own: NDArray[np.float64]  # (wall, own column)

    @classmethod
    def of(cls, regression: Regression, arrow: Arrow) -> "Walls":
        """Documents with the largest standard deviations, those of steps between grades aside."""
        every = np.arange(len(regression.number))
        columns = regression.common.transpose(0, 2, 1), regression.own.transpose(0, 2, 1)
        shared, alone = arrow.noise_of_rows(every, *columns)
        variance = (shared**2).sum(axis=1) + (alone**2).sum(axis=1)
        variance[regression.steps.topic, regression.steps.row] = 0.0
        topic, row = np.unravel_index(np.argsort(-variance, axis=None)[:MOST], variance.shape)
        wide = variance[topic, row] > OPEN**2
        at = topic[wide], row[wide]
        return cls(regression.relevance[at], at[0], regression.common[at], regression.own[at])

    def logit(self, effects: Effects) -> NDArray[np.float64]:
        """Log odds (wall, draw)."""
        common, own = effects
        return self.common @ common + np.einsum("wk,wkc->wc", self.own, own[self.topic])


class Bounces:
    """Steps in which walls alone pull, along a path in the units of the arrow's factor.

    With A the columns of the walls in these units, log odds z change with the speed v like
    :math:`A v`, and walls that pull by f change it by :math:`A' f`: all that the short steps need
    is :math:`A A'`. The long and short steps together keep volumes and can be walked backwards.

    The effects are multiplied by ``scale``, (column, draw) and (own column, draw), after the
    factor.

    References
    ----------
    Tuckerman, Berne and Martyna, "Reversible multiple time scale molecular dynamics", Journal of
    Chemical Physics 97 (1992). Neal, "MCMC using Hamiltonian dynamics" (2011), section 5.1.
    """

    def __init__(self, walls: Walls, arrow: Arrow, scale: tuple[NDArray, NDArray]) -> None:
        self.walls = walls
        self.common, self.own = arrow.noise_of_rows(
            walls.topic, walls.common[:, :, None] * scale[0], walls.own[:, :, None] * scale[1]
        )
        same = walls.topic[:, None] == walls.topic
        self._products = np.einsum("wjc,vjc->cwv", self.common, self.common, optimize=True)
        self._products += same * np.einsum("wkc,vkc->cwv", self.own, self.own, optimize=True)

    def passed(self, effects: Effects, speed: Effects, step: float) -> tuple[Effects, Effects]:
        """Speed after a step from the effects, and the mean one on its way."""
        from bayeseval.models.relevance.kernels import bounced

        rise = np.einsum("wjc,jc->wc", self.common, speed[0])
        rise += np.einsum("wkc,wkc->wc", self.own, speed[1][self.walls.topic])
        bend = 0.5 * np.sqrt(np.abs(self._products).sum(axis=2).max(axis=1))  # at its narrowest
        n_steps = np.ceil(step * bend).astype(np.int64)
        logit = self.walls.logit(effects)
        kick, mean = bounced(self.walls.relevance, logit, rise, self._products, step, n_steps)
        return self._pulled(speed, kick), self._pulled(speed, mean)

    def left_out(self, slope: Effects, effects: Effects) -> Effects:
        """Gradient of the energy without what the walls have in it."""
        from scipy.special import expit

        pull = self.walls.relevance[:, None] - expit(self.walls.logit(effects))
        return self._pulled(slope, pull)

    def _pulled(self, speed: Effects, pull: NDArray) -> Effects:
        own = speed[1].copy()
        for topic, part in zip(self.walls.topic, self.own * pull[:, None], strict=True):
            own[topic] += part
        return speed[0] + np.einsum("wjc,wc->jc", self.common, pull), own
