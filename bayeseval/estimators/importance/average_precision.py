r"""Importance sampling from draws with replacement (Aslam, Pavlu and Yilmaz 2006).

*What is random*: the draws of the design :func:`bayeseval.designs.with_replacement`; the rankings
and the relevances are fixed. *Estimand*: the measure under complete judgments of the documents that
can be drawn, everything else counting as non-relevant.

*The idea.* A draw takes document d with probability M(d). A sum over documents,
:math:`\sum_d w(d)\,rel(d)`, is the expectation of w rel / M over draws. For a run s only the draws
that fell on documents which it retrieves say anything: :math:`K_s` of the K draws, and given
:math:`K_s` they are independent with probabilities :math:`M_s(d) = M(d) / M(s)`, where M(s) is the
sum of M over the documents of s. All scaling factors are taken relative to these, as in the paper.

*The induced pairs.* SP, the sum of the precisions at the relevant documents, is
:math:`Z \sum_{i,j} JD(i, j)\,rel(i)\,rel(j)` over ordered pairs of ranks
(:func:`bayeseval.designs.with_replacement.average_precision_joint`). n draws give :math:`n^2`
ordered pairs of draws, a draw with itself among them. With :math:`k_i` the number of times that i
was drawn, the counts are multinomial with :math:`E[k_i k_j] = n (n - 1) M_i M_j` for
:math:`i \ne j` and :math:`E[k_i^2] = n (n - 1) M_i^2 + n M_i`: of the :math:`n^2` pairs of draws,
n (n - 1) are of two draws and hit (i, j) with probability :math:`M_i M_j`, and n are of a draw with
itself. So a pair of draws picked at random is (i, j) with probability

.. math:: I(i, j) = \frac{n-1}{n} M_i M_j, \qquad
          I(i, i) = \frac{(n-1) M_i^2 + M_i}{n},

and :math:`\widehat{SP} = \frac{Z}{n^2} \sum_{i,j} k_i k_j\, rel(i)\, rel(j)\, JD(i,j) / I(i,j)` has
expectation SP, for every :math:`n \ge 2` (at n = 1 no pair of distinct documents can be seen).

*When unbiased*: for a fixed number of draws, the sums (SP, NumRel, P@c, RBP, DCG) are exactly
unbiased given that there is an estimate at all: :math:`K_s \ge 2` for SP, one draw among the ranks
that count for the others. AP = SP / R and R-precision divide by an estimate and are consistent
only: SP / R is too large on average where R is poorly known (``ratio="beale"`` takes most of that
away). *What breaks it*: the rule that stops at T distinct documents makes the number of draws
random. Its last draw is always a new document, so the sums are biased: by 1 to 8 %, of either sign,
in frames of 5 to 20 documents, by less than 1 % in one of 120, which is far below their standard
error (tests and notebook). Relevant documents that no run of the design retrieves are never drawn,
unless the design has a ``uniform_share``. Runs with few drawn documents have wild estimates or
none: means over topics leave those topics out. Once everything has been judged these estimates
still err; ``assumed`` does not. *Cost*: two passes over the ranks of each run and the replicates.

References
----------
J. A. Aslam, V. Pavlu and E. Yilmaz, "A statistical method for system evaluation using incomplete
judgments", SIGIR 2006, doi:10.1145/1148170.1148263. M. H. Hansen and W. N. Hurwitz, "On the theory
of sampling from finite populations", Annals of Mathematical Statistics 14, 1943.
"""

import numpy as np

from bayeseval.estimators.importance.draws import Draws, check_options, freedom, topic_draws
from bayeseval.estimators.importance.linear import (
    importance_linear,
    importance_r_precision,
    importance_relevant_count,
)
from bayeseval.estimators.list_score import ListMeasures, ListScore
from bayeseval.frame.lists import TopicLists
from bayeseval.measures.measure import Measure


