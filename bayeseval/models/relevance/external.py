r"""External labels of documents, from an LLM judge or another assessor, with their error rates.

.. math:: P(label_d = l \mid rel_d = v) = \theta_{vl}, \quad \theta_v \sim Dirichlet(1, \dots, 1)

The label is an observation of the relevance (or the grade): given it, labels of one column do not
depend on ranks or topic, nor on those of another column. The error rates :math:`\theta` are learned
from the pairs that have both a label and a judgment; no judge is assumed better than chance, and a
judge that is always wrong is as useful as one that is always right. An unjudged document with a
label has, by Bayes,

.. math:: P(rel_d = v \mid label_d = l) \propto P(rel_d = v) \, \theta_{vl}.

A missing label (NaN) says nothing. A column with more than 20 different values is cut into 10
groups of equal size. What breaks it: errors that go with the ranks or differ between topics, and
columns that copy each other, which count twice; labels of unjudged documents are not used to learn
the error rates.
"""

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from bayeseval.collection.predictions import warn_of_copies
from bayeseval.frame.frame import Frame
from bayeseval.messages import Message, Option

LABEL_COLUMN = "label_column"  # coord of a model with labels and of its fits: their columns
MANY_VALUES = 20
N_GROUPS = 10


def label_judgments(
    truth, frame: Frame, judged: NDArray, external: str | Sequence[str], states: list[str]
) -> None:
    """Add labels of the judged pairs to the model of the context, with their error rates."""
    import pymc as pm
    import pytensor.tensor as pt

    columns = [external] if isinstance(external, str) else list(external)
    unseen = [name for name in frame.design_labels if name not in columns]
    if unseen:
        warnings.warn(
            Message(
                f"the design followed the labels '{unseen[0]}', of which the model knows nothing: "
                "among documents of the same ranks it takes those judged for the others, which "
                "had other labels, and its scores will be off; give ",
                Option("labels", f"{unseen[0]}=FILE", f"external={unseen}"),
            ),
            stacklevel=3,
        )
    if not columns:
        return
    model: Any = pm.modelcontext(None)
    model.add_coord("state", states)
    model.add_coord(LABEL_COLUMN, columns)
    sizes = []
    for column in columns:
        values = external_values(frame.collection, column)[frame.pair]
        warn_of_copies(column, values, frame.grade[0])
        edges = label_edges(values, column)
        code = label_codes(values[judged], edges)
        known = np.flatnonzero(code >= 0)
        model.add_coord(f"{column}_value", edges)
        model.add_coord(f"{column}_pair", frame.labels(judged[known]))
        pm.Data(f"{column}_edges", edges, dims=f"{column}_value")
        pm.Data(f"judged_{column}_label", code[known], dims=f"{column}_pair")
        rate = _error_rates(column, len(states), edges)
        given = pt.as_tensor(rate)[pt.as_tensor(truth)[known]]
        pm.Categorical(f"{column}_label", p=given, dims=f"{column}_pair")
        sizes.append(known.size)
    pm.Data("n_labels", np.array(sizes), dims=LABEL_COLUMN)  # what keeps the coord in every fit


def _error_rates(column: str, n_states: int, edges: NDArray[np.float64]) -> Any:
    r"""Error rates (state, label), a stick broken at one label after the other.

    Of what labels 1, ..., j - 1 leave, label j takes a share :math:`v_j \sim Beta(1, K - j)`; this
    is the uniform Dirichlet, and given labels the shares stay independent. A rate that next to no
    label tells of then varies alone, and not with all others.
    """
    import pymc as pm
    import pytensor.tensor as pt

    model: Any = pm.modelcontext(None)
    model.add_coord(f"{column}_step", edges[:-1])
    left = np.tile(np.arange(edges.size - 1.0, 0.0, -1.0), (n_states, 1))
    share: Any = pm.Beta(f"{column}_share", np.float64(1), left, dims=("state", f"{column}_step"))
    kept: Any = pt.cumprod(1.0 - share, axis=1)
    before = pt.concatenate([pt.ones((n_states, 1)), kept[:, :-1]], axis=1)
    rate = pt.concatenate([share * before, kept[:, -1:]], axis=1)
    return pm.Deterministic(f"{column}_rate", rate, dims=("state", f"{column}_value"))


