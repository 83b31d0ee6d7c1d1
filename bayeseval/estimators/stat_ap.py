"""statAP and its companions: expanded sums over sampled documents with unequal probabilities."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bayeseval.collection.labels import row_of_pair
from bayeseval.estimators.topic_scores import ListScore
from bayeseval.frame.rankings import TopicLists
from bayeseval.measures.measure import Measure, relevance
from bayeseval.measures.scores import rank_weight
from bayeseval.measures.table import for_each_run


def stat_ap(measure: Measure, topic: TopicLists) -> ListScore:
    """Score AP, P, Rprec or NumRel of the runs on one topic, as `STAT_AP` has it."""
    return STAT_AP[measure.name](measure, topic)


@dataclass(frozen=True, eq=False)
class ExpandedSample:
    """Documents of one topic that some replicate sampled."""

    # (run, rank): sampled document at each rank, -1 for another or none
    position: NDArray[np.int32]
    # (document, replicate): 1 / inclusion probability where sampled and relevant, 0 elsewhere
    value: NDArray[np.float64]
    sampled: NDArray[np.bool_]  # (document, replicate)
    probability: NDArray[np.float64]  # (document,): inclusion probability

    @property
    def n_sampled(self) -> NDArray[np.int64]:
        """Number of sampled documents, (replicate,)."""
        return self.sampled.sum(axis=0)

    @property
    def count(self) -> NDArray[np.float64]:
        """Estimated number of relevant documents, NaN where none was sampled, (replicate,)."""
        count = self.value.sum(axis=0)
        return np.where(count > 0, count, np.nan)


def expanded_sample(measure: Measure, topic: TopicLists) -> ExpandedSample:
    """Sampled relevances of a topic, expanded; the lists are cut at the measure's cutoff."""
    if topic.inclusion_probability is None:
        raise ValueError(
            "statAP needs a design with the inclusion probability of every judged document"
        )
    somewhere = ~np.isnan(topic.grade).all(axis=0)
    probability = topic.inclusion_probability
    wrong = np.flatnonzero(somewhere & ~((probability > 0) & (probability <= 1)))
    if wrong.size:
        raise ValueError(
            f"{wrong.size} judged documents have no inclusion probability in (0, 1], the first is "
            f"pair {wrong[0]} of its topic with {probability[wrong[0]]}; statAP needs one for each"
        )
    pairs = np.flatnonzero(somewhere)
    relevances = relevance(measure, topic.grade[:, pairs]).T
    expanded = np.nan_to_num(relevances) / probability[pairs, None]
    return ExpandedSample(
        position=row_of_pair(pairs, somewhere.size)[topic.top(measure.cutoff)],
        value=np.ascontiguousarray(expanded),
        sampled=np.ascontiguousarray(~np.isnan(relevances)),
        probability=probability[pairs],
    )


def stat_average_precision(measure: Measure, topic: TopicLists) -> ListScore:
    r"""Average precision by statAP, with the variance that its program prints.

    .. math::
        statAP = \frac{1}{\hat R} \sum_{d \in s, rel} \frac{p_d}{\pi_d}, \quad
        p_d = \frac{1}{k(d)} \Big(1 + \sum_{e \in s, rel, k(e) < k(d)} \frac{1}{\pi_e}\Big), \quad
        \hat R = \sum_{d \in s, rel} \frac{1}{\pi_d}

    Estimand: AP with every document judged that could be sampled, the others non-relevant. Random
    is the sample alone. :math:`\hat R` is unbiased. The numerator weighs two documents by
    :math:`1 / (\pi_d \pi_e)` where :math:`1 / \pi_{de}` is right, so it is unbiased for
    independent (Poisson) draws alone and somewhat off for samples of a fixed size, and the ratio is
    biased to second order. Relevant documents of small probability break it. With everything
    judged it is AP. No relevant document sampled: NaN for every measure but NumRel, as the program
    leaves such topics out. Cost: one pass over the judged documents of the rankings.

    The variance, at most 1, is the program's

    .. math::
        \frac{1}{\hat R^2} \Big[\sum_d (1 - \pi_d) y_d^2 + \frac{1}{n - 1} \sum_d y_d^2 +
        \sum_d \frac{1 - \pi_d}{\pi_d^2} u_d^2 \Big] \frac{n}{n_{list} + 0.1}, \quad
        y_d = \frac{p_d - statAP}{\pi_d}, \quad u_d = \sum_{e : k(e) > k(d)} \frac{1}{k(e) \pi_e}

    over the sampled relevant documents (p = 0 where not retrieved; u only where retrieved), n of
    them and of non-relevant ones sampled, :math:`n_{list}` retrieved. The first two terms are the
    Horvitz-Thompson variance of the linearised ratio with :math:`\pi_d \pi_e (n - 1) / n` for
    :math:`\pi_{de}`: its cross terms are -1/(n - 1) times :math:`(\sum_d y_d)^2 - \sum_d y_d^2`,
    and :math:`\sum_d y_d = 0`. The third is that of the precisions, the last factor a guess at what
    the list does not show. It estimates the variance over samples of one fixed collection, roughly:
    strata and the joint probabilities of the actual design do not enter, the precisions'
    covariances are left out, and it does not vanish where every document was judged. Test it on
    replicates before an interval rests on it, or use estimator ``stat``.

    Estimate and variance are (run, replicate); the variance is NaN where fewer than two documents
    were sampled. It raises a ValueError where there is no design, or a judged document has no
    inclusion probability in (0, 1].

    References
    ----------
    Aslam and Pavlu, A practical sampling strategy for efficient retrieval evaluation, technical
    report, Northeastern University, 2007; the program ``statAP_MQ_eval_v4.pl`` of the Million Query
    track. The program takes documents of selection methods 0 and 2 as certain; here the
    probabilities are those of the design. The nDCG it prints is no estimate: it is the plain nDCG
    of the sampled documents, ``evaluate(..., "nDCG(dcg='exp-log2')@k", estimator="assumed")``.

    Examples
    --------
    >>> from bayeseval.measures.names import parse_measures
    >>> topic = TopicLists(
    ...     position=np.array([[0, 1, 2]], dtype=np.int32),
    ...     grade=np.array([[1.0, np.nan, 1.0]]),
    ...     pooled=np.ones(3, dtype=bool),
    ...     inclusion_probability=np.array([1.0, np.nan, 0.5]),
    ... )
    >>> score = stat_average_precision(parse_measures("AP")[0], topic)
    >>> score.estimate.round(4)  # (1/1 + 2 * (1 + 1) / 3) / (1 + 2)
    array([[0.7778]])
    >>> score.variance.round(4)  # (0.5 * 4/81 + 8/81) / 9 * 2 / 2.1
    array([[0.0131]])
    """
    from bayeseval.measures.rank_sums import precision_sum

    sample = expanded_sample(measure, topic)
    estimate = precision_sum(sample.position, sample.value) / sample.count
    return ListScore(estimate, _program_variance(sample, estimate))


