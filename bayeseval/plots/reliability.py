"""Stated probabilities against the share that was right; matplotlib is imported late."""

from collections.abc import Mapping

import numpy as np
import pandas as pd
import xarray as xr

from bayeseval.collection.choices import check_ci_prob
from bayeseval.messages import percent
from bayeseval.plots.style import COLORS, MARKERS, Axes, bare, check_named, new_axes

COLUMNS = ("probability", "right", "error")


def plot_reliability(
    tables: Mapping[str, pd.DataFrame | xr.Dataset], *, ci_prob: float = 0.9, ax: Axes | None = None
) -> Axes:
    """Share of statements that were right, above the probability with which they were made.

    Statements, such as that one run is better than another, are grouped by their probability.
    Points on the diagonal are calibrated, points below it too sure. Bars are normal intervals by
    the standard errors of the table.

    Parameters
    ----------
    tables : mapping of str to DataFrame or Dataset
        Name to a table with one row a group: `probability` (its mean), `right` (the share) and
        `error` (standard error of the share, of samples as clusters where statements share them).
    ci_prob : float
        Probability of the bars.
    ax : matplotlib Axes, optional

    Returns
    -------
    Axes

    Raises
    ------
    TypeError
        Something else than a mapping.
    ValueError
        An empty mapping; a table without one of the columns or without a row; a probability outside
        [0, 1]; a `ci_prob` outside (0, 1).

    Examples
    --------
    >>> import matplotlib, pandas as pd, bayeseval as be
    >>> matplotlib.use("Agg")
    >>> table = pd.DataFrame({"probability": [0.55, 0.9], "right": [0.5, 0.8], "error": 0.02})
    >>> be.plots.plot_reliability({"flat prior": table}).get_ylabel()
    'share that was right'
    """
    from scipy.stats import norm

    _check(tables)
    check_ci_prob(ci_prob)
    ax = new_axes(4.6, 4.4) if ax is None else ax
    ax.plot([0.0, 1.0], [0.0, 1.0], color="0.7", linewidth=0.9, zorder=0)
    reach = float(norm.ppf(0.5 + 0.5 * ci_prob))
    least = 1.0
    for index, (name, table) in enumerate(tables.items()):
        stated, right, error = (np.asarray(table[column], float) for column in COLUMNS)
        shift = 0.003 * (index - 0.5 * (len(tables) - 1))
        ax.errorbar(
            stated + shift, right, yerr=reach * error, fmt=MARKERS[index % len(MARKERS)],
            color=COLORS[index % len(COLORS)], markersize=4.5, linewidth=1.2, label=name,
        )  # fmt: skip
        least = min(least, np.nanmin(stated), np.nanmin(right - reach * error))
    ax.set_xlim(max(least - 0.03, -0.02), 1.02)
    ax.set_ylim(max(least - 0.03, -0.02), 1.02)
    ax.set_xlabel("stated probability")
    ax.set_ylabel("share that was right")
    bare(ax, rows=False)
    ax.legend(frameon=False, fontsize=8, loc="upper left", title_fontsize=8, alignment="left",
              title=f"bars: {percent(ci_prob)} intervals")  # fmt: skip
    return ax


def _check(tables) -> None:
    check_named(tables, "tables", "table", "table")
    for name, table in tables.items():
        missing = [column for column in COLUMNS if column not in table]
        if missing:
            raise ValueError(f"{name} lacks {missing[0]}")
        stated = np.asarray(table["probability"], float)
        if not stated.size:
            raise ValueError(f"{name} has no row")
        if not ((stated >= 0) & (stated <= 1)).all():
            raise ValueError(f"{name} has a probability outside [0, 1]")
