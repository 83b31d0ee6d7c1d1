"""Replicated sampling: the same design drawn many times on a collection whose truth is known."""

import xarray as xr

from bayeseval.designs import draw, reveal
from bayeseval.evaluation import evaluate, mean_over_topics
from bayeseval.progress import track
from bayeseval.tidy import BOUNDS, with_bounds

CHUNK = 20


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
) -> xr.Dataset:
    """Mean scores of every run under many samples of one design, beside the truth.

    The design comes from the contributing runs alone; runs added later (``dual_runs``) are only
    measured. Replicates are columns of the same arrays, scored together in chunks.

    Parameters
    ----------
    collection : DataTree
        Collection whose judgments are taken as the truth; unjudged pairs count as non-relevant.
    design : Dataset
        Random design over its pairs; a deterministic one needs but one replicate.
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
    names = [_name(estimator) for estimator in estimators]
    truth = evaluate(
        collection, measures, estimator="assumed", relevance_level=relevance_level
    ).estimate
    selected = draw(design, n_replicates=n_replicates, random_seed=random_seed)
    parts: list[list[xr.Dataset]] = [[] for _ in estimators]
    for first in track(range(0, n_replicates, CHUNK), f"{n_replicates} samples"):
        chunk = selected.isel(replicate=slice(first, first + CHUNK))
        sampled = reveal(collection, design, chunk, unjudged=unjudged)
        for part, estimator in zip(parts, estimators, strict=True):
            part.append(
                _mean_scores(sampled, measures, estimator, relevance_level, ci_prob, random_seed)
            )
    joined = [xr.concat(part, dim="replicate") for part in parts]
    result = xr.concat(joined, dim="estimator").assign_coords(estimator=names)
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


def _name(estimator) -> str:
    if isinstance(estimator, str):
        return estimator
    name, predictor = estimator
    parts = [predictor] if isinstance(predictor, str) else list(predictor)
    return ":".join([name, *map(str, parts)])


def _mean_scores(sampled, measures, estimator, relevance_level, ci_prob, random_seed) -> xr.Dataset:
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
    return xr.Dataset({name: mean[name] for name in ("estimate", "standard_error", *BOUNDS)})
