"""What a model gains, and risks, by learning from runs that came after the sample.

Beside the rows of ``interval_coverage.py`` ("learning from new runs", where all new runs are
honest): with ``--kind one`` a single new run has come, one of three at a time; with ``spam`` every
second new run has a copy that is shuffled or turned upside down; with ``dual`` every tenth new run
is replaced by its dual run, which is made by the judgments and misleads. Prints RMS error and
coverage of each kind of run by ``dyn``, and combined with a model that learned from the runs of the
design or from all.
"""

import argparse
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import xarray as xr

import bayeseval as be
from benchmarks.coverage_collections import EVERY, at_hand, roles, whole
from benchmarks.held import held

MEASURES = ["P@10", "RBP(p=0.8)", "AP", "R@100"]
COLLECTIONS = ["clef-tar-2017", "trec-covid-5", "few-relevant", "graded"]
SINGLE = 3  # new runs that come one at a time
ONE_DUAL_IN = 10


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kind", choices=list(KINDS), action="append")
    parser.add_argument("--collection", choices=list(EVERY), action="append")
    parser.add_argument("--samples", type=int, default=4)
    parser.add_argument("--chunks", type=Path, default=Path("coverage-output"))
    options = parser.parse_args()
    options.chunks.mkdir(exist_ok=True)
    for name in at_hand(options.collection or COLLECTIONS):
        collection = whole(name, options.chunks)
        for kind in options.kind or list(KINDS):
            late, learned = KINDS[kind](collection)
            print(f"\n{name}, {kind}\n")
            print(compared(late, learned, options.samples).to_string(), flush=True)


def honest(collection: xr.DataTree) -> tuple[list[str], list[str]]:
    """Names of the runs that contributed, and of the new ones."""
    names, kinds = collection["run"].to_numpy(), roles(collection)
    return names[kinds["contributed"]].tolist(), names[kinds["new"]].tolist()


def one(collection: xr.DataTree) -> tuple[xr.DataTree, list[list[str]]]:
    """Three of the new runs, each of which comes alone."""
    contributed, new = honest(collection)
    some = new[:: max(1, len(new) // SINGLE)][:SINGLE]
    kept = be.select(collection, runs=contributed + some)
    return kept, [[*contributed, run] for run in some]


def spam(collection: xr.DataTree) -> tuple[xr.DataTree, list[list[str]]]:
    """New runs, and copies of every second one: shuffled, or upside down, by turns."""
    contributed, new = honest(collection)
    kept = be.select(collection, runs=contributed + new)
    runs, random = be.trec.runs_frame(kept), np.random.default_rng(5)
    copies = []
    for number, run in enumerate(new[::2]):
        copy = runs[runs["run"] == run].assign(run=f"spam{number}")
        score = -copy["score"] if number % 2 else random.random(len(copy))
        copies.append(copy.assign(score=score))
    return _known(be.add_runs(kept, pd.concat(copies)), contributed)


def dual(collection: xr.DataTree) -> tuple[xr.DataTree, list[list[str]]]:
    """New runs, every tenth of which is replaced by its dual run."""
    contributed, new = honest(collection)
    both = be.dual_runs(be.select(collection, runs=contributed + new), random_seed=3)
    place = {run: f"{run}~dual" for run in new[::ONE_DUAL_IN]}
    kept = [place.get(run, run) for run in new]
    return _known(be.select(both, runs=contributed + kept), contributed)


KINDS = {"one": one, "spam": spam, "dual": dual}


def _known(collection: xr.DataTree, contributed: list[str]) -> tuple[xr.DataTree, list[list[str]]]:
    """The collection with these as contributing runs; all of its runs are learned from at once."""
    names = collection["run"].to_numpy()
    coord = xr.DataArray(np.isin(names, contributed), dims="run")
    return collection.assign(contributed=coord), [names.tolist()]


def compared(collection: xr.DataTree, learned: list[list[str]], n_samples: int) -> pd.DataFrame:
    """RMS error, coverage by kind of run, way and measure.

    Of a new run are the scores where it was learned from; of the others the first ones.
    """
    truth = be.evaluate(collection, MEASURES, estimator="assumed").estimate.mean("topic")
    design = be.designs.pps_strata(collection, budget=100)
    selected = be.draw(design, n_replicates=n_samples, random_seed=780)
    found: dict[str, list[xr.Dataset]] = {"dyn": [], "design": [], "all": []}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for number in range(n_samples):
            sampled = be.reveal(collection, design, selected.isel(replicate=number))
            mean = be.mean_over_topics(be.evaluate(sampled, MEASURES, estimator="dyn"))
            found["dyn"].append(mean)
            found["design"].append(combined(sampled, mean, None, number))
            ways = [combined(sampled, mean, runs, number) for runs in learned]
            late = [ways[0].sel(run=~np.isin(ways[0]["run"], [r[-1] for r in learned[1:]]))]
            late += [
                way.sel(run=[runs[-1]]) for way, runs in zip(ways[1:], learned[1:], strict=True)
            ]
            found["all"].append(xr.concat(late, dim="run").sel(run=mean["run"].to_numpy()))
    kinds = kinds_of(collection)
    rows = {
        (kind, way): [cell(parts, truth, measure, kinds == kind) for measure in MEASURES]
        for kind in dict.fromkeys(kinds)
        for way, parts in found.items()
    }
    return pd.DataFrame.from_dict(rows, orient="index", columns=MEASURES)


def combined(sampled: xr.DataTree, mean: xr.Dataset, runs: list[str] | None, seed: int):
    """Scores by dyn and a model that learns from some runs, combined."""
    model = be.models.relevance_model(sampled, runs=runs)
    fitted = be.fit(model, approximation="laplace", draws=100, random_seed=seed)
    post = be.posterior_scores(fitted, sampled, MEASURES, random_seed=seed)
    return be.combine(mean, post)[["estimate", "interval"]]


def kinds_of(collection: xr.DataTree) -> np.ndarray:
    """Kind (run,) of every run."""
    kinds = roles(collection)
    kind = np.select([kinds["contributed"], kinds["dual"]], ["contributing", "dual"], "new")
    return np.where(
        np.char.startswith(collection["run"].to_numpy().astype(str), "spam"), "spam", kind
    )


def cell(parts: list[xr.Dataset], truth: xr.DataArray, measure: str, chosen: np.ndarray) -> str:
    """RMS error, and share of intervals that hold, of some runs over all samples."""
    some = [part.sel(measure=measure).isel(run=np.flatnonzero(chosen)) for part in parts]
    right = truth.sel(measure=measure, run=some[0]["run"]).to_numpy()
    error = np.array([part["estimate"].to_numpy() - right for part in some])
    bounds = np.array([part["interval"].transpose("run", "ci_bound").to_numpy() for part in some])
    covered = held(right, bounds[..., 0], bounds[..., 1]).mean()
    return f"{np.sqrt((error**2).mean()):.4f} {covered:.2f}"


if __name__ == "__main__":
    main()
