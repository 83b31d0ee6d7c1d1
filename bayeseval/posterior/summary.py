"""Summaries of posterior scores."""

import xarray as xr

from bayeseval.collection.choices import check_ci_prob
from bayeseval.collection.origin import check_several_draws
from bayeseval.rounding import ROUNDING


def summarize(post: xr.Dataset, *, ci_prob: float = 0.9) -> xr.Dataset:
    """Posterior mean, standard deviation and central interval of scores.

    Parameters
    ----------
    post : Dataset
        What :func:`posterior_scores` returns.
    ci_prob : float
        Posterior probability of the interval, with as much below it as above.

    Returns
    -------
    Dataset
        ``estimate`` (posterior mean), ``standard_error`` (posterior standard deviation) and
        ``interval`` with ``ci_bound = ("lower", "upper")``, over measure, run and topic, if any;
        ``outside_weight`` as it was. The names are those of :func:`mean_over_topics`, so that the
        two kinds of answer can be compared.

    Raises
    ------
    ValueError
        ``ci_prob`` outside (0, 1); something else than posterior draws, or one draw.

    Examples
    --------
    >>> import xarray as xr, bayeseval as be
    >>> draws = [[[0.1, 0.2, 0.3, 0.4, 0.5]]]
    >>> post = xr.Dataset({"estimate": (("measure", "chain", "draw"), draws)})
    >>> be.summarize(post, ci_prob=0.5).interval.values
    array([[0.2, 0.4]])
    """
    check_ci_prob(ci_prob)
    draws = ("chain", "draw")
    if "estimate" not in post or not set(draws) <= set(post["estimate"].dims):
        raise ValueError(
            "summarize takes posterior draws, with the dims chain and draw, as posterior_scores "
            "returns them; estimates of evaluate are summarised by mean_over_topics"
        )
    estimate = post["estimate"]
    check_several_draws(estimate)
    tail = (1.0 - ci_prob) / 2.0
    bounds = estimate.quantile([tail, 1.0 - tail], dim=draws, skipna=False)
    interval = bounds.rename(quantile="ci_bound").assign_coords(ci_bound=["lower", "upper"])
    # draws that are all one score have no error, not even one of rounding
    first = estimate.isel(chain=0, draw=0, drop=True)
    same = (estimate.max(draws) - estimate.min(draws) < ROUNDING) & estimate.notnull().all(draws)
    interval = interval.where(~same, first)
    summary = post.drop_vars(["estimate", *draws], errors="ignore").assign(
        estimate=estimate.mean(draws, skipna=False).where(~same, first),
        standard_error=estimate.std(draws, ddof=1, skipna=False).where(~same, 0.0),
        interval=interval.transpose(..., "ci_bound"),
    )
    return summary.assign_attrs(post.attrs | {"ci_prob": ci_prob, "ci_kind": "eti"})
