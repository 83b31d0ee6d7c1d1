"""Intervals that hold for each run: is a model that has not seen a stratum a better prior for it?

The prior of ``guarantee="each"`` must not depend on the design's estimate d, and the model has seen
d's judgments. ``be.combine`` centres it on what the model says beyond them. Here the strata of
every topic are dealt to two folds, the model is fitted twice, each time without the judgments of
one fold, and predicts the documents of that fold alone: m is the sum of the two predictions.
P@10 and RBP(.8) of contributing runs, 100 judgments a topic, constants learned without the
collection. Printed for d with each of the two centres: correlation of the errors of centre and d
over runs and samples, RMS error of the centre over that of d, coverage and length (over d's own) of
the intervals. Seed of a sample: 200,000 + its number.
"""

import argparse
import warnings

import numpy as np
import pandas as pd
import xarray as xr

import bayeseval as be
from bayeseval.combination.each_run import intervals_for_each
from bayeseval.combination.mixture import Prior
from bayeseval.models.score.independent import Independent
from bayeseval.models.score.sources import interval_error
from benchmarks.combination_table import constants_without
from benchmarks.coverage_collections import COLLECTIONS, at_hand, halved
from benchmarks.held import held

MEASURES = ["P@10", "RBP(p=0.8)"]
DEPTH = 50  # ranks that are masked and scored; the rest of RBP(.8) weighs 1e-5


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--collection", action="append", choices=list(COLLECTIONS))
    parser.add_argument("--samples", type=int, default=6)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    for name in at_hand(options.collection or COLLECTIONS):
        print(table(name, options.samples).to_string(float_format="{:.3f}".format), flush=True)


def table(name: str, n_samples: int) -> pd.DataFrame:
    """Rows by measure and centre."""
    collection = halved(COLLECTIONS[name][0]())
    runs = collection["run"].to_numpy()[collection["contributed"].to_numpy()].tolist()
    collection = be.select(collection, runs=runs)
    truth = be.evaluate(collection, MEASURES, estimator="assumed").estimate.mean("topic")
    design = be.designs.pps_strata(collection, budget=100)
    parts = [sample(name, collection, design, number) for number in range(1, n_samples + 1)]
    return pd.DataFrame(
        [
            {"collection": name, "measure": label, "centre": centre}
            | summed([part[centre].sel(measure=label) for part in parts], truth.sel(measure=label))
            for label in MEASURES
            for centre in parts[0]
        ]
    )


def sample(name: str, collection, design, number: int) -> dict[str, xr.Dataset]:
    """Centre, interval and design's estimate of every run, by both centres."""
    selected = be.draw(design, random_seed=200_000 + number)
    sampled = be.reveal(collection, design, selected)
    mean = be.mean_over_topics(be.evaluate(sampled, MEASURES, estimator="dyn"))
    known = constants_without(name, MEASURES, "counts")
    fitted = be.fit(be.models.relevance_model(sampled), approximation="laplace", random_seed=number)
    post = be.posterior_scores(fitted, sampled, MEASURES, random_seed=number)
    each = xr.concat(
        [
            be.combine(
                mean.sel(measure=[label]),
                post.sel(measure=[label]),
                guarantee="each",
                constants=constants,
            )
            for label, constants in known.items()
        ],
        dim="measure",
    )
    draws = cross_fitted(collection, design, selected, number)
    dims = ("chain", "draw")
    seen = post.estimate
    whole = Independent.of(
        *(
            part.transpose("measure", "run").to_numpy()
            for part in (
                seen.mean(dims),
                seen.var(dims, ddof=1),
                mean.estimate,
                interval_error(mean) ** 2,
            )
        )
    )
    beyond = mean.estimate.transpose("measure", "run").copy(data=whole.mean)
    both = {
        "beyond the design": each[["interval"]].assign(centre=beyond),
        "cross-fitted": by_hand(mean, draws.mean(dims), draws.var(dims), known),
    }
    return {
        centre: found.assign(design=mean.estimate, design_interval=mean.interval)
        for centre, found in both.items()
    }


