"""Posterior draws of a model: the only place that calls a sampler for users."""

import importlib.util
import signal
import sys
import threading
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Literal

import numpy as np
import xarray as xr

from bayeseval.collection.choices import check_whole_numbers
from bayeseval.inference.verdict import verdict, verdict_text
from bayeseval.messages import warn
from bayeseval.models.identity import added_and_missing, changed_parts
from bayeseval.models.relevance.laplace import laplace
from bayeseval.models.table import DOCUMENT_MODELS, kind_of
from bayeseval.processors import usable_processors

KNOWN = "judged_"  # data of this name and then X is what is known of the variable X
SAMPLERS = {  # and the packages that each needs
    "nutpie": (),
    "pymc": (),
    "numpyro": ("jax", "numpyro"),
}


class SamplerWarning(UserWarning):
    """A sampler that did not pass its checks."""


def fit(
    model,
    *,
    draws: int = 1000,
    tune: int = 1000,
    chains: int = 4,
    random_seed: int,
    approximation: Literal["laplace"] | None = None,
    observed: Mapping[str, Any] | None = None,
    sample_kwargs: Mapping[str, Any] | None = None,
) -> xr.DataTree:
    """Posterior draws of a model by the no-U-turn sampler.

    The data ``judged_NAME`` of the model are first observed as the values of its variable ``NAME``,
    or ``observed`` gives others (those of a simulation, say).

    Parameters
    ----------
    model : pymc.Model
        Such as :func:`bayeseval.models.relevance_model` makes; it is not changed.
    draws, tune, chains : int
        Draws that are kept and steps of adaptation, per chain. The defaults give 4,000 draws.
    random_seed : int
    approximation : {"laplace"}, optional
        Of ``relevance_model`` and ``grade_model``: a normal distribution at the posterior's mode,
        corrected by short chains, in seconds, with ``draws`` times ``chains`` draws in one chain,
        of which far fewer are independent.
    observed : dict of variable -> values, optional
        Values to observe instead of the model's data.
    sample_kwargs : dict, optional
        Further arguments of ``pymc.sample``: ``cores``; ``progressbar`` (default: on a terminal);
        ``nuts``, such as ``{"target_accept": 0.95}``; ``nuts_sampler``, "nutpie" (default), "pymc"
        or "numpyro", which needs jax and numpyro and cannot sample the urn model (on one GPU, all
        chains run at once by ``nuts={"chain_method": "vectorized"}``).

    Returns
    -------
    DataTree
        Groups posterior, sample_stats, observed_data and constant_data, ready for ArviZ and for
        :func:`bayeseval.posterior_scores`; of an approximation posterior and constant_data, and of
        the posterior the effects without the deviations that the sampler needs.

    Raises
    ------
    ValueError
        An unknown sampler, approximation or option; an approximation whose chains would need very
        short steps; nothing observed; values in ``observed`` of what the model does not have, of
        another shape or impossible; a discrete parameter; numbers that are not whole or too small.
    TypeError
        Something else than a model.
    NotImplementedError
        A model that the sampler cannot compute, such as the urn by numpyro.
    RuntimeError
        A broken sampler: it fell back on Metropolis, some draws are not finite, a parameter never
        moved, chains do not agree at all (r_hat above 1.5), or a fifth of the draws diverged.

    Warns
    -----
    UserWarning
        Where the sampler ran but :func:`bayeseval.verdict` finds fault with it.

    References
    ----------
    Hoffman and Gelman, "The no-U-turn sampler", JMLR 15 (2014). Seyboldt, Carlson and Carpenter,
    "Preconditioning Hamiltonian Monte Carlo by minimizing Fisher divergence" (2026), on nutpie.

    Examples
    --------
    >>> import pymc as pm, bayeseval as be
    >>> with pm.Model() as model:
    ...     known = pm.Data("judged_score", [0.2, 0.4, 0.3])
    ...     score = pm.Normal("score", pm.Normal("mean", 0.0, 1.0), 0.1, shape=3)
    >>> fitted = be.fit(model, random_seed=1)
    >>> round(float(fitted["posterior/mean"].mean()), 1)
    0.3
    """
    import pymc as pm

    options = dict(sample_kwargs or {})
    sampler, cores = options.pop("nuts_sampler", "nutpie"), options.pop("cores", None)
    _check_request(model, sampler)
    check_whole_numbers(1, draws=draws, chains=chains, cores=1 if cores is None else cores)
    check_whole_numbers(0, tune=tune, random_seed=random_seed)
    known: dict[Any, Any] = known_values(model)
    if observed is not None:
        known = _checked_values(model, observed)
    if approximation is not None:
        if sample_kwargs:
            raise ValueError("sample_kwargs are of a sampler, and an approximation takes none")
        return _approximated(model, known, approximation, draws * chains, random_seed)
    conditioned = pm.observe(model, known) if known else model
    _check_model(conditioned)
    on_terminal = sys.stderr is not None and sys.stderr.isatty()  # no stderr without a console
    options = {"progressbar": on_terminal, "nuts": {}} | options
    with warnings.catch_warnings(), _interruptible(), _named_sampler(sampler):
        warnings.filterwarnings("ignore", message=".*object mode.*", category=UserWarning)
        fitted = pm.sample(
            draws=draws,
            tune=tune,
            chains=chains,
            cores=min(chains, usable_processors() if cores is None else cores),
            random_seed=random_seed,
            nuts_sampler=sampler,  # type: ignore[arg-type]
            **options,
            compute_convergence_checks=False,
            quiet=True,
            model=conditioned,
        )
    assert isinstance(fitted, xr.DataTree)
    fitted.attrs |= {"sampler": sampler, "seed": int(random_seed), "tune": int(tune)}
    changed = zip(("added", "missing"), added_and_missing(model), strict=True)
    fitted.attrs |= {word: ", ".join(names) for word, names in changed if names}
    found = _unbroken_verdict(fitted, [variable.name for variable in conditioned.free_RVs])
    if not found["passed"].all():
        text = f"the sampler did not pass: {verdict_text(found)}"
        warn(SamplerWarning(text))
    return fitted


