"""Where the denominator of a ratio comes from: the topic's own sample, or the counts of all."""

import warnings
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from bayeseval.collection.choices import check_choice
from bayeseval.estimators.counts import CountModel, TopicCounts
from bayeseval.estimators.topic_scores import TopicScore
from bayeseval.frame.frame import Frame

POOR = 0.25  # relative error of a number of relevant documents above which a ratio needs limits


@dataclass(frozen=True)
class RatioOptions:
    """Options of the estimators "stat" and "dyn".

    Parameters
    ----------
    denominator : {"counts", "topic"}
        What AP, nDCG, R@k and Rprec divide by. "topic": the number of relevant documents (or the
        ideal gain) as the topic's own sample estimates it. "counts": that and a posterior from the
        counts of all topics, each by what it knows.

    Raises
    ------
    ValueError
        A value that does not exist.
    """

    denominator: str = "counts"

    def __post_init__(self) -> None:
        check_choice("denominator", self.denominator, ("counts", "topic"))


def count_model(frame: Frame, options: RatioOptions, random_seed: int) -> CountModel | None:
    """Model of the counts of all topics; None where it is not wanted or cannot be had.

    It needs to know how many documents were not sampled, their fused ranks and more than one topic.
    """
    if options.denominator == "topic":
        return None
    sample = frame.sample
    if np.isnan(sample.inclusion_probability).any():
        lacking = "these judgments (prels or probs) list only the sampled documents of the frame"
    elif np.unique(sample.topic[sample.inclusion_probability < 1.0]).size < 2:
        if (sample.inclusion_probability < 1.0).any():
            lacking = "only one topic has documents that were not sampled"
        else:
            return None  # everything was judged
    else:
        try:
            return CountModel(frame.ranked_sample, random_seed)
        except ValueError:  # of contributing_runs
            lacking = "no run contributed to the frame, so its documents have no fused rank"
    warnings.warn(
        "numbers of relevant documents are estimated from each topic's own sample "
        f"(denominator 'topic'), because {lacking}; intervals of AP, nDCG, R@k and Rprec are too "
        "short where few documents are relevant",
        stacklevel=2,
    )
    return None


def with_counts(
    score: TopicScore,
    counts: TopicCounts,
    *,
    estimate: NDArray[np.float64],
    deviation: NDArray[np.float64],
    slope: NDArray[np.float64],
) -> TopicScore:
    r"""Blend of a ratio by the topic's own sample with one by the posterior of its denominator.

    .. math:: own^3 \cdot ratio + (1 - own^3) \cdot N \, E[1 / D]

    own is the posterior variance of the number of relevant documents by the variance that the
    topic's own strata would leave: it is near 1 where other topics tell nothing new, and near 0
    where the topic's own sample says little. The posterior's error is that of 1 / D times N: a part
    of its own, and one by the hyperparameters, in common with all other topics. Where the number of
    relevant documents has a relative error above a quarter, N E[1 / D] is limited to [0, 1].

    Parameters
    ----------
    score : TopicScore
        By the topic's own sample.
    counts : TopicCounts
        Posterior of the denominator.
    estimate : float array (run, replicate)
        By the posterior.
    deviation : float array (run, replicate, slot)
        Of `estimate` for a known denominator, in the slots of `score`.
    slope : float array (run, replicate)
        Derivative of `estimate` by E[1 / D].
    """
    poor = counts.relative_error > POOR
    bounded = np.where(poor, np.clip(estimate, 0.0, 1.0), estimate)
    own = counts.own_share**3
    other = 1.0 - own
    joined = own[:, None] * score.deviation
    joined[..., : deviation.shape[-1]] += other[:, None] * deviation
    lone = (other * slope * counts.own_error)[..., None]
    return replace(
        score,
        estimate=own * score.estimate + other * bounded,
        deviation=np.concatenate([joined, lone], axis=-1),
        limited=np.where(own > 0.5, score.limited, bounded != estimate),
        effect=other * slope,
        direction=counts.common,
        counts=counts,
    )
