"""Inferred measures: expected values under random sampling within the strata of a pool."""

import numpy as np
from numpy.typing import NDArray

from bayeseval.estimators.inferred.counts import (
    inferred_number_relevant,
    inferred_number_retrieved,
    inferred_precision,
)
from bayeseval.estimators.inferred.strata import (
    RELEVANT_SMOOTHING,
    SAMPLED_SMOOTHING,
    sampled_strata,
    smoothing_constants,
)
from bayeseval.estimators.list_score import ListScore
from bayeseval.frame.lists import TopicLists
from bayeseval.measures.measure import Measure

LONGEST_LIST = 1000


def inferred_average_precision(
    measure: Measure,
    topic: TopicLists,
    *,
    relevant_smoothing: float = RELEVANT_SMOOTHING,
    sampled_smoothing: float = SAMPLED_SMOOTHING,
) -> ListScore:
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

    Parameters
    ----------
    measure : Measure
        AP or AP@k, with its relevance level.
    topic : TopicLists
        Rankings, judgments and strata of one topic.
    relevant_smoothing, sampled_smoothing : float
        :math:`\epsilon` and :math:`\epsilon'`. Defaults are those of NIST's ``sample_eval.pl``.

    Returns
    -------
    ListScore
        ``estimate`` (run, replicate); NaN where a replicate judged nothing of the topic.

    Raises
    ------
    ValueError
        A design with neither strata nor one probability for the whole pool; a judged document
        outside the strata; constants out of range.

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
    >>> average = parse_measures("AP")[0]
    >>> score = inferred_average_precision(average, topic)
    >>> score.estimate.round(3)  # (2/1 * 1 + 2/2 * (1 + 2) / 3) / (2 + 1)
    array([[1.]])
    """
    from bayeseval.estimators.inferred.kernels import expected_precision_sum

    constants = smoothing_constants(relevant_smoothing, sampled_smoothing)
    strata = sampled_strata(measure, topic)
    total = expected_precision_sum(
        strata.position, strata.stratum, strata.expansion, strata.cells, constants
    )
    return strata.score(_ratio(total, strata.expanded_count(strata.gain > 0)))


def inferred_ndcg(
    measure: Measure,
    topic: TopicLists,
    *,
    relevant_smoothing: float = RELEVANT_SMOOTHING,
    sampled_smoothing: float = SAMPLED_SMOOTHING,
) -> ListScore:
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

    Parameters
    ----------
    measure : Measure
        nDCG or nDCG@k, with its gains.
    topic : TopicLists
        Rankings, judgments and strata of one topic.
    relevant_smoothing, sampled_smoothing : float
        Not used: here so that one set of options serves all inferred measures.

    Returns
    -------
    ListScore
        ``estimate`` (run, replicate); NaN where a replicate judged nothing of the topic.

    Raises
    ------
    ValueError
        As `inferred_average_precision`.

    References
    ----------
    Yilmaz, Kanoulas and Aslam, SIGIR 2008, doi:10.1145/1390334.1390437, as NIST's
    ``sample_eval.pl`` computes it; other copies of that program let levels of gain begin at
    fractional ranks instead of rounding.

    Examples
    --------
    >>> from bayeseval.measures.names import parse_measures
    >>> topic = TopicLists(
    ...     position=np.array([[1, 0, 2]], dtype=np.int32),
    ...     grade=np.array([[2.0, 0.0, 0.0]]),
    ...     pooled=np.ones(3, dtype=bool),
    ... )
    >>> inferred_ndcg(parse_measures("nDCG")[0], topic).estimate.round(4)  # 1 / log2(3)
    array([[0.6309]])
    """
    from bayeseval.estimators.inferred.kernels import expanded_gain, ideal_gain

    smoothing_constants(relevant_smoothing, sampled_smoothing)
    strata = sampled_strata(measure, topic)
    weight = 1.0 / np.log2(np.arange(2.0, strata.position.shape[1] + 2.0))
    gain = expanded_gain(
        strata.position, weight, strata.stratum, strata.n_strata, strata.cells, strata.n_replicates
    )
    level = np.unique(strata.gain[strata.gain > 0])[::-1]
    count = np.array([strata.expanded_count(strata.gain == value) for value in level])
    count = count.reshape(level.size, strata.n_replicates)
    ideal = ideal_gain(count, level, measure.cutoff or LONGEST_LIST)
    return strata.score(_ratio(gain, ideal))


INFERRED = {
    "AP": inferred_average_precision,
    "nDCG": inferred_ndcg,
    "P": inferred_precision,
    "NumRel": inferred_number_relevant,
    "NumRelRet": inferred_number_retrieved,
}


def _ratio(numerator: NDArray[np.float64], denominator: NDArray[np.float64]) -> NDArray:
    """Numerator (run, replicate) by denominator (replicate,); 0 where nothing relevant was seen."""
    return np.divide(numerator, denominator, out=np.zeros(numerator.shape), where=denominator > 0)
