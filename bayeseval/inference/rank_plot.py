"""Ranks of each chain's draws among all, with the band where ranks of one target lie."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

if TYPE_CHECKING:
    from numpy.typing import NDArray

BAND = 0.99  # probability that all chains of a panel lie within
N_SIMULATIONS = 1000
N_POINTS = 200


def ranks(fitted: xr.DataTree, names: list[str], **options: Any):
    """Plot the ranks of draws thinned to be nearly independent, as the band takes them to be.

    ArviZ's own band takes the chains' ranks for independent, though all chains share them out: it
    is too wide, most where there are two.
    """
    import arviz as az

    draws = fitted["posterior"].to_dataset()[names]
    draws = draws.isel(draw=slice(None, None, _step(draws)))
    drawing = az.plot_rank(
        xr.DataTree.from_dict({"posterior": draws}),
        method="envelope",
        thin=False,
        stats={"ecdf_pit": {"n_simulations": 1, "n_chains": 1}},  # of the band that is not drawn
        visuals={"credible_interval": False},
        **options,
    )
    share, width = chains_band(draws.sizes["chain"], draws.sizes["draw"])
    for axes in drawing.viz["figure"].item().axes:
        if axes.lines:
            axes.fill_between(share, -width, width, color="0.5", alpha=0.2, linewidth=0)
    return drawing


def _step(draws: xr.Dataset) -> int:
    """Every how manieth draw is nearly independent of the one before in its chain.

    Chains are moved to one place first: that they differ, which the plot is to show, is no
    dependence within them.
    """
    import arviz as az

    sizes = az.ess(draws - draws.mean("draw", skipna=False))
    least = min(float(size.min(skipna=True)) for size in sizes.data_vars.values())
    return max(1, round(draws.sizes["chain"] * draws.sizes["draw"] / least))


def chains_band(n_chains: int, n_draws: int) -> tuple[NDArray[np.floating], NDArray[np.floating]]:
    r"""Half-width of the band around 0 of the differences that the plot shows, and where.

    Of all ranks up to a share x, chain c holds a hypergeometric number: its share of its own
    draws has variance

    .. math:: \frac{x (1 - x)}{n} \left(1 - \frac{1}{L}\right) \frac{L n}{L n - 1}

    for L chains of n draws. The band is a multiple of its root, such that all chains lie within it
    everywhere with probability .99 where ranks are dealt at random, by simulation.

    Examples
    --------
    >>> share, width = chains_band(2, 400)
    >>> width.max().round(2)
    np.float64(0.06)
    """
    n_ranks = n_chains * n_draws
    place = np.unique(np.linspace(1, n_ranks - 1, min(N_POINTS, n_ranks - 1)).astype(int))
    share = place / n_ranks
    spread = np.sqrt(share * (1 - share) / n_draws * (1 - 1 / n_chains) * n_ranks / (n_ranks - 1))
    random = np.random.default_rng(1)
    chain = np.repeat(np.arange(n_chains), n_draws)
    largest = np.empty(N_SIMULATIONS)
    for simulation in range(N_SIMULATIONS):
        dealt = random.permutation(chain)
        held = np.stack([np.cumsum(dealt == c)[place - 1] for c in range(n_chains)]) / n_draws
        largest[simulation] = (np.abs(held - share) / spread).max()
    return share, float(np.quantile(largest, BAND)) * spread
