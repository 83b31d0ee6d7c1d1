"""Where the denominator of a ratio comes from: the topic's own sample, or the counts of all."""

import warnings
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from bayeseval.collection.choices import check_choice
from bayeseval.estimators.counts import CountModel, TopicCounts
from bayeseval.estimators.relevance import TopicRelevance
from bayeseval.estimators.topic_scores import TopicScore
from bayeseval.frame.frame import Frame
from bayeseval.rounding import ratio

POOR = 0.25  # relative error of a number of relevant documents above which a ratio needs limits
POOR_SHARE = 0.2  # of the topics: .69 on CLEF TAR 2017, .04 on TREC-COVID round 5 at 100 judgments
FEW_BESIDE_CERTAIN = 100  # judgments a topic, and the share of topics that have certain ones:
CERTAIN_SHARE = 0.2
INTERLEAVED = 0.25  # of the documents of the highest probability, behind others by fused rank: .69
# to .94 where strata are of the best rank in any run, 0 in a sample by fused rank
FEW_STRATA = 8  # a topic; of more, each is judged little and tells where relevant documents are
APART = 0.5  # which the next probability of a topic is not below in a sample by rank, nor the
# lowest one, by the highest, in a sample that took about as much of everything


@dataclass(frozen=True)
class RatioOptions:
    """Options of the estimators "stat" and "dyn".

    AP, nDCG, R@k and Rprec divide by the ``denominator``. "topic": the number of relevant documents
    (or the ideal gain) as the topic's own sample estimates it. "counts": its posterior from the
    counts of all topics.
    """

    denominator: str = "counts"

    def __post_init__(self) -> None:
        check_choice("denominator", self.denominator, ("counts", "topic"))


def count_model(frame: Frame, options: RatioOptions, random_seed: int) -> CountModel | None:
    """Model of the counts of all topics; None where it is not wanted or cannot be had.

    It needs to know how many documents were not sampled, their fused ranks and more than one topic.
    Few strata by the best rank in any run mislead it, as a pool that was judged whole does: a
    document that some run ranks high is likelier to be relevant than others of its fused rank.
    """
    if options.denominator == "topic":
        return None
    unsampled = frame.sample.topic[frame.sample.inclusion_probability < 1.0]
    if frame.lists_sampled_alone:
        lacking = "these judgments (prels or probs) list only the sampled documents of the frame"
    elif not unsampled.size:  # everything was judged
        return None
    elif (unsampled == unsampled[0]).all():
        lacking = "only one topic has documents that were not sampled"
    elif _is_by_run_ranks(frame):
        lacking = (
            "documents that some run ranks high were judged most, in few strata or as a pool, and "
            "are not like others of the same fused rank"
        )
    else:
        _warn_few_beside_certain(frame)
        try:
            return CountModel(
                frame.ranked_sample,
                random_seed,
                labelled=bool(frame.design_labels),
                made_certain=frame.made_certain,
            )
        except ValueError:  # of contributing_runs
            lacking = "no run contributed to the frame, so its documents have no fused rank"
    warnings.warn(
        "numbers of relevant documents are estimated from each topic's own sample "
        f"(denominator 'topic'), because {lacking}; intervals of AP, nDCG, R@k and Rprec are too "
        "short where few documents are relevant",
        stacklevel=2,
    )
    return None


