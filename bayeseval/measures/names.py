"""Measures by name: from the text that ir_measures understands to a plain description."""

import ast
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from difflib import get_close_matches
from typing import Any

import numpy as np

from bayeseval.collection.choices import check_whole_numbers, is_whole
from bayeseval.measures.measure import Measure
from bayeseval.measures.provided import (
    is_provided,
    known_measures,
    provided_measure,
    provided_names,
)
from bayeseval.measures.table import MEASURES, OWN, Row, row_of
from bayeseval.messages import Message, Option

Gain = Mapping[Any, float] | Callable[[float], float]
EXAMPLES = (
    "P@10, RBP(p=0.8), DCG@20, nDCG@10, AP, AP(rel=2), AP@100, Rprec, R@100, RR, RR@10, "
    "ERR@10, Success@5, SetP, SetR, SetF, IPrec@0.1, Bpref, infAP, Judged@10, NumRel, NumRet, "
    "NumRelRet"
)
# the one number of a measure: its default, the values that are allowed, and these in words
NUMBERS: dict[str, tuple[float | None, Callable[[float], bool], str]] = {
    "p": (
        0.8,
        lambda value: 0 < value < 1,
        "the probability of going on to the next rank, which must lie between 0 and 1, neither "
        "included",
    ),
    "beta": (
        1.0,
        lambda value: 0 <= value < np.inf,
        "the weight of recall beside precision, which must be 0 or more",
    ),
    "recall": (None, lambda value: 0 <= value <= 1, "which must lie between 0 and 1"),
}
BY_INF = {"xinfap": ("xinfAP", "AP"), "infndcg": ("infNDCG", "nDCG")}  # names of sample_eval
# lower-case name -> name here and parameters
ALIASES: dict[str, tuple[str, dict]] = {
    "map": ("AP", {}),
    "map_cut": ("AP", {}),
    "ndcg_cut": ("nDCG", {}),
    "ndcg_burges": ("nDCG", {"dcg": "exp-log2"}),
    "dcg_burges": ("DCG", {"dcg": "exp-log2"}),
    "precision": ("P", {}),
    "recall": ("R", {}),
    "r-precision": ("Rprec", {}),
    "recip_rank": ("RR", {}),
    "mrr": ("RR", {}),
    "hit_rate": ("Success", {}),
    "set_p": ("SetP", {}),
    "set_recall": ("SetR", {}),
    "set_f": ("SetF", {}),
    "num_rel": ("NumRel", {}),
    "num_ret": ("NumRet", {}),
    "num_rel_ret": ("NumRelRet", {}),
}
_NAMES = {name.lower(): name for name in MEASURES}
_CUT = re.compile(r"(?P<name>[a-z][a-z_-]*?)[_.@](?P<cutoff>[1-9][0-9]*)")
_LEVEL = re.compile(r"(?P<measure>.+)-l(?P<level>[1-9][0-9]*)")  # ranx's lowest relevant grade
# ranx's RBP, and trec_eval's interpolated precision
_NUMBERED = re.compile(r"(?P<name>rbp|iprec_at_recall_)(?P<number>[01]?\.[0-9]+)")
TREC_EVAL = {
    "AP": ("map", "map_cut"),
    "P": ("", "P"),
    "nDCG": ("ndcg", "ndcg_cut"),
    "R": ("", "recall"),
    "Success": ("", "success"),
    "RR": ("recip_rank", ""),
    "Rprec": ("Rprec", ""),
    "Bpref": ("bpref", ""),
    "infAP": ("infAP", ""),
    "SetP": ("set_P", ""),
    "SetR": ("set_recall", ""),
    "SetF": ("set_F", ""),
}  # its names without and with a cutoff; its counts are sums over topics, and ours means


