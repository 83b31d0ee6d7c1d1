"""Measures by name: from the text that ir_measures understands to a plain description."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

LINEAR = frozenset({"P", "RBP", "DCG", "NumRel", "NumRelRet"})
RATIO = frozenset({"AP", "nDCG", "Rprec", "R"})
PREFERENCE = frozenset({"RR", "Success", "Bpref", "infAP", "Judged", "NumRet"})

# The parameters each measure knows; the first form is the one that messages show.
PARAMETERS: dict[str, tuple[str, ...]] = {
    "P": ("cutoff", "rel"),
    "RBP": ("p", "cutoff", "rel"),
    "DCG": ("cutoff", "dcg", "gains"),
    "nDCG": ("cutoff", "dcg", "gains"),
    "AP": ("cutoff", "rel"),
    "Rprec": ("rel",),
    "R": ("cutoff", "rel"),
    "RR": ("cutoff", "rel"),
    "Success": ("cutoff", "rel"),
    "Bpref": ("rel",),
    "infAP": ("rel",),
    "Judged": ("cutoff",),
    "NumRel": ("rel",),
    "NumRet": (),
    "NumRelRet": ("rel",),
}
CUTOFF_REQUIRED = frozenset({"P", "R", "Success"})
EXAMPLES = (
    "P@10, RBP(p=0.8), DCG@20, nDCG@10, AP, AP(rel=2), AP@100, Rprec, R@100, RR, RR@10, "
    "Success@5, Bpref, infAP, Judged@10, NumRel, NumRet, NumRelRet"
)

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
        as 0), and in RBP, which this makes graded unless it says ``rel=``. A grade that a dict
        does not list is its own gain, and ``gains=`` in a measure wins. It is no part of the label.
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
    _check_whole(relevance_level, "relevance_level", f"relevance_level={relevance_level!r}")
    table = _gain_table(gain, grades)
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
    text, name, params = _name_and_params(measure)
    _check_params(text, name, params)
    inline = _gain_table(params.get("gains"))
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


def _name_and_params(measure: Any) -> tuple[str, str, dict[str, Any]]:
    """Split a measure into its text, its name and the parameters that it states."""
    import ir_measures

    if isinstance(measure, ir_measures.Measure):
        text, parsed, name = repr(measure), measure, str(measure.NAME)
    elif isinstance(measure, str):
        text = measure.strip()
        # ir_measures has no DCG, and its NumRelRet hides whether rel= was stated
        read_as = text
        for ours, theirs in (("NumRelRet", "NumRet"), ("DCG", "nDCG")):
            if text.startswith(ours):
                read_as = theirs + text.removeprefix(ours)
        parsed = _parse(text, read_as)
        name = str(parsed.NAME)
        if read_as != text:
            name = "NumRelRet" if name == "NumRet" else "DCG"
    else:
        raise TypeError(
            f"a measure is a name such as 'P@10' or an ir_measures object; {measure!r} is neither."
        )
    params = dict(parsed.params)
    if name == "NumRet" and "rel" in params:
        name = "NumRelRet"
    return text, name, params


def _parse(text: str, read_as: str) -> Any:
    """Parse text with ir_measures, any failure as one sentence."""
    import ir_measures

    try:
        return ir_measures.parse_measure(read_as)
    except NameError as error:
        raise ValueError(f"measure '{text}' does not exist; there are {EXAMPLES}.") from error
    except (ValueError, TypeError) as error:
        raise ValueError(
            f"measure '{text}' cannot be read; write NAME(parameter=value)@cutoff, as in {EXAMPLES}."
        ) from error


def _check_params(text: str, name: str, params: dict[str, Any]) -> None:
    """Refuse unknown measures, unknown parameters and values out of range."""
    if name not in PARAMETERS:
        raise ValueError(f"measure '{text}' does not exist; there are {EXAMPLES}.")
    where = f"measure '{text}'"
    if params.pop("judged_only", False):
        raise ValueError(
            f"{where} asks for judged_only, which is not a parameter here: a measure says what is "
            "counted, the estimator says what an unjudged document counts as."
        )
    for unknown in params.keys() - set(PARAMETERS[name]):
        allowed = ", ".join(PARAMETERS[name]) or "none"
        raise ValueError(f"{where} has no parameter {unknown}; {name} knows these: {allowed}.")
    if name in CUTOFF_REQUIRED and "cutoff" not in params:
        raise ValueError(f"{where} needs a cutoff, such as {name}@10.")
    for parameter in ("cutoff", "rel"):
        if parameter in params:
            _check_whole(params[parameter], parameter, where)
    persistence = params.get("p", 0.8)
    if isinstance(persistence, bool | str) or not 0 < persistence < 1:
        raise ValueError(
            f"{where} has p={persistence}, the probability of going on to the next rank, "
            "which must lie between 0 and 1, neither included."
        )
    if params.get("dcg", "log2") not in ("log2", "exp-log2"):
        raise ValueError(f"{where} has dcg={params['dcg']!r}; allowed are 'log2' and 'exp-log2'.")


def _check_whole(value: Any, parameter: str, where: str) -> None:
    """Refuse anything but a whole number of at least 1."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
        raise ValueError(f"{where}: {parameter} must be a whole number, 1 or more, not {value!r}.")


def _gain_table(
    gain: Any, grades: Iterable[float] | None = None
) -> tuple[tuple[float, float], ...] | None:
    """Gains as sorted (grade, gain) rows, checked."""
    if gain is None:
        return None
    if callable(gain):
        if grades is None:
            raise ValueError("a callable gain is tabulated at the grades that occur: give grades.")
        gain = {grade: gain(grade) for grade in grades if not np.isnan(grade)}
    if not isinstance(gain, Mapping):
        raise ValueError(f"gain must be a dict from grade to gain or a callable, not {gain!r}.")
    for grade, value in gain.items():
        if isinstance(value, str) or not np.isfinite(value) or value < 0:
            raise ValueError(f"grade {grade} has gain {value!r}; a gain is a number, 0 or more.")
    return tuple(sorted((float(grade), float(value)) for grade, value in gain.items()))


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
