"""How well the labels of a judge agree with the judgments of a sample."""

from collections.abc import Callable

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from bayeseval.collection import check_collection
from bayeseval.collection.choices import check_ci_prob, check_whole_numbers
from bayeseval.collection.schema import check_one_sample, label_names, label_values
from bayeseval.frame.frame import Frame
from bayeseval.predictors.pooled import FEW_LABELS
from bayeseval.rounding import ROUNDING, ratio

Floats = NDArray[np.floating]
# a number of a cross table of what is relevant and what is labelled so: what it is a share of,
# as rows and columns of the table (kappa is no share)
SHARES = {
    "agreement": (slice(None), slice(None)),
    "sensitivity": (1, slice(None)),
    "specificity": (0, slice(None)),
    "precision": (slice(None), 1),
    "prevalence": (slice(None), slice(None)),
    "label_prevalence": (slice(None), slice(None)),
}
QUANTITIES = ["agreement", "kappa", *list(SHARES)[1:]]


def label_agreement(
    collection: xr.DataTree,
    name: str | None = None,
    *,
    relevance_level: int = 1,
    label_level: float | None = None,
    ci_prob: float = 0.9,
) -> xr.Dataset:
    r"""How well the labels of a judge, such as an LLM, agree with the judgments of a sample.

    Every judged document stands for :math:`1 / \pi_d` documents of the frame, so that the numbers
    are of all documents that could have been judged. With y and z whether grade and label say
    relevant the shares of documents are

    .. math:: T_{yz} = \frac{\sum_{d \in s} 1[y_d = y, z_d = z] / \pi_d}{\sum_{d \in s} 1 / \pi_d}

    and with :math:`T_{y \cdot}` and :math:`T_{\cdot z}` their sums Cohen's kappa is
    :math:`(A - E) / (1 - E)` of the agreement :math:`A = T_{00} + T_{11}`, with
    :math:`E = T_{0 \cdot} T_{\cdot 0} + T_{1 \cdot} T_{\cdot 1}`. Standard errors are those of the
    jackknife that leaves out one topic at a time. Intervals of shares are those of Clopper and
    Pearson for as many documents as have that error (Korn and Graubard); that of kappa is
    Student's.

    Parameters
    ----------
    collection : DataTree
        With judgments of one sample and labels. Without a design every judged document counts once,
        and the numbers are of the judged documents.
    name : str, optional
        Of labels that :func:`add_predictions` added; may be left out where there are no others.
    relevance_level : int
        Least grade that is relevant.
    label_level : float, optional
        Least label that says relevant. Default: 0.5 where no label is above 1, else
        ``relevance_level``.
    ci_prob : float
        Probability of the intervals.

    Returns
    -------
    Dataset
        Over ``quantity``: ``estimate``, ``standard_error``, ``interval`` of

        - agreement, the share of documents of which grade and label say the same, and kappa;
        - sensitivity, the share of the relevant that have a relevant label, and specificity, that
          of the others without one;
        - precision, the share of those with a relevant label that are relevant;
        - prevalence, the share of relevant documents, and label_prevalence, that of relevant
          labels, both by the sample.

        Over (grade, label): ``share`` of documents, ``rate``, that of each grade that has a label,
        ``rate_error``, its standard error, and ``number`` of judged documents. More than 20
        different labels are two there, 0 and 1: below ``label_level`` or not. attrs
        ``relevance_level``, ``label_level``, ``unlabelled`` (judged documents without a label).

    Raises
    ------
    ValueError
        No such labels; several judges and no name; several samples; no judged document with a
        label; levels that are no numbers.

    References
    ----------
    Cohen (1960), doi:10.1177/001316446002000104. Korn and Graubard, "Confidence intervals for
    proportions", Survey Methodology 24 (1998).

    Examples
    --------
    >>> import pandas as pd, bayeseval as be
    >>> pairs = {"topic": ["1", "1", "1", "2", "2", "2"], "document": list("abcabc")}
    >>> qrels = pd.DataFrame(pairs | {"grade": [1, 0, 0, 1, 1, 0]})
    >>> labels = pd.DataFrame(pairs | {"label": [1, 0, 1, 1, 0, 0]})
    >>> labelled = be.add_predictions(be.read_collection(qrels), "llm", labels)
    >>> found = be.label_agreement(labelled)
    >>> found.estimate.to_series().round(2).head(4).to_dict()
    {'agreement': 0.67, 'kappa': 0.33, 'sensitivity': 0.67, 'specificity': 0.67}
    """
    check_collection(collection, "judgments")
    check_ci_prob(ci_prob)
    check_one_sample(collection, "labels are compared with one sample")
    check_whole_numbers(1, relevance_level=relevance_level)
    if not (label_level is None or (np.isreal(label_level) and np.isfinite(label_level))):
        raise ValueError(f"label_level must be a finite number, not {label_level!r}")
    name = _judge(collection, name)
    grade, label, topic, weight, unlabelled = _judged_and_labelled(collection, name)
    if label_level is None:
        highest = np.nanmax(label_values(collection, name))  # of unjudged documents too
        label_level = 0.5 if highest <= 1.0 else float(relevance_level)
    relevant, said = (grade >= relevance_level).astype(int), (label >= label_level).astype(int)
    binary, again, seen = (
        _tables(topic, relevant, said, values, (2, 2)) for values in (weight, weight**2, weight**0)
    )
    estimate, error = _jackknifed(binary, _quantities)
    summed = again.sum(axis=0), seen.sum(axis=0)
    bounds = _bounds(estimate, error, binary.sum(axis=0), summed, len(binary) - 1, ci_prob)
    grades, row = np.unique(grade, return_inverse=True)
    labels, column = np.unique(label, return_inverse=True)
    if labels.size > FEW_LABELS:
        labels, column = np.array([0.0, 1.0]), said
    table, number = (
        _tables(topic, row, column, values, (grades.size, labels.size))
        for values in (weight, weight**0)
    )
    rate, rate_error = _jackknifed(table, _rates)
    cells = ("grade", "label")
    return xr.Dataset(
        {
            "estimate": ("quantity", estimate),
            "standard_error": ("quantity", error),
            "interval": (("quantity", "ci_bound"), bounds),
            "share": (cells, table.sum(axis=0) / table.sum()),
            "rate": (cells, rate),
            "rate_error": (cells, rate_error),
            "number": (cells, number.sum(axis=0).astype(int)),
        },
        coords={
            "quantity": QUANTITIES,
            "grade": grades,
            "label": labels,
            "ci_bound": ["lower", "upper"],
        },
        attrs={
            "judge": name,
            "relevance_level": relevance_level,
            "label_level": label_level,
            "unlabelled": unlabelled,
            "ci_prob": ci_prob,
        },
    )


