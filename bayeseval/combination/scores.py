"""Design and model of one sample combined in one call: estimates, a fit, and their combination."""

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import xarray as xr

from bayeseval.collection.predictions import label_names
from bayeseval.combination.combine import combine
from bayeseval.combination.intervals import compare_intervals
from bayeseval.combination.model_errors import with_model_errors
from bayeseval.evaluation import covariance, evaluate, mean_over_topics
from bayeseval.frame.gather import grade_scale
from bayeseval.inference import fit, verdict, verdict_text
from bayeseval.measures.names import parse_measures
from bayeseval.models.relevance.builder import relevance_model
from bayeseval.posterior import posterior_scores, summarize
from bayeseval.posterior.documents import check_modelled, check_told_by_relevance

N_CHAINS = 4
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
    draws: int = 1000,
    random_seed: int,
) -> xr.Dataset:
    """Scores of runs for these topics by ``dyn`` and ``relevance_model``, combined.

    The whole way in one call: :func:`evaluate` and :func:`covariance` by ``dyn``,
    :func:`models.relevance_model` fitted by its Laplace approximation with all labels of the
    collection as predictors, :func:`posterior_scores`, :func:`combine`. Take these one by one for
    another model, for NUTS, or for the population of topics.

    Parameters
    ----------
    sampled : DataTree
        Collection with one judged sample of a stratified or Poisson design; runs may have been
        added since.
    measures : str, object or list
        As for :func:`evaluate`, as far as relevance from ``relevance_level`` on tells them.
    predictor
        Of ``dyn``, as for :func:`evaluate`.
    relevance_level : int
        Lowest relevant grade.
    ci_prob : float
        Coverage of the intervals.
    guarantee, groups
        As for :func:`combine`.
    draws : int
        Posterior draws of each of four chains.
    random_seed : int

    Returns
    -------
    Dataset (measure, run)
        What :func:`combine` returns, with ``covariance``, so that runs can be compared and ranked
        (:func:`rankings.compare_draws`, :func:`rankings.rank_sets`); ``flagged`` of
        :func:`compare_intervals`, where the sample contradicts the model; and what
        :func:`mean_over_topics` says of documents, topics and denominators.

    Warns
    -----
    UserWarning
        The judgments contradict what the model predicts of them (:func:`verdict`).

    Raises
    ------
    ValueError
        As the functions named above; a measure that counts grades.

    Examples
    --------
    >>> import bayeseval as be
    >>> collection = be.simulate.urn_collection(
    ...     [0.05, 0.1, 0.2, 0.3], n_topics=10, prevalence=0.1, random_seed=1
    ... )
    >>> design = be.designs.pps_strata(collection, budget=20)
    >>> sampled = be.reveal(collection, design, be.draw(design, random_seed=1))
    >>> scores = combined_scores(sampled, "P@10", draws=100, random_seed=1)
    >>> bool((scores.interval.diff("ci_bound") < scores.design_length).all())
    True
    """
    grades = grade_scale(sampled)
    parsed = parse_measures(measures, relevance_level=relevance_level, grades=grades)
    check_modelled(parsed)
    check_told_by_relevance(parsed, relevance_level, grades)
    options: dict[str, Any] = {"predictor": predictor, "relevance_level": relevance_level}
    scores = evaluate(sampled, measures, estimator="dyn", **options)
    mean = mean_over_topics(scores, ci_prob=ci_prob)
    combined, table = combined_with_model(
        sampled, mean, options, guarantee=guarantee, groups=groups, draws=draws,
        random_seed=random_seed,
    )  # fmt: skip
    kept = [name for name in KEPT if name in mean]
    flagged = table["flagged"].transpose("measure", "run").variable
    return combined.assign(mean[kept]).assign(flagged=flagged)


def combined_with_model(
    sampled: xr.DataTree,
    mean: xr.Dataset,
    options: Mapping[str, Any],
    *,
    guarantee: str = "average",
    groups: str | Mapping[str, str] | None = None,
    draws: int,
    random_seed: int,
) -> tuple[xr.Dataset, xr.Dataset]:
    """Means by ``dyn`` combined with a model fitted to the same sample, and the three side by side.

    Parameters
    ----------
    mean : Dataset
        Of :func:`mean_over_topics`, for these topics.
    options : mapping
        ``predictor`` and ``relevance_level`` of the means.
    """
    labels: Sequence[str] = mean["measure"].to_numpy().tolist()
    level = options["relevance_level"]
    model = relevance_model(sampled, relevance_level=level, external=label_names(sampled))
    fitted = fit(
        model, approximation="laplace", chains=N_CHAINS, draws=draws, random_seed=random_seed
    )
    post = posterior_scores(fitted, sampled, labels, random_seed=random_seed)
    matrix = covariance(sampled, labels, estimator="dyn", **options)
    both = combine(mean, post, covariance=matrix, guarantee=guarantee, groups=groups)
    errors = with_model_errors(post, groups=groups, random_seed=random_seed)
    alone = summarize(errors, ci_prob=mean.attrs["ci_prob"])
    judged = verdict(fitted, sampled)
    if not judged["passed"].all():
        warnings.warn(
            "the judgments contradict the model's predictions: combined intervals may be too short "
            f"({verdict_text(judged)}). The intervals of dyn do not rest on the model",
            stacklevel=3,
        )
    return both, compare_intervals(mean, alone, both)
