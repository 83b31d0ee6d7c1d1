"""Looking at any time: how often intervals miss at some look, and how soon a gate answers.

``run`` draws nested samples of the order of the contributing runs and looks at their scores after
every 5 judgments per topic from 20 to 100; after every 10 also at the differences and ranks of 20
runs at most. Chunks that are there already are not made again. ``report`` prints the shares of
(run, order), (pair, order) and orders that ever miss, by intervals of a single look and by those
that hold at every look, and what a gate with a margin does. Truth: all judgments.
"""

import argparse
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import xarray as xr
from scipy.special import stdtrit

import bayeseval as be
from bayeseval.uncertainty import anytime_ratio, normal_quantile
from benchmarks.coverage_collections import EVERY, LEVELS, at_hand, whole

MEASURES = ["P@10", "RBP(p=0.8)", "AP", "nDCG@10", "R@100"]
COMPARED = ["P@10", "AP", "R@100"]
LOOKS, SEEN = np.arange(20, 101, 5), np.arange(20, 101, 10)
CHUNK, CI_PROB, MARGIN = 10, 0.9, 0.02
KINDS = ["single look", "every look"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("act", choices=["run", "report"])
    parser.add_argument("--collection", action="append", choices=list(EVERY))
    parser.add_argument("--estimator", choices=["stat", "dyn"], default="dyn")
    parser.add_argument("--orders", type=int, default=60, help="for scores")
    parser.add_argument("--compared", type=int, default=20, help="orders for differences and ranks")
    parser.add_argument("--chunks", type=Path, default=Path("looks-output"))
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    options.chunks.mkdir(exist_ok=True)
    for name in at_hand(options.collection or EVERY):
        if options.act == "run":
            scores(name, options)
            differences(name, options)
        else:
            report(name, options)


def contributing(name: str, folder: Path) -> tuple[xr.DataTree, dict[str, int]]:
    """The collection with its contributing runs, and its relevance level."""
    collection = whole(name, folder)
    runs = collection["run"].to_numpy()[collection["contributed"].to_numpy()]
    return be.select(collection, runs=runs.tolist()), {"relevance_level": LEVELS.get(name, 1)}


def truth_of(collection: xr.DataTree, measures: list[str], level: dict[str, int]) -> xr.DataArray:
    scores = be.evaluate(collection, measures, estimator="assumed", **level)
    return scores.estimate.mean("topic").reset_coords(drop=True)


def scores(name: str, options) -> None:
    """Chunks of scores (look, replicate, measure, run) by nested samples."""
    files = [
        options.chunks / f"{name}~{options.estimator}~{number}.nc"
        for number in range(1, options.orders // CHUNK + 1)
    ]
    for number, file in enumerate(files, start=1):
        if file.exists():
            continue
        collection, level = contributing(name, options.chunks)
        order = be.designs.order(collection, random_seed=7000 + number)
        looks = []
        for budget in LOOKS:
            # the same seed: the beginnings of the same lists
            lists = {"n_replicates": CHUNK, "random_seed": 7000 + number}
            selected = be.draw(order, budget=budget, **lists)
            sampled = be.reveal(collection, order, selected)
            mean = be.scores(sampled, MEASURES, estimator=options.estimator, **level)
            kept = mean[["estimate", "standard_error", "degrees_of_freedom"]].reset_coords(
                drop=True
            )
            looks.append(kept.assign(information=mean.attrs["information"]))
        found = xr.concat(looks, xr.DataArray(LOOKS, dims="look", name="look")).drop_attrs()
        found = found.assign(truth=truth_of(collection, MEASURES, level))
        found.to_netcdf(file, engine="h5netcdf")
        print(file.name, flush=True)


def differences(name: str, options) -> None:
    """Files of differences (look, measure, comparison), and of wrong orders of two runs."""
    for number in range(1, options.compared + 1):
        file = options.chunks / f"{name}~pairs~{number}.nc"
        if file.exists():
            continue
        collection, level = contributing(name, options.chunks)
        runs = collection["run"].to_numpy()
        some = np.unique(np.linspace(0, runs.size - 1, min(20, runs.size)).astype(int))
        true = truth_of(be.select(collection, runs=runs[some].tolist()), COMPARED, level)
        order, looks = be.designs.order(collection, random_seed=9000 + number), []
        for budget in SEEN:
            sampled = be.reveal(collection, order, be.draw(order, budget=budget))
            sampled = be.select(sampled, runs=runs[some].tolist())
            asked = {"estimator": "dyn", "anytime": True, **level}
            pairs = be.compare(sampled, COMPARED, n_permutations=1, **asked)
            kept = pairs[["estimate", "standard_error", "degrees_of_freedom"]]
            wrong = []
            for anytime in (False, True):
                ranked = be.rank(sampled, COMPARED, **asked | {"anytime": anytime})
                other = true.rename(run="run_other")
                wrong.append((ranked.separated & (true <= other + 1e-12)).any(["run", "run_other"]))
            looks.append(
                kept.reset_coords(drop=True).assign(
                    wrong=xr.concat(wrong, pd.Index(KINDS, name="kind")),
                    information=pairs.attrs["information"],
                )
            )
        first, second = np.triu_indices(some.size, k=1)
        true = true.transpose("measure", "run").to_numpy()
        found = xr.concat(looks, xr.DataArray(SEEN, dims="look", name="look")).drop_attrs()
        found = found.assign(truth=(("measure", "comparison"), true[:, first] - true[:, second]))
        found.to_netcdf(file, engine="h5netcdf")
        print(file.name, flush=True)


def opened(folder: Path, pattern: str, dim: str) -> xr.Dataset | None:
    """All chunks of a kind along a dim; None where there is none."""
    files = sorted(folder.glob(pattern))
    parts = [xr.load_dataset(file, engine="h5netcdf") for file in files]
    if not parts:
        return None
    shared = parts[0][["truth", "information"]]
    return xr.concat([part.drop_vars(["truth", "information"]) for part in parts], dim).assign(
        shared
    )


def halves(found: xr.Dataset) -> xr.DataArray:
    """Half lengths of the intervals of both kinds."""
    quantile = normal_quantile(CI_PROB)
    freedom = found["degrees_of_freedom"].clip(max=1e9)
    student = xr.apply_ufunc(stdtrit, freedom, 0.5 * (1.0 + CI_PROB))
    ratio = [float(anytime_ratio(quantile, one)) for one in found["information"].to_numpy()]
    longer = xr.DataArray(
        [[1.0] * len(ratio), ratio], dims=("kind", "look"), coords={"kind": KINDS}
    )
    return student * found["standard_error"] * longer


def report(name: str, options) -> None:
    """Print what one collection's chunks say."""
    found = opened(options.chunks, f"{name}~{options.estimator}~*.nc", "replicate")
    if found is not None:
        missed = abs(found["estimate"] - found["truth"]) > halves(found) + 1e-9
        show(f"{name}, scores by {options.estimator}, ever missed", missed.any("look"), "replicate")
        length = [float(anytime_ratio(normal_quantile(CI_PROB), one)) for one in found.information]
        print(
            "   length over that of a single look at 20, 50, 100:", np.round(length, 2)[[0, 6, 16]]
        )
    found = opened(options.chunks, f"{name}~pairs~*.nc", "order")
    if found is None:
        return
    half, error = halves(found), found["estimate"] - found["truth"]
    show(f"{name}, differences, ever missed", (abs(error) > half + 1e-9).any("look"), "order")
    show(f"{name}, a pair wrong way round, ever", found["wrong"].astype(bool).any("look"), "order")
    gate(found, half)


def show(title: str, missed: xr.DataArray, orders: str) -> None:
    """Print shares (kind, measure), with the standard error over orders."""
    by_order = missed.mean([dim for dim in missed.dims if dim not in ("kind", "measure", orders)])
    share, error = (
        by_order.mean(orders),
        by_order.std(orders, ddof=1) / by_order.sizes[orders] ** 0.5,
    )
    print(f"{title} ({by_order.sizes[orders]} orders)")
    for kind in KINDS:
        rows = zip(
            share["measure"].to_numpy(), share.sel(kind=kind), error.sel(kind=kind), strict=True
        )
        cells = [f"{label} {float(one):.3f} ({float(off):.3f})" for label, one, off in rows]
        print(f"   {kind}: {', '.join(cells)}")


def gate(found: xr.Dataset, half: xr.DataArray) -> None:
    """Print when intervals say "worse" or "not worse" by the margin, and how often wrongly."""
    low, high = found["estimate"] - half, found["estimate"] + half
    for what, chosen in (
        ("worse by .05 and more", found["truth"] < -0.05),
        ("alike, within .005", abs(found["truth"]) < 0.005),
    ):
        worse, fine = high < -MARGIN, low >= -MARGIN
        answered = (worse | fine).cumsum("look") > 0
        first = (~answered).sum("look")  # looks without an answer
        at = first.clip(max=SEEN.size - 1)
        says_worse = worse.isel(look=at) & (first < SEEN.size)
        wrong = xr.where(found["truth"] < -MARGIN, ~says_worse, says_worse) & (first < SEEN.size)
        used = xr.DataArray(SEEN, dims="look").isel(look=at)
        for kind in KINDS:
            cells = []
            for label in found["measure"].to_numpy():
                of_pairs = chosen.sel(measure=label)
                if not of_pairs.any():
                    continue
                number = used.sel(measure=label, kind=kind).isel(comparison=of_pairs.to_numpy())
                share, errs = (
                    float(
                        one.sel(measure=label, kind=kind)
                        .isel(comparison=of_pairs.to_numpy())
                        .mean()
                    )
                    for one in (first < SEEN.size, wrong)
                )
                cells.append(
                    f"{label} {share:.2f} after {float(number.mean()):.0f}, wrong {errs:.3f}"
                )
            print(f"   gate, {what}, {kind}: answered {'; '.join(cells)}")


if __name__ == "__main__":
    main()
