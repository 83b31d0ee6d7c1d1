"""Plots of orders of runs: sets of ranks, rank probabilities, probabilities of being better."""

from collections.abc import Sequence

import numpy as np
import xarray as xr

from bayeseval.messages import percent
from bayeseval.plots.style import (
    COLORS,
    Axes,
    bare,
    having,
    key_above,
    label_rows,
    name_of,
    name_rows,
    new_axes,
    of_measure,
    rows_axes,
    runs_in_order,
)


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
    group = shown["tie_group"].to_numpy()
    ends = np.flatnonzero(np.diff(group)) + 0.5
    edges = np.concatenate([[-0.6], ends, [group.size - 0.4]])
    for start, end in zip(edges[:-1:2], edges[1::2], strict=True):  # every other group
        ax.axhspan(start, end, color="0.94", zorder=0, linewidth=0)
    row = np.arange(len(order))
    lower, upper = shown["interval"].transpose("ci_bound", "run").to_numpy()
    color = np.full(len(order), COLORS[0])
    if "best" in shown:
        color = np.where(shown["best"].to_numpy(), COLORS[1], COLORS[0])
    width = float(np.clip(150 / len(order), 2.2, 4.0))
    # a set of one rank still is a mark
    ax.hlines(row, lower - 0.3, upper + 0.3, color=color, linewidth=width, alpha=0.6)
    ax.scatter(shown["rank"].to_numpy(), row, s=2.5 * width**2, color=color, zorder=3)
    name_rows(ax, order)
    last = int(upper.max())
    step = next((size for size in (1, 2, 5, 10, 20, 50) if last <= 10 * size), 100)
    ax.set_xticks([1, *range(max(step, 2), last + 1, step)])
    ax.set_xlim(0.3, max(float(upper.max()), len(order)) + 0.7)
    ax.set_xlabel(f"rank by {name_of(shown, measure)}")
    ax.set_ylabel("run")
    bare(ax, rows=True)
    _legend(ax, sets)
    return ax


