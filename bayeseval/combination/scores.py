"""Design and model of one sample combined in one call: estimates, a fit, and their combination."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import xarray as xr

from bayeseval.collection import check_collection
from bayeseval.collection.choices import check_choice, check_whole_numbers
from bayeseval.combination.combine import GUARANTEES, combine
from bayeseval.combination.intervals import compare_intervals
from bayeseval.combination.model_errors import with_model_errors
from bayeseval.evaluation import covariance, evaluate, mean_over_topics
from bayeseval.evaluation.scores import topics_said
from bayeseval.inference import fit
from bayeseval.models.identity import model_name
from bayeseval.models.score.constants import constants_by_group
from bayeseval.posterior import posterior_scores, summarize
from bayeseval.posterior.modelled import document_model, learned_runs, told_measures

N_CHAINS, DRAWS = 4, 1000
KEPT = (  # of the means by the design: what they rest on
    "outside_weight", "n_topics", "n_limited", "n_modelled", "modelled_topics",
    "poorly_known_topics", "denominator_error",
)  # fmt: skip


def combined_scores(
    sampled: xr.DataTree,
    measures,
    *,
    predictor=None,
    relevance_level: int = 1,
    ci_prob: float = 0.9,
    guarantee: str = "average",
    groups: str | Mapping[str, str] | None = None,
    learn_from: str | Sequence[str] = "design",
    draws: int = DRAWS,
    random_seed: int,
) -> xr.Dataset:
    """Scores of runs for these topics by ``dyn`` and a model of documents, combined.

    The whole way in one call: :func:`evaluate` and :func:`covariance` by ``dyn``,
    :func:`models.relevance_model` fitted by its Laplace approximation with all labels of the
    collection as predictors, :func:`posterior_scores`, :func:`combine`. Measures that count grades,
    or another level than ``relevance_level``, are combined with :func:`models.grade_model` in its
    place. Take these one by one for NUTS, or for the population of topics. The estimand is the mean
    score of these topics if all documents of the frame were judged; what is promised of the
    intervals, and what breaks it, is told by :func:`combine`.

    Parameters
    ----------
    sampled : DataTree
        Collection with one judged sample of a stratified or Poisson design; runs may have been
        added since.
    measures : str, object or list
        As for :func:`evaluate`, but for those that compare pairs of judged documents.
    predictor
        Of ``dyn``, as for :func:`evaluate`.
    relevance_level : int
        Lowest relevant grade.
    ci_prob : float
        Coverage of the intervals.
    guarantee : {"average", "each"}
        Of ``interval``, as for :func:`combine`; differences and ranks rest on ``covariance``.
    groups : str or mapping of run to group, optional
        As for :func:`combine`.
    learn_from : {"design", "all"} or list of str
        Runs whose ranks the model learns from: those that the design was made from, or all, with
        which it errs less (``runs`` of :func:`models.relevance_model`).
    draws : int
        Posterior draws of each of four chains, 2 or more: with 1000 the ends of intervals move by
        some hundredth of half their length from seed to seed.
    random_seed : int
        Of the model's draws; the same seed gives the same scores.

    Returns
    -------
    Dataset (measure, run)
        What :func:`combine` returns, with ``covariance`` (measure, run, run_other), so that runs
        can be compared and ranked (:func:`rankings.compare_draws`, :func:`rankings.rank_sets`);
        ``model`` (measure), the name of the model that a measure is combined with;
        ``length_ratio`` (interval length over that of ``dyn``) and ``flagged`` (the sample
        contradicts the model) of :func:`compare_intervals`; of :func:`mean_over_topics`
        ``outside_weight``, ``n_topics``, ``n_limited`` and, for ratios by the counts of all topics,
        what it says of denominators.

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
    >>> bool((scores.interval.diff("ci_bound") < scores.design_length).all())
    True
    """
    check_collection(sampled)
    check_choice("guarantee", guarantee, GUARANTEES)
    check_whole_numbers(2, draws=draws)
    learned_runs(sampled, learn_from)
    told_measures(sampled, measures, relevance_level)  # refused before the estimates
    options = {"predictor": predictor, "relevance_level": relevance_level}
    mean = mean_over_topics(
        evaluate(sampled, measures, estimator="dyn", **options), ci_prob=ci_prob
    )
    return combined_means(
        sampled, mean, guarantee=guarantee, groups=groups, learn_from=learn_from, draws=draws,
        random_seed=random_seed, **options,
    )  # fmt: skip


def combined_means(sampled: xr.DataTree, mean: xr.Dataset, **options) -> xr.Dataset:
    """The same from the means by ``dyn``, where these are at hand: as :meth:`Combination.of`."""
    found = Combination.of(sampled, mean, **options)
    if found.contradiction:
        warnings.warn(
            f"{found.contradiction}; the intervals of dyn do not rest on it", stacklevel=3
        )
    kept = [name for name in KEPT if name in mean]
    ratio = found.intervals["length_ratio"].sel(source="combined", drop=True)
    further = {"length_ratio": ratio, "flagged": found.intervals["flagged"]}
    variables = {name: one.transpose("measure", "run").variable for name, one in further.items()}
    return found.scores.assign(mean[kept]).assign(variables)


@dataclass(frozen=True, eq=False)
class Combination:
    """Means by ``dyn`` combined with a model that was fitted to the same sample."""

    scores: xr.Dataset  # (measure, run): of :func:`combine`, with a covariance
    # (source, measure, run), of :func:`compare_intervals`: design, model with its errors, and both
    intervals: xr.Dataset
    # what to say where the judgments do not pass (:func:`verdict`), without a full stop; else ""
    contradiction: str

    @classmethod
    def of(
        cls,
        sampled: xr.DataTree,
        mean: xr.Dataset,
        *,
        predictor=None,
        relevance_level: int = 1,
        guarantee: str = "average",
        groups: str | Mapping[str, str] | None = None,
        learn_from: str | Sequence[str] = "design",
        draws: int = DRAWS,
        random_seed: int,
    ) -> "Combination":
        """Fit the model, and combine, as :func:`combined_scores` does.

        ``mean`` (measure, run) is of :func:`mean_over_topics` for these topics, by ``dyn`` with the
        same ``predictor`` and ``relevance_level``.
        """
        if mean["standard_error"].isnull().any():
            raise ValueError(
                "the sample is too small to be combined with a model: dyn has no standard error, "
                "as where one judged document stands for others of its topic; judge two or more"
            )
        constants_by_group(mean, groups, None)  # unknown groups are refused before the fit
        labels: list[str] = mean["measure"].to_numpy().tolist()
        told = told_measures(sampled, labels, relevance_level)
        how: dict[str, Any] = {"chains": N_CHAINS, "draws": draws, "random_seed": random_seed}
        options = {"guarantee": guarantee, "groups": groups}
        with topics_said():  # with ``mean``
            asked = {"predictor": predictor, "relevance_level": relevance_level}
            matrix = covariance(sampled, labels, estimator="dyn", **asked)
            parts = []
            for by_relevance in (True, False):
                some = told == by_relevance
                if some.any():
                    model = document_model(sampled, relevance_level, by_relevance, learn_from)
                    known = mean.isel(measure=some), matrix.isel(measure=some)
                    parts.append(cls._by(model, sampled, *known, how, options))
        return cls._joined(parts, labels)

    @classmethod
    def _by(
        cls, model, sampled: xr.DataTree, mean: xr.Dataset, matrix: xr.DataArray,
        how: dict[str, Any], options: dict[str, Any],
    ) -> "Combination":  # fmt: skip
        """Combined with one model; ``how`` it is fitted, and the options of :func:`combine`."""
        fitted = fit(model, approximation="laplace", **how)
        labels, seed = mean["measure"].to_numpy().tolist(), how["random_seed"]
        post = posterior_scores(fitted, sampled, labels, random_seed=seed)
        both = combine(mean, post, covariance=matrix, **options)
        errors = with_model_errors(post, groups=options["groups"], random_seed=seed)
        alone = summarize(errors, ci_prob=mean.attrs["ci_prob"])
        contradiction = ""
        if not post.attrs["judgments_passed"]:
            contradiction = (
                "the judgments contradict the model's predictions: combined intervals may be too "
                f"short (be.verdict: {post.attrs['judgments_verdict']})"
            )
        names = ("measure", [model_name(model)] * len(labels))
        return cls(both.assign(model=names), compare_intervals(mean, alone, both), contradiction)

    @classmethod
    def _joined(cls, parts: list["Combination"], labels: list[str]) -> "Combination":
        """Measures of one model and of the other, in the order in which they were asked for."""
        if len(parts) == 1:
            return parts[0]
        how: dict[str, Any] = {"dim": "measure", "combine_attrs": "override"}
        scores = xr.concat([one.scores for one in parts], **how)
        intervals = xr.concat([one.intervals for one in parts], **how)
        said = [one.contradiction for one in parts if one.contradiction]
        contradiction = "; ".join(dict.fromkeys(said))
        return cls(scores.sel(measure=labels), intervals.sel(measure=labels), contradiction)
