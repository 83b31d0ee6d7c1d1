"""The ranking that a stage of dynamic sampling learns from the stages before it."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

RANK_PENALTY = (0.1, 1.0)  # log of the fused rank, its square
RUN_PENALTY = 1.0
TOPIC_PENALTY = (1.0, 3.0)  # intercept of a topic, its slope on the log of the fused rank


@dataclass(frozen=True, eq=False)
class RankedFrame:
    """The frame of a collection with the features that a stage learns from.

    Parameters
    ----------
    pair : int array (frame_pair,)
        Positions in the collection, ascending.
    topic : int array (frame_pair,)
        Position of the topic of each.
    fused_rank : int array (frame_pair,)
        Rank from 1 among the topic's frame by reciprocal-rank fusion.
    features : float32 array (frame_pair, feature)
        x, the log of the fused rank less its mean, then its square, then the discounted rank in
        every run; all but x divided by the root of their penalty.
    n_topics : int
    """

    pair: NDArray[np.int64]
    topic: NDArray[np.int64]
    fused_rank: NDArray[np.int64]
    features: NDArray[np.float32]
    n_topics: int


def ranked_frame(order: list, ranking: NDArray[np.int32], pair_topic) -> RankedFrame:
    """Frame and features of rankings (run, topic, rank), from each topic's fused order."""
    pair = np.sort(np.concatenate(order))
    row_of_pair = np.full(pair_topic.size + 1, -1, dtype=np.int64)  # the last serves -1
    row_of_pair[pair] = np.arange(pair.size)
    fused_rank = np.zeros(pair.size, dtype=np.int64)
    for pairs in order:
        fused_rank[row_of_pair[pairs]] = np.arange(1, pairs.size + 1)
    x = np.log(fused_rank)
    x = x - x.mean()
    depth = ranking.shape[-1]
    discount = 1.0 - np.log(np.arange(1, depth + 1)) / np.log1p(depth)
    features = np.zeros((pair.size, 2 + len(ranking)), dtype=np.float32)
    features[:, 0], features[:, 1] = x, x**2 / np.sqrt(RANK_PENALTY[1])
    for run, row in enumerate(row_of_pair[ranking]):
        topic, rank = np.nonzero(row >= 0)
        features[row[topic, rank], 2 + run] = discount[rank] / np.sqrt(RUN_PENALTY)
    topics = pair_topic[pair].astype(np.int64)
    return RankedFrame(pair, topics, fused_rank, features, len(order))


def predicted_logit(
    frame: RankedFrame, judged: NDArray[np.int64], relevant: NDArray[np.bool_]
) -> NDArray[np.float64]:
    r"""Logit of the probability of relevance of every frame pair, from judged rows.

    .. math:: \beta_0 + \beta_1 x + \beta_2 x^2 + \sum_r \rho_r g(rank_r) + \gamma_t + \delta_t x

    by logistic regression over all topics t and runs r, every judged document counted once, with
    ridge penalties (normal priors of standard deviation 1, 3.2 for :math:`\beta_1` and .58 for
    :math:`\delta_t`); g falls with the log of the rank from 1 to 0. Where the judged are all
    relevant or all not: one number everywhere.
    """
    from sklearn.linear_model import LogisticRegression
    from threadpoolctl import threadpool_limits

    n_relevant = int(relevant.sum())
    if n_relevant in (0, relevant.size):
        share = (n_relevant + 0.5) / (relevant.size + 1.0)
        return np.full(frame.pair.size, np.log(share / (1.0 - share)))
    x, scale = frame.features[:, 0], np.sqrt(TOPIC_PENALTY)
    own = np.zeros((judged.size, 2, frame.n_topics))
    own[np.arange(judged.size), 0, frame.topic[judged]] = 1.0 / scale[0]
    own[np.arange(judged.size), 1, frame.topic[judged]] = x[judged] / scale[1]
    rows = np.column_stack([frame.features[judged], own.reshape(judged.size, -1)])
    rows[:, 0] /= np.sqrt(RANK_PENALTY[0])
    with threadpool_limits(limits=1, user_api="blas"):  # a small fit, slower on many threads
        model = LogisticRegression(solver="newton-cholesky", max_iter=200).fit(rows, relevant)
        common, own = np.split(model.coef_[0], [frame.features.shape[1]])
        common[0] /= np.sqrt(RANK_PENALTY[0])
        shared = frame.features @ common.astype(np.float32)
    intercept, slope = own.reshape(2, -1)[:, frame.topic] / scale[:, None]
    return model.intercept_[0] + shared.astype(float) + intercept + slope * x
