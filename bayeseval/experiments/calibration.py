"""Simulation-based calibration: ranks of true values among posterior draws, over simulations."""

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from bayeseval.progress import track

TIE = 1e-9  # scores that differ by less are equal: sums of the same terms in another order
RANK_STREAM = 77
DRAWS = ("chain", "draw")

type Study = Callable[[int], xr.DataTree]


def step_seeds(seed: int) -> list[int]:
    """Independent seeds for the four steps of a simulation, as ints."""
    words = np.random.SeedSequence(seed).generate_state(4)
    return [int(word) >> 1 for word in words]


def prior_draw(model, names: Sequence[str] | None, seed: int) -> xr.Dataset:
    """Variables of a model, by default all, drawn once from its prior."""
    import pymc as pm

    drawn = pm.sample_prior_predictive(
        1, model=model, random_seed=seed, var_names=names, compile_kwargs={"mode": "FAST_COMPILE"}
    )
    return drawn["prior"].to_dataset().isel(chain=0, draw=0, drop=True)


def simulation_based_calibration(
    study: Study, seeds: Sequence[int], *, n_draws: int = 99
) -> xr.Dataset:
    r"""Ranks of true values among draws of their posterior, one per simulation and quantity.

    A simulation draws the parameters from the prior, data given them (the sample of judgments
    too), and the posterior given the data. Then for every function f of parameters and data

    .. math:: rank = \#\{s : f(\theta_s) < f(\theta_{true})\}

    is uniform on 0, 1, ..., n_draws, if the draws are independent and both the model and its
    sampler are right. A rank that is too often low or high speaks of bias, ranks at both ends of
    intervals that are too narrow, ranks in the middle of intervals that are too wide. Where f is
    discrete (P@10, say), a draw that equals the truth counts as below it or not by chance, as many
    of them as a uniform random number says, and ranks stay uniform.

    ``n_draws`` draws are taken at even distances from all draws of all chains. Their number is
    fixed, so that ranks of all simulations have one distribution, and small, so that they are
    nearly independent: 99 of 1,000 draws whose effective sample size is above 300 hardly
    correlate. ``ess`` tells where that is not so. No simulation is left out, whatever its verdict.

    What is random: parameters, judgments, sample, and the sampler. What breaks it: draws that
    depend on each other, which make ranks too extreme. Cost: what the study costs.

    Parameters
    ----------
    study : function of an int
        What one simulation does. Gets a seed; returns a DataTree with the groups ``truth``
        (variables over any dims) and ``posterior`` (the same variables over chain, draw and these
        dims), and, where there is a verdict on the sampler, ``verdict`` as
        :func:`bayeseval.verdict` returns it.
    seeds : sequence of int
        Seed of each simulation.
    n_draws : int
        Draws that a true value is ranked among. Where n_draws + 1 divides by 20, the middle 90 %
        of the ranks are those of a central 90 % interval.

    Returns
    -------
    Dataset
        ``rank``, ``truth``, ``mean`` and ``standard_error`` (of the posterior) and ``ess`` (bulk)
        over simulation and quantity, a quantity being an entry of a variable; ``verdict`` over
        simulation and check. ``simulation`` holds the seeds; attrs: ``n_draws``.

    Raises
    ------
    ValueError
        No seed; a study without these groups, with fewer draws than ``n_draws``, with a value that
        is not finite, or with other quantities in one simulation than in another.

    References
    ----------
    Talts, Betancourt, Simpson, Vehtari and Gelman, "Validating Bayesian inference algorithms with
    simulation-based calibration", arXiv:1804.06788. Modrak et al., "Simulation-based calibration
    checking for Bayesian computation: the choice of test quantities shapes sensitivity", Bayesian
    Analysis (2023), doi:10.1214/23-BA1404 (functions of parameters and data; ties).

    Examples
    --------
    >>> import numpy as np, xarray as xr, bayeseval as be
    >>> def study(seed):
    ...     random = np.random.default_rng(seed)
    ...     truth = random.normal()  # and the data say nothing: the posterior is the prior
    ...     draws = random.normal(size=(2, 200))
    ...     return xr.DataTree.from_dict({
    ...         "truth": xr.Dataset({"mean": truth}),
    ...         "posterior": xr.Dataset({"mean": (("chain", "draw"), draws)}),
    ...     })
    >>> found = be.experiments.simulation_based_calibration(study, range(20), n_draws=19)
    >>> found["rank"].shape, int(found["rank"].min()) >= 0, int(found["rank"].max()) <= 19
    ((20, 1), True, True)
    """
    if len(seeds) == 0:
        raise ValueError("seeds is empty; a simulation needs one")
    done = [
        simulated_ranks(study(int(seed)), int(seed), n_draws)
        for seed in track(list(seeds), "simulations")
    ]
    first = done[0]["quantity"].to_numpy().tolist()
    for seed, one in zip(seeds, done, strict=True):
        if one["quantity"].to_numpy().tolist() != first:
            raise ValueError(
                f"the study of seed {seed} has other quantities than that of the first"
            )
    return xr.concat(done, dim="simulation", combine_attrs="drop_conflicts")


