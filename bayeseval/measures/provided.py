"""Measures that `ir_measures` scores on judgments as they are, by packages that it knows."""

import logging
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayeseval.collection.choices import is_whole
from bayeseval.measures.measure import Measure
from bayeseval.measures.table import MEASURES

TOPIC = "1"  # the one that is scored


def known_measures() -> dict[str, Any]:
    """All measures of ``ir_measures`` by their names in lower case.

    Examples
    --------
    >>> known_measures()["setrelp"]
    SetP(relative=True)
    """
    import ir_measures

    return {name.lower(): one for name, one in ir_measures.measures.registry.items()}


def provided_names() -> list[str]:
    """Names of those that the table of measures lacks.

    Examples
    --------
    >>> provided_names()[:3]
    ['Accuracy', 'BPM', 'Compat']
    """
    names = {str(one.NAME) for one in known_measures().values()}
    return sorted(names - MEASURES.keys() - _of_subtopics())


def is_provided(name: str, params: dict[str, Any]) -> bool:
    """Whether only ``ir_measures`` has a measure, or a parameter that is other than usual.

    Examples
    --------
    >>> is_provided("SetAP", {}), is_provided("SetP", {"relative": True}), is_provided("P", {})
    (True, True, False)
    """
    known, row = known_measures().get(name.lower()), MEASURES.get(name)
    if known is None or row is None:
        return known is not None
    extra, about = params.keys() - row.parameters, known.SUPPORTED_PARAMS
    return extra <= about.keys() and any(params[one] != about[one].default for one in extra)


def provided_measure(where: str, name: str, params: dict[str, Any], level: int) -> Measure:
    """Describe a measure of ``ir_measures``; ``where`` begins what is said of a wrong one."""
    known = known_measures()[name.lower()]
    if name in _of_subtopics():
        raise ValueError(f"{where} needs judgments by subtopic, which a collection does not have.")
    asked = {"rel": level} | params if "rel" in known.SUPPORTED_PARAMS else params
    for unknown in asked.keys() - known.SUPPORTED_PARAMS.keys():
        allowed = ", ".join(one for one in known.SUPPORTED_PARAMS if one != "judged_only") or "none"
        raise ValueError(f"{where} has no parameter {unknown}; {name} knows these: {allowed}.")
    stated = {}
    for parameter, about in known.SUPPORTED_PARAMS.items():
        if parameter in asked:
            stated[parameter] = _checked(where, parameter, about.dtype, asked[parameter])
        elif about.required:
            raise ValueError(f"{where} needs {parameter}, such as {name}({parameter}=3).")
    if stated.get("max_rel", np.inf) <= stated.get("min_rel", 0):
        raise ValueError(f"{where}: max_rel must be above min_rel (by default 0).")
    theirs = type(known)(**stated)
    return Measure(
        repr(theirs),
        cutoff=stated.get("cutoff"),
        relevance_level=stated.get("rel", 1),
        label=repr(theirs),
        kind="provided",
        provided=theirs,
    )


def check_provided(measures: Sequence[Measure], grades: Sequence[float] = ()) -> None:
    """Refuse measures whose package is not installed, and grades that they do not take."""
    for measure in measures:
        if measure.kind != "provided":
            continue
        _provider(measure)
        odd = next((grade for grade in grades if not float(grade).is_integer()), None)
        if odd is not None:
            raise ValueError(
                f"{measure.label} is scored by ir_measures, which takes grades that are whole "
                f"numbers, and there is a grade {odd:g}"
            )


def provided_scores(
    measure: Measure, position: NDArray[np.int32], grade: NDArray
) -> NDArray[np.float64]:
    """Scores (run,) of every run on one topic, as ``ir_measures`` has them.

    ``position`` (run, rank) has the row in ``grade`` (pair,) of the document at a rank, -1 for
    nothing there; NaN is not judged. Where a measure is not defined, as Accuracy is without a
    relevant document, the score is NaN.
    """
    scores = np.full(len(position), float(measure.provided.DEFAULT))
    judged = np.flatnonzero(~np.isnan(grade)).tolist()
    if not judged:
        return scores
    qrels = {TOPIC: {str(row): int(grade[row]) for row in judged}}
    logger = logging.getLogger("ir_measures.cwl_eval")  # says what grades each topic lacks
    logger.disabled, before = True, logger.disabled
    try:
        evaluator = _provider(measure).evaluator([measure.provided], qrels)
        for run, ranking in enumerate(position):
            rows = ranking[ranking >= 0].tolist()
            if rows:
                # Compat takes the documents that were not retrieved for documents of score 0
                ranked = {str(row): float(len(rows) - rank) for rank, row in enumerate(rows)}
                scores[run] = _score(evaluator, ranked)
    finally:
        logger.disabled = before
    return scores


def _score(evaluator, ranked: dict[str, float]) -> float:
    """Score of one ranking; NaN where it has none."""
    try:
        return next((one.value for one in evaluator.iter_calc({TOPIC: ranked})), np.nan)
    except ZeroDivisionError:  # Accuracy of nothing but relevant documents
        return np.nan


def _checked(where: str, parameter: str, kind: type, value: Any) -> Any:
    """Value of a parameter as ``ir_measures`` wants it."""
    number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    if kind is float and number and np.isfinite(value) and value >= 0:
        return float(value)
    if kind is int and is_whole(value) and value >= 0:
        return int(value)
    if kind not in (int, float) and isinstance(value, kind):
        return value
    allowed = {int: "a whole number, 0 or more", float: "a number, 0 or more"}
    wanted = allowed.get(kind, f"of type {kind.__name__}")
    raise ValueError(f"{where}: {parameter} must be {wanted}, not {value!r}.")


def _provider(measure: Measure) -> Any:
    """The package, as ``ir_measures`` wraps it, that scores a measure; an error where it is not."""
    import ir_measures

    able = [one for one in ir_measures.DefaultPipeline.providers if one.supports(measure.provided)]
    for one in able:
        if one.is_available():
            return one
    packages = " or ".join(f"{one.NAME} ({one.install_instructions()})" for one in able)
    raise ValueError(
        f"{measure.label} is scored by a package that is not installed: {packages or 'none'}"
    )


def _of_subtopics() -> set[str]:
    """Names of the measures that need judgments by subtopic."""
    import ir_measures

    return {str(one.NAME) for one in ir_measures.pyndeval.SUPPORTED_MEASURES}
