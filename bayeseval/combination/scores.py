"""Design and model of one sample combined in one call: estimates, a fit, and their combination."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import xarray as xr

from bayeseval.collection import check_collection
from bayeseval.collection.choices import check_whole_numbers
from bayeseval.combination.combine import combine
from bayeseval.combination.intervals import compare_intervals
from bayeseval.combination.model_errors import with_model_errors
from bayeseval.evaluation import covariance, means_with_covariance
from bayeseval.evaluation.scores import topics_said
from bayeseval.inference import fit
from bayeseval.models.identity import model_name
from bayeseval.posterior import posterior_scores
from bayeseval.posterior.modelled import document_model, fitted_runs, scored_by_relevance

N_CHAINS, DRAWS = 4, 1000


def combined_scores(
    sampled: xr.DataTree,
    measures,
    *,
    predictor=None,
    relevance_level: int = 1,
    ci_prob: float = 0.9,
    learn_from: str | Sequence[str] = "design",
    draws: int = DRAWS,
    random_seed: int,
) -> xr.Dataset:
    """Scores of runs for these topics by ``dyn`` and a model of documents, combined.

    All steps in one call: :func:`evaluate` and :func:`covariance` by ``dyn``,
    :func:`models.relevance_model` fitted by its Laplace approximation with all labels of the
    collection as predictors, :func:`posterior_scores`, :func:`combine`. Measures that count grades,
    or another level than ``relevance_level``, are combined with :func:`models.grade_model` in its
    place. Call the steps one by one for NUTS, or for the population of topics. The estimand is the
    mean score of these topics if all documents of the frame were judged. :func:`combine` says how
    often the intervals cover it, and what breaks them.

    Parameters
    ----------
    sampled : DataTree
        Collection with one judged sample of a stratified or Poisson design; runs may have been
        added since.
    measures : str, object or list
        As for :func:`evaluate`, except those that compare pairs of judged documents.
    predictor
        Of ``dyn``, as for :func:`evaluate`.
    relevance_level : int
        Lowest relevant grade.
    ci_prob : float
        Coverage of the intervals.
    learn_from : {"design", "all"} or list of str
        Runs whose ranks the model is fitted to: those that the design was made from, or all, with
        which it errs less (``runs`` of :func:`models.relevance_model`).
    draws : int
        Posterior draws of each of four chains, 2 or more.
    random_seed : int
        Of the model's draws; the same seed gives the same scores.

    Returns
    -------
    Dataset (measure, run)
        What :func:`combine` returns, with ``covariance`` (measure, run, run_other), so that runs
        can be compared and ranked (:func:`rankings.compare_draws`, :func:`rankings.rank_sets`);
        ``model`` (measure), the name of the model that a measure is combined with;
        ``length_ratio`` (interval length over that of ``dyn``); ``outside_weight`` and ``n_topics``
        of :func:`mean_over_topics`.

    Raises
    ------
    ValueError
        As the functions named above: no design, another scheme, several samples; one judged
        document to a topic, which gives ``dyn`` no standard error; a measure that compares pairs of
        judged documents; one that counts grades where the collection knows one grade alone.

    Warns
    -----
    UserWarning
        The judgments contradict what the model predicts of them (:func:`verdict`).

    Examples
    --------
    >>> import bayeseval as be
    >>> collection = be.simulate.urn_collection(
    ...     [0.05, 0.1, 0.2, 0.3], n_topics=10, prevalence=0.1, random_seed=1
    ... )
    >>> design = be.designs.pps_strata(collection, budget=20)
    >>> sampled = be.reveal(collection, design, be.draw(design, random_seed=1))
    >>> scores = be.combined_scores(sampled, "P@10", draws=100, random_seed=1)
    >>> bool((scores.length_ratio < 1).all())
    True
    """
    check_collection(sampled)
    check_whole_numbers(2, draws=draws)
    fitted_runs(sampled, learn_from)
    scored_by_relevance(sampled, measures, relevance_level)  # refused before the estimates
    options: dict[str, Any] = {"predictor": predictor, "relevance_level": relevance_level}
    mean = means_with_covariance(sampled, measures, estimator="dyn", ci_prob=ci_prob, **options)
    options |= {"learn_from": learn_from, "draws": draws, "random_seed": random_seed}
    combination = Combination.of(sampled, mean, **options)
    if combination.contradiction:
        warnings.warn(
            f"{combination.contradiction}; the intervals of dyn do not rest on it", stacklevel=2
        )
    ratio = combination.intervals["length_ratio"].sel(source="combined", drop=True)
    scores = combination.scores.assign(mean[["outside_weight", "n_topics"]])
    return scores.assign(length_ratio=ratio.transpose("measure", "run").variable)


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
        """Fit the model, and combine, as :func:`combined_scores` does.

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
