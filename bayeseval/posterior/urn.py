"""Posterior draws of scores from an urn model, topic by topic."""

import warnings

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from bayeseval.collection.labels import without_judgment
from bayeseval.measures.measure import Measure
from bayeseval.measures.names import parse_measures
from bayeseval.measures.scores import rank_weight
from bayeseval.measures.table import names_of
from bayeseval.models.urn.draws import UrnDraws
from bayeseval.posterior.labels import labelled_scores
from bayeseval.posterior.weights import topic_weights
from bayeseval.progress import track

NEGLIGIBLE = 1e-7  # ranks below which a measure has no more than this of its weight are left out


def urn_scores(
    fitted: xr.DataTree,
    sampled: xr.DataTree,
    measures,
    *,
    outside: str,
    over: str | None,
    population: str,
    random_seed: int | None,
) -> xr.Dataset:
    """Posterior draws of linear measures from a fit of ``urn_model``; see ``posterior_scores``."""
    if outside != "nonrelevant":
        raise ValueError("an urn holds the documents of its frame only; allowed: 'nonrelevant'")
    draws = UrnDraws(fitted, sampled, random_seed)
    parsed = _linear(measures, draws.tops.relevance_level)
    depth = sampled["rankings"].sizes["rank"]
    weight = [_cut(rank_weight(measure, depth)) for measure in parsed]
    judged = draws.tops.count(draws.tops.relevance >= 0) > 0
    if not judged.all():
        warnings.warn(without_judgment(draws.tops.coords["topic"][~judged]), stacklevel=3)
    share = topic_weights(judged, draws.n_draws, draws.seed_word, over, population)
    n_runs, n_topics = draws.tops.run.size, judged.size
    lost = np.full((len(parsed), n_runs, n_topics), np.nan)
    shape = (len(parsed), n_runs, *([] if share is not None else [n_topics]), draws.n_draws)
    estimate = np.full(shape, 0.0 if share is not None else np.nan)
    for topic in track(np.flatnonzero(judged).tolist(), "posterior scores"):
        for index, score in enumerate(draws.scores(topic, weight)):
            if share is None:
                estimate[index, :, topic] = score
            else:
                estimate[index] += share[topic] * score
        lost[:, :, topic] = draws.outside_weight(topic, weight)
    labels = {"measure": np.array([measure.label for measure in parsed])}
    labels |= {dim: draws.tops.coords[dim] for dim in ("run", "topic")}
    return labelled_scores(draws.sizes, labels, estimate, lost, over).assign_attrs(
        estimator="urn_model",
        outside=outside,
        population=population if over == "topic" else "",
        relevance_level=draws.tops.relevance_level,
    )


def _linear(measures, relevance_level: int) -> list[Measure]:
    """Measures that are weighted sums over ranks: what an urn of each run can be asked for."""
    parsed = parse_measures(measures, relevance_level=relevance_level, grades=(0.0, 1.0))
    for measure in parsed:
        if measure.kind != "linear" or measure.graded:
            raise ValueError(
                f"{measure.label} has no posterior scores under urn_model; measures that have "
                f"them: {', '.join(names_of('linear'))}, of relevance"
            )
        if measure.relevance_level != relevance_level:
            raise ValueError(
                f"{measure.label} counts grades from {measure.relevance_level} and the model those "
                f"from {relevance_level}; fit it with relevance_level={measure.relevance_level}"
            )
    return parsed


def _cut(weight: NDArray[np.floating]) -> NDArray[np.floating]:
    """Weights without the ranks at the end that add next to nothing."""
    left = weight[::-1].cumsum()[::-1]
    return weight[: max(1, int((left > NEGLIGIBLE * left[0]).sum()))]
