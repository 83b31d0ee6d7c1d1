"""The table of measures: what each of them is made of."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bayeseval.measures.linear import (
    discounted_gain,
    equal_weight,
    linear,
    of_every_run,
    precision,
    rank_biased_precision,
    reciprocal_weight,
    relevant_number,
)
from bayeseval.measures.measure import Measure
from bayeseval.measures.preference import (
    binary_preference,
    inferred_average_precision,
    judged_share,
    reciprocal_rank,
    retrieved_number,
    success,
)
from bayeseval.measures.ratio import (
    average_precision,
    ideal_gain,
    normalised_gain,
    r_precision,
    recall,
)


@dataclass(frozen=True)
class Row:
    """One measure of the table."""

    kind: str  # "linear", "count", "ratio" or "preference", as in :class:`Measure`
    # those that it knows, in the order of messages; who knows ``gains`` is graded, who knows
    # ``rel`` counts grades from a level on
    parameters: tuple[str, ...]
    # (depth, measure) -> (rank,): weights of the ranks in a linear measure; for the others how much
    # a rank matters
    weight: Callable[[int, Measure], NDArray[np.floating]]
    # (measure, position, value, weight, total) -> (run, column): plain score by complete
    # relevances, ``value`` as the run shows them and ``total`` of the topic by the next column
    of_relevance: Callable[..., NDArray[np.float64]] | None = None
    # (measure, value) -> (column,): relevant number or ideal gain of all documents of the topic
    of_topic: Callable[[Measure, NDArray], NDArray[np.float64]] | None = None
    # (level, retrieved, grades, in_pool, judged_grade) -> (run,): of kind "preference"
    of_lists: Callable[..., NDArray[np.float64]] | None = None
    needs_cutoff: bool = False
    takes_gain: bool = False  # whether it becomes graded where a gain is given
    bounded: bool = True  # whether scores by relevance lie between 0 and 1


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
    "RR": Row("preference", ("cutoff", "rel"), reciprocal_weight, of_lists=reciprocal_rank),
    "Success": Row(
        "preference", ("cutoff", "rel"), equal_weight, of_lists=success, needs_cutoff=True
    ),
    "Bpref": Row("preference", ("rel",), equal_weight, of_lists=binary_preference),
    "infAP": Row("preference", ("rel",), reciprocal_weight, of_lists=inferred_average_precision),
    "Judged": Row("preference", ("cutoff",), equal_weight, of_lists=judged_share),
    "NumRet": Row("preference", (), equal_weight, of_lists=retrieved_number, bounded=False),
}


def names_of(*kinds: str) -> list[str]:
    """Names of the measures of some kinds, in the order of the table.

    Examples
    --------
    >>> names_of("linear")
    ['P', 'RBP', 'DCG', 'NumRelRet']
    """
    return [name for name, row in MEASURES.items() if row.kind in kinds]
