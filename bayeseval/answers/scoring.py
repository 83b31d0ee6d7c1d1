"""Mean scores of runs with intervals, by any estimator or by design and model combined."""

import warnings
from collections.abc import Sequence
from typing import Any

import xarray as xr

from bayeseval.answers.enough import check_half_width, with_more_judgments
from bayeseval.collection import check_collection
from bayeseval.collection.choices import check_whole_numbers
from bayeseval.collection.labels import asked_labels
from bayeseval.combination.scores import DRAWS, Combination, scores_by_model
from bayeseval.evaluation import evaluate, mean_over_topics, means_with_covariance
from bayeseval.evaluation.topic_groups import Groups
from bayeseval.frame.frame import BY_CHANCE, Frame
from bayeseval.frame.sample import grade_scale
from bayeseval.measures.names import parse_measures
from bayeseval.measures.table import SUMS
from bayeseval.messages import Message, Option
from bayeseval.posterior.modelled import fitted_runs, scored_by_relevance

COMBINED = "combined"


def scores(
    collection: xr.DataTree,
    measures,
    *,
    estimator: str | None = None,
    population: str | None = None,
    ci_prob: float = 0.9,
    labels: str | Sequence[str] | None = None,
    anytime: bool = False,
    half_width: float | None = None,
    relevance_level: int = 1,
    topic_groups: Groups | None = None,
    random_seed: int | None = None,
    learn_from: str | Sequence[str] = "design",
    draws: int = DRAWS,
    **options,
) -> xr.Dataset:
    """Mean scores of runs over topics, with intervals.

    :func:`evaluate` and :func:`mean_over_topics` in one call; by "combined" also a fit of
    :func:`models.relevance_model` (for measures that count grades or another level
    :func:`models.grade_model`), :func:`posterior_scores` and :func:`combine`. The mean is that of
    these topics if all documents of the frame were judged.

    Parameters
    ----------
    collection : DataTree
        With judgments; by "combined" with one judged sample of a stratified or Poisson design.
    measures : str, object or list
        As for :func:`evaluate`.
    estimator : str, optional
        As for :func:`evaluate`, or "combined": ``dyn`` and a model. Default: "combined" for a
        random sample ("dyn" where combined scores do not exist, "stat" where the judgments list the
        sampled documents alone), "importance" for draws with replacement, else "assumed".
    population : {"sample", "topics"}, optional
        As for :func:`mean_over_topics`; "sample" where the design gives the errors, else "topics".
    ci_prob : float
        Coverage of the intervals.
    labels : str or list of str, optional
        Predictions that were added (:func:`add_predictions`) and that ``dyn`` corrects.
    anytime : bool
        Intervals that hold at every look while an order is judged, by ``stat`` or ``dyn``.
    half_width : float, optional
        Half of the length of an interval that is short enough; implies ``anytime``.
    relevance_level : int
        Lowest relevant grade.
    topic_groups : mapping, Series or DataArray of topic to group, optional
        As for :func:`mean_over_topics`.
    random_seed : int, optional
        Of the estimator and the model's draws; 0 by default.
    learn_from, draws
        Of "combined": "design", "all" or the runs that the model is fitted to; posterior draws of
        each of four chains.
    **options
        Of :func:`evaluate`; "combined" has ``predictor`` alone.

    Returns
    -------
    Dataset (measure, run)
        What :func:`mean_over_topics` returns; with ``half_width`` also ``more_judgments``, about
        how many more documents of each topic are to be judged (0: enough). By "combined" what
        :func:`combine` returns, with ``covariance``, so that runs can be compared and ranked,
        ``model``, ``length_ratio`` (interval length over that of ``dyn``), ``outside_weight`` and
        ``n_topics``; RR, Success and ERR are the model's alone, with its own errors.

    Raises
    ------
    ValueError
        As the functions named above; what an estimator or a design does not have.

    Examples
    --------
    >>> import bayeseval as be
    >>> collection = be.simulate.urn_collection(
    ...     [0.05, 0.3], n_topics=10, prevalence=0.1, random_seed=1
    ... )
    >>> be.scores(collection, "P@10").interval.sizes["ci_bound"]
    2
    """
    check_collection(collection)
    check_half_width(half_width)
    anytime = anytime or half_width is not None
    options = with_labels(options, labels)
    options["relevance_level"] = relevance_level
    estimator = estimator or default_estimator(collection, measures, population, anytime)
    if estimator == COMBINED:
        _check_combined(population, topic_groups, anytime)
        fitting = {"learn_from": learn_from, "draws": draws, "random_seed": random_seed or 0}
        return _combined(collection, measures, ci_prob, fitting, **options)
    found = evaluate(
        collection,
        measures,
        estimator=estimator,
        ci_prob=ci_prob,
        random_seed=random_seed,
        **options,
    )
    # a design may give errors of scores, and of their differences not
    usual = "sample" if "design_error" in found else "topics"
    mean = mean_over_topics(
        found,
        population=population or usual,
        ci_prob=ci_prob,
        topic_groups=topic_groups,
        anytime=anytime,
    )
    return mean if half_width is None else with_more_judgments(mean, collection, half_width)


