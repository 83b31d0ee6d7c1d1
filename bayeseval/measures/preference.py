"""Measures that are not sums of relevances: scores of the runs on one topic.

Each takes the least relevant grade; where something is retrieved, the grades there (NaN where not
judged) and whether it was pooled, all (run, rank); and the grades of all documents (pair,).
"""

import numpy as np

INFAP_EPSILON = 1e-5


def reciprocal_rank(level, _retrieved, grades, _in_pool, _judged_grade) -> np.ndarray:
    """1 / rank of the first relevant document, 0 where there is none."""
    if grades.shape[1] == 0:
        return np.zeros(len(grades))
    relevant = grades >= level
    return np.where(relevant.any(axis=1), 1.0 / (relevant.argmax(axis=1) + 1.0), 0.0)


def success(level, _retrieved, grades, _in_pool, _judged_grade) -> np.ndarray:
    """1 where any document down to the cutoff is relevant."""
    return (grades >= level).any(axis=1).astype(np.float64)


def judged_share(_level, retrieved, grades, _in_pool, _judged_grade) -> np.ndarray:
    """Judged share of what was retrieved down to the cutoff, min(cutoff, length) documents."""
    return (~np.isnan(grades)).sum(axis=1) / np.maximum(retrieved.sum(axis=1), 1)


def retrieved_number(_level, retrieved, _grades, _in_pool, _judged_grade) -> np.ndarray:
    """Count the documents retrieved."""
    return retrieved.sum(axis=1).astype(np.float64)


def binary_preference(level, _retrieved, grades, _in_pool, judged_grade) -> np.ndarray:
    """Sum of 1 - min(n above, R) / min(N, R) over judged relevant, over R (trec_eval >= 8)."""
    n_relevant = np.count_nonzero(judged_grade >= level)
    if n_relevant == 0:
        return np.zeros(len(grades))
    bound = min(np.count_nonzero(judged_grade < level), n_relevant)
    above = np.minimum(np.cumsum(grades < level, axis=1), n_relevant)
    term = 1.0 - above / max(bound, 1)
    return np.where(grades >= level, term, 0.0).sum(axis=1) / n_relevant


def inferred_average_precision(level, _retrieved, grades, in_pool, judged_grade) -> np.ndarray:
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
