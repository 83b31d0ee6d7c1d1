"""Constants of the combination learned from collections, and how they do on the one left out."""

import itertools
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pandas as pd
import xarray as xr

import bayeseval as be
from bayeseval.combination.constants import GROUPS, TABLE, Constants, kinds_of_measures
from bayeseval.combination.mixture import Posterior, Prior, robust_posterior
from bayeseval.combination.sources import Sources
from benchmarks.held import held

RESULTS = Path(__file__).parent / "combined_intervals" / "results.csv"
PACKAGE = Path(be.__file__).parent / "combination" / TABLE
WANTED = 0.9
Z = 1.6449  # half a normal interval of 90 %
LEARNED_AT = 50  # judgments a topic
FIELDS = tuple(Constants.__dataclass_fields__)
# values that are tried: the model errs by half of its posterior deviation at least
NEAR, DESIGN = (0.5, 0.7, 0.85, 1.0, 1.2, 1.5, 2.0), (0.5, 0.7, 1.0)
FAR, WEIGHT = (0.08, 0.15), (0.02, 0.05, 0.1, 0.2, 0.3)
SLACK = 0.02  # by which the intervals of a role of runs may cover less often than the design's
LEAST_COVERED = 0.85  # at which the intervals of every role of runs are long enough
CLOSE = 1.01  # ratio of two losses that count as equal


def constants_without(collection: str, measures: list[str]) -> dict[str, dict]:
    """Constants of the groups of runs for every measure, learned without a collection.

    Where none were learned without it, they are the package's.
    """
    package = pd.read_csv(PACKAGE).set_index(["kind", "group"])
    rows = pd.read_csv(RESULTS)
    rows = rows[rows.collection == collection]
    rows = rows.assign(
        kind=[kinds_of_measures([label])[0] for label in rows.measure],
        group=np.where(rows.role == GROUPS[0], *GROUPS),
    )
    learned = rows.groupby(["kind", "group"])[list(FIELDS)].first()
    table = learned.combine_first(package)
    kinds = zip(measures, kinds_of_measures(measures), strict=True)
    return {
        label: {group: table.loc[(kind, group), list(FIELDS)].to_dict() for group in GROUPS}
        for label, kind in kinds
    }


def chunks(folder: Path) -> Iterable[tuple[dict, dict]]:
    """Attrs and parts of every chunk."""
    for file in sorted(folder.glob("*~*.nc")):
        with xr.open_datatree(file, engine="h5netcdf") as tree:
            tree.load()
        yield dict(tree.attrs), {name: tree[name].to_dataset() for name in tree.children}


def joined(folder: Path) -> pd.DataFrame:
    """One row a run, measure and sample: the truth, and the numbers of design and model."""
    rows = []
    for attrs, parts in chunks(folder):
        mean = parts["mean"]
        sources = Sources.of(mean, parts["post"], None)
        dual = np.char.endswith(mean["run"].to_numpy().astype(str), "~dual")
        role = np.where(dual, "dual", np.where(mean["contributed"], *GROUPS))
        bounds = mean["interval"].transpose("measure", "run", "ci_bound").to_numpy()
        truth = mean["truth"].transpose("measure", "run").to_numpy()
        for index, label in enumerate(sources.labels["measure"].tolist()):
            columns = {
                "measure": label,
                "kind": sources.kinds[index],
                "role": role,
                "group": np.where(role == GROUPS[0], *GROUPS),
                "truth": truth[index],
                "d": sources.design[index],
                "v": sources.design_variance[index],
                "m": sources.model[index],
                "c": sources.model_variance[index],
                "centre": sources.independent.mean[index],
                "gain": sources.independent.gain[index],
                "low": bounds[index, :, 0],
                "high": bounds[index, :, 1],
            }
            rows.append(pd.DataFrame(columns | attrs))
    return pd.concat(rows, ignore_index=True)


def combined(rows: pd.DataFrame, near: float, design: float, far: float, weight: float):
    """Estimate and bounds of every row under some constants; scores lie in [0, 1]."""
    c, v, gain = (rows[name].to_numpy() for name in ("c", "v", "gain"))
    least = np.minimum(design**2 * v, far**2)
    errors = near**2 * c + least, np.where((c > 0) | (v > 0), far**2, 0.0)
    spread = [gain * c + gain**2 * error for error in errors]
    prior = Prior(rows.centre.to_numpy(), *spread, np.full(len(rows), weight), 0.0, 1.0)
    posterior: Posterior = robust_posterior(prior, rows.d.to_numpy(), v)
    tail = 0.5 * (1.0 - WANTED)
    columns = {
        "estimate": posterior.estimate,
        "lower": np.minimum(posterior.quantile(tail), posterior.estimate),
        "upper": np.maximum(posterior.quantile(1.0 - tail), posterior.estimate),
    }
    return pd.DataFrame(columns, index=rows.index)


def interval_score(truth, lower, upper) -> np.ndarray:
    """Length, and the distance to the truth outside times 2 / alpha (Gneiting and Raftery 2007)."""
    outside = np.maximum(lower - truth, 0.0) + np.maximum(truth - upper, 0.0)
    return upper - lower + 2.0 / (1.0 - WANTED) * outside


