"""statAP and its companions: expanded sums over sampled documents with unequal probabilities."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bayeseval.estimators.lists import ListScore, TopicLists
from bayeseval.measures.linear import rank_weight
from bayeseval.measures.names import Measure, relevance


def stat_average_precision(measure: Measure, topic: TopicLists) -> ListScore:
    r"""Average precision by statAP, with the variance its program prints."""
    from bayeseval.measures.rank_sums import precision_sum

    sample = _expanded_sample(measure, topic)
    position = topic.top(measure.cutoff)
    estimate = precision_sum(position, sample.value) / sample.count
    variance = _program_variance(position, sample, estimate)
    return ListScore(estimate, variance)


def stat_precision(measure: Measure, topic: TopicLists) -> ListScore:
    r"""Precision at a cutoff as statPC estimates it."""
    from bayeseval.measures.rank_sums import weighted_sum

    sample = _expanded_sample(measure, topic)
    weight = rank_weight(measure, topic.position.shape[1])
    found = weighted_sum(topic.position, weight, sample.value)
    return ListScore(np.where(sample.count > 0, found, np.nan))


def stat_r_precision(measure: Measure, topic: TopicLists) -> ListScore:
    r"""R-precision at the rounded estimate of the number of relevant documents."""
    from bayeseval.measures.rank_sums import cumulative_at

    sample = _expanded_sample(measure, topic)
    cutoff = np.floor(np.where(sample.count > 0, sample.count, 0.0) + 0.5)
    found = cumulative_at(topic.position, sample.value, cutoff)
    length = np.count_nonzero(topic.position >= 0, axis=1)
    return ListScore(found / np.where(length[:, None] >= cutoff, cutoff, sample.count))


def stat_number_relevant(measure: Measure, topic: TopicLists) -> ListScore:
    r"""Estimated number of relevant documents of a topic, the same for every run."""
    sample = _expanded_sample(measure, topic)
    count = np.where(sample.judged, np.nan_to_num(sample.count), np.nan)
    return ListScore(np.repeat(count[None], topic.position.shape[0], axis=0))


STAT_AP = {
    "AP": stat_average_precision,
    "P": stat_precision,
    "Rprec": stat_r_precision,
    "NumRel": stat_number_relevant,
}


@dataclass(frozen=True, eq=False)
class ExpandedSample:
    """Sampled relevant documents of one topic, weighted by 1 / inclusion probability.

    Parameters
    ----------
    value : float array (pair, replicate)
        1 / inclusion probability where sampled and relevant, 0 elsewhere.
    sampled : bool array (pair, replicate)
    probability : float array (pair,)
        Inclusion probability of the sampled documents, 1 elsewhere.
    """

    value: NDArray[np.float64]
    sampled: NDArray[np.bool_]
    probability: NDArray[np.float64]

    @property
    def judged(self) -> NDArray[np.bool_]:
        """Replicates in which the topic has a sampled document, (replicate,)."""
        return self.sampled.any(axis=0)

    @property
    def count(self) -> NDArray[np.float64]:
        """Estimated number of relevant documents, NaN where none was sampled, (replicate,)."""
        count = self.value.sum(axis=0)
        return np.where(count > 0, count, np.nan)


def _expanded_sample(measure: Measure, topic: TopicLists) -> ExpandedSample:
    """Sampled relevances of a topic, expanded; every judged document needs a probability."""
    relevances = relevance(measure, topic.grade).T
    sampled = ~np.isnan(relevances)
    anywhere = sampled.any(axis=1)
    if topic.inclusion_probability is None:
        raise ValueError("statAP needs a design with the inclusion probability of every document")
    probability = topic.inclusion_probability
    wrong = np.flatnonzero(anywhere & ~((probability > 0) & (probability <= 1)))
    if wrong.size:
        raise ValueError(
            f"{wrong.size} judged documents have no inclusion probability in (0, 1], the first is "
            f"pair {wrong[0]} of its topic with {probability[wrong[0]]}; statAP needs one for each"
        )
    probability = np.where(anywhere, probability, 1.0)
    value = np.where(sampled, relevances, 0.0) / probability[:, None]
    return ExpandedSample(np.ascontiguousarray(value), np.ascontiguousarray(sampled), probability)


def _program_variance(position, sample: ExpandedSample, estimate) -> NDArray[np.float64]:
    """Variance of statAP as its program has it (see `stat_average_precision`)."""
    from bayeseval.estimators.stat_ap_kernel import list_variance_sums

    sums = list_variance_sums(
        position, sample.value, sample.sampled, sample.probability, np.nan_to_num(estimate)
    )
    square = sample.value**2
    n_sampled = sample.sampled.sum(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        own = sums[0] + estimate**2 * ((1.0 - sample.probability) @ square)
        crossed = (sums[1] + estimate**2 * square.sum(axis=0)) / (n_sampled - 1.0)
        share = n_sampled / (sums[3] + 0.1)
        variance = (own + crossed + sums[2]) / sample.count**2 * share
    return np.where(n_sampled > 1, np.minimum(variance, 1.0), np.nan)
