"""The table of measures: weights of the ranks and plain scores of each of them."""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType

import numpy as np
from numpy.typing import NDArray

from bayeseval.measures.measure import Measure

LITTLE = 500_000  # values to add in less time than numba takes to be imported
SATISFIED = 16.0  # 2 to the highest grade, 4, as gdeval has it


def precision(depth: int, measure: Measure) -> NDArray[np.floating]:
    """Weight 1/k on the first k ranks."""
    assert measure.cutoff is not None
    return np.repeat(np.float64(1.0 / measure.cutoff), depth)


def rank_biased_precision(depth: int, measure: Measure) -> NDArray[np.floating]:
    """Weight (1 - p) p^(i - 1) on rank i. Moffat and Zobel 2008; Park 2016, equation 1."""
    assert measure.parameter is not None
    return (1.0 - measure.parameter) * measure.parameter ** np.arange(depth)


def gain_discount(rank: NDArray) -> NDArray[np.floating]:
    """What DCG makes of gain at a rank (from 1): 1 / log2(rank + 1)."""
    return 1.0 / np.log2(rank + 1.0)


def discounted_gain(depth: int, measure: Measure) -> NDArray[np.floating]:
    """Weight 1 / log2(i + 1) on rank i."""
    return gain_discount(np.arange(1, depth + 1))


def equal_weight(depth: int, measure: Measure) -> NDArray[np.floating]:
    """Weight 1 on every rank."""
    return np.ones(depth)


def reciprocal_weight(depth: int, measure: Measure) -> NDArray[np.floating]:
    """Weight 1 / i on rank i."""
    return 1.0 / np.arange(1, depth + 1)


def sums(n_steps: int) -> ModuleType:
    """Sums over ranks: compiled, or in numpy where the work is too little to import numba.

    Both give the same numbers to the last bit.
    """
    if "numba" not in sys.modules and n_steps <= LITTLE:
        from bayeseval.measures import small_sums

        return small_sums
    from bayeseval.measures import rank_sums

    return rank_sums


def linear(measure: Measure, position, value, weight, **_) -> NDArray[np.float64]:
    """Weighted sum of relevances over the ranks."""
    return sums(position.size * value.shape[1]).weighted_sum(position, weight, value)


def of_every_run(measure: Measure, position, total, **_) -> NDArray[np.float64]:
    """What the topic has, the same for every run."""
    return for_each_run(total, position)


def for_each_run(total: NDArray, position: NDArray) -> NDArray[np.float64]:
    """What the topic of every run has (run, column), of one topic or of each run's."""
    return np.broadcast_to(total, (len(position), total.shape[-1])).copy()


def relevant_number(measure: Measure, value, start) -> NDArray[np.float64]:
    """Number of relevant documents (topic, column)."""
    if start.size == 2:
        return value.sum(axis=0, dtype=np.float64)[None]
    number = np.zeros((start.size - 1, value.shape[1]))
    filled = np.flatnonzero(np.diff(start))
    if filled.size:
        number[filled] = np.add.reduceat(value, start[filled], axis=0, dtype=np.float64)
    return number


def average_precision(measure: Measure, position, value, total, **_) -> NDArray[np.float64]:
    """Sum of the precisions at the relevant documents, by the number of relevant documents."""
    found = sums(position.size * value.shape[1]).precision_sum(position, value)
    return np.minimum(found / np.maximum(total, 1.0), 1.0)


def normalised_gain(measure: Measure, position, value, weight, total, **_) -> NDArray[np.float64]:
    """Discounted gain, by that of the best ranking; 0 where no document has a gain."""
    gain = linear(measure, position, value, weight) / np.where(total > 0, total, 1.0)
    return np.minimum(gain, 1.0)


def ideal_gain(measure: Measure, value, start) -> NDArray[np.float64]:
    """Discounted gain (topic, column) of the best ranking of all documents."""
    reach = value.shape[0] if measure.cutoff is None else min(value.shape[0], measure.cutoff)
    return sums(value.size + 1000 * start.size).best_sum(
        discounted_gain(reach, measure), value, start
    )


def recall(measure: Measure, position, value, weight, total, **_) -> NDArray[np.float64]:
    """Relevant documents down to the cutoff, by the number of relevant documents."""
    share = linear(measure, position, value, weight) / np.maximum(total, 1.0)
    return np.minimum(share, 1.0)


