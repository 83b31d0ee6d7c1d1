"""Replicated sampling from a collection whose truth is known, and a summary of the errors."""

import numpy as np
import xarray as xr

from bayeseval.designs import draw, reveal
from bayeseval.evaluation import evaluate, mean_over_topics
from bayeseval.processors import in_chunks
from bayeseval.rounding import ROUNDING
from bayeseval.tidy import BOUNDS, with_bounds

CHUNK = 20  # samples that are scored together


def replicate(
    collection: xr.DataTree,
    design: xr.Dataset,
    measures,
    *,
    estimators: list,
    n_replicates: int = 100,
    random_seed: int,
    ci_prob: float = 0.9,
    relevance_level: int = 1,
    unjudged: str = "error",
    executor=None,
    keep=None,
) -> xr.Dataset:
    """Mean scores of every run under many samples of one design, and the true means.

    The design comes from the contributing runs alone; runs added later (``dual_runs``) are only
    measured. Replicates are columns of the same arrays, scored together in chunks of 20.

    Parameters
    ----------
    collection : DataTree
        Collection whose judgments are taken as the truth; unjudged pairs count as non-relevant.
    design : Dataset
        Random design over its pairs; a deterministic one needs one replicate only.
    measures : str, object or list
        As for ``evaluate``.
    estimators : list of str or (str, predictor)
        Such as ``["stat", ("dyn", "rank_logistic"), ("dyn", "pooled"), "inf"]``.
    n_replicates : int
        Samples drawn.
    random_seed : int
        Seed of the samples.
    ci_prob : float
        Coverage of the intervals.
    relevance_level : int
        Least grade that counts as relevant.
    unjudged : {"error", "nonrelevant"}
        As for ``reveal``.
    executor : concurrent.futures.Executor or dask.distributed.Client, optional
        Processes, here or on other machines, that score the chunks; the numbers stay the same.
    keep : str or Path, optional
        Folder in which finished chunks are files; the same call goes on from those that are there.

    Returns
    -------
    Dataset
        ``estimate``, ``lower``, ``upper`` (estimator, replicate, measure, run); ``truth``
        (measure, run) and ``truth_by_topic`` (measure, run, topic); ``contributed`` (run).

    Raises
    ------
    ValueError
        As ``draw``, ``reveal`` and ``evaluate``.

    References
    ----------
    Cormack and Grossman (2019), sections 5 and 6, doi:10.1145/3331184.3331355.

    Examples
    --------
    >>> import bayeseval as be
    >>> collection = be.simulate.urn_collection(
    ...     [0.1, 0.2, 0.4], n_topics=2, prevalence=0.1, random_seed=1
    ... )
    >>> design = be.designs.uniform_strata(collection, budget=20, n_strata=4, random_seed=2)
    >>> result = be.experiments.replicate(
    ...     collection, design, "P@10", estimators=["stat"], n_replicates=5, random_seed=3
    ... )
    >>> dict(result.estimate.sizes)
    {'estimator': 1, 'measure': 1, 'run': 3, 'replicate': 5}
    """
    truth = evaluate(
        collection, measures, estimator="assumed", relevance_level=relevance_level
    ).estimate
    selected = draw(design, n_replicates=n_replicates, random_seed=random_seed)
    options = (estimators, relevance_level, ci_prob, random_seed, unjudged)
    parts = in_chunks(
        scored_samples,
        (collection, design, measures, *options),
        [selected[first : first + CHUNK] for first in range(0, n_replicates, CHUNK)],
        f"{n_replicates} samples",
        executor,
        keep,
    )
    result = xr.concat(list(parts), dim="replicate")
    return result.assign(
        truth=truth.mean("topic"),
        truth_by_topic=truth,
        contributed=("run", collection["contributed"].to_numpy()),
    ).assign_attrs(
        design=design.attrs["name"],
        scheme=design.attrs["scheme"],
        parameters=design.attrs["parameters"],
        seed=int(random_seed),
        ci_prob=ci_prob,
    )


def scored_samples(
    collection: xr.DataTree,
    design: xr.Dataset,
    measures,
    estimators: list,
    relevance_level: int,
    ci_prob: float,
    random_seed: int,
    unjudged: str,
    selected: xr.DataArray,
) -> xr.Dataset:
    """Means with intervals (estimator, replicate, measure, run) of samples of a design."""
    sampled = reveal(collection, design, selected, unjudged=unjudged)
    parts = []
    for estimator in estimators:
        name, predictor = (estimator, None) if isinstance(estimator, str) else estimator
        scores = evaluate(
            sampled,
            measures,
            estimator=name,
            predictor=predictor,
            relevance_level=relevance_level,
            random_seed=random_seed,
        )
        mean = with_bounds(mean_over_topics(scores, ci_prob=ci_prob))
        parts.append(mean[["estimate", "standard_error", *BOUNDS]].drop_attrs(deep=False))
    result = xr.concat(parts, dim="estimator")
    return result.assign_coords(estimator=[_name(estimator) for estimator in estimators])


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
        Number of topics for ``rmse_more_topics``.

    Returns
    -------
    Dataset
        Over estimator, measure and group:

        ``bias``
            mean of b over runs;
        ``bias_error_paper``
            its error in the paper, RMS :math:`\sigma_{err}` / sqrt(replicates x runs), as if the
            runs of one sample were independent;
        ``bias_error``
            its error by the standard deviation over replicates of the mean error over runs, divided
            by sqrt(replicates); 0 for a deterministic design, NaN for a single replicate;
        ``rms_bias``, ``rms_sigma``, ``rms_error``
            root mean squares over runs of b, :math:`\sigma_{err}` and err;
        ``rmse_topics``, ``rmse_more_topics``
            root mean square over runs of the error about the population of topics, :math:`b^2 +
            \sigma_{err}^2 + \sigma_T^2`, for these topics and for ``n_topics``, where both
            variances shrink in proportion;
        ``variance_ratio``
            mean of the squared standard errors by the variance over replicates;
        ``coverage``, ``coverage_error``
            share of intervals that contain the truth, and its Monte Carlo error with replicates as
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


def _name(estimator) -> str:
    if isinstance(estimator, str):
        return estimator
    name, predictor = estimator
    parts = [predictor] if isinstance(predictor, str) else list(predictor)
    return ":".join([name, *map(str, parts)])


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
    is_random = result.attrs.get("scheme") != "deterministic"
    rms_sigma = np.sqrt(sigma2.mean("run"))
    more = bias**2 + (sigma2 + topic2) * n_here / n_topics
    return xr.Dataset(
        {
            "bias": bias.mean("run"),
            "bias_error_paper": rms_sigma / np.sqrt(n_replicates * error.sizes["run"]),
            "bias_error": _imprecision(error.mean("run"))
            if is_random
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
    """Variance over replicates; NaN for a single one."""
    if values.sizes["replicate"] < 2:
        return values.isel(replicate=0, drop=True) * np.nan
    return values.var("replicate", ddof=1, skipna=False)


def _imprecision(values: xr.DataArray) -> xr.DataArray:
    """Standard error of the mean over replicates."""
    return (_variance(values) / values.sizes["replicate"]) ** 0.5