def external_values(collection: xr.DataTree, column: str) -> NDArray[np.float64]:
    """Values (pair,) of a column of /predictors."""
    node = collection.children.get("predictors")
    known = [] if node is None else sorted(map(str, node.data_vars))
    if node is None or column not in known:
        raise ValueError(
            f"there is no external predictor '{column}'; columns of /predictors: "
            f"{', '.join(known) or 'none'}"
        )
    values = node[column].to_numpy().astype(float)
    if np.isinf(values).any():
        raise ValueError(f"external predictor '{column}' holds an infinite value; allowed: finite")
    return values


def label_edges(values: NDArray[np.float64], column: str) -> NDArray[np.float64]:
    """Least value of each label: the values themselves, or of 10 groups where they are many.

    Examples
    --------
    >>> label_edges(np.array([2.0, np.nan, 0.0, 2.0]), "llm")
    array([0., 2.])
    """
    known = values[~np.isnan(values)]
    different = np.unique(known)
    if different.size < 2:
        raise ValueError(
            f"external predictor '{column}' has {different.size} different values in the frame; "
            "two or more can tell documents apart"
        )
    if different.size <= MANY_VALUES:
        return different
    return np.unique(np.quantile(known, np.arange(N_GROUPS) / N_GROUPS, method="lower"))


def label_codes(values: NDArray[np.float64], edges: NDArray[np.float64]) -> NDArray[np.int64]:
    """Positions of values among the labels, -1 where there is none.

    Examples
    --------
    >>> label_codes(np.array([0.3, np.nan, 0.9]), np.array([0.0, 0.5]))
    array([ 0, -1,  1])
    """
    code = np.clip(np.searchsorted(edges, values, side="right") - 1, 0, None)
    return np.where(np.isnan(values), -1, code)


def label_columns(coords: Mapping[Any, Any]) -> list[str]:
    """External columns of a model, by its coords or by those of what its fit has kept.

    Examples
    --------
    >>> label_columns({"label_column": ("llm", "crowd")}), label_columns({"run": ("a", "b")})
    (['llm', 'crowd'], [])
    """
    return np.asarray(coords.get(LABEL_COLUMN, ())).tolist()


def drawn_error_rates(
    model, column: str, known: Mapping[str, Any], n_draws: int, random: np.random.Generator
) -> dict[str, NDArray[np.float64]]:
    r"""Draws of a column's shares and error rates, exact given judgments and labels.

    Of the pairs of one state that have label j or a later one, :math:`n_j` have j and :math:`m_j` a
    later one; the share of label j is then :math:`Beta(1 + n_j, K - j + m_j)`. ``known`` holds
    ``relevance`` and the column's labels; draws are by variable, (draw, state, step or value).
    """
    edges, states = model.coords[f"{column}_value"], model.coords["state"]
    row = {label: number for number, label in enumerate(model.coords["judged_pair"])}
    labelled = [row[label] for label in model.coords[f"{column}_pair"]]
    state = np.asarray(known["relevance"])
    count = np.zeros((len(states), len(edges)))
    np.add.at(count, (state[labelled], np.asarray(known[f"{column}_label"])), 1.0)
    later = count[:, ::-1].cumsum(axis=1)[:, ::-1][:, 1:]
    left = np.arange(len(edges) - 1.0, 0.0, -1.0)
    share = random.beta(1.0 + count[:, :-1], left + later, size=(n_draws, *later.shape))
    kept = np.cumprod(1.0 - share, axis=2)
    before = np.concatenate([np.ones_like(kept[:, :, :1]), kept[:, :, :-1]], axis=2)
    rate = np.concatenate([share * before, kept[:, :, -1:]], axis=2)
    return {f"{column}_share": share, f"{column}_rate": rate}
