"""Mean scores over topics."""

import numpy as np
import xarray as xr

from bayeseval.collection.origin import averaged_topics
from bayeseval.estimators.denominators import POOR
from bayeseval.evaluation.problem import check_option
from bayeseval.evaluation.scores import by_denominators
from bayeseval.evaluation.topic_groups import (
    Groups,
    check_groups,
    members,
    variance_of_groups,
    warn_of_groups,
)
from bayeseval.uncertainty import degrees_of_freedom, interval, raised_variance


def mean_over_topics(
    scores: xr.Dataset,
    *,
    population: str = "sample",
    ci_prob: float = 0.9,
    topic_groups: Groups | None = None,
) -> xr.Dataset:
    r"""Mean of the scores over topics, for these topics or the population they represent.

    With ``population="sample"`` the topics are fixed and samples of different topics independent:
    :math:`SE^2 = \sum_t SE_t^2 / T^2`, with Satterthwaite's degrees of freedom for the interval,
    and the covariance of scores whose denominators rest on one model of the counts of all topics.
    The interval rests on that variance, raised where the predictions lead one to expect a larger
    one (:func:`evaluate`, Notes); ``standard_error`` is the root of the unbiased one, and
    ``degrees_of_freedom`` belong to it.
    With ``"topics"`` they are a random sample themselves:
    :math:`SE^2 = (\sum_t (x_t - \bar x)^2 + B) / (T (T - 1))`, the variance of the *estimates* over
    topics, which already contains the design variance, and B, the sum of the covariances between
    topics where denominators rest on one model of the counts of all, an error that no spread over
    topics shows (0 where it is below that, since over a few topics it might take away all of the
    spread); the interval uses Student's t with T - 1 degrees of freedom. Where topics come in
    groups, such as the turns of conversations or the variants of a query, their scores go together
    and these errors are too small; with ``topic_groups`` the groups are what is random
    (:func:`bayeseval.evaluation.topic_groups.variance_of_groups`). Topics without a score
    (NaN) are left out; for a "sample", a topic that has a score but no standard error leaves the
    mean without one.

    Parameters
    ----------
    scores : Dataset
        What :func:`evaluate` returns.
    population : {"sample", "topics"}
    ci_prob : float
        Coverage of the interval.
    topic_groups : mapping, Series or DataArray of topic to group, optional
        For ``population="topics"``: groups of topics that were chosen together.

    Returns
    -------
    Dataset
        ``estimate``, ``standard_error``, ``degrees_of_freedom``, ``interval``, ``outside_weight``,
        ``n_topics`` and ``n_limited`` without the dim topic. Where denominators rest on the counts
        of all topics also ``denominator_error``, the median over topics of the relative error of
        the number of relevant documents, ``n_modelled``, the number of topics where it comes mostly
        from the other topics, ``modelled_topics``, their share, and ``poorly_known_topics``, the
        share of those where that relative error is above a quarter; ``raised_error`` and its
        ``raised_freedom``, what an interval for these topics rests on; for ``"topics"`` the
        ``design_error`` too, the standard error for these very topics.

    Raises
    ------
    ValueError
        Unknown population, ``ci_prob`` outside (0, 1); no scores over topics; groups for these very
        topics, fewer than two, or none for a topic.

    Warns
    -----
    UserWarning
        For the population, where no groups are given, that topics are named like turns of groups
        (``31_2``) and their scores go together in these.

    References
    ----------
    Cormack and Grossman (2019), sections 2 and 5, doi:10.1145/3331184.3331355.

    Examples
    --------
    >>> import xarray as xr, bayeseval as be
    >>> scores = xr.Dataset(
    ...     {
    ...         "estimate": ("topic", [0.2, 0.4]),
    ...         "standard_error": ("topic", [0.03, 0.04]),
    ...         "outside_weight": ("topic", [0.0, 0.0]),
    ...         "limited": ("topic", [False, False]),
    ...     }
    ... )
    >>> mean = be.mean_over_topics(scores)
    >>> mean.estimate.item(), mean.standard_error.item()
    (0.30000000000000004, 0.025)
    """
    check_option(population=population)
    if (
        not isinstance(scores, xr.Dataset)
        or "topic" not in scores.get("estimate", xr.Dataset()).dims
    ):
        raise ValueError("scores must have an estimate over topic, as be.evaluate returns them")
    check_groups(topic_groups, population, scores["topic"].to_numpy())
    scores = scores.compute()  # small, also where its dims are chunks
    estimate = scores["estimate"]
    known = estimate.notnull()
    n_topics = known.sum("topic")
    mean = estimate.mean("topic", skipna=True)
    design_error, own, raised_error, raised = _errors_of_means(scores, known)
    if population == "sample":
        error, wide, freedom, believed = design_error, raised_error, own, raised
    else:
        variance, freedom = _over_topics(estimate, mean, topic_groups)
        # what all topics share, by one model of their counts, does not show as a spread
        shared = np.maximum(_between_topics(scores, known), 0.0)
        several = (n_topics - 1.0).where(n_topics > 1)
        wide = error = (variance + shared / several / n_topics) ** 0.5
        believed = freedom
    outside = scores["outside_weight"]
    result = xr.Dataset(
        {
            "estimate": mean,
            "standard_error": error,
            "degrees_of_freedom": freedom,
            "interval": interval(mean, wide, ci_prob=ci_prob, degrees_of_freedom=believed),
            "outside_weight": outside.where(known | (outside > 0)).mean("topic", skipna=True),
            "n_topics": n_topics,
            "n_limited": scores["limited"].sum("topic"),
            "raised_error": raised_error,
            "raised_freedom": raised,
        },
        attrs=scores.attrs
        | {"population": population, "ci_prob": ci_prob, "topics": averaged_topics(estimate)},
    )
    if population == "topics":
        result = result.assign(design_error=design_error)
    if "modelled_share" in scores:
        share = scores["modelled_share"]
        n_known = share.notnull().sum("topic")
        mostly = (share > 0.5).sum("topic").where(n_known > 0)
        error = scores["denominator_error"]
        result = result.assign(
            n_modelled=mostly,
            modelled_topics=mostly / n_known,
            poorly_known_topics=(error > POOR).sum("topic").where(n_known > 0) / n_known,
            denominator_error=error.median("topic", skipna=True),
        )
    return result