def cross_fitted(collection, design, selected, seed: int) -> xr.DataArray:
    """Posterior draws of scores whose documents are predicted without their fold's judgments."""
    of_pair = design["stratum"].to_numpy() % 2  # strata are numbered topic by topic
    total = xr.DataArray(0.0)
    for out in (0, 1):
        kept = selected & xr.DataArray(of_pair != out, dims="pair")
        part = be.reveal(collection, without_strata(design), kept)
        model = be.models.relevance_model(part)
        fitted = be.fit(model, approximation="laplace", random_seed=10 * seed + out)
        masked = be.add_runs(part, masked_runs(collection, of_pair == out, out))
        scores = be.posterior_scores(
            fitted, masked, MEASURES, departures="none", random_seed=10 * seed + out
        ).estimate
        alone = [f"{run}~{out}" for run in collection["run"].to_numpy().tolist()]
        scores = scores.sel(run=alone).assign_coords(run=collection["run"])
        total = total + scores
    return total


def without_strata(design: xr.Dataset) -> xr.Dataset:
    """Design that does not say how many documents of a stratum were drawn."""
    none = design.isel(stratum_id=slice(0))
    return none.assign(stratum=xr.full_like(none["stratum"], -1)).assign_attrs(scheme="poisson")


def masked_runs(collection, inside: np.ndarray, fold: int) -> pd.DataFrame:
    """Runs whose documents outside a fold give way to documents that nobody judges."""
    frame = be.trec.runs_frame(collection)
    topics = collection["topic"].to_numpy()[collection["pair_topic"].to_numpy()]
    kept = pd.MultiIndex.from_arrays([topics[inside], collection["document"].to_numpy()[inside]])
    frame = frame.sort_values(["run", "topic", "score"], ascending=[True, True, False])
    rank = frame.groupby(["run", "topic"]).cumcount()
    frame = frame.assign(rank=rank)[rank < DEPTH]
    within = pd.MultiIndex.from_frame(frame[["topic", "document"]]).isin(kept)
    document = np.where(within, frame["document"], "nobody-" + frame["rank"].astype(str))
    named = frame["run"] + f"~{fold}"
    return frame.assign(run=named, document=document, score=-frame["rank"].astype(float))


def by_hand(mean, centre, variance, known) -> xr.Dataset:
    """Intervals for each run around a centre that is taken for independent of the design."""
    rows = []
    error = interval_error(mean)
    for label, constants in known.items():
        of = constants["contributed"]
        v = error.sel(measure=label).to_numpy() ** 2
        m, c = centre.sel(measure=label).to_numpy(), variance.sel(measure=label).to_numpy()
        beside = np.minimum(of["design_ratio"] ** 2 * v, of["far_sd"] ** 2)
        near = c * (1.0 + of["near_ratio"] ** 2) + beside
        prior = Prior(m, near, c + of["far_sd"] ** 2, np.full(m.size, of["far_weight"]))
        bounds = intervals_for_each(prior, mean.estimate.sel(measure=label).values, v**0.5, 0.9)
        rows.append(np.stack(bounds, axis=-1))
    return xr.Dataset(
        {"interval": (("measure", "run", "ci_bound"), np.stack(rows)), "centre": centre}
    )


def summed(parts: list[xr.Dataset], truth: xr.DataArray) -> dict[str, float]:
    """Figures of one row."""
    right = truth.to_numpy()
    centre = np.array([part.centre.to_numpy() for part in parts]) - right
    design = np.array([part.design.to_numpy() for part in parts]) - right
    bounds, own = (
        np.array([part[name].transpose("run", "ci_bound").to_numpy() for part in parts])
        for name in ("interval", "design_interval")
    )
    inside = held(right, bounds[..., 0], bounds[..., 1])
    own_inside = held(right, own[..., 0], own[..., 1])
    return {
        "correlation": np.corrcoef(centre.ravel(), design.ravel())[0, 1],
        "error": np.sqrt(np.square(centre).mean() / np.square(design).mean()),
        "covered": inside.mean(),
        "covered, dyn": own_inside.mean(),
        "length": (bounds[..., 1] - bounds[..., 0]).mean() / (own[..., 1] - own[..., 0]).mean(),
    }


if __name__ == "__main__":
    main()
