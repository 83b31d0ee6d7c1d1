"""Coverage of intervals: collections x budgets x estimators x measures x kinds of runs.

``run`` draws samples from the design of the contributing runs, estimates, and keeps error, standard
error and interval of every run, chunk by chunk of ten samples: what is there already is not done
again. Models keep their draws, from which ``report`` makes rows with the model's own errors and the
estimator ``combined`` (after that of the model) those of ``be.combine``, with constants learned
without the collection. ``report`` sums all chunks up in ``interval_coverage/results.csv`` and
prints the rows. Truth: all judgments; 20 pps strata; the seed of a chunk is 1000 budget + its
number. Real collections are those of the folder that the environment variable BAYESEVAL_REAL_DATA
names, and are left out where it is not set. Collections on which nothing was learned are made when
``--collection`` asks for them.
"""

import argparse
import json
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import xarray as xr

import bayeseval as be
from bayeseval.evaluation.pairs import differences
from benchmarks.combination_table import constants_without
from benchmarks.coverage_collections import COLLECTIONS, EVERY, at_hand, roles, whole
from benchmarks.held import held

MEASURES = ["P@10", "RBP(p=0.8)", "AP", "nDCG@10", "R@100", "NumRel"]
RATIOS = ["AP", "nDCG@10", "R@100"]
CHUNK = 10  # samples
# name -> (estimator, predictor)
DESIGN_BASED = {
    "stat": ("stat", None),
    "dyn, rank_logistic": ("dyn", "rank_logistic"),
    "dyn": ("dyn", None),
}
# name -> (model, how it is fitted), 4 chains
MODELS = {
    "relevance_model": ("relevance_model", {"approximation": "laplace", "draws": 100}),
    "relevance_model (NUTS)": ("relevance_model", {"draws": 250}),
    "relevance_model, learning from new runs": (
        "relevance_model",
        {"approximation": "laplace", "draws": 100},
    ),
}
# name -> model of whose chunk the draws are, which must be there
COMBINED = {
    "combined": "relevance_model",
    "combined (NUTS)": "relevance_model (NUTS)",
    "combined, learning from new runs": "relevance_model, learning from new runs",
}
FROM_NEW = "relevance_model, learning from new runs"  # but not from dual ones
MODELLED = [name for name in MEASURES if name != "nDCG@10"]  # that take relevance alone
WITH_ERRORS = [name for name in MODELLED if name != "NumRel"]  # scores of runs
RESULTS = Path(__file__).parent / "interval_coverage" / "results.csv"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("act", choices=["run", "report"])
    parser.add_argument("--collection", action="append", choices=list(EVERY))
    parser.add_argument("--estimator", action="append")
    parser.add_argument("--budget", type=int, action="append")
    parser.add_argument("--samples", type=int, default=30)
    parser.add_argument("--denominator", help="estimator_options of stat and dyn")
    parser.add_argument("--chunks", type=Path, default=Path("coverage-output"))
    options = parser.parse_args()
    if options.act == "report":
        report(options.chunks)
        return
    options.chunks.mkdir(exist_ok=True)
    for name in at_hand(options.collection or COLLECTIONS):
        run(name, options)


