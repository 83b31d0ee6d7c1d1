"""The ranking that a stage of dynamic sampling learns from the stages before it."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bayeseval.collection.labels import row_of_pair
from bayeseval.frame.features import discount, log_ranks
from bayeseval.regression.ridge_logistic import Penalty, TopicRows, logits, ridge_logistic

RANK_PENALTY = (0.0, 0.1, 1.0)  # intercept, log of the fused rank, its square
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
        1, x, which is the log of the fused rank less its mean, x squared, then the discounted rank
        in every run.
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
    row = row_of_pair(pair, pair_topic.size)
    fused_rank = np.zeros(pair.size, dtype=np.int64)
    for pairs in order:
        fused_rank[row[pairs]] = np.arange(1, pairs.size + 1)
    worth = discount(ranking.shape[-1])[1:]
    features = np.zeros((pair.size, 3 + len(ranking)), dtype=np.float32)
    features[:, :3] = log_ranks(fused_rank)
    for run, places in enumerate(row[ranking]):
        topic, rank = np.nonzero(places >= 0)
        features[places[topic, rank], 3 + run] = worth[rank]
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
    from threadpoolctl import threadpool_limits

    n_relevant = int(relevant.sum())
    if n_relevant in (0, relevant.size):
        share = (n_relevant + 0.5) / (relevant.size + 1.0)
        return np.full(frame.pair.size, np.log(share / (1.0 - share)))
    n_runs = frame.features.shape[1] - len(RANK_PENALTY)
    common = np.concatenate([RANK_PENALTY, np.full(n_runs, RUN_PENALTY)])
    penalty = Penalty(common, np.array(TOPIC_PENALTY))
    known = frame.features[judged].astype(float)
    with threadpool_limits(limits=1, user_api="blas"):  # a small fit, slower on many threads
        rows = TopicRows(known, known[:, :2], frame.topic[judged], frame.n_topics)
        fit = ridge_logistic(rows, relevant.astype(float), penalty)
        every = TopicRows(frame.features, frame.features[:, :2], frame.topic, frame.n_topics)
        return logits(every, fit._replace(common=fit.common.astype(np.float32)))
