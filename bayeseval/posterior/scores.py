"""Posterior draws of the scores of runs, streamed topic by topic."""

import warnings

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from bayeseval.collection.labels import without_judgment
from bayeseval.evaluation.problem import Problem, check_option
from bayeseval.frame.gather import framed_sample, judged_sample
from bayeseval.frame.grades import grade_scale
from bayeseval.measures.measure import Measure, relevance
from bayeseval.measures.names import parse_measures
from bayeseval.measures.scores import plain_scores
from bayeseval.measures.table import names_of
from bayeseval.models.relevance.draws import RelevanceDraws
from bayeseval.posterior.labels import labelled_scores
from bayeseval.posterior.urn import urn_scores
from bayeseval.posterior.weights import topic_weights
from bayeseval.progress import track

OUTSIDE = ("nonrelevant", "model")


def posterior_scores(
    fitted: xr.DataTree,
    sampled: xr.DataTree,
    measures,
    *,
    outside: str = "nonrelevant",
    over: str | None = "topic",
    population: str = "sample",
    random_seed: int | None = None,
) -> xr.Dataset:
    r"""Posterior draws of the scores of every run, from the draws of a model.

    Under every draw of the parameters each unjudged document of the frame gets a relevance (or a
    grade) by chance, independent given the parameters; judged documents keep their grades. Then the
    measure is computed as for complete judgments. So P@k, RBP, AP or nDCG of a run, and whatever is
    made of the scores of several runs, has a posterior distribution: dims chain and draw.

    A fit of ``urn_model`` gives the scores of its own runs, for measures that are weighted sums
    over the ranks (P, RBP, DCG of relevance, NumRelRet): there each run's unjudged ranks are drawn
    by themselves (:class:`bayeseval.posterior.urn.UrnDraws`), so that one document may be relevant
    for one run and not for another: each run's score is meant, not the difference of two.

    What is random: relevance of the unjudged documents and the parameters; with
    ``population="topics"`` the topics too. With complete judgments every draw is the exact score.
    What breaks it: what breaks the model (see :func:`bayeseval.models.relevance_model`).
    Cost: one topic's documents times draws, a byte each, at a time, and the answer itself: 8 bytes
    per draw, measure and run, and topic where ``over`` is None.

    Parameters
    ----------
    fitted : DataTree
        Fit of ``relevance_model``, ``grade_model`` or ``urn_model``.
    sampled : DataTree
        Collection that the model was made from. Runs may have been added since, and are scored
        too; not those of ``urn_model``, whose runs each have an urn of their own.
    measures : str, ir_measures object, or list of them
        P, RBP, DCG, NumRel, NumRelRet, AP, nDCG, R and Rprec. Graded ones, and relevance levels
        other than the model's, need a fit of ``grade_model``.
    outside : {"nonrelevant", "model"}
        Documents outside the frame: non-relevant, or as the model says of their ranks. The frame
        often holds what runs ranked high, and then "model" extrapolates.
    over : {"topic"} or None
        Means over topics, or a score per topic.
    population : {"sample", "topics"}
        Means over these topics, or over the population that they are a random sample of: then every
        draw weighs the topics by Dirichlet(1, ..., 1), the same for all runs (Bayesian bootstrap).
        It assumes no shape of the scores over topics; its variance over topics is (T - 1)/(T + 1)
        times the usual :math:`s^2 / T`.
    random_seed : int, optional
        Seed of the draws of relevance.

    Returns
    -------
    Dataset
        ``estimate`` over chain, draw, measure, run, and topic where ``over`` is None;
        ``outside_weight`` as in :func:`evaluate`, without chain and draw. A topic that a run lacks
        scores 0; a topic without a judgment is NaN and left out of means.

    Raises
    ------
    ValueError
        A fit of another collection; a measure that the model has no grades for; an unknown option.

    References
    ----------
    Rubin, "The Bayesian bootstrap", Annals of Statistics 9 (1981), doi:10.1214/aos/1176345338.

    Examples
    --------
    >>> import pandas as pd, pymc as pm, bayeseval as be
    >>> run = pd.DataFrame({"run": "a", "topic": "1", "document": list("abcd")})
    >>> qrels = pd.DataFrame({"topic": "1", "document": list("abcd"), "grade": [1, 0, 1, 0]})
    >>> collection = be.read_collection(qrels, run.assign(score=[4, 3, 2, 1]))
    >>> with be.models.relevance_model(collection):
    ...     prior = pm.sample_prior_predictive(
    ...         5, random_seed=1, compile_kwargs={"mode": "FAST_COMPILE"}
    ...     )
    >>> prior["posterior"] = prior["prior"]  # everything is judged: any parameters will do
    >>> be.posterior_scores(prior, collection, "P@2").estimate.values.ravel()
    array([0.5, 0.5, 0.5, 0.5, 0.5])
    """
    check_option(population=population)
    if outside not in OUTSIDE:
        raise ValueError(f"outside must be one of {', '.join(OUTSIDE)}, not {outside!r}")
    if over not in ("topic", None):
        raise ValueError(f"over must be 'topic' or None, not {over!r}")
    if "urn_depth" in fitted["constant_data"]:
        return urn_scores(
            fitted,
            sampled,
            measures,
            outside=outside,
            over=over,
            population=population,
            random_seed=random_seed,
        )
    draws = RelevanceDraws(fitted, sampled, random_seed)
    problem = _problem(sampled, _parsed(measures, draws, sampled))
    weights = topic_weights(problem.judged_topic, draws.n_draws, draws.seed_word, over, population)
    estimate, lost = _streamed(problem, draws, outside, weights)
    _warn_unjudged(problem)
    attrs = {
        "estimator": "grade_model" if draws.graded else "relevance_model",
        "outside": outside,
        "population": population if over == "topic" else "",
        "relevance_level": draws.binary_level() or 0,
    }
    return labelled_scores(draws.sizes, problem.labels, estimate, lost, over).assign_attrs(attrs)


