"""What the user writes of a measure: its name and parameters, read and checked."""

import ast
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from bayeseval.collection.choices import is_whole
from bayeseval.measures.aliases import canonical_name, nearest_name, read_alias
from bayeseval.measures.table import MEASURES
from bayeseval.messages import Message, Option

EXAMPLES = (
    "P@10, RBP(p=0.8), DCG@20, nDCG@10, AP, AP(rel=2), AP@100, Rprec, R@100, RR, RR@10, "
    "Success@5, Bpref, infAP, Judged@10, NumRel, NumRet, NumRelRet"
)


BY_INF = {"xinfap": ("xinfAP", "AP"), "infndcg": ("infNDCG", "nDCG")}  # names of sample_eval


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
        known = ir_measures.measures.registry.get(name)
        name = str(known.NAME) if known is not None and name not in MEASURES else name
        name = name if name in MEASURES else canonical_name(name) or name
    else:
        raise TypeError(
            f"a measure is a name such as 'P@10' or an ir_measures object; {measure!r} is "
            "neither (several are a list)."
        )
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


def check_params(text: str, name: str, params: dict[str, Any]) -> None:
    """Refuse unknown measures, unknown parameters and values out of range."""
    if name not in MEASURES:
        if name.lower() in BY_INF:
            before = f"measure '{text}' has no name of its own here: "
            raise ValueError(by_inf(before, name.lower()))
        import ir_measures

        # what ir_measures knows and this table lacks is not misspelt
        near = None if name in ir_measures.measures.registry else nearest_name(text)
        meant = f"did you mean {near}? There" if near else "there"
        raise ValueError(f"measure '{text}' does not exist; {meant} are {EXAMPLES}.")
    where = f"measure '{text}'"
    if params.get("judged_only"):
        raise ValueError(
            f"{where} asks for judged_only, which is not a parameter here: a measure says what is "
            "counted, the estimator says what an unjudged document counts as ('condensed' leaves "
            "such documents out)."
        )
    row = MEASURES[name]
    for unknown in params.keys() - {*row.parameters, "judged_only"}:
        allowed = ", ".join(row.parameters) or "none"
        raise ValueError(f"{where} has no parameter {unknown}; {name} knows these: {allowed}.")
    if row.needs_cutoff and "cutoff" not in params:
        raise ValueError(f"{where} needs a cutoff, such as {name}@10.")
    for parameter in ("cutoff", "rel"):
        value = params.get(parameter, 1)
        if not is_whole(value) or value < 1:
            raise ValueError(
                f"{where}: {parameter} must be a whole number, 1 or more, not {value!r}."
            )
    persistence = params.get("p", 0.8)
    if not isinstance(persistence, int | float | np.floating) or not 0 < persistence < 1:
        raise ValueError(
            f"{where} has p={persistence}, the probability of going on to the next rank, "
            "which must lie between 0 and 1, neither included."
        )
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
