"""What one simulation of a calibration does, and what a prior says: truth, sample, fit, scores."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr

from bayeseval.collection import with_node
from bayeseval.designs import draw, reveal
from bayeseval.designs.stratified import pps_strata
from bayeseval.evaluation import evaluate
from bayeseval.experiments.calibration import DRAWS, Study, prior_draw, step_seeds
from bayeseval.frame.sample import grade_scale
from bayeseval.inference import verdict
from bayeseval.models.table import kind_of_documents
from bayeseval.posterior import posterior_scores
from bayeseval.progress import track

WHOLE = (
    *("population_effect", "curvature", "tail_effect", "topic_sd", "topic_correlation"),
    *("reliability_sd", "curve_component_sd", "agreement_sd", "topic_component_sd"),
    *("topic_agreement_sd", "step_intercept", "step_slope", "step_log_rank", "topic_step_sd"),
)
PARAMETERS: dict[str, dict[str, Any]] = dict.fromkeys(WHOLE, {}) | {
    "topic_step_effect": {"topic": slice(0, 2)},
    "topic_effect": {"topic": slice(0, 3)},
    "reliability": {"run": slice(0, 3)},
    "run_curve": {"curve": slice(0, 2), "run": slice(0, 1)},
    "topic_component_effect": {"topic": slice(0, 2), "topic_component": slice(0, 1)},
}


def relevance_study(
    collection: xr.DataTree,
    build: Callable[[xr.DataTree], Any],
    fits: Callable[..., xr.DataTree],
    *,
    budget: int,
    n_strata: int,
    measures: Sequence[str],
    runs: Sequence[str] | None = None,
    n_topics: int = 1,
    parameters: Mapping[str, Mapping[str, Any]] = PARAMETERS,
) -> Study:
    """Study of a model of relevance or of grades, for ``simulation_based_calibration``.

    The rankings are given. In each simulation the parameters and the relevance (or grade) of every
    pair come from the model's prior; then judgments are drawn with unequal probabilities
    (:func:`bayeseval.designs.pps_strata`), the model is fitted to them, and the scores of the
    complete judgments are compared with the posterior's.

    Parameters
    ----------
    collection : DataTree
        Rankings, with a grade for every pair, of which only the scale is used.
    build : function of a collection
        :func:`bayeseval.models.relevance_model` or :func:`bayeseval.models.grade_model`, or one of
        these with other options.
    fits : function (model, random_seed=)
        :func:`bayeseval.fit`, or a :class:`RepeatedFits`, which compiles once. An approximation
        without a sampler's statistics has no verdict.
    budget, n_strata : int
        As for :func:`bayeseval.designs.pps_strata`.
    measures : list of str
        Scores to compare.
    runs : list of str, optional
        Runs whose scores are compared; default: all.
    n_topics : int
        Topics whose scores by the first measure are compared too, of the first and the last run.
    parameters : dict of variable -> selection
        Parameters to compare, as far as the model has them, and which of their entries by position
        along dims.

    Returns
    -------
    function of an int
        The study.

    Raises
    ------
    ValueError
        A collection in which some pair has no grade.

    Examples
    --------
    >>> import bayeseval as be
    >>> collection = be.simulate.urn_collection(
    ...     [0.1, 0.4], n_topics=2, n_documents=20, prevalence=0.3, depth=10, random_seed=1)
    >>> study = be.experiments.relevance_study(
    ...     collection, be.models.relevance_model, be.fit,
    ...     budget=5, n_strata=2, measures=["P@5"])
    """
    truth_of = prior_truth(collection, build)
    chosen = collection["run"].to_numpy() if runs is None else np.asarray(runs)

    def study(seed: int) -> xr.DataTree:
        of_prior, of_draw, of_fit, of_scores = step_seeds(seed)
        complete, prior = truth_of(of_prior)
        design = pps_strata(complete, budget=budget, n_strata=n_strata)
        sampled = reveal(complete, design, draw(design, random_seed=of_draw))
        fitted = fits(build(sampled), random_seed=of_fit)
        true_score = evaluate(complete, list(measures), estimator="assumed")["estimate"]
        score = posterior_scores(
            fitted,
            sampled,
            list(measures),
            over=None,
            random_seed=of_scores,
        )["estimate"]
        posterior = fitted["posterior"].to_dataset()
        truth = _compared(prior, true_score, parameters, chosen, n_topics)
        draws = _compared(posterior, score, parameters, chosen, n_topics)
        groups = {"truth": truth, "posterior": draws}
        if "sample_stats" in fitted.children:
            groups["verdict"] = verdict(fitted)
        return xr.DataTree.from_dict(groups)

    return study


def prior_truth(
    collection: xr.DataTree, build: Callable[[xr.DataTree], Any]
) -> Callable[[int], tuple[xr.DataTree, xr.Dataset]]:
    """Function of a seed: complete judgments from a model's prior, and the parameters behind them.

    Parameters
    ----------
    collection : DataTree
        Rankings, with a grade for every pair.
    build : function of a collection
        The model, of relevance or of grades.

    Returns
    -------
    function of an int
        Returns the collection with grades drawn from the prior, and the parameters (Dataset).

    Raises
    ------
    ValueError
        A collection in which some pair has no grade; another model.

    Examples
    --------
    >>> import bayeseval as be
    >>> collection = be.simulate.urn_collection(
    ...     [0.1, 0.4], n_topics=2, n_documents=20, prevalence=0.3, depth=10, random_seed=1)
    >>> complete, parameters = be.experiments.prior_truth(collection, be.models.relevance_model)(1)
    >>> dict(complete["judgments/grade"].sizes), parameters["topic_effect"].dims
    ({'pair': 40}, ('topic', 'predictor'))
    """
    if collection["judgments/grade"].isnull().any():
        raise ValueError("a pair has no grade; a study needs one for every pair of the collection")
    model = build(collection)
    response = kind_of_documents(model).judgment
    assert response is not None
    scale = np.asarray(grade_scale(collection) if response == "grade" else (0.0, 1.0))
    judgments = collection.children["judgments"].to_dataset(inherit=False)
    judgments = judgments.assign_attrs(grade_scale=json.dumps(scale.tolist()))

    def truth(seed: int) -> tuple[xr.DataTree, xr.Dataset]:
        prior = prior_draw(model, None, seed)
        grade = scale[prior[response].to_numpy()].astype(np.float32)
        graded = judgments.assign(grade=("pair", grade))
        return with_node(collection, "judgments", graded), prior.drop_vars(response)

    return truth


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


def _compared(
    values: xr.Dataset, score: xr.DataArray, parameters, runs, n_topics: int
) -> xr.Dataset:
    """Parameters and scores whose true values are ranked."""
    chosen = {
        name: values[name].isel(selection)
        for name, selection in parameters.items()
        if name in values
    }
    score = score.sel(run=runs)
    ends = sorted({0, score.sizes["run"] - 1})
    by_topic = score.isel(measure=0, run=ends, topic=slice(0, n_topics), drop=True)
    chosen |= {"mean_score": score.mean("topic", skipna=False), "topic_score": by_topic}
    # what is known of runs beside their names may differ between scores and truth
    chosen = {name: value.reset_coords(drop=True) for name, value in chosen.items()}
    return xr.Dataset({name: _own_dims(name, value) for name, value in chosen.items()})


def _own_dims(name: str, value: xr.DataArray) -> xr.DataArray:
    """Variable whose dims are its own, so that parts of one dim can stand side by side."""
    shared = [str(dim) for dim in value.dims if dim not in DRAWS]
    return value.rename({dim: f"{name}_{dim}" for dim in shared})
