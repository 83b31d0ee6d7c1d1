"""Topics that come in groups, such as turns of conversations, whose scores go together."""

import warnings
from collections.abc import Mapping

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from bayeseval.messages import Message, Option, some_of, warn

FEWEST = 5  # groups that names of topics are taken to tell of, with two topics each in the mean
LONGEST = 4  # last part of a name that numbers a topic within its group
SURE = 0.001  # p value, of half of the scores or more, by which groups show in them
EQUAL = 1e-12  # share of a sum of squares that rounding may leave of nothing

Groups = Mapping[str, object] | pd.Series | xr.DataArray


def check_groups(topic_groups: Groups | None, population: str, topics: NDArray) -> None:
    """Refuse groups for these very topics, and such as :func:`members` refuses."""
    if topic_groups is None:
        return
    if population == "sample":
        raise ValueError(
            Message(
                Option("topic_groups"),
                " is for ",
                Option("population", "topics"),
                ": errors for these very topics do not depend on how they were chosen",
            )
        )
    members(topic_groups, topics)


def members(topic_groups: Groups, topics: NDArray) -> xr.DataArray:
    """Which topic is in which group (topic, group), 1 or 0.

    Examples
    --------
    >>> members({"1_1": "1", "1_2": "1", "2_1": "2"}, np.array(["1_1", "1_2", "2_1"])).values
    array([[1., 0.],
           [1., 0.],
           [0., 1.]])
    """
    if isinstance(topic_groups, xr.DataArray):
        topic_groups = topic_groups.to_series()
    if not isinstance(topic_groups, Mapping | pd.Series):
        raise ValueError(
            "topic_groups must be a mapping, Series or DataArray of topic to group, not this "
            f"{type(topic_groups).__name__}"
        )
    of_topic = {str(topic): group for topic, group in topic_groups.items()}
    if len(of_topic) < len(topic_groups):
        named = pd.Series([str(topic) for topic, _ in topic_groups.items()])
        twice = named.loc[named.duplicated()].tolist()[0]
        raise ValueError(
            Message(
                Option("topic_groups"), f" names the topic '{twice}' twice; give each one group"
            )
        )
    lacking = [topic for topic in topics.tolist() if str(topic) not in of_topic]
    if lacking:
        raise ValueError(
            Message(
                Option("topic_groups"),
                f" must name the group of every topic; it lacks {some_of(lacking, 3)}",
            )
        )
    group = pd.factorize(pd.Series([of_topic[str(topic)] for topic in topics.tolist()]))[0]
    if (group < 0).any():
        unknown = some_of(topics[group < 0].tolist(), 3)
        raise ValueError(
            Message(
                Option("topic_groups"), f" must name the group of every topic; NaN of {unknown}"
            )
        )
    if group.max(initial=0) < 1:
        raise ValueError(
            Message(
                Option("topic_groups"),
                " must hold 2 groups or more: what is random are the groups",
            )
        )
    one = (group[:, None] == np.arange(group.max() + 1)).astype(float)
    return xr.DataArray(one, {"topic": topics}, ("topic", "group"))


def variance_of_groups(
    away: xr.DataArray, known: xr.DataArray, of_group: xr.DataArray
) -> tuple[xr.DataArray, xr.DataArray]:
    r"""Variance of a mean over topics, the groups being what is random; its degrees of freedom.

    .. math:: V = \frac{1}{T^2} \sum_g \frac{(\sum_{t \in g} e_t)^2}{1 - n_g / T}, \qquad
              \nu = \frac{T^2}{\sum_g n_g^2 + (\sum_g w_g)^2 - \sum_g w_g^2}, \quad
              w_g = \frac{n_g^2}{T (1 - n_g / T)}

    with e the deviations from the mean of the T topics that have a score and n_g how many of them
    are in group g: unbiased, and Satterthwaite's degrees of freedom, where scores are independent.
    With groups of one size V is the variance of the means of groups, with G - 1 degrees of freedom,
    whatever goes on within these. NaN with fewer than two groups.

    Parameters
    ----------
    away : DataArray (..., topic)
        Deviations, NaN where a topic has no score.
    known : DataArray (..., topic)
        Where there is one.
    of_group : DataArray (topic, group)
        1 where a topic is in a group, else 0.

    Returns
    -------
    variance, degrees_of_freedom : DataArray (...)

    References
    ----------
    Bell and McCaffrey, "Bias reduction in standard errors for linear regression with multi-stage
    samples", Survey Methodology 28 (2002).
    """
    total = xr.dot(away.where(known, 0.0), of_group, dim="topic")
    number = xr.dot(known.astype(float), of_group, dim="topic")
    topics = number.sum("group")
    rest = (topics - number).where(topics > number)
    several = (number > 0).sum("group") > 1
    variance = (total**2 / rest).sum("group", skipna=True) / topics
    weight = number**2 / rest
    square = (number**2).sum("group") + weight.sum("group") ** 2 - (weight**2).sum("group")
    return variance.where(several), (topics**2 / square).where(several)


def warn_of_groups(estimate: xr.DataArray) -> None:
    """Say that topics look like turns of groups, by their names, and that their scores do too.

    By their names they are numbered within groups (``31_2``); and by an analysis of variance half
    of a measure's scores or more differ between these.
    """
    names = pd.Series(estimate["topic"].to_numpy().astype(str))
    parts = names.str.extract(rf"^(.+)[^0-9A-Za-z]([0-9]{{1,{LONGEST}}})$")
    if parts[0].isna().any() or not FEWEST <= parts[0].nunique() <= len(names) / 2:
        return
    values = estimate.transpose(..., "measure", "topic") if "measure" in estimate.dims else estimate
    values = values.transpose(..., "topic")
    of_group = members(dict(zip(names, parts[0], strict=True)), names.to_numpy()).to_numpy()
    chance = _chance(values.to_numpy(), of_group)
    axes = tuple(i for i, dim in enumerate(values.dims[:-1]) if dim != "measure")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # a measure without scores
        typical = np.nanmedian(chance, axis=axes) if axes else chance
    if (typical < SURE).any():
        warn(
            Message(
                f"by their names topics come in groups, such as {names[0]} of {parts[0][0]}, and "
                "their scores go together there: intervals and p values for the population of "
                "topics take topics for independent and may be far too sure; ",
                Option("topic_groups"),
                " takes the groups for what is random",
            ),
        )


def _chance(values: NDArray[np.floating], of_group: NDArray[np.floating]) -> NDArray[np.floating]:
    """P values (...,) of an analysis of variance of values (..., topic); NaN where none can be."""
    from scipy.special import fdtrc

    known = ~np.isnan(values)
    filled = np.where(known, values, 0.0)
    number = known @ of_group
    n_topics, n_groups = number.sum(axis=-1), (number > 0).sum(axis=-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = filled.sum(axis=-1) / n_topics
        away = np.where(known, filled - mean[..., None], 0.0)
        whole = np.square(away).sum(axis=-1)
        between = np.where(number > 0, np.square(away @ of_group) / number, 0.0).sum(axis=-1)
        within = np.where(whole - between > EQUAL * whole, whole - between, 0.0)
        over, under = n_groups - 1.0, n_topics - n_groups
        f = (between / over) / (within / under)
        differ = whole > EQUAL * np.square(filled).sum(axis=-1)
        return np.where((over > 0) & (under > 0) & differ, fdtrc(over, under, f), np.nan)
