"""Plain scores of the measures that are not sums of relevances, one topic at a time."""

from collections.abc import Callable

import numpy as np

from bayeseval.measures.names import Measure

INFAP_EPSILON = 1e-5


def preference_scores(
    measure: Measure, position: np.ndarray, grade: np.ndarray, pooled: np.ndarray
) -> np.ndarray:
    """Scores of every run on one topic for RR, Success, Bpref, infAP, Judged and NumRet.

    An unjudged document is not relevant; Bpref skips it, infAP counts it where it is pooled.

    Parameters
    ----------
    measure : Measure
        One of kind ``"preference"``.
    position : array of int (run, rank)
        Where in `grade` the document at a rank stands, -1 for nothing there.
    grade : array of float (pair,)
        Grades of the topic's documents; NaN, and any negative grade, is not judged.
    pooled : array of bool (pair,)
        Whether a document was in the judging pool, judged or not (infAP alone reads it).

    Returns
    -------
    array of float64 (run,)
        A run with nothing retrieved scores 0.

    Raises
    ------
    ValueError
        Where the measure is of another kind.

    References
    ----------
    Buckley and Voorhees, Retrieval evaluation with incomplete information, SIGIR 2004,
    doi:10.1145/1008992.1009000 (bpref, as trec_eval 8 and later compute it).
    Yilmaz and Aslam, Estimating average precision with incomplete and imperfect judgments,
    CIKM 2006, doi:10.1145/1183614.1183633 (infAP).

    Examples
    --------
    >>> import numpy as np
    >>> from bayeseval.measures.names import parse_measures
    >>> from bayeseval.measures.preference import preference_scores
    >>> position = np.array([[0, 1, 2], [2, -1, -1]])
    >>> grade, pooled = np.array([0.0, 1.0, np.nan]), np.array([True, True, False])
    >>> preference_scores(parse_measures("RR")[0], position, grade, pooled)
    array([0.5, 0. ])
    """
    if measure.name not in PREFERENCES:
        raise ValueError(
            f"{measure.label} is not one of the measures scored here: {', '.join(PREFERENCES)}."
        )
    position = np.asarray(position)[:, : measure.cutoff]
    retrieved = position >= 0
    judged_grade = np.where(np.asarray(grade) >= 0, grade, np.nan)
    grades = np.full(position.shape, np.nan)
    grades[retrieved] = judged_grade[position[retrieved]]
    in_pool = np.zeros(position.shape, dtype=bool)
    in_pool[retrieved] = np.asarray(pooled, dtype=bool)[position[retrieved]]
    return PREFERENCES[measure.name](
        measure.relevance_level, retrieved, grades, in_pool, judged_grade
    )


def _reciprocal_rank(level, _retrieved, grades, _in_pool, _judged_grade) -> np.ndarray:
    """1 / rank of the first relevant document, 0 where there is none."""
    if grades.shape[1] == 0:
        return np.zeros(len(grades))
    relevant = grades >= level
    return np.where(relevant.any(axis=1), 1.0 / (relevant.argmax(axis=1) + 1.0), 0.0)


def _success(level, _retrieved, grades, _in_pool, _judged_grade) -> np.ndarray:
    """1 where any document down to the cutoff is relevant."""
    return (grades >= level).any(axis=1).astype(np.float64)


def _judged(_level, retrieved, grades, _in_pool, _judged_grade) -> np.ndarray:
    """Judged share of what was retrieved down to the cutoff, min(cutoff, length) documents."""
    return (~np.isnan(grades)).sum(axis=1) / np.maximum(retrieved.sum(axis=1), 1)


def _retrieved_number(_level, retrieved, _grades, _in_pool, _judged_grade) -> np.ndarray:
    """Count the documents retrieved."""
    return retrieved.sum(axis=1).astype(np.float64)


def _bpref(level, _retrieved, grades, _in_pool, judged_grade) -> np.ndarray:
    """Sum of 1 - min(n above, R) / min(N, R) over judged relevant, over R (trec_eval >= 8)."""
    n_relevant = np.count_nonzero(judged_grade >= level)
    if n_relevant == 0:
        return np.zeros(len(grades))
    bound = min(np.count_nonzero(judged_grade < level), n_relevant)
    above = np.minimum(np.cumsum(grades < level, axis=1), n_relevant)
    term = 1.0 - above / max(bound, 1)
    return np.where(grades >= level, term, 0.0).sum(axis=1) / n_relevant


def _inferred_average_precision(level, _retrieved, grades, in_pool, judged_grade) -> np.ndarray:
    """Mean expected precision at the judged relevant documents, as trec_eval computes infAP."""
    n_relevant = np.count_nonzero(judged_grade >= level)
    if n_relevant == 0:
        return np.zeros(len(grades))
    relevant, nonrelevant = grades >= level, grades < level
    relevant_above = np.cumsum(relevant, axis=1) - 1.0
    nonrelevant_above = np.cumsum(nonrelevant, axis=1)
    pool_above = np.cumsum(in_pool | ~np.isnan(grades), axis=1) - 1.0
    share = (relevant_above + INFAP_EPSILON) / (
        relevant_above + nonrelevant_above + 2 * INFAP_EPSILON
    )
    # (k - 1)/k * pool above/(k - 1) = pool above/k, which is 0 at the first rank
    rank = np.arange(1, grades.shape[1] + 1)
    precision = np.divide(1.0 + pool_above * share, rank)
    return np.where(relevant, precision, 0.0).sum(axis=1) / n_relevant


PREFERENCES: dict[str, Callable[..., np.ndarray]] = {
    "RR": _reciprocal_rank,
    "Success": _success,
    "Bpref": _bpref,
    "infAP": _inferred_average_precision,
    "Judged": _judged,
    "NumRet": _retrieved_number,
}
