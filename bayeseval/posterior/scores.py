"""Posterior draws of the scores of runs, streamed topic by topic."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from bayeseval.collection.choices import check_choice, check_seed, check_several_topics
from bayeseval.collection.labels import without_judgment
from bayeseval.collection.origin import origin, run_coords, topics_word
from bayeseval.evaluation.problem import check_option
from bayeseval.evaluation.scores import TopicsUnjudged, warn_unranked
from bayeseval.evaluation.topic_groups import Groups, check_groups, members
from bayeseval.frame.frame import Frame
from bayeseval.frame.independence import warn_following
from bayeseval.frame.rankings import Rankings
from bayeseval.inference.judgments import judgments_by
from bayeseval.inference.verdict import judgments_verdict, verdict_text
from bayeseval.measures.measure import described_gains
from bayeseval.messages import Message, Option, warn
from bayeseval.models.identity import check_finite, check_fit, model_name
from bayeseval.models.table import MODELS, ModelKind, kind_of
from bayeseval.posterior.documents import DocumentScores
from bayeseval.posterior.lists import ListScores
from bayeseval.processors import in_order, usable_processors
from bayeseval.rounding import ROUNDING

# By what a model draws: documents, with one relevance whatever run shows them, or each run's list.
SCORED: dict[str, Any] = {"documents": DocumentScores, "lists": ListScores}
OUTSIDE = ("nonrelevant", "model")
DEPARTURES = ("learned", "none")
BOOTSTRAP_STREAM = 1
MOST_AT_ONCE = 4  # topics, each of which may take half a gigabyte


def posterior_scores(
    fitted: xr.DataTree,
    sampled: xr.DataTree,
    measures,
    *,
    outside: str = "nonrelevant",
    over: str | None = "topic",
    population: str = "sample",
    topic_groups: Groups | None = None,
    departures: str = "learned",
    random_seed: int | None = None,
) -> xr.Dataset:
    r"""Posterior draws of the scores of every run, from the draws of a model.

    Under every draw of the parameters each unjudged document of the frame gets a relevance (or a
    grade) by chance, independent given the parameters; judged documents keep their grades. Then the
    measure is computed as for complete judgments.

    A fit of ``urn_model`` gives the scores of its own runs, for measures that are weighted sums
    over the ranks. There the unjudged ranks of each run are drawn separately: the scores say
    nothing about differences between runs.

    Parameters
    ----------
    fitted : DataTree
        Fit of ``relevance_model``, ``grade_model`` or ``urn_model``.
    sampled : DataTree
        Collection that the model was made from. Runs that were added since are scored too, but
        not with ``urn_model``.
    measures : str, ir_measures object, or list of them
        P, RBP, DCG, NumRel, NumRelRet, AP, nDCG, R, Rprec, RR, Success, ERR, SetP, SetR, SetF,
        IPrec and those of :func:`measure`; those that count grades, or another level than the
        model's, need a fit of ``grade_model``.
    outside : {"nonrelevant", "model"}
        Documents outside the frame: non-relevant, or predicted by the model from their ranks.
    over : {"topic"} or None
        Means over topics, or a score per topic.
    population : {"sample", "topics"}
        Means over these topics, or over the population that they are a random sample of: then every
        draw weighs the topics by Dirichlet(1, ..., 1), the same for all runs (Bayesian bootstrap).
    topic_groups : mapping, Series or DataArray of topic to group, optional
        For ``population="topics"``: groups of topics, which have the Dirichlet weights then.
    departures : {"learned", "none"}
        Runs that the model was not fitted to depart from it by an amount that is learned from the
        judgments among their first ranks, or they are taken for runs like those that it knows.
    random_seed : int, optional

    Returns
    -------
    Dataset
        ``estimate`` over chain, draw, measure, run, and topic where ``over`` is None (0 for a topic
        that a run lacks, NaN for one without a judgment); ``outside_weight`` as in
        :func:`evaluate`; coord ``learned`` (run): whether the model was fitted to a run or a copy.
        Where runs depart, ``modelled_mean`` and ``modelled_error`` are posterior mean and standard
        deviation of their mean scores without departures. For ``urn_model``, ``judged_score`` is
        the score by the judged documents alone, and ``filled_weight`` the weight of the ranks that
        the urns fill. The attrs ``judgments_passed`` and ``judgments_verdict`` are those of
        :func:`bayeseval.verdict`.

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
    check_choice("outside", outside, OUTSIDE)
    check_choice("departures", departures, DEPARTURES)
    check_seed(random_seed)
    if over not in ("topic", None):
        raise ValueError(f"over must be 'topic' or None, not {over!r}")
    kind = _scorable(fitted)
    draws = kind.draws(fitted, sampled, random_seed)
    topics = sampled["topic"].to_numpy()
    check_groups(topic_groups, population, topics)
    options = {"departures": departures} if kind.draws_of == "documents" else {}
    scored = SCORED[kind.draws_of](draws, sampled, measures, outside, **options)
    judged = scored.judged_topic
    of_group = None if topic_groups is None else members(topic_groups, topics).to_numpy()
    weights = topic_weights(judged, draws.n_draws, draws.seed_word, population, of_group)
    estimate, modelled, lost, spread = _streamed(scored, weights, over)
    if not judged.all():
        n_others = int(judged.sum()) if over == "topic" else None
        unjudged = scored.labels["topic"][~judged]
        warn(without_judgment(unjudged, n_others), TopicsUnjudged)
    warn_unranked(sampled, Rankings.of(sampled), judged)
    warn_following(Frame.of(sampled))
    if judged.any() and draws.n_draws > 1 and spread < ROUNDING:
        _warn_of_nothing_learned(lost, "design" in sampled.children)
    attrs = {
        "estimator": model_name(fitted),
        "outside": outside,
        "missing_topics": "zero",
        "gain": described_gains(scored.measures),
        "population": population if over == "topic" else "",
        "topics": topics_word(scored.labels["topic"][judged]) if over == "topic" else "",
        "departures": departures,
        "relevance_level": scored.relevance_level,
        "draws_of": kind.draws_of,
    } | origin(sampled)
    if kind.draws_of == "documents" and {"sampler", "approximation"} & fitted.attrs.keys():
        attrs |= _said_of_judgments(draws)
    labels = dict(scored.labels) | run_coords(sampled, scored.labels["run"])
    labels["learned"] = xr.Variable("run", scored.learned)
    posterior = fitted["posterior"].to_dataset()
    labels |= {dim: posterior[dim].to_numpy() for dim in draws.sizes}  # numbers where it has none
    result = _labelled(draws.sizes, labels, estimate, lost, over).assign_attrs(attrs)
    return result.assign(scored.variables(result, modelled))


