"""Mode of the posterior of a model of documents, its curvature, and the spreads of its effects."""

from collections.abc import Mapping
from copy import copy

import numpy as np
from numpy.typing import NDArray

from bayeseval.models.relevance.blocks import EFFECTS, SHRUNK
from bayeseval.models.relevance.regression import Arrow, Regression
from bayeseval.processors import one_blas_thread

TOPIC: tuple[str, ...] = ("intercept", "slope")
CORRELATION = "fisher_z"
STEP = "step_intercept", "step_slope", "step_log_rank"
TOPIC_STEP = "topic_step"
PROPOSAL = 1.7
N_NEWTON = 20  # in the first round; the mode moves little afterwards
N_CHAINS = 16


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
        return 0.5 * np.log(max(variance, 4e-4))

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
            if self.determined[name] < 0.5:
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
        for _ in range(6):
            there = here + step[:, None] * random.standard_normal(here.shape)
            proposed = density(there)
            taken = np.log(random.random(self.n_draws)) < proposed - known
            here, known = np.where(taken, there, here), np.where(taken, proposed, known)
        return here


@one_blas_thread()
def mode_effects(model, relevance: NDArray) -> tuple[dict[str, NDArray], NDArray[np.float64]]:
    """Effects by block at the mode, and the linear predictor (judged_pair,) that they give.

    The model has its blocks so far; ``relevance`` (judged_pair,) is what was judged.
    """
    data = {variable.name: variable.get_value() for variable in model.data_vars}
    n_topics = len(model.coords["topic"])
    regression = Regression.of(data, model.coords["block"], relevance, n_topics)
    common, own, _, _ = normal_start(regression, data)
    logit = regression.logit(common[:, None], own[:, :, None])[:, :, 0]
    effects = {}
    for name in model.coords["block"]:
        if EFFECTS[name].by_topic:
            value = own[:, regression.own_spans[name]]
            if name == "topic":
                value = value + common[regression.common_spans["population"]]
        else:
            value = common[regression.common_spans[name]]
        effects[name] = value if EFFECTS[name].dims else value[0]
    return effects, logit[np.arange(logit.shape[1]) < regression.number[:, None]]  # by topic


def normal_start(
    regression: Regression, data: dict[str, NDArray]
) -> tuple[NDArray, NDArray, Arrow, Spreads]:
    """Mode (common and topics' effects), its curvature, and spreads for all chains."""
    spreads = Spreads(regression, data)
    common, own = spreads.mean.copy(), np.zeros(regression.own.shape[::2])
    for number in range(15):
        n_steps = N_NEWTON if number == 0 else 2
        common, own, arrow = _newton(regression, spreads, common, own, n_steps)
        _fixed_point(spreads, common, own, arrow)
    common, own, arrow = _newton(regression, spreads, common, own, N_NEWTON)
    return common, own, arrow, spreads.of_many(N_CHAINS)


def _newton(
    regression: Regression, spreads: Spreads, common: NDArray, own: NDArray, n_steps: int
) -> tuple[NDArray, NDArray, Arrow]:
    """Mode given the spreads, with steps halved until the posterior does not fall."""
    common_prior, own_prior = spreads.precisions()
    precision, own_precision = common_prior[:, 0], own_prior[0]

    def posterior(common, own):
        logit = regression.logit(common[:, None], own[:, :, None])
        off = common - spreads.mean
        prior = (precision * off**2).sum() + np.einsum("tj,jk,tk", own, own_precision, own)
        return regression.likelihood(logit)[0] - 0.5 * prior, logit

    def curvature(common, logit):
        return Arrow(regression, logit[:, :, 0], common, precision, own_precision)

    now, logit = posterior(common, own)
    arrow = curvature(common, logit)
    for _ in range(n_steps):
        _, rise, own_rise = regression.slope(logit, common[:, None])
        rise -= (precision * (common - spreads.mean))[:, None]
        own_rise -= (own @ own_precision)[:, :, None]
        step, own_step = (part[..., 0] for part in arrow.solved(rise, own_rise))
        expected = float((rise[:, 0] * step).sum() + (own_rise[:, :, 0] * own_step).sum())
        for size in 0.5 ** np.arange(20):
            there, logit = posterior(common + size * step, own + size * own_step)
            if there >= now - 1e-12 * abs(now):
                break
        common, own, now = common + size * step, own + size * own_step, there
        arrow = curvature(common, logit)
        if expected < 1e-6:
            break
    return common, own, arrow


def _fixed_point(spreads: Spreads, common: NDArray, own: NDArray, arrow: Arrow) -> None:
    """One round of the fixed point of the standard deviations."""
    covariance, own_covariance = arrow.covariances()
    for name in spreads.shrunk:
        columns = spreads.columns(name)
        shared = spreads.is_common(name)
        effects = common[columns] if shared else own[:, columns]
        sizes = np.diagonal(covariance if shared else own_covariance, axis1=-2, axis2=-1)
        unknown = sizes[..., columns].sum() * np.exp(-2.0 * spreads.value[name][0])
        known = max(effects.size - unknown, 1e-6)
        spreads.determined[name] = known / effects.size
        spreads.value[name][:] = spreads.best(name, known, float((effects**2).sum()))
    second = np.einsum("tj,tk->tjk", own, own) + own_covariance
    limits = np.log([0.02, 3.0])  # where the chains start
    moment = second[:, :2, :2].mean(axis=0)
    sd = np.sqrt(np.diag(moment))
    correlation = np.clip(moment[0, 1] / sd.prod(), -0.95, 0.95)
    values = (*np.clip(np.log(sd), *limits), np.arctanh(correlation))
    for name, value in zip((*TOPIC, CORRELATION), values, strict=True):
        spreads.value[name][:] = value