def _is_by_run_ranks(frame: Frame) -> bool:
    """Whether others judged most what some run ranks high, wherever it is by fused rank.

    Of a topic's documents of the highest probability a good part is then behind others, of which
    some have less than half of it; and there are few strata, or these documents are a pool that was
    judged whole beside a smaller sample.
    """
    by_others = frame.scheme == "poisson" or frame.design_name == "sampleval"
    if not by_others or frame.made_certain or frame.design_labels:
        return False
    try:
        sample = frame.ranked_sample
    except ValueError:  # no contributing run
        return False
    probability, n_topics = sample.inclusion_probability, sample.n_topics
    highest, next_highest = np.zeros((2, n_topics))
    lowest, first = np.full((2, n_topics), np.inf)
    np.maximum.at(highest, sample.topic, probability)
    np.minimum.at(lowest, sample.topic, probability)
    above = probability == highest[sample.topic]
    topic, others = sample.topic[above], sample.topic[~above]
    np.maximum.at(next_highest, others, probability[~above])
    np.minimum.at(first, others, sample.fused_rank[~above])
    if (sample.fused_rank[above] > first[topic]).mean() <= INTERLEAVED:
        return False
    unlike = next_highest > 0.0
    if np.median(lowest[unlike] / highest[unlike]) >= APART:
        return False
    strata = np.unique(sample.stratum)
    if strata[0] >= 0 and strata.size < FEW_STRATA * np.unique(sample.topic).size:
        return True
    whole = np.median(highest[highest > 0.0]) == 1.0
    return bool(whole and np.median(next_highest[next_highest > 0.0]) < APART)


def _warn_few_beside_certain(frame: Frame) -> None:
    """Say that few judgments tell how many relevant documents are left beside certain ones."""
    if not frame.made_certain:
        return
    sample = frame.sample
    sure = sample.inclusion_probability == 1.0
    certain, drawn = (
        np.bincount(sample.topic, sample.selected.mean(axis=0) * part, sample.n_topics)
        for part in (sure, ~sure)
    )
    judged = certain + drawn > 0.0
    both = (certain > 0.0) & (drawn > 0.0)
    if not both.any() or both.sum() < CERTAIN_SHARE * judged.sum():
        return
    typical = float(np.median(drawn[both]))
    if typical < FEW_BESIDE_CERTAIN:
        warnings.warn(
            "documents that were judged for certain tell nothing of how many relevant ones are "
            f"left, which the {typical:.0f} judgments per topic that were left to chance tell by "
            "all topics together: ratios (AP, nDCG, R@k, Rprec) may be off by a standard error, "
            "and by more with 20 judgments where topics differ much",
            stacklevel=2,
        )


@dataclass(frozen=True, eq=False)
class Control:
    """Control variate of a ratio: b (s - q D E[1 / D]), which is 0 on average over topics.

    D is unbiased, so that D E[1 / D] is on average the probability that there is anything relevant,
    where the model of the counts is right: that is s, and q is 1. Where D is the sum over seen
    relevant documents alone, s is whether any was seen and q the chance of that: then a topic in
    which nothing relevant was seen scores 0 as without it.

    Parameters
    ----------
    coefficient : float array (run, replicate)
        b. With the ratio itself for b the control variate takes off all that E[1 / D] is off, and
        leaves the error of a ratio by the topic's own sample.
    some, chance : float array (replicate,)
        s and q.
    number : float array (replicate,)
        D as the topic's own sample estimates it, however small or negative.
    expanded : float array (replicate, slot)
        Its expanded values.
    """

    coefficient: NDArray[np.float64]
    some: NDArray[np.float64]
    chance: NDArray[np.float64]
    number: NDArray[np.float64]
    expanded: NDArray[np.float64]

    def value(self, counts: TopicCounts) -> NDArray[np.float64]:
        """What it adds to the ratio (run, replicate)."""
        return self.coefficient * (self.some - self.chance * self.number * counts.inverse)

    def fall(self, counts: TopicCounts) -> NDArray[np.float64]:
        """How much it falls as D by the topic's own sample rises (run, replicate)."""
        own = counts.inverse - self.number * counts.inverse_fall
        return self.coefficient * self.chance * own


