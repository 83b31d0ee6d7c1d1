"""Fit of the counts model to one sample, and draws of what was not sampled."""

from dataclasses import replace
from functools import cache, cached_property

import numpy as np
from numpy.typing import NDArray

from bayeseval.estimators.counts.cells import Counts
from bayeseval.estimators.counts.mixing import mixing
from bayeseval.estimators.counts.mode import Mode, draw_directions, points, sequence
from bayeseval.estimators.counts.start import quasi_likelihood

N_POINTS = 7  # of the Gauss-Hermite rule, each way
BETA_SD = 5.0  # of the curve's columns; twice that for the intercept
EFFECT_MEAN = np.array([0.0, -0.5, 0.0])  # log sd, log sd, Fisher's z of the correlation
EFFECT_SD = np.array([0.75, 0.75, 0.75])
OTHER_MEAN, OTHER_SD = -4.0, 2.0  # logit of the share of topics of another kind
OTHER_START = -1.0  # far above, so that the search finds the larger of two modes
OTHER_FARTHEST = 20.0
REST_UNIT = 0.2  # about a standard deviation of what is not a coefficient, with 50 topics
FARTHEST = 10.0  # prior standard deviations, beyond which the covariance would be singular
LOWEST_EFFECT = EFFECT_MEAN - FARTHEST * EFFECT_SD
HIGHEST_EFFECT = EFFECT_MEAN + FARTHEST * EFFECT_SD


