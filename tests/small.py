"""Small collections and designs whose every sample can be listed."""

import itertools

import numpy as np
import pandas as pd
import xarray as xr

import bayeseval as be

GRADES = {
    "1": [2, 0, 1, 1, 0, 0, 2, 0, 1],
    "2": [0, 1, 0, 0, 1, 0, 0, 1],
}
ORDERS = {
    "a": {"1": [0, 2, 1, 3, 4, 6, 5, 8, 7], "2": [1, 0, 4, 2, 3, 7, 6, 5]},
    "b": {"1": [8, 6, 7, 0, 1, 5, 4, 3, 2], "2": [7, 6, 5, 4, 3, 2]},
    "c": {"1": [3, 0, 4, 2], "2": [2, 7, 1, 5, 0]},
}


def small_collection() -> xr.DataTree:
    """Two topics with 9 and 8 judged documents, three runs, some of them short."""
    qrels = pd.DataFrame(
        [(t, f"d{i}", g) for t, grades in GRADES.items() for i, g in enumerate(grades)],
        columns=["topic", "document", "grade"],
    )
    runs = pd.DataFrame(
        [
            (run, t, f"d{i}", -rank)
            for run, topics in ORDERS.items()
            for t, order in topics.items()
            for rank, i in enumerate(order)
        ],
        columns=["run", "topic", "document", "score"],
    )
    collection = be.read_collection(qrels, runs)
    rng = np.random.default_rng(5)
    n_pairs = collection.sizes["pair"]
    columns = xr.Dataset(
        {
            "llm": ("pair", rng.uniform(size=n_pairs)),
            "labels": ("pair", rng.integers(0, 3, n_pairs).astype(float)),
        }
    )
    collection["predictors"] = xr.DataTree(columns)
    return collection


def every_stratified_sample(design: xr.Dataset) -> xr.DataArray:
    """All samples of a stratified design, equally likely, as replicates."""
    stratum = design["stratum"].to_numpy()
    choices = [
        list(itertools.combinations(np.flatnonzero(stratum == number), int(drawn)))
        for number, drawn in enumerate(design["stratum_sample_size"].to_numpy())
    ]
    samples = list(itertools.product(*choices))
    selected = np.zeros((len(samples), stratum.size), dtype=bool)
    for row, sample in zip(selected, samples, strict=True):
        row[list(itertools.chain.from_iterable(sample))] = True
    return xr.DataArray(selected, dims=("replicate", "pair"))


def every_order(collection: xr.DataTree, order: xr.Dataset, budget) -> xr.DataTree:
    """All samples that lists of a length can hold, equally likely, as replicates."""
    begun = be.reveal(collection, order, be.draw(order, budget=budget))
    drawn = begun["design/stratum_sample_size"].to_numpy()
    samples = every_stratified_sample(order.assign(stratum_sample_size=("stratum_id", drawn)))
    return be.reveal(collection, order, samples)


def every_poisson_sample(design: xr.Dataset) -> tuple[xr.DataArray, xr.DataArray]:
    """All samples of a Poisson design as replicates, and their probabilities."""
    probability = design["inclusion_probability"].to_numpy()
    free = np.flatnonzero((probability > 0) & (probability < 1))
    selected = np.zeros((2**free.size, probability.size), dtype=bool)
    selected[:, probability == 1] = True
    selected[:, free] = list(itertools.product([False, True], repeat=free.size))
    chance = np.where(selected[:, free], probability[free], 1 - probability[free]).prod(axis=1)
    return xr.DataArray(selected, dims=("replicate", "pair")), xr.DataArray(
        chance, dims="replicate"
    )


def sample(collection, design="pps_strata", *, seed=1, n_replicates=None, **options) -> xr.DataTree:
    """Collection with the judgments that a draw from the design of this name and options asks."""
    made = getattr(be.designs, design)(collection, **options)
    return be.reveal(collection, made, be.draw(made, n_replicates=n_replicates, random_seed=seed))


def with_labels(collection, wrong: float, seed: int) -> xr.DataTree:
    """Collection with the labels "judge" of relevance, a share of which is wrong."""
    relevant = collection["judgments/grade"].to_numpy() > 0
    is_wrong = np.random.default_rng(seed).random(relevant.size) < wrong
    names = {"topic": collection["topic"].to_numpy()[collection["pair_topic"].to_numpy()]}
    labels = {"document": collection["document"].to_numpy(), "label": relevant ^ is_wrong}
    table = pd.DataFrame(names | labels).astype({"label": float})
    return be.add_predictions(collection, "judge", table)
