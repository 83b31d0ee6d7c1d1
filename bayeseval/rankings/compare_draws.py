"""Comparisons of runs from posterior draws, or from combined estimates."""

from collections.abc import Mapping

import numpy as np
import xarray as xr

from bayeseval.collection.choices import check_ci_prob
from bayeseval.evaluation import compared_pairs
from bayeseval.rankings.comparisons import (
    chosen_prior,
    equivalence_margins,
    equivalence_probability,
    prior_weights,
    probability_better,
    with_equivalence,
)
from bayeseval.rankings.evidence import evidence_by_measure
from bayeseval.rounding import settled
from bayeseval.uncertainty import interval


def compare_draws(
    scores: xr.Dataset,
    *,
    covariance: xr.DataArray | None = None,
    reference: str | None = None,
    ci_prob: float = 0.9,
    equivalence: float | Mapping[str, float] | None = None,
    prior: str | None = None,
) -> xr.Dataset:
    """Posterior differences between all pairs of runs, or of all runs from one.

    A posterior is as sure as its model is right: draws of a model of documents are too sure of
    which run is better, and :func:`bayeseval.with_model_errors` or
    :func:`bayeseval.combine` are to come before.

    Parameters
    ----------
    scores : Dataset
        Posterior draws of :func:`posterior_scores`; combined estimates with a variable
        ``covariance``; or means with ``covariance`` (see :func:`compare` for tests of those).
    covariance : DataArray (measure, run, run_other), optional
        For means: of :func:`covariance` with ``raised=True``.
    reference : str, optional
        Compare every run with this one; by default all pairs.
    ci_prob : float
        Probability of each interval (equal tails).
    equivalence : float or mapping of measure to float, optional
        Largest difference that has no practical meaning.
    prior : {"normal", "flat"}, optional
        Of ``probability_better`` where there are no draws; as for :func:`rank_probabilities`.

    Returns
    -------
    Dataset (measure, comparison)
        With coords ``run_a`` and ``run_b``: ``estimate`` (a less b), ``standard_error``,
        ``interval``, ``probability_better`` (equal scores count half); ``standardised`` where the
        draws have a dim topic: the posterior mean of the mean difference over its standard
        deviation over topics; ``probability_equivalent`` where ``equivalence`` is given. A
        posterior has no p values.

    Raises
    ------
    ValueError
        As :func:`rank_probabilities`; an unknown run.

    Examples
    --------
    >>> import xarray as xr, bayeseval as be
    >>> draws = [[[[0.5, 0.4], [0.6, 0.3], [0.5, 0.2], [0.4, 0.5]]]]
    >>> post = xr.Dataset(
    ...     {"estimate": (("measure", "chain", "draw", "run"), draws)},
    ...     coords={"measure": ["P@10"], "run": ["a", "b"]},
    ... )
    >>> pairs = be.rankings.compare_draws(post)
    >>> pairs.estimate.item(), pairs.probability_better.item()
    (0.15, 0.75)
    """
    check_ci_prob(ci_prob)
    measures, runs, known = evidence_by_measure(scores, covariance)
    first, second = compared_pairs(runs, reference)
    margins = equivalence_margins(equivalence, np.array(measures))
    estimate = np.stack([one.difference[first, second] for one in known])
    error = np.stack([one.error[first, second] for one in known])
    dims = ("measure", "comparison")
    result = xr.Dataset(
        {"estimate": (dims, estimate), "standard_error": (dims, error)},
        coords={
            "measure": measures,
            "run_a": ("comparison", runs[first]),
            "run_b": ("comparison", runs[second]),
        },
        attrs=scores.attrs | {"ci_prob": ci_prob, "reference": reference or ""},
    )
    prior = chosen_prior(prior, known[0])
    if prior is None:
        return _of_draws(result, known, (first, second), margins, scores["estimate"])
    freedom = np.array([[one.freedom] for one in known])
    every = np.triu_indices(runs.size, k=1)
    weights = None
    if prior == "normal":
        weights = [
            prior_weights(one.difference[every], one.error[every], one.freedom, runs.size)
            for one in known
        ]
    result = result.assign(
        interval=interval(
            result["estimate"],
            result["standard_error"],
            ci_prob=ci_prob,
            degrees_of_freedom=xr.DataArray(freedom[:, 0], dims="measure"),
        ),
        probability_better=(dims, probability_better(estimate, error, freedom, weights)),
    ).assign_attrs(prior=prior)
    if margins is None:
        return result
    within = equivalence_probability(estimate, error, freedom, margins[:, None])
    return with_equivalence(result, within, None, margins)


def _of_draws(result: xr.Dataset, known, pairs, margins, scores: xr.DataArray) -> xr.Dataset:
    """Intervals and probabilities from the draws themselves, pair by pair."""
    first, second = pairs
    shape = (len(known), first.size)
    bounds, better, within = np.empty((*shape, 2)), np.empty(shape), np.empty(shape)
    tail = 0.5 * (1.0 - result.attrs["ci_prob"])
    for measure, one in enumerate(known):
        for pair, (run, other) in enumerate(zip(first, second, strict=True)):
            drawn = settled(one.draws[:, run] - one.draws[:, other], one.draws[:, run])
            bounds[measure, pair] = np.quantile(drawn, [tail, 1.0 - tail])
            better[measure, pair] = 0.5 * (1.0 + np.sign(drawn).mean())
            if margins is not None:
                within[measure, pair] = (np.abs(drawn) <= margins[measure]).mean()
    dims = ("measure", "comparison")
    result = result.assign(
        interval=((*dims, "ci_bound"), bounds), probability_better=(dims, better)
    ).assign_coords(ci_bound=["lower", "upper"])
    if "topic" in scores.dims:
        result = result.assign(standardised=(dims, _sizes(scores, pairs)))
    return result if margins is None else with_equivalence(result, within, None, margins)


def _sizes(scores: xr.DataArray, pairs) -> np.ndarray:
    """Posterior mean (measure, comparison) of the standardised mean difference over topics."""
    if "measure" not in scores.dims:
        scores = scores.expand_dims("measure")
    first, second = pairs
    values = scores.transpose("measure", "run", "chain", "draw", "topic").to_numpy()
    sizes = np.empty((len(values), first.size))
    for pair, (run, other) in enumerate(zip(first, second, strict=True)):
        difference = values[:, run] - values[:, other]
        spread = difference.std(axis=-1, ddof=1)
        size = difference.mean(axis=-1) / np.where(spread > 0, spread, np.nan)
        sizes[:, pair] = size.mean(axis=(1, 2))
    return sizes
