"""Counts where some topics have hardly any relevant documents, and the others any number."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from bayeseval.estimators.counts.cells import Counts
from bayeseval.estimators.counts.few import FewFit
from bayeseval.estimators.counts.model import CountFit

HARDLY_ANY = 4  # relevant documents of a topic, at most
FEWEST = 5  # topics of each kind, by their samples alone
ROUNDS = 4  # of one kind given the other
STILL = 0.1  # rise of the log density in a round, after which nothing comes
FARTHEST = 50.0  # log odds of one kind


class KindsFit(CountFit):
    r"""Fit of the counts of topics of two kinds: navigational ones, and others.

    .. math:: p(k_t) = q \, p_{few}(k_t) + (1 - q) \, p_{count}(k_t)

    where a topic of the first kind has its number of relevant documents by :class:`.few.FewFit`,
    four at most and from one on no number likelier than the one before, and a topic of the second
    its counts by :class:`.model.CountFit`. Effects of topics along a level and a slope hardly hold
    both: what falls from certain to nothing within a few ranks is far from any other topic, and is
    drawn towards these. The share q is one more hyperparameter, kept where it is set, and the kinds
    are fitted in turn, each given how likely the other makes every topic.

    Topics may be of the first kind if their sample has no more than four relevant documents, and
    these stand for no more. It is looked for only where five topics or more are so, and five are
    not; else the fit has not converged. Topics without documents tell nothing of either.

    ``left`` (cell,) are the unsampled documents.
    """

    def __init__(self, counts: Counts, left: NDArray[np.float64]) -> None:
        self._left, length = left, np.diff(counts.start)
        topic = np.repeat(np.arange(length.size), length)
        expanded = counts.relevant * (1.0 + left / np.maximum(counts.sampled, 1.0))
        number = np.bincount(topic, expanded, length.size)
        self._may = (number <= HARDLY_ANY) & (length > 0)
        super().__init__(counts, shows_none=self._may)
        self.zero_inflated = False  # what topics without any there are is in the first kind

    @property
    def few(self) -> NDArray[np.bool_]:
        """Topics (topic,) whose number itself is known best: those of the first kind."""
        self._likelihood(self.hyper)  # draws move the hyperparameters
        return self._other > 0.5

    def _begin(self) -> None:
        empty = np.diff(self._counts.start) == 0
        if min(self._may.sum(), (~self._may & ~empty).sum()) < FEWEST:
            self.hyper, self.log_density, self.converged = np.zeros(0), -np.inf, False
            return
        self._beside[empty] = 0.0
        some = self._of_first_kind()
        how = {"most": HARDLY_ANY, "falling": True}
        self._few = FewFit(*some, **how)
        start, unit = self._start()
        before = -np.inf
        for number in range(ROUNDS):
            if number > 0:
                beside, of_first = self._beside_first(), self._few.hyper
                self._few = FewFit(*some, beside=beside, start=of_first, **how)
            self._beside[self._may] = self._few.likelihood
            self._search(start, unit)
            if self.log_density - before < STILL:
                break
            start, before = self.hyper, self.log_density
        self.converged = self.converged and self._few.converged

    def _beside_first(self) -> NDArray[np.float64]:
        """Log likelihood of the counts by the second kind, and of how frequent it is beside."""
        self._likelihood(self.hyper)  # where the search ended, it need not have been last
        with np.errstate(divide="ignore"):
            odds = np.log(self._other / (1.0 - self._other))[self._may]
        return self._few.likelihood - np.clip(odds, -FARTHEST, FARTHEST)

    def _of_first_kind(self) -> tuple[Counts, NDArray[np.float64]]:
        """Counts of the topics that may be of the first kind, and their unsampled documents."""
        counts, length = self._counts, np.diff(self._counts.start)
        cell = np.repeat(self._may, length)
        some = replace(
            counts,
            start=np.concatenate([[0], np.cumsum(length[self._may])]),
            relevant=counts.relevant[cell],
            sampled=counts.sampled[cell],
            curve=counts.curve[cell],
            slope=counts.slope[cell],
        )
        return some, self._left[cell]

    def _loss(self, hyper) -> tuple[float, NDArray[np.float64]]:
        loss, gradient = super()._loss(hyper)
        return loss - self._few.log_prior, gradient

    def _of_others(self, number: int, random_seed: int) -> NDArray[np.float64]:
        cell = np.repeat(self._may, np.diff(self._counts.start))
        drawn = self._few.draws(self._left[cell], number=number, random_seed=random_seed)
        out = np.zeros((cell.size, drawn.shape[1]))
        out[cell] = drawn
        return out
