"""One verdict on a fit: how the sampler did, and whether the judgments are as it predicts them."""

import numpy as np
import xarray as xr

from bayeseval.inference.judgments import KINDS, predicted_judgments
from bayeseval.models.identity import check_fit

UPPER = ("divergences", "r_hat", *KINDS)  # checks whose limit is the largest value allowed
WHOLE = ("divergences", "ess_bulk", "ess_tail")  # shown without decimals
RHAT_MAX, ESS_MIN, BFMI_MIN = 1.01, 400.0, 0.3
FALSE_ALARMS = 0.05  # chance that judgments speak against a model that is right


def verdict(
    fitted: xr.DataTree,
    sampled: xr.DataTree | None = None,
    *,
    random_seed: int = 0,
) -> xr.Dataset:
    r"""Verdict on the draws of a fit, and on the model if judgments are given.

    Of a sampler it looks at every entry of every variable: no draw may have diverged, the
    split-chain rank-normalised r_hat is 1.01 at most, the effective sample size 400 at least, in
    the bulk and in the 5 % tails, and the Bayesian fraction of missing information of every chain
    .3 at least. Of a model of documents it compares the judgments with what the fit predicts
    (:func:`bayeseval.inference.predicted_judgments`): by stratum, by topic, by the number of runs
    that found a document, at the first ten ranks of the runs, and the number of relevant documents
    with that of ``dyn``. Of each it takes the largest standardised difference of any group,
    :math:`\max_g |z_g|`, whose limit is the quantile of the same under judgments drawn from the
    fit, at .99: so the chance that any of the five speaks against a model that is right is about
    .05. A model that passes may still be wrong of runs that it did not learn from.

    Parameters
    ----------
    fitted : DataTree
        What :func:`bayeseval.fit` returns.
    sampled : DataTree, optional
        Collection that the model was made from; an approximation has no verdict without.
    random_seed : int
        For the judgments drawn from the fit.

    Returns
    -------
    Dataset
        Over ``check`` (divergences, r_hat, ess_bulk, ess_tail, bfmi of a sampler; strata, topics,
        agreement, runs, relevant of the judgments): ``value``, the worst found; ``limit``;
        ``passed``; ``worst``, where it was found.

    Raises
    ------
    ValueError
        Nothing to look at: an approximation, and no ``sampled``; ``sampled`` is another collection.

    References
    ----------
    Vehtari, Gelman, Simpson, Carpenter and Buerkner, "Rank-normalization, folding, and
    localization: an improved R-hat", Bayesian Analysis 16 (2021), doi:10.1214/20-BA1221.
    Betancourt, "A conceptual introduction to Hamiltonian Monte Carlo", arXiv:1701.02434. Westfall
    and Young, "Resampling-based multiple testing" (1993), on the largest of many differences.

    Examples
    --------
    >>> import arviz as az, numpy as np, bayeseval as be
    >>> random = np.random.default_rng(1)
    >>> draws = {"mean": random.normal(size=(4, 500))}
    >>> stats = {"diverging": np.zeros((4, 500), bool), "energy": random.normal(size=(4, 500))}
    >>> found = be.verdict(az.from_dict({"posterior": draws, "sample_stats": stats}))
    >>> bool(found.passed.all())
    True
    """
    check_fit(fitted)
    fitted = fitted.compute()  # ArviZ takes no chunks
    rows: dict[str, tuple[float, float, str]] = {}
    if "sample_stats" in fitted.children:
        rows |= _sampler(fitted)
    elif sampled is None:
        raise ValueError(
            "this fit has no sampler's statistics: an approximation has a verdict only beside its "
            "judgments, be.verdict(fitted, sampled)"
        )
    if sampled is not None:
        rows |= _judgments(predicted_judgments(fitted, sampled, random_seed=random_seed))
    return _table(rows)


def judgments_verdict(seen: xr.Dataset) -> xr.Dataset:
    """Verdict on a model from its judgments alone.

    Parameters
    ----------
    seen : Dataset
        What :func:`bayeseval.inference.predicted_judgments` returns.

    Returns
    -------
    Dataset
        The rows of :func:`verdict` that look at the judgments.

    Raises
    ------
    ValueError
        Something else than predicted judgments.

    Examples
    --------
    >>> import xarray as xr, bayeseval as be
    >>> seen = xr.Dataset(
    ...     {"observed": ("group", [9.0]), "predicted": ("group", [3.0]),
    ...      "difference": ("group", [3.0]), "null": (("group", "replicate"), [[-2.0, 1.0]])},
    ...     coords={"kind": ("group", ["relevant"]), "label": ("group", ["all documents"])})
    >>> be.inference.judgments_verdict(seen)["passed"].item()
    False
    """
    if not isinstance(seen, xr.Dataset) or not {"null", "difference"} <= set(seen.data_vars):
        raise ValueError(
            "judgments_verdict takes what predicted_judgments returns; be.verdict(fit, sampled) "
            "looks at a fit"
        )
    return _table(_judgments(seen))