@contextmanager
def _named_sampler(sampler: str) -> Iterator[None]:
    """Errors of a sampler in messages that name it."""
    try:
        yield
    except AttributeError as error:
        if "settings attribute" not in str(error):
            raise
        raise ValueError(f"sample_kwargs of sampler '{sampler}': {error}") from error
    except NotImplementedError as error:
        raise NotImplementedError(
            f"sampler '{sampler}' cannot compute this model ({error}); leave nuts_sampler "
            "out to use nutpie"
        ) from error


@contextmanager
def _interruptible() -> Iterator[None]:
    """Ctrl-C as a KeyboardInterrupt; nutpie takes it as a wish for the draws made so far."""
    handler = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(handler):
        yield
        return
    interrupts = []

    def noted(number, frame):
        interrupts.append(number)
        handler(number, frame)

    signal.signal(signal.SIGINT, noted)
    try:
        yield
    except Exception:
        if not interrupts:  # else a draw too few is what it complains of
            raise
    finally:
        signal.signal(signal.SIGINT, handler)
    if interrupts:
        raise KeyboardInterrupt


def _approximated(model, known, approximation: str, draws: int, random_seed: int) -> xr.DataTree:
    kind = kind_of(model)
    if approximation != "laplace":
        raise ValueError(f"approximation is {approximation!r}; allowed: 'laplace' or None")
    if kind is None or kind.judgment is None:
        raise ValueError(
            f"approximation={approximation!r} is made for {' and '.join(DOCUMENT_MODELS)}; this is "
            f"another model, which observes {', '.join(known) or 'nothing'}: leave approximation "
            "out"
        )
    changed = changed_parts(model)
    if changed:
        raise ValueError(
            f"approximation={approximation!r} knows the model as it was made, and this one has "
            f"been changed ({', '.join(changed)}): leave approximation out"
        )
    own = known_values(model)
    if known.keys() != own.keys():
        raise ValueError(
            f"approximation={approximation!r} needs the values of {' and '.join(own)} in observed, "
            f"and of nothing else; these are of {', '.join(known) or 'nothing'}"
        )
    n_states = len(model.coords.get("grade_value", (0, 1)))
    if not np.isin(known[kind.judgment], np.arange(n_states)).all():
        raise ValueError(
            f"the values of '{kind.judgment}' in observed must be from 0 to {n_states - 1}"
        )
    fitted = laplace(model, known, draws=draws, random_seed=random_seed)
    fitted.attrs |= {"approximation": approximation, "seed": int(random_seed)}
    return fitted


