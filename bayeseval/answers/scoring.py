"""Mean scores of runs with intervals, by any estimator or by design and model combined."""

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import xarray as xr

from bayeseval.answers.enough import check_half_width, with_more_judgments
from bayeseval.collection import check_collection
from bayeseval.collection.choices import check_whole_numbers
from bayeseval.combination.scores import DRAWS, Combination
from bayeseval.estimators import HAS_COVARIANCE
from bayeseval.evaluation import evaluate, mean_over_topics, means_with_covariance
from bayeseval.evaluation.problem import check_option, reading_labels
from bayeseval.evaluation.topic_groups import Groups, check_groups
from bayeseval.frame.frame import BY_CHANCE, Frame
from bayeseval.frame.sample import grade_scale
from bayeseval.measures.measure import Measure
from bayeseval.measures.names import parse_measures
from bayeseval.measures.table import BY_RELEVANCE, SUMS
from bayeseval.messages import Message, Option, warn
from bayeseval.posterior.modelled import fitted_runs, scored_by_relevance
from bayeseval.tidy import with_topics

COMBINED = "combined"


def scores(
    collection: xr.DataTree | xr.Dataset,
    measures=None,
    *,
    estimator: str | None = None,
    labels: str | Sequence[str] | None = None,
    population: Literal["sample", "topics"] | None = None,
    topic_groups: Groups | None = None,
    ci_prob: float = 0.9,
    anytime: bool = False,
    half_width: float | None = None,
    per_topic: bool = False,
    relevance_level: int = 1,
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
    collection : DataTree or Dataset
        With judgments; by "combined" with one judged sample of a stratified or Poisson design. Or
        scores per topic (:func:`read_scores`), for their means over the population of topics.
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
    per_topic : bool
        Also the scores of every topic, with intervals.
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
        how many more documents of each topic are to be judged (0: enough); with ``per_topic`` also
        what :func:`evaluate` returns (by "combined": :func:`summarize` of the model's draws), as
        ``topic_estimate``, ``topic_interval`` and so on, over topic too. By "combined" what
        :func:`combine` returns, with ``covariance``, so that runs can be compared and ranked,
        ``model``, ``length_ratio`` (interval length over that of ``dyn``), ``outside_weight`` and
        ``n_topics``; what is no sum of relevances or ratio of sums, such as RR, is the
        model's alone, with its own errors.

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
    if isinstance(collection, xr.Dataset):
        asked = {"estimator": estimator, "population": population, "labels": labels}
        asked |= {"anytime": anytime or None, "half_width": half_width, **options}
        refuse_options_of_collections(measures, **asked)
        over: dict[str, Any] = {"ci_prob": ci_prob, "topic_groups": topic_groups}
        mean = mean_over_topics(collection, population="topics", **over)
        return with_topics(mean, collection if per_topic else None)
    check_collection(collection, "rankings", "judgments")
    check_half_width(half_width)
    anytime = anytime or half_width is not None
    if anytime and per_topic:
        why = ": intervals of topics are of one look; leave out "
        raise ValueError(Message(Option("per_topic"), why, Option("anytime")))
    options |= {"labels": labels, "relevance_level": relevance_level}
    estimator = estimator or default_estimator(collection, measures, anytime)
    if estimator == COMBINED:
        over: dict[str, Any] = {"ci_prob": ci_prob, "population": population or "sample"}
        over |= {"topic_groups": topic_groups, "anytime": anytime}
        fitting = {"learn_from": learn_from, "draws": draws, "random_seed": random_seed or 0}
        fitting |= {"per_topic": per_topic}
        mean, by_topic = _combined(collection, measures, over, fitting, **options)
        return with_topics(mean, by_topic)
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
    if half_width is not None:
        mean = with_more_judgments(mean, collection, half_width)
    return with_topics(mean, found if per_topic else None)


def default_estimator(collection: xr.DataTree, measures, anytime: bool = False) -> str:
    """The estimator for a collection's design: "combined" for what has combined scores."""
    children = collection.children
    scheme = children["design"].attrs.get("scheme") if "design" in children else None
    if scheme == "with_replacement":
        return "importance"
    if scheme not in BY_CHANCE:
        return "assumed"
    if Frame.of(collection).lists_sampled_alone:
        return "stat"
    modelled = all(measure.kind in BY_RELEVANCE for measure in parse_measures(measures))
    grades = collection["judgments/grade"].to_numpy()
    alike = len(np.unique(grades[grades == grades] > 0)) < 2  # a model has nothing to learn from
    if anytime or alike or not modelled or _drawn_once(collection):
        return "dyn"
    return COMBINED


def _drawn_once(collection: xr.DataTree) -> bool:
    """Whether one document was drawn of a topic, which gives ``dyn`` no standard error."""
    design = collection["design"].to_dataset()
    if "stratum_sample_size" not in design:
        return False
    number = design["stratum_sample_size"].to_numpy()
    partly = number < design["stratum_size"].to_numpy()
    topic = design["stratum_topic"].to_numpy()[partly]
    return bool((np.bincount(topic, weights=number[partly], minlength=1) == 1).any())


def check_combinable(collection: xr.DataTree, anytime: bool = False) -> None:
    """Refuse, before any estimate, what ``dyn`` and a model of documents cannot be combined for."""
    asked = Option("estimator", COMBINED)
    if anytime:
        why = ": scores of design and model combined are of one look; "
        raise ValueError(Message(Option("anytime"), why, Option("estimator", "dyn"), " has it"))
    scheme = None
    if "design" in collection.children:
        scheme = collection["design"].attrs.get("scheme")
    if scheme not in BY_CHANCE:
        design = Option("design", text="be.attach_judgments")
        found = "" if scheme is None else f", and this one is {scheme}"
        why = f") of a random sample (stratified or Poisson){found}"
        raise ValueError(Message(asked, " needs the design (", design, why))
    if Frame.of(collection).lists_sampled_alone:
        why = (
            " predicts every document that could have been sampled, and these judgments list the "
            "sampled ones alone; take "
        )
        raise ValueError(Message(asked, why, Option("estimator", "stat")))


def check_errors(what: str, population: str | None, estimator: str) -> None:
    """Refuse these topics for an estimator whose errors no design gives."""
    if population == "sample" and estimator not in (COMBINED, *HAS_COVARIANCE):
        known = Option("estimator", " or ".join(HAS_COVARIANCE))
        raise ValueError(Message(f"{what} for these topics need ", known, f", not '{estimator}'"))


def refuse_options_of_collections(measures, **options: object) -> None:
    """Refuse what is asked of a collection, where scores are given."""
    asked = {"measures": measures} | options
    for name, value in asked.items():
        if value is not None:
            why = " is for a collection; scores have been given"
            raise ValueError(Message(Option(name), why))


def summed_and_listed(measures: list[Measure]) -> tuple[list[str], list[str]]:
    """Labels of measures that sums of sampled documents estimate, and of the others."""
    summed = [measure.label for measure in measures if measure.kind in SUMS]
    return summed, [measure.label for measure in measures if measure.kind not in SUMS]


def alone(listed: list[str]) -> str:
    """What is said of measures that only a model scores."""
    return (
        f"{', '.join(listed)}: no sums of sampled documents estimate this, so the scores are the "
        "model's alone, with the errors that such models made on other collections; a run unlike "
        "those that it is fitted to may be off by more"
    )


def _combined(
    collection: xr.DataTree,
    measures,
    over: dict[str, Any],
    fitting: dict[str, Any],
    *,
    relevance_level: int,
    predictor=None,
    labels=None,
    **unknown: object,
) -> tuple[xr.Dataset, xr.Dataset | None]:
    """Scores by ``dyn`` and models, of means and, where these are asked for, of topics.

    ``over`` are options of :func:`mean_over_topics`, ``fitting`` those of the models. Measures that
    no sums of sampled documents estimate are the model's alone.
    """
    has_it = "; ", Option("estimator", "dyn"), " has it"
    check_combinable(collection, over.pop("anytime"))
    if unknown:
        why = f" has no option {', '.join(unknown)}"
        raise ValueError(Message(Option("estimator", COMBINED), why, *has_it))
    check_option(population=over["population"])
    check_groups(over["topic_groups"], over["population"], collection["topic"].to_numpy())
    check_whole_numbers(2, draws=fitting["draws"])
    fitted_runs(collection, fitting["learn_from"])
    scored_by_relevance(collection, measures, relevance_level)  # refused before the estimates
    parsed = parse_measures(
        measures, relevance_level=relevance_level, grades=grade_scale(collection)
    )
    options = {"predictor": reading_labels(predictor, labels), "relevance_level": relevance_level}
    summed, listed = summed_and_listed(parsed)
    mean = None
    if summed:
        asked = {**options, "ci_prob": over["ci_prob"]}
        mean = means_with_covariance(collection, summed, estimator="dyn", **asked)
    if listed:
        warn(alone(listed))
    names = [measure.label for measure in parsed]
    found = Combination.of(collection, mean, names, **options, **over, **fitting)
    if found.contradiction:
        warn(f"{found.contradiction}; the intervals of dyn do not rest on it")
    return found.scores, found.by_topic
