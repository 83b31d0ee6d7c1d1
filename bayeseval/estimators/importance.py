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
(:func:`bayeseval.designs.with_replacement.average_precision_marginal`). n draws give :math:`n^2`
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

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bayeseval.collection.choices import check_choice
from bayeseval.collection.labels import row_of_pair
from bayeseval.estimators.topic_scores import ListScore
from bayeseval.frame.rankings import TopicLists
from bayeseval.measures.measure import Measure, relevance
from bayeseval.measures.scores import rank_weight
from bayeseval.measures.table import names_of


@dataclass(frozen=True)
class ImportanceOptions:
    """Options of estimator "importance".

    Parameters
    ----------
    conditioning : {"run", "none"}
        What the estimates of sums are relative to. "run": the draws on documents that the run ranks
        where the measure counts, as in the paper, with no estimate (NaN) where there are none (for
        AP, fewer than two). "none": all draws, with 0 where none is on such documents; unbiased
        over all samples, but with a larger variance. The number of relevant documents belongs to
        the topic, and all draws count for it.
    ratio : {"plain", "beale"}
        AP as SP / R (the paper), which is too large on average where R is poorly known; or without
        its second-order bias, (SP R + C(SP, R)) / (R^2 + V(R)) (Beale 1962).

    Raises
    ------
    ValueError
        A value that does not exist.
    """

    conditioning: str = "run"
    ratio: str = "plain"

    def __post_init__(self) -> None:
        check_choice("conditioning", self.conditioning, ("run", "none"))
        check_choice("ratio", self.ratio, ("plain", "beale"))


def importance(
    measure: Measure, topic: TopicLists, options: ImportanceOptions = ImportanceOptions()
) -> ListScore:
    """Scores of the runs on one topic from draws with replacement, as `IMPORTANCE` has them."""
    return IMPORTANCE[measure.name](measure, topic_draws(measure, topic, options))


