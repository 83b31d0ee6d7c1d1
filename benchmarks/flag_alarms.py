"""How often ``be.compare_intervals`` flags runs whose judgments the model itself has made.

``run`` fits the relevance model to a sample of each collection of ``coverage_collections``, draws
one world from its posterior (the relevance of every document that has a judgment), samples that
world with 20 pps strata anew, fits again and compares: every flag is then a false alarm. Half of
the runs contribute, and the others are new but as modelled. One row a world, measure and role of
runs in combined_intervals/alarms.csv; rows that are there are not made again.
"""

import argparse
import os
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import xarray as xr

import bayeseval as be
from bayeseval.collection import with_node
from bayeseval.models.relevance.draws import RelevanceDraws
from benchmarks.combined_intervals import MEASURES, RESULTS, whole
from benchmarks.coverage_collections import COLLECTIONS
from benchmarks.real_data import REAL_DATA

ALARMS = RESULTS.with_name("alarms.csv")
BUDGET = 100
HOW = {"approximation": "laplace", "draws": 100}
RELEVANT = 1


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--collection", action="append", choices=list(COLLECTIONS))
    parser.add_argument("--worlds", type=int, default=5)
    parser.add_argument("--first", type=int, default=1, help="seed of the first world")
    parser.add_argument("--chunks", type=Path, default=Path("combination-output"))
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    options.chunks.mkdir(exist_ok=True)
    known = pd.read_csv(ALARMS) if ALARMS.exists() else pd.DataFrame()
    done = set(zip(known["collection"], known["world"], strict=True)) if len(known) else set()
    for seed in range(options.first, options.first + options.worlds):
        for name in options.collection or list(COLLECTIONS):
            if (name, seed) in done or (COLLECTIONS[name][1] and not os.environ.get(REAL_DATA)):
                continue
            rows = pd.DataFrame(alarms(whole(name, options.chunks), seed))
            rows = rows.assign(collection=name, world=seed)
            rows.to_csv(ALARMS, mode="a", header=not ALARMS.exists(), index=False)
            print(name, seed, flush=True)
    table = pd.read_csv(ALARMS)
    table["any"] = table["flagged"] > 0
    shares = table.groupby(["measure", "role"])[["flagged", "below", "any"]].agg(["mean", "sem"])
    print(shares.to_string(float_format="%.3f"))


def alarms(collection: xr.DataTree, seed: int) -> list[dict]:
    """Share of runs flagged, and with p values below .05, in one world, by measure and role."""
    labels = collection["run"].to_numpy()
    real = ~np.char.endswith(labels.astype(str), "~dual")
    collection = be.select(collection, runs=labels[real].tolist())
    sampled, fitted = _sampled_and_fitted(collection, seed)
    world = drawn_world(collection, sampled, fitted, seed)
    sampled, fitted = _sampled_and_fitted(world, seed + 10_000)
    post = be.posterior_scores(fitted, sampled, MEASURES, random_seed=seed)
    mean = be.mean_over_topics(be.evaluate(sampled, MEASURES, estimator="dyn"))
    table = be.compare_intervals(mean, be.summarize(post))
    role = np.where(collection["contributed"], "contributed", "new")
    rows = []
    for label in MEASURES:
        one = table.sel(measure=label)
        for name in ("contributed", "new"):
            chosen = np.flatnonzero(role == name)
            flagged, p_value = (one[k].to_numpy()[chosen] for k in ("flagged", "p_value"))
            shares = {"flagged": flagged.mean(), "below": (p_value < 0.05).mean()}
            rows.append({"measure": label, "role": name, "runs": chosen.size} | shares)
    return rows


def drawn_world(collection: xr.DataTree, sampled, fitted, seed: int) -> xr.DataTree:
    """Collection whose judged documents have the relevance of one draw of the posterior."""
    draws = RelevanceDraws(fitted, sampled, seed)
    random = np.random.default_rng(seed)
    number = int(random.integers(draws.n_draws))
    node = collection.children["judgments"].to_dataset(inherit=False)
    grade = node["grade"].to_numpy().copy()
    topic = collection["pair_topic"].to_numpy()
    for position in range(collection.sizes["topic"]):
        pairs = np.flatnonzero(topic == position)
        judged = np.flatnonzero(~np.isnan(grade[pairs]))
        share = draws.shares(position, judged)[:, number]
        grade[pairs[judged]] = np.where(random.random(share.size) < share, RELEVANT, 0)
    return with_node(collection, "judgments", node.assign(grade=("pair", grade)))


def _sampled_and_fitted(collection: xr.DataTree, seed: int) -> tuple[xr.DataTree, xr.DataTree]:
    """A sample of judgments, and the fit to it."""
    design = be.designs.pps_strata(collection, budget=BUDGET)
    sampled = be.reveal(collection, design, be.draw(design, random_seed=seed))
    return sampled, be.fit(be.models.relevance_model(sampled), **HOW, random_seed=seed)


if __name__ == "__main__":
    main()
