"""Deterministic designs: pools."""

import numpy as np
import xarray as xr

from bayeseval.collection import check_collection
from bayeseval.designs.frame import contributing_runs, pooled_by
from bayeseval.designs.stratified import labelled_design


def depth_pool(
    collection: xr.DataTree, pool_depth: int, *, runs: list[str] | None = None
) -> xr.Dataset:
    """Design that judges what any contributing run ranks at ``pool_depth`` or above.

    Nothing is random: a document is judged or never is, so neither ``stat`` nor ``dyn`` exists and
    estimates carry a bias that the design says nothing about.

    Parameters
    ----------
    collection : DataTree
        Rankings.
    pool_depth : int
        Ranks that each run contributes.
    runs : list of str, optional
        Runs that form the pool instead of the contributing ones.

    Returns
    -------
    Dataset
        ``inclusion_probability`` 1 in the pool and 0 outside; scheme "deterministic".

    Raises
    ------
    ValueError
        ``pool_depth`` below 1, no contributing run, an unknown run.

    Examples
    --------
    >>> import pandas as pd, bayeseval as be
    >>> run = pd.DataFrame({"run": "a", "topic": "1", "document": list("abcd")})
    >>> collection = be.read_collection(None, run.assign(score=[4, 3, 2, 1]))
    >>> be.designs.depth_pool(collection, 2).inclusion_probability.values
    array([1., 1., 0., 0.])
    """
    check_collection(collection)
    chosen = contributing_runs(collection, runs)
    ranking = collection["rankings/ranking"].to_numpy()[chosen]
    pool = pooled_by(ranking, collection.sizes["pair"], pool_depth)
    return labelled_design(
        collection,
        {
            "inclusion_probability": ("pair", pool.astype(float)),
            "stratum": ("pair", np.full(pool.size, -1, dtype=np.int32)),
            "stratum_size": ("stratum_id", np.zeros(0, dtype=np.int64)),
            "stratum_sample_size": ("stratum_id", np.zeros(0, dtype=np.int64)),
            "stratum_topic": ("stratum_id", np.zeros(0, dtype=np.int32)),
        },
        scheme="deterministic",
        name="depth_pool",
        parameters={
            "pool_depth": int(pool_depth),
            "runs": collection["run"].to_numpy()[chosen].tolist(),
        },
    )
