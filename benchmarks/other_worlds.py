"""The simulated families again with other seeds: what is the mechanism's, and what one draw's luck?

``run`` makes worlds of the mechanisms of ``few-relevant``, ``few-runs`` and ``graded`` with other
seeds, and of ``latent``, on which nothing was learned, ``noisy`` and ``navigational`` (on worlds of
the last two it was seen that a topic's slope may have to level off, and on one like the last that
the distribution of topics takes many steps to find), of ``empty`` (a third of the topics has
nothing relevant) and of ``abrupt`` (runs that match exactly), and cuts of the real collections by
their runs (level 2: documents with grade 1 are not relevant), half of the runs contributing, and
samples of 100 judgments a topic (``--budget``): eight for ``dyn``, with the denominators of the
counts and of the topic's own sample, of which the first two go to the relevance model (by its
approximation), with errors of its own, and to the combination, with constants learned without the
family. A world that is there already is not made again. ``report`` prints means over worlds, with
errors of their own, and writes them (``other_worlds/results.csv``, whose other rows stay). Seed of
a world: 1000 + 10 x its number; of its samples: its number.
"""

import argparse
import os
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

import bayeseval as be
from benchmarks.combination_table import constants_without
from benchmarks.coverage_collections import (
    COLLECTIONS,
    few_relevant,
    few_runs,
    graded,
    halved,
    roles,
)
from benchmarks.held import held
from benchmarks.latent_worlds import latent_world
from benchmarks.noisy_worlds import (
    abrupt_world,
    empty_world,
    mixed_world,
    navigational_or_hard_world,
    navigational_or_rich_world,
    navigational_world,
    noisy_world,
    rich_or_hard_world,
)
from benchmarks.real_cuts import real_cut
from benchmarks.real_data import REAL_DATA

