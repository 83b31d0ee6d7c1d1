"""Scores of all runs on one topic, by the table of measures."""

import numpy as np
from numpy.typing import NDArray

from bayeseval.measures.measure import Measure
from bayeseval.measures.table import BY_RELEVANCE, names_of, row_of


def rank_weight(measure: Measure, depth: int) -> NDArray[np.floating]:
    r"""Weight (rank,) of every rank in a measure, down to its cutoff or to the depth.

    .. math:: score = \sum_i weight_i \, relevance(d_i)

    for a linear measure; for the others, how much a document at each rank matters beside those at
    other ranks.

    Examples
    --------
    >>> from bayeseval.measures.names import parse_measures
    >>> rank_weight(parse_measures("RBP(p=0.5)@3")[0], depth=1000)
    array([0.5  , 0.25 , 0.125])
    """
    reach = depth if measure.cutoff is None else min(depth, measure.cutoff)
    return row_of(measure).weight(reach, measure)


def precision_weights(position: NDArray[np.int32], chance: NDArray) -> NDArray[np.float64]:
    r"""What the document at every rank is expected to add to a sum of precisions, (run, rank).

    .. math:: \frac{1}{i} \left(1 + \sum_{j < i} p_j\right) + \sum_{j > i} \frac{p_j}{j}

    at rank i: the derivative of the sum by the document's relevance, the others relevant with the
    probabilities p, ``chance`` (pair,). Positions (run, rank) are -1 for nothing, which weighs 0.

    Examples
    --------
    >>> precision_weights(np.array([[1, 0, -1]]), np.array([0.5, 1.0]))
    array([[1.25, 1.  , 0.  ]])
    """
    found = position >= 0
    p = np.where(found, chance[position], 0.0)
    inverse = 1.0 / np.arange(1.0, position.shape[1] + 1)
    share = p * inverse
    above = p.cumsum(axis=1) - p
    below = share.sum(axis=1, keepdims=True) - share.cumsum(axis=1)
    return np.where(found, inverse * (1.0 + above) + below, 0.0)


def plain_scores(
    measure: Measure,
    position: NDArray[np.int32],
    value: NDArray,
    total: NDArray | None = None,
    length: NDArray | None = None,
) -> NDArray[np.float64]:
    """Scores (run, column) of every run on one topic by complete relevances, many columns at once.

    ``position`` (run, rank) has the row in ``value`` of the document at a rank, -1 for nothing
    there; ``value`` (pair, column) the relevance of the topic's documents as the measure sees it
    (:func:`relevance`), complete: a column of judgments, or one posterior draw; ``total`` (column,)
    what the measure takes from the topic, of :func:`topic_total`, by default that of ``value``, or
    (run, column) of each run's own topic;
    ``length`` (run,) the number of documents that a run retrieved, by default those with a row. A
    run with nothing retrieved scores 0, and so does every ratio without a relevant document; a
    ratio is at most 1. A measure that needs more than relevances is a ValueError.

    Examples
    --------
    >>> import numpy as np
    >>> from bayeseval.measures.names import parse_measures
    >>> position = np.array([[0, 1, 2], [2, -1, -1]], dtype=np.int32)
    >>> value = np.array([[0.0, 1.0], [1.0, 1.0], [1.0, 0.0]])
    >>> plain_scores(parse_measures("P@2")[0], position, value)
    array([[0.5, 1. ],
           [0.5, 0. ]])
    """
    row = row_of(measure)
    if row.of_relevance is None:
        raise ValueError(
            f"{measure.label} has no score by relevance alone; measures that have one: "
            f"{', '.join(names_of(*BY_RELEVANCE))}."
        )
    position = np.ascontiguousarray(position[:, : measure.cutoff])
    weight = rank_weight(measure, position.shape[1])
    length = (position >= 0).sum(axis=1) if length is None else length
    return row.of_relevance(
        measure,
        position=position,
        value=value,
        weight=weight,
        total=topic_total(measure, value) if total is None else total,
        length=np.minimum(length, position.shape[1]),
    )


def topic_total(
    measure: Measure, value: NDArray, start: NDArray[np.int64] | None = None
) -> NDArray[np.float64] | None:
    """What a measure takes from a topic: relevant documents or ideal gain (column,), or nothing.

    Of values (pair, column), as for :func:`plain_scores`; or from each of several topics (topic,
    column), whose pairs lie between the places ``start`` (topic + 1,). A measure of the user's own
    takes all values of one topic.

    Examples
    --------
    >>> from bayeseval.measures.names import parse_measures
    >>> topic_total(parse_measures("AP")[0], np.array([[1.0, 0.0], [1.0, 1.0]]))
    array([2., 1.])
    """
    if measure.own is not None:
        return value
    of_topic = row_of(measure).of_topic
    if of_topic is None:
        return None
    if start is not None:
        return of_topic(measure, value, start)
    return of_topic(measure, value, np.array([0, len(value)]))[0]


def preference_scores(
    measure: Measure, position: np.ndarray, grade: np.ndarray, pooled: np.ndarray
) -> np.ndarray:
    """Scores (run,) of every run on one topic for Bpref, infAP, Judged and NumRet.

    ``position`` (run, rank) says where in ``grade`` (pair,) a document stands, -1 for nothing
    there; NaN is not judged, and a negative grade is a grade. An unjudged document is not relevant;
    Bpref skips it, infAP counts it where it is ``pooled`` (pair,). A run with nothing retrieved
    scores 0. A measure of another kind is a ValueError.

    References
    ----------
    Buckley and Voorhees, Retrieval evaluation with incomplete information, SIGIR 2004,
    doi:10.1145/1008992.1009000 (bpref, as trec_eval 8 and later compute it).
    Yilmaz and Aslam, Estimating average precision with incomplete and imperfect judgments,
    CIKM 2006, doi:10.1145/1183614.1183633 (infAP).
    """
    score = row_of(measure).of_lists
    if score is None:
        raise ValueError(
            f"{measure.label} is not one of the measures scored here: "
            f"{', '.join(names_of('preference'))}."
        )
    position = np.asarray(position)[:, : measure.cutoff]
    retrieved = position >= 0
    judged_grade = np.asarray(grade)
    grades = np.full(position.shape, np.nan)
    grades[retrieved] = judged_grade[position[retrieved]]
    in_pool = np.zeros(position.shape, dtype=bool)
    in_pool[retrieved] = np.asarray(pooled, dtype=bool)[position[retrieved]]
    return score(measure.relevance_level, retrieved, grades, in_pool, judged_grade)