def simulated_ranks(simulation: xr.DataTree, seed: int, n_draws: int) -> xr.Dataset:
    """Ranks and moments of one simulation, as a Dataset with one entry along simulation."""
    truth, posterior = (_group(simulation, name, seed) for name in ("truth", "posterior"))
    names = sorted(map(str, truth.data_vars))
    if names != sorted(map(str, posterior.data_vars)):
        raise ValueError(
            f"the study of seed {seed} has the true values of {', '.join(names)} and draws of "
            f"{', '.join(sorted(map(str, posterior.data_vars)))}; they must be the same"
        )
    random = np.random.default_rng([RANK_STREAM, seed])
    quantity, columns = [], []
    for name, label, true, draws in _entries(truth, posterior):
        if not (np.isfinite(true) and np.isfinite(draws).all()):
            raise ValueError(f"{name}{label} of seed {seed} is not finite; its rank is not known")
        quantity.append(f"{name}{label}")
        columns.append(_ranked(true, draws, n_draws, random))
    values = np.array(columns).T[:, None, :]
    dims = ("simulation", "quantity")
    kinds = ("rank", "truth", "mean", "standard_error", "ess")
    data = {kind: (dims, value) for kind, value in zip(kinds, values, strict=True)}
    found = xr.Dataset(data, coords={"simulation": [seed], "quantity": quantity})
    found = found.assign(rank=found["rank"].astype(np.int64)).assign_attrs(n_draws=int(n_draws))
    if "verdict" in simulation.children:
        value = simulation["verdict"].to_dataset()["value"]
        found = found.assign(verdict=value.expand_dims(simulation=[seed]))
    return found


def even_positions(n_values: int, n_draws: int) -> NDArray[np.int64]:
    """Positions of n_draws of n_values at even distances."""
    if n_values < n_draws:
        raise ValueError(
            f"there are {n_values} draws and n_draws is {n_draws}; allowed: at most that"
        )
    return ((np.arange(n_draws) + 0.5) * n_values / n_draws).astype(np.int64)


def rank_of(true: float, draws: NDArray[np.float64], random: np.random.Generator) -> int:
    """Rank of a value among draws, from 0 to their number, ties broken by chance."""
    margin = TIE * max(1.0, abs(true))
    below = np.count_nonzero(draws < true - margin)
    tied = np.count_nonzero(np.abs(draws - true) <= margin)
    return int(below + random.integers(0, tied + 1))


def _group(simulation: xr.DataTree, name: str, seed: int) -> xr.Dataset:
    if name not in simulation.children:
        raise ValueError(
            f"the study of seed {seed} has no group '{name}'; it must return truth and posterior"
        )
    return simulation[name].to_dataset()


def _entries(truth: xr.Dataset, posterior: xr.Dataset) -> Iterator[tuple]:
    """Name, label, true value and draws (chain, draw) of every entry of every variable."""
    for name, true in truth.data_vars.items():
        draws = posterior[name].transpose(*DRAWS, *true.dims).to_numpy().astype(float)
        if draws.shape[2:] != true.shape:
            raise ValueError(f"'{name}' has the shape {true.shape} and draws of {draws.shape[2:]}")
        for index in np.ndindex(true.shape):
            labels = [
                str(true[dim].to_numpy()[at]) for dim, at in zip(true.dims, index, strict=True)
            ]
            label = f"[{', '.join(labels)}]" if labels else ""
            yield name, label, float(true.to_numpy()[index]), draws[(..., *index)]


def _ranked(true: float, draws: NDArray, n_draws: int, random) -> tuple[float, ...]:
    """Rank, true value, mean, standard deviation and effective sample size."""
    import arviz as az

    flat = draws.reshape(-1)
    rank = rank_of(true, flat[even_positions(flat.size, n_draws)], random)
    varies = np.ptp(flat) > 0
    ess = float(az.ess(draws)) if varies else float(flat.size)
    return float(rank), true, float(flat.mean()), float(flat.std(ddof=1)), ess
