"""Points and intervals of runs or of topics, several estimators side by side."""

from collections.abc import Mapping, Sequence
from itertools import cycle

import numpy as np
import xarray as xr

from bayeseval.messages import percent
from bayeseval.plots.style import (
    COLORS,
    GREY,
    MARKERS,
    TOPICS,
    Axes,
    bare,
    check_named,
    cut_long,
    having,
    key_above,
    name_of,
    name_rows,
    of_measure,
    rows_axes,
    runs_in_order,
    shown_runs,
    truth_marks,
)
from bayeseval.tidy import topics_of


def plot_intervals(
    estimates: Mapping[str, xr.Dataset],
    measure: str | None = None,
    *,
    truth: xr.DataArray | xr.Dataset | None = None,
    runs: Sequence[str] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Points and intervals of runs, several estimators side by side, with the truth.

    One row per run, the best at the top: ordered by the truth where it is given, else by the
    first estimator. A point without an interval (NaN bounds) is drawn alone; an estimator that
    has no interval at all is grey. A few intervals much longer than the others are cut, with an
    arrow.

    Parameters
    ----------
    estimates : mapping of str to Dataset
        Name of an estimator to its `estimate` (run,) and `interval` (run, ci_bound), as
        `mean_over_topics` returns them; a dim measure is allowed. All with one `ci_prob`.
    measure : str, optional
        Label of the measure to show; may be left out where there is one only.
    truth : DataArray or Dataset (run,), optional
        True scores, or a Dataset with `estimate`; a dim measure is allowed.
    runs : sequence of str, optional
        Labels of the runs to show; by default all that the first estimator has.
    ax : matplotlib Axes, optional
        Where to draw; by default a new figure.

    Returns
    -------
    Axes
        The axes drawn on; ``ax.figure.savefig(path)`` saves the picture.

    Raises
    ------
    TypeError
        If `estimates` is not a mapping of names to Datasets.
    ValueError
        If there is no estimator, no such measure or run, the scores are not averaged over topics,
        or the intervals differ in `ci_prob`.

    Examples
    --------
    >>> import matplotlib, xarray as xr, bayeseval as be
    >>> matplotlib.use("Agg")
    >>> scores = xr.Dataset(
    ...     {"estimate": ("run", [0.3, 0.4]),
    ...      "interval": (("run", "ci_bound"), [[0.25, 0.35], [0.3, 0.5]])},
    ...     coords={"run": ["a", "b"], "ci_bound": ["lower", "upper"]}, attrs={"ci_prob": 0.9})
    >>> ax = be.plots.plot_intervals({"dyn": scores})
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['b', 'a']
    """
    check_named(estimates, "estimates", "estimator")
    shown = {}
    for name, data in estimates.items():
        own = having(data, ("estimate", "interval"), name).drop_dims("run_other", errors="ignore")
        shown[name] = _one_measure(own, measure, name)  # without the covariance that some have
    levels = {name: data.attrs.get("ci_prob") for name, data in estimates.items()}
    if len(set(levels.values())) > 1:
        raise ValueError(f"all intervals must have one ci_prob to be compared, not {levels}.")
    first = next(iter(shown.values()))
    true_score = None
    if truth is not None:
        true_score = _one_measure(
            truth["estimate"] if isinstance(truth, xr.Dataset) else truth, measure, "truth"
        )
    score = first["estimate"] if true_score is None else true_score
    order = runs_in_order(-score, shown_runs(first, runs), "the score that orders the runs")
    if ax is None:
        ax = rows_axes(len(order) * min(0.11 + 0.09 * len(shown), 0.5), (1.2, 22.0))
    palette, markers = cycle(COLORS), cycle(MARKERS)
    drawn, points = [], []
    for index, (name, data) in enumerate(shown.items()):
        row = np.arange(len(order)) + 0.62 * ((index + 0.5) / len(shown) - 0.5)
        of_runs = data.sel(run=shown_runs(data, order, name))
        points.append(of_runs["estimate"].to_numpy())
        drawn.append(_draw(ax, of_runs, row, name, palette, next(markers)))
    if true_score is not None:
        points.append(true_score.sel(run=shown_runs(true_score, order, "truth")).to_numpy())
        truth_marks(ax, points[-1])
    cut_long(ax, np.concatenate(points), drawn)
    name_rows(ax, order)
    ax.set_xlabel(f"mean {name_of(first, measure)}")
    ax.set_ylabel("run")
    bare(ax, rows=True)
    for boundary in np.arange(0.5, len(order) - 1):  # each run's estimates belong together
        ax.axhline(boundary, color="0.93", linewidth=0.6, zorder=0)
    key_above(ax, _bars(estimates, next(iter(levels.values()))), n_columns=5)
    return ax


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
        Name of an estimator to its scores by topic, as :func:`evaluate` returns them, or
        :func:`scores` with ``per_topic=True``.
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
    by_topic = {name: topics_of(data) for name, data in scores.items()}
    shown = {name: _of_run(data, measure, run, name) for name, data in by_topic.items()}
    first = next(iter(shown.values()))
    known = None
    if truth is not None:
        value = truth if isinstance(truth, xr.Dataset) else truth.to_dataset(name="estimate")
        known = _of_run(value, measure, run, "truth")
    score = (first if known is None else known)["estimate"].dropna("topic")
    order = score["topic"].to_numpy()[np.argsort(-score.to_numpy(), kind="stable")].tolist()
    if ax is None:
        ax = rows_axes(len(order) * (0.1 + 0.08 * len(shown)), (1.2, 14.0))
    for index, (name, data) in enumerate(shown.items()):
        _draw_topics(ax, data.reindex(topic=order), name, index, len(shown))
    if known is not None:
        truth_marks(ax, known["estimate"].reindex(topic=order).to_numpy())
    name_rows(ax, order)
    ax.set_xlabel(f"{name_of(first)} of {run}")
    ax.set_ylabel("topic")
    bare(ax, rows=True)
    level = first.attrs.get("ci_prob")
    key_above(ax, None if level is None else f"bars: {percent(level)} intervals of each topic")
    return ax


def _one_measure(data, measure: str | None, name: str):
    """Means over topics by one measure."""
    if "topic" in data.dims:
        raise ValueError(
            f"{name} has a score for every topic; average them first with be.mean_over_topics."
        )
    others = set(data.dims) - {"measure", "run", "ci_bound"}
    if others or "run" not in data.dims:
        raise ValueError(
            f"{name} must have the dim run, and measure at most, not {', '.join(data.dims)}."
        )
    return of_measure(data, measure, name)


def _draw(ax, data: xr.Dataset, row, name: str, palette, marker: str) -> tuple:
    """Draw one estimator; its rows, bounds and colour."""
    bounds = data["interval"].transpose("run", "ci_bound").to_numpy()
    lower, upper = bounds.T
    color = GREY if np.isnan(bounds).all() else next(palette)
    size = float(np.clip(180 / len(row), 3.4, 5.5))
    ax.hlines(row, lower, upper, color=color, linewidth=0.45 * size, alpha=0.6)
    ax.plot(data["estimate"].to_numpy(), row, marker, color=color, markersize=size,
            linestyle="none", label=name)  # fmt: skip
    return row, lower, upper, color


def _bars(estimates, ci_prob: float | None) -> str | None:
    """Explanation of the bars, where their level is known."""
    if ci_prob is None:
        return None
    about = {str(data.attrs.get("population", "")) for data in estimates.values()}
    where = TOPICS.get(about.pop(), "") if len(about) == 1 else ""
    alone = [n for n, data in estimates.items() if np.isnan(data["interval"].to_numpy()).all()]
    grey = f"; grey: {', '.join(alone)}, without any" if alone else ""
    return f"points: estimates; bars: {percent(ci_prob)} intervals{where}{grey}"


def _of_run(data: xr.Dataset, measure: str | None, run: str, name: str) -> xr.Dataset:
    """The scores of one run by one measure over topic."""
    if "topic" not in having(data, (), name).dims:
        raise ValueError(f"{name} has no dim topic; it takes what be.evaluate returns")
    data = of_measure(data, measure, name)
    shown_runs(data, [run], name)
    kept = [variable for variable in ("estimate", "interval") if variable in data]
    return data[kept].sel(run=run)


def _draw_topics(ax: Axes, data: xr.Dataset, name: str, index: int, total: int) -> None:
    row = np.arange(data.sizes["topic"]) + 0.62 * ((index + 0.5) / total - 0.5)
    color = COLORS[index % len(COLORS)]
    if "interval" in data and not np.isnan(data["interval"].to_numpy()).all():
        lower, upper = data["interval"].transpose("ci_bound", "topic").to_numpy()
        ax.hlines(row, lower, upper, color=color, linewidth=1.8, alpha=0.6)
    else:
        color = GREY
    ax.plot(data["estimate"].to_numpy(), row, MARKERS[index % len(MARKERS)], color=color,
            markersize=3.6, linestyle="none", label=name)  # fmt: skip
