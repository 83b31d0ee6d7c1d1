"""Error rates of labels: their prior, what they say of a label, and draws of them.

Formulas and names are those of :mod:`bayeseval.models.relevance.external`.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayeseval.rounding import ROUNDING

SLOPE_SD = 0.5  # of a rate's log odds in those of relevance
LARGEST = 80.0  # exponent that single precision holds
SMALLEST = 1e-30  # rate; what has less in all states would be 0 / 0
N_NEWTON = 50
GRID = np.linspace(-5.0, 5.0, 41)  # deviations from the mode
ROWS = 500  # pairs at once


def error_rates(column: str, n_states: int, edges: NDArray[np.float64]) -> tuple[Any, Any]:
    """Shares (state, step) where the linear predictor is 0, and slopes (state,) in it.

    Of what labels 1, ..., j - 1 leave, label j takes a share; a rate that next to no label tells of
    then varies alone, and not with all others.
    """
    import pymc as pm
    import pytensor.tensor as pt

    model: Any = pm.modelcontext(None)
    model.add_coord(f"{column}_step", edges[:-1])
    left = np.tile(np.arange(edges.size - 1.0, 0.0, -1.0), (n_states, 1))
    share: Any = pm.Beta(f"{column}_share", np.float64(1), left, dims=("state", f"{column}_step"))
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
        rate[rows] /= 1.0 + np.exp(np.minimum(sign * (odds[:, step] + moved[rows]), LARGEST))
    return np.maximum(rate, SMALLEST)


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
    share, slope = (np.stack([one[k] for one in drawn], axis=1) for k in (0, 1))
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
        for some in np.array_split(rows, 1 + rows.size // ROWS):
            sign = np.where(code[some] == step, 1.0, -1.0)
            at = odds[:, None] + (slope[:, None] * logit[some])[:, None]
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
        found = (below < random.random((n_draws, 1)) * below[:, -1:]).sum(axis=1)
        share[:, step] = expit(mode[step] + sd[step] * (GRID[found] + spread()))
    return share, mode[-1] + sd[-1] * (GRID[place] + spread())


def _mode_of_steps(
    code: NDArray, logit: NDArray, n_steps: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Mode of the shares' log odds and the slope of pairs in one state, and their deviations."""
    from scipy.special import expit, log_expit

    left = np.arange(n_steps, 0.0, -1.0)
    reached = [np.flatnonzero(code >= step) for step in range(n_steps)]
    rows = np.concatenate(reached)
    step = np.repeat(np.arange(n_steps), [there.size for there in reached])
    columns = np.zeros((rows.size, n_steps + 1))
    columns[np.arange(rows.size), step], columns[:, -1] = 1.0, logit[rows]
    taken = code[rows] == step

    def posterior(effects):
        odds, slope = effects[:-1], effects[-1]
        prior = (log_expit(odds) + left * log_expit(-odds)).sum() - 0.5 * (slope / SLOPE_SD) ** 2
        return log_expit(np.where(taken, 1.0, -1.0) * (columns @ effects)).sum() + prior

    mode = np.append(-np.log(left), 0.0)
    for _ in range(N_NEWTON):
        share, base = expit(columns @ mode), expit(mode[:-1])
        rise = columns.T @ (taken - share)
        rise += np.append(1.0 - (1.0 + left) * base, -mode[-1] / SLOPE_SD**2)
        bend = (columns * (share * (1.0 - share))[:, None]).T @ columns
        bend += np.diag(np.append((1.0 + left) * base * (1.0 - base), SLOPE_SD**-2.0))
        move = np.linalg.solve(bend, rise)
        if rise @ move < 1e-10:
            break
        now = posterior(mode)
        while posterior(mode + move) < now and np.abs(move).max() > ROUNDING:
            move *= 0.5
        mode += move
    return mode, np.sqrt(np.diagonal(np.linalg.inv(bend)))