def stat_precision(measure: Measure, topic: TopicLists) -> ListScore:
    r"""Precision at a cutoff as statPC estimates it.

    .. math:: statPC@k = \frac{1}{k} \sum_{d \in s, rel, k(d) \le k} \frac{1}{\pi_d}

    Estimand: P@k with every document judged that could be sampled, the others non-relevant. Random
    is the sample alone. It is the Horvitz-Thompson estimate, unbiased in every topic with a
    relevant document sampled for sure, and may exceed 1; but as the program leaves out topics
    without a sampled relevant document (NaN here), means over topics are too high where that
    happens: estimator ``stat`` counts them, and has the variance. Cost: one pass over k ranks.

    A list shorter than k counts as filled up with non-relevant documents (the program prints 0).
    """
    from bayeseval.measures.rank_sums import weighted_sum

    sample = expanded_sample(measure, topic)
    weight = rank_weight(measure, topic.position.shape[1])
    found = weighted_sum(sample.position, weight, sample.value)
    return ListScore(np.where(sample.count > 0, found, np.nan))


def stat_r_precision(measure: Measure, topic: TopicLists) -> ListScore:
    r"""R-precision at the rounded estimate of the number of relevant documents.

    .. math:: \frac{1}{r} \sum_{d \in s, rel, k(d) \le r} \frac{1}{\pi_d}, \quad
              r = \lfloor \hat R + 1/2 \rfloor

    A list shorter than r divides by :math:`\hat R` instead. Estimand: R-precision with every
    document judged that could be sampled, the others non-relevant. Random is the sample alone. It
    is not unbiased, since the cutoff depends on the sample; it is exact where everything was
    judged. NaN where no relevant document was sampled. Cost: one pass over r ranks.
    """
    from bayeseval.measures.rank_sums import cumulative_at

    sample = expanded_sample(measure, topic)
    cutoff = np.floor(sample.count + 0.5)
    known = for_each_run(np.nan_to_num(cutoff), sample.position)
    found = cumulative_at(sample.position, sample.value, known)
    length = np.count_nonzero(topic.position >= 0, axis=1)
    return ListScore(found / np.where(length[:, None] >= cutoff, cutoff, sample.count))


def stat_number_relevant(measure: Measure, topic: TopicLists) -> ListScore:
    r"""Estimated number of relevant documents of a topic, the same for every run.

    .. math:: \hat R = \sum_{d \in s, rel} \frac{1}{\pi_d}

    Estimand: the relevant documents that could be sampled. Random is the sample alone; it is the
    Horvitz-Thompson estimate and unbiased. Relevant documents of small probability make its
    variance large; estimator ``stat`` has that variance. Cost: one sum over the sampled documents.

    It is 0 where no relevant document was sampled, NaN where none at all was.
    """
    sample = expanded_sample(measure, topic)
    count = np.where(sample.n_sampled > 0, sample.value.sum(axis=0), np.nan)
    return ListScore(np.repeat(count[None], topic.position.shape[0], axis=0))


STAT_AP = {
    "AP": stat_average_precision,
    "P": stat_precision,
    "Rprec": stat_r_precision,
    "NumRel": stat_number_relevant,
}


def _program_variance(sample: ExpandedSample, estimate) -> NDArray[np.float64]:
    """Variance of statAP as its program has it (see `stat_average_precision`)."""
    from bayeseval.measures.rank_sums import list_variance_sums

    own, crossed, precisions, retrieved = list_variance_sums(
        sample.position, sample.value, sample.sampled, sample.probability, np.nan_to_num(estimate)
    )
    square = sample.value**2
    own += estimate**2 * ((1.0 - sample.probability) @ square)
    crossed += estimate**2 * square.sum(axis=0)
    n_sampled = sample.n_sampled
    total = own + crossed / np.maximum(n_sampled - 1.0, 1.0) + precisions
    variance = total / sample.count**2 * n_sampled / (retrieved + 0.1)
    # terms that cancel may leave less than nothing
    return np.where(n_sampled > 1, np.clip(variance, 0.0, 1.0), np.nan)
