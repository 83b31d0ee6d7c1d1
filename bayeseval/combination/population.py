"""Scores of these topics as scores of the population that the topics represent."""

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from bayeseval.collection.choices import check_several_topics
from bayeseval.evaluation.means import spread_over_topics, warn_no_spread
from bayeseval.evaluation.topic_groups import Groups, members
from bayeseval.measures.names import parse_measures
from bayeseval.measures.table import row_of

LEVEL = 0.9  # of the interval by which a standard error is widened
DRAWS = ("chain", "draw")


def for_population(
    scores: xr.Dataset, post: xr.Dataset, topic_groups: Groups | None = None
) -> xr.Dataset:
    r"""Scores of these topics with the error of topics as a random sample added.

    .. math:: V = V_0 + E\left[\frac{S^2}{T}\right]

    where :math:`V_0` is the variance for these topics, and the expectation of the variance
    :math:`S^2` of the true scores over topics, or their groups, is that of the model's posterior.
    The second part is widened for its degrees of freedom. Covariances are made in the same way.

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
    check_several_topics(int(draws.notnull().any([*DRAWS, "measure", "run"]).sum()))
    spread, freedom = spread_over_topics(draws, draws.mean("topic", skipna=True), topic_groups)
    spread, freedom = (one.mean(DRAWS).transpose("measure", "run") for one in (spread, freedom))
    warn_no_spread(scores["estimate"], spread**0.5, draws.notnull().any(DRAWS).sum("topic"))
    ci_prob = float(scores.attrs.get("ci_prob", LEVEL))
    longer = ndtri(0.5 + 0.5 * ci_prob) * widening(freedom, ci_prob) * spread**0.5
    spread = spread * widening(freedom) ** 2
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
    matrix = size[:, :, None] * size[:, None, :] * _topic_correlation(draws, topic_groups)
    return result.assign(covariance=scores["covariance"] + matrix)


def bounded(labels: list[str]) -> xr.DataArray:
    """Whether scores by measures (measure,) lie between 0 and 1."""
    return xr.DataArray([row_of(one).bounded for one in parse_measures(labels)], dims="measure")


def widening(freedom: xr.DataArray, ci_prob: float = LEVEL) -> xr.DataArray:
    """Quantile of Student's t over that of the normal distribution, for an interval."""
    from scipy.special import ndtri, stdtrit

    known = np.isfinite(freedom)
    student = stdtrit(freedom.where(known, 1.0), 0.5 * (1.0 + ci_prob))
    return xr.where(known, student / ndtri(0.5 * (1.0 + ci_prob)), 1.0)


def _topic_correlation(draws: xr.DataArray, topic_groups: Groups | None) -> NDArray[np.floating]:
    """Correlations (measure, run, run) of true scores over topics, or groups, in all draws.

    Those of the posterior means are larger: what is unknown of each run's topics is not in them.
    """
    off = (draws - draws.mean("topic", skipna=True)).fillna(0.0)
    if topic_groups is not None:
        off = xr.dot(off, members(topic_groups, draws["topic"].to_numpy()), dim="topic")
    off = off.transpose("measure", "run", ...).to_numpy()
    off = off.reshape(*off.shape[:2], -1)
    size = np.sqrt((off**2).sum(axis=-1, keepdims=True))
    off = off / np.where(size > 0.0, size, 1.0)
    correlation = off @ off.swapaxes(1, 2)
    correlation[:, np.arange(off.shape[1]), np.arange(off.shape[1])] = 1.0
    return correlation
