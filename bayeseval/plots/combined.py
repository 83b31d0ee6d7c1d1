"""Design, model and combination of every run in one row; matplotlib is imported late."""

from collections.abc import Sequence

import numpy as np
import xarray as xr

from bayeseval.combination import UNLIKE
from bayeseval.messages import percent
from bayeseval.plots.style import (
    COLORS,
    Axes,
    bare,
    cut_long,
    key_above,
    name_of,
    name_rows,
    of_measure,
    rows_axes,
    runs_in_order,
)

DESIGN, MODEL, COMBINED, FLAG = "#C9C9C9", COLORS[1], COLORS[0], "#CC0000"


def plot_combined(
    table: xr.Dataset,
    measure: str | None = None,
    *,
    runs: Sequence[str] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Intervals of design, model and combination of every run, the best run at the top.

    The wide pale bar is the interval of the design, the thin line that of the model, the line with
    the point the combined one; a tick is the truth, where it is given. Runs
    that are probably unlike the model are marked by a triangle at the right, and their names are
    red. A few
    intervals much longer than the others are cut, with an arrow. Drawn by matplotlib alone, since
    ArviZ's forests find intervals from draws, and these are given.

    Parameters
    ----------
    table : Dataset
        Of :func:`compare_intervals` with a combination.
    measure, runs, ax
        As for :func:`plot_intervals`.

    Returns
    -------
    Axes

    Raises
    ------
    ValueError
        No combination in the table; no such measure or run.

    Examples
    --------
    >>> import matplotlib, numpy as np, xarray as xr, bayeseval as be
    >>> matplotlib.use("Agg")
    >>> source = ["design", "model", "combined"]
    >>> table = xr.Dataset(
    ...     {
    ...         "estimate": (("source", "measure", "run"), np.full((3, 1, 1), 0.5)),
    ...         "interval": (
    ...             ("source", "measure", "run", "ci_bound"), np.tile([0.4, 0.6], (3, 1, 1, 1))
    ...         ),
    ...         "unlike_model": (("measure", "run"), [[0.9]]),
    ...     },
    ...     coords={"source": source, "measure": ["P@10"], "run": ["a"]},
    ... )
    >>> [label.get_text() for label in be.plots.plot_combined(table).get_yticklabels()]
    ['a']
    """
    if "combined" not in table.get("source", []):
        raise ValueError("table must be of compare_intervals with a combination")
    shown = of_measure(table, measure, "the table")
    score = shown["estimate"].sel(source="combined")
    shown = shown.sel(run=runs_in_order(-score, runs, "the table"))
    if ax is None:
        ax = rows_axes(0.24 * shown.sizes["run"], (1.2, 18.6), width=7.5, margin=1.4)
    _draw(ax, shown)
    _mark(ax, shown, name_of(shown, measure), table.attrs.get("ci_prob"))
    return ax


def _draw(ax: Axes, shown: xr.Dataset) -> None:
    """Bars, lines, points and ticks."""
    row = np.arange(shown.sizes["run"])
    size = float(np.clip(160 / row.size, 2.6, 7.0))
    points, drawn = [], []
    for source, color, width in (
        ("design", DESIGN, 1.6 * size),
        ("model", MODEL, 0.28 * size),
        ("combined", COMBINED, 0.6 * size),
    ):
        one = shown.sel(source=source)
        low, high = one["interval"].transpose("ci_bound", "run").to_numpy()
        shift = 0.0 if source == "design" else 0.16 * (1 if source == "model" else -1)
        ax.hlines(row + shift, low, high, color=color, linewidth=width, label=source)
        points.append(one["estimate"].to_numpy())
        drawn.append((row + shift, low, high, color))
        if source != "design":
            value = one["estimate"].to_numpy()
            ax.plot(value, row + shift, "o", color=color, markersize=0.75 * size)
    if "truth" in shown:
        known = shown["truth"].to_numpy()
        ax.vlines(known, row - 0.45, row + 0.45, color="black", linewidth=1.2, label="truth")
        points.append(known)
    cut_long(ax, np.concatenate(points), drawn)


def _mark(ax: Axes, shown: xr.Dataset, label: str, ci_prob: float | None) -> None:
    """Names of the runs, marks of those unlike the model, and the legend."""
    unlike = shown["unlike_model"].to_numpy() > UNLIKE
    name_rows(ax, shown["run"].to_numpy().tolist())
    for tick, odd in zip(ax.get_yticklabels(), unlike, strict=True):
        tick.set_color(FLAG if odd else "black")
    if unlike.any():
        place, row = ax.get_yaxis_transform(), np.flatnonzero(unlike)
        ax.plot(
            np.full(row.size, 1.01), row, "<", color=FLAG, markersize=4, transform=place,
            clip_on=False, label="unlike the model",
        )  # fmt: skip
    ax.set_xlabel(label)
    bare(ax, rows=True)
    title = None if ci_prob is None else f"bars and lines: {percent(ci_prob)} intervals"
    key_above(ax, title, n_columns=6)
