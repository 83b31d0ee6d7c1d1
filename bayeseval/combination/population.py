"""Scores of these topics as scores of the population that the topics represent."""

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from bayeseval.evaluation.means import spread_over_topics
from bayeseval.evaluation.topic_groups import Groups
from bayeseval.measures.names import parse_measures
from bayeseval.measures.table import row_of

LEVEL = 0.9  # of the interval that the widened error of a normal distribution gives
DRAWS = ("chain", "draw")


def for_population(
    scores: xr.Dataset, post: xr.Dataset, topic_groups: Groups | None = None
) -> xr.Dataset:
    r"""Scores of these topics with the error of topics as a random sample added.

    .. math:: V = V_0 + E\left[\frac{S^2}{T}\right]

    where :math:`V_0` is the variance for these topics, and the expectation of the variance
    :math:`S^2` of the true scores over topics, or their groups, is that of the model's posterior.
    The second part is widened for its degrees of freedom.

    Parameters
    ----------
    scores : Dataset (measure, run)
        With ``estimate``, ``standard_error``, ``interval`` and, if any, ``covariance``.
    post : Dataset
        Draws of the scores of every topic.
    topic_groups : mapping, Series or DataArray of topic to group, optional

    Returns
    -------
    Dataset (measure, run)
    """
    from scipy.special import ndtri

    draws = post["estimate"].sel({name: scores[name] for name in ("measure", "run")})
    spread, freedom = spread_over_topics(draws, draws.mean("topic", skipna=True), topic_groups)
    spread = spread.mean(DRAWS) * widening(freedom.mean(DRAWS)) ** 2
    spread = spread.transpose("measure", "run")
    longer = float(ndtri(0.5 + 0.5 * scores.attrs["ci_prob"])) * spread**0.5
    off = scores["interval"] - scores["estimate"]
    side = xr.DataArray([-1.0, 1.0], {"ci_bound": ["lower", "upper"]})
    interval = scores["estimate"] + side * (off**2 + longer**2) ** 0.5
    labels: list[str] = scores["measure"].to_numpy().tolist()
    interval = interval.where(~bounded(labels), interval.clip(0.0, 1.0))
    result = scores.assign(
        standard_error=(scores["standard_error"] ** 2 + spread) ** 0.5,
        interval=interval.transpose(*scores["interval"].dims),
    ).assign_attrs(population="topics")
    if "covariance" not in scores:
        return result
    size = np.sqrt(spread.to_numpy())
    matrix = size[:, :, None] * size[:, None, :] * _topic_correlation(draws)
    return result.assign(covariance=scores["covariance"] + matrix)


def bounded(labels: list[str]) -> xr.DataArray:
    """Whether scores by measures (measure,) lie between 0 and 1."""
    return xr.DataArray([row_of(one).bounded for one in parse_measures(labels)], dims="measure")


def widening(freedom: xr.DataArray) -> xr.DataArray:
    """Quantile of Student's t over that of the normal distribution, for intervals of ``LEVEL``."""
    from scipy.special import ndtri, stdtrit

    known = np.isfinite(freedom)
    student = stdtrit(freedom.where(known, 1.0), 0.5 * (1.0 + LEVEL))
    return xr.where(known, student / ndtri(0.5 * (1.0 + LEVEL)), 1.0)


def _topic_correlation(draws: xr.DataArray) -> NDArray[np.floating]:
    """Correlations (measure, run, run) over topics of the posterior mean scores."""
    scores = draws.mean(DRAWS).transpose("measure", "run", "topic").to_numpy()
    correlation = np.zeros((*scores.shape[:2], scores.shape[1]))
    for matrix, score in zip(correlation, scores, strict=True):
        score = score[:, ~np.isnan(score).any(axis=0)]
        off = score - score.mean(axis=1, keepdims=True) if score.shape[1] > 1 else 0.0 * score
        size = np.sqrt((off**2).sum(axis=1, keepdims=True))
        off /= np.where(size > 0.0, size, 1.0)
        matrix[:] = off @ off.T
        np.fill_diagonal(matrix, 1.0)
    return correlation
