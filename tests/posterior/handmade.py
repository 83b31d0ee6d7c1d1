"""Fits whose draws are chosen by hand: what a sampler would return, without one."""

import numpy as np
import pandas as pd
import xarray as xr

import bayeseval as be

SHAPE = (2, 1000)  # chain, draw


def collection_of_three(grades=(1, 0, 1, 0, 0, 1, 0, 0), runs: str = "abc") -> xr.DataTree:
    """Two topics with the same number of judged documents, three runs in some order."""
    half = len(grades) // 2
    rows = [(str(1 + i // half), f"d{i % half}", grade) for i, grade in enumerate(grades)]
    qrels = pd.DataFrame(rows, columns=["topic", "document", "grade"])
    orders = {"a": range(half), "b": range(half - 1, -1, -1), "c": (1, 0)}
    lists = pd.DataFrame(
        [
            (run, topic, f"d{i}", -rank)
            for run in runs
            for topic in "12"
            for rank, i in enumerate(orders[run])
        ],
        columns=["run", "topic", "document", "score"],
    )
    return be.read_collection(qrels, lists)


def half_judged(collection: xr.DataTree, budget: int = 2) -> xr.DataTree:
    """The same with ``budget`` documents of every topic judged."""
    design = be.designs.pps_strata(collection, budget=budget, n_strata=1)
    return be.reveal(collection, design, be.draw(design, random_seed=3))


def handmade_fit(model, random_seed: int = 1, **given) -> xr.DataTree:
    """Fit of a model with draws that are ``given``, or normal with a small spread."""
    random = np.random.default_rng(random_seed)
    dims = model.named_vars_to_dims
    coords = {name: np.array(labels) for name, labels in model.coords.items() if labels is not None}
    constant = {
        data.name: (dims.get(data.name) or (), data.get_value()) for data in model.data_vars
    }
    posterior = {}
    for variable in [*model.unobserved_RVs]:
        if variable.name in ("relevance", "grade") or variable.name.endswith("_label"):
            continue
        own = tuple(dims.get(variable.name) or ())
        shape = (*SHAPE, *(coords[dim].size for dim in own))
        draws = np.abs(random.normal(scale=0.3, size=shape))
        if variable.name in given:
            draws = np.broadcast_to(given[variable.name], shape)
        posterior[variable.name] = (("chain", "draw", *own), draws)

    def dataset(variables):
        used = {dim for names, _ in variables.values() for dim in names}
        return xr.Dataset(variables, coords={dim: coords[dim] for dim in used & coords.keys()})

    return xr.DataTree.from_dict(
        {"posterior": dataset(posterior), "constant_data": dataset(constant)}
    )
