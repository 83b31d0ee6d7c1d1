"""Differences of runs' mean scores, pair by pair, with the standard errors of the pairs."""

from dataclasses import replace
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from bayeseval.collection import check_one_sample
from bayeseval.collection.labels import MOST
from bayeseval.estimators.denominators import given_back
from bayeseval.estimators.registry import HAS_COVARIANCE
from bayeseval.evaluation.means import mean_over_topics
from bayeseval.evaluation.problem import Problem, check_option
from bayeseval.evaluation.scored import OF_COUNTS, of_counts, placed
from bayeseval.evaluation.scores import evaluate, warn_unjudged, warn_unranked
from bayeseval.evaluation.topic_groups import Groups, check_groups
from bayeseval.frame.independence import warn_following
from bayeseval.messages import Message, Option, some_of
from bayeseval.processors import one_blas_thread
from bayeseval.rounding import settled
from bayeseval.uncertainty import degrees_of_freedom

BLOCK = 2000  # pairs of runs whose deviations are held at once

Pairs = tuple[NDArray[np.int64], NDArray[np.int64]]


def compared_pairs(runs: NDArray, reference: str | None = None) -> Pairs:
    """Positions of the runs a and b of all pairs, a before b, or of all runs beside a reference b.

    Examples
    --------
    >>> compared_pairs(np.array(["x", "y", "z"]), "y")
    (array([0, 2]), array([1, 1]))
    """
    if runs.size < 2:
        raise ValueError("a comparison needs at least 2 runs")
    if reference is None:
        first, second = np.triu_indices(runs.size, k=1)
        return first, second
    other = run_position(runs, reference)
    first = np.delete(np.arange(runs.size), other)
    return first, np.full(first.size, other)


def run_position(runs: NDArray, name: str) -> int:
    """Position of a run's label."""
    where = np.flatnonzero(runs == name)
    if not where.size:
        raise ValueError(
            f"the collection has no run '{name}'; its runs: {some_of(runs.tolist(), MOST)}"
        )
    return int(where[0])


def default_population(estimator: str) -> str:
    """What differences are about by default: these topics where a design gives their errors."""
    return "sample" if estimator in HAS_COVARIANCE else "topics"


def differences(
    sampled: xr.DataTree,
    measures,
    *,
    estimator: str,
    pairs: Pairs,
    population: str | None = None,
    ci_prob: float = 0.9,
    topic_groups: Groups | None = None,
    **options,
) -> xr.Dataset:
    """Differences of pairs of runs over topics, as ``paired_difference`` has them for one.

    Of the runs at the positions a and b of ``pairs``, (comparison,) each. Beside what that returns
    there are, over measure and comparison, ``believed`` and ``believed_freedom``, the error that
    the interval rests on and its degrees of freedom, and ``difference`` (measure, comparison,
    topic).
    """
    population = default_population(estimator) if population is None else population
    check_option(population=population)
    check_one_sample(sampled, "differences are of one sample")
    check_groups(topic_groups, population, sampled["topic"].to_numpy())
    if population == "sample" and estimator in HAS_COVARIANCE:
        scores = _of_the_design(sampled, measures, estimator, pairs, options)
    else:
        scores = _of_scores(sampled, measures, estimator, pairs, options)
    mean = mean_over_topics(
        scores, population=population, ci_prob=ci_prob, topic_groups=topic_groups
    )
    names = ("standard_error", "degrees_of_freedom")
    if population == "sample":
        names = ("raised_error", "raised_freedom")
    error, freedom = (mean[name] for name in names)
    of_scores = ["outside_weight", "n_limited"]
    if population == "topics":  # the errors of these very topics are not asked for
        of_scores += ["raised_error", "raised_freedom", "design_error"]
    mean = mean.drop_vars(of_scores)
    return mean.assign(difference=scores["estimate"], believed=error, believed_freedom=freedom)


def _of_scores(sampled, measures, estimator: str, pairs: Pairs, options: dict) -> xr.Dataset:
    """Differences of scores topic by topic, without errors of their own."""
    scores = evaluate(sampled, measures, estimator=estimator, **options)
    estimate = scores["estimate"].transpose("measure", "run", "topic").to_numpy()
    first, second = pairs
    one, other = estimate[:, first], estimate[:, second]
    difference = settled(one - other, one, other)
    unknown = np.full(difference.shape, np.nan)
    labels = {name: scores[name].to_numpy() for name in ("measure", "run", "topic")}
    known: dict[Any, Any] = {name: scores[name] for name in OF_COUNTS if name in scores}
    if "denominator_effect" in scores:
        effect = scores["denominator_effect"].transpose("measure", "run", "topic").to_numpy()
        pair = settled(effect[:, first] - effect[:, second], one, other)
        known["denominator_effect"] = (("measure", "comparison", "topic"), pair)
        known["denominator_direction"] = scores["denominator_direction"]
    return _labelled(labels, pairs, difference, unknown, unknown, estimator).assign(known)


