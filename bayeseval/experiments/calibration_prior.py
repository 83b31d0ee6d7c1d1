"""What a model believes before any judgment: prevalence and scores under its prior."""

from collections.abc import Callable, Sequence
from typing import Any

import xarray as xr

from bayeseval.evaluation import evaluate
from bayeseval.experiments.calibration_studies import prior_truth
from bayeseval.progress import track


def prior_predictive(
    collection: xr.DataTree,
    build: Callable[[xr.DataTree], Any],
    measures: Sequence[str],
    seeds: Sequence[int],
) -> xr.Dataset:
    """Prevalence of every topic and mean scores of every run under the prior of a model.

    The rankings are given; relevance (or grades) of all pairs are drawn from the prior, once per
    seed. A prior is too wide where topics without a relevant document, or with nothing else, are
    common; too narrow where what real collections hold is not among its draws.

    Parameters
    ----------
    collection : DataTree
        Rankings, with a grade for every pair, of which only the scale is used.
    build : function of a collection
        :func:`bayeseval.models.relevance_model`, :func:`bayeseval.models.grade_model`, or one of
        these with other options or priors.
    measures : list of str
        Scores.
    seeds : sequence of int
        Seed of each draw.

    Returns
    -------
    Dataset
        ``prevalence`` (simulation, topic): share of the topic's pairs with a grade above 0;
        ``mean_score`` (simulation, measure, run).

    Raises
    ------
    ValueError
        A collection in which some pair has no grade.

    References
    ----------
    Gabry, Simpson, Vehtari, Betancourt and Gelman, "Visualization in Bayesian workflow", JRSS A 182
    (2019), doi:10.1111/rssa.12378.

    Examples
    --------
    >>> import bayeseval as be
    >>> collection = be.simulate.urn_collection(
    ...     [0.1, 0.4], n_topics=2, n_documents=20, prevalence=0.3, depth=10, random_seed=1)
    >>> model = be.models.relevance_model
    >>> found = be.experiments.prior_predictive(collection, model, ["P@5"], range(3))
    >>> dict(found.mean_score.sizes)
    {'simulation': 3, 'measure': 1, 'run': 2}
    """
    truth_of = prior_truth(collection, build)
    topic = xr.DataArray(collection["pair_topic"].to_numpy(), dims="pair", name="topic")
    parts = []
    for seed in track(list(seeds), "draws from the prior"):
        complete, _ = truth_of(int(seed))
        relevant = complete["judgments/grade"].drop_vars(["topic", "run"], errors="ignore") > 0
        prevalence = relevant.groupby(topic).mean().assign_coords(topic=collection["topic"].values)
        score = evaluate(complete, list(measures), estimator="assumed")["estimate"]
        parts.append(
            xr.Dataset({"prevalence": prevalence, "mean_score": score.mean("topic", skipna=False)})
        )
    return xr.concat(parts, dim="simulation").assign_coords(simulation=list(seeds))
