"""Pictures of ranks: how far their distribution function is from the uniform one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import xarray as xr

from bayeseval.experiments.calibration_uniformity import rank_band

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLUMNS = 6


def plot_ranks(calibration: xr.Dataset, *, level: float = 0.05) -> Figure:
    """Difference of the ranks' distribution function from the uniform one, one panel a quantity.

    The dark band holds the whole line of one calibrated quantity with chance 1 - level, the light
    one the lines of all quantities together with at least that (level divided by their number). A
    line above 0 in the lower half and below in the upper is of intervals that are too narrow, a
    line above 0 throughout of estimates that are too high.

    Parameters
    ----------
    calibration : Dataset
        What :func:`simulation_based_calibration` returns: ``rank`` and the attr ``n_draws``.
    level : float
        Chance of a false alarm, in (0, 1).

    Returns
    -------
    matplotlib Figure

    Raises
    ------
    ValueError
        A level outside (0, 1).

    References
    ----------
    Saeilynoja, Buerkner and Vehtari (2022), doi:10.1007/s11222-022-10090-6.

    Examples
    --------
    >>> import matplotlib, numpy as np, xarray as xr, bayeseval as be
    >>> matplotlib.use("Agg")
    >>> ranks = np.random.default_rng(1).integers(0, 20, (50, 2))
    >>> found = xr.Dataset({"rank": (("simulation", "quantity"), ranks)},
    ...     coords={"quantity": ["slope", "P@10"]}, attrs={"n_draws": 19})
    >>> [ax.get_title() for ax in be.experiments.plot_ranks(found).axes]
    ['slope', 'P@10']
    """
    from matplotlib.figure import Figure

    names = calibration["quantity"].to_numpy().tolist()
    n_simulations, n_draws = calibration.sizes["simulation"], int(calibration.attrs["n_draws"])
    bands = [
        (rank_band(n_simulations, n_draws, level=level / len(names)), "#E6EEF5"),
        (rank_band(n_simulations, n_draws, level=level), "#BDD3E6"),
    ]
    rows = -(-len(names) // COLUMNS)
    columns = min(COLUMNS, len(names))
    figure = Figure(figsize=(2.3 * columns, 1.7 * rows + 0.3), layout="constrained")
    grid = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)
    for ax in grid.flat[len(names) :]:
        ax.remove()
    share = bands[0][0]["share"].to_numpy()
    for ax, name in zip(grid.flat, names, strict=False):
        for band, color in bands:
            ax.fill_between(share, band["lower"] - share, band["upper"] - share, color=color, lw=0)
        rank = calibration["rank"].sel(quantity=name).to_numpy()
        below = np.searchsorted(np.sort(rank), np.arange(1, n_draws + 1)) / n_simulations
        ax.plot(share, below - share, color="#0072B2", lw=1.0)
        ax.set_title(name, fontsize=7)
        ax.tick_params(labelsize=6)
    figure.supxlabel("rank of the truth among its draws, as a share", fontsize=8)
    figure.supylabel("distribution function less the uniform one", fontsize=8)
    return figure
