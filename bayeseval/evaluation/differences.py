"""Differences of runs' mean scores, pair by pair, with the standard errors of the pairs."""

from dataclasses import replace

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from bayeseval.collection import check_one_sample
from bayeseval.collection.labels import MOST
from bayeseval.estimators.registry import HAS_COVARIANCE
from bayeseval.evaluation.looks import ONE_LOOK
from bayeseval.evaluation.means import mean_over_topics
from bayeseval.evaluation.problem import Problem, check_option
from bayeseval.evaluation.scored import placed
from bayeseval.evaluation.scores import evaluate, warn_of_topics_and_runs
from bayeseval.evaluation.topic_groups import Groups, check_groups
from bayeseval.messages import Message, Option, some_of
from bayeseval.processors import one_blas_thread
from bayeseval.rounding import settled
from bayeseval.uncertainty import degrees_of_freedom, with_anticipated

BLOCK = 2000  # pairs of runs whose deviations are held at once

Pairs = tuple[NDArray[np.int64], NDArray[np.int64]]


def compared_pairs(
    runs: NDArray, reference: str | None = None, pair: tuple[str, str] | None = None
) -> Pairs:
    """Positions of the runs a and b of all pairs, a before b, or of all runs beside a reference b.

    Or of the two runs of one pair.

    Examples
    --------
    >>> compared_pairs(np.array(["x", "y", "z"]), "y")
    (array([0, 2]), array([1, 1]))
    """
    if runs.size < 2:
        raise ValueError("a comparison needs at least 2 runs")
    if pair is not None:
        first, second = _both(runs, reference, pair)
        return np.array([first]), np.array([second])
    if reference is None:
        first, second = np.triu_indices(runs.size, k=1)
        return first, second
    other = run_position(runs, reference)
    first = np.delete(np.arange(runs.size), other)
    return first, np.full(first.size, other)


def _both(runs: NDArray, reference: str | None, pair: tuple[str, str]) -> tuple[int, int]:
    """Positions of the runs of a pair."""
    if reference is not None:
        raise ValueError(
            Message(Option("pair"), " is one comparison; leave out ", Option("reference"))
        )
    names = [pair] if isinstance(pair, str) else list(pair)
    if len(names) != 2 or names[0] == names[1]:
        raise ValueError(Message(Option("pair"), f" names two different runs, not {names}"))
    first, second = (run_position(runs, name) for name in names)
    return first, second


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
    anytime: bool = False,
    **options,
) -> xr.Dataset:
    """Differences of pairs of runs over topics, with the standard errors of the pairs.

    Of the runs at the positions a and b of ``pairs``, (comparison,) each: what
    :func:`mean_over_topics` returns, over measure and comparison, ``difference`` (measure,
    comparison, topic), and ``outside_weight_a`` and ``outside_weight_b``. The two runs share topics
    and judged documents, so their errors are correlated. ``population`` is that of means; by
    default "sample" where the design gives the error of a difference, and else "topics", by
    Student's t for paired topics.
    """
    population = default_population(estimator) if population is None else population
    check_option(population=population)
    if anytime and population == "topics" and estimator in HAS_COVARIANCE:
        raise ValueError(ONE_LOOK)
    check_one_sample(sampled, "differences are of one sample")
    check_groups(topic_groups, population, sampled["topic"].to_numpy())
    over: dict = {"population": population, "topic_groups": topic_groups}
    over |= {"ci_prob": ci_prob, "anytime": anytime}
    if population == "topics" or estimator not in HAS_COVARIANCE:
        scores = evaluate(sampled, measures, estimator=estimator, **options)
        outside = scores["outside_weight"].transpose("measure", "run", "topic").to_numpy()
        return _with_weights(differences_of_scores(scores, pairs=pairs, **over), outside, pairs)
    options = without_defaults(options, "differences over these topics count")
    problem = Problem.prepared(sampled, measures, estimator=estimator, **options)
    warn_of_topics_and_runs(problem)
    outside = np.full((len(problem.measures), *problem.frame.rankings.length.shape), np.nan)
    for topic, position in problem.topics():
        outside[:, :, topic] = problem.outside_weight(topic, position)[..., 0]
    return _with_weights(_means(design_differences(problem, pairs), **over), outside, pairs)


def _with_weights(found: xr.Dataset, outside: NDArray, pairs: Pairs) -> xr.Dataset:
    """Differences with both runs' weight (measure, run, topic) outside the frame, as a mean."""
    known = ~np.isnan(outside)
    mean = np.where(known, outside, 0.0).sum(axis=2) / np.maximum(known.sum(axis=2), 1)
    mean = np.where(known.any(axis=2), mean, np.nan)
    dims = ("measure", "comparison")
    first, second = pairs
    both = {"outside_weight_a": (dims, mean[:, first]), "outside_weight_b": (dims, mean[:, second])}
    return found.assign(both)


