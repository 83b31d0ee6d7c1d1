"""What simulations say of estimates: error, spread and coverage, quantity by quantity."""

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from bayeseval.collection.choices import check_ci_prob


def recovery(calibration: xr.Dataset, *, ci_prob: float = 0.9) -> xr.Dataset:
    r"""How well posterior means recover true values, and how often intervals cover them.

    Over the simulations: bias (mean of posterior mean - truth), root mean squared error, root mean
    squared posterior standard deviation, correlation of posterior mean with truth, and coverage of
    the central interval between the draws of order k and n_draws + 1 - k, with k = (n_draws + 1)
    (1 - ci_prob) / 2; a rank r is covered where k <= r <= n_draws - k. A calibrated model has
    coverage ``ci_prob`` exactly, an error as large as its spread, and no bias, on average over its
    prior; it need not have a high correlation, which says how much the data tell.

    Parameters
    ----------
    calibration : Dataset
        What :func:`simulation_based_calibration` returns.
    ci_prob : float
        Posterior probability of the interval; k must be a whole number.

    Returns
    -------
    Dataset
        Over quantity: ``bias``, ``rms_error``, ``posterior_sd``, ``correlation``, ``coverage`` and
        ``coverage_interval`` (ci_bound): the Wilson interval, at 95 %, of a share of so many
        simulations.

    Raises
    ------
    ValueError
        A ``ci_prob`` that so few draws have no interval of.

    References
    ----------
    Wilson, "Probable inference, the law of succession, and statistical inference", JASA 22 (1927).

    Examples
    --------
    >>> import numpy as np, xarray as xr, bayeseval as be
    >>> column = ("simulation", "quantity")
    >>> found = xr.Dataset(
    ...     {"rank": (column, np.arange(20)[:, None]), "truth": (column, np.zeros((20, 1))),
    ...      "mean": (column, np.tile([[-0.1], [0.1]], (10, 1))),
    ...      "standard_error": (column, np.full((20, 1), 0.1))},
    ...     coords={"quantity": ["slope"]}, attrs={"n_draws": 19})
    >>> recovered = be.experiments.recovery(found)
    >>> float(recovered.coverage[0]), round(float(recovered.rms_error[0]), 2)
    (0.9, 0.1)
    """
    over = "simulation"
    error = calibration["mean"] - calibration["truth"]
    inside = covered(calibration["rank"], int(calibration.attrs["n_draws"]), ci_prob)
    number = calibration.sizes[over]
    return xr.Dataset(
        {
            "bias": error.mean(over, skipna=False),
            "rms_error": np.sqrt((error**2).mean(over, skipna=False)),
            "posterior_sd": np.sqrt((calibration["standard_error"] ** 2).mean(over, skipna=False)),
            "correlation": xr.corr(calibration["mean"], calibration["truth"], dim=over),
            "coverage": inside.mean(over),
            "coverage_interval": (
                ("quantity", "ci_bound"),
                wilson(inside.sum(over).to_numpy(), number),
            ),
        },
        coords={"ci_bound": ["lower", "upper"]},
        attrs={"ci_prob": ci_prob, "n_simulations": number},
    )


def covered(rank: xr.DataArray, n_draws: int, ci_prob: float) -> xr.DataArray:
    """Whether the central interval of the draws holds the truth of each rank."""
    check_ci_prob(ci_prob)
    order = (n_draws + 1) * (1.0 - ci_prob) / 2.0
    if round(order) < 1 or abs(order - round(order)) > 1e-9:
        raise ValueError(
            f"{n_draws} draws have no central interval of {ci_prob}; allowed: n_draws + 1 times "
            "(1 - ci_prob) / 2 a whole number, 1 or more"
        )
    return (rank >= round(order)) & (rank <= n_draws - round(order))


def wilson(successes: NDArray, number: int) -> NDArray[np.float64]:
    """Wilson interval, at 95 %, of a share (share, ci_bound)."""
    from scipy.stats import binomtest

    found = [binomtest(int(k), number).proportion_ci(0.95, method="wilson") for k in successes]
    return np.array(found)
