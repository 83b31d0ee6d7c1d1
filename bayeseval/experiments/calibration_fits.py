"""Many fits of models that differ in their data alone, compiled once."""

from typing import Any

import numpy as np
import xarray as xr

from bayeseval.inference.sampling import known_values


class RepeatedFits:
    """Fits of one model to many data sets of one shape, by nutpie, with one compilation.

    Compiling a model takes many times what sampling a small one does, and a change of the data
    alone compiles it again, as arrays in its graph are constants. Here the arrays of the first
    model (whatever has more than one entry: data, observed values, constants) become shared
    variables, which later models fill. A later model must have the same graph: constants of the
    same number, order, shapes and types, and single numbers of the same values.

    Sampler, adaptation and starting points are those of :func:`bayeseval.fit`; the draws differ,
    as its seeds are made in another way. For calibration, where the same model is fitted hundreds
    of times; a single fit is :func:`bayeseval.fit`'s, with its checks.

    Parameters
    ----------
    draws, tune, chains : int
        As for :func:`bayeseval.fit`.

    Examples
    --------
    >>> import pymc as pm, bayeseval as be
    >>> def model(values):
    ...     with pm.Model() as built:
    ...         pm.Data("judged_score", values)
    ...         pm.Normal("score", pm.Normal("mean", 0.0, 1.0), 0.1, shape=3)
    ...     return built
    >>> fits = be.experiments.RepeatedFits(draws=200, tune=200, chains=2)
    >>> means = [fits(model([v, v, v]), random_seed=1)["posterior/mean"].mean() for v in (0.0, 1.0)]
    >>> [abs(round(float(mean), 1)) for mean in means]
    [0.0, 1.0]
    """

    def __init__(self, *, draws: int, tune: int, chains: int) -> None:
        self._request: dict[str, Any] = {"draws": draws, "tune": tune, "chains": chains}
        self._compiled: Any = None
        self._first: list[np.ndarray] = []

    def __call__(self, model, *, random_seed: int) -> xr.DataTree:
        """Draws of the posterior of a model, as :func:`bayeseval.fit` returns them.

        Parameters
        ----------
        model : pymc.Model
            With the graph of the first.
        random_seed : int
            Seed of the sampler.

        Returns
        -------
        DataTree
            The draws.

        Raises
        ------
        ValueError
            A model with another graph than the first.
        """
        import nutpie

        graph, constants = _opened(model)
        values = [np.asarray(constant.data) for constant in constants]
        if self._compiled is None:
            self._compiled = nutpie.compile_pymc_model(_with_shared_arrays(graph, constants))
            self._first = values
        _check_same(self._first, values)
        known = {str(variable.name) for variable in self._compiled.shared_var_keys}
        known -= model.coords.keys()  # lengths of dims: those of the first model
        given = {_name(place): value for place, value in enumerate(values)}
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


def _opened(model) -> tuple[Any, list[Any]]:
    """Graph of a model whose known values are observed, and its constants in a fixed order."""
    import pymc as pm
    from pymc.model.fgraph import fgraph_from_model
    from pytensor.graph.traversal import ancestors
    from pytensor.tensor.variable import TensorConstant

    known: dict[Any, Any] = known_values(model)
    graph, _ = fgraph_from_model(pm.observe(model, known))
    constants = [v for v in ancestors(graph.outputs) if isinstance(v, TensorConstant)]
    return graph, list({id(constant): constant for constant in constants}.values())


def _with_shared_arrays(graph, constants) -> Any:
    """Model in whose graph arrays are shared variables, named by their place."""
    from pymc.model.fgraph import model_from_fgraph
    from pytensor.compile.sharedvalue import shared

    replaced = []
    for place, constant in enumerate(constants):
        value = np.array(constant.data)
        if value.size > 1:
            variable = shared(value, name=_name(place), shape=value.shape)
            replaced.append((constant, variable))
    graph.replace_all(replaced, import_missing=True)
    return model_from_fgraph(graph, mutate_fgraph=True)


def _name(place: int) -> str:
    return f"constant_{place}"


def _check_same(first: list[np.ndarray], values: list[np.ndarray]) -> None:
    """Refuse a graph that the compiled one does not stand for."""
    for place, (old, new) in enumerate(zip(first, values, strict=False)):
        if old.shape != new.shape or old.dtype != new.dtype:
            raise ValueError(
                f"constant {place} of the model is {new.dtype} {new.shape} and was {old.dtype} "
                f"{old.shape}; repeated fits need data of one shape"
            )
        if old.size == 1 and not np.array_equal(old, new):
            raise ValueError(
                f"number {place} of the model is {new.item()} and was {old.item()}; repeated fits "
                "may differ in arrays only"
            )
    if len(first) != len(values):
        raise ValueError(f"the model has {len(values)} constants and the first had {len(first)}")


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
