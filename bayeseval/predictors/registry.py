"""Predictors by name: specifications are read, and labels that depend on the sample refused."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from bayeseval.collection.schema import label_names, label_values
from bayeseval.frame.frame import Frame
from bayeseval.frame.independence import DrawnTogether
from bayeseval.frame.sample import Sample
from bayeseval.predictors.cross_fitting import constant, rank_logistic
from bayeseval.predictors.external import external, recalibrated
from bayeseval.predictors.pooled import FEW_LABELS, pooled

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
        try:
            options["value"] = None if argument is None else float(argument)
        except (TypeError, ValueError):
            raise ValueError(
                f"the constant predictor is {argument!r}; allowed: a number from 0 to 1."
            ) from None
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


def _column(name: str, argument, columns: Mapping[str, NDArray[np.float64]]) -> NDArray[np.float64]:
    listed = ", ".join(repr(column) for column in sorted(columns)) or "none"
    if argument is None:
        raise ValueError(
            f"predictor {name!r} needs a column, as ({name!r}, column); columns of /predictors: "
            f"{listed}."
        )
    if isinstance(argument, list | tuple) and argument and name != "external":
        return np.column_stack([_column(name, label, columns) for label in argument])
    if not isinstance(argument, str) or argument not in columns:
        raise ValueError(
            f"there is no column {argument!r} for predictor {name!r}; columns of /predictors: "
            f"{listed}."
        )
    return np.asarray(columns[argument], dtype=float)


def check_labels(sampled: xr.DataTree) -> None:
    """Refuse labels of a collection that depend on its sample (:func:`check_gaps`)."""
    names = label_names(sampled)
    if not names:
        return
    frame = Frame.drawn_from(sampled)
    for name in names:
        check_gaps(frame.sample, name, label_values(sampled, name)[frame.pair, 0])


def check_gaps(sample: Sample, name: str, values: NDArray[np.float64]) -> None:
    r"""Refuse values whose presence, absence or size depends on what was sampled.

    The documents that were not sampled would be predicted as documents without a value, and the
    difference estimator would be biased by all that a value is worth.

    .. math:: z = \sum_d (s_d - \pi_d) / \sqrt{V}

    The sum is over the documents that have a value, or one certain label (such as -1 for documents
    without a judgment), in topics with a judgment; :math:`s_d` is 1 where d is selected, and V is
    the variance of their number by the design (in strata the hypergeometric one, which is 0 where
    all documents have a value, or none). One rare document in the sample can give a large z by
    itself: values are refused where z is beyond 5 and the probability is also below 3e-6 by
    Chernoff's bound for independent draws, which holds for draws without replacement too.
    ``values`` (frame_pair,) are NaN where there is none.
    """
    if sample.selected.all():  # no other document is listed
        return
    chance = sample.inclusion_probability
    labels = np.unique(values[~np.isnan(values)])
    groups = {"one": ~np.isnan(values)}
    if labels.size <= FEW_LABELS:
        groups |= {f"{label:g}": values == label for label in labels}
    together = DrawnTogether.of(sample)
    for drawn in sample.selected:
        begun = np.bincount(sample.topic[drawn], minlength=sample.n_topics) > 0
        seen = begun[sample.topic]
        for value, group in groups.items():
            rows = np.flatnonzero(seen & group)
            variance = together.variances(rows, np.ones(rows.size))
            uncertain = seen & (variance > 0)[together.group]
            deviation = np.sqrt(variance.sum())
            far = abs((drawn - chance)[uncertain & group].sum()) > 5.0 * deviation + 1e-9
            parts = (uncertain & group, uncertain & ~group)
            unlikely = np.log(3e-6)
            if far and any(log_tail(chance[p], int(drawn[p].sum())) < unlikely for p in parts):
                counts = [f"{(group & of).sum()} of {of.sum()}" for of in (drawn, seen & ~drawn)]
                raise ValueError(
                    f"labels '{name}': {counts[0]} sampled documents have {value} and {counts[1]} "
                    "others, so that they tell what was sampled; label all documents that could be "
                    "sampled (or some chosen before the draw), or leave the labels out"
                )


def log_tail(chance: NDArray[np.float64], number: int) -> float:
    r"""Log of a bound on the probability that so many, or a more extreme number, are drawn.

    .. math:: \min_t \sum_d \log(1 - \pi_d + \pi_d e^t) - t s

    for s drawn documents, with the chances pi (document,).
    """
    low, high = -50.0, 50.0  # of the exponent t
    for _ in range(60):
        middle = 0.5 * (low + high)
        tilted = chance / (chance + (1.0 - chance) * np.exp(-middle))
        low, high = (middle, high) if tilted.sum() < number else (low, middle)
    slope = 0.5 * (low + high)
    return float(np.log1p(chance * np.expm1(slope)).sum() - slope * number)