def _judge(collection: xr.DataTree, name: str | None) -> str:
    """Name of the labels that are asked for."""
    known = label_names(collection)
    if isinstance(name, str):
        return name
    if name is not None:
        raise ValueError(f"name must be that of labels, not {name!r}")
    if len(known) != 1:
        raise ValueError(
            f"name the labels: there are {', '.join(known)}"
            if known
            else "the collection has no labels; be.add_predictions adds them"
        )
    return known[0]


def _judged_and_labelled(collection: xr.DataTree, name: str) -> tuple:
    """Grade, label, topic and weight of the judged documents with a label; number of those without.

    Topics are numbered among those that have one.
    """
    frame = Frame.of(collection)
    sample, grade = frame.sample, frame.grade[0]
    label = label_values(collection, name)[frame.pair, 0]
    judged = sample.selected[0] & ~np.isnan(grade)
    both = judged & ~np.isnan(label)
    if not both.any():
        raise ValueError(f"no judged document has a label of '{name}'")
    topic = np.unique(sample.topic[both], return_inverse=True)[1]
    weight = _stood_for(frame)[both]
    return grade[both], label[both], topic, weight, int((judged & ~both).sum())


def _stood_for(frame: Frame) -> Floats:
    """How many documents of its topic each pair of the frame stands for if it is judged."""
    sample, collection = frame.sample, frame.collection
    if frame.scheme != "with_replacement":
        return ratio(1.0, sample.inclusion_probability, otherwise=np.nan)
    count = collection["judgments/draw_count"].transpose(..., "pair").to_numpy()
    drawn = count.reshape(-1, count.shape[-1])[0, sample.pair]
    draws = np.bincount(sample.topic, drawn)[sample.topic]
    chance = collection["design/draw_probability"].to_numpy()[sample.pair]
    return ratio(drawn, draws * chance, otherwise=np.nan)