def importance_average_precision(
    measure: Measure, topic: TopicLists, *, conditioning: str = "run", ratio: str = "plain"
) -> ListScore:
    r"""AP from draws with replacement: the ratio of the estimates of SP and R.

    .. math:: \widehat{AP} = \widehat{SP} / \hat R, \qquad
              \widehat{SP} = \sum_i \frac{k_i^2\, rel_i}{i\,(n(n-1) M_i^2 + n M_i)}
              + \sum_{i < j} \frac{k_i k_j\, rel_i\, rel_j}{j\, n (n - 1) M_i M_j},

    where ranks i and j of the run stand for their documents, n is :math:`K_s` and M is
    :math:`M_s` (see the module). 0 where no relevant document was drawn, R being estimated as 0.

    Parameters
    ----------
    measure : Measure
        AP, with or without a cutoff.
    topic : TopicLists
        Rankings, judgments and draws of one topic.
    conditioning : {"run", "none"}
        Scaling factors relative to the draws on documents that the run retrieves (the paper), with
        no estimate (NaN) where these are fewer than two; or relative to all draws.
    ratio : {"plain", "beale"}
        SP / R as it is (the paper), which is too large on average where R is poorly known; or
        without its second-order bias, (SP R + C(SP, R)) / (R^2 + V(R)) (Beale 1962).

    Returns
    -------
    ListScore
        Estimates (run, replicate); like the paper's they are not limited, and a topic where a run
        has two or three unlikely draws can come out far above 1. The variance is that of the
        linearised ratio, SP by what dropping one draw changes (a jackknife over draws to first
        order): approximate, too small where few relevant documents were drawn, and NaN where
        fewer than two were.

    Raises
    ------
    ValueError
        As :func:`importance_linear`.

    References
    ----------
    Aslam, Pavlu and Yilmaz (2006), sections 2.1 to 2.5, doi:10.1145/1148170.1148263.
    E. M. L. Beale, "Some uses of computers in operational research", 1962. B. Efron and C. Stein,
    "The jackknife estimate of variance", Annals of Statistics 9, 1981.

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
    >>> importance_average_precision(parse_measures("AP")[0], topic).estimate.round(4)
    array([[0.6667]])
    """
    check_options(conditioning, ratio)
    draws = topic_draws(measure, topic)
    total, variance, covariance = _sum_of_precisions(draws, conditioning)
    number, number_variance = draws.relevant
    none_seen = number == 0
    few_seen = ((draws.count > 0) & (draws.value > 0)).sum(axis=0) < 2
    with np.errstate(divide="ignore", invalid="ignore"):
        plain = total / number
        spread = variance - 2.0 * plain * covariance + plain**2 * number_variance
        estimate = plain
        if ratio == "beale":
            estimate = (total * number + covariance) / (number**2 + number_variance)
        spread = np.maximum(spread, 0.0) / number**2
    # SP and R of a single relevant document go up and down together: no telling how far off
    spread = np.where(few_seen, np.nan, spread)
    return ListScore(np.where(none_seen, 0.0, estimate), spread, freedom(draws.total, spread))


def importance_sum_of_precisions(
    measure: Measure, topic: TopicLists, *, conditioning: str = "run", ratio: str = "plain"
) -> ListScore:
    r"""SP, the sum of the precisions at the relevant documents: the numerator of AP.

    .. math:: \widehat{SP} = \frac{Z}{n^2} \sum_{i,j} k_i k_j\, rel(i)\, rel(j)\, JD(i,j) / I(i,j)

    Exactly unbiased given two draws or more on the run's documents, for a fixed number of draws.

    Parameters
    ----------
    measure, topic, conditioning
        As for :func:`importance_average_precision`.
    ratio : {"plain", "beale"}
        Of no effect.

    Returns
    -------
    ListScore
        Estimates and approximate variances (run, replicate), NaN with fewer than two draws.

    Raises
    ------
    ValueError
        As :func:`importance_average_precision`.

    References
    ----------
    Aslam, Pavlu and Yilmaz (2006), sections 2.1 to 2.3, doi:10.1145/1148170.1148263.

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
    >>> importance_sum_of_precisions(parse_measures("AP")[0], topic).estimate.round(4)
    array([[0.6667]])
    """
    check_options(conditioning, ratio)
    draws = topic_draws(measure, topic)
    total, variance, _ = _sum_of_precisions(draws, conditioning)
    return ListScore(total, variance)


def _sum_of_precisions(draws: Draws, conditioning: str) -> tuple:
    """SP, its variance and its covariance with the estimate of R, all (run, replicate)."""
    from bayeseval.estimators.importance.sums import drawn_sums, induced_pairs

    arrays = draws.probability, draws.count, draws.value
    everywhere = np.ones((draws.position.shape[1], draws.total.size))
    number, mass, relevant, _ = drawn_sums(draws.position, everywhere, *arrays)
    reached = mass > 0
    if conditioning == "none":
        number = np.ascontiguousarray(np.broadcast_to(draws.total, number.shape), dtype=float)
        mass, relevant = np.ones(mass.shape), (draws.total * draws.relevant[0])[None]
    total, u, uu, uz = induced_pairs(draws.position, *arrays, number, mass)
    drawn = draws.total.astype(float)
    with np.errstate(divide="ignore", invalid="ignore"):
        scale = (drawn / number) / (drawn * (drawn - 1.0))
        variance = scale * (drawn / number) * np.maximum(uu - u**2 / number, 0.0)
        covariance = scale * (uz - u * relevant / number)
    # a run without a document that can be drawn has no relevant one
    return tuple(np.where(reached, array, 0.0) for array in (total, variance, covariance))


IMPORTANCE: ListMeasures = {
    "AP": importance_average_precision,
    "Rprec": importance_r_precision,
    "NumRel": importance_relevant_count,
    "P": importance_linear,
    "RBP": importance_linear,
    "DCG": importance_linear,
    "NumRelRet": importance_linear,
}
