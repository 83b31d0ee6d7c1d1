"""Standard deviations of the effects in the approximation, and how their draws move."""

from collections.abc import Mapping
from copy import copy

import numpy as np
from numpy.typing import NDArray

from bayeseval.models.relevance.blocks import SHRUNK
from bayeseval.models.relevance.regression import Regression

TOPIC: tuple[str, ...] = ("intercept", "slope")
CORRELATION = "fisher_z"
STEP = "step_intercept", "step_slope", "step_log_rank"
TOPIC_STEP = "topic_step"
N_TRIES = 6  # of Metropolis steps that need no likelihood
PROPOSAL = 1.7
HALF = 0.5
SMALLEST_VARIANCE = 4e-4


class Spreads:
    """Logs of standard deviations (draw,), and Fisher's z of topics' intercepts and slopes.

    ``data`` has ``fixed_prior``, ``scale_prior`` and ``topic_prior`` of the model, and
    ``step_prior`` and ``topic_step_prior`` where it has grades.
    """

    def __init__(self, regression: Regression, data: Mapping[str, NDArray]) -> None:
        spans = regression.common_spans | regression.own_spans
        self.regression = regression
        self.n_draws = 1  # chains that move at once
        self.shrunk = [name for name in SHRUNK if name in spans]
        self._scale: dict[str, float] = dict(zip(SHRUNK, data["scale_prior"].tolist(), strict=True))
        if TOPIC_STEP in spans:
            self.shrunk.append(TOPIC_STEP)
            self._scale[TOPIC_STEP] = float(data["topic_step_prior"])
        self._normal: dict[str, NDArray] = dict(
            zip((*TOPIC, CORRELATION), data["topic_prior"].T, strict=True)
        )
        mean, spread = data["fixed_prior"]
        n_columns = regression.common.shape[2]
        self.mean, self._fixed = np.zeros(n_columns), np.zeros(n_columns)
        self.mean[: mean.size], self._fixed[: mean.size] = mean, spread**-2.0
        for number, name in enumerate(STEP):
            if name in spans:
                mean, spread = data["step_prior"][:, number]
                self.mean[spans[name]], self._fixed[spans[name]] = mean, spread**-2.0
        # Share of the effects of each standard deviation that the judgments determine.
        self.determined: dict[str, float] = dict.fromkeys(self.shrunk, 1.0)
        start = dict.fromkeys(self.shrunk, np.log(0.3))
        start |= {"intercept": np.log(0.7), "slope": np.log(0.3), CORRELATION: 0.0}
        self.value = {name: np.array([value]) for name, value in start.items()}
        self.start = self.value

    @property
    def names(self) -> list[str]:
        """Standard deviations by name."""
        return [name for name in self.value if name != CORRELATION]

    def is_common(self, name: str) -> bool:
        """Whether the effects are those of all topics."""
        return name in self.regression.common_spans

    def columns(self, name: str) -> slice:
        """Columns, of the common or of the topics' effects, that a standard deviation is of."""
        if name in TOPIC:
            return slice(TOPIC.index(name), TOPIC.index(name) + 1)
        return (self.regression.common_spans | self.regression.own_spans)[name]

    def log_prior(self, name: str, value: NDArray) -> NDArray[np.float64]:
        """Log density, up to a constant, of the log of a standard deviation or of Fisher's z."""
        if name in self._normal:
            mean, spread = self._normal[name]
            return -0.5 * ((value - mean) / spread) ** 2
        return value - 0.5 * np.exp(2.0 * value) / self._scale[name] ** 2

    def best(self, name: str, known: float, size: float) -> float:
        r"""Log of the most likely standard deviation of shrunk effects.

        Where :math:`\gamma` effects of the sum of squares S are known, it solves
        :math:`\sigma^4 / s^2 + (\gamma - 1) \sigma^2 = S`, s the scale of the half-normal prior of
        :math:`\sigma`, whose density is that of its log.
        """
        half = 0.5 * self._scale[name] ** 2
        variance = half * (1.0 - known + np.sqrt((known - 1.0) ** 2 + 2.0 * size / half))
        return 0.5 * np.log(max(variance, SMALLEST_VARIANCE))

    def precisions(self) -> tuple[NDArray, NDArray]:
        """Of the priors of common effects (column, draw), and of topics' (draw, column, column)."""
        common = np.repeat(self._fixed[:, None], self.n_draws, axis=1)
        n_own = self.regression.own.shape[2]
        own = np.zeros((self.n_draws, n_own, n_own))
        for name in self.shrunk:
            columns, precision = self.columns(name), np.exp(-2.0 * self.value[name])
            if self.is_common(name):
                common[columns] = precision
            else:
                at = np.arange(n_own)[columns]
                own[:, at, at] = precision[:, None]
        first, second, z = (self.value[name] for name in (*TOPIC, CORRELATION))
        widen = np.cosh(z) ** 2  # 1 / (1 - correlation squared)
        own[:, 0, 0] = widen * np.exp(-2.0 * first)
        own[:, 1, 1] = widen * np.exp(-2.0 * second)
        own[:, 0, 1] = own[:, 1, 0] = -np.tanh(z) * widen * np.exp(-first - second)
        return common, own

    def pulled(self, own: NDArray, precision: NDArray) -> NDArray[np.float64]:
        """Topics' effects (topic, column, draw) times the precision of their prior.

        In ``precision`` (draw, column, column) intercepts and slopes alone are correlated.
        """
        at = np.arange(own.shape[1])
        pulled = own * precision[:, at, at].T
        pulled[:, 0] += own[:, 1] * precision[:, 1, 0]
        pulled[:, 1] += own[:, 0] * precision[:, 0, 1]
        return pulled

    def of_many(self, n_draws: int) -> "Spreads":
        """The same values for many chains."""
        many = copy(self)
        many.n_draws = n_draws
        many.value = {name: np.repeat(value, n_draws) for name, value in self.value.items()}
        many.start = {name: value.copy() for name, value in many.value.items()}
        return many

    def scale(self) -> tuple[NDArray, NDArray]:
        """Factor of the common (column, draw) and the topics' effects since the chains' start.

        1 for effects that the judgments determine, by more than half; else what became of their
        standard deviation.
        """
        common, own = (
            np.ones((columns.shape[2], self.n_draws))
            for columns in (self.regression.common, self.regression.own)
        )
        for name in self.shrunk:
            if self.determined[name] < HALF:
                part = common if self.is_common(name) else own
                part[self.columns(name)] = np.exp(self.value[name] - self.start[name])
        return common, own

    def redraw(self, common: NDArray, own: NDArray, random: np.random.Generator) -> None:
        """Metropolis steps of all values given the effects, which need no likelihood."""
        for name in self.shrunk:
            effects = (common if self.is_common(name) else own.swapaxes(0, 1))[self.columns(name)]
            number = effects[..., 0].size
            size = (effects**2).reshape(-1, self.n_draws).sum(axis=0)

            def density(value):
                inside = -number * value[0] - 0.5 * size * np.exp(-2.0 * value[0])
                return inside + self.log_prior(name, value[0])

            step = np.array([PROPOSAL / np.sqrt(2 * number)])
            (self.value[name],) = self._metropolis([self.value[name]], density, step, random)
        names = (*TOPIC, CORRELATION)
        step = 0.75 * PROPOSAL / np.sqrt(len(own)) * np.array([0.7, 0.7, 1.0])
        given = [self.value[name] for name in names]
        moved = self._metropolis(given, self._topic_density(own), step, random)
        self.value |= dict(zip(names, moved, strict=True))

    def _topic_density(self, own: NDArray):
        """Log density of intercepts and slopes of topics as a function of their spreads."""
        first, second = (own[:, 0] ** 2).sum(axis=0), (own[:, 1] ** 2).sum(axis=0)
        product = (own[:, 0] * own[:, 1]).sum(axis=0)

        def density(value):
            a, b, z = value
            form = first * np.exp(-2 * a) + second * np.exp(-2 * b)
            form -= 2.0 * np.tanh(z) * product * np.exp(-a - b)
            inside = -len(own) * (a + b - np.log(np.cosh(z))) - 0.5 * np.cosh(z) ** 2 * form
            return inside + sum(
                self.log_prior(name, part)
                for name, part in zip((*TOPIC, CORRELATION), value, strict=True)
            )

        return density

    def _metropolis(self, value: list, density, step: NDArray, random) -> NDArray:
        here = np.array(value)
        known = density(here)
        for _ in range(N_TRIES):
            there = here + step[:, None] * random.standard_normal(here.shape)
            found = density(there)
            taken = np.log(random.random(self.n_draws)) < found - known
            here, known = np.where(taken, there, here), np.where(taken, found, known)
        return here