MECHANISMS = {
    "few-relevant": few_relevant,
    "few-runs": few_runs,
    "graded": graded,
    "latent": latent_world,
    "noisy": noisy_world,
    "navigational": navigational_world,
    "mixed": mixed_world,
    "navigational or rich": navigational_or_rich_world,
    "navigational or hard": navigational_or_hard_world,
    "rich or hard": rich_or_hard_world,
    "empty": empty_world,
    "abrupt": abrupt_world,
}
# cuts of the real collections: name -> collection, number of runs, level of relevance
CUTS = {
    "round 5, 17 runs": ("round 5", 17, 1),
    "round 5, 38 runs": ("round 5", 38, 1),
    "round 5, 6 runs": ("round 5", 6, 1),
    "round 5, 17 runs, level 2": ("round 5", 17, 2),
    "round 5, 6 runs, level 2": ("round 5", 6, 2),
    "round 1, 17 runs": ("round 1", 17, 1),
    "round 1, 17 runs, level 2": ("round 1", 17, 2),
    "clef, 10 runs": ("clef", 10, 1),
}
FAMILY = {"round 5": "trec-covid-5", "round 1": "trec-covid-5", "clef": "clef-tar-2017"}
RATIOS = ["AP", "nDCG@10", "R@100"]
OF_MODELS = ["P@10", "RBP(p=0.8)", "AP", "R@100"]
SAMPLES, MODELLED, BUDGET = 8, 2, 100
RESULTS = Path(__file__).parent / "other_worlds" / "results.csv"
KEY = ["mechanism", "by", "measure", "runs"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("act", choices=["run", "report"])
    parser.add_argument("--mechanism", action="append", choices=[*MECHANISMS, *CUTS])
    parser.add_argument("--worlds", type=int, default=10)
    parser.add_argument("--budget", type=int, default=BUDGET)
    parser.add_argument("--folder", type=Path, default=Path("other-worlds-output"))
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if options.act == "report":
        report(options.folder)
        return
    options.folder.mkdir(exist_ok=True)
    every = [*MECHANISMS, *(CUTS if os.environ.get(REAL_DATA) else [])]
    for number in range(options.worlds):
        for name in options.mechanism or every:
            label = name if options.budget == BUDGET else f"{name}, {options.budget} judgments"
            file = options.folder / f"{label}~{number}.csv"
            if not file.exists():
                rows = world(name, number, options.budget).assign(mechanism=label, world=number)
                rows.to_csv(file, index=False)
                print(file.name, flush=True)


def world(name: str, number: int, budget: int) -> pd.DataFrame:
    """One world: a row for each estimator, measure and kind of run."""
    collection = halved(made(name, 1000 + 10 * number))
    measures = list(dict.fromkeys(OF_MODELS + RATIOS))
    truth = be.evaluate(collection, measures, estimator="assumed").estimate.mean("topic")
    design = be.designs.pps_strata(collection, budget=budget)
    selected = be.draw(design, n_replicates=SAMPLES, random_seed=number)
    sampled = be.reveal(collection, design, selected)
    found = {
        "dyn": by_design(sampled, measures),
        "dyn (topic)": by_design(sampled, RATIOS, estimator_options={"denominator": "topic"}),
    }
    parts: dict[str, list[xr.Dataset]] = {}
    for replicate in range(MODELLED):
        one = be.reveal(collection, design, selected.isel(replicate=replicate))
        for by, result in of_models(one, name, 100 * number + replicate):
            parts.setdefault(by, []).append(result[["estimate", "standard_error", "interval"]])
    found |= {by: xr.concat(results, dim="replicate") for by, results in parts.items()}
    rows = [row for by, one in found.items() for row in cells(by, one, truth, collection)]
    return pd.DataFrame(rows)


def made(name: str, seed: int) -> xr.DataTree:
    """World of a mechanism, or cut of a real collection."""
    return MECHANISMS[name](seed) if name in MECHANISMS else real_cut(*CUTS[name], seed)


def by_design(sampled: xr.DataTree, measures: list[str], **options) -> xr.Dataset:
    """Means over topics by ``dyn``."""
    return be.mean_over_topics(be.evaluate(sampled, measures, estimator="dyn", **options))


def of_models(sampled: xr.DataTree, name: str, seed: int) -> Iterator[tuple[str, xr.Dataset]]:
    """Design, model (as it is, and with errors of its own) and both combined, of one sample."""
    model = be.models.relevance_model(sampled)
    fitted = be.fit(model, approximation="laplace", draws=100, random_seed=seed)
    post = be.posterior_scores(fitted, sampled, OF_MODELS, random_seed=seed)
    mean = by_design(sampled, OF_MODELS)
    yield "dyn, same samples", mean
    yield "relevance_model", be.summarize(post)
    wider, both = [], []
    learned: Mapping[str, Any] = dict.fromkeys(OF_MODELS)  # None: those of the package
    family = FAMILY[CUTS[name][0]] if name in CUTS else name
    if family in COLLECTIONS:
        learned = constants_without(family, OF_MODELS, "counts")
    for label, constants in learned.items():
        one = post.sel(measure=[label])
        errors = be.with_model_errors(one, constants=constants, random_seed=seed)
        wider.append(be.summarize(errors))
        both.append(be.combine(mean.sel(measure=[label]), one, constants=constants))
    yield "relevance_model, with its own errors", xr.concat(wider, dim="measure")
    yield "combined", xr.concat(both, dim="measure")


def cells(by: str, found: xr.Dataset, truth: xr.DataArray, collection) -> Iterator[dict]:
    """A row for each measure and kind of run."""
    for label in found["measure"].to_numpy().tolist():
        one, right = found.sel(measure=label), truth.sel(measure=label)
        off = (one.estimate - right).transpose("run", "replicate").to_numpy()
        error = one.standard_error.transpose("run", "replicate").to_numpy()
        low, high = (
            one.interval.sel(ci_bound=bound).transpose("run", "replicate").to_numpy()
            for bound in ("lower", "upper")
        )
        inside = held(right.to_numpy()[:, None], low, high)
        for role, chosen in roles(collection).items():
            yield {
                "by": by,
                "measure": label,
                "runs": role,
                "bias": off[chosen].mean(),
                "standard_error": error[chosen].mean(),
                "rms_error": np.sqrt(np.square(off[chosen]).mean()),
                "coverage": inside[chosen].mean(),
                "length": (high - low)[chosen].mean(),
            }


def report(folder: Path) -> None:
    """Means over the worlds of every mechanism; errors are those of the worlds."""
    files = sorted(folder.glob("*~*.csv"))
    if not files:
        raise SystemExit(f"{folder} holds no worlds; begin with 'run'")
    whole = pd.concat([pd.read_csv(file) for file in files])
    whole["bias_over_error"] = whole["bias"] / whole["standard_error"]
    at = [*KEY, "world"]
    for column, beside, rows in (
        ("over_topic", "dyn (topic)", whole["by"] == "dyn"),
        ("over_dyn", "dyn, same samples", ~whole["by"].str.startswith("dyn")),
    ):
        of = whole[whole["by"] == beside].set_index([name for name in at if name != "by"])
        index = pd.MultiIndex.from_frame(whole[[name for name in at if name != "by"]])
        ratio = whole["rms_error"].to_numpy() / of["rms_error"].reindex(index).to_numpy()
        whole[column] = np.where(rows, np.log(ratio), np.nan)
    groups = whole.groupby(KEY, sort=False)
    table = groups.agg(
        worlds=("world", "size"),
        bias_over_error=("bias_over_error", "mean"),
        bias_spread=("bias_over_error", "std"),
        coverage=("coverage", "mean"),
        coverage_error=("coverage", "sem"),
        length=("length", "mean"),
    )
    for column in ("over_topic", "over_dyn"):
        table[column] = np.exp(groups[column].mean())
        table[f"{column}_error"] = groups[column].sem() * table[column]
    stored = pd.read_csv(RESULTS) if RESULTS.exists() else table.reset_index()
    others = stored[~stored["mechanism"].isin(whole["mechanism"])]
    rows = pd.concat([others, table.reset_index()])
    RESULTS.parent.mkdir(exist_ok=True)
    rows.to_csv(RESULTS, index=False, float_format="%.3g")
    print(table.to_string(float_format="{:.3f}".format))


if __name__ == "__main__":
    main()