def tried(rows: pd.DataFrame) -> pd.DataFrame:
    """Mean interval score and RMS error, in units of the design's, and coverage of every cell.

    A cell is a collection, measure and role of runs, under some constants. ``loss`` is the sum of
    the first two, ``design_held`` the design's own coverage.
    """
    tables = []
    for (kind, group), some in rows.groupby(["kind", "group"]):
        cell = [some[name] for name in ("collection", "measure", "role")]
        scale = interval_score(some.truth, some.low, some.high).groupby(cell).transform("mean")
        own = held(some.truth, some.low, some.high).groupby(cell).mean()
        square = ((some.d - some.truth) ** 2).groupby(cell).mean()
        for constants in itertools.product(NEAR, DESIGN, FAR, WEIGHT):
            now = combined(some, *constants)
            score = interval_score(some.truth, now.lower, now.upper) / scale
            inside = held(some.truth, now.lower, now.upper)
            means = {"score": score, "held": inside, "square": (now.estimate - some.truth) ** 2}
            table = pd.DataFrame({k: v.groupby(cell).mean() for k, v in means.items()})
            table = table.assign(ratio=np.sqrt(table.square / square))
            table = table.assign(loss=table.score + table.ratio)
            table = table.assign(design_held=own, **dict(zip(FIELDS, constants, strict=True)))
            tables.append(table.reset_index().assign(kind=kind, group=group))
    return pd.concat(tables)


def learned(cells: pd.DataFrame) -> pd.DataFrame:
    """Constants by kind of measure and group of runs.

    Those of the least mean loss among those whose intervals cover on average as often as wanted, or
    as often as the design's own where these cover less, and for every role of runs no more than
    ``SLACK`` less often. Where losses are equal, those whose intervals cover more often, up to the
    wanted share, and then those with the least error, over the design's, on the collection and role
    where it is largest. Cells weigh the same.
    """
    names, rows = list(FIELDS), []
    for (kind, group), some in cells.groupby(["kind", "group"]):
        some = some.assign(missing=some.design_held.clip(upper=WANTED) - some.held)
        table = some.groupby(names)[["loss", "missing", "held"]].mean()
        by_role = some.groupby([*names, "role"])[["held", "design_held"]].mean()
        missing = np.minimum(by_role.design_held - SLACK, LEAST_COVERED) - by_role.held
        short = np.maximum(table.missing, missing.groupby(names).max())
        enough = table[short <= max(0.0, short.min())]
        equal = enough[enough.loss <= CLOSE * enough.loss.min()].held.clip(upper=WANTED)
        largest = some.groupby([*names, "collection", "role"]).ratio.mean().groupby(names).max()
        best = largest[equal.index[equal == equal.max()]].idxmin()
        rows.append({"kind": kind, "group": group} | dict(zip(names, best, strict=True)))
    return pd.DataFrame(rows)


def learned_table(folder: Path) -> None:
    """Write the constants learned on all collections into the package."""
    rows = joined(folder)
    table = learned(tried(rows[rows.budget == LEARNED_AT]))
    put(table, PACKAGE)
    print(table.to_string(index=False))


def put(table: pd.DataFrame, path: Path) -> None:
    """Rows in the place of those of the same kinds."""
    before = pd.read_csv(path)
    table = pd.concat([before[~before.kind.isin(table.kind)], table])
    table.sort_values(["kind", "group"]).to_csv(path, index=False, float_format="%.4g")


def report(folder: Path) -> None:
    """Errors, coverage and lengths with the constants learned on the other collections."""
    rows = joined(folder)
    cells = tried(rows[rows.budget == LEARNED_AT])
    table = []
    for name, of_collection in rows.groupby("collection"):
        constants = learned(cells[cells.collection != name]).set_index(["kind", "group"])
        by = ["budget", "measure", "role", "kind", "group"]
        for (budget, measure, role, kind, group), some in of_collection.groupby(by):
            known = constants.loc[(kind, group)].to_dict()
            some = some.join(combined(some, *(known[field] for field in FIELDS)))
            labels = {"collection": name, "budget": budget, "measure": measure, "role": role}
            table.append(labels | summed(some) | known)
    table = pd.DataFrame(table)
    table.to_csv(RESULTS, index=False, float_format="%.4g")
    print(table.to_string(index=False, float_format="%.4f"))
    names = ["ratio", "model_ratio", "covered", "model_covered", "design_covered", "length_ratio"]
    means = table.groupby(["budget", "measure", "role"])[names].mean()
    print("\nmean over collections\n" + means.to_string(float_format="%.3f"))


def summed(some: pd.DataFrame) -> dict[str, float]:
    """Columns of one cell; the samples are the clusters of the Monte Carlo errors."""

    def rms(error) -> float:
        return float(np.sqrt((error**2).mean()))

    inside = held(some.truth, some.lower, some.upper)
    by_sample = inside.groupby(some["sample"]).mean()
    error = rms(some.d - some.truth)
    half = Z * np.sqrt(some.c)
    return {
        "samples": len(by_sample),
        "runs": len(some),
        "design_error": error,
        "model_ratio": rms(some.m - some.truth) / error,
        "ratio": rms(some.estimate - some.truth) / error,
        "design_covered": held(some.truth, some.low, some.high).mean(),
        "model_covered": held(some.truth, some.m - half, some.m + half).mean(),
        "covered": inside.mean(),
        "covered_error": by_sample.std(ddof=1) / np.sqrt(len(by_sample)),
        "length_ratio": (some.upper - some.lower).mean() / (some.high - some.low).mean(),
    }