def parse_measures(
    measures: Any,
    *,
    relevance_level: int = 1,
    gain: Gain | None = None,
    grades: Iterable[float] | None = None,
) -> list[Measure]:
    """Read one or several measures from names or ``ir_measures`` objects, in the order given.

    Such as ``"P@10"``, ``"RBP(p=0.8)"``, ``ir_measures.nDCG @ 10``; also ``"DCG@20"``.
    ``NumRet(rel=1)`` is the number of relevant documents retrieved and comes back as ``NumRelRet``,
    as in ``ir_measures`` and ``trec_eval``. Names may be written in any case and as trec_eval and
    ranx write them: ``map``, ``ndcg_cut_10``, ``P_10``, ``recip_rank``, ``precision@5-l2``. But
    RBP is binary without a ``gain``, where ranx takes the grades for gains. What the table of
    measures lacks may be one of the user's own or, of kind "provided", one of ``ir_measures``.

    ``relevance_level`` is for the measures that do not say ``rel=`` themselves. ``gain`` is of a
    grade in nDCG and DCG, which are always graded (default: the grade, below 0 as 0), and in RBP,
    which this makes graded unless it says ``rel=``. A dict must list every grade above 0 that
    occurs, and ``gains=`` in a measure wins; a callable is tabulated at the ``grades`` that occur.
    It is no part of the label.

    A ValueError where a measure does not exist, a parameter is out of its range or a measure comes
    twice; a TypeError where something is neither a name nor an ``ir_measures`` measure.

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
    if hasattr(measures, "__array__"):  # labels as results have them
        measures = np.atleast_1d(np.asarray(measures)).tolist()
    listed = list(measures) if isinstance(measures, list | tuple) else [measures]
    if not listed:
        raise ValueError(f"measures is empty; name at least one, such as {EXAMPLES}.")
    check_whole_numbers(1, relevance_level=relevance_level)
    table = gain_table(gain, grades)
    parsed = [_measure(measure, relevance_level, table) for measure in listed]
    labels = [measure.label for measure in parsed]
    for label in labels:
        if labels.count(label) > 1:
            raise ValueError(f"measure {label} is listed twice; name each measure once.")
    return parsed


def _measure(measure: Any, relevance_level: int, table: tuple | None) -> Measure:
    """Describe one measure, checked."""
    text, name, params = name_and_params(measure)
    check_known(text, name, params)
    where = f"measure '{text}'"
    provided = is_provided(name, params)
    if not provided:
        check_parameters(where, name, params)
    check_values(where, params)
    if provided:
        return provided_measure(where, name, params, relevance_level)
    inline = gain_table(params.get("gains"))
    row, number = _row(name), _number(name)
    graded = "gains" in row.parameters or (
        row.takes_gain and table is not None and "rel" not in params
    )
    uses_level = not graded and "rel" in row.parameters
    described = Measure(
        name,
        cutoff=params.get("cutoff"),
        parameter=float(params.get(number, NUMBERS[number][0])) if number else None,
        relevance_level=params.get("rel", relevance_level) if uses_level else 1,
        gains=(inline or table) if graded else None,
        graded=graded,
        discount=params.get("dcg", row.discount),
        kind=row.kind,
        own=OWN.get(name),
    )
    return replace(described, label=_label(described, inline))


def _label(measure: Measure, gains: tuple | None) -> str:
    """Write the canonical text of a measure."""
    shown, at, number = [], measure.cutoff, _number(measure.name)
    value = f"{measure.parameter:.12g}" if number else ""
    if number == "recall":
        at = value
    elif number == "p" or (number and measure.parameter != NUMBERS[number][0]):
        shown.append(f"{number}={value}")
    if measure.relevance_level != 1:
        shown.append(f"rel={measure.relevance_level}")
    if measure.discount != row_of(measure).discount:
        shown.append(f"dcg='{measure.discount}'")
    if gains:
        shown.append(
            "gains={" + ",".join(f"{grade:.12g}:{gain:.12g}" for grade, gain in gains) + "}"
        )
    text = measure.name + (f"({','.join(shown)})" if shown else "")
    return text if at is None else f"{text}@{at}"


def _row(name: str) -> Row:
    """Row of a measure of the table, or of the user's own."""
    return MEASURES.get(name) or OWN[name]


def _number(name: str) -> str | None:
    """Name of the one number that a measure has, or None."""
    return next((one for one in _row(name).parameters if one in NUMBERS), None)


def by_inf(before: str, name: str) -> Message:
    """What a measure of sample_eval is here, after other words."""
    theirs, ours = BY_INF[name]
    return Message(before, f"{theirs} of sample_eval is {ours} by ", Option("estimator", "inf"))