def _checked_values(model, observed) -> dict[Any, Any]:
    """Values to observe, of variables of the model, of their shapes and possible for them."""
    free = {variable.name: variable for variable in model.free_RVs}
    unknown = [str(name) for name in observed if name not in free]
    if unknown:
        raise ValueError(
            f"observed names '{unknown[0]}', and the model has no such variable; what be.fit "
            f"observes by itself: {', '.join(known_values(model)) or 'nothing'}"
        )
    shapes = model.eval_rv_shapes()
    known = {}
    for name, given in observed.items():
        values, expected = np.asarray(given), tuple(map(int, shapes[name]))
        if values.shape != expected:
            raise ValueError(
                f"the values of '{name}' in observed have the shape {values.shape}; the variable "
                f"has {expected}"
            )
        whole = free[name].dtype.startswith("int")
        if not np.isfinite(values).all() or (whole and (values != np.round(values)).any()):
            kind = "whole numbers" if whole else "finite numbers"
            raise ValueError(f"the values of '{name}' in observed must be {kind}")
        known[name] = values.astype(free[name].dtype)
    return known


def known_values(model) -> dict[str, Any]:
    """Values of the variables that the model's own data speak of."""
    data = {variable.name: variable for variable in model.data_vars}
    return {
        variable.name: data[KNOWN + variable.name].get_value().astype(variable.dtype)
        for variable in model.free_RVs
        if KNOWN + variable.name in data
    }


def _check_request(model, sampler: str) -> None:
    import pymc as pm

    if not isinstance(model, pm.Model):
        raise TypeError(
            f"model is a {type(model).__name__}; be.fit takes a pymc.Model, such as "
            "be.models.relevance_model(collection)"
        )
    if sampler not in SAMPLERS:
        raise ValueError(f"there is no sampler '{sampler}'; samplers: {', '.join(SAMPLERS)}")
    missing = [name for name in SAMPLERS[sampler] if importlib.util.find_spec(name) is None]
    if missing:
        raise ImportError(
            f"sampler '{sampler}' needs {' and '.join(missing)}, which this Python does not have; "
            f"pip install {' '.join(missing)}, or leave nuts_sampler out"
        )


def _check_model(model) -> None:
    """Refuse what the no-U-turn sampler cannot do before it is tried."""
    if not model.observed_RVs:
        raise ValueError(
            "nothing in the model is observed: give observed={variable: values}, or keep the "
            f"values in the model as data named {KNOWN} and the variable"
        )
    discrete = [variable.name for variable in model.free_RVs if variable.dtype.startswith("int")]
    if discrete:
        raise ValueError(
            f"variable '{discrete[0]}' is discrete and not observed, and the no-U-turn sampler "
            "needs gradients; sum it out, or observe it"
        )


def _unbroken_verdict(fitted: xr.DataTree, names: list[str]) -> xr.Dataset:
    """Verdict on the sampler, after refusing draws that no warning could make usable."""
    statistics = fitted.children["sample_stats"].to_dataset()
    if "diverging" not in statistics or "energy" not in statistics:
        raise RuntimeError(
            "the sampler was not the no-U-turn sampler: it fell back on another, which happens "
            "where the gradient of a variable is not implemented"
        )
    for name in names:
        values = fitted.children["posterior"].to_dataset()[name]
        if not np.isfinite(values.to_numpy()).all():
            raise RuntimeError(f"the sampler is broken: draws of '{name}' are not finite")
        if (values.std(["chain", "draw"], skipna=False) == 0).any():
            raise RuntimeError(f"the sampler is broken: a value of '{name}' never moved")
    share = float(statistics["diverging"].mean())
    if share > 0.2:
        raise RuntimeError(f"the sampler is broken: {share:.0%} of its draws diverged")
    result = verdict(fitted)
    worst = result.sel(check="r_hat")
    if float(worst["value"]) > 1.5:
        raise RuntimeError(
            f"the sampler is broken: its chains disagree on {worst['worst'].item()}, r_hat "
            f"{float(worst['value']):.2f}; with more draws and tune they may agree, or with "
            "another random_seed, which begins elsewhere"
        )
    return result