def _parsed(measures, draws: RelevanceDraws, sampled: xr.DataTree) -> list[Measure]:
    """Measures, each of which the model must have relevances for."""
    grades = grade_scale(sampled)
    level = draws.binary_level()
    parsed = parse_measures(measures, relevance_level=level or 1, grades=grades)
    for measure in parsed:
        if measure.kind == "preference":
            raise ValueError(
                f"{measure.label} has no posterior scores; measures that have them: "
                f"{', '.join(names_of('linear', 'count', 'ratio'))}"
            )
        if level is None:
            continue
        if measure.graded and (level != 1 or max(grades, default=0.0) > 1):
            raise ValueError(f"{measure.label} counts grades; fit be.models.grade_model for it")
        if not measure.graded and measure.relevance_level != level:
            raise ValueError(
                f"{measure.label} counts grades from {measure.relevance_level} and the model those "
                f"from {level}; fit it with relevance_level={measure.relevance_level}, or fit "
                "be.models.grade_model"
            )
    return parsed


def _problem(sampled: xr.DataTree, measures: list[Measure]) -> Problem:
    """Rankings and frame, without any estimate."""
    designed = "design" in sampled.children
    sample, _ = framed_sample(sampled) if designed else judged_sample(sampled)
    return Problem.framed(sampled, measures, sample, random=False)


def _streamed(
    problem: Problem, draws: RelevanceDraws, outside: str, weights
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Scores (measure, run, draw) or (measure, run, topic, draw), and the weight outside."""
    n_runs, n_topics = problem.ranking.shape[:2]
    by_topic = (len(problem.measures), n_runs, n_topics)
    lost = np.full(by_topic, np.nan)
    whole = by_topic if weights is None else by_topic[:2]
    estimate = np.zeros((*whole, draws.n_draws))
    if weights is None:
        estimate[:] = np.nan
    topics = np.flatnonzero(problem.judged_topic).tolist()
    for topic in track(topics, "posterior scores"):
        position, codes = _topic_codes(problem, draws, topic, outside)
        lost[:, :, topic] = 0.0
        if outside == "nonrelevant":
            lost[:, :, topic] = problem.outside_weight(topic, position)[..., 0]
        for index, measure in enumerate(problem.measures):
            score = plain_scores(measure, position, _relevance_of(measure, draws.scale)[codes])
            if weights is None:
                estimate[index, :, topic] = score
            else:
                estimate[index] += weights[topic] * score
    return estimate, lost


def _topic_codes(problem, draws, topic, outside) -> tuple[NDArray[np.int32], NDArray]:
    """Rows of the runs' documents on a topic, and under every draw the place of its grade."""
    first, last = problem.start[topic : topic + 2]
    ranking = problem.ranking[:, topic]
    if outside == "model":
        pairs = np.arange(last - first)
        position = np.where(ranking < 0, -1, ranking - first).astype(np.int32)
    else:
        pairs = np.flatnonzero(problem.row_of_pair[first:last] >= 0)
        position = problem.row_of_pair[ranking]
    return position, draws.topic(topic, pairs)


def _relevance_of(measure: Measure, scale: NDArray) -> NDArray:
    """Relevance of each grade of the scale, a byte where it is 0 or 1."""
    seen = relevance(measure, scale)
    return seen if measure.graded else seen.astype(np.int8)


def _warn_unjudged(problem: Problem) -> None:
    unjudged = problem.collection["topic"].to_numpy()[~problem.judged_topic]
    if unjudged.size:
        warnings.warn(without_judgment(unjudged), stacklevel=3)
