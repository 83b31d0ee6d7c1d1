"""What all pictures share: colours, markers, rows of runs, bare axes."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import matplotlib.axes

type Axes = matplotlib.axes.Axes  # matplotlib itself is imported when something is drawn

COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")  # Okabe and Ito
MARKERS = ("o", "s", "D", "^", "v", "P", "X", "*")
GREY = "#8C8C8C"  # estimates without any interval
TOPICS = {"sample": " over these topics", "topics": " over the population of topics"}


def bare(ax: Axes, *, rows: bool) -> None:
    """No frame beyond the axes; a pale grid across; of rows no line at the left either."""
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
    """Labels beside the rows, in a size that their number leaves room for; $ starts no formula."""
    size = float(np.clip(900 / max(len(labels), 1), 6.0, 9.0))
    ax.set_yticks(np.arange(len(labels)), list(labels), fontsize=size, parse_math=False)


def name_rows(ax: Axes, labels: Sequence[str]) -> None:
    """A row for each label, the first at the top."""
    label_rows(ax, labels)
    ax.set_ylim(len(labels) - 0.4, -0.6)


def key_above(ax: Axes, title: str | None, n_columns: int = 4) -> None:
    """The legend in lines above the picture, under what bars and points mean."""
    count = min(len(ax.get_legend_handles_labels()[0]), n_columns)
    ax.legend(loc="lower left", bbox_to_anchor=(0, 1.0), ncols=max(count, 1), frameon=False,
              title=title, alignment="left", fontsize=9, title_fontsize=8, columnspacing=1.2,
              handletextpad=0.4)  # fmt: skip


def truth_marks(ax: Axes, value: np.ndarray) -> None:
    """A stroke across each row (row,) at the truth, and its entry in the legend."""
    row = np.arange(value.size)
    ax.vlines(value, row - 0.42, row + 0.42, color="black", linewidth=1.4)
    ax.plot([], [], "|", color="black", markersize=11, markeredgewidth=1.4, label="truth")


def cut_long(ax: Axes, points: np.ndarray, bounds: Sequence[tuple]) -> None:
    """Limits that a few very long intervals do not squeeze; arrows where one of them goes on.

    Long is more than four times the median length; where the others and all points would have at
    least two thirds of the axis anyway, nothing is cut. ``points`` stay in sight; ``bounds`` has
    (row, lower, upper, color), arrays (run,) and a colour, for each kind of interval along x.
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