def plot_rank_probabilities(
    ranks: xr.Dataset,
    measure: str | None = None,
    *,
    runs: Sequence[str] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Heat map of the probability of every rank, a row for each run, the best at the top.

    Parameters
    ----------
    ranks : Dataset
        What :func:`rankings.rank_probabilities` returns.
    runs : sequence of str, optional
        Runs to show, by default all; ranks are still among all.
    measure, ax
        As for :func:`plot_intervals`.

    Returns
    -------
    Axes

    Raises
    ------
    ValueError
        No such measure or run, or no rank probabilities.

    Examples
    --------
    >>> import matplotlib, xarray as xr, bayeseval as be
    >>> matplotlib.use("Agg")
    >>> ranks = xr.Dataset(
    ...     {"probability": (("run", "rank"), [[0.2, 0.8], [0.8, 0.2]]),
    ...      "expected_rank": ("run", [1.8, 1.2])}, coords={"run": ["a", "b"], "rank": [1, 2]})
    >>> [label.get_text() for label in be.plots.plot_rank_probabilities(ranks).get_yticklabels()]
    ['b', 'a']
    """
    shown = of_measure(having(ranks, ("probability", "expected_rank")), measure)
    order = runs_in_order(shown["expected_rank"], runs)
    values = shown["probability"].sel(run=order).transpose("run", "rank").to_numpy()
    ax = _square_axes(len(order), values.shape[1]) if ax is None else ax
    # the root makes small probabilities visible beside sure ranks
    image = ax.imshow(np.sqrt(values), aspect="auto", cmap="Blues", vmin=0.0, vmax=1.0,
                      interpolation="nearest")  # fmt: skip
    _number_columns(ax, values.shape[1])
    ax.set_xlabel(f"rank by {name_of(shown, measure)}")
    _label_runs(ax, order)
    ax.set_ylabel("run, the best expected rank first")
    _color_bar(ax, image, "probability of the rank", [0.0, 0.05, 0.2, 0.5, 1.0], np.sqrt)
    return ax


def plot_better(
    ranks: xr.Dataset,
    measure: str | None = None,
    *,
    runs: Sequence[str] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Matrix of the probability that the run of the row is better than the run of the column.

    Rows and columns stand in the order of the expected ranks; columns bear the number of the row
    with the same run.

    Parameters
    ----------
    ranks : Dataset
        What :func:`rankings.rank_probabilities` returns.
    measure, runs, ax
        As for :func:`plot_intervals`.

    Returns
    -------
    Axes

    Raises
    ------
    ValueError
        No such measure or run, or no such probabilities.

    Examples
    --------
    >>> import matplotlib, xarray as xr, bayeseval as be
    >>> matplotlib.use("Agg")
    >>> ranks = xr.Dataset(
    ...     {"better": (("run", "run_other"), [[0.5, 0.2], [0.8, 0.5]]),
    ...      "expected_rank": ("run", [1.8, 1.2])},
    ...     coords={"run": ["a", "b"], "run_other": ["a", "b"]})
    >>> [label.get_text() for label in be.plots.plot_better(ranks).get_yticklabels()]
    ['1  b', '2  a']
    """
    shown = of_measure(having(ranks, ("better", "expected_rank")), measure)
    order = runs_in_order(shown["expected_rank"], runs)
    values = shown["better"].sel(run=order, run_other=order).transpose("run", "run_other")
    ax = _square_axes(len(order), len(order)) if ax is None else ax
    image = ax.imshow(values.to_numpy(), aspect="auto", cmap="RdBu", vmin=0.0, vmax=1.0,
                      interpolation="nearest")  # fmt: skip
    _number_columns(ax, len(order))
    ax.set_xlabel("the other run, by its place")
    ax.set_ylabel("place by expected rank, and run")
    _label_runs(ax, [f"{place}  {run}" for place, run in enumerate(order, start=1)])
    text = f"probability that the row is better by {name_of(shown, measure)}"
    _color_bar(ax, image, text, [0.0, 0.1, 0.5, 0.9, 1.0], np.asarray)
    return ax


def _legend(ax: Axes, sets: xr.Dataset) -> None:
    """The legend, with entries that the data of many rows would not make."""
    ax.plot([], [], "o", color=COLORS[0], label="rank of the estimate")
    ax.plot([], [], color=COLORS[0], linewidth=4, alpha=0.6, label="possible ranks")
    if "best" in sets:
        best = f"the best {sets.attrs['top']}" if "top" in sets.attrs else "the best"
        ax.plot([], [], color=COLORS[1], linewidth=4, alpha=0.6, label=f"may be among {best}")
    ax.plot([], [], "s", color="0.9", markersize=9, label="band: a group told apart")
    title, level = "sets of ranks", sets.attrs.get("ci_prob")
    if level is not None:
        held = "all at once" if sets.attrs.get("simultaneous") else "each by itself"
        title = f"{percent(level)} sets of ranks, {held}"
    key_above(ax, title, n_columns=2)


def _square_axes(n_rows: int, n_columns: int) -> Axes:
    """Axes whose rows have room for a label."""
    height = float(np.clip(0.16 * n_rows, 2.0, 18.0))
    width = float(np.clip(0.11 * n_columns, 3.0, 11.0))
    return new_axes(width + 3.0, height + 1.2, layout="constrained")


def _label_runs(ax: Axes, labels: list[str]) -> None:
    """Name the rows of a picture without a frame."""
    label_rows(ax, labels)
    ax.tick_params(axis="y", length=0)
    ax.spines[:].set_visible(False)


def _number_columns(ax: Axes, number: int) -> None:
    """Numbers under the first column and every fifth or tenth, under each where they are few."""
    step = 1 if number <= 12 else 5 if number <= 40 else 10
    ticks = np.unique(np.concatenate([[1], np.arange(0, number + 1, step)[1:]]))
    ax.set_xticks(ticks - 1, ticks)


def _color_bar(ax: Axes, image, text: str, ticks: list[float], scale) -> None:
    from matplotlib.figure import Figure

    figure = ax.figure
    assert isinstance(figure, Figure)
    bar = figure.colorbar(image, ax=ax, location="top", shrink=0.6, aspect=35, pad=0.01)
    bar.set_ticks(list(scale(np.array(ticks))), labels=[f"{tick:g}" for tick in ticks])
    bar.set_label(text, fontsize=9)
    bar.ax.tick_params(labelsize=8)
