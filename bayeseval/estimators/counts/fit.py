"""Empirical-Bayes fit of the counts of all topics in one sample, and draws of what is unsampled."""

from collections.abc import Iterator
from dataclasses import replace
from functools import cache, cached_property, partial

import numpy as np
from numpy.typing import NDArray

from bayeseval.estimators.counts.cells import Counts
from bayeseval.messages import warn

N_POINTS = 7  # of the Gauss-Hermite rule, each way
DRAWS_PER_POINT = 8  # of the hyperparameters
BETA_SD = 5.0  # prior of the curve's coefficients; twice that for the intercept
EFFECT_MEAN = np.array([0.0, -0.5, 0.0])  # log sd, log sd, Fisher's z of the correlation
EFFECT_SD = np.array([0.75, 0.75, 0.75])
EFFECT_BOUNDS = EFFECT_MEAN + 10.0 * np.outer([-1.0, 1.0], EFFECT_SD)  # beyond: singular
NONE_MEAN, NONE_SD = -4.0, 2.0  # prior of the logit of the share of topics without any
LIKELIER = 1.5  # log of how much likelier such a share must make the counts
DISPERSION, DEVIATIONS = 1.2, 2.5  # above which a warning says that curves do not describe topics
CLIFF = 2.0  # fall of the log density at a point, by that of a normal one; samples have .3 to 1.8
WIDEST_SD = 10.0  # of any direction: where the data say nothing, the priors' widest
GRADIENT_STEP = 1e-4  # of the differences that give the curvature


class CountsMisfit(UserWarning):
    """Relevant documents are not where the model of their numbers would have them."""


