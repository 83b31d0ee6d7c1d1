"""Inferred measures: expected values under random sampling within the strata of a pool.

infAP, xinfAP, infNDCG and inferred P@k, as NIST's ``sample_eval.pl`` computes them.
"""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from bayeseval.collection.labels import row_of_pair
from bayeseval.estimators.topic_scores import ListScore
from bayeseval.frame.rankings import TopicLists
from bayeseval.measures.measure import Measure, relevance
from bayeseval.measures.table import discount_sum, discounted_gain
from bayeseval.rounding import ratio

LONGEST_LIST = 1000


@dataclass(frozen=True)
class InferredOptions:
    r"""Options of estimator "inf": smoothing of the shares of relevant documents.

    ``relevant_smoothing`` and ``sampled_smoothing``, :math:`\epsilon` and :math:`\epsilon'`, are
    added to the relevant and to the sampled documents of a stratum above a rank. Defaults are those
    of NIST's ``sample_eval.pl``.
    """

    relevant_smoothing: float = 1e-5
    sampled_smoothing: float = 3e-5

    def __post_init__(self) -> None:
        relevant, sampled = self.relevant_smoothing, self.sampled_smoothing
        if not 0 <= relevant <= sampled or not 0 < sampled < np.inf:
            raise ValueError(
                "smoothing constants must satisfy 0 <= relevant_smoothing <= sampled_smoothing and "
                f"sampled_smoothing > 0, not {relevant!r} and {sampled!r}"
            )


def inferred(
    measure: Measure, topic: TopicLists, options: InferredOptions = InferredOptions()
) -> ListScore:
    """Scores of the runs on one topic by the inferred form of a measure, as `INFERRED` has them.

    They are NaN where a replicate judged nothing of the topic.
    """
    return INFERRED[measure.name](measure, sampled_strata(measure, topic, options))


