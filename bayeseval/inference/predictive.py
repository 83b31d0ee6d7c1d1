"""What a model says before and after its data: draws of both, and how much of one is the other."""

import logging
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from bayeseval.collection.choices import check_seed, check_whole_numbers
from bayeseval.inference.sampling import known_values
from bayeseval.models.identity import check_fit, check_same_model

COMPILE = {"mode": "FAST_COMPILE"}  # a few hundred draws take less time than compiling
FEW_ENTRIES = 8  # variables with more are not looked at entry by entry


def predictive_draws(
    model, fitted: xr.DataTree, *, n_draws: int = 500, random_seed: int | None = None
) -> xr.DataTree:
    r"""Draws of the prior, and draws of the data from the prior and from the posterior.

    A posterior predictive draw of the data is :math:`y' \sim p(y' \mid \theta)` with
    :math:`\theta` a draw of the fit: what other judgments of the same documents would be, were the
    model true. The model need not hold the data: what :func:`bayeseval.fit` observed is observed
    here too.

    Parameters
    ----------
    model : pymc.Model
        The model that was fitted; it is not changed.
    fitted : DataTree
        What :func:`bayeseval.fit` returned, by a sampler or by an approximation.
    n_draws : int
        Draws of the prior, and at most as many of the fit, evenly spaced along its chains; one of
        each chain at least.
    random_seed : int, optional
        Seed.

    Returns
    -------
    DataTree
        Groups prior and prior_predictive (over chain and draw), posterior and posterior_predictive
        (over the same chains and draws), observed_data.

    Raises
    ------
    ValueError
        ``n_draws`` below 1; a model without data; a fit of another model.

    Examples
    --------
    >>> import numpy as np, pymc as pm, xarray as xr, bayeseval as be
    >>> with pm.Model() as model:
    ...     known = pm.Data("judged_score", [0.2, 0.4])
    ...     score = pm.Normal("score", pm.Normal("mean", 0.0, 1.0), 0.1, shape=2)
    >>> fitted = xr.DataTree.from_dict(
    ...     {"posterior": xr.Dataset({"mean": (("chain", "draw"), np.full((2, 100), 0.3))})}
    ... )
    >>> drawn = be.inference.predictive_draws(model, fitted, n_draws=200, random_seed=1)
    >>> round(float(drawn["posterior_predictive/score"].mean()), 1)
    0.3
    >>> round(float(drawn["prior/mean"].std()), 0)
    1.0
    """
    import pymc as pm

    check_fit(fitted)
    check_whole_numbers(1, n_draws=n_draws)
    check_seed(random_seed)
    conditioned = _conditioned(model, fitted)
    data = [variable.name for variable in conditioned.observed_RVs]
    posterior = fitted["posterior"].to_dataset().drop_vars(data, errors="ignore")
    per_chain = max(n_draws // posterior.sizes["chain"], 1)
    posterior = posterior.isel(draw=slice(None, None, -(-posterior.sizes["draw"] // per_chain)))
    _check_same_model(conditioned, posterior)
    check_same_model(model, fitted)
    prior_seed, posterior_seed = map(int, np.random.SeedSequence(random_seed).generate_state(2))
    with _quiet():
        before = pm.sample_prior_predictive(
            n_draws, model=conditioned, random_seed=prior_seed, compile_kwargs=COMPILE
        )
        # An approximation has the effects but not always the deviations that they are made of.
        after = pm.sample_posterior_predictive(
            posterior,
            model=conditioned,
            freeze_vars=[str(name) for name in posterior if name in conditioned.named_vars],
            random_seed=posterior_seed,
            progressbar=False,
            compile_kwargs=COMPILE,
        )
    groups = {name: before[name].to_dataset() for name in ("prior", "prior_predictive")}
    groups |= {name: after[name].to_dataset() for name in ("posterior_predictive", "observed_data")}
    return xr.DataTree.from_dict(groups | {"posterior": posterior})


def prior_fit(
    model,
    *,
    draws: int = 500,
    variables: Sequence[str] | None = None,
    random_seed: int | None = None,
) -> xr.DataTree:
    """Draws of the prior in the form of a fit: the model before it has seen judgments.

    :func:`bayeseval.posterior_scores` of it gives the prior of any score, given the judgments that
    the collection holds: with few of them, a check of whether the priors say what they should.

    Parameters
    ----------
    model : pymc.Model
        Such as :func:`bayeseval.models.relevance_model` makes; it is not changed.
    draws : int
        Number of draws, in one chain.
    variables : sequence of str, optional
        Names of the variables to draw, by default all.
    random_seed : int, optional
        Seed.

    Returns
    -------
    DataTree
        Groups posterior (which holds draws of the prior) and constant_data; attr ``prior``.

    Raises
    ------
    ValueError
        ``draws`` below 1.

    Examples
    --------
    >>> import pymc as pm, bayeseval as be
    >>> with pm.Model() as model:
    ...     mean = pm.Normal("mean", 0.0, 1.0)
    >>> round(float(be.inference.prior_fit(model, random_seed=1)["posterior/mean"].std()), 0)
    1.0
    """
    import pymc as pm

    check_whole_numbers(1, draws=draws)
    check_seed(random_seed)
    (seed,) = map(int, np.random.SeedSequence(random_seed).generate_state(1))
    with _quiet():
        drawn = pm.sample_prior_predictive(
            draws, model=model, var_names=variables, random_seed=seed, compile_kwargs=COMPILE
        )
    groups = {"posterior": drawn["prior"].to_dataset()}
    if "constant_data" in drawn.children:
        groups["constant_data"] = drawn["constant_data"].to_dataset()
    made = xr.DataTree.from_dict(groups)
    made.attrs["prior"] = 1
    return made


def _conditioned(model, fitted: xr.DataTree):
    """The model with what the fit observed, else with its own data."""
    import pymc as pm

    known: dict[Any, Any] = known_values(model)
    if "observed_data" in fitted.children:
        observed = fitted["observed_data"].to_dataset()
        free = {variable.name for variable in model.free_RVs}
        known |= {str(name): observed[name].to_numpy() for name in observed if name in free}
    conditioned = pm.observe(model, known) if known else model
    if not conditioned.observed_RVs:
        raise ValueError("nothing in the model is observed, so it predicts no data")
    return conditioned


def _check_same_model(model, posterior: xr.Dataset) -> None:
    """Refuse a fit that has no draws of anything in the model, or draws of another shape."""
    sizes = model.eval_rv_shapes()
    known = [name for name in posterior.data_vars if name in sizes]
    if not known:
        raise ValueError("the fit has draws of no variable of this model; give the model it is of")
    for name in known:
        shape = posterior[name].transpose("chain", "draw", ...).shape[2:]
        expected = tuple(map(int, sizes[name]))
        if shape != expected:
            raise ValueError(
                f"draws of '{name}' have the shape {shape} and this model's have {expected}; give "
                "the model that was fitted"
            )


@contextmanager
def _quiet() -> Iterator[None]:
    """No lines of what is sampled, no warning of random draws that numba does not compile."""
    log = logging.getLogger("pymc.sampling.forward")
    level = log.level
    log.setLevel(logging.WARNING)
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message=".*object mode.*", category=UserWarning)
            yield
    finally:
        log.setLevel(level)


def prior_overlap(drawn: xr.DataTree) -> xr.Dataset:
    r"""Overlap of the prior and the posterior of the parameters of a model, and how far they lie.

    .. math:: overlap = \int \min(p(\theta), p(\theta \mid y)) \, d\theta, \quad
              contraction = 1 - \frac{Var(\theta \mid y)}{Var(\theta)}, \quad
              shift = \frac{E(\theta \mid y) - E(\theta)}{\sqrt{Var(\theta)}}

    An overlap near 1 with a contraction near 0 is a parameter of which the data say nothing: what
    is reported is the prior. Of the urn, logit q and log w are often like that and their contrast
    is not. The densities are histograms of 30 bins with as many of all draws in each: equal
    distributions have an overlap of some .9 with 500 draws of each, not of 1.

    A shift beyond 2 or so says that the data put the parameter where its prior expects next to
    nothing: over data drawn from the prior the mean of the squared shift is that of the
    contraction, 1 at most. Overlap and contraction do not tell this from a parameter that is known
    well. The prior then still pulls at what the data say: fit with a wider one (``priors=``) and
    see what the scores do.

    Parameters are the variables without dims, and the entries of those with 8 at most, but for
    entries of runs and topics.

    What is random: the draws. Cost: none to speak of.

    Parameters
    ----------
    drawn : DataTree
        With the groups prior and posterior, as :func:`bayeseval.inference.predictive_draws` gives
        it.

    Returns
    -------
    Dataset
        ``overlap``, ``contraction``, ``shift``, and mean and standard deviation under the prior
        and the posterior, over ``variable`` (an entry is ``name[label]``).

    Raises
    ------
    ValueError
        A group that is not there.

    References
    ----------
    Garrett and Zeger, "Latent class model diagnosis", Biometrics 56 (2000), on the overlap as a
    sign of weak identification. Gelfand and Sahu, JASA 94 (1999). Evans and Moshonov, "Checking for
    prior-data conflict", Bayesian Analysis 1 (2006).

    Examples
    --------
    >>> import numpy as np, xarray as xr, bayeseval as be
    >>> random = np.random.default_rng(1)
    >>> draws = {name: random.normal(0, sd, (1, 500)) for name, sd in (("a", 1), ("b", 0.1))}
    >>> wide = {name: (("chain", "draw"), random.normal(size=(1, 500))) for name in draws}
    >>> narrow = {name: (("chain", "draw"), values) for name, values in draws.items()}
    >>> groups = {"prior": xr.Dataset(wide), "posterior": xr.Dataset(narrow)}
    >>> be.inference.prior_overlap(xr.DataTree.from_dict(groups)).overlap.values.round(1)
    array([0.9, 0.2])
    """
    for group in ("prior", "posterior"):
        if group not in drawn.children:
            raise ValueError(f"there is no group '{group}'; give the draws of predictive_draws")
    prior, posterior = (drawn[group].to_dataset() for group in ("prior", "posterior"))
    before, after = _entries(prior), _entries(posterior)
    names = [name for name in after if name in before]
    pairs = [(before[name], after[name]) for name in names]
    variance = [(float(np.var(a, ddof=1)), float(np.var(b, ddof=1))) for a, b in pairs]
    columns = {
        "overlap": [_overlap(a, b) for a, b in pairs],
        "contraction": [1.0 - b / a if a > 0 else np.nan for a, b in variance],
        "shift": [_shift(a, b) for a, b in pairs],
        "prior_mean": [a.mean() for a, _ in pairs],
        "prior_sd": [a**0.5 for a, _ in variance],
        "posterior_mean": [b.mean() for _, b in pairs],
        "posterior_sd": [b**0.5 for _, b in variance],
    }
    variables = {name: ("variable", np.array(values)) for name, values in columns.items()}
    return xr.Dataset(variables, coords={"variable": names})


def _entries(draws: xr.Dataset) -> dict[str, NDArray[np.float64]]:
    """Draws of each parameter, and of each entry of those that have few, by name."""
    by_entry = {}
    for name, values in draws.data_vars.items():
        own = [str(dim) for dim in values.dims if dim not in ("chain", "draw")]
        shape = tuple(values.sizes[dim] for dim in own)
        if np.prod(shape) > FEW_ENTRIES or not {"run", "topic"}.isdisjoint(own):
            continue
        entries = values.transpose(*own, "chain", "draw").to_numpy()
        for at in np.ndindex(shape):
            labels = [str(values[dim].to_numpy()[i]) for dim, i in zip(own, at, strict=True)]
            by_entry[f"{name}[{', '.join(labels)}]" if own else str(name)] = entries[at].ravel()
    return by_entry


def _shift(before: NDArray[np.float64], after: NDArray[np.float64]) -> float:
    """Distance of the means in standard deviations of the first."""
    spread = float(before.std(ddof=1))
    return float(after.mean() - before.mean()) / spread if spread > 0 else np.nan


def _overlap(before: NDArray[np.float64], after: NDArray[np.float64]) -> float:
    """Sum over bins of the smaller of the two shares."""
    share = np.concatenate([np.full(x.size, 0.5 / x.size) for x in (before, after)])
    values = np.concatenate([before, after])
    order = np.argsort(values)
    reached = np.searchsorted(np.cumsum(share[order]), np.arange(1, 30) / 30)
    edges = values[order][reached]
    counts = [
        np.bincount(np.searchsorted(edges, x), minlength=30) / x.size for x in (before, after)
    ]
    return float(np.minimum(*counts).sum())