class CountFit:
    r"""Fit of the counts by maximum marginal likelihood times prior, topic effects integrated out.

    .. math:: k_{tc} \sim \mathrm{Binomial}(n_{tc}, p_{tc}), \qquad
              \mathrm{logit}\, p_{tc} = \beta' x_{tc} + u_{t0} + u_{t1} z_{tc}, \qquad
              u_t \sim N(0, \Sigma)

    The hyperparameters are beta, the logs of the two standard deviations and Fisher's z of the
    correlation; their weak priors keep the fit of a few topics finite. They are set at the mode,
    and then move by the curvature there, one principal direction of a fixed rotation after the
    other.

    With ``shows_none`` (topic,), topics whose judged documents hold nothing relevant, such a topic
    has no relevant document at all with a probability, the share of these topics, whose logit is
    one more hyperparameter; it stays at the mode. By default every topic has some.
    """

    def __init__(self, counts: Counts, *, shows_none: NDArray[np.bool_] | None = None) -> None:
        self._counts = counts
        self._n_beta = counts.curve.shape[1]
        self._beta_sd = BETA_SD * np.append(2.0, np.ones(self._n_beta - 1))
        self.n_hyper = self._n_beta + 3  # hyperparameters that move
        n_topics = counts.start.size - 1
        self._zero_inflated = shows_none is not None
        self._shows_none = np.zeros(n_topics, dtype=bool) if shows_none is None else shows_none
        self._mode = np.zeros((n_topics, 2))
        self._node = np.zeros((n_topics, N_POINTS**2, 2))
        self._share = np.zeros((n_topics, N_POINTS**2))
        self._none = np.zeros(n_topics)
        self._search()

    def _search(self) -> None:
        """Set the hyperparameters, by coordinates in which they are about uncorrelated."""
        from scipy.optimize import minimize

        counts = self._counts
        # topics that may have nothing relevant are left out at first
        some = ~np.repeat(self._shows_none, np.diff(counts.start))
        counts = replace(counts, relevant=counts.relevant * some, sampled=counts.sampled * some)
        beta, root = quasi_likelihood(counts, self._beta_sd, np.exp(EFFECT_MEAN[:2]))
        # far above the prior mean, so that the search finds the larger of two modes
        rest = np.append(EFFECT_MEAN, [-1.0] * self._zero_inflated)
        unit = 0.2 * np.eye(beta.size + rest.size)
        unit[: beta.size, : beta.size] = root

        def loss(place):
            value, gradient = self.loss(unit @ place)
            return value, unit.T @ gradient

        options = {"maxiter": 200, "ftol": 1e-8, "gtol": 1e-3}
        search = partial(minimize, loss, jac=True, method="L-BFGS-B", options=options)
        found = search(np.linalg.solve(unit, np.append(beta, rest)))
        if not found.success:  # mostly a line search that failed: once more from there
            found = search(found.x)
        self.converged = bool(found.success)
        self.hyper, self.log_density = unit @ found.x, -found.fun

    def _none_share(self, hyper) -> float:
        """Probability that a topic has nothing relevant."""
        if not self._zero_inflated:
            return 0.0
        return float(1.0 / (1.0 + np.exp(-np.clip(hyper[self.n_hyper], -20.0, 20.0))))

    def _effects(self, hyper) -> NDArray[np.float64]:
        """Logs of the two standard deviations and Fisher's z of the correlation."""
        return hyper[self._n_beta : self._n_beta + 3]

    def log_likelihood(self, hyper) -> tuple[float, NDArray, NDArray]:
        """Log marginal likelihood, without the prior; its gradient in beta and in the effects."""
        from bayeseval.estimators.counts import kernel

        point, log_weight = _rule()
        counts = self._counts
        first, second, z = np.clip(self._effects(hyper), *EFFECT_BOUNDS)  # line searches go far
        return kernel.log_likelihood(
            counts.start,
            counts.relevant,
            counts.sampled,
            counts.curve,
            counts.slope,
            counts.curve @ hyper[: self._n_beta],
            np.array([np.exp(first), np.exp(second), np.tanh(z)]),
            self._shows_none,
            self._none_share(hyper),
            point,
            log_weight,
            self._mode,
            self._node,
            self._share,
            self._none,
        )

    def loss(self, hyper) -> tuple[float, NDArray[np.float64]]:
        """Minus the log posterior density of the hyperparameters, and its gradient."""
        beta, effects = hyper[: self._n_beta], self._effects(hyper)
        value, gradient, slope = self.log_likelihood(hyper)
        beta_pull, effect_pull = beta / self._beta_sd, (effects - EFFECT_MEAN) / EFFECT_SD
        value -= 0.5 * (beta_pull @ beta_pull + effect_pull @ effect_pull)
        parts = [gradient - beta_pull / self._beta_sd, slope - effect_pull / EFFECT_SD]
        if self._zero_inflated:
            pull = (hyper[self.n_hyper] - NONE_MEAN) / NONE_SD
            value -= 0.5 * pull * pull
            excess = self._none.sum() - self._none.size * self._none_share(hyper)
            parts.append(np.array([excess - pull / NONE_SD]))
        return -float(value), -np.concatenate(parts)

    @property
    def dispersion(self) -> tuple[float, float]:
        r"""How much more counts differ from what each topic's curve says than by chance.

        .. math:: \frac{\sum_c (k_c - n_c p_c)^2}{\sum_c n_c p_c (1 - p_c)}

        with p at the posterior mean of the topic's effects, and by how many standard deviations its
        numerator is above its denominator where counts are binomial. Topics count by the
        probability that they have something relevant.
        """
        counts = self._counts
        self.log_likelihood(self.hyper)  # places the nodes
        effect = (self._share[..., None] * self._node).sum(axis=1)
        of_cell = np.repeat(effect, np.diff(counts.start), axis=0)
        logit = counts.curve @ self.hyper[: self._n_beta]
        logit += of_cell[:, 0] + of_cell[:, 1] * counts.slope
        p = 1.0 / (1.0 + np.exp(-np.clip(logit, -50.0, 50.0)))
        chance = p * (1.0 - p)
        some = np.repeat(1.0 - self._none, np.diff(counts.start))
        variance = counts.sampled * chance
        spread = np.sqrt((some * (variance * (1.0 - 6.0 * chance) + 2.0 * variance**2)).sum())
        square = float((some * np.square(counts.relevant - counts.sampled * p)).sum())
        total = max(float((some * variance).sum()), 1e-9)
        return square / total, (square - total) / max(float(spread), 1e-9)

    @cached_property
    def root(self) -> NDArray[np.float64]:
        """Root of the inverse curvature (hyperparameter, direction)."""
        n = self.n_hyper
        hessian = np.empty((n, n))
        here = self.loss(self.hyper)[1]
        for column, step in enumerate(GRADIENT_STEP * np.eye(self.hyper.size)[:n]):
            hessian[:, column] = (self.loss(self.hyper + step)[1] - here)[:n] / GRADIENT_STEP
        value, vector = np.linalg.eigh(0.5 * (hessian + hessian.T))
        return vector / np.sqrt(np.maximum(value, WIDEST_SD**-2.0)) @ vector.T

    def _placed(self, along: NDArray[np.float64]) -> NDArray[np.float64]:
        """Hyperparameters in a direction from the mode, where the topics' effects stand then.

        Where the density falls far faster than its curvature at the mode implies, as where no topic
        has a second relevant document, the step is halved until the density has fallen little more.
        """
        step = self.root @ along
        for _ in range(50):
            hyper = self.hyper.copy()
            hyper[: self.n_hyper] += step
            if self.loss(hyper)[0] + self.log_density <= CLIFF * self.n_hyper / 2.0:
                break
            step *= 0.5
        return hyper

    def draws(
        self, unsampled: NDArray[np.float64], *, number: int = 0, random_seed: int
    ) -> Iterator[tuple[NDArray[np.int64], NDArray[np.float64]]]:
        """Yield numbers of some draws, and the relevant unsampled documents (cell, draw) in these.

        The hyperparameters stand, for a block of draws each, at the points of
        :func:`draw_directions`, which have the mean and covariance of their posterior, but for
        cliffs (:meth:`_placed`). ``unsampled`` is (cell,) or (cell, draw), ``number`` that of the
        level: levels are drawn independently, by shifts of the topics' sequences.
        """
        from bayeseval.estimators.counts.kernel import unsampled_relevant

        counts = self._counts
        direction = draw_directions(self.n_hyper, number)
        if unsampled.ndim == 1:
            unsampled = np.broadcast_to(unsampled[:, None], (unsampled.size, len(direction)))
        uniform = sequence(len(direction), number)
        shift = np.random.default_rng([random_seed, number]).random((counts.start.size - 1, 2))
        for along in points(self.n_hyper):
            hyper = self._placed(along)
            here = np.flatnonzero((direction == along).all(axis=1))
            drawn = np.zeros((unsampled.shape[0], here.size))
            unsampled_relevant(
                counts.start,
                np.ascontiguousarray(unsampled[:, here]),
                counts.curve @ hyper[: self._n_beta],
                counts.slope,
                self._node,
                self._share,
                self._none,
                np.ascontiguousarray(uniform[here]),
                _normal_quantiles(),
                shift,
                drawn,
            )
            yield here, drawn


