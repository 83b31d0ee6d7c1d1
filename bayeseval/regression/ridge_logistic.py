"""Ridge-regularised logistic regression with effects of topics, solved block by block.

It is our own because it runs over replicates and folds at once, and takes relevance between 0 and
1.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

ROWS = 100_000  # of features that are weighted at once


@dataclass(frozen=True)
class Penalty:
    """Ridge penalties: penalty * coefficient^2 / 2, the inverse of a prior variance."""

    common: NDArray[np.float64]  # (feature,): of the coefficients that all topics share; 0 for none
    # (topic_feature,): of the coefficients that each topic has for itself; above 0
    topic: NDArray[np.float64]


class Coefficients(NamedTuple):
    """Coefficients that all topics share (feature,) and each topic's own (topic, topic_feature)."""

    common: NDArray[np.floating]
    topic: NDArray[np.floating]


class TopicRows(NamedTuple):
    """Training rows: features, features with an effect per topic, the topic of each row."""

    features: NDArray[np.floating]
    topic_features: NDArray[np.floating]
    topic: NDArray[np.integer]
    n_topics: int

    def at(self, position: Any) -> "TopicRows":
        """Rows at some positions."""
        own = self.topic_features[position]
        return TopicRows(self.features[position], own, self.topic[position], self.n_topics)


def ridge_logistic(
    rows: TopicRows, relevance: NDArray[np.float64], penalty: Penalty, position: Any = None
) -> Coefficients:
    r"""Coefficients that maximise the penalised likelihood, by Newton's method.

    .. math:: \mathrm{logit} P(rel_i) = x_i' \beta + z_i' \gamma_{t(i)}

    with penalties :math:`\lambda_j \beta_j^2 / 2` and :math:`\mu_k \gamma_{tk}^2 / 2`. The Hessian
    is block diagonal in the topics' :math:`\gamma_t`, which are eliminated (Schur complement), so
    that the cost grows linearly with the number of topics. Steps are halved until the penalised
    likelihood does not fall. Relevance (row,) may lie between 0 and 1, and is that of the rows at
    some positions (row,) where these are given.
    """
    from scipy.special import expit

    if position is not None and relevance.size <= ROWS:
        rows, position = rows.at(position), None
    blocks = [slice(first, first + ROWS) for first in range(0, max(relevance.size, 1), ROWS)]
    places = blocks if position is None else [position[block] for block in blocks]
    effects = [_effects_by_row(rows.at(place)) for place in places]

    def logit_of(coefficients: Coefficients) -> NDArray[np.float64]:
        return np.concatenate([logits(rows.at(place), coefficients) for place in places])

    coefficients = Coefficients(
        np.zeros(rows.features.shape[1]), np.zeros((rows.n_topics, rows.topic_features.shape[1]))
    )
    logit = logit_of(coefficients)
    loss = _loss(logit, relevance, coefficients, penalty)
    for _ in range(100):
        residual, weight = relevance - expit(logit), expit(logit) * expit(-logit)
        parts = (
            (rows.at(place), by_row, residual[block], weight[block])
            for place, by_row, block in zip(places, effects, blocks, strict=True)
        )
        step, decrement = _newton_step(parts, coefficients, penalty)
        for size in 0.5 ** np.arange(30):
            tried = Coefficients(*(c + size * s for c, s in zip(coefficients, step, strict=True)))
            tried_logit = logit_of(tried)
            tried_loss = _loss(tried_logit, relevance, tried, penalty)
            if tried_loss <= loss + 1e-12 * abs(loss):
                break
        coefficients, logit, loss = tried, tried_logit, tried_loss
        if decrement < 1e-6:  # Newton converges quadratically: the next would be about 1e-12
            break
    return coefficients


def logits(rows: TopicRows, coefficients: Coefficients) -> NDArray[np.float64]:
    """Linear predictor of every row (row,)."""
    own = np.einsum("rk,rk->r", rows.topic_features, coefficients.topic[rows.topic])
    return rows.features @ coefficients.common + own


def _loss(logit, relevance, coefficients, penalty) -> float:
    """Penalised negative log likelihood."""
    likelihood = np.maximum(logit, 0.0) + np.log1p(np.exp(-np.abs(logit))) - relevance * logit
    common = penalty.common @ coefficients.common**2
    own = (coefficients.topic**2 @ penalty.topic).sum()
    return float(likelihood.sum() + 0.5 * (common + own))


def _newton_step(
    parts: Iterable[tuple], coefficients: Coefficients, penalty: Penalty
) -> tuple[Coefficients, float]:
    """Newton step, and its decrement: twice the fall of the loss it promises.

    A part has some rows, their effects (:func:`_effects_by_row`), residuals and weights.
    """
    from scipy.linalg import cho_factor, cho_solve
    from scipy.sparse import csr_array

    sums = [0.0] * 5
    for rows, effects, residual, weight in parts:
        row = effects.indices
        weighted = csr_array((effects.data * weight[row], row, effects.indptr), effects.shape)
        scaled = rows.features * np.sqrt(weight)[:, None]
        terms = (
            rows.features.T @ residual,
            effects @ residual,
            weighted @ rows.features,
            weighted @ rows.topic_features,
            scaled.T @ scaled,  # numpy takes half the work here
        )
        sums = [before + term for before, term in zip(sums, terms, strict=True)]
    gradient, own_gradient, cross, by_topic, schur = map(np.asarray, sums)
    gradient = gradient - penalty.common * coefficients.common
    own_gradient = own_gradient - (penalty.topic * coefficients.topic).ravel()
    by_topic = by_topic.reshape(*coefficients.topic.shape, -1)
    inverse = np.linalg.inv(by_topic + np.diag(penalty.topic))

    def eliminated(right):
        by_topic = right.reshape(*coefficients.topic.shape, -1)
        return (inverse @ by_topic).reshape(right.shape)

    schur = schur - cross.T @ eliminated(cross)
    schur[np.diag_indices_from(schur)] += penalty.common
    reduced = gradient - cross.T @ eliminated(own_gradient)
    common_step = cho_solve(cho_factor(schur, check_finite=False), reduced, check_finite=False)
    own_step = eliminated(own_gradient - cross @ common_step)
    decrement = float(gradient @ common_step + own_gradient @ own_step)
    return Coefficients(common_step, own_step.reshape(coefficients.topic.shape)), decrement


def _effects_by_row(rows):
    """Sparse (topic x topic_feature, row) matrix of the topics' own features."""
    from scipy.sparse import csr_array

    n_rows, n_own = rows.topic_features.shape
    column = rows.topic[:, None].astype(np.int64) * n_own + np.arange(n_own)
    by_row = csr_array(
        (rows.topic_features.ravel(), column.ravel(), np.arange(n_rows + 1) * n_own),
        (n_rows, rows.n_topics * n_own),
    )
    return by_row.T.tocsr()
