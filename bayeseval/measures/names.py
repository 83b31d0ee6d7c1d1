"""Measures by name: from the text that ir_measures understands to a plain description."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from bayeseval.measures.parameters import (
    EXAMPLES,
    PARAMETERS,
    check_params,
    check_relevance_level,
    gain_table,
    name_and_params,
)

LINEAR = frozenset({"P", "RBP", "DCG", "NumRel", "NumRelRet"})
RATIO = frozenset({"AP", "nDCG", "Rprec", "R"})
PREFERENCE = frozenset({"RR", "Success", "Bpref", "infAP", "Judged", "NumRet"})

Gain = Mapping[Any, float] | Callable[[float], float]


@dataclass(frozen=True)
class Measure:
    """A measure of a ranking, with every parameter filled in.

    Parameters
    ----------
    name : str
        Name as ``ir_measures`` writes it, or ``DCG``.
    cutoff : int, optional
        Deepest rank that counts; None means the whole ranking.
    persistence : float, optional
        Probability of going on to the next rank (RBP alone).
    relevance_level : int
        Lowest grade that counts as relevant, where the measure is binary.
    gains : tuple of (grade, gain), optional
        Gain of the grades listed; a grade not listed is its own gain.
    graded : bool
        Whether a document counts by its gain rather than as relevant or not.
    discount : {"log2", "exp-log2"}
        Form of DCG and nDCG: gain, or ``2**gain - 1``, over ``log2(rank + 1)``.
    label : str
        Canonical text, the label on the dim ``measure`` of every result.
    """

    name: str
    cutoff: int | None = None
    persistence: float | None = None
    relevance_level: int = 1
    gains: tuple[tuple[float, float], ...] | None = None
    graded: bool = False
    discount: str = "log2"
    label: str = ""

    @property
    def kind(self) -> str:
        """What the measure is made of.

        ``"linear"``: one weighted sum of relevances; ``"ratio"``: a ratio of sums over pairs or
        single documents; ``"preference"``: anything else, which sampling cannot estimate by sums.
        """
        if self.name in LINEAR:
            return "linear"
        return "ratio" if self.name in RATIO else "preference"


def parse_measures(
    measures: Any,
    *,
    relevance_level: int = 1,
    gain: Gain | None = None,
    grades: Iterable[float] | None = None,
) -> list[Measure]:
    """Read measures from names or ``ir_measures`` objects.

    Parameters
    ----------
    measures : str or ir_measures measure, or list of these
        Such as ``"P@10"``, ``"RBP(p=0.8)"``, ``ir_measures.nDCG @ 10``; also ``"DCG@20"``.
        ``NumRet(rel=1)`` is the number of relevant documents retrieved and comes back as
        ``NumRelRet``, as in ``ir_measures`` and ``trec_eval``.
    relevance_level : int
        Lowest relevant grade, for the measures that do not say ``rel=`` themselves.
    gain : dict or callable, optional
        Gain of a grade in nDCG and DCG, which are always graded (default: the grade, below 0
        as 0), and in RBP, which this makes graded unless it says ``rel=``. A dict must list every
        grade above 0 that occurs, and ``gains=`` in a measure wins. It is no part of the label.
    grades : iterable of float, optional
        Grades that occur, needed to tabulate a callable ``gain``.

    Returns
    -------
    list of Measure
        In the order given.

    Raises
    ------
    ValueError
        Where a measure does not exist, a parameter is out of its range or a measure comes twice.
    TypeError
        Where something is neither a name nor an ``ir_measures`` measure.

    References
    ----------
    MacAvaney, Macdonald and Ounis, Streamlining evaluation with ir-measures, ECIR 2022,
    doi:10.1007/978-3-030-99739-7_38.

    Examples
    --------
    >>> from bayeseval.measures.names import parse_measures
    >>> [measure.label for measure in parse_measures(["MAP", "RBP", "P(rel=2)@10"])]
    ['AP', 'RBP(p=0.8)', 'P(rel=2)@10']
    >>> parse_measures("DCG@20")[0].kind
    'linear'
    """
    listed = list(measures) if isinstance(measures, list | tuple) else [measures]
    if not listed:
        raise ValueError(f"measures is empty; name at least one, such as {EXAMPLES}.")
    check_relevance_level(relevance_level)
    table = gain_table(gain, grades)
    parsed = [_measure(measure, relevance_level, table) for measure in listed]
    labels = [measure.label for measure in parsed]
    for label in labels:
        if labels.count(label) > 1:
            raise ValueError(f"measure {label} is listed twice; name each measure once.")
    return parsed


def relevance(measure: Measure, grade: np.ndarray) -> np.ndarray:
    """Relevance that a measure sees in grades; NaN (not judged) stays NaN.

    Binary measures see 1 where ``grade >= relevance_level``; graded ones see the gain, never
    below 0, or ``2**gain - 1`` in the ``exp-log2`` form of DCG.

    Parameters
    ----------
    measure : Measure
        The measure.
    grade : array
        Grades of any shape, NaN where not judged.

    Returns
    -------
    array of float64
        Same shape as `grade`.

    Examples
    --------
    >>> import numpy as np
    >>> from bayeseval.measures.names import parse_measures, relevance
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


def _measure(measure: Any, relevance_level: int, table: tuple | None) -> Measure:
    """Describe one measure, checked."""
    text, name, params = name_and_params(measure)
    check_params(text, name, params)
    inline = gain_table(params.get("gains"))
    graded = name in ("nDCG", "DCG") or (
        name == "RBP" and table is not None and "rel" not in params
    )
    uses_level = not graded and "rel" in PARAMETERS[name]
    described = {
        "name": name,
        "cutoff": params.get("cutoff"),
        "persistence": float(params.get("p", 0.8)) if name == "RBP" else None,
        "relevance_level": params.get("rel", relevance_level) if uses_level else 1,
        "gains": (inline or table) if graded else None,
        "graded": graded,
        "discount": params.get("dcg", "log2"),
    }
    return Measure(**described, label=_label(described, inline))


def _label(described: dict[str, Any], gains: tuple | None) -> str:
    """Write the canonical text of a measure."""
    shown = []
    if described["persistence"] is not None:
        shown.append(f"p={described['persistence']:.12g}")
    if described["relevance_level"] != 1:
        shown.append(f"rel={described['relevance_level']}")
    if described["discount"] != "log2":
        shown.append(f"dcg='{described['discount']}'")
    if gains:
        shown.append(
            "gains={" + ",".join(f"{grade:.12g}:{gain:.12g}" for grade, gain in gains) + "}"
        )
    text = described["name"] + (f"({','.join(shown)})" if shown else "")
    return text if described["cutoff"] is None else f"{text}@{described['cutoff']}"
