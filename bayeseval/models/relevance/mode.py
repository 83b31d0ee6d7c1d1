"""Mode of the posterior of a model of documents, its curvature, and the spreads for both."""

import numpy as np
from numpy.typing import NDArray

from bayeseval.models.relevance.blocks import EFFECTS
from bayeseval.models.relevance.regression import Arrow, Regression
from bayeseval.models.relevance.spreads import CORRELATION, TOPIC, Spreads
from bayeseval.processors import one_blas_thread

N_ROUNDS = 15
N_NEWTON = 20  # in the first round; the mode moves little afterwards
N_CHAINS = 16
SMALLEST, LARGEST = 0.02, 3.0  # topics' standard deviations where the chains start


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
    one = Spreads(regression, data)
    common, own = one.mean.copy(), np.zeros(regression.own.shape[::2])
    for number in range(N_ROUNDS):
        n_steps = N_NEWTON if number == 0 else 2
        common, own, arrow = _newton(regression, one, common, own, n_steps)
        _learn(one, common, own, arrow)
    common, own, arrow = _newton(regression, one, common, own, N_NEWTON)
    return common, own, arrow, one.of_many(N_CHAINS)


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


def _learn(spreads: Spreads, common: NDArray, own: NDArray, arrow: Arrow) -> None:
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
    limits = np.log([SMALLEST, LARGEST])
    moment = second[:, :2, :2].mean(axis=0)
    sd = np.sqrt(np.diag(moment))
    correlation = np.clip(moment[0, 1] / sd.prod(), -0.95, 0.95)
    values = (*np.clip(np.log(sd), *limits), np.arctanh(correlation))
    for name, value in zip((*TOPIC, CORRELATION), values, strict=True):
        spreads.value[name][:] = value
