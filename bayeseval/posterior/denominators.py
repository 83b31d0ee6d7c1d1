"""What AP and R@k divide by under a model, beside what the counts of all topics say of it."""

import warnings
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayeseval.estimators.counts import TopicCounts
from bayeseval.estimators.denominators import RatioOptions
from bayeseval.estimators.difference import difference
from bayeseval.estimators.relevance import EstimatedRelevance
from bayeseval.frame.frame import BY_CHANCE, Frame
from bayeseval.measures.measure import Measure
from bayeseval.rounding import ratio

DENOMINATORS = ("counts", "model")
MOST = 10.0  # documents that one counts for, so that no single draw of a rare one decides


class _Numbers(NamedTuple):
    """Numbers of relevant documents of one topic: expected ones, and the weight of the counts."""

    model: float
    counts: float
    share: float  # of the counts, by precision


class Denominators:
    r"""Expected numbers of relevant documents, the model's and that of the counts by precision.

    .. math:: E_t = (1 - w) E_{model} R_t + w E_{counts} R_t, \qquad
              w = \frac{V_{model} R_t}{V_{model} R_t + V_{counts} R_t}

    with :math:`R_t` the number of relevant documents of topic t, at least 1, and the posterior of
    the counts as the estimator ``dyn`` has it, which follows the topic's own sample by its design.
    AP is changed by the factor :math:`E_{model} R_t / E_t`. In R@k every unjudged document counts
    by the weight that brings the expected number of its cell (a stratum, as the counts have them)
    to the mean of both with the same w (the counts' at most ten times the model's): what a run has
    found and what there is change together. Where topics have few relevant documents and the counts
    model their numbers themselves, draws are chosen that have such numbers instead. Where a share
    of the topics has nothing relevant by the counts, which no curve over ranks says, as many draws
    of AP and R@k have nothing, and the numbers above are of the other draws.

    Parameters
    ----------
    frame : Frame
        Of the model, of one sample.
    denominator : {"counts", "model"}
        "model" leaves every number as it is, and so do frames whose sample no such model can be
        made of: without a design, without probabilities, or where one topic alone has documents
        that were not judged.

    Attributes
    ----------
    used : {"counts", "model"}
        Whether any number has been moved so far.
    """

    def __init__(self, frame: Frame, denominator: str) -> None:
        self._frame = frame
        self._asked = denominator
        self.used = "model"

    def chosen(self, topic: int, measure: Measure, value: NDArray) -> NDArray[np.int64] | None:
        """Draws (draw,) for AP and R@k, with numbers of relevant documents as the counts have them.

        None where numbers are not few: a model that draws documents one by one may draw none or
        two where every topic has one. As many draws as can be stay what they are, so that topics
        go on to share parameters; in the place of those with too frequent a number stand others.
        Parameters as for :meth:`factor`.
        """
        counts = self._counts(topic, measure) if measure.name in ("AP", "R") else None
        if counts is None or not counts.few[0]:
            return None
        number = value.sum(axis=0).astype(np.int64)
        return chosen_draws(number, np.rint(counts.draw[0]), np.random.default_rng(topic))

    def empty(self, topic: int, measure: Measure, value: NDArray) -> NDArray[np.int64]:
        """Draws in which nothing is to be relevant for AP and R@k.

        None where the counts see something in every topic; else as many as they say, those with
        the fewest relevant documents. Parameters as for :meth:`factor`.
        """
        counts = self._counts(topic, measure) if measure.name in ("AP", "R") else None
        if counts is None or not self._zero_inflated(measure):
            return np.zeros(0, dtype=np.int64)
        number = np.count_nonzero(value, axis=0)
        wanted = round((1.0 - float(counts.some[0])) * number.size)
        order = np.lexsort((np.random.default_rng(topic).random(number.size), number))
        return order[: max(wanted, np.count_nonzero(number == 0))]

    def factor(self, topic: int, measure: Measure, value: NDArray) -> float:
        """What AP is to be multiplied by; 1 for other measures.

        ``value`` (pair, draw) are the relevances of all documents of the topic's frame as the
        measure sees them, in the draws that are not :meth:`empty`.
        """
        numbers = self._numbers(topic, measure, value) if measure.name == "AP" else None
        if numbers is None:
            return 1.0
        model, counts, share = numbers
        return model / ((1.0 - share) * model + share * counts)

    def weight(self, topic: int, measure: Measure, value: NDArray) -> NDArray[np.float64] | None:
        """What the relevance of each document (pair,) counts in R@k; None where all count 1."""
        numbers = self._numbers(topic, measure, value) if measure.name == "R" else None
        if numbers is None or self._relevance is None:
            return None
        found = self._relevance.unsampled(topic, measure)
        assert found is not None  # as there are counts
        cell, expected = found[0], found[1][0]
        left = np.isnan(self._frame.grade[0, self._frame.sample.of_topic(topic)])
        seen = float(value[~left, 0].sum())
        if expected.sum() > 0:  # the counts follow a better estimate than the cells alone
            expected = expected * max(numbers.counts - seen, 0.0) / expected.sum()
        share = value[left].mean(axis=1, dtype=np.float64)
        model = np.bincount(cell[left], weights=share, minlength=expected.size)
        factor = np.minimum(ratio(expected, model, 1.0), MOST)
        moved = 1.0 - numbers.share + numbers.share * factor
        weight = np.ones(left.size)
        weight[left] = moved[cell[left]]
        return weight

    def _numbers(self, topic: int, measure: Measure, value: NDArray) -> _Numbers | None:
        """The topic's numbers, None where the counts know nothing of them."""
        counts = self._counts(topic, measure)
        if counts is None:
            return None
        one, other = value.sum(axis=0, dtype=np.float64), counts.draw[0]
        if self._zero_inflated(measure):
            other = other[other > 0.0]
            if not one.size or not other.size:
                return None
        one, other = np.maximum(one, 1.0), np.maximum(other, 1.0)
        both = one.var() + other.var()
        return _Numbers(one.mean(), other.mean(), one.var() / both if both > 0 else 0.0)

    def _zero_inflated(self, measure: Measure) -> bool:
        """Whether by the counts a share of the topics has nothing relevant."""
        return self._relevance is not None and bool(self._relevance.zero_inflated(measure)[0])

    def _counts(self, topic: int, measure: Measure) -> TopicCounts | None:
        """Posterior of the topic's number by the counts; None where they know nothing of it."""
        if self._relevance is None:
            return None
        counts = self._relevance.counts(topic, measure)
        self.used = self.used if counts is None else "counts"
        return counts

    @cached_property
    def _relevance(self) -> EstimatedRelevance | None:
        """What ``dyn`` knows of the sample; None where there is nothing to know."""
        known = self._frame.scheme in BY_CHANCE
        if self._asked == "model" or not known or self._frame.lists_sampled_alone:
            return None
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of what matters to dyn's own estimates alone
            found = difference(self._frame, None, 0, RatioOptions())
            _ = found.count_model
        return found


def chosen_draws(
    number: NDArray[np.int64], wanted: NDArray, random: np.random.Generator
) -> NDArray[np.int64]:
    """Positions of draws (draw,) whose numbers are distributed as wanted (any,), most in place.

    A number that is wanted and was never drawn goes to the nearest that was.
    """
    drawn = np.unique(number)
    nearest = drawn[np.abs(wanted[:, None] - drawn).argmin(axis=1)]
    share = (nearest[:, None] == drawn).mean(axis=0)
    target = np.diff(np.rint(np.cumsum(share) * number.size).astype(int), prepend=0)
    chosen = np.arange(number.size)
    surplus, others = [], []
    for value, aim in zip(drawn, target, strict=True):
        there = np.flatnonzero(number == value)
        surplus.append(random.permutation(there)[aim:])
        others.append(random.choice(there, max(aim - there.size, 0)))
    chosen[np.concatenate(surplus)] = random.permutation(np.concatenate(others))
    return chosen
