"""Approximation of the relevance model: a normal one at its mode, then a few Hamiltonian steps."""

from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from bayeseval.models.relevance.chain import Chains
from bayeseval.models.relevance.external import drawn_error_rates, label_columns
from bayeseval.models.relevance.regression import Arrow, Regression
from bayeseval.models.relevance.spreads import CORRELATION, TOPIC, Spreads
from bayeseval.processors import one_blas_thread
from bayeseval.progress import track

N_ROUNDS = 15
N_NEWTON = 20  # in the first round; the mode moves little afterwards
N_CHAINS = 16
N_WARM = 40
SMALLEST, LARGEST = 0.02, 3.0  # topics' standard deviations where the chains start


@one_blas_thread()
def laplace(model, known: dict[str, Any], *, draws: int, random_seed: int) -> xr.DataTree:
    r"""Draws of the posterior of ``relevance_model`` that start from a normal approximation.

    Given the standard deviations the posterior of the effects is log-concave, and nearly the normal
    distribution with its mode and curvature. The standard deviations that this is made with come
    from MacKay's fixed point :math:`\sigma^2 = \sum_j b_j^2 / \gamma`, with :math:`\gamma` the
    number of effects that the data determine, and from their priors. By itself this Laplace
    approximation overstates what is rare: around the mode it is symmetric where the posterior of a
    small log odds leans downwards, and the standard deviations come out too small. So its draws
    are only the start of
    16 short chains, whose steps leave the posterior invariant: Metropolis steps of the standard
    deviations, and Hamiltonian paths of the effects in coordinates in which the approximation is a
    standard normal, so that a path of a few steps forgets where it began. The first 40 steps tune
    and are dropped. What it is not: a sampler with a verdict; compare with one where it matters.

    Parameters
    ----------
    model : pymc.Model
        Of ``relevance_model``.
    known : dict
        Values of ``relevance``, and of the labels of external columns.
    draws : int
        Number of draws, in one chain.
    random_seed : int

    Returns
    -------
    DataTree
        Groups posterior (the model's variables) and constant_data.

    References
    ----------
    MacKay, "Bayesian interpolation", Neural Computation 4 (1992). Rue, Martino and Chopin,
    "Approximate Bayesian inference for latent Gaussian models", JRSS B 71 (2009). Neal, "MCMC using
    Hamiltonian dynamics", Handbook of Markov Chain Monte Carlo (2011). Yu and Meng, "To center or
    not to center", Journal of Computational and Graphical Statistics 20 (2011), on stretching.
    """
    data = {variable.name: variable.get_value() for variable in model.data_vars}
    relevance = np.asarray(known["relevance"], dtype=float)
    n_topics = len(model.coords["topic"])
    regression = Regression.of(data, model.coords["block"], relevance, n_topics)
    random = np.random.default_rng(random_seed)
    common, own, arrow, spreads = normal_start(regression, data)
    noise = [random.standard_normal((*part.shape, N_CHAINS)) for part in (common, own)]
    off = arrow.effects(*noise)
    start = common[:, None] + off[0], own[:, :, None] + off[1]
    chains = Chains(regression, spreads, arrow, *start, random)
    kept = []
    for number in track(range(N_WARM + -(-draws // N_CHAINS)), "draws of the posterior"):
        chains.step(number < N_WARM)
        if number >= N_WARM:
            kept.append((chains.common.copy(), chains.own.copy(), dict(spreads.value)))
    common, own = (np.concatenate([one[k] for one in kept], axis=-1) for k in (0, 1))
    spread = {name: np.concatenate([one[2][name] for one in kept]) for name in spreads.value}
    values = _named(model, regression, common, own, spread)
    values = {name: drawn[:draws] for name, drawn in values.items()}
    for column in label_columns(model.coords):
        values |= drawn_error_rates(model, column, known, draws, random)
    return _labelled(model, values)


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

    now, logit = posterior(common, own)
    arrow = Arrow(regression, logit[:, :, 0], precision, own_precision)
    for _ in range(n_steps):
        _, rise, own_rise = regression.slope(logit)
        rise -= (precision * (common - spreads.mean))[:, None]
        own_rise -= (own @ own_precision)[:, :, None]
        step, own_step = (part[..., 0] for part in arrow.solved(rise, own_rise))
        expected = float((rise[:, 0] * step).sum() + (own_rise[:, :, 0] * own_step).sum())
        for size in 0.5 ** np.arange(20):
            there, logit = posterior(common + size * step, own + size * own_step)
            if there >= now - 1e-12 * abs(now):
                break
        common, own, now = common + size * step, own + size * own_step, there
        arrow = Arrow(regression, logit[:, :, 0], precision, own_precision)
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
    if spreads.has_topics:
        second = np.einsum("tj,tk->tjk", own, own) + own_covariance
        limits = np.log([SMALLEST, LARGEST])
        moment = second[:, :2, :2].mean(axis=0)
        sd = np.sqrt(np.diag(moment))
        correlation = np.clip(moment[0, 1] / sd.prod(), -0.95, 0.95)
        values = (*np.clip(np.log(sd), *limits), np.arctanh(correlation))
        for name, value in zip((*TOPIC, CORRELATION), values, strict=True):
            spreads.value[name][:] = value


def _named(model, regression: Regression, common, own, spread) -> dict[str, NDArray]:
    """Draws (draw, ...) of the model's variables by name."""
    common, own = common.T, np.moveaxis(own, -1, 0)
    shared = {name: common[:, columns] for name, columns in regression.common_spans.items()}
    apart = {name: own[:, :, columns] for name, columns in regression.own_spans.items()}
    sd = {name: np.exp(value) for name, value in spread.items()}
    population = shared.pop("population")
    values = {
        "population_effect": population,
        "curvature": shared.pop("curve")[:, 0],
        "tail_effect": shared.pop("tail")[:, 0],
    }
    if "topic" in apart:
        effect = population[:, None] + apart.pop("topic")
        values |= {
            "topic_sd": np.column_stack([sd[name] for name in TOPIC]),
            "topic_fisher_z": spread[CORRELATION],
            "topic_correlation": np.tanh(spread[CORRELATION]),
            "topic_effect": effect,
        }
    if "component" in shared:
        values["reliability_sd"] = sd["component"]
        values["reliability"] = shared["component"] @ model["run_line_rotation"].get_value().T
    if "curve_component" in shared:
        rotation = model["run_curve_rotation"].get_value()  # (curve, run, component)
        values["run_curve"] = np.einsum("crk,dk->dcr", rotation, shared["curve_component"])
    for name, effect in (shared | apart).items():
        values[f"{name}_effect"] = effect
        if name != "component":
            values[f"{name}_sd"] = sd[name]
    return {name: drawn for name, drawn in values.items() if name in model.named_vars}


def _labelled(model, values: dict[str, NDArray]) -> xr.DataTree:
    """Draws under the names and dims of the model, as a sampler would return them."""
    dims = model.named_vars_to_dims
    posterior = {
        name: (("chain", "draw", *(dims.get(name) or ())), draws[None])
        for name, draws in values.items()
    }
    constant = {
        variable.name: (tuple(dims.get(variable.name) or ()), variable.get_value())
        for variable in model.data_vars
    }
    groups = {"posterior": posterior, "constant_data": constant}
    return xr.DataTree.from_dict({name: _dataset(model, part) for name, part in groups.items()})


def _dataset(model, variables: dict) -> xr.Dataset:
    used = {dim for dims, _ in variables.values() for dim in dims} & model.coords.keys()
    return xr.Dataset(variables, coords={dim: np.array(model.coords[dim]) for dim in used})
