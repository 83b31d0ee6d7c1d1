"""A model of documents as one logistic regression: common effects, and effects of each topic.

Given the effects that all topics share, those of different topics are independent. So the curvature
of the posterior is an arrow: a block for each topic, and a border that is as wide as the common
effects are many. A factor of it costs as much as that of the border alone. Steps from one grade to
the next are further rows.
"""

from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayeseval.models.relevance.blocks import EFFECTS


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

    def passed_on(self, residual: NDArray, logit: NDArray, common: NDArray) -> NDArray[np.float64]:
        """Gradient (step, draw) in the slopes of a log likelihood whose one in ``logit`` is left.

        ``left`` (topic, row, draw) is changed in place to that in the linear predictors.
        """
        from scipy.special import expit

        slopes = common[self.slopes]
        rise = np.zeros_like(slopes)
        for step in range(len(slopes)):
            own = self.step == step
            topic, row, parent = self.topic[own], self.row[own], self.parent[own]
            above, own_residual = logit[topic, parent], residual[topic, row]
            rise[step] = (own_residual * np.logaddexp(0.0, above)).sum(axis=0)
            residual[topic, parent] += slopes[step] * expit(above) * own_residual
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
    return np.minimum(log_rank, 1.0)  # from rank 300 or so on


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
    step = np.repeat(np.arange(n_steps), [reached.size for reached in at])
    return document, step, (grade[document] > step + 1).astype(np.int64)


class Regression(NamedTuple):
    """Judged pairs topic by topic, in arrays with room for as many as any topic has."""

    relevance: NDArray[np.float64]  # (topic, row)
    # (topic,): judged pairs of each topic, in its first rows; the others are room that is left, 0
    number: NDArray[np.int64]
    # (topic, row, column): columns whose effects all topics share: population, curvature, tail,
    # components, curves of runs, agreement
    common: NDArray[np.float64]
    # (topic, row, own column): columns whose effects differ by topic: intercept and slope,
    # components, shape
    own: NDArray[np.float64]
    # columns of each block
    common_spans: dict[str, slice]
    own_spans: dict[str, slice]
    # of a model of grades, whose documents have a row for every grade they reached
    steps: Steps = Steps.none()

    @classmethod
    def of(
        cls,
        data: Mapping[str, NDArray],
        names: Collection[str],
        grade: NDArray,
        n_topics: int,
        n_steps: int = 0,
    ) -> "Regression":
        """Regression of the data of a model: ``NAME_value`` of its blocks, and ``judged_topic``.

        ``grade`` (judged_pair,) is what was judged, 0 to ``n_steps + 1``.
        """
        held = {
            name: data[f"{name}_value"].reshape(grade.size, -1) for name in EFFECTS if name in names
        }
        by_topic, shared = (
            {name: values for name, values in held.items() if EFFECTS[name].by_topic == own}
            for own in (True, False)
        )
        # intercept and slope of all topics together stand beside those of each
        shared = {"population": held["topic"]} | shared
        document, step, taken = step_rows(grade, n_steps)
        topic = np.concatenate([data["judged_topic"], data["judged_topic"][document]])
        count = np.bincount(topic, minlength=n_topics)
        order = np.argsort(topic, kind="stable")
        place = np.empty(topic.size, dtype=np.int64)
        place[order] = np.arange(topic.size) - np.repeat(np.cumsum(count) - count, count)
        steps = Steps.none()
        if n_steps:
            taking = np.concatenate([np.full(grade.size, -1), step])[:, None] == np.arange(n_steps)
            shared |= {"step_intercept": taking, "step_slope": np.zeros_like(taking)}
            log_rank = held["topic"][:, 1:]
            rank = step_rank(np.concatenate([log_rank, log_rank[document]]))
            shared["step_log_rank"] = taking * rank
            by_topic["topic_step"] = taking
            own = slice(grade.size, None)
            slopes = _spans(shared)["step_slope"]
            steps = Steps(topic[own], place[own], place[document], step, slopes)

        def spread(values: NDArray) -> NDArray[np.float64]:
            room = np.zeros((n_topics, int(count.max()), *values.shape[1:]))
            room[topic, place] = values
            return room

        return cls(
            spread(np.concatenate([grade > 0, taken])),
            count,
            spread(_side_by_side(shared, topic.size)),
            spread(_side_by_side(by_topic, topic.size)),
            _spans(shared),
            _spans(by_topic),
            steps,
        )

    def linear(self, common: NDArray, own: NDArray) -> NDArray[np.float64]:
        """Columns times effects (topic, row, draw): (column, draw) and (topic, column, draw)."""
        return self.common @ common + self.own @ own

    def logit(self, common: NDArray, own: NDArray) -> NDArray[np.float64]:
        """Log odds (topic, row, draw) of effects (column, draw) and (topic, column, draw)."""
        return self.steps.bent(self.linear(common, own), common)

    def likelihood(self, logit: NDArray) -> NDArray[np.float64]:
        """Log likelihood (draw,)."""
        return self._residuals(logit)[0]

    def slope(self, logit: NDArray, common: NDArray) -> tuple[NDArray, NDArray, NDArray]:
        """Log likelihood (draw,), and its gradient in the common and in the topics' effects.

        ``logit`` are the log odds of effects of which the ``common`` ones are (column, draw).
        """
        likelihood, residual = self._residuals(logit)
        rise_of_slopes = self.steps.passed_on(residual, logit, common)
        n_columns = self.common.shape[2]
        rise = self.common.reshape(-1, n_columns).T @ residual.reshape(-1, residual.shape[2])
        rise[self.steps.slopes] = rise_of_slopes
        return likelihood, rise, self.own.transpose(0, 2, 1) @ residual

    def _residuals(self, logit: NDArray) -> tuple[NDArray, NDArray]:
        """Log likelihood (draw,), and relevance less its probability (topic, row, draw)."""
        from bayeseval.models.relevance.kernels import residuals

        small = np.abs(logit)
        np.exp(np.negative(small, out=small), out=small)
        return residuals(self.relevance, self.number, logit, small), small


