"""One run on every topic, or the difference of two; matplotlib is imported late."""

from collections.abc import Mapping

import numpy as np
import xarray as xr

from bayeseval.messages import percent
from bayeseval.plots.shown import check_named, chosen_runs, having, name_of, of_measure
from bayeseval.plots.style import (
    COLORS,
    GREY,
    MARKERS,
    Axes,
    bare,
    key_above,
    name_rows,
    rows_axes,
    truth_marks,
)


def plot_topics(
    scores: Mapping[str, xr.Dataset],
    measure: str | None = None,
    *,
    run: str,
    truth: xr.DataArray | xr.Dataset | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Score of one run on every topic, several estimators side by side, the best topic at the top.

    Parameters
    ----------
    scores : mapping of str to Dataset
        Name of an estimator to its scores by topic, as :func:`evaluate` returns them.
    run : str
        Label of the run.
    truth : DataArray or Dataset (run, topic), optional
        True scores, or a Dataset with ``estimate``.
    measure, ax
        As for :func:`plot_intervals`.

    Returns
    -------
    Axes

    Raises
    ------
    TypeError
        Something else than a mapping of names to Datasets.
    ValueError
        No estimator, no such measure or run, or no dim topic.

    Examples
    --------
    >>> import matplotlib, xarray as xr, bayeseval as be
    >>> matplotlib.use("Agg")
    >>> scores = xr.Dataset(
    ...     {"estimate": (("run", "topic"), [[0.3, 0.4]]),
    ...      "interval": (("run", "topic", "ci_bound"), [[[0.25, 0.35], [0.3, 0.5]]])},
    ...     coords={"run": ["a"], "topic": ["1", "2"], "ci_bound": ["lower", "upper"]})
    >>> ax = be.plots.plot_topics({"dyn": scores}, run="a")
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['2', '1']
    """
    check_named(scores, "scores", "estimator")
    shown = {name: _of_run(data, measure, run, name) for name, data in scores.items()}
    first = next(iter(shown.values()))
    known = None
    if truth is not None:
        value = truth if isinstance(truth, xr.Dataset) else truth.to_dataset(name="estimate")
        known = _of_run(value, measure, run, "truth")
    order = _order(first if known is None else known)
    if ax is None:
        ax = rows_axes(len(order) * (0.1 + 0.08 * len(shown)), (1.2, 14.0))
    for index, (name, data) in enumerate(shown.items()):
        _draw(ax, data.reindex(topic=order), name, index, len(shown))
    if known is not None:
        truth_marks(ax, known["estimate"].reindex(topic=order).to_numpy())
    _dress(ax, order, first, run)
    return ax


def _of_run(data: xr.Dataset, measure: str | None, run: str, name: str) -> xr.Dataset:
    """The scores of one run by one measure over topic."""
    if "topic" not in having(data, (), name).dims:
        raise ValueError(f"{name} has no dim topic; it takes what be.evaluate returns")
    data = of_measure(data, measure, name)
    chosen_runs(data, [run], name)
    kept = [variable for variable in ("estimate", "interval") if variable in data]
    return data[kept].sel(run=run)


def _order(data: xr.Dataset) -> list[str]:
    """Topics with a score, the highest first."""
    score = data["estimate"].dropna("topic")
    place = np.argsort(-score.to_numpy(), kind="stable")
    return score["topic"].to_numpy()[place].tolist()


def _draw(ax: Axes, data: xr.Dataset, name: str, index: int, total: int) -> None:
    row = np.arange(data.sizes["topic"]) + 0.62 * ((index + 0.5) / total - 0.5)
    color = COLORS[index % len(COLORS)]
    if "interval" in data and not np.isnan(data["interval"].to_numpy()).all():
        lower, upper = data["interval"].transpose("ci_bound", "topic").to_numpy()
        ax.hlines(row, lower, upper, color=color, linewidth=1.8, alpha=0.6)
    else:
        color = GREY
    ax.plot(data["estimate"].to_numpy(), row, MARKERS[index % len(MARKERS)], color=color,
            markersize=3.6, linestyle="none", label=name)  # fmt: skip


def _dress(ax: Axes, order: list[str], first: xr.Dataset, run: str) -> None:
    name_rows(ax, order)
    ax.set_xlabel(f"{name_of(first)} of {run}")
    ax.set_ylabel("topic")
    bare(ax, rows=True)
    level = first.attrs.get("ci_prob")
    key_above(ax, None if level is None else f"bars: {percent(level)} intervals of each topic")
