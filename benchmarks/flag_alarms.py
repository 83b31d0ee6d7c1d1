"""What flags and errors are where the judgments are the model's own: worlds drawn from it.

The relevance model is fitted to a sample of each collection of ``coverage_collections``, one world
is drawn from its posterior (the relevance of every document that has a judgment), and that world is
sampled with 20 pps strata and fitted anew, with departures: every flag is then a false alarm, and
the false discovery rate is the share of worlds with any. The model's mean is the best estimate
there is, but for its priors and approximation, so that its RMS error over that of ``dyn`` is what a
model that is right would gain (``own``: AP by the model's own number of relevant documents). Half
of the runs contribute, and the others are new but as modelled. Worlds that are in ``--chunks`` are
not made again; the table is combined_intervals/alarms.csv, one row a world, measure and role of
runs. With ``--learn-from all`` worlds and fits are of models that learn from all runs (printed
alone).
"""

import argparse
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import xarray as xr

import bayeseval as be
from bayeseval.collection import with_node
from bayeseval.models.relevance.draws import RelevanceDraws
from bayeseval.posterior.modelled import learned_runs
from benchmarks.combined_intervals import MEASURES, RESULTS
from benchmarks.coverage_collections import COLLECTIONS, at_hand, roles, whole

ALARMS = RESULTS.with_name("alarms.csv")
BUDGET = 100
HOW = {"approximation": "laplace", "draws": 100}
RELEVANT = 1
LEARNED = {"design": "world", "all": "learned"}  # runs that are learned from, and names of worlds
ERRORS = {"mean": "dyn", "summary": "model", "own": "own", "combined": "combined"}  # parts, columns


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--collection", action="append", choices=list(COLLECTIONS))
    parser.add_argument("--worlds", type=int, default=5)
    parser.add_argument("--first", type=int, default=1, help="seed of the first world")
    parser.add_argument("--chunks", type=Path, default=Path("combination-output"))
    parser.add_argument("--learn-from", choices=list(LEARNED), default="design")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    options.chunks.mkdir(exist_ok=True)
    names = at_hand(options.collection or COLLECTIONS)
    for seed in range(options.first, options.first + options.worlds):
        for name in names:
            run(name, seed, options.chunks, options.learn_from)
    report(options.chunks, options.learn_from)


def run(name: str, seed: int, folder: Path, learn_from: str) -> None:
    """One world of one collection."""
    file = folder / f"{name}-{LEARNED[learn_from]}-{seed}.nc"
    if file.exists():
        return
    collection = whole(name, folder)
    real = ~roles(collection)["dual"]
    collection = be.select(collection, runs=collection["run"].to_numpy()[real].tolist())
    sampled, fitted = _sampled_and_fitted(collection, seed, learn_from)
    world = drawn_world(collection, sampled, fitted, seed)
    sampled, fitted = _sampled_and_fitted(world, seed + 10_000, learn_from)
    mean = be.mean_over_topics(be.evaluate(sampled, MEASURES, estimator="dyn"))
    truth = be.evaluate(world, MEASURES, estimator="assumed").estimate.mean("topic")
    parts = {"mean": mean.assign(truth=truth)}
    for part, denominator in (("summary", "counts"), ("own", "model")):
        post = be.posterior_scores(
            fitted, sampled, MEASURES, denominator=denominator, random_seed=seed
        )
        parts[part] = be.summarize(post)
        if part == "summary":
            parts["combined"] = be.combine(mean, post)
    tree = xr.DataTree.from_dict(parts)
    tree.attrs = {"collection": name, "world": seed}
    tree.to_netcdf(file, engine="h5netcdf")
    print(file.name, flush=True)


def report(folder: Path, learn_from: str) -> None:
    """Table of all worlds, and its sums."""
    rows = []
    for file in sorted(folder.glob(f"*-{LEARNED[learn_from]}-*.nc")):
        with xr.open_datatree(file, engine="h5netcdf") as tree:
            parts = {name: tree[name].to_dataset().load() for name in tree.children}
            attrs = dict(tree.attrs)
        if not parts.keys() >= ERRORS.keys():
            raise SystemExit(f"{file} is of a version before; delete it, and it is made anew")
        mean = parts["mean"]
        table = be.compare_intervals(mean, parts["summary"])
        role = np.where(mean["contributed"], "contributed", "new")
        for label in MEASURES:
            flagged, p_value = (
                table[name].sel(measure=label).to_numpy() for name in ("flagged", "p_value")
            )
            off = {
                name: (part.estimate - mean.truth).sel(measure=label).to_numpy()
                for name, part in parts.items()
            }
            for name in ("contributed", "new", "all"):
                chosen = (role == name) | (name == "all")
                shares = {"flagged": flagged[chosen].mean(), "any": flagged[chosen].any()}
                shares["below"] = (p_value[chosen] < 0.05).mean()
                for part, error in off.items():
                    shares[ERRORS[part]] = np.sqrt((error[chosen] ** 2).mean())
                facts = {"measure": label, "role": name, "runs": chosen.sum()}
                rows.append(attrs | facts | shares)
    found = pd.DataFrame(rows)
    if learn_from == "design":
        found.to_csv(ALARMS, index=False, float_format="%.4g")
    means = found.groupby(["measure", "role"])[["flagged", "below", "any"]]
    print(means.agg(["mean", "sem"]).to_string(float_format="%.3f"))
    errors = list(ERRORS.values())
    squares = (found.set_index(["collection", "measure", "role"])[errors] ** 2).groupby(
        level=[0, 1, 2]
    )
    over = squares.mean() ** 0.5
    over = over.div(over["dyn"], axis=0).drop(columns="dyn").groupby(level=["measure", "role"])
    print("RMS error over that of dyn, mean over collections")
    print(over.mean().to_string(float_format="%.3f"))
    print(f"{len(found) // (3 * len(MEASURES))} worlds")


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


def _sampled_and_fitted(
    collection: xr.DataTree, seed: int, learn_from: str
) -> tuple[xr.DataTree, xr.DataTree]:
    """A sample of judgments, and the fit to it."""
    design = be.designs.pps_strata(collection, budget=BUDGET)
    sampled = be.reveal(collection, design, be.draw(design, random_seed=seed))
    model = be.models.relevance_model(sampled, runs=learned_runs(sampled, learn_from))
    return sampled, be.fit(model, **HOW, random_seed=seed)


if __name__ == "__main__":
    main()