def _said_of_judgments(draws: Any) -> dict[str, int | str]:
    """Whether the judgments speak against the draws of a model of documents, as attrs."""
    found = judgments_verdict(judgments_by(draws))
    return {
        "judgments_passed": int(found["passed"].all()),
        "judgments_verdict": verdict_text(found),
    }


def _scorable(fitted: xr.DataTree) -> ModelKind:
    """Kind of a fit's model, which has scores; tells of what a user added to it.

    Refuses draws that saw no judgments, lack what documents are drawn by or are not finite.
    """
    check_fit(fitted)
    kind = kind_of(fitted)
    if kind is None:
        raise ValueError(
            f"this fit is not of a model that has scores; models that have: {', '.join(MODELS)}"
        )
    if kind.judgment in fitted["posterior"] and "sample_stats" in fitted.children:
        raise ValueError(
            f"this sampler never saw the judgments: '{kind.judgment}' is drawn, not observed; "
            "be.fit observes it, and pm.observe does so for pm.sample"
        )
    name = model_name(fitted)
    if "missing" in fitted.attrs:
        raise ValueError(
            f"the fit is of a {name} without {fitted.attrs['missing']}, by which documents that "
            "are not judged are drawn"
        )
    if "added" in fitted.attrs:
        warn(
            f"documents that are not judged are drawn as {name} was made, without what was added "
            f"to it ({fitted.attrs['added']}), which counts by what it did to other parameters",
        )
    check_finite(fitted)
    return kind


def _warn_of_nothing_learned(lost: NDArray[np.float64], designed: bool) -> None:
    """Say of scores without any doubt that they count documents that nobody judged for nothing."""
    if not np.nanmax(lost) > ROUNDING:
        return
    said = (
        "every document that these scores count and the model speaks of is judged, so it changed "
        f"nothing: up to {np.nanmax(lost):.2f} of the weight of a score is on others, which count "
        "as not relevant"
    )
    wanted = (
        "; judgments of a sample need their ",
        Option("design", None, "design (be.attach_judgments)"),
        ", those of a pool ",
        Option("model", "urn", "be.models.urn_model"),
        ", or take ",
    )
    wanted = ("; take ",) if designed else wanted
    warn(Message(said, *wanted, Option("outside", "model")))


