"""Bias, variance, error and coverage of replicated estimates: the columns of the papers' tables."""

import numpy as np
import xarray as xr

from bayeseval.rounding import ROUNDING


def error_summary(
    result: xr.Dataset, *, groups: dict[str, xr.DataArray] | None = None, n_topics: int = 200
) -> xr.Dataset:
    r"""Errors of replicated estimates, summarised over groups of runs.

    With err the difference between estimate and truth, b its mean over replicates for one run and
    :math:`\sigma_{err}^2 = MSE - b^2`:

    Parameters
    ----------
    result : Dataset
        What ``replicate`` returns.
    groups : dict of name -> bool DataArray (run,), optional
        Groups of runs; default: "contributed" and, where there are others, "other".
    n_topics : int
        Number of topics that ``rmse_more_topics`` imagines.

    Returns
    -------
    Dataset
        Over estimator, measure and group:

        ``bias``
            mean of b over runs;
        ``bias_error_paper``
            its imprecision as the paper has it, RMS :math:`\sigma_{err}` / sqrt(replicates x runs),
            which takes the runs of one sample for independent;
        ``bias_error``
            its honest imprecision: the standard deviation over replicates of the mean error over
            runs, by sqrt(replicates); 0 for a design without chance, NaN for a single replicate;
        ``rms_bias``, ``rms_sigma``, ``rms_error``
            root mean squares over runs of b, :math:`\sigma_{err}` and err;
        ``rmse_topics``, ``rmse_more_topics``
            root mean square over runs of the error about the population of topics, :math:`b^2 +
            \sigma_{err}^2 + \sigma_T^2`, for these topics and for ``n_topics``, where both
            variances shrink in proportion;
        ``variance_ratio``
            mean of the squared standard errors by the variance over replicates;
        ``coverage``, ``coverage_error``
            share of intervals that hold the truth, and its Monte Carlo error with replicates as
            clusters; NaN for estimators without intervals.

    References
    ----------
    Cormack and Grossman (2019), sections 5 and 6, tables 1 to 3, doi:10.1145/3331184.3331355.

    Examples
    --------
    >>> import numpy as np, xarray as xr, bayeseval as be
    >>> values = np.array([[0.1, 0.3], [0.3, 0.5]])
    >>> dims = ("estimator", "measure", "replicate", "run")
    >>> result = xr.Dataset(
    ...     {
    ...         "estimate": (dims, values[None, None]),
    ...         "standard_error": (dims, np.full((1, 1, 2, 2), 0.1)),
    ...         "lower": (dims, values[None, None] - 0.05),
    ...         "upper": (dims, values[None, None] + 0.05),
    ...         "truth": (("measure", "run"), [[0.2, 0.3]]),
    ...         "truth_by_topic": (("measure", "run", "topic"), [[[0.1, 0.3], [0.2, 0.4]]]),
    ...         "contributed": ("run", [True, True]),
    ...     }
    ... )
    >>> round(be.experiments.error_summary(result).bias.item(), 6)
    0.05
    """
    if groups is None:
        contributed = result["contributed"].astype(bool)
        groups = {"contributed": contributed}
        if (~contributed).any():
            groups["other"] = ~contributed
    parts = [_summary(result.isel(run=np.flatnonzero(mask)), n_topics) for mask in groups.values()]
    return (
        xr.concat(parts, dim="group").assign_coords(group=list(groups)).assign_attrs(result.attrs)
    )


def _summary(result: xr.Dataset, n_topics: int) -> xr.Dataset:
    error = result["estimate"] - result["truth"]
    bias = error.mean("replicate", skipna=False)
    square = (error**2).mean("replicate", skipna=False)
    sigma2 = (square - bias**2).clip(min=0.0)
    by_topic = result["truth_by_topic"]
    n_here, n_replicates = by_topic.sizes["topic"], error.sizes["replicate"]
    topic2 = by_topic.var("topic", skipna=False) / (n_here - 1)
    margin = ROUNDING * abs(result["truth"]).clip(min=1.0)
    covered = (result["lower"] - margin <= result["truth"]) & (
        result["truth"] <= result["upper"] + margin
    )
    share = covered.where(result["lower"].notnull()).mean("run", skipna=False)
    chance = result.attrs.get("scheme") != "deterministic"
    rms_sigma = np.sqrt(sigma2.mean("run"))
    more = bias**2 + (sigma2 + topic2) * n_here / n_topics
    return xr.Dataset(
        {
            "bias": bias.mean("run"),
            "bias_error_paper": rms_sigma / np.sqrt(n_replicates * error.sizes["run"]),
            "bias_error": _imprecision(error.mean("run"))
            if chance
            else xr.zeros_like(bias.mean("run")),
            "rms_bias": np.sqrt((bias**2).mean("run")),
            "rms_sigma": rms_sigma,
            "rms_error": np.sqrt(square.mean("run")),
            "rmse_topics": np.sqrt((bias**2 + sigma2 + topic2).mean("run")),
            "rmse_more_topics": np.sqrt(more.mean("run")),
            "variance_ratio": (result["standard_error"] ** 2).mean(["replicate", "run"])
            / _variance(error).mean("run"),
            "coverage": share.mean("replicate", skipna=False),
            "coverage_error": _imprecision(share),
        }
    )


def _variance(values: xr.DataArray) -> xr.DataArray:
    """Variance over replicates; NaN where there is but one."""
    if values.sizes["replicate"] < 2:
        return values.isel(replicate=0, drop=True) * np.nan
    return values.var("replicate", ddof=1, skipna=False)


def _imprecision(values: xr.DataArray) -> xr.DataArray:
    """Standard error of the mean over replicates."""
    return (_variance(values) / values.sizes["replicate"]) ** 0.5
