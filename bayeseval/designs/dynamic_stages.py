"""The stages of a dynamic sample: strata cut from a ranking that earlier stages taught."""

from dataclasses import dataclass

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from bayeseval.designs.dynamic_model import RankedFrame, predicted_logit, ranked_frame
from bayeseval.designs.strata import allocated, exponential_sizes
from bayeseval.frame.rankings import Rankings

STAGE_STREAM = 2


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
class StagePlan:
    """What is fixed before the first draw: the frame, and every stratum's size, draw and stage.

    Parameters
    ----------
    frame : RankedFrame
    size, drawn, topic, stage : int array (stratum_id,)
        Documents of the stratum, how many of them are drawn, its topic and its stage; topic by
        topic, from the top down.
    aim : str
        What the order of documents within a topic is good for, a key of ``AIMS``.
    prior : float
        Probability of relevance predicted in the first stage.
    """

    frame: RankedFrame
    size: NDArray[np.int64]
    drawn: NDArray[np.int64]
    topic: NDArray[np.int32]
    stage: NDArray[np.int32]
    aim: str
    prior: float


@dataclass(frozen=True, eq=False)
class StagedSample:
    """A sample as far as its stages have come, over the frame pairs.

    Parameters
    ----------
    stratum : int32 array (frame_pair,)
        -1 where the pair has no stratum yet.
    selected : bool array (frame_pair,)
    predicted : float array (frame_pair,)
        Probability of relevance predicted before the pair's stage was drawn, NaN without a stratum.
    """

    stratum: NDArray[np.int32]
    selected: NDArray[np.bool_]
    predicted: NDArray[np.float64]


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


def last_stage(plan: StagePlan) -> int:
    """The last stage that has a stratum: small frames have fewer strata than were asked for."""
    return int(plan.stage.max())


def empty_sample(plan: StagePlan) -> StagedSample:
    """The sample before the first stage."""
    n_pairs = plan.frame.pair.size
    return StagedSample(
        np.full(n_pairs, -1, dtype=np.int32),
        np.zeros(n_pairs, dtype=bool),
        np.full(n_pairs, np.nan),
    )


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
