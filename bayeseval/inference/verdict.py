"""One verdict on a sampler: divergences, r_hat, effective sample sizes and BFMI."""

import numpy as np
import xarray as xr

CHECKS = ("divergences", "r_hat", "ess_bulk", "ess_tail", "bfmi")
RHAT_MAX, ESS_MIN, BFMI_MIN = 1.01, 400.0, 0.3


def verdict(
    fitted: xr.DataTree,
    *,
    rhat_max: float = RHAT_MAX,
    ess_min: float = ESS_MIN,
    bfmi_min: float = BFMI_MIN,
) -> xr.Dataset:
    """Verdict on the draws of a fit, over every entry of every variable.

    Parameters
    ----------
    fitted : DataTree
        What :func:`bayeseval.fit` returns.
    rhat_max : float
        Largest split-chain rank-normalised r_hat allowed.
    ess_min : float
        Least effective sample size allowed, in the bulk and in the 5 % tails.
    bfmi_min : float
        Least Bayesian fraction of missing information of a chain.

    Returns
    -------
    Dataset
        Over ``check`` (divergences, r_hat, ess_bulk, ess_tail, bfmi): ``value``, the worst found;
        ``limit``; ``passed``; ``worst``, where it was found.

    Raises
    ------
    ValueError
        A fit without chains, such as a Laplace approximation.

    References
    ----------
    Vehtari, Gelman, Simpson, Carpenter and Buerkner, "Rank-normalization, folding, and
    localization: an improved R-hat", Bayesian Analysis 16 (2021), doi:10.1214/20-BA1221.
    Betancourt, "A conceptual introduction to Hamiltonian Monte Carlo", arXiv:1701.02434.

    Examples
    --------
    >>> import arviz as az, numpy as np
    >>> random = np.random.default_rng(1)
    >>> draws = {"mean": random.normal(size=(4, 500))}
    >>> stats = {"diverging": np.zeros((4, 500), bool), "energy": random.normal(size=(4, 500))}
    >>> found = verdict(az.from_dict({"posterior": draws, "sample_stats": stats}))
    >>> bool(found.passed.all())
    True
    """
    import arviz as az

    if "sample_stats" not in fitted.children:
        raise ValueError("this fit has no sampler's statistics: an approximation has no verdict")
    posterior = fitted["posterior"].to_dataset()
    statistics = fitted["sample_stats"].to_dataset()
    bfmi = az.bfmi(statistics["energy"])
    found = {
        "divergences": (float(statistics["diverging"].sum()), 0.0, ""),
        "r_hat": (*_worst(az.rhat(posterior), largest=True, limit=rhat_max),),
        "ess_bulk": (*_worst(az.ess(posterior), largest=False, limit=ess_min),),
        "ess_tail": (*_worst(az.ess(posterior, method="tail"), largest=False, limit=ess_min),),
        "bfmi": (float(bfmi.min()), float(bfmi_min), f"chain {int(bfmi.to_numpy().argmin())}"),
    }
    value, limit, worst = (list(column) for column in zip(*found.values(), strict=True))
    upper = np.array([check in ("divergences", "r_hat") for check in CHECKS])
    passed = np.where(upper, np.less_equal(value, limit), np.greater_equal(value, limit))
    return xr.Dataset(
        {
            "value": ("check", value),
            "limit": ("check", limit),
            "passed": ("check", passed),
            "worst": ("check", worst),
        },
        coords={"check": list(CHECKS)},
    )


def verdict_text(found: xr.Dataset) -> str:
    """Verdict in a line: every check with its value, where it was found, and what was allowed.

    Parameters
    ----------
    found : Dataset
        What :func:`verdict` returns.

    Returns
    -------
    str

    Examples
    --------
    >>> found = xr.Dataset(
    ...     {
    ...         "value": ("check", [3.0, 1.002]),
    ...         "limit": ("check", [0.0, 1.01]),
    ...         "passed": ("check", [False, True]),
    ...         "worst": ("check", ["", "slope"]),
    ...     },
    ...     coords={"check": ["divergences", "r_hat"]},
    ... )
    >>> verdict_text(found)
    'divergences 3 (allowed: at most 0); r_hat 1.002'
    """
    parts = []
    for check in found["check"].to_numpy().tolist():
        row = found.sel(check=check)
        digits = ".0f" if check in ("divergences", "ess_bulk", "ess_tail") else ".3f"
        text = f"{check} {row['value'].item():{digits}}"
        if not row["passed"].item():
            bound = "at most" if check in ("divergences", "r_hat") else "at least"
            where = f" of {row['worst'].item()}" if row["worst"].item() else ""
            text += f"{where} (allowed: {bound} {row['limit'].item():g})"
        parts.append(text)
    return "; ".join(parts)


def _worst(values: xr.Dataset, *, largest: bool, limit: float) -> tuple[float, float, str]:
    """Worst value over all entries of all variables, the limit, and the entry's name.

    Entries that never vary, such as the first of a set of cutpoints, have no value and are left
    out; parameters that never move are refused before.
    """
    worst, name = (-np.inf if largest else np.inf), ""
    for variable, entries in values.data_vars.items():
        array = entries.to_numpy()
        if not np.isfinite(array).any():
            continue
        flat = int(np.nanargmax(array) if largest else np.nanargmin(array))
        value = float(array.flat[flat])
        if (value > worst) if largest else (value < worst):
            at = np.unravel_index(flat, array.shape)
            labels = [
                f"{entries[dim].to_numpy()[i]}" for dim, i in zip(entries.dims, at, strict=True)
            ]
            worst = value
            name = f"{variable}[{', '.join(labels)}]" if labels else str(variable)
    if not np.isfinite(worst):  # one chain, or too few draws: what cannot be computed fails
        return np.nan, float(limit), ""
    return worst, float(limit), name