def fit_counts(counts: Counts, *, shows_none: NDArray[np.bool_], lowest: bool = True) -> CountFit:
    """Fit of the counts of one level of relevance, with its warnings.

    ``shows_none`` (topic,) are topics whose judged documents hold nothing of the level. Above the
    ``lowest`` level a share of the topics has none: of relevant documents some have a higher grade
    in most topics and none in others. At the lowest level every topic has some, unless the counts
    are clearly likelier with such a share.
    """
    if not lowest:
        fit = CountFit(counts, shows_none=shows_none)
    else:
        fit = CountFit(counts)
        if np.count_nonzero(shows_none) > 1:
            with_none = CountFit(counts, shows_none=shows_none)
            if with_none.converged and with_none.log_density - fit.log_density > LIKELIER:
                fit = with_none
    way_out = "denominator 'topic' does without it"
    if not fit.converged:
        warn(
            "the model of the numbers of relevant documents did not converge, so ratios (AP, "
            f"nDCG, R@k, Rprec) may be off; {way_out}",
        )
    elif lowest:
        dispersion, deviations = fit.dispersion
        if dispersion > DISPERSION and deviations > DEVIATIONS:
            warn(
                "relevant documents stand in bursts or end abruptly in the lists, which the model "
                "of the numbers of relevant documents does not describe: AP, nDCG, R@k and Rprec "
                f"may be off by more than a standard error; {way_out}",
                CountsMisfit,
            )
    return fit


