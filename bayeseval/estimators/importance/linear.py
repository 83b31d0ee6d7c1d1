"""Estimates of single documents from draws with replacement: P@c, RBP, DCG, R and R-precision.

What is random, what is estimated and when it is unbiased: :mod:`bayeseval.estimators.importance`.
"""

import numpy as np

from bayeseval.estimators.importance.draws import (
    Draws,
    check_options,
    freedom,
    mean_and_variance,
    topic_draws,
)
from bayeseval.estimators.list_score import ListScore
from bayeseval.frame.lists import TopicLists
from bayeseval.measures.measure import Measure
from bayeseval.measures.scores import rank_weight


def importance_linear(
    measure: Measure, topic: TopicLists, *, conditioning: str = "run", ratio: str = "plain"
) -> ListScore:
    r"""P@c, RBP, DCG or NumRelRet from draws with replacement.

    .. math:: \hat S = \frac{M(A)}{K_A} \sum_{d \in A} k_d \frac{w(d)\, rel(d)}{M(d)}

    over the documents A that the run ranks where the measure has a weight, :math:`K_A` of the draws
    being on them. Its variance given :math:`K_A` is estimated by the sample variance of the terms
    over :math:`K_A` (Hansen and Hurwitz), without bias for a fixed number of draws and
    :math:`K_A \ge 2`.

    Parameters
    ----------
    measure : Measure
        A linear measure.
    topic : TopicLists
        Rankings, judgments and draws of one topic.
    conditioning : {"run", "none"}
        "run": relative to the draws on A, as in the paper, with no estimate (NaN) where there are
        none. "none": relative to all draws, 0 where none is on A; unbiased over all samples, but
        with a larger variance.
    ratio : {"plain", "beale"}
        Of no effect: for :func:`bayeseval.estimators.importance.importance_average_precision`.

    Returns
    -------
    ListScore
        Estimates and variances (run, replicate), with :math:`K_A - 1` degrees of freedom; a single
        draw on A gives an estimate without a variance, so a mean over topics has a standard error
        only where every topic with an estimate has two draws ("none" has one whenever two
        documents were drawn at all). 0, with variance 0, where A has no document that can be drawn.

    Raises
    ------
    ValueError
        No design with replacement, a drawn document without a grade, an unknown conditioning.

    References
    ----------
    Aslam, Pavlu and Yilmaz (2006), section 2.4, doi:10.1145/1148170.1148263.

    Examples
    --------
    >>> from bayeseval.measures.names import parse_measures
    >>> topic = TopicLists(
    ...     position=np.array([[0, 1, 2]], dtype=np.int32),
    ...     grade=np.array([[1.0, np.nan, 0.0]]),
    ...     pooled=np.ones(3, dtype=bool),
    ...     draw_probability=np.array([0.5, 0.3, 0.2]),
    ...     draw_count=np.array([[2, 0, 1]]),
    ... )
    >>> importance_linear(parse_measures("P@2")[0], topic).estimate
    array([[0.8]])
    """
    check_options(conditioning, ratio)
    weight = rank_weight(measure, topic.position.shape[1])[:, None]
    estimate, variance, number = _hansen_hurwitz(weight, topic_draws(measure, topic), conditioning)
    return ListScore(estimate, variance, freedom(number, variance))


