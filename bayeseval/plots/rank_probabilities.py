"""Pictures of rank probabilities, and of the probabilities of one run being better than another."""

from collections.abc import Sequence

import numpy as np
import xarray as xr

from bayeseval.plots.shown import having, name_of, of_measure, runs_in_order
from bayeseval.plots.style import Axes, label_rows, new_axes


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
    _color_bar(ax, image, "probability of the rank", [0.0, 0.01, 0.05, 0.2, 0.5, 1.0], np.sqrt)
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