def _of_the_design(sampled, measures, estimator: str, pairs: Pairs, options: dict) -> xr.Dataset:
    """Differences topic by topic with the design's variance of each pair."""
    options = without_defaults(options, "differences over these topics count")
    problem = Problem.prepared(sampled, measures, estimator=estimator, **options)
    warn_unjudged(problem)
    warn_following(problem.frame)
    warn_unranked(problem.frame.collection, problem.frame.rankings, problem.judged_topic)
    runs, position = np.unique(np.concatenate(pairs), return_inverse=True)
    first, second = position.reshape(2, -1)
    shape = (len(problem.measures), first.size, sampled.sizes["topic"])
    variance, freedom = (np.full(shape, np.nan) for _ in range(2))
    effect = np.zeros(shape)
    of_run, beyond = (np.full((shape[0], runs.size, shape[2]), np.nan) for _ in range(2))
    direction = np.zeros((shape[0], shape[2], 1, 0))
    said: dict[Any, Any] = {name: np.full((shape[0], shape[2]), np.nan) for name in OF_COUNTS}
    anticipated = _anticipated(problem, runs.tolist(), (first, second))
    for index, topic, score in problem.topic_scores(runs.tolist()):
        if score.direction is not None:
            direction = placed(direction, index, topic, score.direction)
        if score.counts is not None:
            for name, value in of_counts(score).items():
                said[name][index, topic] = value[0]
        of_run[index, :, topic] = score.estimate[:, 0]
        beyond[index, :, topic] = 0.0 if score.beyond is None else score.beyond[:, 0]
        for start in range(0, first.size, BLOCK):
            block = slice(start, start + BLOCK)
            a, b = first[block], second[block]
            one, other = score.estimate[a], score.estimate[b]
            pair = replace(
                score,
                estimate=one - other,
                deviation=score.deviation[a] - score.deviation[b],
                effect=None if score.effect is None else score.effect[a] - score.effect[b],
                by_slot=None if score.by_slot is None else score.by_slot[a] - score.by_slot[b],
                anticipated=None,
            )
            if pair.effect is not None:
                effect[index, block, topic] = settled(pair.effect, one, other)[:, 0]
            error = settled(np.sqrt(pair.variance), one, other)
            variance[index, block, topic] = np.square(error)[:, 0]
            freedom[index, block, topic] = degrees_of_freedom(pair.variance, pair.spread)[:, 0]
    of_run = of_run + given_back(beyond[..., None])[..., 0]
    one, other = of_run[:, first], of_run[:, second]
    estimate = settled(one - other, one, other)
    scores = _labelled(problem.labels, pairs, estimate, np.sqrt(variance), freedom, estimator)
    scores["anticipated_error"] = scores["estimate"].dims, np.sqrt(anticipated)
    if not direction.shape[-1]:  # no model of the counts was used
        return scores
    said = {name: (("measure", "topic"), values) for name, values in said.items()}
    said["denominator_effect"] = (("measure", "comparison", "topic"), effect)
    said["denominator_direction"] = (("measure", "topic", "direction"), direction[:, :, 0])
    return scores.assign(said)


@one_blas_thread()
def _anticipated(problem: Problem, runs: list[int], pairs: Pairs) -> NDArray[np.floating]:
    """Variances (measure, comparison, topic) to be expected; 0 where a measure has no such form."""
    shape = (len(problem.measures), pairs[0].size, len(problem.labels["topic"]))
    variance = np.zeros(shape)
    for topic, position in problem.topics(runs):
        for index, of_pairs in enumerate(problem.anticipated_differences(topic, position)):
            if of_pairs is not None:
                variance[index, :, topic] = of_pairs[pairs]
    return variance


def without_defaults(options: dict, what: str) -> dict:
    """Options of ``evaluate`` without those of scores alone, which are refused if not the defaults.

    ``what`` is what is asked for, and its verb, for the message.
    """
    of_scores = {"outside": "nonrelevant", "missing_topics": "zero"}
    for name, usual in of_scores.items():
        if options.get(name, usual) != usual:
            raise ValueError(
                Message(
                    f"{what} with ",
                    Option(name, usual),
                    "; in differences ",
                    Option(name, options[name]),
                    " goes with ",
                    Option("population", "topics"),
                )
            )
    return {name: value for name, value in options.items() if name not in of_scores}


def _labelled(labels: dict, pairs: Pairs, estimate, error, freedom, estimator: str) -> xr.Dataset:
    """Scores (measure, comparison, topic) as ``mean_over_topics`` takes them."""
    dims = ("measure", "comparison", "topic")
    first, second = pairs
    return xr.Dataset(
        {
            "estimate": (dims, estimate),
            "standard_error": (dims, error),
            "degrees_of_freedom": (dims, freedom),
            "outside_weight": (dims, np.zeros(estimate.shape)),
            "limited": (dims, np.zeros(estimate.shape, dtype=bool)),
        },
        coords={
            "measure": labels["measure"],
            "topic": labels["topic"],
            "run_a": ("comparison", labels["run"][first]),
            "run_b": ("comparison", labels["run"][second]),
        },
        attrs={"estimator": estimator},
    )