def _topic_by_topic(scored, topics: list[int]) -> Iterator[tuple[list[NDArray], NDArray | float]]:
    """Scores (run + departing run, draw) of all measures, and the weight outside, of each topic.

    The first topic goes alone: what it asks of all topics is there for the threads of the others.
    """

    def whole(topic: int):
        scores, lost = scored.topic(topic)
        return list(scores), lost

    yield from map(whole, topics[:1])
    at_once = min(usable_processors(), MOST_AT_ONCE)
    yield from in_order(whole, topics[1:], "posterior scores", at_once)


def _streamed(
    scored, weights: NDArray, over: str | None
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64], float]:
    """Scores (measure, run, draw) or (measure, run, topic, draw), and what else is asked of them.

    That is: means over topics (measure, departing run, draw) of the runs that depart from the
    model, as it has them; the weight outside; the widest range over draws of a topic's score.
    Means take the ``weights`` (topic, draw).
    """
    by_topic = tuple(len(scored.labels[dim]) for dim in ("measure", "run", "topic"))
    lost = np.full(by_topic, np.nan)
    whole, start = (by_topic, np.nan) if over is None else (by_topic[:2], 0.0)
    estimate = np.full((*whole, weights.shape[1]), start)
    modelled = np.zeros((by_topic[0], scored.departing.size, weights.shape[1]))
    n_runs, spread = by_topic[1], 0.0
    topics = np.flatnonzero(scored.judged_topic).tolist()
    for topic, (scores, outside) in zip(topics, _topic_by_topic(scored, topics), strict=True):
        lost[:, :, topic] = outside
        for index, score in enumerate(scores):
            spread = max(spread, np.ptp(score[:n_runs], axis=-1).max())
            if over is None:
                estimate[index, :, topic] = score[:n_runs]
            else:
                estimate[index] += weights[topic] * score[:n_runs]
            modelled[index] += weights[topic] * score[n_runs:]
    return estimate, modelled, lost, spread


def topic_weights(
    judged: NDArray[np.bool_],
    n_draws: int,
    seed_word: int,
    population: str,
    of_group: NDArray[np.floating] | None = None,
) -> NDArray[np.float64]:
    """Weight of each topic in the mean under each draw (topic, draw).

    Topics without a judgment weigh 0. For the population of topics the weights are those of the
    Bayesian bootstrap, the same for all runs: of topics, or of the groups that they come in,
    ``of_group`` (topic, group), 1 or 0, all topics of one alike.
    """
    weights = np.zeros((judged.size, n_draws))
    if population == "sample":
        weights[judged] = 1.0 / judged.sum()
        return weights
    by = (np.eye(judged.size) if of_group is None else of_group)[judged]
    by = by[:, by.any(axis=0)]
    check_several_topics(by.shape[1], "topics" if of_group is None else "groups of topics")
    random = np.random.default_rng([seed_word, BOOTSTRAP_STREAM])
    drawn = by @ random.dirichlet(np.ones(by.shape[1]), size=n_draws).T
    weights[judged] = drawn / drawn.sum(axis=0)
    return weights


def _labelled(
    sizes: Mapping[str, int],
    labels: Mapping[str, Any],
    estimate: NDArray[np.float64],
    lost: NDArray[np.float64],
    over: str | None,
) -> xr.Dataset:
    """Scores (measure, run[, topic], draw) over chain and draw, and the weight outside the frame.

    What is ``lost`` is (measure, run, topic); ``over`` is "topic" where scores are means.
    """
    values = np.moveaxis(estimate, -1, 0).reshape(*sizes.values(), *estimate.shape[:-1])
    dims = ("measure", "run", "topic")
    scores = xr.Dataset(
        {
            "estimate": (("chain", "draw", *dims[: values.ndim - 2]), values),
            "outside_weight": (dims, lost),
        },
        coords=dict(labels),
    )
    if over is None:
        return scores
    mean = scores["outside_weight"].mean("topic", skipna=True)
    return scores.assign(outside_weight=mean).drop_vars("topic")
