r"""Simulation-based calibration: ranks of true values among posterior draws, over simulations.

A simulation draws the parameters from the prior, data given them (the sample of judgments too), and
the posterior given the data. Then for every function f of parameters and data

    rank = #{s : f(theta_s) < f(theta_true)}

is uniform on 0, 1, ..., n_draws, if the draws are independent and both the model and its sampler
are right. A rank that is too often low or high shows bias, ranks at both ends show intervals that
are too narrow, ranks in the middle intervals that are too wide.

Talts, Betancourt, Simpson, Vehtari and Gelman, "Validating Bayesian inference algorithms with
simulation-based calibration", arXiv:1804.06788. Modrak et al., "Simulation-based calibration
checking for Bayesian computation: the choice of test quantities shapes sensitivity", Bayesian
Analysis (2023), doi:10.1214/23-BA1404 (functions of parameters and data; ties). Saeilynoja,
Buerkner and Vehtari, "Graphical test for discrete uniformity and its applications in
goodness-of-fit evaluation and multiple sample comparison", Statistics and Computing 32 (2022),
doi:10.1007/s11222-022-10090-6.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import arviz as az
import numpy as np
import pymc as pm
import xarray as xr
from matplotlib.figure import Figure
from numpy.typing import NDArray
from pymc.model.fgraph import fgraph_from_model, model_from_fgraph
from pytensor.compile.sharedvalue import shared
from pytensor.graph.traversal import ancestors
from pytensor.tensor.variable import TensorConstant
from scipy.stats import binom

from bayeseval.inference.sampling import known_values
from bayeseval.significance import holm

TIE = 1e-9  # scores that differ by less are equal: sums of the same terms in another order
RANK_STREAM = 77
N_NULL = 20_000
COLUMNS = 6  # of panels

type Study = Callable[[int], xr.DataTree]


def step_seeds(seed: int) -> list[int]:
    """Independent seeds for the four steps of a simulation, as ints."""
    words = np.random.SeedSequence(seed).generate_state(4)
    return [int(word) >> 1 for word in words]


def prior_draw(model, names: Sequence[str] | None, seed: int) -> xr.Dataset:
    """Variables of a model, by default all, drawn once from its prior."""
    drawn = pm.sample_prior_predictive(
        1, model=model, random_seed=seed, var_names=names, compile_kwargs={"mode": "FAST_COMPILE"}
    )
    return drawn["prior"].to_dataset().isel(chain=0, draw=0, drop=True)


def simulation_based_calibration(
    study: Study, seeds: Sequence[int], *, n_draws: int = 99
) -> xr.Dataset:
    """Ranks of true values among draws of their posterior, one per simulation and quantity.

    A study gets a seed and returns a DataTree with the groups ``truth`` (variables over any dims)
    and ``posterior`` (the same variables over chain, draw and these dims), and, where there is a
    verdict on the sampler, ``verdict``. ``n_draws`` draws are taken at even distances from all
    draws of all chains: so few that they hardly correlate. Ties are broken by chance. No simulation
    is left out, whatever its verdict. Returns ``rank`` and ``ess`` (bulk) over simulation and
    quantity, a quantity being an entry of a variable; ``verdict`` over simulation and check.
    """
    done = [simulated_ranks(study(int(seed)), int(seed), n_draws) for seed in seeds]
    first = done[0]["quantity"].to_numpy().tolist()
    for seed, one in zip(seeds, done, strict=True):
        if one["quantity"].to_numpy().tolist() != first:
            raise ValueError(f"the study of seed {seed} has other quantities than the first")
    return xr.concat(done, dim="simulation", combine_attrs="drop_conflicts")


def simulated_ranks(simulation: xr.DataTree, seed: int, n_draws: int) -> xr.Dataset:
    """Ranks of one simulation, as a Dataset with one entry along simulation."""
    truth, posterior = (simulation[name].to_dataset() for name in ("truth", "posterior"))
    random = np.random.default_rng([RANK_STREAM, seed])
    quantity, ranks, sizes = [], [], []
    for name, true, draws in _entries(truth, posterior):
        if not (np.isfinite(true) and np.isfinite(draws).all()):
            raise ValueError(f"{name} of seed {seed} is not finite; its rank is not known")
        flat = draws.reshape(-1)
        quantity.append(name)
        ranks.append(rank_of(true, flat[even_positions(flat.size, n_draws)], random))
        sizes.append(float(az.ess(draws)) if np.ptp(flat) > 0 else float(flat.size))
    dims = ("simulation", "quantity")
    found = xr.Dataset(
        {"rank": (dims, [ranks]), "ess": (dims, [sizes])},
        coords={"simulation": [seed], "quantity": quantity},
        attrs={"n_draws": int(n_draws)},
    )
    if "verdict" in simulation.children:
        value = simulation["verdict"].to_dataset()["value"]
        found = found.assign(verdict=value.expand_dims(simulation=[seed]))
    return found


def even_positions(n_values: int, n_draws: int) -> NDArray[np.int64]:
    """Positions of n_draws of n_values at even distances."""
    assert n_values >= n_draws
    return ((np.arange(n_draws) + 0.5) * n_values / n_draws).astype(np.int64)


def rank_of(true: float, draws: NDArray[np.float64], random: np.random.Generator) -> int:
    """Rank of a value among draws, from 0 to their number, ties broken by chance."""
    margin = TIE * max(1.0, abs(true))
    below = np.count_nonzero(draws < true - margin)
    tied = np.count_nonzero(np.abs(draws - true) <= margin)
    return int(below + random.integers(0, tied + 1))


def _entries(truth: xr.Dataset, posterior: xr.Dataset) -> Iterator[tuple]:
    """Label, true value and draws (chain, draw) of every entry of every variable."""
    for name, true in truth.data_vars.items():
        draws = posterior[name].transpose("chain", "draw", *true.dims).to_numpy().astype(float)
        for index in np.ndindex(true.shape):
            labels = [
                str(true[dim].to_numpy()[at]) for dim, at in zip(true.dims, index, strict=True)
            ]
            label = f"[{', '.join(labels)}]" if labels else ""
            yield f"{name}{label}", float(true.to_numpy()[index]), draws[(..., *index)]


def covered(rank: xr.DataArray, n_draws: int, ci_prob: float) -> xr.DataArray:
    """Whether the central interval of the draws covers the truth of each rank."""
    order = (n_draws + 1) * (1.0 - ci_prob) / 2.0
    assert round(order) >= 1 and abs(order - round(order)) < 1e-9
    return (rank >= round(order)) & (rank <= n_draws - round(order))


def rank_uniformity(
    calibration: xr.Dataset, *, level: float = 0.05, n_null: int = N_NULL
) -> xr.Dataset:
    r"""Test of every quantity's ranks against the uniform distribution on 0, 1, ..., n_draws.

    With R_i the number of the N simulations whose rank is below i, uniform ranks make R_i
    Binomial(N, i / (n_draws + 1)). The statistic is the least two-sided tail probability along the
    whole distribution function (Saeilynoja and others, equation 14), and its p-value the share of
    ``n_null`` sets of N uniform ranks with one as small. The p-values of all quantities are
    adjusted by Holm's rule: where all are calibrated, the chance that any fails is at most
    ``level``. Returns ``p_value``, ``adjusted_p_value`` and ``passed`` over quantity.
    """
    n_draws = int(calibration.attrs["n_draws"])
    rank = calibration["rank"].transpose("simulation", "quantity").to_numpy()
    counts = np.stack([np.bincount(column, minlength=n_draws + 1) for column in rank.T])
    null = np.sort(null_statistics(rank.shape[0], n_draws, n_null))
    p_value = (1 + np.searchsorted(null, least_tail(counts), side="right")) / (n_null + 1)
    adjusted = holm(p_value)
    return xr.Dataset(
        {
            "p_value": ("quantity", p_value),
            "adjusted_p_value": ("quantity", adjusted),
            "passed": ("quantity", adjusted > level),
        },
        coords={"quantity": calibration["quantity"]},
    )


def least_tail(counts: NDArray[np.integer]) -> NDArray[np.float64]:
    """Statistic of each set of ranks, given how often each rank occurs (set, rank)."""
    total, n_ranks = int(counts[0].sum()), counts.shape[1]
    share = np.arange(1, n_ranks)[:, None] / n_ranks
    number = np.arange(total + 1)
    tail = np.minimum(
        binom.cdf(number, total, share), binom.sf(number - 1, total, share)
    )  # (rank, number below)
    below = np.cumsum(counts, axis=1)[:, :-1]
    return 2.0 * tail[np.arange(n_ranks - 1), below].min(axis=1)


def null_statistics(n_simulations: int, n_draws: int, n_null: int) -> NDArray:
    """Statistics of sets of uniform ranks."""
    chance = np.full(n_draws + 1, 1.0 / (n_draws + 1))
    return least_tail(np.random.default_rng(1).multinomial(n_simulations, chance, size=n_null))


def plot_ranks(calibration: xr.Dataset, *, level: float = 0.05) -> Figure:
    """Difference of the ranks' distribution function from the uniform one, one panel a quantity.

    The dark band contains the whole line of one calibrated quantity with chance 1 - level, the
    light one the lines of all quantities together with at least that (level divided by their
    number; section 2.2 of Saeilynoja and others).
    """
    names = calibration["quantity"].to_numpy().tolist()
    n_simulations, n_draws = calibration.sizes["simulation"], int(calibration.attrs["n_draws"])
    null = null_statistics(n_simulations, n_draws, N_NULL)
    rows, columns = -(-len(names) // COLUMNS), min(COLUMNS, len(names))
    figure = Figure(figsize=(2.3 * columns, 1.7 * rows + 0.3), layout="constrained")
    grid = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)
    for ax in grid.flat[len(names) :]:
        ax.remove()
    share = np.arange(1, n_draws + 1) / (n_draws + 1)
    for ax, name in zip(grid.flat, names, strict=False):
        for part, color in ((level / len(names), "#E6EEF5"), (level, "#BDD3E6")):
            tail = float(np.quantile(null, part)) / 2
            low = binom.ppf(tail, n_simulations, share) / n_simulations
            high = binom.isf(tail, n_simulations, share) / n_simulations
            ax.fill_between(share, low - share, high - share, color=color, lw=0)
        rank = calibration["rank"].sel(quantity=name).to_numpy()
        below = np.searchsorted(np.sort(rank), np.arange(1, n_draws + 1)) / n_simulations
        ax.plot(share, below - share, color="#0072B2", lw=1.0)
        ax.set_title(name, fontsize=7)
        ax.tick_params(labelsize=6)
    figure.supxlabel("rank of the truth among its draws, as a share", fontsize=8)
    figure.supylabel("distribution function less the uniform one", fontsize=8)
    return figure


class RepeatedFits:
    """Fits of one model to many data sets of one shape, by nutpie, with one compilation.

    Compiling a model takes many times what sampling a small one does, and a change of the data
    alone compiles it again, as arrays in its graph are constants. Here the arrays of the first
    model (whatever has more than one entry) become shared variables, which later models fill. A
    later model must have the same graph: constants of the same number, order, shapes and types, and
    single numbers of the same values.
    """

    def __init__(self, *, draws: int, tune: int, chains: int) -> None:
        self._request: dict[str, Any] = {"draws": draws, "tune": tune, "chains": chains}
        self._compiled: Any = None
        self._first: list[np.ndarray] = []

    def __call__(self, model, *, random_seed: int) -> xr.DataTree:
        """Draws of the posterior of a model, as :func:`bayeseval.fit` returns them."""
        import nutpie

        graph, constants = opened(model)
        values = [np.asarray(constant.data) for constant in constants]
        if self._compiled is None:
            self._compiled = nutpie.compile_pymc_model(with_shared_arrays(graph, constants))
            self._first = values
        _check_same(self._first, values)
        known = {str(variable.name) for variable in self._compiled.shared_var_keys}
        known -= model.coords.keys()  # lengths of dims: those of the first model
        given = {constant_name(place): value for place, value in enumerate(values)}
        given |= {variable.name: variable.get_value() for variable in model.data_vars}
        fitted = nutpie.sample(
            self._compiled.with_data(**{name: given[name] for name in known}),
            cores=1,
            seed=int(random_seed),
            save_warmup=False,
            progress_bar=False,
            **self._request,
        )
        return _with_constants(fitted, model)


def opened(model) -> tuple[Any, list[Any]]:
    """Graph of a model whose known values are observed, and its constants in a fixed order."""
    graph, _ = fgraph_from_model(pm.observe(model, dict(known_values(model))))
    constants = [v for v in ancestors(graph.outputs) if isinstance(v, TensorConstant)]
    return graph, list({id(constant): constant for constant in constants}.values())


def with_shared_arrays(graph, constants) -> Any:
    """Model in whose graph arrays are shared variables, named by their place."""
    replaced = []
    for place, constant in enumerate(constants):
        value = np.array(constant.data)
        if value.size > 1:
            variable = shared(value, name=constant_name(place), shape=value.shape)
            replaced.append((constant, variable))
    graph.replace_all(replaced, import_missing=True)
    return model_from_fgraph(graph, mutate_fgraph=True)


def constant_name(place: int) -> str:
    return f"constant_{place}"


def _check_same(first: list[np.ndarray], values: list[np.ndarray]) -> None:
    """Refuse a graph that the compiled one does not stand for."""
    for place, (old, new) in enumerate(zip(first, values, strict=True)):
        same = old.shape == new.shape and old.dtype == new.dtype
        if not same or (old.size == 1 and not np.array_equal(old, new)):
            raise ValueError(f"constant {place} was {old} and is {new}; only arrays may differ")


def _with_constants(fitted: xr.DataTree, model) -> xr.DataTree:
    """Fit with the model's own data, as scores need them."""
    data = {}
    for variable in model.data_vars:
        own = [f"{variable.name}_dim_{axis}" for axis in range(variable.ndim)]
        dims = model.named_vars_to_dims.get(variable.name, own)
        data[variable.name] = (dims, variable.get_value())
    used = {dim for dims, _ in data.values() for dim in dims}
    coords = {dim: np.asarray(model.coords[dim]) for dim in used & model.coords.keys()}
    return fitted.assign({"constant_data": xr.DataTree(xr.Dataset(data, coords=coords))})
