"""Estimates of one sample combined with models that are fitted to it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr

from bayeseval.collection.origin import averaged_topics
from bayeseval.combination.combine import combine
from bayeseval.combination.constants import groups_of_runs
from bayeseval.combination.intervals import compare_intervals
from bayeseval.combination.model_errors import with_model_errors
from bayeseval.combination.population import for_population
from bayeseval.evaluation import covariance
from bayeseval.evaluation.problem import warn_all_alike
from bayeseval.evaluation.scores import topics_said
from bayeseval.evaluation.topic_groups import Groups
from bayeseval.frame.sample import grade_scale
from bayeseval.inference import fit
from bayeseval.measures.names import parse_measures
from bayeseval.models.identity import model_name
from bayeseval.posterior import posterior_scores, summarize
from bayeseval.posterior.modelled import document_model, scored_by_relevance

N_CHAINS, DRAWS = 4, 1000
OF_MEANS = ("estimate", "outside_weight")


@dataclass(frozen=True, eq=False)
class Combination:
    """Scores by models that were fitted to a sample, combined with ``dyn`` where that has them."""

    # (measure, run): of :func:`combine`, with a covariance; of measures that no sums of sampled
    # documents estimate the model's alone, with its own errors
    scores: xr.Dataset
    # (source, measure, run), of :func:`compare_intervals`: design, model with its errors, and both;
    # None without a measure that has all three
    intervals: xr.Dataset | None
    # (measure, run, topic): the model's posterior of every topic, where it is asked for
    by_topic: xr.Dataset | None
    # a sentence where the judgments contradict the model (:func:`verdict`), without a full stop;
    # else ""
    contradiction: str

    @classmethod
    def of(
        cls,
        sampled: xr.DataTree,
        mean: xr.Dataset | None,
        labels: list[str],
        *,
        predictor=None,
        relevance_level: int = 1,
        learn_from: str | Sequence[str] = "design",
        draws: int = DRAWS,
        random_seed: int,
        **asked: Any,
    ) -> "Combination":
        """Fit each model that measures need, once, and combine, as :func:`scores` does.

        ``mean`` (measure, run) is of :func:`mean_over_topics` by ``dyn`` with the same options, and
        with a ``covariance``, or it is computed; the measures that it lacks are the model's alone.
        ``asked`` are ``ci_prob``, ``population``, ``topic_groups`` and ``per_topic``.
        """
        options = {"predictor": predictor, "relevance_level": relevance_level}
        sampling: dict[str, Any] = {"chains": N_CHAINS, "draws": draws, "random_seed": random_seed}
        with topics_said():  # with ``mean``
            design = None if mean is None else _with_covariance(sampled, mean, options)
            by_relevance = scored_by_relevance(sampled, labels, relevance_level)
            parts = []
            for binary in sorted(set(by_relevance.tolist()), reverse=True):
                model = document_model(sampled, relevance_level, binary, learn_from)
                fitted = fit(model, approximation="laplace", **sampling)
                scored = np.array(labels)[by_relevance == binary].tolist()
                parts.append(cls._by(fitted, sampled, design, scored, random_seed, **asked))
        if mean is None:  # else said with it
            grades = grade_scale(sampled)
            options = {"relevance_level": relevance_level, "grades": grades}
            warn_all_alike(sampled, parse_measures(labels, **options))
        contradictions = [part.contradiction for part in parts if part.contradiction]
        return cls(
            _joined([part.scores for part in parts], labels),
            _joined([part.intervals for part in parts], labels),
            _joined([part.by_topic for part in parts], labels),
            "; ".join(dict.fromkeys(contradictions)),
        )

    @classmethod
    def _by(
        cls,
        fitted: xr.DataTree,
        sampled: xr.DataTree,
        design: tuple[xr.Dataset, xr.DataArray] | None,
        labels: list[str],
        random_seed: int,
        *,
        ci_prob: float,
        population: str = "sample",
        topic_groups: Groups | None = None,
        per_topic: bool = False,
    ) -> "Combination":
        """Scores by one model: of measures that are combined with the design, and of others."""
        of_topics = population == "topics"
        over = None if per_topic or of_topics else "topic"
        post = posterior_scores(fitted, sampled, labels, over=over, random_seed=random_seed)
        means = post if over else _averaged(post)
        alone = with_model_errors(means, ci_prob=ci_prob)
        by_topic = summarize(post, ci_prob=ci_prob) if per_topic else None
        known = [] if design is None else design[0]["measure"].to_numpy().tolist()
        summed = [label for label in labels if label in known]
        listed = [label for label in labels if label not in known]
        parts, intervals = [], None
        if design is not None and summed:
            mean, matrix = design[0].sel(measure=summed), design[1].sel(measure=summed)
            both = combine(mean, means, covariance=matrix)
            intervals = compare_intervals(mean, alone.sel(measure=summed), both)
            ratio = intervals["length_ratio"].sel(source="combined", drop=True)
            ratio = ratio.transpose("measure", "run").variable
            parts.append(
                both.assign(mean[["outside_weight", "n_topics"]]).assign(length_ratio=ratio)
            )
        if listed:
            group = ("run", groups_of_runs(post))
            parts.append(_like_combined(alone.sel(measure=listed).assign_coords(group=group)))
        scores = _joined(parts, labels)
        if of_topics:
            scores = for_population(scores, post, topic_groups)
            scores = scores.assign(length_ratio=xr.full_like(scores["length_ratio"], np.nan))
        name = ("measure", [model_name(fitted)] * len(labels))
        return cls(scores.assign(model=name), intervals, by_topic, _contradiction(post))


def _with_covariance(
    sampled: xr.DataTree, mean: xr.Dataset, options: dict[str, Any]
) -> tuple[xr.Dataset, xr.DataArray]:
    """Means by ``dyn`` that have errors, and the covariance of these for the same topics."""
    if mean["standard_error"].isnull().any():
        raise ValueError(
            "the sample is too small to be combined with a model: dyn has no standard error, "
            "as where one judged document stands for others of its topic; judge two or more"
        )
    if "covariance" in mean:
        return mean.drop_vars(["covariance", "run_other"]), mean["covariance"]
    labels: list[str] = mean["measure"].to_numpy().tolist()
    return mean, covariance(sampled, labels, estimator="dyn", **options)


def _averaged(post: xr.Dataset) -> xr.Dataset:
    """Draws of the means over these topics, of draws of the scores of every topic."""
    names = [name for name in OF_MEANS if name in post]
    means = {name: post[name].mean("topic", skipna=True) for name in names}
    about = {"population": "sample", "topics": averaged_topics(post["estimate"])}
    return post.drop_vars([*names, "topic"]).assign(means).assign_attrs(about)


def _like_combined(alone: xr.Dataset) -> xr.Dataset:
    """A model's scores with what combined scores have too."""
    unknown = xr.full_like(alone["estimate"], np.nan)
    n_topics = int(alone.attrs["topics"].split("-")[0])
    return alone.assign(
        model_weight=xr.ones_like(unknown),
        unlike_model=unknown,
        length_ratio=unknown,
        n_topics=xr.full_like(unknown, n_topics, dtype=np.int64),
    ).assign_attrs(estimator="combined")


def _contradiction(post: xr.Dataset) -> str:
    """What the judgments say against the model."""
    if post.attrs["judgments_passed"]:
        return ""
    return (
        "the judgments contradict the model's predictions: combined intervals may be too short, "
        "and estimator dyn is the safer one "
        f"(be.verdict: {post.attrs['judgments_verdict']})"
    )


def _joined(parts: list[xr.Dataset | None], labels: list[str]) -> Any:
    """Results of some measures each as one, in the order of the labels; None without any."""
    whole: list[Any] = [part for part in parts if part is not None]
    if not whole:
        return None
    found = xr.concat(whole, dim="measure", join="exact", combine_attrs="override")
    known = set(found["measure"].to_numpy().tolist())
    return found.sel(measure=[label for label in labels if label in known])