def quasi_likelihood(
    counts: Counts, prior_sd: NDArray[np.float64], effect_sd: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Coefficients of the curve by penalised quasi-likelihood, and a root of their covariance.

    The topics' effects, of these standard deviations and independent, are at their mode with the
    coefficients, which Newton's method finds for both at once. The columns of the root are
    uncorrelated directions of a standard deviation each. ``prior_sd`` (column,) belongs to the
    coefficients, whose prior means are 0.

    References
    ----------
    Breslow and Clayton, "Approximate inference in generalized linear mixed models", Journal of the
    American Statistical Association 88 (1993), doi:10.1080/01621459.1993.10594284.
    """
    from bayeseval.estimators.counts.kernel import by_topics

    of_counts = counts.start, counts.relevant, counts.sampled, counts.curve, counts.slope
    beta, effect = np.zeros(counts.curve.shape[1]), np.zeros((counts.start.size - 1, 2))
    share = (counts.relevant.sum() + 0.5) / (counts.sampled.sum() + 1.0)
    beta[0] = np.log(share / (1.0 - share))
    priors = prior_sd**-2.0, effect_sd**-2.0
    n_steps, longest = 6, 2.0  # steps come close enough; change of any log odds in one
    for step in range(n_steps + 1):
        information, slopes, alone, crossing = by_topics(
            *of_counts, beta, priors[0], effect, priors[1]
        )
        if step == n_steps:
            break
        by_beta = np.linalg.solve(information, slopes)
        by_effect = alone - crossing @ by_beta
        changes = counts.curve @ by_beta, by_effect
        size = max(np.abs(change).max(initial=longest) for change in changes)
        beta += by_beta * longest / size
        effect += by_effect * longest / size
    value, vector = np.linalg.eigh(information)
    return beta, vector / np.sqrt(value)


@cache
def points(n: int) -> NDArray[np.float64]:
    """2 n points in n dimensions with mean 0 and unit covariance, (point, dimension)."""
    grid = np.arange(n)
    rotation = np.cos(np.pi * (grid[:, None] + 0.5) * grid / n) * np.sqrt(2.0)
    rotation[:, 0] = 1.0
    return np.concatenate([rotation, -rotation])


@cache
def draw_directions(n: int, number: int) -> NDArray[np.float64]:
    """Where n hyperparameters stand, in standard deviations, in each draw (draw, direction).

    Mean 0, unit covariance, and no correlation with those of the two other levels (a fourth level
    has the signs of the first again).
    """
    half = points(n)[:n]
    signs = ((1, -1, 1, -1), (1, -1, -1, 1), (1, 1, -1, -1))[number % 3]
    return np.repeat(np.concatenate([sign * half for sign in signs]), DRAWS_PER_POINT, axis=0)


@cache
def sequence(n: int, number: int) -> NDArray[np.float64]:
    """Evenly spread points in the unit square (point, 2): multiples of irrational steps."""
    root = 1.1127756842787055  # x^7 = x + 1: steps for three independent squares
    step = root ** -np.arange(1.0, 7.0)[2 * (number % 3) : 2 * (number % 3) + 2]
    return (0.5 + np.outer(np.arange(1, n + 1), step)) % 1.0


@cache
def _rule() -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Points of the rule each way, and the log weights of its pairs of points."""
    point, weight = np.polynomial.hermite_e.hermegauss(N_POINTS)
    log_weight = np.log(weight / np.sqrt(2.0 * np.pi)) + 0.5 * point**2
    return point, (log_weight[:, None] + log_weight).ravel()


@cache
def _normal_quantiles() -> NDArray[np.float64]:
    from scipy.special import ndtri

    return ndtri(np.linspace(1e-4, 1.0 - 1e-4, 2001))
