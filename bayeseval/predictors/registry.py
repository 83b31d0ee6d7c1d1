"""Predictors by name, and the one place that reads a specification."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayeseval.frame.sample import Sample
from bayeseval.predictors.constant import constant
from bayeseval.predictors.external import external, recalibrated
from bayeseval.predictors.pooled import pooled
from bayeseval.predictors.rank_logistic import rank_logistic
from bayeseval.predictors.values import check_gaps

Specification = str | tuple[str, str | float | Sequence[str]]

PREDICTORS: dict[str, Callable[..., NDArray[np.float64]]] = {
    "constant": constant,
    "external": external,
    "pooled": pooled,
    "rank_logistic": rank_logistic,
    "recalibrated": recalibrated,
}


def reads_columns(name: str) -> bool:
    """Whether a predictor takes columns of /predictors: it has an option ``values``.

    Examples
    --------
    >>> [name for name in PREDICTORS if reads_columns(name)]
    ['external', 'pooled', 'recalibrated']
    """
    return "values" in inspect.signature(PREDICTORS[name]).parameters


def needs_column(name: str) -> bool:
    """Whether a predictor is nothing without a column.

    Examples
    --------
    >>> [name for name in PREDICTORS if needs_column(name)]
    ['external', 'recalibrated']
    """
    options = inspect.signature(PREDICTORS[name]).parameters
    return reads_columns(name) and options["values"].default is inspect.Parameter.empty


def predicted_relevance(
    sample: Sample,
    relevance: NDArray[np.float64],
    specification: Specification,
    *,
    columns: Mapping[str, NDArray[np.float64]] | None = None,
    counted: tuple[float, ...] = (),
) -> NDArray[np.float64]:
    """M of every frame pair by the predictor that a specification names.

    Parameters
    ----------
    sample, relevance
        As for :func:`bayeseval.predictors.constant`.
    specification : str or tuple
        ``"rank_logistic"``, ``"pooled"``, ``("pooled", column)``, ``("external", column)``,
        ``("recalibrated", column)``, ``"constant"`` or ``("constant", value)``; ``pooled`` and
        ``recalibrated`` take a list of columns too.
    columns : mapping of str to float array (frame_pair,), optional
        External predictions by name.
    counted : tuple of float
        Grades of the collection that count as relevant, with infinity where all above the lowest
        do; read by ``external`` where the column holds grades.

    Returns
    -------
    ndarray (replicate, frame_pair)
        M in [0, 1].

    Raises
    ------
    ValueError
        For an unknown predictor or column: the message lists what exists; for values that are there
        because their documents were sampled.

    Examples
    --------
    >>> from bayeseval.frame.sample import Sample
    >>> import numpy as np, bayeseval as be
    >>> sample = Sample(
    ...     np.arange(2), np.zeros(2, int), np.array([0, 2]), np.full(2, 0.5),
    ...     np.array([0, 0]), np.array([[1, 0]], bool), np.arange(1, 3), np.arange(1, 3)[:, None])
    >>> be.predictors.predicted_relevance(sample, np.array([[1.0, 0.0]]), ("constant", 0.3))
    array([[0.3, 0.3]])
    """
    name, argument = name_and_argument(specification)
    options: dict = {}
    if name == "constant":
        options["value"] = None if argument is None else _number(argument)
    elif argument is not None and not reads_columns(name):
        raise ValueError(f"predictor {name!r} takes no argument, {argument!r} was given.")
    elif argument is not None or needs_column(name):
        options["values"] = values = _column(name, argument, columns or {})
        names = [argument] if isinstance(argument, str) else list(argument or ())
        for label, column in zip(names, values.reshape(sample.n_pairs, -1).T, strict=True):
            check_gaps(sample, label, column)
    if name == "external":
        options["counted"] = counted
    return PREDICTORS[name](sample, relevance, **options)


def name_and_argument(specification: Specification) -> tuple[str, Any]:
    """Name and argument of a specification."""
    parts = (specification,) if isinstance(specification, str) else specification
    if not isinstance(parts, tuple | list) or len(parts) not in (1, 2):
        raise ValueError(
            f"predictor {specification!r} is not a name or a pair (name, argument), such as "
            "'pooled' or ('external', column)."
        )
    name = parts[0]
    if name not in PREDICTORS:
        raise ValueError(f"there is no predictor {name!r}; there are: {', '.join(PREDICTORS)}.")
    return name, parts[1] if len(parts) == 2 else None


def _number(argument: Any) -> float:
    try:
        return float(argument)
    except (TypeError, ValueError):
        raise ValueError(
            f"the constant predictor is {argument!r}; allowed: a number from 0 to 1."
        ) from None


def _column(name: str, argument, columns: Mapping[str, NDArray[np.float64]]) -> NDArray[np.float64]:
    listed = ", ".join(repr(column) for column in sorted(columns)) or "none"
    if argument is None:
        raise ValueError(
            f"predictor {name!r} needs a column, as ({name!r}, column); columns of /predictors: "
            f"{listed}."
        )
    if isinstance(argument, list | tuple) and argument and name != "external":
        return np.column_stack([_column(name, one, columns) for one in argument])
    if not isinstance(argument, str) or argument not in columns:
        raise ValueError(
            f"there is no column {argument!r} for predictor {name!r}; columns of /predictors: "
            f"{listed}."
        )
    return np.asarray(columns[argument], dtype=float)
