"""The common parts of all plots: choice of the measure and runs, colours, rows, axes."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import xarray as xr

from bayeseval.messages import shortened

if TYPE_CHECKING:
    import matplotlib.axes

type Axes = matplotlib.axes.Axes  # matplotlib itself is imported when something is drawn

COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")  # Okabe and Ito
MARKERS = ("o", "s", "D", "^", "v", "P", "X", "*")
GREY = "#8C8C8C"  # estimates without any interval
TOPICS = {"sample": " over these topics", "topics": " over the population of topics"}


def bare(ax: Axes, *, rows: bool) -> None:
    """Axes without a frame; for rows with a pale grid and without the line at the left."""
    ax.spines[["top", "right", "left"] if rows else ["top", "right"]].set_visible(False)
    if rows:
        ax.grid(axis="x", color="0.9", linewidth=0.8)
        ax.tick_params(axis="y", length=0)
    ax.set_axisbelow(True)


def new_axes(width: float, height: float, *, layout: str = "tight") -> Axes:
    """Axes of a new figure, in inches."""
    import matplotlib.pyplot as plt

    return plt.subplots(figsize=(width, height), layout=layout)[1]


def rows_axes(
    height: float, bounds: tuple[float, float], *, width: float = 7.0, margin: float = 1.3
) -> Axes:
    """New axes, as high as their rows need within bounds, and a margin."""
    return new_axes(width, margin + float(np.clip(height, *bounds)))


def label_rows(ax: Axes, labels: Sequence[str]) -> None:
    """Labels of the rows, smaller where there are many; $ starts no formula."""
    size = float(np.clip(900 / max(len(labels), 1), 6.0, 9.0))
    ax.set_yticks(np.arange(len(labels)), shortened(labels), fontsize=size, parse_math=False)


def name_rows(ax: Axes, labels: Sequence[str]) -> None:
    """A row for each label, the first at the top."""
    label_rows(ax, labels)
    ax.set_ylim(len(labels) - 0.4, -0.6)


def key_above(ax: Axes, title: str | None, n_columns: int = 4) -> None:
    """The legend above the plot, with a title that explains bars and points.

    It has fewer columns, and the title more lines, where the axes are narrower.
    """
    count = min(len(ax.get_legend_handles_labels()[0]), n_columns)
    room = 0.8 * ax.get_window_extent().width  # labels of rows will make the axes narrower
    for columns in range(max(count, 1), 0, -1):
        key = ax.legend(
            loc="lower left", bbox_to_anchor=(0, 1.0), ncols=columns, frameon=False, title=title,
            alignment="left", fontsize=9, title_fontsize=8, columnspacing=1.2, handletextpad=0.4,
        )  # fmt: skip
        if key.get_window_extent().width <= room:
            break
    else:
        key.get_title().set_text((title or "").replace("; ", "\n"))


def truth_marks(ax: Axes, value: np.ndarray) -> None:
    """A stroke across each row (row,) at the truth, and its entry in the legend."""
    row = np.arange(value.size)
    ax.vlines(value, row - 0.42, row + 0.42, color="black", linewidth=1.4)
    ax.plot([], [], "|", color="black", markersize=11, markeredgewidth=1.4, label="truth")


def cut_long(ax: Axes, points: np.ndarray, bounds: Sequence[tuple]) -> None:
    """Cut a few very long intervals at the limits of the axis, with arrows.

    Long is more than four times the median length; nothing is cut where the others and all points
    have two thirds of the axis anyway. ``points`` stay visible; ``bounds`` has (row, lower, upper,
    color), arrays (run,) and a colour, for each kind of interval along x.
    """
    row, lower, upper = (np.concatenate([part[i] for part in bounds]) for i in range(3))
    color = np.repeat([part[3] for part in bounds], [len(part[0]) for part in bounds])
    length = upper - lower
    if not (length > 0).any():
        return
    usual = length <= 4.0 * np.median(length[length > 0])
    kept = np.concatenate([points, lower[usual], upper[usual]])
    low, high = np.nanmin(kept), np.nanmax(kept)
    whole = max(high, np.nanmax(upper)) - min(low, np.nanmin(lower))
    if high - low >= whole / 1.5:
        return
    low, high = low - 0.04 * (high - low), high + 0.04 * (high - low)
    for beyond, edge, marker in ((lower < low, low, "<"), (upper > high, high, ">")):
        ax.scatter(np.full(beyond.sum(), edge), row[beyond], s=22, marker=marker, zorder=4,
                   color=color[beyond], clip_on=False)  # fmt: skip
    ax.plot([], [], ">", color="0.4", markersize=4.5, linestyle="none", label="goes on")
    ax.set_xlim(low, high)


def check_named(named, name: str, one: str, kind: str = "Dataset") -> None:
    """Refuse anything but a mapping of at least one name to data."""
    if not isinstance(named, Mapping) or isinstance(named, xr.Dataset):
        raise TypeError(
            f"{name} must map names to {kind}s, not {type(named).__name__}; of one give "
            f"{{'name': the {kind}}}"
        )
    if not named:
        raise ValueError(f"{name} must hold at least one {one}")


def of_measure[Data: (xr.Dataset, xr.DataArray)](
    data: Data, measure: str | None, name: str = "the result"
) -> Data:
    """The result for one measure, which may be left out where there is one only."""
    if "measure" not in data.dims:
        return data
    labels = [str(label) for label in data["measure"].to_numpy()]
    if measure is None and len(labels) > 1:
        raise ValueError(f"measure must name one of {', '.join(labels)}")
    target = labels[0] if measure is None else measure
    if target not in labels:
        raise ValueError(f"{name} has no measure {target!r}; it has {', '.join(labels)}")
    return data.sel(measure=target)


def having(data: xr.Dataset, needed: Sequence[str], name: str = "the result") -> xr.Dataset:
    """The result itself, checked for the variables that a plot shows."""
    if not isinstance(data, xr.Dataset):
        raise TypeError(f"{name} must be a Dataset, not a {type(data).__name__}")
    missing = [variable for variable in needed if variable not in data]
    if missing:
        raise ValueError(f"{name} lacks the variable {missing[0]!r}, which this plot shows")
    return data


def shown_runs(data, runs: str | Sequence[str] | None, name: str = "the result") -> list[str]:
    """Labels of the runs to show, by default all."""
    known = [str(run) for run in data["run"].to_numpy()]
    runs = [runs] if isinstance(runs, str) else runs
    shown = known if runs is None else [str(run) for run in runs]
    missing = sorted(set(shown) - set(known))
    if missing:
        raise ValueError(f"run {missing[0]!r} is not in {name}")
    return shown


def runs_in_order(
    value: xr.DataArray, runs: str | Sequence[str] | None, name: str = "the result"
) -> list[str]:
    """Labels of the runs to show, that of the lowest value (run,) first, NaN last."""
    shown = shown_runs(value, runs, name)
    return [shown[i] for i in np.argsort(value.sel(run=shown).to_numpy(), kind="stable")]


def name_of(shown: xr.Dataset, measure: str | None = None) -> str:
    """The measure's label, where it is known."""
    return str(shown["measure"].item()) if "measure" in shown.coords else (measure or "score")