def _over_topics(
    estimate: xr.DataArray, mean: xr.DataArray, topic_groups: Groups | None
) -> tuple[xr.DataArray, xr.DataArray]:
    """Variance of the mean by the spread over topics or their groups; its degrees of freedom."""
    known, away = estimate.notnull(), estimate - mean
    if topic_groups is not None:
        return variance_of_groups(away, known, members(topic_groups, estimate["topic"].to_numpy()))
    warn_of_groups(estimate)
    n_topics = known.sum("topic")
    freedom = (n_topics - 1.0).where(n_topics > 1)
    return (away**2).sum("topic", skipna=True) / freedom / n_topics, freedom


def _errors_of_means(
    scores: xr.Dataset, known: xr.DataArray
) -> tuple[xr.DataArray, xr.DataArray, xr.DataArray, xr.DataArray]:
    """Design error of means over these topics, and the raised one that intervals rest on.

    Each with its degrees of freedom.
    """
    n_topics = known.sum("topic")
    number = n_topics.where(n_topics > 0)
    error = scores["standard_error"]
    variance = (error**2).where(known, 0.0).sum("topic", skipna=False)
    variance = (variance + _between_topics(scores, known)).clip(min=0.0)
    freedom = scores.get("degrees_of_freedom", np.inf)
    spread = (error**4 / freedom).where(known, 0.0).sum("topic", skipna=False)
    own = degrees_of_freedom(variance, spread)
    beside = by_denominators(scores).where(known, 0.0).sum("topic")
    beside = xr.where(beside > 0.0, beside + _between_topics(scores, known), 0.0)
    # what the predictions lead one to expect, where there are any
    expected = scores.get("anticipated_error", xr.zeros_like(error)) ** 2
    expected = expected.where(known).sum("topic", skipna=True)
    likely, raised = raised_variance(variance, own, expected, beside)
    return variance**0.5 / number, own, likely**0.5 / number, raised


def _between_topics(scores: xr.Dataset, known: xr.DataArray) -> xr.DataArray | float:
    """Sum of the covariances between topics, whose denominators rest on one model."""
    if "denominator_effect" not in scores:
        return 0.0
    # NaN of a measure without such a model, where scores were joined
    effect = scores["denominator_effect"].where(known, 0.0).fillna(0.0)
    direction = scores["denominator_direction"].fillna(0.0)
    total = xr.dot(effect, direction, dim="topic")
    alone = xr.dot(effect**2, (direction**2).sum("direction"), dim="topic")
    return (total**2).sum("direction") - alone
