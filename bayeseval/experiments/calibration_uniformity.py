"""Whether ranks are uniform: simultaneous bands of their distribution function, and one verdict."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from bayeseval.significance import holm

if TYPE_CHECKING:
    from matplotlib.figure import Figure

N_NULL = 20_000
COLUMNS = 6  # of panels


def rank_uniformity(
    calibration: xr.Dataset, *, level: float = 0.05, n_null: int = N_NULL, random_seed: int = 1
) -> xr.Dataset:
    r"""Test of every quantity's ranks against the uniform distribution on 0, 1, ..., n_draws.

    With :math:`R_i` the number of the N simulations whose rank is below i, and :math:`z_i = i /
    (n_{draws} + 1)`, uniform ranks make R_i Binomial(N, z_i). The statistic is the least two-sided
    tail probability along the whole distribution function (equation 14)

    .. math:: \gamma = 2 \min_i \min\{ P(R_i \le r_i), P(R_i \ge r_i) \}

    and its p-value the share of ``n_null`` sets of N uniform ranks with one as small, so that the
    level is right whatever N and n_draws (up to Monte Carlo error; the least p-value is 1 /
    (n_null + 1)). Bias shows as ranks on one side, narrow intervals as ranks at both ends. The
    p-values of all quantities are adjusted by Holm's rule, which holds whatever their dependence:
    where all are calibrated, the chance that any fails is at most ``level``.

    Parameters
    ----------
    calibration : Dataset
        What :func:`simulation_based_calibration` returns: ``rank`` and the attr ``n_draws``.
    level : float
        Chance of any false alarm, in (0, 1).
    n_null : int
        Sets of uniform ranks.
    random_seed : int
        Seed of these.

    Returns
    -------
    Dataset
        Over quantity: ``statistic``, ``p_value``, ``adjusted_p_value`` (Holm) and ``passed``;
        attrs: level, n_simulations, n_draws, seed.

    Raises
    ------
    ValueError
        A level outside (0, 1), or a rank outside 0 to n_draws.

    References
    ----------
    Saeilynoja, Buerkner and Vehtari, "Graphical test for discrete uniformity and its applications
    in goodness-of-fit evaluation and multiple sample comparison", Statistics and Computing 32
    (2022), doi:10.1007/s11222-022-10090-6. Holm, "A simple sequentially rejective multiple test
    procedure", Scandinavian Journal of Statistics 6 (1979).

    Examples
    --------
    >>> import numpy as np, xarray as xr, bayeseval as be
    >>> random = np.random.default_rng(1)
    >>> ranks = np.stack([random.integers(0, 100, 200), random.integers(30, 70, 200)], axis=1)
    >>> found = xr.Dataset(
    ...     {"rank": (("simulation", "quantity"), ranks)},
    ...     coords={"quantity": ["right", "too wide"]}, attrs={"n_draws": 99})
    >>> be.experiments.rank_uniformity(found).passed.values
    array([ True, False])
    """
    _check_level(level)
    n_draws = int(calibration.attrs["n_draws"])
    rank = calibration["rank"].transpose("simulation", "quantity").to_numpy()
    if rank.min() < 0 or rank.max() > n_draws:
        raise ValueError(f"ranks go from {rank.min()} to {rank.max()}; allowed: 0 to {n_draws}")
    counts = np.stack([np.bincount(column, minlength=n_draws + 1) for column in rank.T])
    statistic = least_tail(counts)
    null = np.sort(null_statistics(rank.shape[0], n_draws, n_null, random_seed))
    p_value = (1 + np.searchsorted(null, statistic, side="right")) / (n_null + 1)
    adjusted = holm(p_value)
    return xr.Dataset(
        {
            "statistic": ("quantity", statistic),
            "p_value": ("quantity", p_value),
            "adjusted_p_value": ("quantity", adjusted),
            "passed": ("quantity", adjusted > level),
        },
        coords={"quantity": calibration["quantity"]},
        attrs={
            "test": "simultaneous ECDF, Holm",
            "level": float(level),
            "n_simulations": int(rank.shape[0]),
            "n_draws": n_draws,
            "seed": int(random_seed),
        },
    )


def rank_band(
    n_simulations: int,
    n_draws: int,
    *,
    level: float = 0.05,
    n_null: int = N_NULL,
    random_seed: int = 1,
) -> xr.Dataset:
    """Band that covers the distribution function of uniform ranks with probability 1 - level.

    Parameters
    ----------
    n_simulations, n_draws : int
        Number of ranks, and of the draws behind each.
    level : float
        Chance that a set of uniform ranks leaves the band anywhere, in (0, 1).
    n_null, random_seed : int
        As for :func:`rank_uniformity`.

    Returns
    -------
    Dataset
        ``lower`` and ``upper`` over ``share`` (z): shares of the simulations with ranks below.

    Raises
    ------
    ValueError
        A level outside (0, 1).

    References
    ----------
    Saeilynoja, Buerkner and Vehtari (2022), section 2.2, doi:10.1007/s11222-022-10090-6.

    Examples
    --------
    >>> import bayeseval as be
    >>> band = be.experiments.rank_band(200, 99)
    >>> round(float(band.upper.sel(share=0.5)), 2)
    0.6
    """
    from scipy.stats import binom

    _check_level(level)
    null = null_statistics(n_simulations, n_draws, n_null, random_seed)
    gamma = float(np.quantile(null, level))
    share = np.arange(1, n_draws + 1) / (n_draws + 1)
    lower = binom.ppf(gamma / 2, n_simulations, share) / n_simulations
    upper = binom.isf(gamma / 2, n_simulations, share) / n_simulations
    return xr.Dataset(
        {"lower": ("share", lower), "upper": ("share", upper)}, coords={"share": share}
    )


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


def least_tail(counts: NDArray[np.integer]) -> NDArray[np.float64]:
    """Statistic of each set of ranks, given how often each rank occurs (set, rank)."""
    from scipy.stats import binom

    total, n_ranks = int(counts[0].sum()), counts.shape[1]
    share = np.arange(1, n_ranks)[:, None] / n_ranks
    number = np.arange(total + 1)
    tail = np.minimum(
        binom.cdf(number, total, share), binom.sf(number - 1, total, share)
    )  # (rank, number below)
    below = np.cumsum(counts, axis=1)[:, :-1]
    return 2.0 * tail[np.arange(n_ranks - 1), below].min(axis=1)


def null_statistics(n_simulations: int, n_draws: int, n_null: int, seed: int) -> NDArray:
    """Statistics of sets of uniform ranks."""
    random = np.random.default_rng(seed)
    chance = np.full(n_draws + 1, 1.0 / (n_draws + 1))
    return least_tail(random.multinomial(n_simulations, chance, size=n_null))


def _check_level(level: float) -> None:
    if not 0 < level < 1:
        raise ValueError(f"level is {level}; allowed: between 0 and 1")
