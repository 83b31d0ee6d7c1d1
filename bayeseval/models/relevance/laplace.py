"""Approximation of the models of documents: a normal one at the mode, then Hamiltonian steps."""

from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from bayeseval.models.relevance.external import drawn_error_rates, label_columns
from bayeseval.models.relevance.mode import (
    CORRELATION,
    N_CHAINS,
    STEP,
    TOPIC,
    Spreads,
    normal_start,
)
from bayeseval.models.relevance.regression import Arrow, Regression
from bayeseval.processors import one_blas_thread
from bayeseval.progress import track

N_WARM = 40
# at up to a hundred topics; paths of more effects need steps that fall with their fourth root
SHORTEST_STEP, MANY_TOPICS = 0.1, 100


@one_blas_thread()
def laplace(model, known: dict[str, Any], *, draws: int, random_seed: int) -> xr.DataTree:
    r"""Draws of the posterior of a model of documents that start from a normal approximation.

    Given the standard deviations the posterior of the effects is nearly the normal distribution
    with its mode and curvature, and without grades it is log-concave. The standard deviations come
    from MacKay's fixed point :math:`\sigma^2 = \sum_j b_j^2 / \gamma`, with :math:`\gamma` the
    number of effects that the data determine, and from their priors. By itself this Laplace
    approximation overstates what is rare: it is symmetric around the mode where the posterior of a
    small log odds leans downwards, and the standard deviations come out too small. So its draws are
    only the start of 16 short chains, whose steps leave the posterior invariant: Metropolis steps
    of the standard deviations, and Hamiltonian paths of the effects in coordinates in which the
    approximation is a standard normal, so that a path of a few steps forgets where it began. The
    first 40 steps tune and are dropped. Where they find that paths need very short steps, the
    approximation refuses. It is no sampler with a verdict; compare with one where it matters.

    The draws of one chain follow those of another, as if they were one chain, so that effective
    sample sizes (``az.ess``, ``az.summary``) see how slowly a chain moves. They are much smaller
    than the number of draws, smallest for standard deviations and correlations. r_hat takes
    several chains and is NaN.

    Documents with a grade have a further row for each grade from which another can be reached
    (:class:`.regression.Steps`). Their log odds are not linear in the effects; the curvature at the
    mode is taken without what they bend by themselves, and the chains do the rest.

    Parameters
    ----------
    model : pymc.Model
        Of ``relevance_model`` or ``grade_model``.
    known : dict
        Values of ``relevance`` or ``grade``, and of the labels of external columns.
    draws : int
        Number of draws, in one chain, of the 16 one after another.
    random_seed : int

    Returns
    -------
    DataTree
        Groups posterior (the model's variables but for the deviations and levels that its effects
        are made of) and constant_data.

    References
    ----------
    MacKay, "Bayesian interpolation", Neural Computation 4 (1992). Rue, Martino and Chopin,
    "Approximate Bayesian inference for latent Gaussian models", JRSS B 71 (2009). Neal, "MCMC using
    Hamiltonian dynamics", Handbook of Markov Chain Monte Carlo (2011). Yu and Meng, "To center or
    not to center", Journal of Computational and Graphical Statistics 20 (2011), on stretching.
    """
    data = {variable.name: variable.get_value() for variable in model.data_vars}
    grade = np.asarray(known["grade"] if "grade" in known else known["relevance"]).astype(int)
    n_steps = len(model.coords["grade_step"]) if "grade" in known else 0
    n_topics = len(model.coords["topic"])
    regression = Regression.of(data, model.coords["block"], grade, n_topics, n_steps)
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
    common, own = (np.concatenate([state[k] for state in kept], axis=-1) for k in (0, 1))
    spread = {name: np.concatenate([state[2][name] for state in kept]) for name in spreads.value}
    values = _named(model, regression, common, own, spread)
    in_turn = _chain_by_chain(draws)
    values = {name: drawn[in_turn] for name, drawn in values.items()}
    for column in label_columns(model.coords):
        values |= drawn_error_rates(model, column, grade, known, draws, random)
    return _labelled(model, values)


def _chain_by_chain(n_draws: int) -> NDArray[np.int64]:
    """Places of the first draws, which come step by step of all chains, one chain's after another.

    Examples
    --------
    >>> _chain_by_chain(N_CHAINS + 2)[:5]
    array([ 0, 16,  1, 17,  2])
    """
    return np.argsort(np.arange(n_draws) % N_CHAINS, kind="stable")


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
        "topic_sd": np.column_stack([sd[name] for name in TOPIC]),
        "topic_fisher_z": spread[CORRELATION],
        "topic_correlation": np.tanh(spread[CORRELATION]),
        "topic_effect": population[:, None] + apart.pop("topic"),
    }
    values |= {name: shared.pop(name) for name in STEP if name in shared}
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
    sizes = {
        dim: size for dims, values in variables.values() for dim, size in zip(dims, values.shape)
    }
    labels = {dim: np.arange(sizes[dim]) for dim in ("chain", "draw") if dim in sizes}
    labels |= {dim: np.array(model.coords[dim]) for dim in sizes.keys() & model.coords.keys()}
    return xr.Dataset(variables, coords=labels)


