"""Collections cut from the real ones: some runs by chance, relevance from a grade on."""

from functools import cache

import numpy as np
import xarray as xr

import bayeseval as be
from bayeseval.collection import with_node
from benchmarks.coverage_collections import clef
from benchmarks.real_data import round5, trec_covid
from benchmarks.webber_park_2009 import two_stages

WHOLE = {
    "round 5": round5,
    "round 1": lambda: two_stages(trec_covid())[0],
    "clef": clef,
}


def real_cut(name: str, n_runs: int, relevance_level: int, seed: int) -> xr.DataTree:
    """Some runs of a real collection, all of which contributed; grades are 0 and 1."""
    collection = _whole(name)
    random = np.random.default_rng(seed)
    runs = random.choice(collection["run"].to_numpy(), n_runs, replace=False).tolist()
    some = be.select(collection, runs=runs)
    some = some.assign(contributed=xr.ones_like(some["contributed"]))
    judgments = some["judgments"].to_dataset(inherit=False)
    relevant = (judgments["grade"] >= relevance_level).astype("float32")
    return with_node(
        some, "judgments", judgments.assign(grade=relevant.where(judgments["grade"].notnull()))
    )


@cache
def _whole(name: str) -> xr.DataTree:
    return WHOLE[name]()
