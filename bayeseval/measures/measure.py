"""A measure with every parameter filled in, and the relevance that it sees in grades."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Measure:
    """A measure of a ranking, with every parameter filled in."""

    name: str  # as ``ir_measures`` writes it, or ``DCG``
    cutoff: int | None = None  # deepest rank that counts; None: the whole ranking
    parameter: float | None = None  # one number: p of RBP, beta of SetF, recall of IPrec
    relevance_level: int = 1  # lowest grade that counts as relevant, where the measure is binary
    gains: tuple[tuple[float, float], ...] | None = None  # of grades; one not listed is its own
    graded: bool = False  # whether a document counts by its gain, not as relevant or not
    discount: str = "log2"  # of DCG and nDCG: gain, or ("exp-log2") 2**gain - 1, / log2(rank + 1)
    label: str = ""  # canonical text, the label on the dim ``measure`` of every result
    # one weighted sum of relevances over the ranks ("linear"); a sum over the documents of the
    # topic ("count"); a ratio of sums over pairs or single documents ("ratio"); another function of
    # the relevances in the ranking ("list"), or of which documents are judged ("preference"); what
    # ``ir_measures`` scores on judgments ("provided"): these three sampling cannot estimate by sums
    kind: str = "linear"
    provided: Any = None  # measure of ``ir_measures``, where that scores it
    own: Any = None  # row of a measure of the user's own


def described_gains(measures: Iterable[Measure]) -> str:
    """Gain tables of graded measures as JSON text; empty where a grade is its own gain.

    Examples
    --------
    >>> from bayeseval.measures.names import parse_measures
    >>> described_gains(parse_measures(["P@10", "DCG@5"], gain={1: 1, 2: 3}))
    '{"DCG@5": {"1.0": 1.0, "2.0": 3.0}}'
    """
    tables = {measure.label: dict(measure.gains) for measure in measures if measure.gains}
    return json.dumps(tables) if tables else ""


def at_least(level: float) -> tuple[float, float]:
    """Grades that count from a level on: it, and infinity for all above it."""
    return float(level), np.inf


def is_counted(grade: np.ndarray, counted: tuple[float, ...]) -> np.ndarray:
    """Whether grades are among those counted, or those of :func:`at_least`; NaN is not.

    Examples
    --------
    >>> grade = np.array([0.0, 1.0, 2.0, np.nan])
    >>> is_counted(grade, (1.0,)), is_counted(grade, at_least(1))
    (array([False,  True, False, False]), array([False,  True,  True, False]))
    """
    return grade >= min(counted) if np.inf in counted else np.isin(grade, counted)


def relevance(measure: Measure, grade: np.ndarray) -> np.ndarray:
    """Relevance that a measure sees in grades of any shape; NaN (not judged) stays NaN.

    Binary measures see 1 where ``grade >= relevance_level``; graded ones see the gain, never
    below 0, or ``2**gain - 1`` in the ``exp-log2`` form of DCG and in ERR.

    Examples
    --------
    >>> import numpy as np
    >>> from bayeseval.measures.names import parse_measures
    >>> grade = np.array([0.0, 2.0, np.nan])
    >>> relevance(parse_measures("AP")[0], grade)
    array([ 0.,  1., nan])
    >>> relevance(parse_measures("DCG(dcg='exp-log2')")[0], grade)
    array([ 0.,  3., nan])
    """
    grade = np.asarray(grade, dtype=np.float64)
    if not measure.graded:
        return np.where(np.isnan(grade), np.nan, grade >= measure.relevance_level)
    gain = np.maximum(grade, 0.0)
    for listed, value in measure.gains or ():
        gain[grade == listed] = value
    return np.exp2(gain) - 1.0 if measure.discount == "exp-log2" else gain
