"""Steps from one grade to the next, as rows of the approximation's regression."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

DEEPEST = 1.0  # scaled log of the fused rank: rank 300 or so


class Steps(NamedTuple):
    r"""Rows of the documents that reached a grade from which another can be reached.

    Such a row is relevant where its document reached the next grade. Its log odds are those of
    effects of its own, :math:`a_k + u_{tk} + \gamma_k \min(x_d, 1)`, and a share of what its
    document's row has,

    .. math:: a_k + u_{tk} + \gamma_k \min(x_d, 1) + \lambda_k \log(1 + e^{\eta_d})

    Parameters
    ----------
    topic, row : int array (step row,)
        Where the rows stand in the regression.
    parent : int array (step row,)
        Row of the same document's linear predictor, in the same topic.
    step : int array (step row,)
        0, 1, ...: from the lowest grade above 0, from the next.
    slopes : slice
        Columns of the :math:`\lambda` among the common ones, which have no values in any row.
    """

    topic: NDArray[np.int64]
    row: NDArray[np.int64]
    parent: NDArray[np.int64]
    step: NDArray[np.int64]
    slopes: slice

    @classmethod
    def none(cls) -> "Steps":
        """Of a model of relevance, which has one grade above 0."""
        nothing = np.zeros(0, dtype=np.int64)
        return cls(nothing, nothing, nothing, nothing, slice(0, 0))

    def bent(self, linear: NDArray, common: NDArray) -> NDArray[np.float64]:
        """Log odds (topic, row, draw) of what columns times effects are."""
        if not self.row.size:
            return linear
        logit = linear.copy()
        above = np.logaddexp(0.0, linear[self.topic, self.parent])
        logit[self.topic, self.row] += common[self.slopes][self.step] * above
        return logit

    def passed_on(self, left: NDArray, logit: NDArray, common: NDArray) -> NDArray[np.float64]:
        """Gradient (step, draw) in the slopes of a log likelihood whose one in ``logit`` is left.

        ``left`` (topic, row, draw) is changed in place to that in the linear predictors.
        """
        from scipy.special import expit

        slopes = common[self.slopes]
        rise = np.zeros_like(slopes)
        for step in range(len(slopes)):
            own = self.step == step
            topic, row, parent = self.topic[own], self.row[own], self.parent[own]
            above, found = logit[topic, parent], left[topic, row]
            rise[step] = (found * np.logaddexp(0.0, above)).sum(axis=0)
            left[topic, parent] += slopes[step] * expit(above) * found
        return rise

    def tangent(
        self, columns: tuple[NDArray, NDArray], logit: NDArray, common: NDArray
    ) -> tuple[NDArray, NDArray]:
        """Common and own columns (topic, row, column) by which log odds change near ``logit``.

        ``logit`` is (topic, row), the effects ``common`` are (column,).
        """
        from scipy.special import expit

        if not self.row.size:
            return columns
        above = logit[self.topic, self.parent]
        slope = common[self.slopes][self.step] * expit(above)
        shared, apart = (values.copy() for values in columns)
        for values in (shared, apart):
            values[self.topic, self.row] += slope[:, None] * values[self.topic, self.parent]
        shared[self.topic, self.row, self.slopes.start + self.step] = np.logaddexp(0.0, above)
        return shared, apart


def step_rank(log_rank: NDArray[np.float64]) -> NDArray[np.float64]:
    """What of the scaled log of the fused rank the steps go with: it levels off.

    Examples
    --------
    >>> step_rank(np.array([-2.0, 0.5, 1.0, 3.0])).tolist()
    [-2.0, 0.5, 1.0, 1.0]
    """
    return np.minimum(log_rank, DEEPEST)


def step_rows(grade: NDArray[np.integer], n_steps: int) -> tuple[NDArray, NDArray, NDArray]:
    """Documents that reached a grade from which another can be reached, once for each.

    Of each the position of its document, the step, and whether it was taken; ``n_steps`` are from
    grades 1, 2, ... on.

    Examples
    --------
    >>> document, step, taken = step_rows(np.array([0, 1, 2, 3]), 2)
    >>> document.tolist(), step.tolist(), taken.tolist()
    ([1, 2, 3, 2, 3], [0, 0, 0, 1, 1], [0, 1, 1, 0, 1])
    """
    at = [np.flatnonzero(grade > step) for step in range(n_steps)]
    document = np.concatenate([np.zeros(0, dtype=np.int64), *at])
    step = np.repeat(np.arange(n_steps), [one.size for one in at])
    return document, step, (grade[document] > step + 1).astype(np.int64)
