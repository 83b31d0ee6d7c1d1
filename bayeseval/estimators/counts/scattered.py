"""Counts where systems rank most relevant documents well and the others not at all."""

import numpy as np
from numpy.typing import NDArray

from bayeseval.estimators.counts.cells import Counts
from bayeseval.estimators.counts.model import CountFit

START = np.log(0.1 / 0.9)
MEAN, SD = -3.0, 1.5  # logit of the share of relevant documents that are scattered
FARTHEST = 5.0  # logit upwards, twice that downwards; a line search may try values far beyond


class ScatteredFit(CountFit):
    r"""Fit of the counts of topics of whose relevant documents a share is scattered.

    Beside what the curve describes there are, in proportion to it, relevant documents that are as
    likely in one place as in another:

    .. math:: 1 - P_{tc} = (1 - p_{tc}) \, e^{-b_t}, \qquad
              b_t = \frac{\varphi}{1 - \varphi} \, \frac{\sum_c N_{tc} p_{tc}}{\sum_c N_{tc}}

    with p as in :class:`.model.CountFit` and N the number of documents of a cell; phi is the share
    of the scattered while these are few among the documents of the curve. A curve with a
    level and a slope falls as steeply below a cliff as it does there, so that without such a share
    topics where systems find a set of documents exactly, and nothing beyond it, get far too few.
    The logit of the share phi is one more hyperparameter.

    It is looked for only where the counts are likelier with a tenth scattered and all else as it
    was; else the fit has not converged.

    ``size`` (cell,) is the number of documents, ``near`` the fit of the same counts without
    scattered ones, ``shows_none`` as in that fit.
    """

    def __init__(
        self,
        counts: Counts,
        size: NDArray[np.float64],
        near: CountFit,
        *,
        shows_none: NDArray[np.bool_] | None = None,
    ) -> None:
        self._part = size / np.maximum(_of_topic(size, counts.start), 1.0)
        self._near = near
        super().__init__(counts, shows_none=shows_none)

    def _begin(self) -> None:
        near = self._near
        start = np.append(near.hyper, START)
        unit = np.eye(start.size)
        unit[: near.n_hyper, : near.n_hyper] = near._root
        if -self._loss(start)[0] > near.log_density:
            self._search(start, unit)
        else:
            self.hyper, self.log_density, self.converged = start, -np.inf, False

    @property
    def _moving(self) -> NDArray[np.int64]:
        return np.append(np.arange(self.n_hyper), self.hyper.size - 1)

    def _weight(self, hyper) -> NDArray[np.float64]:
        return np.exp(np.clip(hyper[-1], -2.0 * FARTHEST, FARTHEST)) * self._part

    def _loss(self, hyper) -> tuple[float, NDArray[np.float64]]:
        loss, gradient = super()._loss(hyper)
        pull = (hyper[-1] - MEAN) / SD
        return loss + 0.5 * pull * pull, np.append(gradient, pull / SD - self._by_weight)

    def _probability(self, effect: NDArray[np.float64]) -> NDArray[np.float64]:
        p = super()._probability(effect)
        rate = _of_topic(self._weight(self.hyper) * p, self._counts.start)
        return 1.0 - (1.0 - p) * np.exp(-rate)


def _of_topic(value: NDArray[np.float64], start: NDArray[np.int64]) -> NDArray[np.float64]:
    """Sum over the cells of its topic, for every cell.

    Examples
    --------
    >>> _of_topic(np.array([1.0, 2.0, 4.0]), np.array([0, 0, 2, 3, 3]))
    array([3., 3., 4.])
    """
    topic = np.repeat(np.arange(start.size - 1), np.diff(start))
    return np.bincount(topic, weights=value, minlength=start.size)[topic]