def importance_relevant_count(
    measure: Measure, topic: TopicLists, *, conditioning: str = "run", ratio: str = "plain"
) -> ListScore:
    r"""R, the number of relevant documents, from draws with replacement.

    .. math:: \hat R = \frac{1}{K} \sum_d k_d \frac{rel(d)}{M(d)}

    Exactly unbiased for a fixed number of draws K, with the unbiased variance of Hansen and
    Hurwitz. NaN where nothing was drawn.

    Parameters
    ----------
    measure : Measure
        NumRel.
    topic : TopicLists
        Rankings, judgments and draws of one topic.
    conditioning : {"run", "none"}
        Of no effect: R belongs to the topic.
    ratio : {"plain", "beale"}
        Of no effect: for :func:`bayeseval.estimators.importance.importance_average_precision`.

    Returns
    -------
    ListScore
        The same estimate for every run, (run, replicate).

    Raises
    ------
    ValueError
        As :func:`importance_linear`.

    References
    ----------
    Aslam, Pavlu and Yilmaz (2006), section 2.4, doi:10.1145/1148170.1148263.

    Examples
    --------
    >>> from bayeseval.measures.names import parse_measures
    >>> topic = TopicLists(
    ...     position=np.array([[0, 1]], dtype=np.int32),
    ...     grade=np.array([[1.0, 0.0]]),
    ...     pooled=np.ones(2, dtype=bool),
    ...     draw_probability=np.array([0.5, 0.5]),
    ...     draw_count=np.array([[2, 2]]),
    ... )
    >>> importance_relevant_count(parse_measures("NumRel")[0], topic).estimate
    array([[1.]])
    """
    check_options(conditioning, ratio)
    draws = topic_draws(measure, topic)
    estimate, variance = draws.relevant
    every_run = (topic.position.shape[0], 1)
    return ListScore(
        np.tile(estimate, every_run),
        np.tile(variance, every_run),
        np.tile(freedom(draws.total, variance), every_run),
    )


def importance_r_precision(
    measure: Measure, topic: TopicLists, *, conditioning: str = "run", ratio: str = "plain"
) -> ListScore:
    r"""R-precision from draws with replacement: precision at the estimated R.

    Precision at :math:`\hat R` (not below 1), linear between two ranks: rank i counts with the
    share min(1, R - i + 1) of it that lies above the cutoff. 0 where no relevant document was
    drawn. No variance: the cutoff is itself an estimate.

    Parameters
    ----------
    measure : Measure
        Rprec.
    topic : TopicLists
        Rankings, judgments and draws of one topic.
    conditioning : {"run", "none"}
        As for :func:`importance_linear`.
    ratio : {"plain", "beale"}
        Of no effect: for :func:`bayeseval.estimators.importance.importance_average_precision`.

    Returns
    -------
    ListScore
        Estimates (run, replicate), NaN where no draw fell on the ranks above the cutoff.

    Raises
    ------
    ValueError
        As :func:`importance_linear`.

    References
    ----------
    Aslam, Pavlu and Yilmaz (2006), section 2.4, doi:10.1145/1148170.1148263.

    Examples
    --------
    >>> from bayeseval.measures.names import parse_measures
    >>> topic = TopicLists(
    ...     position=np.array([[0, 1]], dtype=np.int32),
    ...     grade=np.array([[1.0, 0.0]]),
    ...     pooled=np.ones(2, dtype=bool),
    ...     draw_probability=np.array([0.5, 0.5]),
    ...     draw_count=np.array([[1, 1]]),
    ... )
    >>> importance_r_precision(parse_measures("Rprec")[0], topic).estimate
    array([[1.]])
    """
    check_options(conditioning, ratio)
    draws = topic_draws(measure, topic)
    number, _ = draws.relevant
    cutoff = np.maximum(np.nan_to_num(number), 1.0)
    rank = np.arange(topic.position.shape[1])
    weight = np.clip(cutoff - rank[:, None], 0.0, 1.0) / cutoff
    estimate, _, _ = _hansen_hurwitz(weight, draws, conditioning)
    estimate = np.where(number == 0, 0.0, estimate)
    return ListScore(np.where(np.isnan(number), np.nan, estimate))


def _hansen_hurwitz(weight, draws: Draws, conditioning: str) -> tuple:
    """Estimate, variance and number of draws (run, replicate) of a weighted sum of relevances."""
    from bayeseval.estimators.importance.sums import drawn_sums

    shape = weight.shape[0], draws.count.shape[1]
    weight = np.ascontiguousarray(np.broadcast_to(weight, shape))
    number, mass, total, squares = drawn_sums(
        draws.position, weight, draws.probability, draws.count, draws.value
    )
    reached = mass > 0
    if conditioning == "none":
        number, mass = np.broadcast_to(draws.total, number.shape), 1.0
    estimate, variance = mean_and_variance(number, mass * total, mass**2 * squares)
    return np.where(reached, estimate, 0.0), np.where(reached, variance, 0.0), number
