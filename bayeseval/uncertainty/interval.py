"""Intervals from an estimate and its standard error."""

import numpy as np
import xarray as xr

from bayeseval.collection.choices import check_ci_prob
from bayeseval.rounding import ROUNDING

PREDICTED_FREEDOM = 10.0  # degrees of freedom that an anticipated variance counts for


def interval(
    estimate: xr.DataArray,
    standard_error: xr.DataArray,
    *,
    ci_prob: float,
    degrees_of_freedom: xr.DataArray | float = np.inf,
) -> xr.DataArray:
    r"""Central interval estimate :math:`\pm t_{(1 + ci\_prob) / 2} \cdot` standard error.

    Over the dims of estimate and error, which are the same, and ``ci_bound`` ("lower", "upper").
    Infinite degrees of freedom are the normal distribution. A ``ci_prob`` outside (0, 1) raises a
    ValueError.

    Examples
    --------
    >>> estimate, error = xr.DataArray(0.5), xr.DataArray(0.1)
    >>> interval(estimate, error, ci_prob=0.9).round(3).values
    array([0.336, 0.664])
    """
    check_ci_prob(ci_prob)
    from scipy.special import stdtrit

    tail = 0.5 * (1.0 + float(ci_prob))

    def bounds(estimate, error, freedom):
        normal = np.isposinf(freedom)
        quantile = np.where(
            normal, normal_quantile(ci_prob), stdtrit(np.where(normal, 1.0, freedom), tail)
        )
        half = quantile * error
        return np.stack([estimate - half, estimate + half], axis=-1)

    freedom = xr.DataArray(degrees_of_freedom)
    both = xr.apply_ufunc(
        bounds, estimate, standard_error, freedom, output_core_dims=[["ci_bound"]]
    )
    both = both.assign_coords(ci_bound=["lower", "upper"])
    return both.assign_attrs(ci_prob=ci_prob, ci_kind="central")


def normal_quantile(ci_prob: float) -> float:
    """Half the length of the standard normal distribution's central interval."""
    from scipy.special import ndtri

    return float(ndtri(0.5 * (1.0 + ci_prob)))


def with_anticipated(variance, freedom, anticipated):
    r"""Variance by the sample and the anticipated one, each by its degrees of freedom.

    .. math:: V' = \frac{\nu V + 10 A}{\nu + 10}

    A sample that happens to miss the few documents that matter gives an estimate that is off and a
    variance V that is too small, both at once. The anticipated variance A, that of the design if
    documents were relevant with the predicted probabilities, does not depend on that luck; it
    counts for ten degrees of freedom.

    Parameters
    ----------
    variance : DataArray
        V, estimated without bias.
    freedom : DataArray
        Its degrees of freedom, infinite where V is 0.
    anticipated : DataArray
        A, 0 where there is none.

    Returns
    -------
    tuple of DataArray
        V', V where there is no A, and its degrees of freedom.

    References
    ----------
    Isaki and Fuller, "Survey design under the regression superpopulation model", Journal of the
    American Statistical Association 77 (1982), doi:10.1080/01621459.1982.10477770.

    Examples
    --------
    >>> one = [xr.DataArray(value) for value in (0.01, 10.0, 0.02)]
    >>> with_anticipated(*one)[0].round(4).item()
    0.015
    """
    columns = variance, freedom, anticipated
    return xr.apply_ufunc(_mixed, *columns, output_core_dims=[[], []], keep_attrs=True)


def _mixed(variance, freedom, anticipated):
    own = np.where(variance <= ROUNDING * anticipated, 0.0, freedom)
    share = np.where(anticipated > 0.0, PREDICTED_FREEDOM / (PREDICTED_FREEDOM + own), 0.0)
    mixed = variance + share * (anticipated - variance)
    return mixed, np.where(anticipated > 0.0, own + PREDICTED_FREEDOM, freedom)


def anticipated_part(standard_error, design_error, freedom):
    """The anticipated variance in an error that :func:`with_anticipated` made of a design error."""
    variance = design_error**2
    excess = (standard_error**2 - variance) * freedom / PREDICTED_FREEDOM
    return variance + excess.where(standard_error != design_error, 0.0)


def degrees_of_freedom(variance, spread):
    r"""Satterthwaite's degrees of freedom of a variance that is a sum over strata.

    .. math:: df = \frac{(\sum_h V_h)^2}{\sum_h V_h^2 / (n_h - 1)}

    A variance that a few strata dominate is itself poorly known, and the normal quantile is then
    too small. The spread is the sum below; where it is 0, or rounding alone, df is infinite.

    References
    ----------
    F. E. Satterthwaite, "An approximate distribution of estimates of variance components",
    Biometrics Bulletin 2 (1946), doi:10.2307/3002019.
    """
    return xr.apply_ufunc(_satterthwaite, variance, spread, keep_attrs=True)


def _satterthwaite(variance, spread):
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.square(variance) / spread
    unknown = np.isnan(spread) | np.isnan(variance)
    exact = np.where(unknown, np.nan, np.inf)  # no spread: everything was judged
    return np.where(ratio < 1.0 / ROUNDING, ratio, exact)
