"""A model's scores with its own errors, which its posterior does not know of."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr

from bayeseval.collection.origin import drawn_as_lists
from bayeseval.combination.constants import (
    LISTS,
    checked_constants,
    constants_of,
    groups_of_runs,
    kinds_of_measures,
)
from bayeseval.combination.population import bounded
from bayeseval.combination.sources import moments
from bayeseval.posterior import summarize


def with_model_errors(
    post: xr.Dataset,
    *,
    constants: Mapping[str, Any] | None = None,
    ci_prob: float = 0.9,
) -> xr.Dataset:
    r"""Scores of runs by a model's posterior, with the model's own errors added to the intervals.

    A posterior is as sure as its model is right. Such models erred more than their posteriors say
    on other collections, by errors with a standard deviation of e times the posterior's. So the
    standard error and the distances of the bounds from the posterior mean are multiplied by

    .. math:: \sqrt{1 + e^2}

    where e is the ``near_ratio`` that :func:`combine` has for the group of the run and the kind of
    measure. The errors have the correlations of the posterior. Where the judgments are a random
    sample, :func:`combine` knows more.

    Draws of ``urn_model`` have their errors in the documents that the urns fill, of weight
    :math:`W_r` (``filled_weight``) beside the score :math:`\theta^J_r` of the judged documents
    (``judged_score``):

    .. math:: \theta^J_r + W_r \, \mathrm{expit}\left(\mathrm{logit} \frac{\theta_{sr} -
        \theta^J_r}{W_r} + e z\right)

    with z standard normal and e in log odds.

    What is random: as in the posterior, and the model's errors. What breaks it: a collection on
    which the model errs more than on those; runs that are not as modelled at all, which only a
    design shows (``unlike_model`` of :func:`combine`).

    Parameters
    ----------
    post : Dataset
        Means over topics of :func:`bayeseval.posterior_scores`.
    constants : mapping of group to mapping, optional
        Other ``near_ratio`` of the groups "contributed" and "new", as for :func:`combine`.
    ci_prob : float
        Posterior probability of the interval.

    Returns
    -------
    Dataset (measure, run)
        ``estimate``, the posterior mean; ``standard_error``; ``interval``, within [0, 1] where the
        measure is; ``outside_weight``; ``covariance`` (measure, run, run_other), so that runs can
        be compared and ranked, except with ``urn_model``, which draws the list of each run
        separately.

    Raises
    ------
    ValueError
        Scores per topic, or for the population of topics; something else than posterior draws, two
        at least; NaN.

    Examples
    --------
    >>> import numpy as np, xarray as xr, bayeseval as be
    >>> draws = np.random.default_rng(1).normal(0.4, 0.01, (1, 4000, 1, 2))
    >>> post = xr.Dataset(
    ...     {"estimate": (("chain", "draw", "measure", "run"), draws)},
    ...     coords={"measure": ["P@10"], "run": ["a", "b"], "contributed": ("run", [True, False])},
    ... )
    >>> own = {"contributed": {"near_ratio": 0.0}, "new": {"near_ratio": 1.0}}
    >>> wider = be.with_model_errors(post, constants=own)
    >>> (wider.standard_error / be.summarize(post).standard_error).values.round(2)
    array([[1.  , 1.41]])
    """
    _check(post)
    known, group = checked_constants(constants), groups_of_runs(post)
    labels: list[str] = post["measure"].to_numpy().tolist()
    lists = drawn_as_lists(post)
    kinds = [LISTS] * len(labels) if lists else kinds_of_measures(labels)
    ratio = xr.DataArray(constants_of(known, kinds, group, "near_ratio"), dims=("measure", "run"))
    kept = [name for name in ("estimate", "outside_weight") if name in post]
    if lists:
        result = summarize(_with_errors_of_lists(post, ratio)[kept], ci_prob=ci_prob)
        return result.assign_attrs(model_errors="added")
    result = summarize(post[kept], ci_prob=ci_prob)
    factor = (1.0 + ratio**2) ** 0.5
    interval = result["estimate"] + factor * (result["interval"] - result["estimate"])
    interval = interval.where(~bounded(labels), interval.clip(0.0, 1.0))
    matrix, factor = moments(post["estimate"])[1], factor.to_numpy()
    return (
        result.assign(
            standard_error=factor * result["standard_error"],
            interval=interval,
            covariance=(
                ("measure", "run", "run_other"),
                matrix * factor[:, :, None] * factor[:, None, :],
            ),
        )
        .assign_coords(run_other=post["run"].to_numpy())
        .assign_attrs(model_errors="added")
    )


def _with_errors_of_lists(post: xr.Dataset, ratio: xr.DataArray) -> xr.Dataset:
    """Draws with errors in the log odds of the share that the urns fill.

    The errors are the normal quantiles of a Kronecker sequence: no seed changes the answer.
    """
    from scipy.special import ndtri

    judged, weight = post["judged_score"], post["filled_weight"]
    share = ((post["estimate"] - judged) / weight.where(weight > 0.0, 1.0)).clip(0.0, 1.0)
    shape = tuple(post.sizes[dim] for dim in ("chain", "draw"))
    golden = 0.5 * (np.sqrt(5.0) - 1.0)
    sequence = ((np.arange(np.prod(shape)) + 0.5) * golden) % 1.0
    error = xr.DataArray(ndtri(sequence).reshape(shape), dims=("chain", "draw"))
    odds = np.exp(ratio * error)
    scores = judged + weight * share * odds / (1.0 + share * (odds - 1.0))
    return post.assign(estimate=scores.where(weight > 0.0, post["estimate"]))


def _check(post: xr.Dataset) -> None:
    """Refuse scores whose errors are not known."""
    is_dataset = isinstance(post, xr.Dataset) and "estimate" in post
    if not is_dataset or not {"chain", "draw"} <= set(post["estimate"].dims):
        raise ValueError("post must be posterior draws, as posterior_scores returns them")
    if "topic" in post["estimate"].dims or post.attrs.get("population") == "topics":
        raise ValueError(
            "a model's own errors are known of means over these topics: give posterior_scores "
            "with population='sample' and without over=None"
        )
    for dim in ("measure", "run"):
        if dim not in post["estimate"].dims:
            raise ValueError(f"pick {dim}s with sel({dim}=[...]), which keeps the dim")
    if bool(post["estimate"].isnull().any()):
        raise ValueError("a model's own errors are those of scores, and some are NaN")
    if drawn_as_lists(post) and not {"judged_score", "filled_weight"} <= set(post.data_vars):
        raise ValueError(
            "these draws do not say what their urns fill: give what posterior_scores returns, whole"
        )