@dataclass(frozen=True, eq=False)
class Draws:
    """Draws of one topic, over the pairs that can be drawn."""

    position: NDArray[np.int32]  # (run, rank): row of the document among these pairs, -1 for none
    probability: NDArray[np.float64]  # (pair,): probability M of each single draw, above 0
    count: NDArray[np.int64]  # (pair, replicate): how often each pair was drawn
    value: NDArray[np.float64]  # (pair, replicate): relevance or gain; 0 where not drawn
    options: ImportanceOptions

    @property
    def total(self) -> NDArray[np.int64]:
        """Number of draws K, (replicate,)."""
        return self.count.sum(axis=0)

    @property
    def relevant(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Estimated number of relevant documents and its variance, both (replicate,)."""
        z = self.value / self.probability[:, None]
        total, squares = (self.count * z).sum(axis=0), (self.count * z**2).sum(axis=0)
        return mean_and_variance(self.total, total, squares)


def topic_draws(measure: Measure, topic: TopicLists, options: ImportanceOptions) -> Draws:
    """Draws of a topic, with what each document counts in a measure."""
    if topic.draw_probability is None or topic.draw_count is None:
        raise ValueError(
            "estimator 'importance' needs draws with replacement (draw_probability in the design, "
            "draw_count in the judgments); make the design with be.designs.with_replacement"
        )
    judged = ~np.isnan(topic.grade)
    begun = judged.any(axis=1, keepdims=True)  # a topic without any judgment is not judged yet
    drawn = (topic.draw_count > 0) & begun
    if (drawn & (topic.draw_probability <= 0)).any():
        raise ValueError("a drawn document has draw probability 0; it must be above 0")
    lacking = drawn & ~judged
    if lacking.any():
        raise ValueError(
            f"{int(lacking.any(axis=0).sum())} drawn documents of a topic have no grade; the "
            "estimates need the grade of every drawn document"
        )
    rows = np.flatnonzero(topic.draw_probability > 0)
    position = row_of_pair(rows, drawn.shape[1])[topic.top(measure.cutoff)]
    drawn = drawn[:, rows]
    value = np.where(drawn, relevance(measure, topic.grade[:, rows]), 0.0)
    return Draws(
        position=position,
        probability=topic.draw_probability[rows],
        count=np.ascontiguousarray(np.where(drawn, topic.draw_count[:, rows], 0).T),
        value=np.ascontiguousarray(value.T, dtype=np.float64),
        options=options,
    )


def importance_average_precision(measure: Measure, draws: Draws) -> ListScore:
    r"""AP from draws with replacement: the ratio of the estimates of SP and R.

    .. math:: \widehat{AP} = \widehat{SP} / \hat R, \qquad
              \widehat{SP} = \sum_i \frac{k_i^2\, rel_i}{i\,(n(n-1) M_i^2 + n M_i)}
              + \sum_{i < j} \frac{k_i k_j\, rel_i\, rel_j}{j\, n (n - 1) M_i M_j},

    where ranks i and j of the run stand for their documents, n is :math:`K_s` and M is
    :math:`M_s` (see the module). 0 where no relevant document was drawn, R being estimated as 0.

    Like the paper's, estimates are not limited, and a topic where a run has two or three unlikely
    draws can come out far above 1. The variance is that of the linearised ratio, SP by what
    dropping one draw changes (a jackknife over draws to first order): approximate, too small where
    few relevant documents were drawn, and NaN where fewer than two were.

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
    >>> importance(parse_measures("AP")[0], topic).estimate.round(4)
    array([[0.6667]])
    """
    total, variance, covariance = sum_of_precisions(draws)
    number, number_variance = draws.relevant
    none_seen = number == 0
    few_seen = ((draws.count > 0) & (draws.value > 0)).sum(axis=0) < 2
    with np.errstate(divide="ignore", invalid="ignore"):
        plain = total / number
        spread = variance - 2.0 * plain * covariance + plain**2 * number_variance
        estimate = plain
        if draws.options.ratio == "beale":
            estimate = (total * number + covariance) / (number**2 + number_variance)
        spread = np.maximum(spread, 0.0) / number**2
    # SP and R of a single relevant document go up and down together: no telling how far off
    spread = np.where(few_seen, np.nan, spread)
    return ListScore(np.where(none_seen, 0.0, estimate), spread, freedom(draws.total, spread))


def importance_linear(measure: Measure, draws: Draws) -> ListScore:
    r"""P@c, RBP, DCG or NumRelRet from draws with replacement.

    .. math:: \hat S = \frac{M(A)}{K_A} \sum_{d \in A} k_d \frac{w(d)\, rel(d)}{M(d)}

    over the documents A that the run ranks where the measure has a weight, :math:`K_A` of the draws
    being on them. Its variance given :math:`K_A` is estimated by the sample variance of the terms
    over :math:`K_A` (Hansen and Hurwitz), without bias for a fixed number of draws and
    :math:`K_A \ge 2`, with :math:`K_A - 1` degrees of freedom. A single draw on A gives an estimate
    without a variance, so a mean over topics has a standard error only where every topic with an
    estimate has two draws ("none" has one whenever two documents were drawn at all). 0, with
    variance 0, where A has no document that can be drawn.
    """
    weight = rank_weight(measure, draws.position.shape[1])[:, None]
    estimate, variance, number = _hansen_hurwitz(weight, draws)
    return ListScore(estimate, variance, freedom(number, variance))


def importance_relevant_count(measure: Measure, draws: Draws) -> ListScore:
    r"""R, the number of relevant documents, from draws with replacement.

    .. math:: \hat R = \frac{1}{K} \sum_d k_d \frac{rel(d)}{M(d)}

    the same for every run. Exactly unbiased for a fixed number of draws K, with the unbiased
    variance of Hansen and Hurwitz. NaN where nothing was drawn.
    """
    estimate, variance = draws.relevant
    every_run = (draws.position.shape[0], 1)
    return ListScore(
        np.tile(estimate, every_run),
        np.tile(variance, every_run),
        np.tile(freedom(draws.total, variance), every_run),
    )


def importance_r_precision(measure: Measure, draws: Draws) -> ListScore:
    r"""R-precision from draws with replacement: precision at the estimated R.

    Precision at :math:`\hat R` (not below 1), linear between two ranks: rank i counts with the
    share min(1, R - i + 1) of it that lies above the cutoff. 0 where no relevant document was
    drawn, NaN where no draw fell on the ranks above the cutoff. No variance: the cutoff is itself
    an estimate.
    """
    number, _ = draws.relevant
    cutoff = np.maximum(np.nan_to_num(number), 1.0)
    rank = np.arange(draws.position.shape[1])
    weight = np.clip(cutoff - rank[:, None], 0.0, 1.0) / cutoff
    estimate, _, _ = _hansen_hurwitz(weight, draws)
    estimate = np.where(number == 0, 0.0, estimate)
    return ListScore(np.where(np.isnan(number), np.nan, estimate))


IMPORTANCE = {name: importance_linear for name in names_of("linear")} | {
    "AP": importance_average_precision,
    "Rprec": importance_r_precision,
    "NumRel": importance_relevant_count,
}


def sum_of_precisions(draws: Draws) -> tuple:
    """SP, its variance and its covariance with the estimate of R, all (run, replicate)."""
    from bayeseval.estimators.importance_kernels import drawn_sums, induced_pairs

    arrays = draws.probability, draws.count, draws.value
    everywhere = np.ones((draws.position.shape[1], draws.total.size))
    number, mass, relevant, _ = drawn_sums(draws.position, everywhere, *arrays)
    reached = mass > 0
    if draws.options.conditioning == "none":
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


def _hansen_hurwitz(weight, draws: Draws) -> tuple:
    """Estimate, variance and number of draws (run, replicate) of a weighted sum of relevances."""
    from bayeseval.estimators.importance_kernels import drawn_sums

    shape = weight.shape[0], draws.count.shape[1]
    weight = np.ascontiguousarray(np.broadcast_to(weight, shape))
    number, mass, total, squares = drawn_sums(
        draws.position, weight, draws.probability, draws.count, draws.value
    )
    reached = mass > 0
    if draws.options.conditioning == "none":
        number, mass = np.broadcast_to(draws.total, number.shape), 1.0
    estimate, variance = mean_and_variance(number, mass * total, mass**2 * squares)
    return np.where(reached, estimate, 0.0), np.where(reached, variance, 0.0), number


def freedom(number, variance) -> NDArray[np.float64]:
    """Degrees of freedom of such a variance: one less than the draws; infinite where it is 0."""
    return np.where(variance > 0, np.maximum(number - 1.0, 1.0), np.inf)


def mean_and_variance(number, total, squares) -> tuple:
    """Mean of independent terms and the unbiased variance of that mean; NaN where too few."""
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = np.where(number >= 1, total / number, np.nan)
        spread = np.maximum(squares - number * mean**2, 0.0)
        variance = np.where(number >= 2, spread / (number * (number - 1.0)), np.nan)
    return mean, variance
