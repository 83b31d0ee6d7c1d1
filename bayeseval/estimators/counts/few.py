"""Counts of topics with so few relevant documents that the number itself is known best."""

import numpy as np
from numpy.typing import NDArray

from bayeseval.estimators.counts.cells import Counts
from bayeseval.estimators.counts.mode import Mode, draw_directions, points, sequence

MOST = 30  # number of relevant documents of a topic
FEW_SEEN = 8  # relevant documents in the sample of a topic, at most
FEW = 4.0  # relevant documents of a topic, in the mean
BETA_SD = 5.0  # of the curve's columns
SD = (2.0, 2.0, 1.5)  # of the log odds of none and of two beside one, and of the log of nu


def are_few(counts: Counts, left: NDArray[np.float64]) -> bool:
    """Whether topics have few relevant documents, by their samples alone; arrays as of a fit."""
    if counts.start.size < 2 or (np.diff(counts.start) == 0).any():
        return False
    seen = np.add.reduceat(counts.relevant, counts.start[:-1])
    expanded = counts.relevant * (1.0 + left / np.maximum(counts.sampled, 1.0))
    return bool(seen.max() <= FEW_SEEN and expanded.sum() <= FEW * seen.size)


class FewFit(Mode):
    r"""Fit of the counts by the distribution of a topic's number of relevant documents, D.

    .. math:: \log \frac{P(0)}{P(1)} = z, \qquad
              \log \frac{P(D)}{P(D - 1)} = a - \nu \log \frac{D}{2} \quad (D \ge 2), \qquad
              \omega_{tc} \propto \exp(\beta' x_{tc})

    Each of the D documents falls on a document of cell c with probability omega, as if drawn with
    replacement. With nu = 1 and z + a = -log 2 that is the Poisson distribution, so that one
    relevant document says nothing of others; where all topics have one, as in known-item search, z
    and a are far below 0, and none is looked for beyond it. Binomial counts that are independent
    given what a topic is like (:class:`.model.CountFit`) let D vary about as much as Poisson's
    distribution does, or more.

    The hyperparameters are the curve's coefficients but for the first, z, a and the log of nu. Each
    topic has one cell at least; ``left`` (cell,) are the unsampled documents.
    """

    zero_inflated = False  # what topics without any there are is in the distribution

    def __init__(self, counts: Counts, left: NDArray[np.float64]) -> None:
        start = counts.start
        self._first, self._topic = start[:-1], np.repeat(np.arange(start.size - 1), np.diff(start))
        self._relevant, self._left, self._size = counts.relevant, left, counts.sampled + left
        self._curve = counts.curve[:, 1:]
        # of CountFit, whose replicates stand beside these; one is not used
        self._n_directions = counts.curve.shape[1] + 3
        self._seen = self._by_topic(counts.relevant)
        number = np.arange(MOST + 1)
        self._steps = np.maximum(number - 1.0, 0.0)  # up from one relevant document
        log_factorial = np.concatenate([[0.0], np.cumsum(np.log(number[1:]))])
        self._fade = log_factorial - self._steps * np.log(2.0)
        more = number - self._seen[:, None]
        self._more = np.maximum(more, 0.0)
        fall = log_factorial[np.maximum(more, 0).astype(int)]
        self._log_ways = np.where(more < 0, -np.inf, log_factorial - fall)
        self._prior_sd = np.array([BETA_SD] * self._curve.shape[1] + list(SD))
        self._search(np.zeros(self.n_hyper), np.eye(self.n_hyper))

    @property
    def n_hyper(self) -> int:
        """Number of hyperparameters."""
        return self._prior_sd.size

    def _by_topic(self, value: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.add.reduceat(value, self._first)

    def _numbers(self, hyper) -> NDArray[np.float64]:
        """Probabilities (number,) of the number of a topic's relevant documents."""
        none, two, log_fade = hyper[-3:]
        log_mass = two * self._steps - np.exp(log_fade) * self._fade
        log_mass[0] = none
        mass = np.exp(log_mass - log_mass.max())
        return mass / mass.sum()

    def _shares(self, hyper) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Probability omega of a document of each cell, and that of all unsampled of a topic."""
        odds = np.exp(np.clip(self._curve @ hyper[:-3], -50.0, 50.0))
        share = odds / self._by_topic(odds * self._size)[self._topic]
        return share, self._by_topic(share * self._left)

    def _given(self, hyper) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Log likelihood (topic,), and the posterior (topic, number) of the number."""
        share, unsampled = self._shares(hyper)
        with np.errstate(divide="ignore"):  # of what cannot be
            log_prior = np.log(self._numbers(hyper))
            log_left = np.where(self._more > 0, np.log(unsampled)[:, None], 0.0)
        log_mass = log_prior + self._log_ways + self._more * log_left
        highest = log_mass.max(axis=1)
        mass = np.exp(log_mass - highest[:, None])
        total = mass.sum(axis=1)
        placed = self._by_topic(self._relevant * np.log(share))
        return placed + highest + np.log(total), mass / total[:, None]

    def _loss(self, hyper) -> tuple[float, NDArray[np.float64]]:
        likelihood, posterior = self._given(hyper)
        share, unsampled = self._shares(hyper)
        prior = self._numbers(hyper)
        number = np.arange(MOST + 1)
        expected = posterior @ number
        # the curve: where documents are, beside where as many would be
        beyond = (expected - self._seen) / np.maximum(unsampled, 1e-300)
        at = self._relevant + share * (
            self._left * beyond[self._topic] - self._size * expected[self._topic]
        )
        # the numbers: what they are given the sample, beside what they are before
        off = posterior.sum(axis=0) - self._seen.size * prior
        fade = -np.exp(hyper[-1]) * (off @ self._fade)
        gradient = np.concatenate([at @ self._curve, [off[0], off @ self._steps, fade]])
        pull = hyper / self._prior_sd
        value = likelihood.sum() - 0.5 * pull @ pull
        return -float(value), -(gradient - pull / self._prior_sd)

    def draws(
        self, unsampled: NDArray[np.float64], *, number: int = 0, random_seed: int
    ) -> NDArray[np.float64]:
        """Draws of the relevant among the unsampled documents (cell, draw).

        As :meth:`.model.CountFit.draws`; ``unsampled`` (cell,) are those of the fit.
        """
        direction = draw_directions(self._n_directions, number)
        random = np.random.default_rng([random_seed, number])
        place = (sequence(len(direction), number)[:, 1] + random.random((self._seen.size, 1))) % 1.0
        out = np.zeros((unsampled.size, len(direction)))
        for along in points(self._n_directions):
            hyper = self._placed(along[: self.n_hyper])
            here = np.flatnonzero((direction == along).all(axis=1))
            share, left = self._shares(hyper)
            reached = np.cumsum(self._given(hyper)[1], axis=1)
            drawn = (reached[:, None, :] < place[:, here, None]).sum(axis=2)
            more = np.maximum(np.minimum(drawn, MOST) - self._seen[:, None], 0.0)
            part = share * self._left / np.maximum(left, 1e-300)[self._topic]
            out[:, here] = np.minimum(part[:, None] * more[self._topic], unsampled[:, None])
        return out