class Arrow:
    """Factor of the curvature of a posterior at some effects.

    It is that of log odds which change with the columns of :meth:`Steps.tangent`: what those of a
    grade bend by themselves is left out. With L its Cholesky factor, topics first, ``effects``
    gives :math:`L^{-T} w` of noise w and ``noise`` gives :math:`L^{-1} g` of a gradient g.

    ``logit`` (topic, row) are log odds and ``effects`` (column,) the common ones that they are of;
    ``precision`` (column,) and ``own_precision`` (own column, own column) are those of the priors.
    """

    def __init__(
        self,
        regression: Regression,
        logit: NDArray,
        effects: NDArray,
        precision: NDArray,
        own_precision: NDArray,
    ) -> None:
        from scipy.special import expit

        share = expit(logit)
        known = np.arange(logit.shape[1]) < regression.number[:, None]
        weight = (share * (1.0 - share) * known)[:, :, None]
        common, apart = regression.steps.tangent(
            (regression.common, regression.own), logit, effects
        )
        own = apart.transpose(0, 2, 1)
        weighted = common * weight
        n_columns = len(precision)
        border = weighted.reshape(-1, n_columns).T @ common.reshape(-1, n_columns)
        block = own @ (apart * weight) + own_precision
        self._own = np.linalg.inv(np.linalg.cholesky(block))  # (topic, column, column)
        self._arm = self._own @ (own @ weighted)
        arm = self._arm.reshape(-1, n_columns)
        remainder = border + np.diag(precision) - arm.T @ arm
        self._common = np.linalg.inv(np.linalg.cholesky(remainder))

    def effects(self, common: NDArray, own: NDArray) -> tuple[NDArray, NDArray]:
        """Common and topics' effects of noise (column, draw) and (topic, own column, draw)."""
        shared = self._common.T @ common
        return shared, self._own.transpose(0, 2, 1) @ (own - self._arm @ shared)

    def noise(self, common: NDArray, own: NDArray) -> tuple[NDArray, NDArray]:
        """Gradient in the noise, of one in the effects."""
        alone = self._own @ own
        arm = self._arm.reshape(-1, len(common))
        return self._common @ (common - arm.T @ alone.reshape(-1, alone.shape[2])), alone

    def solved(self, common: NDArray, own: NDArray) -> tuple[NDArray, NDArray]:
        """Step of Newton's method for a gradient."""
        return self.effects(*self.noise(common, own))

    def covariances(self) -> tuple[NDArray, NDArray]:
        """Covariance of the common effects, and of each topic's (topic, column, column)."""
        shared = self._common.T @ self._common
        back = self._own.transpose(0, 2, 1)
        arm = back @ self._arm
        return shared, back @ self._own + arm @ shared @ arm.transpose(0, 2, 1)


def _side_by_side(parts: dict[str, Any], n_rows: int) -> NDArray[np.float64]:
    """Columns of all parts (row, column); rows that a part lacks are 0."""
    room = [np.zeros((n_rows, 0))]
    room += [np.pad(values, [(0, n_rows - len(values)), (0, 0)]) for values in parts.values()]
    return np.column_stack(room)


def _spans(parts: dict[str, Any]) -> dict[str, slice]:
    end = np.cumsum([values.shape[1] for values in parts.values()]).tolist()
    start = [0, *end]
    return {name: slice(first, last) for name, first, last in zip(parts, start, end, strict=False)}