def differences_of_scores(scores: xr.Dataset, *, pairs: Pairs, **over) -> xr.Dataset:
    """What :func:`differences` returns, of scores per topic; ``over`` is of means over topics."""
    return _means(_of_pairs(scores, pairs), **over)


def _means(scores: xr.Dataset, **over) -> xr.Dataset:
    """Means of differences over topics, and the differences."""
    mean = mean_over_topics(scores, **over)
    kept = ["estimate", "standard_error", "degrees_of_freedom", "interval", "n_topics"]
    return mean[kept].assign(difference=scores["estimate"])


def _of_pairs(scores: xr.Dataset, pairs: Pairs) -> xr.Dataset:
    """Differences of scores topic by topic, without errors of their own."""
    estimate = scores["estimate"].transpose("measure", "run", "topic").to_numpy()
    first, second = pairs
    one, other = estimate[:, first], estimate[:, second]
    difference = settled(one - other, one, other)
    unknown = np.full(difference.shape, np.nan)
    labels = {name: scores[name].to_numpy() for name in ("measure", "run", "topic")}
    attrs = {"estimator": scores.attrs.get("estimator", "")}
    found = _labelled(labels, pairs, difference, unknown, unknown, attrs)
    if "shared_error" not in scores:
        return found
    shared = scores["shared_error"].transpose("measure", "run", "topic", "direction").to_numpy()
    one, other = shared[:, first], shared[:, second]
    dims = ("measure", "comparison", "topic", "direction")
    return found.assign(shared_error=(dims, settled(one - other, one, other)))


def design_differences(problem: Problem, pairs: Pairs) -> xr.Dataset:
    """Differences topic by topic with the design's variance of each pair."""
    runs, position = np.unique(np.concatenate(pairs), return_inverse=True)
    first, second = position.reshape(2, -1)
    shape = (len(problem.measures), first.size, len(problem.labels["topic"]))
    estimate, variance, freedom = (np.full(shape, np.nan) for _ in range(3))
    shared = np.zeros((*shape, 0))
    anticipated = _anticipated(problem, runs.tolist(), (first, second))
    for index, topic, score in problem.topic_scores(runs.tolist()):
        if score.shared is not None:
            common = score.shared[:, 0]
            one, other = common[first], common[second]
            shared = placed(shared, index, topic, settled(one - other, one, other))
        for start in range(0, first.size, BLOCK):
            block = slice(start, start + BLOCK)
            a, b = first[block], second[block]
            one, other = score.estimate[a], score.estimate[b]
            pair = replace(
                score,
                estimate=settled(one - other, one, other),
                deviation=score.deviation[a] - score.deviation[b],
                shared=None if score.shared is None else score.shared[a] - score.shared[b],
                by_slot=None if score.by_slot is None else score.by_slot[a] - score.by_slot[b],
            )
            error = settled(np.sqrt(pair.variance), one, other)
            estimate[index, block, topic] = pair.estimate[:, 0]
            variance[index, block, topic] = np.square(error)[:, 0]
            freedom[index, block, topic] = degrees_of_freedom(pair.variance, pair.spread)[:, 0]
    scores = _labelled(problem.labels, pairs, estimate, np.sqrt(variance), freedom, problem.attrs)
    dims = scores["estimate"].dims
    mixed, freedom = with_anticipated(
        scores["standard_error"] ** 2,
        scores["degrees_of_freedom"],
        scores["estimate"].copy(data=anticipated),
    )
    design = scores["standard_error"]
    error = (mixed**0.5).where(mixed != design**2, design)
    scores = scores.assign(design_error=design, standard_error=error, degrees_of_freedom=freedom)
    if not shared.shape[-1]:  # no model of the counts was used
        return scores
    return scores.assign(shared_error=((*dims, "direction"), shared))


@one_blas_thread()
def _anticipated(problem: Problem, runs: list[int], pairs: Pairs) -> NDArray[np.floating]:
    """Variances (measure, comparison, topic) to be expected; 0 where a measure has no such form."""
    shape = (len(problem.measures), pairs[0].size, len(problem.labels["topic"]))
    variance = np.zeros(shape)
    for topic, position in problem.topics(runs=runs):
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


def _labelled(labels: dict, pairs: Pairs, estimate, error, freedom, attrs: dict) -> xr.Dataset:
    """Scores (measure, comparison, topic) as ``mean_over_topics`` takes them."""
    dims = ("measure", "comparison", "topic")
    first, second = pairs
    return xr.Dataset(
        {
            "estimate": (dims, estimate),
            "standard_error": (dims, error),
            "degrees_of_freedom": (dims, freedom),
            "outside_weight": (dims, np.zeros(estimate.shape)),
        },
        coords={
            "measure": labels["measure"],
            "topic": labels["topic"],
            "run_a": ("comparison", labels["run"][first]),
            "run_b": ("comparison", labels["run"][second]),
        },
        attrs={name: attrs[name] for name in ("estimator", "information") if name in attrs},
    )
