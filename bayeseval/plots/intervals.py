"""Points and intervals of runs, several estimators side by side; matplotlib is imported late."""

from collections.abc import Mapping, Sequence
from itertools import cycle

import numpy as np
import xarray as xr

from bayeseval.messages import percent
from bayeseval.plots.shown import (
    check_named,
    chosen_runs,
    having,
    name_of,
    of_measure,
    runs_in_order,
)
from bayeseval.plots.style import (
    COLORS,
    GREY,
    MARKERS,
    TOPICS,
    Axes,
    bare,
    cut_long,
    key_above,
    name_rows,
    rows_axes,
    truth_marks,
)


def plot_intervals(
    estimates: Mapping[str, xr.Dataset],
    measure: str | None = None,
    *,
    truth: xr.DataArray | xr.Dataset | None = None,
    runs: Sequence[str] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Points and intervals of runs, several estimators side by side, beside the truth.

    One row per run, the best at the top: ordered by the truth where it is given, else by the
    first estimator. A point without an interval (NaN bounds) is drawn alone; an estimator that
    has no interval at all is grey. A few intervals much longer than the others are cut, with an
    arrow, so that they do not squeeze these. Drawn by matplotlib alone, without the ``backend`` of
    :func:`bayeseval.plots.plot_scores`: ArviZ's forests find intervals from draws, and these are
    given.

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
    ci_prob = _common_ci_prob(estimates)
    first = next(iter(shown.values()))
    true_score = None
    if truth is not None:
        true_score = _one_measure(
            truth["estimate"] if isinstance(truth, xr.Dataset) else truth, measure, "truth"
        )
    score = first["estimate"] if true_score is None else true_score
    order = runs_in_order(-score, chosen_runs(first, runs), "the score that orders the runs")
    if ax is None:
        ax = rows_axes(len(order) * min(0.11 + 0.09 * len(shown), 0.5), (1.2, 22.0))
    palette, markers = cycle(COLORS), cycle(MARKERS)
    drawn, points = [], []
    for index, (name, data) in enumerate(shown.items()):
        row = np.arange(len(order)) + 0.62 * ((index + 0.5) / len(shown) - 0.5)
        of_runs = data.sel(run=chosen_runs(data, order, name))
        points.append(of_runs["estimate"].to_numpy())
        drawn.append(_draw(ax, of_runs, row, name, palette, next(markers)))
    if true_score is not None:
        points.append(true_score.sel(run=chosen_runs(true_score, order, "truth")).to_numpy())
        truth_marks(ax, points[-1])
    cut_long(ax, np.concatenate(points), drawn)
    _dress(ax, order, name_of(first, measure), _bars(estimates, ci_prob))
    return ax


def _common_ci_prob(estimates) -> float | None:
    found = {name: data.attrs.get("ci_prob") for name, data in estimates.items()}
    if len(set(found.values())) > 1:
        raise ValueError(f"all intervals must have one ci_prob to stand side by side, not {found}.")
    return next(iter(found.values()))


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
    """What the bars are, as far as it is known."""
    if ci_prob is None:
        return None
    about = {str(data.attrs.get("population", "")) for data in estimates.values()}
    where = TOPICS.get(about.pop(), "") if len(about) == 1 else ""
    alone = [n for n, data in estimates.items() if np.isnan(data["interval"].to_numpy()).all()]
    grey = f"; grey: {', '.join(alone)}, without any" if alone else ""
    return f"points: estimates; bars: {percent(ci_prob)} intervals{where}{grey}"


def _dress(ax, order: list[str], label: str, bars: str | None) -> None:
    name_rows(ax, order)
    ax.set_xlabel(f"mean {label}")
    ax.set_ylabel("run")
    bare(ax, rows=True)
    for boundary in np.arange(0.5, len(order) - 1):  # each run's estimates belong together
        ax.axhline(boundary, color="0.93", linewidth=0.6, zorder=0)
    key_above(ax, bars, n_columns=5)
