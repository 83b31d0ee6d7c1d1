"""Mean scores over topics."""

import numpy as np
import xarray as xr

from bayeseval.collection.origin import averaged_topics
from bayeseval.evaluation.looks import length_ratio
from bayeseval.evaluation.problem import check_option
from bayeseval.evaluation.topic_groups import (
    Groups,
    check_groups,
    members,
    variance_of_groups,
    warn_of_groups,
)
from bayeseval.messages import counted, warn
from bayeseval.rounding import ROUNDING
from bayeseval.uncertainty import (
    PREDICTED_FREEDOM,
    anticipated_part,
    degrees_of_freedom,
    interval,
    with_anticipated,
)


def mean_over_topics(
    scores: xr.Dataset,
    *,
    population: str = "sample",
    ci_prob: float = 0.9,
    topic_groups: Groups | None = None,
    anytime: bool = False,
) -> xr.Dataset:
    r"""Mean of the scores over topics, for these topics or the population they represent.

    With ``population="sample"`` the topics are fixed and samples of different topics independent:
    the design's variance V is :math:`\sum_t SE_t^2 / T^2`, with Satterthwaite's degrees of freedom,
    and the covariance of scores whose denominators rest on one model of the counts of all topics.
    The error is the root of V, or of its mean with the anticipated variance (:func:`evaluate`)
    where that is larger; its degrees of freedom are at least the ten of the anticipated variance.
    With ``"topics"`` they are a random sample themselves:
    :math:`SE^2 = (\sum_t (x_t - \bar x)^2 + B) / (T (T - 1))`, the variance of the *estimates* over
    topics, which contains the design variance, and B, the sum of the covariances between topics
    where denominators rest on one model of the counts (0 where it is below that); Student's t has
    T - 1 degrees of freedom. Topics without a score (NaN) are left out; for a "sample", a topic
    that has a score but no standard error leaves the mean without one.

    Parameters
    ----------
    scores : Dataset
        What :func:`evaluate` returns.
    population : {"sample", "topics"}
    ci_prob : float
        Coverage of the interval.
    topic_groups : mapping, Series or DataArray of topic to group, optional
        For ``population="topics"``: groups of topics that were chosen together, such as the turns
        of a conversation; the groups are then what is random.
    anytime : bool
        Of an order, for these topics: an interval that holds at every look while judging goes on.

    Returns
    -------
    Dataset
        ``estimate``; ``standard_error`` with ``degrees_of_freedom``, on which ``interval`` rests;
        ``design_error``, the unbiased standard error for these very topics, where the design gives
        one; ``outside_weight`` and ``n_topics``; without the dim topic.

    Raises
    ------
    ValueError
        Unknown population, ``ci_prob`` outside (0, 1); no scores over topics; groups for these very
        topics, fewer than two, or none for a topic; ``anytime`` without an order.

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
    length = length_ratio(scores, population, ci_prob) if anytime else None
    scores = scores.compute()  # small, also where its dims are chunks
    estimate = scores["estimate"]
    known = estimate.notnull()
    n_topics = known.sum("topic")
    mean = estimate.mean("topic", skipna=True)
    design_error, error, freedom = _errors_of_means(scores, known)
    if population == "topics":
        variance, freedom = spread_over_topics(estimate, mean, topic_groups)
        if topic_groups is None:
            warn_of_groups(estimate)
        # what all topics share, by one model of their counts, does not show as a spread
        shared = np.maximum(_between_topics(scores, known), 0.0)
        several = (n_topics - 1.0).where(n_topics > 1)
        error = (variance + shared / several / n_topics) ** 0.5
        warn_no_spread(mean, error, n_topics)
    outside = scores["outside_weight"]
    result = xr.Dataset(
        {
            "estimate": mean,
            "standard_error": error,
            "degrees_of_freedom": freedom,
            "interval": interval(
                mean,
                error if length is None else length * error,
                ci_prob=ci_prob,
                degrees_of_freedom=freedom,
            ),
            "design_error": design_error,
            "outside_weight": outside.where(known | (outside > 0)).mean("topic", skipna=True),
            "n_topics": n_topics,
        },
        attrs=scores.attrs
        | {"population": population, "ci_prob": ci_prob, "topics": averaged_topics(estimate)}
        | ({"anytime": 1} if anytime else {}),
    )
    return result if design_error.notnull().any() else result.drop_vars("design_error")


def warn_no_spread(mean: xr.DataArray, error: xr.DataArray, n_topics: xr.DataArray) -> None:
    """Say of which runs all topics have the same score, which gives an interval of no length."""
    alike = error <= ROUNDING * np.abs(mean)
    if "run" not in mean.dims or not alike.any():
        return
    first = np.argwhere(alike.to_numpy())[0]
    one = mean.isel(dict(zip(mean.dims, first, strict=True)))
    named = [str(one[name].item()) for name in ("measure", "run") if name in one.coords]
    warn(
        f"topics show no spread, and so no error, of {int(alike.sum())} of "
        f"{counted(alike.size, 'mean')}, the first is {' of run '.join(named)} with "
        f"{float(one):.4g} on each of {int(n_topics.max())} topics: its interval has no length and "
        "is not to be relied on; take more topics",
    )


def spread_over_topics(
    estimate: xr.DataArray, mean: xr.DataArray, topic_groups: Groups | None
) -> tuple[xr.DataArray, xr.DataArray]:
    """Variance of the mean by the spread over topics or their groups; its degrees of freedom."""
    known, away = estimate.notnull(), estimate - mean
    if topic_groups is not None:
        return variance_of_groups(away, known, members(topic_groups, estimate["topic"].to_numpy()))
    n_topics = known.sum("topic")
    freedom = (n_topics - 1.0).where(n_topics > 1)
    return (away**2).sum("topic", skipna=True) / freedom / n_topics, freedom


def _errors_of_means(
    scores: xr.Dataset, known: xr.DataArray
) -> tuple[xr.DataArray, xr.DataArray, xr.DataArray]:
    """Design error of means over these topics, and the error with its degrees of freedom.

    The error is no less than that of the design.
    """
    n_topics = known.sum("topic")
    number = n_topics.where(n_topics > 0)
    error = scores["standard_error"]
    design = scores.get("design_error", error)
    freedom = scores.get("degrees_of_freedom", xr.full_like(error, np.inf))
    mixed = error != design
    variance = (design**2).where(known, 0.0).sum("topic", skipna=False)
    variance = (variance + _between_topics(scores, known)).clip(min=0.0)
    anticipated = anticipated_part(error, design, freedom).where(mixed & known, 0.0).sum("topic")
    own = freedom - PREDICTED_FREEDOM * mixed
    own = own.where(own != 0.0, np.inf)  # no variance but by rounding
    spread = (design**4 / own).where(known, 0.0).sum("topic", skipna=False)
    own = degrees_of_freedom(variance, spread)
    larger, pooled = with_anticipated(variance, own, anticipated)
    exceeds = larger > variance
    freedom = own.where(anticipated == 0.0, own.where(own < pooled, pooled).clip(min=10.0))
    larger = larger.where(exceeds, variance)
    return variance**0.5 / number, larger**0.5 / number, freedom


def _between_topics(scores: xr.Dataset, known: xr.DataArray) -> xr.DataArray | float:
    """Sum of the covariances between topics, whose denominators rest on one model."""
    if "shared_error" not in scores:
        return 0.0
    # NaN of a measure without such a model, where scores were joined
    shared = scores["shared_error"].where(known, 0.0).fillna(0.0)
    alone = (shared**2).sum(["topic", "direction"])
    return (shared.sum("topic") ** 2).sum("direction") - alone
