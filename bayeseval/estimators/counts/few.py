"""Counts of topics with so few relevant documents that the number itself is known best."""

from functools import cache

import numpy as np
from numpy.typing import NDArray

from bayeseval.estimators.counts.cells import Counts
from bayeseval.estimators.counts.mode import Mode, draw_directions, points, sequence

MOST = 16  # number of relevant documents of a topic
FEW_SEEN = 8  # relevant documents in the sample of a topic, at most
FEW = 4.0  # relevant documents of a topic, in the mean
BETA_SD = 5.0  # of the curve's columns
SPREAD = -0.5, 0.75  # mean and standard deviation of the log of sigma, as of CountFit
WIDEST = 4.0  # log of sigma, beyond which nothing changes
N_POINTS = 11  # of the Gauss-Hermite rule: what topics show may be narrow beside sigma
SD = (2.0, 2.0, 1.5)  # of the log odds of none and of two beside one, and of the log of nu
FASTEST = 6.0  # log of nu, beyond which nothing changes
RAREST = -15.0  # log odds of a document beside those of the likeliest of its topic


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
              \omega_{tc} \propto \exp(\beta' x_{tc} + u_t z_{tc}), \qquad
              u_t \sim N(0, \sigma^2)

    The D documents are any D of the topic's, with a probability that is proportional to the product
    of their odds omega, those of cell c: as independent documents would be, given how many they
    are. On some topics they are nearer to the top than on others, along z as in
    :class:`.model.CountFit`. With nu = 1 and z + a = -log 2 the number is about Poisson's, so that
    one relevant document says nothing of others; where all topics have one, as in known-item
    search, z and a are far below 0, and none is looked for beyond it. Binomial counts that are
    independent given what a topic is like (:class:`.model.CountFit`) let D vary about as much as
    Poisson's distribution does, or more.

    The hyperparameters are the curve's coefficients but for the first, the log of sigma, z, a and
    the log of nu; u is integrated out. Each topic has one cell at least; ``left`` (cell,) are the
    unsampled documents. Where some topics are of another kind (:class:`.kinds.KindsFit`),
    ``beside`` (topic,) is the log likelihood of a topic's counts by that kind, and of how frequent
    the kind is beside this one. D is ``most`` at most; ``falling`` says that of the numbers from 1
    on none is likelier than the one before it: a is 0 at most. The search begins at ``start``.
    """

    zero_inflated = False  # what topics without any there are is in the distribution

    def __init__(
        self,
        counts: Counts,
        left: NDArray[np.float64],
        *,
        beside: NDArray[np.float64] | None = None,
        start: NDArray[np.float64] | None = None,
        most: int = MOST,
        falling: bool = False,
    ) -> None:
        self._most, self._highest = most, 0.0 if falling else np.inf
        self._beside = np.full(counts.start.size - 1, -np.inf) if beside is None else beside
        self._start, self._first = counts.start, counts.start[:-1]
        self._relevant, self._left, self._size = counts.relevant, left, counts.sampled + left
        self._topic = np.repeat(np.arange(self._first.size), np.diff(counts.start))
        self._curve, self._slope = counts.curve[:, 1:], counts.slope
        self._n_directions = counts.curve.shape[1] + 3  # of CountFit, whose replicates stand beside
        self._seen = np.add.reduceat(counts.relevant, self._first)
        number = np.arange(most + 1)
        self._steps = np.maximum(number - 1.0, 0.0)  # up from one relevant document
        log_factorial = np.concatenate([[0.0], np.cumsum(np.log(number[1:]))])
        self._fade = log_factorial - self._steps * np.log(2.0)
        n_beta = self._curve.shape[1]
        self._prior_mean = np.concatenate([np.zeros(n_beta), [SPREAD[0]], np.zeros(len(SD))])
        self._prior_sd = np.concatenate([[BETA_SD] * n_beta, [SPREAD[1]], SD])
        self._search(self._prior_mean if start is None else start, np.eye(self.n_hyper))

    @property
    def n_hyper(self) -> int:
        """Number of hyperparameters."""
        return self._prior_sd.size

    @property
    def few(self) -> NDArray[np.bool_]:
        """Topics (topic,) whose number itself is known best: all."""
        return np.ones(self._seen.size, dtype=bool)

    @property
    def likelihood(self) -> NDArray[np.float64]:
        """Log likelihood (topic,) of the counts of topics of this kind."""
        return self._given(self.hyper)[0]

    @property
    def log_prior(self) -> float:
        """Log density of the hyperparameters before the counts are known, up to a constant."""
        pull = (self.hyper - self._prior_mean) / self._prior_sd
        return -0.5 * float(pull @ pull)

    def _numbers(self, hyper) -> NDArray[np.float64]:
        """Probabilities (number,) of the number of a topic's relevant documents."""
        none, two = hyper[-3], min(hyper[-2], self._highest)
        log_mass = two * self._steps - _fade(hyper) * self._fade
        log_mass[0] = none
        mass = np.exp(log_mass - log_mass.max())
        return mass / mass.sum()

    def _effects(self, hyper) -> NDArray[np.float64]:
        """What u may be (node,)."""
        return np.exp(min(hyper[-4], WIDEST)) * _rule()[0]

    def _log_odds(self, hyper) -> NDArray[np.float64]:
        """Log odds of a document of each cell beside the likeliest of its topic, (node, cell)."""
        log_odds = self._curve @ hyper[:-4] + self._effects(hyper)[:, None] * self._slope
        highest = np.maximum.reduceat(log_odds, self._first, axis=1)
        return np.maximum(log_odds - highest[:, self._topic], RAREST)

    def _given(self, hyper, sloping: bool = False) -> tuple[NDArray[np.float64], ...]:
        """Log likelihood (topic,), the posterior (node, topic, number) of u and the number.

        Last, where they are wanted, the slopes of the former by the log odds (node, cell).
        """
        from bayeseval.estimators.counts.few_kernel import likelihood_of_few

        with np.errstate(divide="ignore"):  # of what cannot be
            log_prior = np.log(self._numbers(hyper))
        return likelihood_of_few(
            self._start,
            self._relevant,
            self._left,
            self._size,
            self._log_odds(hyper),
            log_prior,
            _rule()[1],
            sloping,
        )

    def _loss(self, hyper) -> tuple[float, NDArray[np.float64]]:
        likelihood, posterior, at = self._given(hyper, sloping=True)
        whole = np.logaddexp(likelihood, self._beside)
        few = np.exp(likelihood - whole)  # probability (topic,) of this kind
        at = self._by_curve(self._log_odds(hyper), at * few[self._topic])
        # of a longer sigma, and of a larger nu, where these change anything
        along = (hyper[-4] < WIDEST) * (self._effects(hyper) @ (at @ self._slope))
        fade = (hyper[-1] < FASTEST) * _fade(hyper)
        rise = float(hyper[-2] < self._highest)
        # the numbers: what they are given the sample, beside what they are before
        off = few @ posterior.sum(axis=0) - few.sum() * self._numbers(hyper)
        numbers = [off[0], rise * (off @ self._steps), -fade * (off @ self._fade)]
        gradient = np.concatenate([at.sum(axis=0) @ self._curve, [along], numbers])
        pull = (hyper - self._prior_mean) / self._prior_sd
        value = whole.sum() - 0.5 * pull @ pull
        return -float(value), -(gradient - pull / self._prior_sd)

    def _by_curve(self, log_odds, at) -> NDArray[np.float64]:
        """Slopes (node, cell) by what the curve says of cells, of those by their log odds.

        The rarest documents stand where they do beside the likeliest of their topic, and move with
        it.
        """
        highest = log_odds == 0.0
        fixed = np.add.reduceat(np.where(log_odds > RAREST, 0.0, at), self._first, axis=1)
        share = fixed / np.add.reduceat(highest, self._first, axis=1, dtype=float)
        return np.where(log_odds > RAREST, at, 0.0) + highest * share[:, self._topic]

    def draws(
        self, unsampled: NDArray[np.float64], *, number: int = 0, random_seed: int
    ) -> NDArray[np.float64]:
        """Draws of the relevant among the unsampled documents (cell, draw).

        As :meth:`.model.CountFit.draws`; ``unsampled`` (cell,) are those of the fit.
        """
        from bayeseval.estimators.counts.few_kernel import expected_places

        direction = draw_directions(self._n_directions, number)
        random = np.random.default_rng([random_seed, number])
        place = (sequence(len(direction), number)[:, 1] + random.random((self._seen.size, 1))) % 1.0
        out = np.zeros((unsampled.size, len(direction)))
        for along in points(self._n_directions):
            hyper = self._placed(along)
            here = np.flatnonzero((direction == along).all(axis=1))
            posterior = self._given(hyper)[1]
            reached = np.cumsum(posterior.transpose(1, 0, 2).reshape(self._seen.size, -1), axis=1)
            drawn = (reached[:, None, :] < place[:, here, None]).sum(axis=2)
            node, drawn = np.divmod(np.minimum(drawn, reached.shape[1] - 1), self._most + 1)
            more = np.maximum(drawn - self._seen[:, None], 0.0)
            part = np.zeros((unsampled.size, here.size))
            expected_places(self._start, self._left, self._log_odds(hyper), node, more, part)
            out[:, here] = np.minimum(part, unsampled[:, None])
        return out


def _fade(hyper) -> float:
    """nu; a line search may try values far beyond."""
    return float(np.exp(min(hyper[-1], FASTEST)))


@cache
def _rule() -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Standard normal points of a rule, and the logs of their weights."""
    point, weight = np.polynomial.hermite_e.hermegauss(N_POINTS)
    return point, np.log(weight / weight.sum())
