"""Where the judgments of topics lie, and what columns add to a line through them."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayeseval.models.relevance.judged import Predictors
from bayeseval.regression.ridge_logistic import Penalty, TopicRows, logits, ridge_logistic
from bayeseval.rounding import ratio

PENALTY = 0.25  # of a slope and of topics' intercepts: standard deviation 2


class JudgedLines(NamedTuple):
    """Middles of the judged log ranks, and regressions of columns on intercept and log rank.

    A judged pair weighs what its judgment tells (:func:`information`). These numbers choose the
    sampler's coordinates, and no choice of them changes the model.
    """

    middle: float  # of all topics
    # (topic,): of each; the middle of all where a topic has no judgment
    middles: NDArray[np.float64]
    # by effect (predictor, column), or (predictor,): regressions of the columns of shared effects
    of_block: dict[str, NDArray[np.float64]]

    @classmethod
    def of(cls, predictors: Predictors, weight: NDArray[np.float64]) -> "JudgedLines":
        """Middles and regressions of the judged pairs of a model with topic effects."""
        line = predictors.blocks[0].values
        weighted = line * weight[:, None]
        middle = float(weighted[:, 1].sum() / weight.sum())
        n_topics = predictors.frame.collection.sizes["topic"]
        total, rank = (
            np.bincount(predictors.topic, weights=part, minlength=n_topics)
            for part in (weight, weighted[:, 1])
        )
        middles = ratio(rank, total, middle)
        inverse = np.linalg.inv(weighted.T @ line)
        of_block = {
            block.effect: inverse @ (weighted.T @ block.values)
            for block in predictors.blocks
            if not block.by_topic
        }
        return cls(middle, middles, of_block)


def information(predictors: Predictors, relevance: NDArray[np.bool_]) -> NDArray[np.float64]:
    """What each judgment (judged_pair,) tells of a topic's level: p (1 - p).

    That is about its weight in the likelihood, with p from a regression on topics and log rank
    alone. A hundred judgments of which four are relevant tell less than twenty with ten.
    """
    line = predictors.blocks[0].values  # intercept and log rank
    topic = predictors.topic
    rows = TopicRows(line[:, 1:], line[:, :1], topic, int(topic.max()) + 1)
    penalty = Penalty(np.full(1, PENALTY), np.full(1, PENALTY))
    logit = logits(rows, ridge_logistic(rows, relevance.astype(float), penalty))
    return 0.25 / np.cosh(0.5 * logit) ** 2
