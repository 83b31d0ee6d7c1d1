"""Estimates of one sample combined with a model that is fitted to it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr

from bayeseval.combination.combine import combine
from bayeseval.combination.constants import groups_of_runs
from bayeseval.combination.intervals import compare_intervals
from bayeseval.combination.model_errors import with_model_errors
from bayeseval.evaluation import covariance
from bayeseval.evaluation.scores import topics_said
from bayeseval.inference import fit
from bayeseval.models.identity import model_name
from bayeseval.posterior import posterior_scores
from bayeseval.posterior.modelled import document_model, scored_by_relevance

N_CHAINS, DRAWS = 4, 1000


@dataclass(frozen=True, eq=False)
class Combination:
    """Means by ``dyn`` combined with a model that was fitted to the same sample."""

    scores: xr.Dataset  # (measure, run): of :func:`combine`, with a covariance
    # (source, measure, run), of :func:`compare_intervals`: design, model with its errors, and both
    intervals: xr.Dataset
    # a sentence where the judgments contradict the model (:func:`verdict`), without a full stop;
    # else ""
    contradiction: str

    @classmethod
    def of(
        cls,
        sampled: xr.DataTree,
        mean: xr.Dataset,
        *,
        predictor=None,
        relevance_level: int = 1,
        learn_from: str | Sequence[str] = "design",
        draws: int = DRAWS,
        random_seed: int,
    ) -> "Combination":
        """Fit the model, and combine, as :func:`scores` does.

        ``mean`` (measure, run) is of :func:`mean_over_topics` for these topics, by ``dyn`` with the
        same ``predictor`` and ``relevance_level``; with a ``covariance``, or it is computed.
        """
        if mean["standard_error"].isnull().any():
            raise ValueError(
                "the sample is too small to be combined with a model: dyn has no standard error, "
                "as where one judged document stands for others of its topic; judge two or more"
            )
        labels: list[str] = mean["measure"].to_numpy().tolist()
        by_relevance = scored_by_relevance(sampled, labels, relevance_level)
        sampling = {"chains": N_CHAINS, "draws": draws, "random_seed": random_seed}
        with topics_said():  # with ``mean``
            if "covariance" in mean:
                mean, matrix = mean.drop_vars(["covariance", "run_other"]), mean["covariance"]
            else:
                options = {"predictor": predictor, "relevance_level": relevance_level}
                matrix = covariance(sampled, labels, estimator="dyn", **options)
            parts = []
            for binary in (True, False):
                scored = by_relevance == binary
                if scored.any():
                    model = document_model(sampled, relevance_level, binary, learn_from)
                    design = mean.isel(measure=scored), matrix.isel(measure=scored)
                    parts.append(cls._by(model, sampled, *design, sampling))
        contradictions = [part.contradiction for part in parts if part.contradiction]
        options: dict[str, Any] = {"dim": "measure", "combine_attrs": "override"}
        scores: Any = xr.concat([part.scores for part in parts], **options)
        intervals: Any = xr.concat([part.intervals for part in parts], **options)
        return cls(
            scores.sel(measure=labels),
            intervals.sel(measure=labels),
            "; ".join(dict.fromkeys(contradictions)),
        )

    @classmethod
    def _by(
        cls, model, sampled: xr.DataTree, mean: xr.Dataset, matrix: xr.DataArray, sampling: dict
    ) -> "Combination":
        """Combined with one model, which is fitted with the options ``sampling``."""
        fitted = fit(model, approximation="laplace", **sampling)
        labels = mean["measure"].to_numpy().tolist()
        post = posterior_scores(fitted, sampled, labels, random_seed=sampling["random_seed"])
        scores = combine(mean, post, covariance=matrix)
        alone = with_model_errors(post, ci_prob=mean.attrs["ci_prob"])
        contradiction = ""
        if not post.attrs["judgments_passed"]:
            contradiction = (
                "the judgments contradict the model's predictions: combined intervals may be too "
                f"short (be.verdict: {post.attrs['judgments_verdict']})"
            )
        names = ("measure", [model_name(model)] * len(labels))
        intervals = compare_intervals(mean, alone, scores)
        return cls(scores.assign(model=names), intervals, contradiction)


def scores_by_model(
    sampled: xr.DataTree,
    labels: list[str],
    *,
    relevance_level: int,
    ci_prob: float,
    learn_from: str | Sequence[str],
    draws: int,
    random_seed: int,
) -> xr.Dataset:
    """Scores (measure, run) by the models alone, with their own errors, as combine returns them.

    For measures that no sums of sampled documents estimate.
    """
    by_relevance = scored_by_relevance(sampled, labels, relevance_level)
    sampling: dict[str, Any] = {"chains": N_CHAINS, "draws": draws, "random_seed": random_seed}
    parts = []
    for binary in (True, False):
        asked = [label for label, one in zip(labels, by_relevance, strict=True) if one == binary]
        if asked:
            model = document_model(sampled, relevance_level, binary, learn_from)
            fitted = fit(model, approximation="laplace", **sampling)
            post = posterior_scores(fitted, sampled, asked, random_seed=random_seed)
            alone = with_model_errors(post, ci_prob=ci_prob)
            names = ("measure", [model_name(model)] * len(asked))
            group = ("run", groups_of_runs(post))
            parts.append(alone.assign(model=names).assign_coords(group=group))
    options: dict[str, Any] = {"dim": "measure", "combine_attrs": "override"}
    found: Any = xr.concat(parts, **options)
    unknown, n_topics = xr.full_like(found["estimate"], np.nan), found.attrs["topics"].split("-")[0]
    return (
        found.sel(measure=labels)
        .assign(
            model_weight=xr.ones_like(unknown),
            unlike_model=unknown,
            length_ratio=unknown,
            n_topics=xr.full_like(unknown, int(n_topics), dtype=np.int64),
        )
        .assign_attrs(estimator="combined", ci_prob=ci_prob)
    )