def by_counts(
    topic: TopicRelevance,
    counts: TopicCounts,
    *,
    estimate: NDArray[np.float64],
    deviation: NDArray[np.float64],
    slope: NDArray[np.float64],
    below: NDArray[np.float64] | None = None,
) -> TopicScore:
    """Ratio by the posterior of its denominator, N E[1 / D], with the errors of both.

    If the numerator N is unbiased whatever the documents are, and the model of the counts is right,
    N E[1 / D] has no bias on average over the topics that the model speaks of: what the posterior
    of D knows of the sample is taken care of, and no term for the covariance of N and D is due.

    The error of E[1 / D] has three parts. The posterior mean of D follows the topic's own sample
    with a weight, own: the posterior variance of D by the variance that the topic's own strata
    would leave. So own times the error of the sample's D, slot by slot, goes with the error of N.
    What the posterior variance has beyond that is the topic's own, the same for all runs; and a
    part of that, by the hyperparameters, it has in common with all other topics. Where few are
    relevant N may be many times what it can be, as a document of low probability that is seen makes
    it: what goes with its error is then by the largest N that is possible.

    Where the number of relevant documents has a relative error above a quarter, the estimate is
    limited to [0, 1]; what that takes away is kept, for :func:`given_back`.

    ``estimate`` (run, replicate), for a known denominator, has the ``deviation`` (run, replicate,
    slot) and the derivative ``slope`` (run, replicate) by E[1 / D]. ``below`` (replicate, slot) are
    deviations of D as the topic's own sample estimates it; without them N and E[1 / D] are taken
    for independent, which makes intervals longer.
    """
    of_own = np.zeros(estimate.shape[1])
    if below is not None:
        share = counts.inverse_fall
        possible = np.clip(slope, 0.0, ratio(1.0, counts.inverse))
        at = np.where(counts.few, possible, slope)
        deviation = deviation - (at * share)[..., None] * below
        of_own = share**2 * (below**2).sum(axis=-1)
    own = counts.own_error(of_own)
    poor = counts.relative_error > POOR
    bounded = np.where(poor, np.clip(estimate, 0.0, 1.0), estimate)
    return replace(
        topic.score(bounded, np.concatenate([deviation, (slope * own)[..., None]], axis=-1)),
        limited=bounded != estimate,
        effect=slope,
        left=np.where(counts.few, np.hypot(own, np.sqrt((counts.common**2).sum(axis=-1))), 0.0),
        direction=counts.common,
        counts=counts,
        beyond=estimate - bounded,
    )


def given_back(beyond: NDArray[np.float64]) -> NDArray[np.float64]:
    r"""What of that which limits took from a run's scores is given back to them.

    .. math:: \max(0,\; 1 - s^2 / \bar b^2)\, b_t

    with b the part of each topic's estimate beyond [0, 1] and s the standard error of its mean over
    topics. A run that finds what others do not shows documents of low probability: its estimates
    are 0 on most topics and far above 1 on a few, right on average, and with limits half too low
    and sure of it. There :math:`\bar b` is many times s, and all is given back. Elsewhere it is
    made by a topic or two, and the limits do what they are for.

    Parameters
    ----------
    beyond : float array (..., topic, replicate)
        NaN where a topic has no score.

    References
    ----------
    The weight is the positive part of James and Stein's (1961), for one mean.

    Examples
    --------
    >>> many, one = [[0.5], [0.4], [0.0], [0.6], [0.5]], [[0.0], [0.0], [0.0], [0.0], [2.0]]
    >>> given_back(np.array([many, one]))[..., 0].round(2)
    array([[0.46, 0.37, 0.  , 0.56, 0.46],
           [0.  , 0.  , 0.  , 0.  , 0.  ]])
    """
    known = ~np.isnan(beyond)
    value = np.where(known, beyond, 0.0)
    number = known.sum(axis=-2, keepdims=True)
    mean = value.sum(axis=-2, keepdims=True) / np.maximum(number, 1)
    square = (np.where(known, value - mean, 0.0) ** 2).sum(axis=-2, keepdims=True)
    error = square / np.maximum(number * (number - 1), 1)
    sure = (number > 1) & (mean**2 > error * (1.0 + 1e-9))  # one topic alone has them equal
    share = np.where(sure, 1.0 - error / np.where(sure, mean**2, 1.0), 0.0)
    return np.where(known, share * value, 0.0)
