"""Which ranks are possible for every run, in one call."""

import warnings
from collections.abc import Sequence
from typing import Any, Literal

import xarray as xr

from bayeseval.answers.scoring import (
    COMBINED,
    check_errors,
    default_estimator,
    refuse_options_of_collections,
    scores,
)
from bayeseval.collection import check_collection
from bayeseval.collection.choices import check_seed
from bayeseval.estimators import HAS_COVARIANCE
from bayeseval.evaluation import (
    default_population,
    evaluate,
    mean_over_topics,
    means_with_covariance,
)
from bayeseval.evaluation.differences import without_defaults
from bayeseval.evaluation.topic_groups import Groups, check_groups
from bayeseval.rankings.rank_probabilities import rank_probabilities
from bayeseval.rankings.rank_sets import check_top, rank_sets

ABOUT = ("standard_error", "outside_weight", "n_topics")  # of means


def rank(
    collection_or_scores: xr.DataTree | xr.Dataset,
    measures=None,
    *,
    estimator: str | None = None,
    labels: str | Sequence[str] | None = None,
    top: int | None = None,
    population: Literal["sample", "topics"] | None = None,
    topic_groups: Groups | None = None,
    ci_prob: float = 0.9,
    anytime: bool = False,
    relevance_level: int = 1,
    simultaneous: bool = True,
    prior: Literal["normal", "flat"] | None = None,
    random_seed: int = 0,
    **options,
) -> xr.Dataset:
    """Possible ranks of runs, groups of runs that cannot be told apart, and P(better).

    :func:`rankings.rank_sets` and :func:`rankings.rank_probabilities` of the scores of
    :func:`scores`, whose errors go together because runs share judged documents or topics.

    Parameters
    ----------
    collection_or_scores : DataTree or Dataset
        A collection as for :func:`scores`; or scores with their errors: combined ones, those per
        topic of :func:`evaluate` and :func:`read_scores`, or posterior draws.
    measures, estimator, labels, population, topic_groups, anytime, relevance_level
        As for :func:`scores`, with the same defaults.
    top : int, optional
        Also the runs that may be among the best ``top``.
    ci_prob : float
        Probability that the sets cover the true ranks.
    simultaneous : bool
        Sets of ranks that hold for all runs at once, or for each by itself.
    prior : {"normal", "flat"}, optional
        As for :func:`rankings.rank_probabilities`.
    random_seed : int
        Of the draws.
    **options
        Of :func:`scores`.

    Returns
    -------
    Dataset (measure, run)
        What :func:`rankings.rank_sets` returns, with ``expected_rank`` and
        ``probability_better`` (measure, run, run_other); of means also ``standard_error``,
        ``outside_weight`` and ``n_topics``.

    Raises
    ------
    ValueError
        As the functions named above; fewer than two runs.

    Examples
    --------
    >>> import bayeseval as be
    >>> collection = be.simulate.urn_collection(
    ...     [0.05, 0.06, 0.5], n_topics=20, prevalence=0.1, random_seed=1
    ... )
    >>> be.rank(collection, "P@10").sel(run="run003").interval.values
    array([[3, 3]])
    """
    check_seed(random_seed)
    how: dict[str, Any] = {"ci_prob": ci_prob, "random_seed": random_seed}
    if isinstance(collection_or_scores, xr.Dataset):
        known = mean = collection_or_scores
        asked = {"estimator": estimator, "population": population, "labels": labels}
        refuse_options_of_collections(measures, **asked, **options)
        how["topic_groups"] = topic_groups
    else:
        check_collection(collection_or_scores, "rankings", "judgments")
        check_top(top, collection_or_scores.sizes["run"])
        asked = {"estimator": estimator, "population": population, "topic_groups": topic_groups}
        asked |= {"labels": labels, "relevance_level": relevance_level}
        known, mean, errors = _evidence(
            collection_or_scores, measures, ci_prob, anytime, random_seed, **asked, **options
        )
        how |= errors
    sets = rank_sets(known, simultaneous=simultaneous, top=top, anytime=anytime, **how)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # those of the sets, again
        chances = rank_probabilities(known, prior=prior, **how)
    found = sets.assign(
        expected_rank=chances["expected_rank"], probability_better=chances["better"]
    )
    about = {name: mean[name] for name in ABOUT if name in mean and "topic" not in mean[name].dims}
    found = found.assign(about).assign_attrs(prior=chances.attrs.get("prior", ""))
    named = {"estimator": mean.attrs.get("estimator", "")}
    return found.assign_attrs(named, population=mean.attrs.get("population", "topics"))


def _evidence(
    collection: xr.DataTree,
    measures,
    ci_prob: float,
    anytime: bool,
    random_seed: int,
    *,
    estimator: str | None,
    population: str | None,
    topic_groups: Groups | None,
    **options,
) -> tuple[xr.Dataset, xr.Dataset, dict[str, Any]]:
    """Scores with errors, their means, and options of :func:`rank_sets` that hold the errors."""
    estimator = estimator or default_estimator(collection, measures, anytime)
    if estimator == COMBINED:
        asked = {"population": population, "topic_groups": topic_groups, "anytime": anytime}
        asked |= {"ci_prob": ci_prob, "random_seed": random_seed, "estimator": estimator}
        mean = scores(collection, measures, **asked, **options)
        return mean, mean, {}
    over = population or default_population(estimator)
    check_groups(topic_groups, over, collection["topic"].to_numpy())
    options |= {"estimator": estimator, "ci_prob": ci_prob}
    if over == "sample" and estimator in HAS_COVARIANCE:
        options = without_defaults(options, "ranks count")
        mean = means_with_covariance(collection, measures, anticipated=True, **options)
        known = mean.drop_vars("covariance")
        return known, known, {"covariance": mean["covariance"]}
    check_errors("ranks", over, estimator)
    known = evaluate(collection, measures, **options)
    asked = {"population": "topics", "topic_groups": topic_groups, "anytime": anytime}
    mean = mean_over_topics(known, ci_prob=ci_prob, **asked)
    return known, mean, {"topic_groups": topic_groups}
