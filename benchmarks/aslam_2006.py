"""Figures 4 to 10 of Aslam, Pavlu and Yilmaz (2006) on TREC-COVID round 5: ``make aslam``.

Reads the folder that the environment variable BAYESEVAL_REAL_DATA names. Training runs are those
that contributed judgments to the track, or (``--hold-out teams``) those of two thirds of the teams.
Frame and truth: the judged documents that a training run retrieves, everything else counting as
non-relevant, as TREC's depth-100 pool is for the paper. For the judged part of every depth-1 to
depth-10 pool, 10 samples of the same mean size per topic. Truth and estimates are means over
topics; topics without an estimate are left out and counted.
"""

import argparse

import numpy as np
import pandas as pd
import xarray as xr
from scipy import stats

import bayeseval as be
from benchmarks.real_data import trec_covid, unpacked

MEASURES = ["AP", "Rprec", "P@100", "P@10"]
DEPTHS = (1, 2, 3, 4, 5, 6, 8, 10)
MEAN = {"AP": "MAP", "Rprec": "mean R-precision", "P@100": "mean P@100", "P@10": "mean P@10"}


def round5(hold_out: str, seed: int) -> xr.DataTree:
    """Runs and complete judgments of round 5; `contributed` marks the training runs."""
    folder = trec_covid()
    runs = unpacked(folder / "round5-runs.tar.xz")
    table = pd.read_csv(folder / "round5-official.csv", usecols=[0, 1, 4])
    table.columns = ["run", "team", "contributed"]
    table["contributed"] = table["contributed"] == "yes"
    if hold_out == "teams":
        teams = np.sort(table["team"].unique())
        held = np.random.default_rng(seed).permutation(teams)[: teams.size // 3]
        table["contributed"] = ~table["team"].isin(held)
    qrels = folder / "qrels.covid-complete.txt.gz"
    return be.read_collection(qrels, f"{runs}/*", run_table=table)


def frame_of(collection: xr.DataTree) -> xr.DataArray:
    """Judged documents that a training run retrieves."""
    design = be.designs.with_replacement(collection, budget=1, pool_depth=1000)
    return (design["draw_probability"] > 0).drop_vars(["document", "pair_topic"])


def mean_judged(collection: xr.DataTree, depth: int, frame: xr.DataArray) -> int:
    """Judged documents in the depth pool of the training runs, per topic."""
    pool = be.designs.depth_pool(collection, depth)["inclusion_probability"].to_numpy() > 0
    return round(float((pool & frame.to_numpy()).sum()) / collection.sizes["topic"])


def pooled_scores(collection: xr.DataTree, depth: int, measures) -> xr.DataArray:
    """Scores from the depth pool alone, unjudged documents counting as non-relevant."""
    pool = be.designs.depth_pool(collection, depth)
    judged = be.reveal(collection, pool, unjudged="nonrelevant")
    return be.evaluate(judged, measures, estimator="assumed")["estimate"]


def sampled_scores(collection, budget, measures, n_samples, seed, options=None, **shape):
    """Importance-sampling estimates from `n_samples` samples."""
    shape = {"pool_depth": 1000} | shape
    n_draws = shape.pop("n_draws", None)
    design = be.designs.with_replacement(collection, budget=budget, **shape)
    count = be.draw(design, n_replicates=n_samples, random_seed=seed)
    if n_draws == "mean":
        n_draws = round(float(count.sum() / n_samples / collection.sizes["topic"]))
        count = be.draw(design, n_replicates=n_samples, n_draws=n_draws, random_seed=seed)
    sampled = be.reveal(collection, design, count)
    scores = be.evaluate(sampled, measures, estimator="importance", estimator_options=options or {})
    judged = float((count > 0).sum() / n_samples / collection.sizes["topic"])
    return scores.assign_attrs(judged=judged)


def bpref_scores(collection, budget, frame, n_samples, seed) -> xr.DataArray:
    """Bpref from uniform random samples of the frame."""
    design = be.designs.uniform_strata(
        collection, budget=budget, n_strata=1, frame=frame, random_seed=seed
    )
    selected = be.draw(design, n_replicates=n_samples, random_seed=seed)
    sampled = be.reveal(collection, design, selected)
    return be.evaluate(sampled, "Bpref", estimator="assumed")["estimate"].isel(measure=0)


def agreement(estimate: xr.DataArray, truth: xr.DataArray) -> dict[str, float]:
    """RMS error, linear correlation and tau of mean scores over runs, averaged over samples."""
    mean = estimate.mean("topic", skipna=True).transpose("run", ...).to_numpy()
    mean, true = mean.reshape(truth.sizes["run"], -1), truth.mean("topic").to_numpy()
    error = mean - true[:, None]
    return {
        "bias": error.mean(),
        "rms": np.sqrt((error**2).mean(axis=0)).mean(),
        "rho": np.mean([stats.pearsonr(column, true).statistic for column in mean.T]),
        "tau": np.mean([stats.kendalltau(column, true).statistic for column in mean.T]),
    }


def by_group(estimate, truth, training: np.ndarray) -> dict[str, float]:
    """Agreement over training and testing runs, side by side, and the share without estimate."""
    row = {}
    for name, group in (("training", training), ("testing", ~training)):
        runs = np.flatnonzero(group)
        found = agreement(estimate.isel(run=runs), truth.isel(run=runs))
        row |= {f"{name} {key}": value for key, value in found.items()}
        row[f"{name} missing"] = float(estimate.isel(run=runs).isnull().mean())
    return row


def depth_table(collection, truth, frame, n_samples, seed) -> pd.DataFrame:
    """Sampling beside depth pooling, for budgets equal to the judged part of depth pools."""
    training = collection["contributed"].to_numpy()
    true_map, full = truth.sel(measure="AP"), int(frame.sum() / collection.sizes["topic"])
    rows = []
    for depth in DEPTHS:
        budget = mean_judged(collection, depth, frame)
        cost = {"depth": depth, "judged": budget, "percent": round(100 * budget / full)}
        pooled = pooled_scores(collection, depth, MEASURES)
        sampled = sampled_scores(collection, budget, MEASURES, n_samples, seed)["estimate"]
        for measure in MEASURES:
            for method, scores in (("pool", pooled), ("sample", sampled)):
                found = by_group(scores.sel(measure=measure), truth.sel(measure=measure), training)
                rows.append(cost | {"measure": MEAN[measure], "method": method} | found)
        bpref = bpref_scores(collection, budget, frame, n_samples, seed)
        found = by_group(bpref, true_map, training)
        kept = {key: value for key, value in found.items() if "rho" in key or "tau" in key}
        rows.append(cost | {"measure": "MAP", "method": "bpref"} | kept)
    return pd.DataFrame(rows)


VARIANTS = {
    "as the paper": {},
    "exponent 0": {"exponent": 0.0},
    "exponent 1": {"exponent": 1.0},
    "exponent 2": {"exponent": 2.0},
    "uniform share .1": {"uniform_share": 0.1},
    "fixed number of draws": {"n_draws": "mean"},
    "all draws, not the run's": {"options": {"conditioning": "none"}},
    "ratio without bias": {"options": {"ratio": "beale"}},
}


def variant_table(collection, truth, frame, n_samples, seed) -> pd.DataFrame:
    """What the choices of the method are worth, on all runs; coverage of 90 % intervals."""
    rows = []
    for depth in (1, 5, 10):
        budget = mean_judged(collection, depth, frame)
        for name, choice in VARIANTS.items():
            scores = sampled_scores(collection, budget, MEASURES, n_samples, seed, **choice)
            for measure in MEASURES:
                estimate = scores["estimate"].sel(measure=measure)
                true = truth.sel(measure=measure)
                row = {"judged": round(scores.attrs["judged"], 1)}
                row |= {"variant": name, "measure": MEAN[measure]}
                row |= agreement(estimate, true)
                row["missing"] = float(estimate.isnull().mean())
                held, without = mean_coverage(scores.sel(measure=measure), true)
                row |= {"coverage": held, "no interval": without}
                rows.append(row)
    return pd.DataFrame(rows)


def mean_coverage(scores: xr.Dataset, truth: xr.DataArray) -> tuple[float, float]:
    """Share of the 90 % intervals of the mean that hold the truth, and of means without one."""
    mean = be.mean_over_topics(scores).interval
    true = truth.mean("topic")
    lower, upper = mean.sel(ci_bound="lower"), mean.sel(ci_bound="upper")
    held = ((lower <= true) & (true <= upper)).where(lower.notnull())
    return float(held.mean(skipna=True)), float(lower.isnull().mean())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=10)
    parser.add_argument("--hold-out", choices=["official", "teams"], default="official")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--variants", action="store_true", help="what each choice is worth")
    options = parser.parse_args()
    collection = round5(options.hold_out, options.seed)
    frame = frame_of(collection)
    design = be.designs.with_replacement(collection, budget=1, pool_depth=1000)
    known = be.reveal(collection, design, frame.astype(int))
    truth = be.evaluate(known, MEASURES, estimator="assumed")["estimate"]
    grade = collection["judgments/grade"].to_numpy()
    training = collection["contributed"].to_numpy()
    print(f"{training.sum()} training and {(~training).sum()} testing runs, ", end="")
    print(
        f"{int(frame.sum())} of {(~np.isnan(grade)).sum()} judged documents in the frame, ", end=""
    )
    print(f"{(grade[frame.to_numpy()] >= 1).sum()} of {(grade >= 1).sum()} relevant\n")
    table = variant_table if options.variants else depth_table
    found = table(collection, truth, frame, options.samples, options.seed)
    print(found.round(4).to_string(index=False))


if __name__ == "__main__":
    main()