def name_and_params(measure: Any) -> tuple[str, str, dict[str, Any]]:
    """Split a measure into its text, its name and the parameters that it states."""
    import ir_measures

    if isinstance(measure, ir_measures.Measure):
        text, name, params = repr(measure), str(measure.NAME), dict(measure.params)
    elif isinstance(measure, str):
        text = measure.strip()
        name, params = read_alias(text) or _parse(text)
        known = known_measures().get(name.lower())
        if name not in MEASURES and name not in OWN:
            ours = canonical_name(name)
            if ours is None and known is not None:
                name, params = str(known.NAME), known.params | params
            name = ours or name
    else:
        raise TypeError(
            f"a measure is a name such as 'P@10' or an ir_measures object; {measure!r} is "
            "neither (several are a list)."
        )
    if name == "IPrec" and "cutoff" in params:
        params["recall"] = params.pop("cutoff")
    return text, "NumRelRet" if name == "NumRet" and "rel" in params else name, params


def _parse(text: str) -> tuple[str, dict[str, Any]]:
    """Read NAME(parameter=value)@cutoff, the syntax of ``ir_measures``.

    Its own parser stops at DCG, and uses names of ``ast`` that Python 3.14 no longer has.
    """
    try:
        node, stated = ast.parse(text, mode="eval").body, {}
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
            node, stated = node.left, {"cutoff": ast.literal_eval(node.right)}
        if isinstance(node, ast.Call) and not node.args:
            values = {str(part.arg): ast.literal_eval(part.value) for part in node.keywords}
            node, stated = node.func, values | stated
        if isinstance(node, ast.Name):
            return node.id, stated
    except (SyntaxError, ValueError, TypeError, RecursionError, MemoryError):
        pass
    raise ValueError(
        f"measure '{text}' cannot be read; write each measure by itself, as "
        f"NAME(parameter=value)@cutoff: {EXAMPLES}."
    )


def check_known(text: str, name: str, params: dict[str, Any]) -> None:
    """Refuse measures that do not exist, and what no measure here may ask for."""
    where = f"measure '{text}'"
    if name.lower() in BY_INF:
        raise ValueError(by_inf(f"{where} has no name of its own here: ", name.lower()))
    if name not in MEASURES and name not in OWN and name.lower() not in known_measures():
        near = nearest_name(text)
        meant = f"did you mean {near}? There" if near else "there"
        raise ValueError(
            f"{where} does not exist; {meant} are {', '.join([EXAMPLES, *OWN])}, and by estimator "
            f"'assumed' those that ir_measures scores: {', '.join(provided_names())}."
        )
    if params.get("judged_only"):
        raise ValueError(
            f"{where} asks for judged_only, which is not a parameter here: a measure says what is "
            "counted, the estimator says what an unjudged document counts as ('condensed' leaves "
            "such documents out)."
        )


def check_parameters(where: str, name: str, params: dict[str, Any]) -> None:
    """Refuse parameters that a measure lacks, and a measure that lacks one."""
    row, number = _row(name), _number(name)
    known = known_measures().get(name.lower())
    usual = () if known is None else known.SUPPORTED_PARAMS  # those that it lacks are as usual
    for unknown in params.keys() - {*row.parameters, *usual}:
        allowed = ", ".join(row.parameters) or "none"
        raise ValueError(f"{where} has no parameter {unknown}; {name} knows these: {allowed}.")
    if row.needs_cutoff and "cutoff" not in params:
        raise ValueError(f"{where} needs a cutoff, such as {name}@10.")
    if number and NUMBERS[number][0] is None and number not in params:
        raise ValueError(f"{where} needs a {number}, such as {name}@0.1.")