def r_precision(measure: Measure, position, value, total, **_) -> NDArray[np.float64]:
    """Precision at the number of relevant documents."""
    number = for_each_run(np.maximum(total, 1.0), position)
    return sums(position.size * value.shape[1]).cumulative_at(position, value, number) / number


def discount_sum(count: NDArray[np.float64], cutoff: int | None) -> NDArray[np.float64]:
    r"""Sum of the discounts :math:`1 / \log_2(i + 1)` of the first ``count`` ranks.

    Linear between two whole counts, constant past the cutoff, 0 below 0: the ideal discounted gain
    of ``count`` documents of gain 1, extended to estimated (fractional) counts.

    Examples
    --------
    >>> discount_sum(np.array([1.0, 1.5, 3.0]), cutoff=2).round(4)
    array([1.    , 1.3155, 1.6309])
    """
    reach = np.ceil(max(np.max(count, initial=0.0), 1.0)) if cutoff is None else cutoff
    ranks = np.arange(0, int(reach) + 1)
    cumulative = np.concatenate([[0.0], np.cumsum(gain_discount(ranks[1:]))])
    return np.interp(count, ranks, cumulative)


def discount_slope(count: NDArray[np.float64], cutoff: int | None) -> NDArray[np.float64]:
    """Derivative of :func:`discount_sum`: the discount of the next rank, 0 past the cutoff.

    At a whole count, where the function has a kink, it is the mean of the two sides.

    Examples
    --------
    >>> discount_slope(np.array([0.5, 1.5, 7.0]), cutoff=2).round(4)
    array([1.    , 0.6309, 0.    ])
    """
    limit = np.inf if cutoff is None else cutoff

    def after(whole):
        return np.where(whole < limit, gain_discount(np.maximum(whole, 0.0) + 1.0), 0.0)

    above = after(np.floor(count))
    below = after(np.ceil(count) - 1.0)
    return np.where(count > 0, 0.5 * (above + below), above)


def reciprocal_rank(measure: Measure, position, value, **_) -> NDArray[np.float64]:
    """1 / rank of the first relevant document, 0 where there is none."""
    from bayeseval.measures.rank_sums import first_reciprocal

    return first_reciprocal(position, value)


def success(measure: Measure, position, value, **_) -> NDArray[np.float64]:
    """1 where any document down to the cutoff is relevant."""
    return (reciprocal_rank(measure, position, value) > 0).astype(np.float64)


def expected_reciprocal_rank(measure: Measure, position, value, **_) -> NDArray[np.float64]:
    """Mean of 1 / rank where a user stops, who is satisfied with probability (2^grade - 1) / 16."""
    from bayeseval.measures.rank_sums import stopping_sum

    return stopping_sum(position, np.minimum(value / SATISFIED, 1.0))


def set_precision(measure: Measure, position, value, weight, length, **_) -> NDArray[np.float64]:
    """Relevant documents retrieved, by the documents retrieved."""
    return linear(measure, position, value, weight) / np.maximum(length, 1)[:, None]


def set_f(measure: Measure, position, value, weight, total, length, **_) -> NDArray[np.float64]:
    r"""With P and R those of the set, :math:`(1 + \beta) P R / (R + \beta P)`, as in trec_eval."""
    beta = measure.parameter
    assert beta is not None
    whole = length[:, None] + beta * total
    found = linear(measure, position, value, weight)
    return np.minimum((1.0 + beta) * found / np.maximum(whole, 1.0), 1.0)


def interpolated_precision(measure: Measure, position, value, total, **_) -> NDArray[np.float64]:
    """Highest precision from a recall on, rounded to a number of documents as trec_eval does."""
    from bayeseval.measures.rank_sums import best_precision

    assert measure.parameter is not None
    least = np.floor(measure.parameter * for_each_run(total, position) + 0.9)
    return best_precision(position, value, least)


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
    epsilon = 1e-5  # as in trec_eval
    share = (relevant_above + epsilon) / (relevant_above + nonrelevant_above + 2 * epsilon)
    # (k - 1)/k * pool above/(k - 1) = pool above/k, which is 0 at the first rank
    rank = np.arange(1, grades.shape[1] + 1)
    precision = np.divide(1.0 + pool_above * share, rank)
    return np.where(relevant, precision, 0.0).sum(axis=1) / n_relevant