class Chains:
    """Chains side by side, all of them vectors (..., chain).

    Each step redraws the standard deviations given the effects, then tries to stretch effects and
    their standard deviation together, then moves all effects along a Hamiltonian path in the units
    of the arrow's factor, in which the posterior is nearly a standard normal.

    They start from the values of ``spreads`` and the effects ``common`` (column, chain) and ``own``
    (topic, own column, chain).
    """

    def __init__(
        self,
        regression: Regression,
        spreads: Spreads,
        arrow: Arrow,
        common: NDArray,
        own: NDArray,
        random: np.random.Generator,
    ) -> None:
        self.regression, self.spreads, self.arrow = regression, spreads, arrow
        self.common, self.own = common, own
        self.random = random
        self._step = 0.3
        self._stretch = dict.fromkeys(spreads.names, 0.3)

    def step(self, adapting: bool) -> None:
        """One step of every chain; adapting tunes the sizes of the proposals."""
        self.spreads.redraw(self.common, self.own, self.random)
        self._rescale(adapting)
        taken = self._move()
        if adapting:
            self._step = min(self._step * np.exp(0.6 * (taken - 0.8)), 0.7)
            if self._step <= SHORTEST_STEP * min(1.0, MANY_TOPICS / len(self.own)) ** 0.25:
                raise ValueError(
                    "approximation='laplace' does not suit these judgments: the posterior of some "
                    "document's relevance is too far from normal, and the chains that correct the "
                    "approximation would need very short steps; leave approximation out (be.fit "
                    "then samples by NUTS)"
                )

    def _rescale(self, adapting: bool) -> None:
        """Effects of one standard deviation times a factor, and that deviation too."""
        bent = self.regression.steps.bent
        linear = self.regression.linear(self.common, self.own)
        known = self.regression.likelihood(bent(linear, self.common))
        for name in self.spreads.names:
            columns, common = self.spreads.columns(name), self.spreads.is_common(name)
            if common:
                part = self.regression.common[:, :, columns] @ self.common[columns]
            else:
                part = self.regression.own[:, :, columns] @ self.own[:, columns]
            value = self.spreads.value[name]
            moved = value + self._stretch[name] * self.random.standard_normal(value.size)
            factor = np.exp(moved - value)
            there = linear + (factor - 1.0) * part
            proposed = self.regression.likelihood(bent(there, self.common))
            gain = proposed - known
            gain += self.spreads.log_prior(name, moved) - self.spreads.log_prior(name, value)
            taken = np.log(self.random.random(value.size)) < gain
            linear, known = np.where(taken, there, linear), np.where(taken, proposed, known)
            self.spreads.value[name] = np.where(taken, moved, value)
            effects = self.common[columns] if common else self.own[:, columns]
            effects *= np.where(taken, factor, 1.0)
            if adapting:
                self._stretch[name] *= np.exp(0.7 * (taken.mean() - 0.44))

    def _move(self) -> float:
        """Hamiltonian path of all effects; the mean probability of taking it."""
        precision = self.spreads.precisions()
        step = self._step * self.random.uniform(0.8, 1.1)
        speed = tuple(self.random.standard_normal(part.shape) for part in (self.common, self.own))
        here = (self.common, self.own)
        scale = self.spreads.scale()
        energy, slope = self._energy(here, precision, scale)
        start = energy + _kinetic(speed)
        # a path of 1.5 posterior standard deviations is a quarter turn
        for _ in range(int(np.ceil(1.5 / step))):
            speed = _plus(speed, slope, -0.5 * step)
            here = _plus(here, _times(scale, self.arrow.effects(*speed)), step)
            energy, slope = self._energy(here, precision, scale)
            speed = _plus(speed, slope, -0.5 * step)
        change = start - energy - _kinetic(speed)
        share = np.exp(np.minimum(0.0, np.where(np.isfinite(change), change, -np.inf)))
        taken = self.random.random(share.size) < share
        self.common = np.where(taken, here[0], self.common)
        self.own = np.where(taken, here[1], self.own)
        return float(share.mean())

    def _energy(self, effects, precision, scale) -> tuple[NDArray, tuple[NDArray, NDArray]]:
        """Minus the log posterior (chain,), and its gradient in the units of the factor."""
        common, own = effects
        prior, own_prior = precision
        logit = self.regression.logit(common, own)
        off = common - self.spreads.mean[:, None]
        pulled = self.spreads.pulled(own, own_prior)
        energy = 0.5 * (prior * off**2).sum(axis=0) + 0.5 * (own * pulled).sum(axis=(0, 1))
        likelihood, rise, own_rise = self.regression.slope(logit, common)
        slope = self.arrow.noise(*_times(scale, (prior * off - rise, pulled - own_rise)))
        return energy - likelihood, slope


def _kinetic(speed) -> NDArray[np.float64]:
    return 0.5 * ((speed[0] ** 2).sum(axis=0) + (speed[1] ** 2).sum(axis=(0, 1)))


def _times(scale, effects) -> tuple[NDArray, NDArray]:
    return scale[0] * effects[0], scale[1] * effects[1]


def _plus(first, second, factor: float) -> tuple[NDArray, NDArray]:
    return first[0] + factor * second[0], first[1] + factor * second[1]
