"""Whether ranks are uniform: simultaneous bands of their distribution function, and one verdict."""

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from bayeseval.significance import holm

N_NULL = 20_000


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
