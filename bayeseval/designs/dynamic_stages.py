"""The stages of a dynamic sample: strata cut from a ranking that earlier stages taught."""

from dataclasses import dataclass

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from bayeseval.collection.choices import check_seed
from bayeseval.collection.labels import row_of_pair
from bayeseval.designs.strata import allocated, exponential_sizes
from bayeseval.frame.features import discount, log_ranks
from bayeseval.frame.rankings import Rankings
from bayeseval.processors import one_blas_thread
from bayeseval.regression.ridge_logistic import Penalty, TopicRows, logits, ridge_logistic

STAGE_STREAM = 2
RANK_PENALTY = (0.0, 0.1, 1.0)  # intercept, log of the fused rank, its square
RUN_PENALTY = 1.0
TOPIC_PENALTY = (1.0, 3.0)  # intercept of a topic, its slope on the log of the fused rank


def _log_expit(logit: np.ndarray) -> np.ndarray:
    """Log of the probability that a logit stands for."""
    from scipy.special import log_expit  # takes longer to import than all of this room

    return log_expit(logit)


# log of the size of a document, from the log of its fused rank and the logit of its relevance
AIMS = {
    "dyn": lambda log_rank, logit: 0.5 * (_log_expit(logit) + _log_expit(-logit)) - log_rank,
    "stat": lambda log_rank, logit: 0.5 * _log_expit(logit) - log_rank,
    "relevant": lambda log_rank, logit: logit,
}


@dataclass(frozen=True, eq=False)
class RankedFrame:
    """The frame (frame_pair,) of a collection with the features that a stage learns from."""

    pair: NDArray[np.int64]  # positions in the collection, ascending
    topic: NDArray[np.int64]
    fused_rank: NDArray[np.int64]  # from 1 among the topic's frame, by reciprocal-rank fusion
    # (frame_pair, feature): 1, x, which is the log of the fused rank less its mean, x squared, then
    # the discounted rank in every run
    features: NDArray[np.float32]
    n_topics: int


@dataclass(frozen=True, eq=False)
class StagePlan:
    """What is fixed before the first draw: the frame and its strata (stratum_id,).

    Strata come topic by topic, from the top down.
    """

    frame: RankedFrame
    size: NDArray[np.int64]
    drawn: NDArray[np.int64]  # how many of the documents
    topic: NDArray[np.int32]
    stage: NDArray[np.int32]
    aim: str  # what the order of documents within a topic is good for, a key of ``AIMS``
    prior: float  # probability of relevance predicted in the first stage

    @property
    def n_stages(self) -> int:
        """Stages that have a stratum: small frames have fewer strata than were asked for."""
        return int(self.stage.max()) + 1


@dataclass(frozen=True, eq=False)
class StagedSample:
    """A sample as far as its stages have come, over the frame pairs (frame_pair,)."""

    stratum: NDArray[np.int32]  # -1 where the pair has none yet
    selected: NDArray[np.bool_]
    predicted: NDArray[np.float64]  # relevance, before the pair's stage was drawn; NaN until then


def stage_plan(collection: xr.DataTree, order: list, runs: np.ndarray, options: dict) -> StagePlan:
    """Plan of a frame in fused order: exponential strata, dealt into stages from the top down."""
    budget, n_strata = options["budget"], options["n_strata"]
    sizes = [
        exponential_sizes(pairs.size, n_strata, max(1, -(-budget // n_strata))) for pairs in order
    ]
    numbers = np.concatenate([np.arange(each.size) for each in sizes])
    ranking = Rankings.of(collection, runs).pair
    return StagePlan(
        ranked_frame(order, ranking, collection["pair_topic"].to_numpy()),
        np.concatenate(sizes),
        np.concatenate([allocated(each, budget) for each in sizes]),
        np.repeat(np.arange(len(order)), [each.size for each in sizes]).astype(np.int32),
        (numbers * options["n_stages"] // n_strata).astype(np.int32),
        options["aim"],
        options["prior"],
    )


def empty_sample(plan: StagePlan) -> StagedSample:
    """The sample before the first stage."""
    n_pairs = plan.frame.pair.size
    return StagedSample(
        np.full(n_pairs, -1, dtype=np.int32),
        np.zeros(n_pairs, dtype=bool),
        np.full(n_pairs, np.nan),
    )


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
    n_relevant = int(relevant.sum())
    if n_relevant in (0, relevant.size):
        share = (n_relevant + 0.5) / (relevant.size + 1.0)
        return np.full(frame.pair.size, np.log(share / (1.0 - share)))
    n_runs = frame.features.shape[1] - len(RANK_PENALTY)
    common = np.concatenate([RANK_PENALTY, np.full(n_runs, RUN_PENALTY)])
    penalty = Penalty(common, np.array(TOPIC_PENALTY))
    known = frame.features[judged].astype(float)
    with one_blas_thread():
        rows = TopicRows(known, known[:, :2], frame.topic[judged], frame.n_topics)
        fit = ridge_logistic(rows, relevant.astype(float), penalty)
        every = TopicRows(frame.features, frame.features[:, :2], frame.topic, frame.n_topics)
        return logits(every, fit._replace(common=fit.common.astype(np.float32)))


def opened_stage(
    plan: StagePlan, sample: StagedSample, stage: int, relevant: NDArray[np.bool_]
) -> StagedSample:
    """Sample in which the pairs of a stage have their strata; nothing of the stage is drawn yet.

    ``relevant`` (frame_pair,) is looked at where an earlier stage selected, and nowhere else.
    """
    from scipy.special import expit

    frame = plan.frame
    judged = np.flatnonzero(sample.selected)
    size = -np.log(frame.fused_rank)
    prediction = np.full(frame.pair.size, plan.prior)
    if judged.size:
        logit = predicted_logit(frame, judged, relevant[judged])
        size, prediction = AIMS[plan.aim](-size, logit), expit(logit)
    largest_first = np.lexsort((frame.fused_rank, -size, frame.topic))
    left = largest_first[sample.stratum[largest_first] < 0]
    first = np.searchsorted(frame.topic[left], np.arange(frame.n_topics))
    stratum, predicted = sample.stratum.copy(), sample.predicted.copy()
    for topic in range(frame.n_topics):
        numbers = np.flatnonzero((plan.topic == topic) & (plan.stage == stage))
        block = left[first[topic] : first[topic] + plan.size[numbers].sum()]
        stratum[block] = np.repeat(numbers, plan.size[numbers])
        predicted[block] = prediction[block]
    return StagedSample(stratum, sample.selected, predicted)


def drawn_stage(
    plan: StagePlan, sample: StagedSample, stage: int, random_seed: int | None
) -> StagedSample:
    """Sample with the draw of an opened stage, all subsets of a stratum equally likely.

    The random numbers of a stage are the same whether the stages before it were drawn here or not.
    """
    check_seed(random_seed)
    seeds = None if random_seed is None else [random_seed, STAGE_STREAM, stage]
    members = np.flatnonzero(sample.stratum >= 0)
    members = members[plan.stage[sample.stratum[members]] == stage]
    keys = np.random.default_rng(seeds).random(members.size)
    shuffled = members[np.argsort(sample.stratum[members] + keys)]
    number = sample.stratum[shuffled]
    place = np.arange(shuffled.size) - np.searchsorted(number, number)
    selected = sample.selected.copy()
    selected[shuffled[place < plan.drawn[number]]] = True
    return StagedSample(sample.stratum, selected, sample.predicted)
