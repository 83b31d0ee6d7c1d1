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
    """One measure of the table.

    Parameters
    ----------
    kind : {"linear", "count", "ratio", "preference"}
        As in :class:`Measure`.
    parameters : tuple of str
        Those that it knows; the first form is the one that messages show. Who knows ``gains`` is
        graded, who knows ``rel`` counts grades from a level on.
    weight : callable (depth, measure) -> array (rank,)
        Weights of the ranks in a linear measure; for the others how much a rank matters.
    of_relevance : callable (measure, position, value, weight, total) -> array (run, column)
        Plain score by complete relevances, ``value`` as the run shows them, and ``total``, what the
        next column says of the topic; None where a measure has no such score.
    of_topic : callable (measure, value) -> array (column,), optional
        What a score takes from all documents of the topic: their relevant number or ideal gain.
    of_lists : callable (level, retrieved, grades, in_pool, judged_grade) -> array (run,), optional
        Score of a measure of kind "preference", by what was judged.
    needs_cutoff : bool
    takes_gain : bool
        Whether it becomes graded where a gain is given.
    bounded : bool
        Whether scores by relevance lie between 0 and 1.
    """

    kind: str
    parameters: tuple[str, ...]
    weight: Callable[[int, Measure], NDArray[np.floating]]
    of_relevance: Callable[..., NDArray[np.float64]] | None = None
    of_topic: Callable[[Measure, NDArray], NDArray[np.float64]] | None = None
    of_lists: Callable[..., NDArray[np.float64]] | None = None
    needs_cutoff: bool = False
    takes_gain: bool = False
    bounded: bool = True


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