def check_values(where: str, params: dict[str, Any]) -> None:
    """Refuse values out of range."""
    for parameter in ("cutoff", "rel"):
        value = params.get(parameter, 1)
        if not is_whole(value) or value < 1:
            raise ValueError(
                f"{where}: {parameter} must be a whole number, 1 or more, not {value!r}."
            )
    for parameter in params.keys() & NUMBERS.keys():
        value, (_, is_allowed, words) = params[parameter], NUMBERS[parameter]
        if not isinstance(value, int | float | np.number) or not is_allowed(float(value)):
            raise ValueError(f"{where} has {parameter}={value}, {words}.")
    if params.get("dcg", "log2") not in ("log2", "exp-log2"):
        raise ValueError(f"{where} has dcg={params['dcg']!r}; allowed are 'log2' and 'exp-log2'.")


def gain_table(
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
    table = {float(grade): float(value) for grade, value in gain.items()}
    unlisted = sorted(grade for grade in grades or () if grade > 0 and grade not in table)
    if unlisted:
        raise ValueError(
            f"gain has no value for grade {unlisted[0]:g}, which occurs in the judgments; it lists "
            f"{', '.join(f'{grade:g}' for grade in sorted(table)) or 'none'}."
        )
    return tuple(sorted(table.items()))


def canonical_name(name: str) -> str | None:
    """The name here of a measure in any case, or None.

    Examples
    --------
    >>> canonical_name("ndcg"), canonical_name("MAP"), canonical_name("BPM")
    ('nDCG', 'AP', None)
    """
    known = _NAMES.get(name.lower())
    return known or ALIASES.get(name.lower(), (None,))[0]


def read_alias(text: str) -> tuple[str, dict] | None:
    """Name and parameters of a measure as trec_eval or ranx writes it, or None.

    Examples
    --------
    >>> read_alias("ndcg_cut_10"), read_alias("recip_rank"), read_alias("rbp.95")
    (('nDCG', {'cutoff': 10}), ('RR', {}), ('RBP', {'p': 0.95}))
    >>> read_alias("precision@5-l2")
    ('P', {'cutoff': 5, 'rel': 2})
    """
    lower = text.lower()
    if level := _LEVEL.fullmatch(lower):
        read = None if _LEVEL.fullmatch(level["measure"]) else read_alias(level["measure"])
        rel = int(level["level"])
        if read is None or (rel == 1 and "rel" not in MEASURES[read[0]].parameters):
            return read
        return read[0], read[1] | {"rel": rel}
    if numbered := _NUMBERED.fullmatch(lower):
        name, parameter = ("RBP", "p") if numbered["name"] == "rbp" else ("IPrec", "recall")
        return name, {parameter: float(numbered["number"])}
    if lower in ALIASES:
        name, params = ALIASES[lower]
        return name, dict(params)
    cut = _CUT.fullmatch(lower)
    if cut is None or canonical_name(cut["name"]) is None:
        return None
    name, params = ALIASES.get(cut["name"], (canonical_name(cut["name"]), {}))
    return str(name), {**params, "cutoff": int(cut["cutoff"])}


def trec_eval_name(label: str) -> str:
    """The name that trec_eval has for a measure, or the label where it has none.

    Examples
    --------
    >>> trec_eval_name("nDCG@10"), trec_eval_name("AP"), trec_eval_name("RBP(p=0.8)")
    ('ndcg_cut_10', 'map', 'RBP(p=0.8)')
    """
    name, _, cutoff = label.partition("@")
    alone, cut = TREC_EVAL.get(name, ("", ""))
    if not cutoff:
        return alone or label
    return f"{cut}_{cutoff}" if cut else label


def nearest_name(text: str) -> str | None:
    """The measure, with its cutoff, that a misspelt one is most like, or None.

    Examples
    --------
    >>> nearest_name("nDGC@10"), nearest_name("Rprecision"), nearest_name("latency")
    ('nDCG@10', 'Rprec', None)
    """
    name, at, cutoff = text.partition("@")
    name, bracket, params = name.partition("(")
    if not at and (found := re.fullmatch(r"(.*?)[_.]?(\d+)", name)):
        name, at, cutoff = found[1], "@", found[2]
    close = get_close_matches(name.lower(), [*_NAMES, *ALIASES], n=1, cutoff=0.6)
    if not close:
        return None
    own = str(canonical_name(close[0]))
    cut = at + cutoff if {"cutoff", "recall"} & {*MEASURES[own].parameters} else ""
    return own + bracket + params + cut
