"""Small collections for dynamic sampling, and every way that its stages can go."""

import itertools

import numpy as np
import pandas as pd
import xarray as xr

import bayeseval as be
from bayeseval.designs.dynamic import (
    StagedSample,
    empty_sample,
    opened_stage,
    planned,
    staged_design,
)

OPTIONS = {
    "relevance_level": 1,
    "budget": 8,
    "n_strata": 4,
    "frame": None,
    "pool_depth": None,
    "prior": 0.4,
    "runs": None,
}


def toy() -> xr.DataTree:
    """One topic, 15 judged documents, three runs; strata of 2, 3, 4 and 6 documents, two drawn."""
    random = np.random.default_rng(39)
    names = np.array([f"d{number:02d}" for number in range(15)])
    grades = random.choice([0, 0, 1, 1, 2], 15)
    orders = {run: names[random.permutation(15)[:n]] for run, n in (("a", 12), ("b", 15), ("c", 9))}
    qrels = pd.DataFrame({"topic": "1", "document": names, "grade": grades})
    runs = [
        pd.DataFrame({"run": run, "topic": "1", "document": order, "score": -np.arange(order.size)})
        for run, order in orders.items()
    ]
    return be.read_collection(qrels, pd.concat(runs))


def any_logit(frame, judged, relevant) -> np.ndarray:
    """A model as capricious as can be: any function of the judgments will do."""
    return np.random.default_rng([*judged, *relevant.astype(int)]).normal(size=frame.pair.size)


def every_sample(plan, relevant, n_stages, sample=None, stage=0):
    """All ways the stages can go: samples that share their strata, as (opened, selected list)."""
    sample = empty_sample(plan) if sample is None else sample
    opened = opened_stage(plan, sample, stage, relevant)
    numbers = np.flatnonzero(plan.stage == stage)
    ways = [
        itertools.combinations(np.flatnonzero(opened.stratum == number), int(plan.drawn[number]))
        for number in numbers
    ]
    outcomes = []
    for way in itertools.product(*ways):
        selected = opened.selected.copy()
        selected[list(itertools.chain.from_iterable(way))] = True
        outcomes.append(selected)
    if stage + 1 == n_stages:
        yield opened, np.array(outcomes)
        return
    for selected in outcomes:
        further = StagedSample(opened.stratum, selected, opened.predicted)
        yield from every_sample(plan, relevant, n_stages, further, stage + 1)


def enumerated(collection, n_stages: int, aim: str) -> list[xr.DataTree]:
    """Collections that together hold every sample once; all samples are equally likely."""
    parameters, plan = planned(collection, n_stages=n_stages, aim=aim, **OPTIONS)
    relevant = collection["judgments/grade"].to_numpy()[plan.frame.pair] >= 1
    trees = []
    for opened, outcomes in every_sample(plan, relevant, n_stages):
        design = staged_design(collection, plan, opened, n_stages, parameters, None)
        selected = np.zeros((len(outcomes), collection.sizes["pair"]), dtype=bool)
        selected[:, plan.frame.pair] = outcomes
        chosen = xr.DataArray(selected, dims=("replicate", "pair"))
        trees.append(
            be.designs.with_stage_predictions(be.reveal(collection, design, chosen), design)
        )
    return trees


def dynamic_sample(collection: xr.DataTree, **options) -> xr.Dataset:
    """All stages of a dynamic sample, simulated on a collection with complete judgments."""
    design, options = None, {"frame": "judged"} | options
    while design is None or design.attrs["stages_left"]:
        design = be.designs.dynamic_stage(collection, design, **options)
    return design


def urn_toy() -> xr.DataTree:
    """Four topics of 300, 200, 100 and 6 documents, four runs."""
    return be.simulate.urn_collection(
        [0.02, 0.05, 0.1, 0.5],
        n_topics=4,
        n_documents=[300, 200, 100, 6],
        n_relevant=[40, 60, 10, 2],
        random_seed=3,
    )