@dataclass(frozen=True)
class Row:
    """One measure of the table."""

    kind: str  # "linear", "count", "ratio", "list", ..., as in :class:`Measure`
    # those that it knows, in the order of messages; who knows ``gains`` is graded, who knows
    # ``rel`` counts grades from a level on
    parameters: tuple[str, ...]
    # (depth, measure) -> (rank,): weights of the ranks in a linear measure; for the others how much
    # a rank matters
    weight: Callable[[int, Measure], NDArray[np.floating]]
    # (measure, position, value, weight, total, length) -> (run, column): plain score by complete
    # relevances, ``value`` as the run shows them and ``total`` by the next column, of one topic
    # (column,) or of each run's (run, column); ``length`` (run,) counts the documents retrieved,
    # down to the cutoff
    of_relevance: Callable[..., NDArray[np.float64]] | None = None
    # (measure, value, start) -> (topic, column): relevant number or ideal gain of all documents of
    # each topic, those from ``start[t]`` to ``start[t + 1]``
    of_topic: Callable[[Measure, NDArray, NDArray], NDArray[np.float64]] | None = None
    # (level, retrieved, grades, in_pool, judged_grade) -> (run,): of kind "preference"
    of_lists: Callable[..., NDArray[np.float64]] | None = None
    needs_cutoff: bool = False
    takes_gain: bool = False  # whether it becomes graded where a gain is given
    bounded: bool = True  # whether scores by relevance lie between 0 and 1
    discount: str = "log2"  # usual one, as in :class:`Measure`


SUMS = ("linear", "count", "ratio")  # kinds of measures that a sample estimates by sums
BY_RELEVANCE = (*SUMS, "list")  # kinds that complete relevances score, such as a posterior draw


def names_of(*kinds: str) -> list[str]:
    """Names of the measures of some kinds, in the order of the table.

    Examples
    --------
    >>> names_of("linear")
    ['P', 'RBP', 'DCG', 'NumRelRet']
    """
    return [name for name, row in MEASURES.items() if row.kind in kinds]


MEASURES: dict[str, Row] = {
    "P": Row("linear", ("cutoff", "rel"), precision, linear, needs_cutoff=True),
    "RBP": Row("linear", ("p", "cutoff", "rel"), rank_biased_precision, linear, takes_gain=True),
    "DCG": Row("linear", ("cutoff", "dcg", "gains"), discounted_gain, linear, bounded=False),
    "NumRelRet": Row("linear", ("rel",), equal_weight, linear, bounded=False),
    "NumRel": Row("count", ("rel",), equal_weight, of_every_run, relevant_number, bounded=False),
    "AP": Row("ratio", ("cutoff", "rel"), reciprocal_weight, average_precision, relevant_number),
    "nDCG": Row("ratio", ("cutoff", "dcg", "gains"), discounted_gain, normalised_gain, ideal_gain),
    "R": Row("ratio", ("cutoff", "rel"), equal_weight, recall, relevant_number, needs_cutoff=True),
    "Rprec": Row("ratio", ("rel",), reciprocal_weight, r_precision, relevant_number),
    "RR": Row("list", ("cutoff", "rel"), reciprocal_weight, reciprocal_rank),
    "Success": Row("list", ("cutoff", "rel"), equal_weight, success, needs_cutoff=True),
    "ERR": Row(
        "list",
        ("cutoff", "gains"),
        reciprocal_weight,
        expected_reciprocal_rank,
        discount="exp-log2",
    ),
    "SetP": Row("list", ("rel",), equal_weight, set_precision),
    "SetR": Row("list", ("rel",), equal_weight, recall, relevant_number),
    "SetF": Row("list", ("beta", "rel"), equal_weight, set_f, relevant_number),
    "IPrec": Row(
        "list", ("recall", "rel"), reciprocal_weight, interpolated_precision, relevant_number
    ),
    "Bpref": Row("preference", ("rel",), equal_weight, of_lists=binary_preference),
    "infAP": Row("preference", ("rel",), reciprocal_weight, of_lists=inferred_average_precision),
    "Judged": Row("preference", ("cutoff",), equal_weight, of_lists=judged_share),
    "NumRet": Row("preference", (), equal_weight, of_lists=retrieved_number, bounded=False),
}
OWN: dict[str, Row] = {}  # measures of the user's own, as :func:`measure` makes them
PROVIDED = Row("provided", (), equal_weight, bounded=False)


def row_of(measure: Measure) -> Row:
    """Row of a measure, of the table or not."""
    if measure.kind == "provided":
        return PROVIDED
    return measure.own or MEASURES[measure.name]