def _table(rows: dict[str, tuple[float, float, str]]) -> xr.Dataset:
    """Value, limit and place of every check, and whether it passed."""
    value, limit, worst = (list(column) for column in zip(*rows.values(), strict=True))
    upper = np.array([check in UPPER for check in rows])
    passed = np.where(upper, np.less_equal(value, limit), np.greater_equal(value, limit))
    return xr.Dataset(
        {
            "value": ("check", value),
            "limit": ("check", limit),
            "passed": ("check", passed),
            "worst": ("check", worst),
        },
        coords={"check": list(rows)},
    )


def judgment_limit(seen: xr.Dataset, kind: str) -> float:
    """Largest standardised difference that any group of a kind may have."""
    rows = np.flatnonzero(seen["kind"].to_numpy() == kind)
    largest = np.abs(seen["null"].to_numpy()[rows]).max(axis=0)
    return float(np.quantile(largest, 1.0 - FALSE_ALARMS / len(KINDS)))


def _judgments(seen: xr.Dataset) -> dict[str, tuple[float, float, str]]:
    """Largest standardised difference of each kind of groups, its limit, and where it is."""
    off = np.abs(seen["difference"].to_numpy())
    rows_of_kind = {}
    for kind in KINDS:
        rows = np.flatnonzero(seen["kind"].to_numpy() == kind)
        if rows.size:
            at = rows[off[rows].argmax()]
            group = seen.isel(group=at)
            where = (
                f"{group['label'].item()}, where the judgments stand for "
                f"{group['observed'].item():.3g} more relevant documents and the model expects "
                f"{group['predicted'].item():.3g}"
            )
            rows_of_kind[kind] = (float(off[at]), judgment_limit(seen, kind), where)
    return rows_of_kind


def _sampler(fitted: xr.DataTree) -> dict[str, tuple[float, float, str]]:
    """Worst value, limit and place of every check of a sampler."""
    import arviz as az

    posterior = fitted["posterior"].to_dataset()
    statistics = fitted["sample_stats"].to_dataset()
    bfmi = az.bfmi(statistics["energy"])
    return {
        "divergences": (float(statistics["diverging"].sum()), 0.0, ""),
        "r_hat": _worst(az.rhat(posterior), largest=True, limit=RHAT_MAX),
        "ess_bulk": _worst(az.ess(posterior), largest=False, limit=ESS_MIN),
        "ess_tail": _worst(az.ess(posterior, method="tail"), largest=False, limit=ESS_MIN),
        "bfmi": (float(bfmi.min()), BFMI_MIN, f"chain {int(bfmi.to_numpy().argmin())}"),
    }


def verdict_text(found: xr.Dataset) -> str:
    """Verdict on one line: every check with its value, where it was found, and the limit.

    Parameters
    ----------
    found : Dataset
        What :func:`verdict` returns.

    Returns
    -------
    str

    Examples
    --------
    >>> import xarray as xr, bayeseval as be
    >>> found = xr.Dataset(
    ...     {
    ...         "value": ("check", [3.0, 1.002]),
    ...         "limit": ("check", [0.0, 1.01]),
    ...         "passed": ("check", [False, True]),
    ...         "worst": ("check", ["", "slope"]),
    ...     },
    ...     coords={"check": ["divergences", "r_hat"]},
    ... )
    >>> be.inference.verdict_text(found)
    'divergences 3 (allowed: at most 0); r_hat 1.002'
    """
    parts = []
    for check in found["check"].to_numpy().tolist():
        row = found.sel(check=check)
        if np.isnan(row["value"].item()):
            parts.append(f"{check} cannot be told (one chain, or too few draws)")
            continue
        digits = ".0f" if check in WHOLE else ".2f" if check in KINDS else ".3f"
        text = f"{check} {row['value'].item():{digits}}"
        if not row["passed"].item():
            bound = "at most" if check in UPPER else "at least"
            where = f" of {row['worst'].item()}" if row["worst"].item() else ""
            text += f"{where} (allowed: {bound} {row['limit'].item():.3g})"
        parts.append(text)
    return "; ".join(parts)


def _worst(values: xr.Dataset, *, largest: bool, limit: float) -> tuple[float, float, str]:
    """Worst value over all entries of all variables, the limit, and the entry's name.

    Entries that never vary, such as 1 on the diagonal of a correlation matrix, have no value and
    are left out; parameters that never move are refused before.
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
        return np.nan, limit, ""
    return worst, limit, name