class CountFit(Mode):
    r"""Empirical-Bayes fit of the counts of all topics, with the hyperparameters' uncertainty.

    .. math:: k_{tc} \sim \mathrm{Binomial}(n_{tc}, p_{tc}), \qquad
              \mathrm{logit}\, p_{tc} = \beta' x_{tc} + u_{t0} + u_{t1} z_{tc}, \qquad
              u_t \sim N(0, \Sigma)

    The hyperparameters are beta, the logs of the two standard deviations and Fisher's z of the
    correlation; their weak priors keep the fit of a few topics finite. They are set where marginal
    likelihood times prior is largest, the topic effects integrated out, and then move by the
    curvature there, one principal direction of a fixed rotation after the other. With few topics
    their posterior is skewed, and the numbers of relevant documents come out 1 to 4 % too large
    (twenty topics or fewer; ``benchmarks/interval_coverage/TRIED.md``). Last, the effects leave
    the normal distribution as far as the topics show it (:func:`.mixing.mixing`), by a ratio that
    is found at the mode and kept, node by node, where the hyperparameters move: the normal
    distribution moves on beneath it.

    With ``shows_none`` (topic,), topics whose judged documents hold none, whether they tell of
    others or not, such a topic has no relevant document at all with a probability, the share of
    these topics, whose logit is one more hyperparameter; it is kept where it is set. By default
    every topic has some.
    """

    def __init__(self, counts: Counts, *, shows_none: NDArray[np.bool_] | None = None) -> None:
        self._counts = counts
        self._n_beta = counts.curve.shape[1]
        n_topics = self.n_topics
        self.zero_inflated = shows_none is not None
        self._apart = np.zeros(n_topics, dtype=bool) if shows_none is None else shows_none
        self._kinds = self.zero_inflated  # whether a topic may be of another kind, here without any
        self._beside = np.where(self._apart, 0.0, -np.inf)  # log likelihood (topic,) if it is
        self._mode = np.zeros((n_topics, 2))
        self._node = np.zeros((n_topics, N_POINTS**2, 2))
        self._share = np.zeros((n_topics, N_POINTS**2))
        self._other = np.zeros(n_topics)
        self._begin()

    def _begin(self) -> None:
        """Set the hyperparameters."""
        self._search(*self._start())

    @cached_property
    def _mixing(self) -> NDArray[np.float64]:
        """How much likelier the other topics make each node (topic, node)."""
        self._likelihood(self.hyper)  # places the nodes
        covariance = _covariance(self._effects(self.hyper))
        return mixing(self._node, self._share, covariance, some=1.0 - self._other, point=_rule()[0])

    @property
    def few(self) -> NDArray[np.bool_]:
        """Topics (topic,) whose number of relevant documents itself is known best: none."""
        return np.zeros(self.n_topics, dtype=bool)

    @property
    def dispersion(self) -> tuple[float, float]:
        r"""How much more counts differ from what each topic's curve says than by chance.

        .. math:: \frac{\sum_c (k_c - n_c p_c)^2}{\sum_c n_c p_c (1 - p_c)}

        with p at the posterior mean of the topic's effects, and by how many standard deviations its
        numerator is above its denominator where counts are binomial. Topics count by the
        probability that they are not of another kind.
        """
        counts = self._counts
        self._likelihood(self.hyper)  # places the nodes
        p = self._probability((self._share[..., None] * self._node).sum(axis=1))
        chance = p * (1.0 - p)
        own = np.repeat(1.0 - self._other, np.diff(counts.start))
        variance = counts.sampled * chance
        spread = np.sqrt((own * (variance * (1.0 - 6.0 * chance) + 2.0 * variance**2)).sum())
        square = own * np.square(counts.relevant - counts.sampled * p)
        variance *= own
        total = max(float(variance.sum()), 1e-9)
        return float(square.sum()) / total, float(square.sum() - total) / max(float(spread), 1e-9)

    def _probability(self, effect: NDArray[np.float64]) -> NDArray[np.float64]:
        """Probability (cell,) that a document is relevant, with these effects (topic, 2)."""
        counts = self._counts
        own = np.repeat(effect, np.diff(counts.start), axis=0)
        eta = counts.curve @ self.hyper[: self._n_beta] + own[:, 0] + own[:, 1] * counts.slope
        return 1.0 / (1.0 + np.exp(-np.clip(eta, -50.0, 50.0)))

    @cached_property
    def evidence(self) -> float:
        """The log density with each topic judged by the others, by what they show."""
        likelier_node = self._mixing
        self._likelihood(self.hyper)  # others may have placed the nodes since
        likelier = (self._share * likelier_node).sum(axis=1)
        likelier = self._other + (1.0 - self._other) * likelier
        return float(self.log_density + np.log(likelier).sum())

    @property
    def n_topics(self) -> int:
        """Number of topics."""
        return self._counts.start.size - 1

    @property
    def n_hyper(self) -> int:
        """Number of hyperparameters, but for the share of topics of another kind, which is kept."""
        return self._n_beta + 3

    def _start(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Hyperparameters that the search begins with, and the directions (columns) it takes.

        Where topics may be of another kind, those that look like it are left out at first.
        """
        counts = self._counts
        told = ~np.repeat(self._apart, np.diff(counts.start))
        beta, root = quasi_likelihood(
            replace(counts, relevant=counts.relevant * told, sampled=counts.sampled * told),
            self._beta_sd,
            np.exp(EFFECT_MEAN[:2]),
        )
        rest = np.append(EFFECT_MEAN, [OTHER_START] * self._kinds)
        unit = REST_UNIT * np.eye(beta.size + rest.size)
        unit[: beta.size, : beta.size] = root
        return np.append(beta, rest), unit

    @cached_property
    def _beta_sd(self) -> NDArray[np.float64]:
        """Prior standard deviations of the coefficients."""
        return BETA_SD * np.append(2.0, np.ones(self._n_beta - 1))

    def _effects(self, hyper) -> NDArray[np.float64]:
        """Logs of the two standard deviations and Fisher's z of the correlation."""
        return hyper[self._n_beta : self._n_beta + 3]

    def _other_share(self, hyper) -> float:
        """Probability that a topic is of another kind."""
        if not self._kinds:
            return 0.0
        logit = np.clip(hyper[self._n_beta + 3], -OTHER_FARTHEST, OTHER_FARTHEST)
        return float(1.0 / (1.0 + np.exp(-logit)))

    def _weight(self, hyper) -> NDArray[np.float64]:
        """What scatters relevant documents (cell,), or nothing."""
        return np.zeros(0)

    def _likelihood(self, hyper) -> tuple[float, NDArray, NDArray]:
        """Log marginal likelihood, without the prior; its gradient in beta and in the effects."""
        from bayeseval.estimators.counts.kernel import log_likelihood

        point, log_weight = _rule()
        counts = self._counts
        # the gradient in the log of the weights is for fits that have some
        value, gradient, slope, self._by_weight = log_likelihood(
            counts.start,
            counts.relevant,
            counts.sampled,
            counts.curve,
            counts.slope,
            counts.curve @ hyper[: self._n_beta],
            self._weight(hyper),
            _scale(self._effects(hyper)),
            self._beside,
            self._other_share(hyper),
            point,
            log_weight,
            self._mode,
            self._node,
            self._share,
            self._other,
        )
        return value, gradient, slope

    def _loss(self, hyper) -> tuple[float, NDArray[np.float64]]:
        """Minus the log posterior density of the hyperparameters, and its gradient."""
        beta, effects = hyper[: self._n_beta], self._effects(hyper)
        value, gradient, slope = self._likelihood(hyper)
        beta_sd = self._beta_sd
        beta_pull, effect_pull = beta / beta_sd, (effects - EFFECT_MEAN) / EFFECT_SD
        value -= 0.5 * (beta_pull @ beta_pull + effect_pull @ effect_pull)
        parts = [gradient - beta_pull / beta_sd, slope - effect_pull / EFFECT_SD]
        if self._kinds:
            pull = (hyper[self._n_beta + 3] - OTHER_MEAN) / OTHER_SD
            value -= 0.5 * pull * pull
            beyond = self._other.sum() - self._other.size * self._other_share(hyper)
            parts.append(np.array([beyond - pull / OTHER_SD]))
        return -float(value), -np.concatenate(parts)

    def draws(
        self, unsampled: NDArray[np.float64], *, number: int = 0, random_seed: int
    ) -> NDArray[np.float64]:
        """Draws of the relevant among the unsampled documents (cell, draw).

        The hyperparameters stand, for a block of draws each, at the points of
        :func:`draw_directions`, which have the mean and covariance of their posterior, but for
        cliffs (:meth:`_placed`). ``unsampled`` is (cell,) or (cell, draw), ``number`` that of the
        level: levels are drawn independently, by shifts of the topics' sequences.
        """
        from bayeseval.estimators.counts.kernel import unsampled_relevant

        counts = self._counts
        direction = draw_directions(self.n_hyper, number)
        if unsampled.ndim == 1:
            unsampled = np.repeat(unsampled[:, None], len(direction), axis=1)
        uniform = sequence(len(direction), number)
        shift = np.random.default_rng([random_seed, number]).random((counts.start.size - 1, 2))
        out = np.zeros(unsampled.shape)
        likelier_node = self._mixing  # before the nodes move
        for along in points(self.n_hyper):
            hyper = self._placed(along)
            share = self._share * likelier_node  # a node stands for the same, wherever hyper is
            likelier = share.sum(axis=1)  # which speaks against another kind
            other = self._other / (self._other + (1.0 - self._other) * likelier)
            here = np.flatnonzero((direction == along).all(axis=1))
            drawn = np.zeros((unsampled.shape[0], here.size))
            unsampled_relevant(
                counts.start,
                np.ascontiguousarray(unsampled[:, here]),
                counts.curve @ hyper[: self._n_beta],
                counts.slope,
                self._weight(hyper),
                self._node,
                share / likelier[:, None],
                other,
                np.ascontiguousarray(uniform[here]),
                _normal_quantiles(),
                shift,
                drawn,
            )
            out[:, here] = drawn
        return np.where(np.isnan(out), self._of_others(number, random_seed), out)

    def _of_others(self, number: int, random_seed: int) -> NDArray[np.float64]:
        """Draws of the relevant among the unsampled documents of topics of another kind."""
        return np.zeros(())


@cache
def _rule() -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Points of the rule each way, and the log weights of its pairs of points."""
    point, weight = np.polynomial.hermite_e.hermegauss(N_POINTS)
    log_weight = np.log(weight / np.sqrt(2.0 * np.pi)) + 0.5 * point**2
    return point, (log_weight[:, None] + log_weight).ravel()


def _scale(effects: NDArray[np.float64]) -> NDArray[np.float64]:
    """Standard deviations and correlation of the topic effects."""
    # a line search may try values far beyond
    first, second, z = np.minimum(np.maximum(effects, LOWEST_EFFECT), HIGHEST_EFFECT)
    return np.array([np.exp(first), np.exp(second), np.tanh(z)])


def _covariance(effects: NDArray[np.float64]) -> NDArray[np.float64]:
    """Covariance (2, 2) of the topic effects."""
    s0, s1, rho = _scale(effects)
    return np.array([[s0 * s0, rho * s0 * s1], [rho * s0 * s1, s1 * s1]])


@cache
def _normal_quantiles() -> NDArray[np.float64]:
    from scipy.special import ndtri

    return ndtri(np.linspace(1e-4, 1.0 - 1e-4, 2001))
