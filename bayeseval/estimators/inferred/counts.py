"""Numbers of relevant documents inferred from sampled strata: in a list, at a cutoff, in all."""

import numpy as np
from numpy.typing import NDArray

from bayeseval.estimators.inferred.strata import (
    RELEVANT_SMOOTHING,
    SAMPLED_SMOOTHING,
    SampledStrata,
    sampled_strata,
    smoothing_constants,
)
from bayeseval.estimators.list_score import ListScore
from bayeseval.frame.lists import TopicLists
from bayeseval.measures.measure import Measure


def inferred_precision(
    measure: Measure,
    topic: TopicLists,
    *,
    relevant_smoothing: float = RELEVANT_SMOOTHING,
    sampled_smoothing: float = SAMPLED_SMOOTHING,
) -> ListScore:
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

    Parameters
    ----------
    measure : Measure
        P@k, with its relevance level.
    topic : TopicLists
        Rankings, judgments and strata of one topic.
    relevant_smoothing, sampled_smoothing : float
        :math:`\epsilon` and :math:`\epsilon'`. Defaults are those of NIST's ``sample_eval.pl``.

    Returns
    -------
    ListScore
        ``estimate`` (run, replicate), between 0 and 1; NaN where a replicate judged nothing of the
        topic.

    Raises
    ------
    ValueError
        A design with neither strata nor one probability for the whole pool; a judged document
        outside the strata; constants out of range.

    References
    ----------
    Yilmaz, Kanoulas and Aslam, SIGIR 2008, doi:10.1145/1390334.1390437. Cormack and Grossman,
    SIGIR 2019, section 1, doi:10.1145/3331184.3331355.

    Examples
    --------
    >>> from bayeseval.measures.names import parse_measures
    >>> topic = TopicLists(
    ...     position=np.array([[0, 1, 2]], dtype=np.int32),
    ...     grade=np.array([[1.0, np.nan, np.nan, 0.0]]),
    ...     pooled=np.ones(4, dtype=bool),
    ...     stratum=np.array([0, 0, 1, 1], dtype=np.int32),
    ... )
    >>> inferred_precision(parse_measures("P@3")[0], topic).estimate.round(3)  # (2 + 1/3) / 3
    array([[0.778]])
    """
    assert measure.cutoff is not None
    constants = smoothing_constants(relevant_smoothing, sampled_smoothing)
    strata = sampled_strata(measure, topic)
    return strata.score(_expected(strata, constants) / measure.cutoff)


def inferred_number_retrieved(
    measure: Measure,
    topic: TopicLists,
    *,
    relevant_smoothing: float = RELEVANT_SMOOTHING,
    sampled_smoothing: float = SAMPLED_SMOOTHING,
) -> ListScore:
    r"""Number of relevant documents a run retrieves, inferred from sampled judgments.

    .. math:: \sum_c m_c \frac{r_c + \epsilon}{s_c + \epsilon'}

    over the whole list; what it estimates, its bias and its errors are those of
    `inferred_precision` with the length of the list for k. It may exceed the estimated number of
    relevant documents in the pool (`inferred_number_relevant`), whose shares are others.

    Parameters
    ----------
    measure, topic, relevant_smoothing, sampled_smoothing
        As for `inferred_precision`; the measure is NumRelRet.

    Returns
    -------
    ListScore
        ``estimate`` (run, replicate), a number of documents.

    Raises
    ------
    ValueError
        As `inferred_precision`.

    References
    ----------
    NIST's ``sample_eval.pl``, which prints it as ``inum_rel_ret``.

    Examples
    --------
    >>> from bayeseval.measures.names import parse_measures
    >>> topic = TopicLists(
    ...     position=np.array([[0, 1], [2, -1]], dtype=np.int32),
    ...     grade=np.array([[1.0, np.nan, 0.0]]),
    ...     pooled=np.ones(3, dtype=bool),
    ... )
    >>> inferred_number_retrieved(parse_measures("NumRelRet")[0], topic).estimate.round(3)
    array([[2.],
           [0.]])
    """
    constants = smoothing_constants(relevant_smoothing, sampled_smoothing)
    strata = sampled_strata(measure, topic)
    return strata.score(_expected(strata, constants))


def inferred_number_relevant(
    measure: Measure,
    topic: TopicLists,
    *,
    relevant_smoothing: float = RELEVANT_SMOOTHING,
    sampled_smoothing: float = SAMPLED_SMOOTHING,
) -> ListScore:
    r"""Estimated number of relevant documents of a topic, the same for every run.

    .. math:: \hat R = \sum_c r_c \frac{N_c}{n_c}

    with r relevant among the n sampled of the N documents of stratum c; a stratum without a sampled
    document adds nothing.

    Estimand: the relevant documents of the pool. Random is the sample alone; it is the
    Horvitz-Thompson estimate of a stratified sample and unbiased where every stratum is sampled.
    Relevant documents outside the pool, or in strata that nobody sampled, are missed. For its
    variance use estimator ``stat``. Cost: one pass over the sampled documents.

    Parameters
    ----------
    measure : Measure
        NumRel, with its relevance level.
    topic : TopicLists
        Judgments and strata of one topic.
    relevant_smoothing, sampled_smoothing : float
        Not used: here so that one set of options serves all inferred measures.

    Returns
    -------
    ListScore
        ``estimate`` (run, replicate), a number of documents; NaN where a replicate judged nothing
        of the topic.

    Raises
    ------
    ValueError
        As `inferred_precision`.

    References
    ----------
    Yilmaz, Kanoulas and Aslam, SIGIR 2008, doi:10.1145/1390334.1390437; NIST's ``sample_eval.pl``,
    which prints it as ``inum_rel``.

    Examples
    --------
    >>> from bayeseval.measures.names import parse_measures
    >>> topic = TopicLists(
    ...     position=np.array([[0, 1]], dtype=np.int32),
    ...     grade=np.array([[1.0, 0.0, 1.0, np.nan, np.nan]]),
    ...     pooled=np.ones(5, dtype=bool),
    ...     stratum=np.array([0, 0, 1, 1, 1], dtype=np.int32),
    ... )
    >>> inferred_number_relevant(parse_measures("NumRel")[0], topic).estimate  # 2/2 + 3/1
    array([[4.]])
    """
    smoothing_constants(relevant_smoothing, sampled_smoothing)
    strata = sampled_strata(measure, topic)
    count = strata.expanded_count(strata.gain > 0)
    return strata.score(np.repeat(count[None], topic.position.shape[0], axis=0))


def inferred_interpolated_precision(
    measure: Measure,
    topic: TopicLists,
    *,
    recall: float,
    relevant_smoothing: float = RELEVANT_SMOOTHING,
    sampled_smoothing: float = SAMPLED_SMOOTHING,
) -> ListScore:
    r"""Interpolated precision at a level of recall, inferred from sampled judgments.

    .. math:: \max_{j \ge k} \frac{1}{j} F_j, \quad k = \max\{i : F_i < recall \cdot \hat R\},
              \quad F_j = \sum_c m_c \frac{r_c + \epsilon}{s_c + \epsilon'}

    with m, s and r counted down to rank j (all ranks where no rank falls short); 0 where the whole
    list falls short of the recall. Rank k itself is among those compared, as in the reference
    program. Estimand, randomness and bias are those of `inferred_precision`, and the maximum of
    noisy values adds some upwards. At a recall of 1 the smoothing alone can keep a list that holds
    every relevant document short of R, and the value is 0. Cost: one pass over the rankings, and
    their depth times the replicates in memory.

    Parameters
    ----------
    measure : Measure
        Any binary measure, for its relevance level.
    topic : TopicLists
        Rankings, judgments and strata of one topic.
    recall : float
        Share of the estimated number of relevant documents, 0 to 1.
    relevant_smoothing, sampled_smoothing : float
        As for `inferred_precision`.

    Returns
    -------
    ListScore
        ``estimate`` (run, replicate); NaN where a replicate judged nothing of the topic.

    Raises
    ------
    ValueError
        As `inferred_precision`; recall outside [0, 1].

    References
    ----------
    NIST's ``sample_eval.pl``, which prints means over topics as ``iprec@rec``.

    Examples
    --------
    >>> from bayeseval.measures.names import parse_measures
    >>> topic = TopicLists(
    ...     position=np.array([[0, 1, 2]], dtype=np.int32),
    ...     grade=np.array([[1.0, 0.0, 1.0]]),
    ...     pooled=np.ones(3, dtype=bool),
    ... )
    >>> average = parse_measures("AP")[0]
    >>> inferred_interpolated_precision(average, topic, recall=0.9).estimate.round(3)
    array([[0.667]])
    """
    from bayeseval.estimators.inferred.kernels import best_precision_below

    if not 0 <= recall <= 1:
        raise ValueError(f"recall must be from 0 to 1, not {recall!r}")
    constants = smoothing_constants(relevant_smoothing, sampled_smoothing)
    strata = sampled_strata(measure, topic)
    length = np.count_nonzero(topic.top(measure.cutoff) >= 0, axis=1)
    least = recall * strata.expanded_count(strata.gain > 0)
    best = best_precision_below(
        strata.position, length, strata.stratum, strata.n_strata, strata.cells, constants, least
    )
    return strata.score(best)


def _expected(strata: SampledStrata, constants: NDArray[np.float64]) -> NDArray[np.float64]:
    """Expected relevant documents of the lists, (run, replicate)."""
    from bayeseval.estimators.inferred.kernels import expected_relevant

    return expected_relevant(
        strata.position,
        strata.stratum,
        strata.n_strata,
        strata.cells,
        strata.n_replicates,
        constants,
    )
