"""Error and coverage of intervals: collections x budgets x estimators x measures x kinds of runs.

``run`` draws samples from the design of the contributing runs, estimates, and keeps error, standard
error and interval of every run, chunk by chunk of ten samples: what is there already is not done
again. The estimator ``model`` fits ``relevance_model`` (for nDCG of several grades
``grade_model``) and gives three answers: the posterior, the same with the model's own errors, and
``combined`` with ``dyn`` (not of measures that are no sums, for which ``assumed`` is the estimator
beside it), with constants that were learned without the collection. ``report`` sums
all chunks up in ``interval_coverage/results.csv`` and prints the rows. Truth: all judgments; the
design is an order (for the measures that ``--for`` names) or pps strata; the seed of a chunk is
1000 budget + its number. Real collections are those of the folder
that the environment variable BAYESEVAL_REAL_DATA names, and are left out where it is not set.
"""

import argparse
import itertools
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import xarray as xr

import bayeseval as be
from bayeseval.processors import dask_client, in_chunks
from bayeseval.whole_file import whole_file
from benchmarks.combination_table import constants_without
from benchmarks.coverage_collections import COLLECTIONS, EVERY, LEVELS, at_hand, roles, whole
from benchmarks.held import held

MEASURES = ["P@10", "RBP(p=0.8)", "AP", "nDCG@10", "R@100"]
GRADED = ["nDCG@10", "ERR@10"]
CHUNK = 10  # samples
DESIGN_BASED = ("stat", "dyn")
ALL_RUNS = "model, learning from new runs"  # but not from dual ones
ESTIMATORS = (*DESIGN_BASED, "assumed", "model", ALL_RUNS)
KEPT = ["estimate", "standard_error", "interval"]
RESULTS = Path(__file__).parent / "interval_coverage" / "results.csv"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("act", choices=["run", "report"])
    parser.add_argument("--collection", action="append", choices=list(EVERY))
    parser.add_argument("--estimator", action="append", choices=ESTIMATORS)
    parser.add_argument("--budget", type=int, action="append")
    parser.add_argument("--design", choices=["order", "pps"], default="order")
    parser.add_argument("--measure", action="append", help=f"default: {', '.join(MEASURES)}")
    parser.add_argument("--for", action="append", dest="measures", help="what an order is for")
    parser.add_argument("--samples", type=int, default=30)
    parser.add_argument("--denominator", choices=["counts", "topic"], default="counts")
    parser.add_argument("--chunks", type=Path, default=Path("coverage-output"))
    parser.add_argument("--scheduler", help="address of a dask scheduler that sees this folder")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    options.chunks.mkdir(exist_ok=True)
    if options.act == "report":
        report(options.chunks)
        return
    options.chunks = options.chunks.absolute()
    cells = itertools.product(
        at_hand(options.collection or COLLECTIONS),
        options.budget or [100],
        options.estimator or DESIGN_BASED,
        range(1, -(-options.samples // CHUNK) + 1),
    )
    with dask_client(options.scheduler) as client:
        for name in in_chunks(chunk, (options,), list(cells), "chunks", client):
            print(name, flush=True)


def chunk(options, cell: tuple[str, int, str, int]) -> str:
    """Ten samples of one collection, budget and estimator: the name of their file."""
    name, budget, estimator, number = cell
    label = estimator if options.denominator == "counts" else f"{estimator} (topic)"
    label += " (pps strata)" * (options.design == "pps")
    label += f" (for {', '.join(options.measures)})" if options.measures else ""
    file = options.chunks / f"{name}~{budget}~{label}~{number}.nc"
    if file.exists():
        return file.name
    collection, level = whole(name, options.chunks), LEVELS.get(name, 1)
    labels = options.measure or MEASURES
    truth = be.evaluate(collection, labels, estimator="assumed", relevance_level=level)
    seed = 1000 * budget + number
    if options.design == "pps":
        design = be.designs.pps_strata(collection, budget=budget)
    else:
        known = {"measures": options.measures, "random_seed": seed}
        design = be.designs.order(collection, budget=budget, **known)
    selected = be.draw(design, n_replicates=CHUNK, random_seed=seed)
    if estimator in (*DESIGN_BASED, "assumed"):
        sampled = be.reveal(collection, design, selected)
        given = {"relevance_level": level, "denominator": options.denominator}
        scores = be.evaluate(sampled, labels, estimator=estimator, **given)
        found = kept(be.mean_over_topics(scores), label)
    else:
        dual = roles(collection)["dual"]
        runs = collection["run"].to_numpy()[~dual].tolist() if estimator == ALL_RUNS else None
        parts = []
        for replicate in range(CHUNK):
            sampled = be.reveal(collection, design, selected.isel(replicate=replicate))
            parts.append(answers(name, sampled, labels, runs, replicate))
        found = xr.concat(parts, dim="replicate")
        names = [answer + label.removeprefix("model") for answer in found["answer"].values]
        found = found.assign_coords(answer=names)
    about = {"collection": name, "budget": budget, "estimator": label, "chunk": number}
    found = found.assign(truth=truth.estimate.mean("topic")).assign_attrs(about)
    with whole_file(file) as part:
        found.to_netcdf(part, engine="h5netcdf")
    return file.name


def answers(
    name: str, sampled: xr.DataTree, labels: list[str], runs: list[str] | None, seed: int
) -> xr.Dataset:
    """Posterior, posterior with the model's own errors, and combination (answer, measure, run).

    There is no combination of measures that no sums of sampled documents estimate.
    """
    level = LEVELS.get(name, 1)
    given = {"estimator": "dyn", "relevance_level": level}
    by_label = []
    for label, post in posteriors(sampled, labels, runs, level, seed):
        known = constants_without(name, [label])[label]
        of_label = {
            "model": be.summarize(post),
            "model with its errors": be.with_model_errors(post, constants=known),
        }
        if label in MEASURES:
            mean = be.mean_over_topics(be.evaluate(sampled, label, **given))
            of_label["combined"] = be.combine(mean, post, constants=known)
        parts = [kept(each, answer) for answer, each in of_label.items()]
        by_label.append(xr.concat(parts, dim="answer"))
    return xr.concat(by_label, dim="measure")


def kept(scores: xr.Dataset, answer: str) -> xr.Dataset:
    """What a chunk keeps of an answer."""
    return scores[KEPT].reset_coords(drop=True).drop_attrs().expand_dims(answer=[answer])


def posteriors(sampled: xr.DataTree, labels: list[str], runs: list[str] | None, level: int, seed):
    """Posterior scores of every measure; the model of grades is fitted where these need it."""
    several = float(sampled["judgments/grade"].max()) > 1
    of_grades = [label for label in labels if several and label in GRADED]
    of_relevance = [label for label in labels if label not in of_grades]
    fits = [(of_relevance, be.models.relevance_model(sampled, relevance_level=level, runs=runs))]
    if of_grades:
        fits.append((of_grades, be.models.grade_model(sampled, runs=runs)))
    for labels, model in fits:
        fitted = be.fit(model, approximation="laplace", draws=100, random_seed=seed)
        post = be.posterior_scores(fitted, sampled, labels, random_seed=seed)
        for index, label in enumerate(labels):
            yield label, post.isel(measure=[index])


def report(folder: Path) -> None:
    """Table of all chunks."""
    cells: dict[tuple, list[xr.Dataset]] = {}
    for file in sorted(folder.glob("*~*.nc")):
        found = xr.load_dataset(file, engine="h5netcdf")
        for answer in found["answer"].values.tolist():
            key = (found.attrs["collection"], int(found.attrs["budget"]), answer)
            cells.setdefault(key, []).append(found.sel(answer=answer, drop=True))
    if not cells:
        raise SystemExit(f"{folder} holds no chunks; begin with 'run'")
    rows = []
    for (name, budget, answer), parts in cells.items():
        of_role = roles(be.open_collection(folder / f"{name}.nc"))
        by_dyn = same_samples(cells.get((name, budget, "dyn"), []), parts)
        whole_cell = joined(parts)
        for role, members in of_role.items():
            for label in whole_cell["measure"].values.tolist():
                at = {"measure": label, "run": whole_cell["run"].values[members]}
                cell = {"collection": name, "budget": budget, "estimator": answer}
                cell |= {"measure": label, "runs": role} | summed(whole_cell.sel(at))
                if by_dyn is not None and label in by_dyn["measure"]:
                    cell["over_dyn"] = cell["rms_error"] / summed(by_dyn.sel(at))["rms_error"]
                rows.append(cell)
    table = pd.DataFrame(rows).sort_values(["collection", "budget", "measure", "runs", "estimator"])
    RESULTS.parent.mkdir(exist_ok=True)
    table.to_csv(RESULTS, index=False, float_format="%.4g")
    print(table.to_string(index=False, float_format=lambda value: f"{value:.4f}"))


def joined(parts: list[xr.Dataset]) -> xr.Dataset:
    """Chunks of one cell as one dataset."""
    return xr.concat([part[KEPT] for part in parts], "replicate").assign(truth=parts[0].truth)


def same_samples(parts: list[xr.Dataset], like: list[xr.Dataset]) -> xr.Dataset | None:
    """Chunks of the same samples as others, joined; nothing where one is missing."""
    by_number = {part.attrs["chunk"]: part for part in parts}
    numbers = [part.attrs["chunk"] for part in like]
    if not by_number.keys() >= set(numbers):
        return None
    return joined([by_number[number] for number in numbers])


def summed(cell: xr.Dataset) -> dict[str, float]:
    """Columns of one cell; the samples are the clusters of the Monte Carlo errors."""
    error = (cell.estimate - cell.truth).transpose("replicate", "run").to_numpy()
    bounds = cell.interval.transpose("replicate", "run", "ci_bound").to_numpy()
    inside = held(cell.truth.to_numpy(), bounds[..., 0], bounds[..., 1])
    standard_error = cell.standard_error.transpose("replicate", "run").to_numpy()
    root = np.sqrt(len(error))
    squares = (error**2).mean(axis=1)
    rms = np.sqrt(squares.mean())
    return {
        "samples": len(error),
        "bias": error.mean(),
        "rms_error": rms,
        "rms_error_error": squares.std(ddof=1) / root / (2 * rms) if rms > 0 else 0.0,
        "coverage": inside.mean(),
        "coverage_error": inside.mean(axis=1).std(ddof=1) / root,
        "length": (bounds[..., 1] - bounds[..., 0]).mean(),
        "bias_over_error": error.mean() / standard_error.mean(),
    }


if __name__ == "__main__":
    main()
