"""Measures of the user's own."""

import re
from collections.abc import Callable
from functools import partial
from keyword import iskeyword
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayeseval.measures.measure import Measure
from bayeseval.measures.names import BY_INF, canonical_name, read_alias
from bayeseval.measures.provided import known_measures
from bayeseval.measures.table import OWN, Row, reciprocal_weight


def measure(name: str, function: Callable[[NDArray, NDArray], Any]) -> str:
    """Make a function of grades a measure, whose name is one wherever measures are named.

    Estimators "assumed" and "condensed" have it, and so do models: there the function scores every
    posterior draw of the grades, so the measure has an interval. It lasts as long as the Python
    session; a second call with the name replaces it.

    Parameters
    ----------
    name : str
        Letters, digits and underscores. ``name@10`` is the measure of the first 10 documents.
    function : callable
        ``function(grades, all_grades)`` scores one run on one topic in many columns at once, which
        are samples or posterior draws. ``grades`` (rank, column) are those of the documents that
        the run retrieved, down to the cutoff, best first; "assumed" has 0 for those not judged.
        ``all_grades`` (document, column), to be read only, are those of all documents that were
        judged, or that the model knows. Both are floats, 0 for grades below; where a ``gain`` is
        given, they are the gains. It returns a score (column,). A run without documents scores 0.

    Returns
    -------
    str
        The name.

    Raises
    ------
    ValueError
        A name that no label can carry, or of another measure. Where the measure is used: scores of
        a wrong shape, or not finite.

    Examples
    --------
    The highest grade among the first three documents:

    >>> import pandas as pd, bayeseval as be
    >>> run = pd.DataFrame({"run": "a", "topic": "1", "document": list("abcd")})
    >>> qrels = pd.DataFrame({"topic": "1", "document": list("abcd"), "grade": [1, 0, 2, 3]})
    >>> collection = be.read_collection(qrels, run.assign(score=[4, 3, 2, 1]))
    >>> best = be.measure("Best", lambda grades, all_grades: grades.max(axis=0))
    >>> be.evaluate(collection, f"{best}@3", estimator="assumed").estimate.item()
    2.0
    """
    if not callable(function):
        raise TypeError(f"function must be callable, not {function!r}.")
    if not isinstance(name, str) or not re.fullmatch("[A-Za-z][A-Za-z0-9_]*", name):
        raise ValueError(
            f"name {name!r} cannot be read in a label; allowed are letters, digits and "
            "underscores, a letter first, such as 'Mine'."
        )
    ours = canonical_name(name) or (read_alias(name) or ("",))[0]  # such as P_10
    if ours or iskeyword(name) or name.lower() in {*known_measures(), *BY_INF}:
        raise ValueError(
            f"name '{name}' means {ours or 'something else'} already; allowed is one that no "
            "measure here or in ir_measures has, and that is no word of Python."
        )
    OWN[name] = Row(
        "list",
        ("cutoff", "gains"),
        reciprocal_weight,
        partial(_scores, function),
        bounded=False,
    )
    return name


def _scores(
    function: Callable, measure: Measure, position, value, total, length, **_
) -> NDArray[np.float64]:
    """Scores (run, column) by a function of grades, checked."""
    scores, total = np.zeros((len(position), value.shape[1])), total.view()
    total.flags.writeable = False  # for the function, as it is the same for all runs
    for run, size in enumerate(length):
        if not size:
            continue
        found = np.flatnonzero(position[run, :size] >= 0)
        grades = np.zeros((size, value.shape[1]))
        grades[found] = value[position[run, found]]
        score = np.asarray(function(grades, total), dtype=np.float64)
        if score.shape != scores[run].shape:
            raise ValueError(
                f"{measure.label} must return a score for each column, of shape "
                f"{scores[run].shape}, and its function returned shape {score.shape} for grades of "
                f"shape {grades.shape}"
            )
        if not np.isfinite(score).all():
            raise ValueError(
                f"{measure.label} must return finite scores, and its function returned "
                f"{score[~np.isfinite(score)][0]:g}"
            )
        scores[run] = score
    return scores
