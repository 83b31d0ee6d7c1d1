"""The urn model on a depth pool: intervals for RBP on TREC-COVID round 5 and other collections.

Reads the folder that the environment variable BAYESEVAL_REAL_DATA names. Frame: the documents with
a complete judgment; pool: the first ten ranks of every run, all other judgments hidden; truth: the
score under the complete judgments. Beside the urn: the bounds of Moffat and Zobel, and Park's
normal interval with one q. Run it with ``python benchmarks/urn_round5.py``; with ``--collection``
on those of ``coverage_collections``.
"""

import argparse
import time

import numpy as np
import xarray as xr

import bayeseval as be
from bayeseval.inference import prior_overlap, verdict_text
from bayeseval.inference.predictive import predictive_draws
from benchmarks.coverage_collections import COLLECTIONS
from benchmarks.held import held
from benchmarks.real_data import round5


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pool-depth", type=int, default=10)
    parser.add_argument("--persistence", type=float, default=0.95)
    parser.add_argument("--every", type=int, default=1, help="2: only every second run, ...")
    parser.add_argument("--weight", default="judgments", help="likelihood_weight; 1: none")
    parser.add_argument("--draws", type=int, default=500)
    parser.add_argument("--tune", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--collection", choices=list(COLLECTIONS), help="instead of round 5")
    options = parser.parse_args()
    collection = COLLECTIONS[options.collection][0]() if options.collection else round5()
    if options.every > 1:
        runs = collection["run"].values[:: options.every].tolist()
        collection = be.select(collection, runs=runs)
    frame = collection["judgments/grade"].notnull()
    pool = be.designs.depth_pool(collection, options.pool_depth)
    drawn = be.draw(pool, random_seed=options.seed)
    sampled = be.reveal(collection, pool, drawn, unjudged="nonrelevant")
    measure = f"RBP(p={options.persistence})"
    truth = be.evaluate(collection, measure, estimator="assumed").estimate.mean("topic")
    truth = truth.isel(measure=0, drop=True)
    rows = known_intervals(sampled, frame, options.persistence, truth)
    summary = fitted_interval(sampled, frame, measure, options)
    rows[f"urn, likelihood weight {options.weight}"] = row(
        summary.estimate, summary.interval, truth
    )
    print(f"\n{measure}, pool of depth {options.pool_depth}, {truth.size} runs")
    print("| interval | bias | RMS error | width | coverage |")
    print("| --- | --- | --- | --- | --- |")
    for name, (bias, error, width, coverage) in rows.items():
        print(f"| {name} | {bias:.4f} | {error:.4f} | {width:.4f} | {coverage:.3f} |")


def known_intervals(sampled, frame, persistence: float, truth) -> dict[str, list[float]]:
    """Bounds, and Park's interval with q the share relevant among the judged, and one half."""
    inside = within(sampled, frame)
    bounds = be.residual.rbp_bounds(inside, persistence, over="topic", tail="nonrelevant")
    middle = bounds.interval.mean("ci_bound")
    rows = {"bounds (Moffat, Zobel)": row(middle, bounds.interval, truth)}
    grade = inside["judgments/grade"].where(frame)
    share = float((grade >= 1).sum() / grade.notnull().sum())
    for q in (share, 0.5):
        park = be.residual.rbp_uncertainty(inside, persistence, q, over="topic")
        rows[f"Park, q = {q:.3f}"] = row(park.estimate, park.interval, truth)
    return rows


def within(sampled: xr.DataTree, frame: xr.DataArray) -> xr.DataTree:
    """The same judgments, with grade 0 for what the frame leaves out: no interval counts it."""
    judgments = sampled["judgments"].to_dataset()
    grade = judgments["grade"].where(frame, 0.0)
    changed = sampled.copy()
    changed["judgments"] = xr.DataTree(judgments.assign(grade=grade))
    return changed


def fitted_interval(sampled, frame, measure: str, options) -> xr.Dataset:
    """Posterior summary of the runs' mean scores, with the verdict and the overlaps on the way."""
    weight = options.weight if options.weight == "judgments" else float(options.weight)
    model = be.models.urn_model(
        sampled, depth=options.pool_depth, frame=frame, likelihood_weight=weight
    )
    began = time.perf_counter()
    fitted = be.fit(model, draws=options.draws, tune=options.tune, random_seed=options.seed)
    sampling = float(fitted["posterior"].attrs.get("sampling_time", np.nan))
    print(f"fit {time.perf_counter() - began:.0f} s (sampling {sampling:.0f} s)")
    print(verdict_text(be.verdict(fitted)))
    draws = predictive_draws(model, fitted, n_draws=500, random_seed=options.seed)
    print(prior_overlap(draws).to_dataframe().round(3).to_string(), flush=True)
    began = time.perf_counter()
    post = be.posterior_scores(fitted, sampled, measure, random_seed=options.seed)
    print(f"scores {time.perf_counter() - began:.0f} s")
    return be.summarize(post).isel(measure=0, drop=True)


def row(estimate: xr.DataArray, interval: xr.DataArray, truth: xr.DataArray) -> list[float]:
    """Bias, RMS error, mean width and coverage over runs."""
    error = estimate - truth
    lower, upper = (interval.sel(ci_bound=bound) for bound in ("lower", "upper"))
    covered = held(truth, lower, upper)
    numbers = [error.mean(), np.sqrt((error**2).mean()), (upper - lower).mean(), covered.mean()]
    return [float(number) for number in numbers]


if __name__ == "__main__":
    main()