def with_labels(options: dict[str, Any], labels: str | Sequence[str] | None) -> dict[str, Any]:
    """Options of :func:`evaluate`, whose predictor reads labels where some are named."""
    if labels is None:
        return options
    return options | {"predictor": (options.get("predictor") or "pooled", asked_labels(labels))}


def default_estimator(
    collection: xr.DataTree, measures, population: str | None = None, anytime: bool = False
) -> str:
    """The estimator for a collection's design: "combined" for what has combined scores."""
    children = collection.children
    scheme = children["design"].attrs.get("scheme") if "design" in children else None
    if scheme == "with_replacement":
        return "importance"
    if scheme not in BY_CHANCE:
        return "assumed"
    if Frame.of(collection).lists_sampled_alone:
        return "stat"
    modelled = all(measure.kind != "preference" for measure in parse_measures(measures))
    alone = anytime or population == "topics" or not modelled
    return "dyn" if alone else COMBINED


def refuse_options_of_collections(measures, **options: object) -> None:
    """Refuse what is asked of a collection, where scores are given."""
    asked = {"measures": measures} | options
    for name, value in asked.items():
        if value is not None:
            raise ValueError(f"{name} is for a collection; scores have been given")


def _check_combined(population: str | None, topic_groups: Groups | None, anytime: bool) -> None:
    """Refuse what scores of design and model combined do not have."""
    asked = None
    if population == "topics" or topic_groups is not None:
        asked = Option("population", "topics")
    elif anytime:
        asked = Option("anytime")
    if asked is not None:
        raise ValueError(
            Message(
                asked,
                ": scores of design and model combined are for these topics and one look; ",
                Option("estimator", "dyn"),
                " has it",
            )
        )


def _combined(
    collection: xr.DataTree,
    measures,
    ci_prob: float,
    fitting: dict[str, Any],
    *,
    relevance_level: int,
    predictor=None,
    **unknown: object,
) -> xr.Dataset:
    """Scores by ``dyn`` and a model, which is fitted with the options ``fitting``.

    Measures that no sums of sampled documents estimate are the model's alone.
    """
    if unknown:
        raise ValueError(
            Message(
                Option("estimator", COMBINED),
                f" has no option {', '.join(unknown)}; ",
                Option("estimator", "dyn"),
                " has it",
            )
        )
    check_whole_numbers(2, draws=fitting["draws"])
    fitted_runs(collection, fitting["learn_from"])
    scored_by_relevance(collection, measures, relevance_level)  # refused before the estimates
    parsed = parse_measures(
        measures, relevance_level=relevance_level, grades=grade_scale(collection)
    )
    labels = [measure.label for measure in parsed]
    summed = [measure.label for measure in parsed if measure.kind in SUMS]
    listed = [label for label in labels if label not in summed]
    asked = {"relevance_level": relevance_level, "ci_prob": ci_prob, "predictor": predictor}
    parts = [_of_sums(collection, summed, fitting, **asked)] if summed else []
    if listed:
        warnings.warn(
            f"{', '.join(listed)}: no sums of sampled documents estimate this, so the scores are "
            "the model's alone, with the errors that such models made on other collections",
            stacklevel=3,
        )
        del asked["predictor"]
        parts.append(scores_by_model(collection, listed, **asked, **fitting))
    whole: Any = xr.concat(parts, "measure", combine_attrs="override", join="exact")
    return whole.sel(measure=labels)


def _of_sums(
    collection: xr.DataTree,
    measures: list[str],
    fitting: dict[str, Any],
    *,
    relevance_level: int,
    ci_prob: float,
    predictor,
) -> xr.Dataset:
    """Scores by ``dyn`` and a model, of measures that a sample estimates by sums."""
    options: dict[str, Any] = {"predictor": predictor, "relevance_level": relevance_level}
    mean = means_with_covariance(collection, measures, estimator="dyn", ci_prob=ci_prob, **options)
    combination = Combination.of(collection, mean, **options, **fitting)
    if combination.contradiction:
        warnings.warn(
            f"{combination.contradiction}; the intervals of dyn do not rest on it", stacklevel=4
        )
    ratio = combination.intervals["length_ratio"].sel(source="combined", drop=True)
    found = combination.scores.assign(mean[["outside_weight", "n_topics"]])
    return found.assign(length_ratio=ratio.transpose("measure", "run").variable)