@dataclass(frozen=True, eq=False)
class SampledStrata:
    """Strata of one topic, numbered from 0, and the sampled documents of every replicate."""

    position: NDArray[np.integer]  # (run, rank): pool document at each rank, -1 for another or none
    stratum: NDArray[np.int64]  # (document,): stratum of each pool document
    size: NDArray[np.float64]  # (stratum,): pool documents of each stratum
    # (document + 1,): the cells of a document d are ``first[d]:first[d + 1]``
    first: NDArray[np.int64]
    replicate: NDArray[np.int64]  # (cell,): replicate in which a document was sampled
    gain: NDArray[np.float64]  # (cell,): its relevance or gain, as the measure sees it
    n_replicates: int  # number of samples side by side
    # (2,): what is added to the relevant and to the sampled documents of a share
    smoothing: NDArray[np.float64]

    @property
    def expansion(self) -> NDArray[np.float64]:
        """Pool documents by sampled documents, 0 where none is sampled; (stratum, replicate)."""
        sampled = self._counted(np.ones(self.gain.size))
        return ratio(self.size[:, None], sampled)

    def expanded_count(self, chosen: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Estimated number of pool documents like the chosen cells, (replicate,)."""
        return (self.expansion * self._counted(chosen)).sum(axis=0)

    def score(self, estimate: NDArray[np.float64]) -> ListScore:
        """Score with NaN in the replicates that judged nothing of the topic."""
        judged = np.bincount(self.replicate, minlength=self.n_replicates) > 0
        return ListScore(np.where(judged, estimate, np.nan))

    @property
    def expected_relevant(self) -> NDArray[np.float64]:
        """Relevant documents to be expected in the lists, (run, replicate)."""
        weight = np.ones(self.position.shape[1])
        return self.expanded_sum(weight, (self.gain > 0).astype(float), self.smoothing)

    def expanded_sum(
        self, weight: NDArray, worth: NDArray[np.float64], smoothing: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Expanded worth (cell,) of the lists by stratum, weighted by rank, (run, replicate)."""
        from bayeseval.estimators.inferred_kernels import expanded_sum

        cells = self.first, self.replicate, worth
        size = self.size.size, cells, self.n_replicates
        return expanded_sum(self.position, weight, self.stratum, *size, smoothing)

    def _counted(self, weight: NDArray) -> NDArray[np.float64]:
        """Sum over the cells of each stratum, (stratum, replicate)."""
        row = np.repeat(np.arange(self.stratum.size), np.diff(self.first))
        at = self.stratum[row] * self.n_replicates + self.replicate
        total = np.bincount(at, weights=weight, minlength=self.size.size * self.n_replicates)
        return total.reshape(self.size.size, self.n_replicates)


def sampled_strata(
    measure: Measure, topic: TopicLists, options: InferredOptions = InferredOptions()
) -> SampledStrata:
    """Strata of a topic, from its design or, where there is none, its pool as one stratum.

    The lists are cut at the measure's cutoff.
    """
    pool, stratum, size = _strata(topic)
    inside = np.flatnonzero(pool)
    stray = np.flatnonzero(~pool & ~np.isnan(topic.grade).all(axis=0))
    if stray.size:
        raise ValueError(
            f"{stray.size} judged documents are outside the strata of their topic, the first is "
            f"its pair {stray[0]}; an inferred measure needs the stratum of every judged document"
        )
    gain = relevance(measure, topic.grade[:, inside]).T
    row, replicate = np.nonzero(~np.isnan(gain))
    return SampledStrata(
        position=row_of_pair(inside, pool.size)[topic.top(measure.cutoff)],
        stratum=stratum,
        size=size.astype(np.float64),
        first=np.searchsorted(row, np.arange(inside.size + 1)),
        replicate=replicate,
        gain=gain[row, replicate],
        n_replicates=topic.n_replicates,
        smoothing=np.array([options.relevant_smoothing, options.sampled_smoothing]),
    )


def _strata(topic: TopicLists) -> tuple[NDArray, NDArray, NDArray]:
    """Pool (pair,), stratum of its documents and size of each stratum."""
    stratum, size = topic.stratum, topic.stratum_size
    elsewhere = size is not None and size.size > 0  # strata of the design, if not of this topic
    if stratum is not None and (elsewhere or (stratum >= 0).any()):
        pool = stratum >= 0
        number, stratum = np.unique(stratum[pool], return_inverse=True)
        return pool, stratum, np.bincount(stratum) if size is None else size[number]
    pool = _single_stratum(topic)
    return pool, np.zeros(np.count_nonzero(pool), np.int64), np.array([pool.sum()])


def _single_stratum(topic: TopicLists) -> NDArray[np.bool_]:
    """Documents of the one stratum: the pool, or a frame whose probabilities are all the same."""
    probability = topic.inclusion_probability
    if probability is None:
        return topic.pooled | ~np.isnan(topic.grade).all(axis=0)
    frame = probability[probability != 0]
    if np.isnan(frame).any() or not np.allclose(frame, frame[:1]):
        raise ValueError(
            "inferred measures need strata, or one inclusion probability for the whole pool; this "
            "design has neither: use estimator 'stat' or 'stat_ap', which take a probability per "
            "document"
        )
    return probability > 0


def inferred_average_precision(measure: Measure, strata: SampledStrata) -> ListScore:
    r"""Average precision inferred from sampled judgments: xinfAP, and infAP with one stratum.

    .. math::
        xinfAP = \frac{1}{\hat R} \sum_{d \in s, rel} \frac{N_{c(d)}}{n_{c(d)}} \, E_{k(d)}, \quad
        E_k = \frac{1}{k} + \frac{1}{k} \sum_c m_c \frac{r_c + \epsilon}{s_c + \epsilon'}, \quad
        \hat R = \sum_c r_c^{all} \frac{N_c}{n_c}

    Stratum c holds N pool documents, n of them sampled and :math:`r^{all}` of these relevant; above
    rank k stand m of its documents, s of them sampled and r relevant. E is the expected precision
    at a relevant document of rank k. A design without strata counts as one stratum; then
    :math:`\epsilon' = 2 \epsilon` is infAP as trec_eval has it.

    Estimand: AP with every pool document judged and all others non-relevant. Random is the sample
    alone, simple random within strata. It is not unbiased: R is estimated in a denominator, and
    where nothing was sampled above a document its stratum is taken to be relevant by a third
    (:math:`\epsilon / \epsilon'`); strata with few sampled documents and steep sampling rates
    break it (Voorhees 2014). With complete judgments it is AP, up to the smoothing. No relevant
    document sampled: 0, as the reference program has it. No variance is known. Cost: one pass over
    the pool documents of the rankings, all replicates together.

    References
    ----------
    Yilmaz and Aslam, Estimating average precision with incomplete and imperfect judgments, CIKM
    2006, doi:10.1145/1183614.1183633. Yilmaz, Kanoulas and Aslam, A simple and efficient sampling
    method for estimating AP and NDCG, SIGIR 2008, doi:10.1145/1390334.1390437. Voorhees, The effect
    of sampling strategy on inferred measures, SIGIR 2014, doi:10.1145/2600428.2609524. (TRECVID's
    copy of the program multiplies AP by R/1000 where R exceeds 1000; NIST's and this do not.)

    Examples
    --------
    >>> from bayeseval.measures.names import parse_measures
    >>> topic = TopicLists(
    ...     position=np.array([[0, 1, 2, 3]], dtype=np.int32),
    ...     grade=np.array([[1.0, np.nan, 1.0, 0.0]]),  # documents 0 and 1 are stratum 0
    ...     pooled=np.ones(4, dtype=bool),
    ...     stratum=np.array([0, 0, 1, 1], dtype=np.int32),
    ... )
    >>> average = inferred(parse_measures("AP")[0], topic)
    >>> average.estimate.round(3)  # (2/1 * 1 + 2/2 * (1 + 2) / 3) / (2 + 1)
    array([[1.]])
    """
    from bayeseval.estimators.inferred_kernels import expected_precision_sum

    cells = strata.first, strata.replicate, strata.gain
    total = expected_precision_sum(
        strata.position, strata.stratum, strata.expansion, cells, strata.smoothing
    )
    return strata.score(ratio(total, strata.expanded_count(strata.gain > 0)))


def inferred_ndcg(measure: Measure, strata: SampledStrata) -> ListScore:
    r"""Normalised discounted cumulative gain inferred from sampled judgments: infNDCG.

    .. math::
        infNDCG = \frac{1}{ideal} \sum_c \frac{m_c}{s_c}
                  \sum_{d \in s_c} \frac{gain(d)}{\log_2(k(d) + 1)}

    m pool documents of stratum c are in the list, s of them sampled; a stratum with s = 0 adds
    nothing. The ideal list holds, gain by gain, the estimated number of documents
    :math:`\sum_c n_{c,gain} N_c / n_c`, rounded (halves up), down to the cutoff or rank 1000.

    Estimand: nDCG with every pool document judged and all others of gain 0. Random is the sample
    alone, simple random within strata. The sum is unbiased where every stratum of the list has a
    sampled document for sure; dropping the others makes it too low, and the ratio to an estimated,
    rounded ideal adds bias: short lists (small cutoffs) and few sampled documents break it. With
    complete judgments it is nDCG. Nothing relevant sampled: 0, as the reference program has it.
    No variance is known. Cost: one pass over the pool documents of the rankings.

    References
    ----------
    Yilmaz, Kanoulas and Aslam, SIGIR 2008, doi:10.1145/1390334.1390437, as NIST's
    ``sample_eval.pl`` computes it; other copies of that program let levels of gain begin at
    fractional ranks instead of rounding.
    """
    weight = discounted_gain(strata.position.shape[1], measure)
    gain = strata.expanded_sum(weight, strata.gain, np.zeros(2))
    cutoff = measure.cutoff or LONGEST_LIST
    ideal, reach = np.zeros((2, strata.n_replicates))
    level = np.append(np.unique(strata.gain[strata.gain > 0])[::-1], 0.0)
    for here, below in pairwise(level):
        reach += np.floor(strata.expanded_count(strata.gain == here) + 0.5 + 1e-9)
        ideal += (here - below) * discount_sum(reach, cutoff)
    return strata.score(ratio(gain, ideal))


def inferred_precision(measure: Measure, strata: SampledStrata) -> ListScore:
    r"""Precision at a cutoff inferred from sampled judgments: xinf P@k.

    .. math:: xinfP@k = \frac{1}{k} \sum_c m_c \frac{r_c + \epsilon}{s_c + \epsilon'}

    Among the first k ranks m documents belong to stratum c, s of them are sampled and r of these
    relevant. A list shorter than k counts as filled up with non-relevant documents.

    Estimand: P@k with every pool document judged and all others non-relevant. Random is the sample
    alone, simple random within strata. Given :math:`s_c > 0` the share r / s is unbiased; a stratum
    of which nothing in the top k was sampled gets :math:`\epsilon / \epsilon'`, a third by default,
    so that the bias is

    .. math:: \frac{1}{k} \sum_c m_c \, P(s_c = 0) \left(\frac{1}{3} - share_c\right), \quad
              P(s_c = 0) = \binom{N_c - m_c}{n_c} \Big/ \binom{N_c}{n_c}

    (up to the size of the constants): towards a third, upwards for runs that find little and
    downwards for those that find much. Many small strata break it, since few of them show a sampled
    document among k: what was sampled at one rate should be one stratum. So do steep sampling
    rates: under strata sampled about proportionally to size the runs' favourite documents are
    judged and those of unlike runs are not. It is exact, up to the constants, where the first k are
    all judged. No variance is known. Cost: one pass over the first k ranks.

    References
    ----------
    Yilmaz, Kanoulas and Aslam, SIGIR 2008, doi:10.1145/1390334.1390437. Cormack and Grossman,
    SIGIR 2019, section 1, doi:10.1145/3331184.3331355.
    """
    assert measure.cutoff is not None
    return strata.score(strata.expected_relevant / measure.cutoff)


def inferred_number_retrieved(measure: Measure, strata: SampledStrata) -> ListScore:
    r"""Number of relevant documents a run retrieves, inferred from sampled judgments.

    .. math:: \sum_c m_c \frac{r_c + \epsilon}{s_c + \epsilon'}

    over the whole list; what it estimates, its bias and its errors are those of
    `inferred_precision` with the length of the list for k. It may exceed the estimated number of
    relevant documents in the pool (`inferred_number_relevant`), whose shares are others.

    References
    ----------
    NIST's ``sample_eval.pl``, which prints it as ``inum_rel_ret``.
    """
    return strata.score(strata.expected_relevant)


def inferred_number_relevant(measure: Measure, strata: SampledStrata) -> ListScore:
    r"""Estimated number of relevant documents of a topic, the same for every run.

    .. math:: \hat R = \sum_c r_c \frac{N_c}{n_c}

    with r relevant among the n sampled of the N documents of stratum c; a stratum without a sampled
    document adds nothing.

    Estimand: the relevant documents of the pool. Random is the sample alone; it is the
    Horvitz-Thompson estimate of a stratified sample and unbiased where every stratum is sampled.
    Relevant documents outside the pool, or in strata that nobody sampled, are missed. For its
    variance use estimator ``stat``. Cost: one pass over the sampled documents.

    References
    ----------
    Yilmaz, Kanoulas and Aslam, SIGIR 2008, doi:10.1145/1390334.1390437; NIST's ``sample_eval.pl``,
    which prints it as ``inum_rel``.
    """
    count = strata.expanded_count(strata.gain > 0)
    return strata.score(np.repeat(count[None], strata.position.shape[0], axis=0))


INFERRED = {
    "AP": inferred_average_precision,
    "nDCG": inferred_ndcg,
    "P": inferred_precision,
    "NumRel": inferred_number_relevant,
    "NumRelRet": inferred_number_retrieved,
}
