"""Laplace approximation of the relevance model: seconds, without a compiler or a chain."""

from typing import Any, NamedTuple

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from bayeseval.models.relevance.blocks import EFFECTS

N_ROUNDS = 40
N_NEWTON = 20  # in the first round; the mode moves little afterwards
SMALLEST_VARIANCE = 1e-4
N_GROUPS = 4  # topics' intercepts, their slopes, components, topics' own effects of components


class _Problem(NamedTuple):
    """Design matrix (row, coefficient), responses, and the groups of the coefficients.

    ``group`` is the position of a coefficient's standard deviation, -1 where its prior is fixed;
    ``precision`` and ``mean`` are those of the fixed priors.
    """

    features: NDArray[np.float64]
    relevance: NDArray[np.float64]
    group: NDArray[np.int64]
    mean: NDArray[np.float64]
    precision: NDArray[np.float64]


def laplace(model, known: dict[str, Any], *, draws: int, random_seed: int) -> xr.DataTree:
    r"""Normal approximation of the posterior of ``relevance_model`` at its mode.

    Given the standard deviations the posterior of the coefficients is log-concave; it is replaced
    by the normal distribution with its mode and curvature. The standard deviations maximise the
    marginal likelihood, by MacKay's fixed point :math:`\sigma^2 = \sum_j b_j^2 / \gamma` with
    :math:`\gamma` the number of coefficients that the data determine, and are then taken for known:
    their own uncertainty, and their prior, are left out.

    Parameters
    ----------
    model : pymc.Model
        Of ``relevance_model``, without external labels.
    known : dict
        Values of ``relevance``.
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
    "Approximate Bayesian inference for latent Gaussian models", JRSS B 71 (2009).
    """
    if set(known) != {"relevance"}:
        raise ValueError(
            "approximation='laplace' is made for relevance_model without external labels; this "
            f"model observes {', '.join(known) or 'nothing'}: leave approximation out"
        )
    problem, sizes = _problem(model, np.asarray(known["relevance"], dtype=float))
    mode, factor, variance = _mode(problem)
    from scipy.linalg import solve_triangular

    random = np.random.default_rng(random_seed)
    noise = random.standard_normal((mode.size, draws))
    coefficients = (mode[:, None] + solve_triangular(factor.T, noise, lower=False)).T
    return _labelled(model, coefficients, np.sqrt(variance), sizes)


def _problem(model, relevance: NDArray[np.float64]) -> tuple[_Problem, dict[str, int]]:
    """Coefficients: population (2), curvature, components, topics' intercepts, slopes, and own."""
    data = {variable.name: variable.get_value() for variable in model.data_vars}
    held = {name: data[f"{name}_value"] for name in EFFECTS if f"{name}_value" in data}
    rows = relevance.size
    nothing = np.zeros((rows, 0))
    level = held["topic"] if "topic" in held else held["population"]
    component = held.get("component", nothing)
    effects, own = held.get("topic", nothing), held.get("topic_component", nothing)
    n_topics = len(model.coords["topic"])
    by_topic = np.column_stack([effects, own])
    indicator = np.eye(n_topics)[data["judged_topic"]]
    columns = [indicator * values[:, None] for values in by_topic.T]
    features = np.column_stack([level, held["curve"], component, *columns])
    kinds = [*range(effects.shape[1]), *[3] * own.shape[1]]
    group = np.concatenate(
        [[-1] * 3, np.full(component.shape[1], 2), np.repeat(kinds, n_topics)]
    ).astype(np.int64)
    mean, precision = np.zeros(group.size), np.zeros(group.size)
    mean[:3], spread = data["fixed_prior"]
    precision[:3] = 1.0 / spread**2
    sizes = {
        "component": component.shape[1],
        "topic": n_topics,
        "effect": effects.shape[1],
        "own": own.shape[1],
    }
    return _Problem(features, relevance, group, mean, precision), sizes


def _mode(problem: _Problem) -> tuple[NDArray, NDArray, NDArray]:
    """Mode, Cholesky factor of the precision there, and variances of the groups."""
    variance = np.full(N_GROUPS, 0.25)
    mode = problem.mean.copy()
    factor = np.eye(mode.size)
    for number in range(N_ROUNDS):
        learned = problem.group >= 0
        precision = np.where(learned, 1.0 / variance[problem.group], problem.precision)
        mode, factor = _newton(problem, mode, precision, 1 if number else N_NEWTON)
        inverse = np.linalg.inv(factor)
        spread = (inverse**2).sum(axis=0)  # diagonal of the covariance
        before = variance.copy()
        for kind in range(N_GROUPS):
            members = problem.group == kind
            determined = members.sum() - (spread[members] * precision[members]).sum()
            size = (mode[members] ** 2).sum() / max(determined, 1e-6)
            variance[kind] = max(size, SMALLEST_VARIANCE)
        if np.abs(np.log(variance / before)).max() < 0.01:
            break
    learned = problem.group >= 0
    precision = np.where(learned, 1.0 / variance[problem.group], problem.precision)
    return *_newton(problem, mode, precision, N_NEWTON), variance


def _newton(
    problem: _Problem, mode: NDArray, precision: NDArray, n_steps: int
) -> tuple[NDArray, NDArray]:
    """Mode given the prior precisions, with steps halved until the posterior does not fall."""
    from scipy.linalg import cho_solve
    from scipy.special import expit

    def loss(coefficients):
        logit = problem.features @ coefficients
        likelihood = np.logaddexp(0.0, logit) - problem.relevance * logit
        return likelihood.sum() + 0.5 * (precision * (coefficients - problem.mean) ** 2).sum()

    factor = np.eye(mode.size)
    for _ in range(n_steps):
        share = expit(problem.features @ mode)
        root = np.sqrt(share * (1.0 - share))
        scaled = problem.features * root[:, None]
        hessian = scaled.T @ scaled
        hessian[np.diag_indices_from(hessian)] += precision
        factor = np.linalg.cholesky(hessian)
        gradient = problem.features.T @ (problem.relevance - share)
        gradient -= precision * (mode - problem.mean)
        step = cho_solve((factor, True), gradient)
        now = loss(mode)
        for size in 0.5 ** np.arange(20):
            if loss(mode + size * step) <= now + 1e-12 * abs(now):
                break
        mode = mode + size * step
        if gradient @ step < 1e-6:
            break
    return mode, factor


def _labelled(model, coefficients, sd, sizes: dict[str, int]) -> xr.DataTree:
    """Draws under the names and dims of the model, as a sampler would return them."""
    n_draws = len(coefficients)
    parts = np.split(coefficients, np.cumsum([2, 1, sizes["component"]]), axis=1)
    population, curvature, along, by_topic = parts
    by_topic = by_topic.reshape(n_draws, -1, sizes["topic"])
    n_effects = sizes["effect"]
    values = {"population_effect": population, "curvature": curvature[:, 0]}
    if n_effects:
        deviation = np.moveaxis(by_topic[:, :n_effects], 1, 2)
        values["topic_sd"] = np.tile(sd[:n_effects], (n_draws, 1))
        values["topic_effect"] = population[:, None] + deviation
    if sizes["component"]:
        values["reliability_sd"] = np.repeat(sd[2], n_draws)
        values["component_effect"] = along
        values["reliability"] = along @ model["rotation"].get_value().T
    if sizes["own"]:
        values["topic_component_sd"] = np.repeat(sd[3], n_draws)
        values["topic_component_effect"] = np.moveaxis(by_topic[:, n_effects:], 1, 2)
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
