r"""External labels of documents, from an LLM judge or another assessor, with their error rates.

.. math:: P(label_d = l \mid rel_d = v, \eta_d) = s_{vl}(\eta_d) \prod_{k < l} (1 - s_{vk}(\eta_d)),
    \quad \mathrm{logit}\, s_{vl}(\eta) = \mathrm{logit}\, \sigma_{vl} + \beta_v \eta

with labels l = 1, ..., K in order and :math:`s_{vK} = 1`: the label is an observation of the
relevance (or the grade), and its errors may go with how likely the document was to be relevant
(continuation-ratio logits). A judge finds the best documents more easily than barely relevant ones,
which stand where little is relevant; and what looks relevant to all systems may look so to the
judge too. :math:`\eta_d` is the model's linear predictor at the mode of what the judgments say
without labels. Where it is 0 the rates :math:`\theta_v` are uniform a priori, :math:`\sigma_{vl}
\sim Beta(1, K - l)`; :math:`\beta_v \sim N(0, .5^2)`. Given these, labels of one column do not
depend on topic or ranks, nor on those of another column. The rates are learned from the pairs that
have both a label and a judgment; no judge is assumed better than chance, and a judge that is always
wrong is as useful as one that is always right. An unjudged document with a label has, by Bayes,

.. math:: P(rel_d = v \mid label_d = l) \propto P(rel_d = v) \, P(label_d = l \mid rel_d = v,
    \eta_d).

A missing label (NaN) says nothing. A column with more than 20 different values is cut into 10
groups of equal size. What breaks it: errors that differ between topics or runs, and columns that
copy each other, which count twice; labels of unjudged documents are not used to learn the rates.
How far rates with one slope for each state go is in ``benchmarks/labels/README.md``.

References
----------
Agresti, "Categorical Data Analysis", 3rd ed. (2013), section 8.3.6, on continuation-ratio logits.
"""

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from bayeseval.collection.schema import predictor_columns, warn_of_copies
from bayeseval.frame.frame import Frame
from bayeseval.messages import Message, Option
from bayeseval.models.relevance.blocks import EFFECTS
from bayeseval.models.relevance.error_rates import error_rates, stick
from bayeseval.models.relevance.mode import mode_effects

PARTS = ("edges", "label", "pair", "rate", "share", "slope", "step", "value")  # X_edges and so on
LABEL_COLUMN = "label_column"  # coord of a model with labels and of its fits: their columns
MANY_VALUES = 20
N_GROUPS = 10
AT_MODE = "label_at_mode_"  # data of this name and then X are the effects X that labels go by


def label_judgments(
    truth,
    relevant: NDArray[np.bool_],
    frame: Frame,
    judged: NDArray,
    external: str | Sequence[str],
    states: list[str],
) -> None:
    """Add labels of the judged pairs to the model of the context, with their error rates.

    ``truth`` (judged_pair,) is the variable of a position in ``states``; ``relevant`` says which
    pairs were judged to be above the first of them.
    """
    import pymc as pm
    import pytensor.tensor as pt

    columns = [external] if isinstance(external, str) else list(external)
    _check_names(columns)
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
    effects, logit = mode_effects(model, relevant)
    pm.Data("label_logit", logit, dims="judged_pair")
    for name, effect in effects.items():
        pm.Data(f"{AT_MODE}{EFFECTS[name].variable}", effect, dims=EFFECTS[name].all_dims)
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
        share, slope = error_rates(column, len(states), edges)
        state = pt.as_tensor(truth)[known]
        odds = pt.log(share[state] / (1.0 - share[state])) + (slope[state] * logit[known])[:, None]
        given = stick(pt.sigmoid(odds), pt)
        pm.Categorical(f"{column}_label", p=given, dims=f"{column}_pair")
        sizes.append(known.size)
    pm.Data("n_labels", np.array(sizes), dims=LABEL_COLUMN)  # what keeps the coord in every fit


def _check_names(columns: list[str]) -> None:
    """Refuse a column that is named twice, or whose parts have names of other parts."""
    import pymc as pm

    model: Any = pm.modelcontext(None)
    taken = set(model.named_vars) | set(model.coords)
    for column in columns:
        if columns.count(column) > 1:
            raise ValueError(f"external names the labels '{column}' twice, which would count twice")
        parts = {f"{column}_{part}" for part in PARTS} | {f"judged_{column}_label"}
        if parts & taken:
            clash = min(parts & taken)
            raise ValueError(
                f"labels cannot be named '{column}' in this model, which has a part '{clash}' "
                "already; add them under another name (be.add_predictions)"
            )
        taken |= parts


def external_values(collection: xr.DataTree, column: str) -> NDArray[np.float64]:
    """Values (pair,) of a column of /predictors."""
    columns = predictor_columns(collection)
    if column not in columns:
        raise ValueError(
            f"there is no external predictor '{column}'; columns of /predictors: "
            f"{', '.join(sorted(columns)) or 'none'}"
        )
    if np.isinf(columns[column]).any():
        raise ValueError(f"external predictor '{column}' holds an infinite value; allowed: finite")
    return columns[column]


def label_edges(values: NDArray[np.float64], column: str) -> NDArray[np.float64]:
    """Least value of each label: the values themselves, or of 10 groups where they are many."""
    known = values[~np.isnan(values)]
    different = np.unique(known)
    if different.size < 2:
        found = "only one value" if different.size else "no value"
        raise ValueError(
            f"external predictor '{column}' has {found} in the frame; two or more can tell "
            "documents apart"
        )
    if different.size <= MANY_VALUES:
        return different
    edges = np.unique(np.quantile(known, np.arange(N_GROUPS) / N_GROUPS, method="lower"))
    return edges if edges.size > 1 else different[:2]  # nearly all are the least


def label_codes(values: NDArray[np.float64], edges: NDArray[np.float64]) -> NDArray[np.int64]:
    """Positions of values among the labels, -1 where there is none."""
    code = np.clip(np.searchsorted(edges, values, side="right") - 1, 0, None)
    return np.where(np.isnan(values), -1, code)


def label_columns(coords: Mapping[Any, Any]) -> list[str]:
    """External columns of a model, by its coords or by those of what its fit has kept."""
    return np.asarray(coords.get(LABEL_COLUMN, ())).tolist()
