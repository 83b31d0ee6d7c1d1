"""A forest of ranks: the set of possible ranks of every run, and groups not told apart."""

from collections.abc import Sequence

import numpy as np
import xarray as xr

from bayeseval.messages import percent
from bayeseval.plots.shown import having, name_of, of_measure, runs_in_order
from bayeseval.plots.style import COLORS, Axes, bare, key_above, name_rows, rows_axes

_COLOR, _BEST = COLORS[:2]


def plot_rank_sets(
    sets: xr.Dataset,
    measure: str | None = None,
    *,
    runs: Sequence[str] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Possible ranks of every run as bars, the best estimate at the top, tie groups shaded in turn.

    Parameters
    ----------
    sets : Dataset
        What :func:`rankings.rank_sets` returns. Runs that may be among the best ``top`` are drawn
        in another colour where that was asked for.
    measure, runs, ax
        As for :func:`plot_intervals`.

    Returns
    -------
    Axes

    Raises
    ------
    ValueError
        No such measure or run, or no rank sets.

    Examples
    --------
    >>> import matplotlib, xarray as xr, bayeseval as be
    >>> matplotlib.use("Agg")
    >>> sets = xr.Dataset(
    ...     {"rank": ("run", [2, 1]), "tie_group": ("run", [1, 1]),
    ...      "interval": (("run", "ci_bound"), [[1, 2], [1, 2]])},
    ...     coords={"run": ["a", "b"], "ci_bound": ["lower", "upper"]})
    >>> [label.get_text() for label in be.plots.plot_rank_sets(sets).get_yticklabels()]
    ['b', 'a']
    """
    shown = of_measure(having(sets, ("rank", "interval", "tie_group")), measure)
    order = runs_in_order(shown["rank"], runs)
    shown = shown.sel(run=order)
    if ax is None:
        ax = rows_axes(0.16 * len(order), (1.6, 18.0), width=7.5, margin=1.0)
    _shade_groups(ax, shown["tie_group"].to_numpy())
    row = np.arange(len(order))
    lower, upper = shown["interval"].transpose("ci_bound", "run").to_numpy()
    color = np.full(len(order), _COLOR)
    if "best" in shown:
        color = np.where(shown["best"].to_numpy(), _BEST, _COLOR)
    width = float(np.clip(150 / len(order), 2.2, 4.0))
    # a set of one rank still is a mark
    ax.hlines(row, lower - 0.3, upper + 0.3, color=color, linewidth=width, alpha=0.6)
    ax.scatter(shown["rank"].to_numpy(), row, s=2.5 * width**2, color=color, zorder=3)
    name_rows(ax, order)
    ax.set_xticks(_whole_ranks(int(upper.max())))
    ax.set_xlim(0.3, max(float(upper.max()), len(order)) + 0.7)
    ax.set_xlabel(f"rank by {name_of(shown, measure)}")
    ax.set_ylabel("run")
    bare(ax, rows=True)
    _key(ax, "best" in shown, sets.attrs.get("top"))
    key_above(ax, _title(sets), n_columns=2)
    return ax


def _shade_groups(ax: Axes, group: np.ndarray) -> None:
    """A grey band behind every other group."""
    ends = np.flatnonzero(np.diff(group)) + 0.5
    edges = np.concatenate([[-0.6], ends, [group.size - 0.4]])
    for number, (start, end) in enumerate(zip(edges[:-1], edges[1:], strict=True)):
        if number % 2 == 0:
            ax.axhspan(start, end, color="0.94", zorder=0, linewidth=0)


def _whole_ranks(last: int) -> list[int]:
    """Rank 1, and every whole 1, 2, 5, 10 or 20 ranks after it."""
    step = next((size for size in (1, 2, 5, 10, 20, 50) if last <= 10 * size), 100)
    return [1, *range(max(step, 2), last + 1, step)]


def _key(ax: Axes, best: bool, top: int | None) -> None:
    """Entries of the legend, which the data of many rows would not make."""
    ax.plot([], [], "o", color=_COLOR, label="rank of the estimate")
    ax.plot([], [], color=_COLOR, linewidth=4, alpha=0.6, label="possible ranks")
    if best:
        which = "the best" if top is None else f"the best {top}"
        ax.plot([], [], color=_BEST, linewidth=4, alpha=0.6, label=f"may be among {which}")
    ax.plot([], [], "s", color="0.9", markersize=9, label="band: a group told apart")


def _title(sets: xr.Dataset) -> str:
    level = sets.attrs.get("ci_prob")
    if level is None:
        return "sets of ranks"
    held = "all at once" if sets.attrs.get("simultaneous") else "each by itself"
    return f"{percent(level)} sets of ranks, {held}"
