"""The plane of bias and standard deviation of ways to rank systems."""

from collections.abc import Mapping

import numpy as np
import xarray as xr

from bayeseval.messages import percent, shortened
from bayeseval.plots.style import (
    COLORS,
    MARKERS,
    Axes,
    bare,
    check_named,
    key_above,
    new_axes,
)


def plot_bias_variance(geometries: Mapping[str, xr.Dataset], *, ax: Axes | None = None) -> Axes:
    """Collections or methods as points: bias to the right, standard deviation upwards.

    The distance from the origin is the RMS error; arcs show equal error. Intervals are drawn where
    the results have them. A squared bias below 0 lies left of the origin.

    Parameters
    ----------
    geometries : mapping of str to Dataset
        Name to what :func:`rankings.bias_variance` returns (or a Dataset with 0-d ``bias`` and
        ``sigma``).
    ax : matplotlib Axes, optional

    Returns
    -------
    Axes

    Raises
    ------
    TypeError
        Something else than a mapping.
    ValueError
        An empty mapping, or a Dataset without bias and sigma.

    Examples
    --------
    >>> import matplotlib, xarray as xr, bayeseval as be
    >>> matplotlib.use("Agg")
    >>> ax = be.plots.plot_bias_variance({"dyn": xr.Dataset({"bias": 0.01, "sigma": 0.09})})
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('bias |b|', 'standard deviation')
    """
    check_named(geometries, "geometries", "Dataset")
    for name, found in geometries.items():
        missing = {"bias", "sigma"} - set(found)
        if missing:
            raise ValueError(f"{name} lacks {sorted(missing)[0]}")
    points = np.array([(g["bias"].item(), g["sigma"].item()) for g in geometries.values()])
    bounds = [_bounds(found) for found in geometries.values()]
    ax = new_axes(7.0, 4.6) if ax is None else ax
    _arcs(ax, np.concatenate([points, *(corners.T for corners in bounds)]))
    for index, name in enumerate(shortened(list(geometries))):
        color, marker = COLORS[index % len(COLORS)], MARKERS[index % len(MARKERS)]
        bias, sigma = points[index]
        ax.hlines(sigma, *bounds[index][0], color=color, linewidth=1.2, alpha=0.6)
        ax.vlines(bias, *bounds[index][1], color=color, linewidth=1.2, alpha=0.6)
        ax.plot(bias, sigma, marker, color=color, markersize=7, linestyle="none", label=name)
    ax.set_xlabel("bias |b|")
    ax.set_ylabel("standard deviation")
    ax.set_aspect("equal")
    bare(ax, rows=False)
    levels = [found.attrs.get("ci_prob") for found in geometries.values() if "interval" in found]
    title = "lines: intervals" if levels else None
    if len(set(levels)) == 1 and levels[0] is not None:
        title = f"lines: {percent(levels[0])} intervals"
    key_above(ax, title, n_columns=3)
    return ax


def _bounds(found: xr.Dataset) -> np.ndarray:
    """Lower and upper bound of bias and of sigma, (quantity, bound); the points where none are."""
    if "interval" not in found:
        return np.array([[found[name].item()] * 2 for name in ("bias", "sigma")])
    bounds = found["interval"].sel(quantity=["bias", "sigma"])
    return bounds.transpose("quantity", "ci_bound").to_numpy()


def _arcs(ax: Axes, points: np.ndarray) -> None:
    """Arcs of equal RMS error, at round numbers, and room for the points."""
    largest = 1.08 * np.hypot(*points.T).max()
    size = largest / 4 if largest > 0 else 0.25
    unit = 10.0 ** np.floor(np.log10(size))
    step = unit * min((1, 2, 5, 10), key=lambda factor: abs(factor * unit - size))
    left = min(-0.04 * largest, 1.1 * points[:, 0].min())
    angle = np.linspace(0.0, np.pi, 200)
    for radius in np.arange(step, 1.5 * largest + step, step):
        ax.plot(radius * np.cos(angle), radius * np.sin(angle), color="0.85", linewidth=0.8,
                zorder=0)  # fmt: skip
        if radius < largest:
            ax.annotate(f"RMSE {radius:.3g}", (radius, 0.0), xytext=(-2, 3), fontsize=7,
                        color="0.5", textcoords="offset points", ha="right")  # fmt: skip
    ax.axvline(0.0, color="0.7", linewidth=0.8, zorder=0)
    ax.set_xlim(left, max(1.08 * points[:, 0].max(), 0.6 * largest))
    ax.set_ylim(0.0, max(1.08 * points[:, 1].max(), 0.3 * largest))
