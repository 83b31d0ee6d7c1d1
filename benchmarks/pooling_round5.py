"""Pools and dynamic sampling on TREC-COVID round 5: bias and error of MP@10 on real and dual runs.

Reads the folder that the environment variable BAYESEVAL_REAL_DATA names. Truth: the complete
judgments; frame: the judged pairs; 126 runs, which form the pools, and their dual runs, which do
not. Pools are measured once with unjudged as non-relevant, samples ``--replicates`` times.
"""

import argparse
import warnings

import xarray as xr

import bayeseval as be
from bayeseval.progress import track
from bayeseval.tidy import BOUNDS, with_bounds
from benchmarks.real_data import round5

STAGE = ("external", "dynamic_sampling")
ESTIMATORS = {
    "stat": ("stat", None),
    "dyn, M cross-fitted": ("dyn", "pooled"),
    "dyn, M of earlier stages": ("dyn", STAGE),
}
COLUMNS = ["bias", "bias_error", "rms_bias", "rms_error", "variance_ratio", "coverage"]


def pools(collection: xr.DataTree) -> dict[str, xr.Dataset]:
    designs = be.designs
    return {
        "depth-5": designs.depth_pool(collection, 5),
        "move-to-front 100": designs.move_to_front(collection, 100),
        "move-to-front 100, global": designs.move_to_front(collection, 100, variant="global"),
        "hedge 100": designs.hedge(collection, 100),
        "hedge 100, Z = 1000": designs.hedge(collection, 100, list_length=1000),
        "depth-20": designs.depth_pool(collection, 20),
        "move-to-front 400": designs.move_to_front(collection, 400),
        "hedge 400": designs.hedge(collection, 400),
    }


def means(sampled: xr.DataTree, measure: str, estimator: str, predictor=None) -> xr.Dataset:
    scores = be.evaluate(sampled, measure, estimator=estimator, predictor=predictor)
    mean = with_bounds(be.mean_over_topics(scores))
    return mean[["estimate", "standard_error", *BOUNDS]].drop_attrs()


def dynamic_sample(collection: xr.DataTree, **options) -> xr.Dataset:
    """All stages of a dynamic sample of the judged pairs, by the grades that are known."""
    design = None
    while design is None or design.attrs["stages_left"]:
        design = be.designs.dynamic_stage(collection, design, frame="judged", **options)
    return design


def dynamic_replicates(collection, measure: str, n_replicates: int, options: dict) -> tuple:
    """Scores of every estimator over replicates, and the mean number of relevant documents."""
    parts: dict[str, list] = {name: [] for name in ESTIMATORS}
    found = 0.0
    for seed in track(range(n_replicates), f"{n_replicates} dynamic samples"):
        design = dynamic_sample(collection, random_seed=seed, **options)
        sampled = be.reveal(collection, design, design.selected)
        sampled = be.designs.with_stage_predictions(sampled, design)
        found += relevant_found(sampled) / n_replicates
        for name, (estimator, predictor) in ESTIMATORS.items():
            parts[name].append(means(sampled, measure, estimator, predictor))
    return {name: xr.concat(part, dim="replicate") for name, part in parts.items()}, found


def relevant_found(sampled: xr.DataTree) -> float:
    return float((sampled["judgments/grade"] >= 1).sum()) / sampled.sizes["topic"]


def row(name: str, cost: float, found: float, scores: xr.Dataset, truth: xr.DataArray, real) -> str:
    if "replicate" not in scores.dims:
        scores = scores.expand_dims("replicate")
    result = scores.assign(
        truth=truth.mean("topic"), truth_by_topic=truth, contributed=("run", real)
    )
    summary = be.experiments.error_summary(result).squeeze("measure")
    cells = [
        f"{summary[column].sel(group=group).item():.4f}"
        for group in ("contributed", "other")
        for column in COLUMNS
    ]
    shown = ["" if cell == "nan" else cell for cell in cells]
    return f"| {name} | {cost:.0f} | {found:.1f} | " + " | ".join(shown) + " |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--measure", default="P@10")
    parser.add_argument("--budget", type=int, default=100)
    parser.add_argument("--stages", type=int, default=5)
    parser.add_argument("--aim", default="dyn")
    parser.add_argument("--replicates", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    # the bias that this warning tells of is what one of the estimators is here to measure
    warnings.filterwarnings("ignore", message="the prediction learns from later stages")
    both = be.dual_runs(round5(), random_seed=options.seed)
    truth = be.evaluate(both, options.measure, estimator="assumed").estimate
    real = both["contributed"].to_numpy()
    names = [f"{group} {column}" for group in ("real", "dual") for column in COLUMNS]
    print("| method | judged a topic | relevant found | " + " | ".join(names) + " |")
    print("| --- |" + " --- |" * (len(names) + 2))
    for name, pool in pools(both).items():
        sampled = be.reveal(both, pool, unjudged="nonrelevant")
        cost = float(pool.inclusion_probability.sum()) / both.sizes["topic"]
        scores = means(sampled, options.measure, "assumed")
        print(row(name, cost, relevant_found(sampled), scores, truth, real), flush=True)
    plain = {"budget": options.budget, "n_stages": 1}
    staged = {"budget": options.budget, "n_stages": options.stages, "aim": options.aim}
    for name, plan in (("pps strata", plain), (f"dynamic, {options.stages} stages", staged)):
        replicated, found = dynamic_replicates(both, options.measure, options.replicates, plan)
        for estimator, scores in replicated.items():
            label = f"{name}: {estimator}"
            print(row(label, options.budget, found, scores, truth, real), flush=True)


if __name__ == "__main__":
    main()