def run(name: str, options) -> None:
    """All cells of one collection."""
    collection = whole(name, options.chunks)
    truth = be.evaluate(collection, MEASURES, estimator="assumed").estimate.mean("topic")
    for budget in options.budget or [100]:
        for estimator in options.estimator or list(DESIGN_BASED):
            for chunk in range(1, -(-options.samples // CHUNK) + 1):
                file = options.chunks / f"{name}~{budget}~{estimator}~{chunk}.nc"
                if options.denominator:
                    file = file.with_name(f"{file.stem}~{options.denominator}.nc")
                if file.exists():
                    continue
                design = be.designs.pps_strata(collection, budget=budget)
                seed = 1000 * budget + chunk
                selected = be.draw(design, n_replicates=CHUNK, random_seed=seed)
                drawn = options.chunks / f"{name}~{budget}~{COMBINED.get(estimator)}~{chunk}.nc"
                found = estimated(collection, design, selected, estimator, drawn, options)
                found = found.assign(truth=truth).assign_attrs(
                    collection=name, budget=budget, estimator=estimator, chunk=chunk
                )
                if options.denominator:
                    found.attrs["estimator"] += f" ({options.denominator})"
                found.to_netcdf(file, engine="h5netcdf")
                print(file.name, flush=True)


def estimated(collection, design, selected, name: str, drawn: Path, options) -> xr.Dataset:
    """Means over topics of every sample (replicate, measure, run): estimate, error, interval.

    ``drawn`` is the file with the model's draws, for what combines them with the design.
    ``difference_interval`` is that of the difference from the next run of the collection, whatever
    kind that is; the last run goes with the first.
    """
    if name in MODELS:
        return modelled(collection, design, selected, name)
    if name in COMBINED:
        return combined(collection, design, selected, drawn)
    estimator, predictor = DESIGN_BASED[name]
    how = {"estimator": estimator, "predictor": predictor}
    if options.denominator:
        how["estimator_options"] = {"denominator": options.denominator}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        scores = be.evaluate(be.reveal(collection, design, selected), MEASURES, **how)
        mean = be.mean_over_topics(scores, population="sample")
        intervals = [
            next_differences(be.reveal(collection, design, selected.isel(replicate=k)), how)
            for k in range(CHUNK)
        ]
    return mean[["estimate", "standard_error", "interval"]].assign(
        difference_interval=xr.concat(intervals, dim="replicate")
    )


def modelled(collection, design, selected, name: str) -> xr.Dataset:
    """The same from posteriors of a model, its draws, and what spoke against each fit."""
    model, how = MODELS[name]
    honest = collection["run"].to_numpy()[~roles(collection)["dual"]]
    options = {"runs": honest.tolist()} if name == FROM_NEW else {}
    rows, draws, checks = [], [], []
    for replicate in range(selected.sizes["replicate"]):
        sampled = be.reveal(collection, design, selected.isel(replicate=replicate))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            made = getattr(be.models, model)(sampled, **options)
            fitted = be.fit(made, **how, random_seed=replicate)
            scores = be.posterior_scores(fitted, sampled, MODELLED, random_seed=replicate)
        summary = be.summarize(scores)
        rows.append(summary[["estimate", "standard_error", "interval"]])
        draws.append(scores.estimate.stack(sample=("chain", "draw"), create_index=False))
        checks.append({"judgments_passed": summary.attrs["judgments_passed"]})
        if "approximation" not in how:
            found = be.verdict(fitted)
            checks[-1] |= dict(zip(found["check"].values, found["value"].values, strict=True))
    whole = xr.concat(rows, dim="replicate").assign(
        draws=xr.concat(draws, dim="replicate")
        .drop_vars(("chain", "draw"), errors="ignore")
        .astype(np.float32)
    )
    table = pd.DataFrame(checks).rename_axis("replicate")
    whole = whole.reindex(measure=MEASURES).merge(table.to_xarray().drop_vars("replicate"))
    return whole.assign_attrs(denominator=scores.attrs.get("denominator", "model"))


def with_errors(found: xr.Dataset) -> xr.Dataset:
    """A chunk of a model with the model's own errors, as learned on the other collections."""
    summaries = [
        xr.concat(
            [
                be.summarize(be.with_model_errors(post, constants=known, random_seed=number))
                for number, post in enumerate(posteriors(found, label))
            ],
            dim="replicate",
        )
        for label, known in constants_of(found).items()
    ]
    whole = xr.concat(summaries, dim="measure").reindex(measure=MEASURES)
    return whole.assign(truth=found.truth).assign_attrs(chunk=found.attrs["chunk"])


def combined(collection, design, selected, drawn: Path) -> xr.Dataset:
    """Estimates of ``dyn`` combined with the draws of a model from the same samples."""
    found = xr.load_dataset(drawn, engine="h5netcdf")
    known = constants_of(found)
    post = {label: posteriors(found, label) for label in WITH_ERRORS}
    parts: dict[str, list[xr.Dataset]] = {label: [] for label in WITH_ERRORS}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for replicate in range(selected.sizes["replicate"]):
            sampled = be.reveal(collection, design, selected.isel(replicate=replicate))
            scores = be.evaluate(sampled, WITH_ERRORS, estimator="dyn")
            mean = be.mean_over_topics(scores, population="sample")
            for label in WITH_ERRORS:
                one = mean.sel(measure=[label])
                both = be.combine(one, post[label][replicate], constants=known[label])
                parts[label].append(both[["estimate", "standard_error", "interval"]])
    whole = [xr.concat(rows, dim="replicate") for rows in parts.values()]
    return xr.concat(whole, dim="measure").reindex(measure=MEASURES)


def posteriors(found: xr.Dataset, label: str) -> list[xr.Dataset]:
    """Posterior draws (chain, draw, measure, run) of every sample of a chunk, of one measure."""
    draws = found.draws.sel(measure=[label]).rename(sample="draw").expand_dims("chain")
    attrs = {"denominator": found.attrs.get("denominator", "model")}
    return [
        draws.isel(replicate=number).to_dataset(name="estimate").assign_attrs(attrs)
        for number in range(draws.sizes["replicate"])
    ]


def constants_of(found: xr.Dataset) -> dict[str, dict[str, dict[str, float]]]:
    """Constants for every measure, learned without a chunk's collection."""
    return constants_without(
        found.attrs["collection"], WITH_ERRORS, found.attrs.get("denominator", "model")
    )


def next_differences(sampled: xr.DataTree, how: dict) -> xr.DataArray:
    """Interval (ratio, run, ci_bound) of each run's difference from the next one."""
    own = np.arange(sampled.sizes["run"])
    found = differences(sampled, RATIOS, pairs=(own, np.roll(own, -1)), population="sample", **how)
    return found.interval.rename(measure="ratio", comparison="run").assign_coords(
        run=sampled["run"].to_numpy()
    )


def report(folder: Path) -> None:
    """Table of all chunks."""
    cells: dict[tuple, list[xr.Dataset]] = {}
    for file in sorted(folder.glob("*~*.nc")):
        found = xr.load_dataset(file, engine="h5netcdf")
        key = tuple(found.attrs[name] for name in ("collection", "budget", "estimator"))
        cells.setdefault(key, []).append(found)
        if "draws" in found:
            wider = (*key[:2], f"{key[2]}, with its own errors")
            cells.setdefault(wider, []).append(with_errors(found))
    if not cells:
        raise SystemExit(f"{folder} holds no chunks; begin with 'run'")
    rows = []
    for (name, budget, estimator), parts in cells.items():
        collection = be.open_collection(folder / f"{name}.nc")
        names = ["estimate", "standard_error", "interval"]
        whole = xr.concat([part[names] for part in parts], dim="replicate")
        whole = whole.assign(truth=parts[0].truth)
        of_differences = differences_held(parts)
        beside = same_samples(cells.get((name, budget, "dyn"), []), parts)
        for role, chosen in roles(collection).items():
            if chosen.any():
                some = whole.isel(run=np.flatnonzero(chosen))
                known = some.estimate.notnull().any(
                    [dim for dim in some.estimate.dims if dim != "measure"]
                )
                for label in some["measure"].to_numpy()[known.to_numpy()].tolist():
                    cell = {"collection": name, "budget": int(budget), "estimator": estimator}
                    cell |= {"measure": label, "runs": role} | summed(some.sel(measure=label))
                    if beside is not None:
                        of_dyn = beside.sel(measure=label).isel(run=np.flatnonzero(chosen))
                        known_error = summed(of_dyn.assign(truth=some.truth.sel(measure=label)))
                        cell["over_dyn"] = cell["rms_error"] / known_error["rms_error"]
                    if label in of_differences:
                        of_samples = of_differences[label][:, chosen].mean(axis=1)
                        cell["difference_coverage"] = of_samples.mean()
                        cell["difference_error"] = of_samples.std(ddof=1) / len(of_samples) ** 0.5
                    rows.append(cell)
    table = pd.DataFrame(rows).sort_values(["collection", "budget", "measure", "runs", "estimator"])
    RESULTS.parent.mkdir(exist_ok=True)
    table.to_csv(RESULTS, index=False, float_format="%.4g")
    about = {"measures": MEASURES, "chunk": CHUNK, "n_strata": 20, "ci_prob": 0.9}
    (RESULTS.parent / "about.json").write_text(json.dumps(about, indent=1) + "\n")
    print(table.to_string(index=False, float_format=lambda value: f"{value:.4f}"))


def same_samples(parts: list[xr.Dataset], of: list[xr.Dataset]) -> xr.Dataset | None:
    """Chunks of the same samples as others, joined; nothing where one is not there."""
    by_number = {part.attrs["chunk"]: part for part in parts}
    numbers = [part.attrs["chunk"] for part in of]
    if not by_number.keys() >= set(numbers):
        return None
    names = ["estimate", "standard_error", "interval"]
    return xr.concat([by_number[number][names] for number in numbers], dim="replicate")


def summed(some: xr.Dataset) -> dict[str, float]:
    """Columns of one cell; the samples are the clusters of the Monte Carlo errors."""
    error = (some.estimate - some.truth).transpose("replicate", "run").to_numpy()
    bounds = some.interval.transpose("replicate", "run", "ci_bound").to_numpy()
    truth = some.truth.to_numpy()
    inside = held(truth, bounds[..., 0], bounds[..., 1])
    standard_error = some.standard_error.transpose("replicate", "run").to_numpy()
    n_samples = len(error)
    root = np.sqrt(n_samples)
    squares = (error**2).mean(axis=1)
    rms = np.sqrt(squares.mean())
    spread = error.var(axis=0, ddof=1).mean()
    return {
        "samples": n_samples,
        "bias": error.mean(),
        "bias_error": error.mean(axis=1).std(ddof=1) / root,
        "rms_error": rms,
        "rms_error_error": squares.std(ddof=1) / root / (2 * rms) if rms > 0 else 0.0,
        "coverage": inside.mean(),
        "coverage_error": inside.mean(axis=1).std(ddof=1) / root,
        "length": (bounds[..., 1] - bounds[..., 0]).mean(),
        "bias_over_error": error.mean() / standard_error.mean(),
        "variance_ratio": (standard_error**2).mean() / spread if spread > 0 else np.nan,
    }


def differences_held(parts: list[xr.Dataset]) -> dict[str, np.ndarray]:
    """Measure to whether the interval of each difference holds it, (replicate, run).

    Nothing of models, whose differences the chunks do not keep.
    """
    if "difference_interval" not in parts[0]:
        return {}
    interval = xr.concat([part.difference_interval for part in parts], dim="replicate")
    found = {}
    for label in RATIOS:
        truth = parts[0].truth.sel(measure=label).to_numpy()
        difference = truth - np.roll(truth, -1)
        bounds = interval.sel(ratio=label).transpose("replicate", "run", "ci_bound").to_numpy()
        found[label] = held(difference, bounds[..., 0], bounds[..., 1])
    return found


if __name__ == "__main__":
    main()