def _tables(topic, row, column, weight: Floats, shape: tuple[int, int]) -> Floats:
    """Sums of weights (topic, row, column)."""
    table = np.zeros((topic.max() + 1, *shape))
    np.add.at(table, (topic, row, column), weight)
    return table


def _quantities(table: Floats) -> Floats:
    """Quantities (..., quantity) of weights (..., relevant, labelled relevant)."""
    share = table / table.sum(axis=(-2, -1), keepdims=True)
    row, column = share.sum(axis=-1), share.sum(axis=-2)
    agree = share[..., 0, 0] + share[..., 1, 1]
    chance = (row * column).sum(axis=-1)
    found = (
        agree,
        ratio(agree - chance, 1.0 - chance, otherwise=np.nan),
        ratio(share[..., 1, 1], row[..., 1], otherwise=np.nan),
        ratio(share[..., 0, 0], row[..., 0], otherwise=np.nan),
        ratio(share[..., 1, 1], column[..., 1], otherwise=np.nan),
        row[..., 1],
        column[..., 1],
    )
    return np.stack(found, axis=-1)


def _rates(table: Floats) -> Floats:
    """Share of each grade that has a label (..., grade, label)."""
    return ratio(table, table.sum(axis=-1, keepdims=True), otherwise=np.nan)


def _jackknifed(table: Floats, function: Callable[[Floats], Floats]) -> tuple[Floats, Floats]:
    """Function of the sum of tables (topic, row, column), and its standard error.

    By leaving out each topic in turn; NaN with one topic, or where what is left of one of them
    tells nothing.
    """
    whole, n_topics = table.sum(axis=0), len(table)
    value = function(whole)
    if n_topics < 2:
        return value, np.full(value.shape, np.nan)
    left = whole - table
    without = function(np.where(left > ROUNDING * whole, left, 0.0))
    away = without - without.mean(axis=0)
    return value, np.sqrt((n_topics - 1) / n_topics * (away**2).sum(axis=0))


def _bounds(
    estimate: Floats, error: Floats, table: Floats, summed: tuple, freedom: int, ci_prob: float
) -> Floats:
    """Intervals (quantity, bound) of shares of a table of weights, and of kappa.

    Where kappa has no error, as of a judge who never errs or labels all alike, its interval is that
    of the agreement, with the agreement by chance as it is.
    ``summed`` are the squares of the weights and the numbers of documents, tables too.
    """
    from scipy.special import betaincinv, ndtri, stdtrit

    tail = 0.5 * (1.0 - ci_prob)
    bounds = np.full((len(QUANTITIES), 2), np.nan)
    if not freedom:
        return bounds
    reach = -stdtrit(freedom, tail)
    for index, name in enumerate(QUANTITIES):
        p, v = estimate[index], error[index] ** 2
        if name not in SHARES:
            away = reach * error[index] * np.array([-1.0, 1.0])
            if v <= ROUNDING:  # as far as the agreement, above in the list, may be another one
                chance = (table.sum(axis=0) * table.sum(axis=1)).sum() / table.sum() ** 2
                away = (bounds[0] - estimate[0]) / (1.0 - chance)
            bounds[index] = np.clip(p + away, -1.0, 1.0)
            continue
        weight, square, number = (part[SHARES[name]].sum() for part in (table, *summed))
        if not number or np.isnan(v):
            continue
        n = weight**2 / square
        if ROUNDING < p < 1.0 - ROUNDING:
            n = min(ratio(p * (1.0 - p), v, otherwise=number), number) * (ndtri(tail) / reach) ** 2
        x = n * p
        bounds[index] = (
            betaincinv(x, n - x + 1.0, tail) if x > ROUNDING else 0.0,
            betaincinv(x + 1.0, n - x, 1.0 - tail) if n - x > ROUNDING else 1.0,
        )
    return bounds
