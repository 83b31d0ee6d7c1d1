"""Measures by name: from the text that ir_measures understands to a plain description."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from bayeseval.collection.choices import check_whole_numbers
from bayeseval.measures.measure import Measure
from bayeseval.measures.parameters import (
    EXAMPLES,
    check_params,
    gain_table,
    name_and_params,
)
from bayeseval.measures.table import MEASURES

Gain = Mapping[Any, float] | Callable[[float], float]


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
    RBP is binary without a ``gain``, where ranx takes the grades for gains.

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
    check_params(text, name, params)
    inline = gain_table(params.get("gains"))
    row = MEASURES[name]
    graded = "gains" in row.parameters or (
        row.takes_gain and table is not None and "rel" not in params
    )
    uses_level = not graded and "rel" in row.parameters
    described = Measure(
        name,
        cutoff=params.get("cutoff"),
        persistence=float(params.get("p", 0.8)) if "p" in row.parameters else None,
        relevance_level=params.get("rel", relevance_level) if uses_level else 1,
        gains=(inline or table) if graded else None,
        graded=graded,
        discount=params.get("dcg", "log2"),
        kind=row.kind,
    )
    return replace(described, label=_label(described, inline))


def _label(measure: Measure, gains: tuple | None) -> str:
    """Write the canonical text of a measure."""
    shown = []
    if measure.persistence is not None:
        shown.append(f"p={measure.persistence:.12g}")
    if measure.relevance_level != 1:
        shown.append(f"rel={measure.relevance_level}")
    if measure.discount != "log2":
        shown.append(f"dcg='{measure.discount}'")
    if gains:
        shown.append(
            "gains={" + ",".join(f"{grade:.12g}:{gain:.12g}" for grade, gain in gains) + "}"
        )
    text = measure.name + (f"({','.join(shown)})" if shown else "")
    return text if measure.cutoff is None else f"{text}@{measure.cutoff}"
