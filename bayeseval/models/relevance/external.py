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

References
----------
Agresti, "Categorical Data Analysis", 3rd ed. (2013), section 8.3.6, on continuation-ratio logits.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from bayeseval.collection.schema import predictor_columns, warn_of_copies
from bayeseval.frame.frame import Frame
from bayeseval.messages import Message, Option, warn
from bayeseval.models.relevance.blocks import EFFECTS
from bayeseval.models.relevance.mode import mode_effects
from bayeseval.rounding import ROUNDING

PARTS = ("edges", "label", "pair", "rate", "share", "slope", "step", "value")  # X_edges and so on
LABEL_COLUMN = "label_column"  # coord of a model with labels and of its fits: their columns
AT_MODE = "label_at_mode_"  # data of this name and then X are the effects X that labels go by
SLOPE_SD = 0.5  # of a rate's log odds in those of relevance
GRID = np.linspace(-5.0, 5.0, 41)  # deviations from the mode


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
        warn(
            Message(
                f"the design followed the labels '{unseen[0]}', of which the model knows nothing: "
                "among documents of the same ranks it takes those judged for the others, which "
                "had other labels, and its scores will be off; give ",
                Option("labels", f"{unseen[0]}=FILE", f"external={unseen}"),
            ),
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
        number = "only one value" if different.size else "no value"
        raise ValueError(
            f"external predictor '{column}' has {number} in the frame; two or more can tell "
            "documents apart"
        )
    if different.size <= 20:
        return different
    edges = np.unique(np.quantile(known, np.arange(10) / 10, method="lower"))
    return edges if edges.size > 1 else different[:2]  # nearly all are the least


def label_codes(values: NDArray[np.float64], edges: NDArray[np.float64]) -> NDArray[np.int64]:
    """Positions of values among the labels, -1 where there is none."""
    code = np.clip(np.searchsorted(edges, values, side="right") - 1, 0, None)
    return np.where(np.isnan(values), -1, code)


def label_columns(coords: Mapping[Any, Any]) -> list[str]:
    """External columns of a model, by its coords or by those of what its fit has kept."""
    return np.asarray(coords.get(LABEL_COLUMN, ())).tolist()


def error_rates(column: str, n_states: int, edges: NDArray[np.float64]) -> tuple[Any, Any]:
    """Shares (state, step) where the linear predictor is 0, and slopes (state,) in it.

    Of what labels 1, ..., j - 1 leave, label j takes a share; a rate that next to no label tells of
    then varies alone, and not with all others.
    """
    import pymc as pm
    import pytensor.tensor as pt

    model: Any = pm.modelcontext(None)
    model.add_coord(f"{column}_step", edges[:-1])
    remaining = np.tile(np.arange(edges.size - 1.0, 0.0, -1.0), (n_states, 1))
    share: Any = pm.Beta(
        f"{column}_share", np.float64(1), remaining, dims=("state", f"{column}_step")
    )
    slope: Any = pm.Normal(f"{column}_slope", np.float64(0), np.float64(SLOPE_SD), dims="state")
    pm.Deterministic(f"{column}_rate", stick(share, pt), dims=("state", f"{column}_value"))
    return share, slope


def stick(share, arrays=np):
    """Rates (..., label) of shares (..., step) of what is left; of a numpy or pytensor array."""
    kept = arrays.cumprod(1.0 - share, axis=-1)
    before = arrays.concatenate([arrays.ones_like(kept[..., :1]), kept[..., :-1]], axis=-1)
    return arrays.concatenate([share * before, kept[..., -1:]], axis=-1)


def label_rate(
    code: NDArray[np.int64], share: NDArray, slope: NDArray, logit: NDArray
) -> NDArray[np.float32]:
    """P(label) (pair, draw) of pairs with label ``code`` (pair,), all in one state.

    A code of -1, no label, has the probability 1. ``share`` (draw, step), ``slope`` (draw,),
    ``logit`` (pair,).

    Examples
    --------
    >>> share, slope = np.array([[0.5, 0.5]]), np.array([0.0])
    >>> label_rate(np.array([0, 1, 2, -1]), share, slope, np.zeros(4))[:, 0]
    array([0.5 , 0.25, 0.25, 1.  ], dtype=float32)
    """
    moved = (slope * logit[:, None]).astype(np.float32)
    rate = np.ones((code.size, slope.size), np.float32)
    with np.errstate(divide="ignore"):
        odds = np.log(share / (1.0 - share)).astype(np.float32)
    for step in range(min(share.shape[1], int(code.max(initial=-1)) + 1)):
        rows = np.flatnonzero(code >= step)
        sign = np.where(code[rows] == step, -1.0, 1.0).astype(np.float32)[:, None]
        # 80 is an exponent that single precision holds
        rate[rows] /= 1.0 + np.exp(np.minimum(sign * (odds[:, step] + moved[rows]), 80.0))
    return np.maximum(rate, 1e-30)  # what has less in all states would be 0 / 0


def drawn_error_rates(
    model,
    column: str,
    judged: NDArray[np.int64],
    known: Mapping[str, Any],
    n_draws: int,
    random: np.random.Generator,
) -> dict[str, NDArray[np.float64]]:
    """Draws of a column's shares, slopes and rates, given judgments, labels and ``label_logit``.

    States are apart from each other, and given its slope the shares of a state too: the slope is
    drawn by sums over grids of the shares, then each share. ``judged`` (judged_pair,) holds the
    states and ``known`` the column's labels; draws are by variable, (draw, state, step or value).
    """
    edges, states = model.coords[f"{column}_value"], model.coords["state"]
    row = {label: number for number, label in enumerate(model.coords["judged_pair"])}
    labelled = [row[label] for label in model.coords[f"{column}_pair"]]
    state = judged[labelled]
    code = np.asarray(known[f"{column}_label"])
    logit = model["label_logit"].get_value()[labelled]
    drawn = [
        _drawn_steps(code[own], logit[own], len(edges) - 1, n_draws, random)
        for own in (state == number for number in range(len(states)))
    ]
    share, slope = (np.stack([of_state[k] for of_state in drawn], axis=1) for k in (0, 1))
    names = ("share", "slope", "rate")
    values = (share, slope, stick(share))
    return {f"{column}_{name}": value for name, value in zip(names, values, strict=True)}


def _drawn_steps(
    code: NDArray, logit: NDArray, n_steps: int, n_draws: int, random: np.random.Generator
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Draws of the shares (draw, step) and the slope (draw,) of pairs in one state."""
    from scipy.special import expit, log_expit, logsumexp

    mode, sd = _mode_of_steps(code, logit, n_steps)
    slope = mode[-1] + sd[-1] * GRID
    density = -0.5 * (slope / SLOPE_SD) ** 2
    given = np.empty((n_steps, GRID.size, GRID.size))  # of a share's log odds, by slope
    for step in range(n_steps):
        odds = mode[step] + sd[step] * GRID
        given[step] = log_expit(odds) + (n_steps - step) * log_expit(-odds)
        rows = np.flatnonzero(code >= step)
        for part in np.array_split(rows, 1 + rows.size // 500):
            sign = np.where(code[part] == step, 1.0, -1.0)
            at = odds[:, None] + (slope[:, None] * logit[part])[:, None]
            given[step] += log_expit(sign * at).sum(axis=-1)
        whole = logsumexp(given[step], axis=1)
        given[step] -= whole[:, None]
        density += whole
    chance = np.exp(density - density.max())
    place = random.choice(GRID.size, n_draws, p=chance / chance.sum())
    cell = GRID[1] - GRID[0]

    def spread():
        return cell * (random.random(n_draws) - 0.5)

    share = np.empty((n_draws, n_steps))
    for step in range(n_steps):
        below = np.exp(given[step]).cumsum(axis=1)[place]
        cell_of = (below < random.random((n_draws, 1)) * below[:, -1:]).sum(axis=1)
        share[:, step] = expit(mode[step] + sd[step] * (GRID[cell_of] + spread()))
    return share, mode[-1] + sd[-1] * (GRID[place] + spread())


def _mode_of_steps(
    code: NDArray, logit: NDArray, n_steps: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Mode of the shares' log odds and the slope of pairs in one state, and their deviations."""
    from scipy.special import expit, log_expit

    remaining = np.arange(n_steps, 0.0, -1.0)
    reached = [np.flatnonzero(code >= step) for step in range(n_steps)]
    rows = np.concatenate(reached)
    step = np.repeat(np.arange(n_steps), [there.size for there in reached])
    columns = np.zeros((rows.size, n_steps + 1))
    columns[np.arange(rows.size), step], columns[:, -1] = 1.0, logit[rows]
    taken = code[rows] == step

    def posterior(effects):
        odds, slope = effects[:-1], effects[-1]
        prior = (log_expit(odds) + remaining * log_expit(-odds)).sum() - 0.5 * (
            slope / SLOPE_SD
        ) ** 2
        return log_expit(np.where(taken, 1.0, -1.0) * (columns @ effects)).sum() + prior

    mode = np.append(-np.log(remaining), 0.0)
    for _ in range(50):
        share, base = expit(columns @ mode), expit(mode[:-1])
        rise = columns.T @ (taken - share)
        rise += np.append(1.0 - (1.0 + remaining) * base, -mode[-1] / SLOPE_SD**2)
        bend = (columns * (share * (1.0 - share))[:, None]).T @ columns
        bend += np.diag(np.append((1.0 + remaining) * base * (1.0 - base), SLOPE_SD**-2.0))
        move = np.linalg.solve(bend, rise)
        if rise @ move < 1e-10:
            break
        now = posterior(mode)
        while posterior(mode + move) < now and np.abs(move).max() > ROUNDING:
            move *= 0.5
        mode += move
    return mode, np.sqrt(np.diagonal(np.linalg.inv(bend)))
