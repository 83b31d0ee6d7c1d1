"""Constants of the combination learned from collections, and how they do on the one left out."""

import itertools
from collections.abc import Iterable
from dataclasses import fields
from pathlib import Path

import numpy as np
import pandas as pd
import xarray as xr
from bayeseval.combination.each_run import intervals_for_each
from bayeseval.models.score.constants import TABLE, Constants, kinds_of_measures
from bayeseval.models.score.sources import Sources
from scipy.stats import norm

import bayeseval as be
from bayeseval.combination.mixture import Prior, robust_posterior
from bayeseval.combination.model_errors import with_model_errors
from benchmarks.coverage_collections import COLLECTIONS, HELD_OUT
from benchmarks.held import held

HERE = Path(__file__).parent / "combined_intervals"
LEFT_OUT = HERE / "left_out.csv"
PACKAGE = Path(be.__file__).parent / "models" / "score" / TABLE
WANTED = 0.9
Z = 1.6449  # half a normal interval of 90 %
SLACK = 0.02
LEAST_HELD = 0.85
CLOSE = 1.01  # ratio of two losses that count as alike
LEARNED_AT = 100  # judgments a topic
MIXTURE = ("near_ratio", "design_ratio", "far_sd", "far_weight")
NEAR = (0.5, 0.7, 0.85, 1.0, 1.2, 1.5, 2.0, 2.5, 3.0)  # values tried: half an error at least
ALONE = (0.0, 0.3, *NEAR)
APART = (0.0, 0.3, 0.5, 0.7, 0.85, 1.0, 1.2, 1.5, 2.0, 2.5)
BESIDE = (0.5, 0.7, 1.0)
FAR = (0.08, 0.15)
WEIGHT = (0.02, 0.05, 0.1, 0.2, 0.3)
GROUPS = ("contributed", "new")
EDGES = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 1.01)
ROLES = ("contributed", "new", "dual")


def chunks(folder: Path) -> Iterable[tuple[dict, dict]]:
    """Attrs and parts of every chunk."""
    for file in sorted(folder.glob("*~*.nc")):
        with xr.open_datatree(file, engine="h5netcdf") as tree:
            tree.load()
        yield dict(tree.attrs), {name: tree[name].to_dataset() for name in tree.children}


def _kind(label: str, post: xr.Dataset) -> str:
    """Kind of constants of a measure, by what its posterior scores divide by."""
    return kinds_of_measures([label], post)[0]


def constants_without(
    collection: str, measures: list[str], denominator: str
) -> dict[str, dict[str, dict[str, float]]]:
    """Constants of the groups of runs for every measure, learned without a collection.

    Of a collection that no constants were learned on they are the package's.
    """
    if collection in HELD_OUT:
        table = pd.read_csv(PACKAGE).set_index(["kind", "group"])
    else:
        table = left_out().loc[collection]
    groups = table.index.unique("group")
    kinds = kinds_of_measures(measures, xr.Dataset(attrs={"denominator": denominator}))
    return {
        label: {group: table.loc[(kind, group)].to_dict() for group in groups}
        for label, kind in zip(measures, kinds, strict=True)
    }


def left_out() -> pd.DataFrame:
    """Constants learned without each collection, by collection, kind and group."""
    return pd.read_csv(LEFT_OUT).set_index(["left_out", "kind", "group"])


def joined(folder: Path, constants: pd.DataFrame | None = None) -> pd.DataFrame:
    """One row a run, measure and sample: truth, what design and model say, and flags.

    ``constants`` are those of families left out, for the flags; default: the package's.
    """
    rows = []
    for attrs, parts in chunks(folder):
        mean = parts["mean"]
        found = Sources.of(mean, parts["post"], None)
        summary = be.summarize(parts["post"])
        dual = np.char.endswith(mean["run"].to_numpy().astype(str), "~dual")
        role = np.where(dual, "dual", np.where(mean["contributed"], "contributed", "new"))
        bounds = mean["interval"].transpose("measure", "run", "ci_bound").to_numpy()
        truth = mean["truth"].transpose("measure", "run").to_numpy()
        for index, label in enumerate(found.labels["measure"].tolist()):
            contributed = role == "contributed"
            kind = _kind(label, parts["post"])
            known = None
            if constants is not None:
                known = {GROUPS[0]: constants.loc[attrs["collection"], kind, GROUPS[0]].to_dict()}
            one = [scores.sel(measure=[label]) for scores in (mean, summary)]
            flagged = be.compare_intervals(*one, constants=known).flagged
            shared = found.model_covariance[index][np.ix_(contributed, contributed)].mean()
            columns = {
                "measure": label,
                "kind": kind,
                "role": role,
                "group": np.where(contributed, *GROUPS),
                "truth": truth[index],
                "d": found.design[index],
                "v": found.design_variance[index],
                "m": found.model[index],
                "c": found.model_variance[index],
                "says": found.independent.mean[index],
                "gain": found.independent.gain[index],
                "product": ((found.model - truth) * (found.design - truth))[index],
                "low": bounds[index, :, 0],
                "high": bounds[index, :, 1],
                "shared": shared,
                "flagged": flagged.isel(measure=0).to_numpy(),
            }
            rows.append(pd.DataFrame(columns | attrs))
    return pd.concat(rows, ignore_index=True)


def combined(rows: pd.DataFrame, *constants: float) -> pd.DataFrame:
    """Estimate, interval and conflict of every row under some constants."""
    found = robust_posterior(_prior(rows, *constants), rows.d.to_numpy(), rows.v.to_numpy())
    tail = 0.5 * (1 + WANTED)
    return pd.DataFrame(
        {"estimate": found.estimate, "lower": found.quantile(1 - tail),
         "upper": found.quantile(tail), "conflict": found.conflict},
        index=rows.index,
    )  # fmt: skip


def _prior(rows: pd.DataFrame, near: float, beside: float, far: float, weight: float) -> Prior:
    """Prior of every row under some constants."""
    c, v, gain = (rows[name].to_numpy() for name in ("c", "v", "gain"))
    share = np.minimum(beside**2 * v, far**2)  # scores of these measures lie in [0, 1]
    errors = np.sqrt(near**2 * c + share), np.where((c > 0) | (v > 0), far, 0.0)
    spread = [gain * c + (gain * sd) ** 2 for sd in errors]
    return Prior(rows.says.to_numpy(), *spread, np.full(len(rows), weight))


def interval_score(truth, lower, upper) -> np.ndarray:
    """Length, and what the truth is outside by times 2 / alpha (Gneiting and Raftery 2007)."""
    outside = np.maximum(lower - truth, 0.0) + np.maximum(truth - upper, 0.0)
    return upper - lower + 2.0 / (1.0 - WANTED) * outside


def tried(rows: pd.DataFrame) -> pd.DataFrame:
    """Mean interval score and RMS error, in units of the design's, and coverage of every cell.

    A cell is a family, measure and role of runs, under some constants. ``loss`` is the sum of the
    first two, ``design_held`` the design's own coverage.
    """
    found = []
    for (kind, group), some in rows.groupby(["kind", "group"]):
        cell = [some[name] for name in ("collection", "measure", "role")]
        design = interval_score(some.truth, some.low, some.high)
        scale = design.groupby(cell).transform("mean")
        own = held(some.truth, some.low, some.high).groupby(cell).mean()
        square = ((some.d - some.truth) ** 2).groupby(cell).mean()
        for constants in itertools.product(NEAR, BESIDE, FAR, WEIGHT):
            now = combined(some, *constants)
            score = interval_score(some.truth, now.lower, now.upper) / scale
            inside = held(some.truth, now.lower, now.upper)
            means = {"score": score, "held": inside, "square": (now.estimate - some.truth) ** 2}
            table = pd.DataFrame({k: v.groupby(cell).mean() for k, v in means.items()})
            table = table.assign(ratio=np.sqrt(table.square / square))
            table = table.assign(loss=table.score + table.ratio)
            table = table.assign(design_held=own, **dict(zip(MIXTURE, constants, strict=True)))
            found.append(table.reset_index().assign(kind=kind, group=group))
    return pd.concat(found)


def pairs_stated(folder: Path) -> pd.DataFrame:
    """Every pair of runs: how the model's mean differs, its variance, and which is better.

    ``contributed`` and ``new`` are the variances that errors of a run's own of one standard
    deviation would add by the runs of these groups; ``right`` is 1/2 at a tie.
    """
    found = []
    for attrs, parts in chunks(folder):
        if attrs["budget"] != LEARNED_AT:
            continue
        group = np.where(parts["mean"]["contributed"], *GROUPS)
        one, other = np.triu_indices(group.size, k=1)
        for label in parts["mean"]["measure"].to_numpy().tolist():
            draws = parts["post"]["estimate"].sel(measure=label).stack(all=("chain", "draw"))
            values = draws.transpose("run", "all").to_numpy().astype(float)
            truth = parts["mean"]["truth"].sel(measure=label).to_numpy()
            mean, matrix = values.mean(axis=1), np.cov(values)
            apart = (values - values.mean(axis=0)).var(axis=1, ddof=1)
            apart *= group.size / (group.size - 1.0)
            off, better = mean[one] - mean[other], truth[one] - truth[other]
            columns = {
                "off": np.abs(off),
                "variance": matrix[one, one] + matrix[other, other] - 2.0 * matrix[one, other],
                "right": np.where(np.abs(better) < 1e-12, 0.5, (better > 0) == (off >= 0)),
                "collection": attrs["collection"],
                "measure": label,
                "kind": _kind(label, parts["post"]),
            }
            for name in GROUPS:
                own = np.where(group == name, apart, 0.0)
                columns[name] = own[one] + own[other]
            found.append(pd.DataFrame(columns))
    return pd.concat(found, ignore_index=True)


def apart_scores(pairs: pd.DataFrame) -> pd.DataFrame:
    """Log score of the probability that one run is better, by kind, family and errors tried."""
    rows = []
    cell = [pairs[name] for name in ("kind", "collection", "measure")]
    for ratios in itertools.product(APART, repeat=2):
        added = sum(r**2 * pairs[name] for r, name in zip(ratios, GROUPS, strict=True))
        p = norm.cdf(pairs.off / np.sqrt(np.maximum(pairs.variance + added, 1e-14)))
        p = np.minimum(p, 1.0 - 1e-6)
        score = pairs.right * np.log(p) + (1.0 - pairs.right) * np.log1p(-p)
        table = score.groupby(cell).mean().rename("score").reset_index()
        rows.append(table.assign(**dict(zip(GROUPS, ratios, strict=True))))
    return pd.concat(rows)


def alone_scores(rows: pd.DataFrame) -> pd.DataFrame:
    """Log score and coverage where no design is beside the model, by family and errors tried."""
    found = []
    cell = [rows[name] for name in ("kind", "group", "collection", "measure", "role")]
    for ratio in ALONE:
        error = np.sqrt(np.maximum((1.0 + ratio**2) * rows.c, 1e-14))
        inside = held(rows.truth, rows.m - Z * error, rows.m + Z * error)
        table = rows.assign(score=norm.logpdf(rows.truth, rows.m, error), held=inside)
        table = table.groupby(cell)[["score", "held"]].mean().reset_index()
        found.append(table.assign(alone_ratio=ratio))
    return pd.concat(found)


def learned(cells: pd.DataFrame, rows: pd.DataFrame, apart: pd.DataFrame) -> pd.DataFrame:
    """Constants by kind of measure and group of runs.

    ``apart_ratio``: the best mean log score of which run is better; ``alone_ratio``: that of the
    scores among those whose intervals hold on average as often as wanted, half an error at least;
    ``flag_ratio``: the same however little it is. The others: those of the
    least mean loss among those whose intervals hold on average as often as wanted, or as often as
    the design's own where these hold less, and for every role of runs no more than ``SLACK`` less
    often; where losses are alike, those whose intervals hold more often, up to what is wanted, and
    then those with the least error, over the design's, on the family and role where it is largest.
    Cells weigh the same.
    """
    names = list(MIXTURE)
    found = []
    alone = alone_scores(rows).set_index(["kind", "group"])
    for (kind, group), some in cells.groupby(["kind", "group"]):
        wanted = some.design_held.clip(upper=WANTED)
        some = some.assign(lacking=wanted - some.held)
        table = some.groupby(names)[["loss", "lacking", "held"]].mean()
        by_role = some.groupby([*names, "role"])[["held", "design_held"]].mean()
        lacking = np.minimum(by_role.design_held - SLACK, LEAST_HELD) - by_role.held
        short = np.maximum(table.lacking, lacking.groupby(names).max())
        enough = table[short <= max(0.0, short.min())]
        alike = enough[enough.loss <= CLOSE * enough.loss.min()]
        holds = alike.held.clip(upper=WANTED)
        largest = some.groupby([*names, "collection", "role"]).ratio.mean().groupby(names).max()
        best = largest[holds.index[holds == holds.max()]].idxmin()
        best = dict(zip(names, best, strict=True))
        best["common_ratio"] = _common(rows[rows.kind == kind])
        scores = apart[apart.kind == kind].groupby(list(GROUPS)).score.mean()
        best["apart_ratio"] = dict(zip(GROUPS, scores.idxmax(), strict=True))[group]
        means = alone.loc[kind, group].groupby("alone_ratio")[["score", "held"]].mean()
        score = means[means.held >= WANTED].score
        best["alone_ratio"], best["flag_ratio"] = score[NEAR[0] :].idxmax(), score.idxmax()
        found.append({"kind": kind, "group": group} | best)
    constants = [field.name for field in fields(Constants)]
    return pd.DataFrame(found)[["kind", "group", *constants]]


def _common(rows: pd.DataFrame) -> float:
    """What all contributing runs' errors share, beyond the draws', over the posterior deviation."""
    some = rows[rows.role == "contributed"]
    by = [some[name] for name in ("collection", "measure", "sample")]
    mean = (some.m - some.truth).groupby(by).mean()
    excess = (mean**2 - some.shared.groupby(by).first()) / some.c.groupby(by).mean()
    by_family = excess.groupby(["collection", "measure"]).mean()
    return float(np.sqrt(max(by_family.mean(), 0.0)))


def learned_table(folder: Path, kinds: list[str] | None) -> None:
    """Write the constants of some kinds (default: all that the chunks have), all families or not.

    The tables keep what they have of other kinds.
    """
    rows = joined(folder)
    rows = rows[rows.budget == LEARNED_AT]
    wanted = sorted(set(rows.kind) & set(kinds or rows.kind))
    rows = rows[rows.kind.isin(wanted)]
    cells, pairs = tried(rows), pairs_stated(folder)
    apart = apart_scores(pairs[pairs.kind.isin(wanted)])
    table = learned(cells, rows, apart)
    put(table, PACKAGE)
    print("all families\n" + table.to_string(index=False))
    without = []
    for family in sorted(rows.collection.unique()):
        others = (part[part.collection != family] for part in (cells, rows, apart))
        without.append(learned(*others).assign(left_out=family))
        print(f"without {family}\n" + without[-1].to_string(index=False), flush=True)
    HERE.mkdir(exist_ok=True)
    put(pd.concat(without), LEFT_OUT)


def put(table: pd.DataFrame, path: Path) -> None:
    """Rows in the place of those of the same kinds."""
    if path.exists():
        before = pd.read_csv(path)
        table = pd.concat([before[~before.kind.isin(table.kind)], table])
    by = [name for name in ("left_out", "kind", "group") if name in table]
    table.sort_values(by).to_csv(path, index=False, float_format="%.4g")


def report(folder: Path) -> None:
    """Errors, coverage and lengths with the constants learned on the other families."""
    constants = left_out()
    rows = joined(folder, constants)
    parts = []
    for (family, kind, group), some in rows.groupby(["collection", "kind", "group"]):
        one = constants.loc[family, kind, group]
        numbers = [one[name] for name in MIXTURE]
        parts.append(pd.concat([some, combined(some, *numbers), _each(some, *numbers)], axis=1))
    whole = pd.concat(parts)
    table = pd.DataFrame(
        [
            dict(zip(("collection", "budget", "measure", "role"), key, strict=True)) | summed(some)
            for key, some in whole.groupby(["collection", "budget", "measure", "role"])
        ]
    )
    table.to_csv(HERE / "results.csv", index=False, float_format="%.4g")
    print(table.to_string(index=False, float_format="%.4f"))
    print("\nmean over families")
    names = ["ratio", "model_ratio", "covered", "model_covered", "design_covered", "each_covered"]
    names += ["length_ratio", "each_length_ratio", "flagged", "shared"]
    print(table.groupby(["budget", "measure", "role"])[names].mean().to_string(float_format="%.3f"))


def reliability(folder: Path) -> None:
    """Among pairs of runs given the probability p, how many are right; constants of other families.

    A true tie counts half. ``error`` has samples as clusters, ``run_error`` runs too: all samples
    of a collection have the same runs, and what a model gets wrong of a run is wrong in all of
    them. Of each collection, and of all; where some have no chunks, their rows and those of all
    stay as they are.
    """
    left = left_out()
    rows = []
    for attrs, parts in chunks(folder):
        if attrs["budget"] != LEARNED_AT:
            continue
        for label in parts["mean"]["measure"].to_numpy().tolist():
            some = {name: part.sel(measure=[label]) for name, part in parts.items()}
            kind = _kind(label, parts["post"])
            known = {g: left.loc[(attrs["collection"], kind, g)].to_dict() for g in GROUPS}
            truth = some["mean"]["truth"].isel(measure=0).to_numpy()
            runs = attrs["collection"] + " " + some["mean"]["run"].to_numpy().astype(object)
            for name, stated in _stated(some, known).items():
                facts = {"measure": label, "source": name, "collection": attrs["collection"]}
                sample = f"{attrs['collection']} {attrs['sample']}"
                rows.append(_pairs(stated, truth, runs).assign(**facts, sample=sample))
    whole = pd.concat(rows)
    table, file = _reliability(whole), HERE / "reliability.csv"
    there = table.index.unique("collection")
    if set(there) >= set(COLLECTIONS):
        table = pd.concat([_reliability(whole.assign(collection="all")), table])
    elif file.exists():
        before = pd.read_csv(file, index_col=table.index.names)
        table = pd.concat([before[~before.index.isin(there, level="collection")], table])
    table = table.sort_index(kind="stable")
    table.to_csv(file, float_format="%.4g")
    print(table.to_string(float_format="%.3f"))


def _stated(some: dict[str, xr.Dataset], known: dict) -> dict[str, np.ndarray]:
    """Probability (run, run) of being better: by dyn, the model's draws, and both combined.

    The model's draws as they are, and with errors of its own.
    """
    matrix = some["covariance"]["covariance"].drop_attrs()  # the unbiased one serves for ranks too
    found = be.combine(some["mean"], some["post"], covariance=matrix, constants=known)
    probabilities = {
        "combined": be.rankings.rank_probabilities(found, n_draws=10),
        "dyn": be.rankings.rank_probabilities(some["mean"], covariance=matrix, n_draws=10),
        "relevance_model": be.rankings.rank_probabilities(some["post"]),
        "with its own errors": be.rankings.rank_probabilities(
            with_model_errors(some["post"], constants=known)
        ),
    }
    return {name: each.better.isel(measure=0).to_numpy() for name, each in probabilities.items()}


def _reliability(rows: pd.DataFrame) -> pd.DataFrame:
    """Share right and its errors by group of stated probability."""
    by = ["collection", "measure", "source", "stated"]
    table = rows.groupby(by)[["right", "probability"]].mean()
    table["pairs"] = rows.groupby(by).size()
    table["samples"] = rows.groupby(by[0])["sample"].nunique().reindex(table.index, level=0)
    cell = rows.groupby([*by, "sample"]).right.agg(["sum", "size"])
    share = table.right.reindex(cell.index.droplevel("sample")).to_numpy()
    off = cell["sum"] - cell["size"] * share
    table["error"] = np.sqrt((off**2).groupby(by).sum()) / table.pairs
    off = rows.assign(off=rows.right - rows.groupby(by).right.transform("mean"))
    table["run_error"] = np.sqrt(off.groupby(by).apply(_by_run_and_sample)) / table.pairs
    return table


def _by_run_and_sample(rows: pd.DataFrame) -> float:
    """Variance of the sum of ``off`` over pairs, which go together in a sample or by a run.

    Aronow, Samii and Assenova (2015), doi:10.1093/pan/mpv018, with samples as the other way. No
    less than with samples alone, or with each pair's samples alone, as clusters: with few runs the
    estimate is too low.
    """

    def squares(by: list[str], some: pd.DataFrame = rows) -> float:
        return float((some.groupby(by).off.sum() ** 2).sum())

    single = rows.rename(columns={"first": "run"})
    single = pd.concat([single, rows.rename(columns={"second": "run"})])
    pair = ["first", "second"]
    by_run = squares(["run"], single) - squares(pair)
    in_both = squares(["run", "sample"], single) - squares([*pair, "sample"])
    return max(by_run + squares(["sample"]) - in_both, squares(pair), squares(["sample"]))


def _pairs(better: np.ndarray, truth: np.ndarray, runs: np.ndarray) -> pd.DataFrame:
    """Stated probability of the probably better run of every pair, and whether it is better."""
    first, second = np.triu_indices(truth.size, k=1)
    stated, apart = better[first, second], truth[first] - truth[second]
    right = np.where(np.abs(apart) < 1e-12, 0.5, (apart > 0) == (stated >= 0.5))
    sure = np.maximum(stated, 1.0 - stated)
    return pd.DataFrame(
        {
            "right": right,
            "probability": sure,
            "stated": pd.cut(sure, EDGES, right=False).astype(str),
            "first": runs[first],
            "second": runs[second],
        }
    )


def differences(folder: Path) -> None:
    """How often 90 % intervals of differences between runs hold, all pairs; a row a kind of pair.

    Constants are those of the other families. ``error`` has samples as clusters; ``ratio`` and
    ``length_ratio`` are to ``dyn``, whose intervals take its raised covariance.
    """
    rows = []
    for attrs, parts in chunks(folder):
        labels = parts["mean"]["measure"].to_numpy().tolist()
        known = constants_without(
            attrs["collection"], labels, parts["post"].attrs.get("denominator", "model")
        )
        kinds = _kinds_of_pairs(parts["mean"])
        for label in labels:
            some = {name: part.sel(measure=[label]) for name, part in parts.items()}
            scores = some["mean"]["truth"].isel(measure=0).to_numpy()
            first, second = np.triu_indices(scores.size, k=1)
            truth = scores[first] - scores[second]
            for source, pairs in _compared(some, known[label]).items():
                bounds = pairs["interval"].isel(measure=0).to_numpy()
                columns = {
                    "measure": label,
                    "kinds": kinds,
                    "source": source,
                    "square": (pairs["estimate"].isel(measure=0).to_numpy() - truth) ** 2,
                    "length": bounds[:, 1] - bounds[:, 0],
                    "held": held(truth, bounds[:, 0], bounds[:, 1]),
                }
                cell = ["collection", "budget", "measure", "kinds", "source", "sample"]
                by = pd.DataFrame(columns | attrs).groupby(cell)
                rows.append(by[["square", "length", "held"]].mean().assign(pairs=by.size()))
    _summed_differences(pd.concat(rows).reset_index())


def _kinds_of_pairs(mean: xr.Dataset) -> np.ndarray:
    """What the two runs of every pair are, as "contributed - new"."""
    dual = np.char.endswith(mean["run"].to_numpy().astype(str), "~dual")
    role = np.where(dual, 2, np.where(mean["contributed"], 0, 1))
    names, pair = np.array(ROLES), role[np.stack(np.triu_indices(role.size, k=1))]
    return np.char.add(np.char.add(names[pair.min(axis=0)], " - "), names[pair.max(axis=0)])


def _compared(some: dict[str, xr.Dataset], known: dict) -> dict[str, xr.Dataset]:
    """Differences of all pairs by dyn, combined, and by the model with errors of its own."""
    post, matrix = some["post"], some["covariance"]["covariance"]
    both = be.combine(some["mean"], post, covariance=matrix, constants=known)
    compare = be.rankings.compare_draws
    return {
        "dyn": compare(some["mean"], covariance=some["raised"]["covariance"]),
        "combined": compare(both),
        "with its own errors": compare(with_model_errors(post, constants=known)),
    }


def _summed_differences(rows: pd.DataFrame) -> None:
    """Write and print the cells of all samples."""
    cell = ["collection", "budget", "measure", "kinds", "source"]
    by = rows.groupby(cell)
    table = by[["square", "length", "held"]].mean()
    table["error"] = by.held.std(ddof=1) / np.sqrt(by.size())
    table["rms_error"] = np.sqrt(table.pop("square"))
    table["samples"], table["pairs"] = by.size(), by.pairs.first()
    dyn = table.xs("dyn", level="source")
    for name, column in (("ratio", "rms_error"), ("length_ratio", "length")):
        own = dyn[column].reindex(table.index.droplevel("source")).to_numpy()
        table[name] = table[column] / own
    file = HERE / "differences.csv"
    if file.exists():
        before = pd.read_csv(file, index_col=cell)
        table = pd.concat([before[~before.index.isin(table.index)], table])
    table = table.sort_index()
    table.to_csv(file, float_format="%.4g")
    mean = table.groupby(["budget", "measure", "kinds", "source"])
    print(table.to_string(float_format="%.3f"))
    print("\nmean over collections, and the least")
    shown = mean[["held", "ratio", "length_ratio"]].mean().assign(least=mean.held.min())
    print(shown.to_string(float_format="%.3f"))


def _each(rows: pd.DataFrame, *constants: float) -> pd.DataFrame:
    """Bounds of the intervals that hold for each run."""
    v, prior = rows.v.to_numpy(), _prior(rows, *constants)
    low, high = intervals_for_each(prior, rows.d.to_numpy(), np.sqrt(v), WANTED)
    return pd.DataFrame({"each_lower": low, "each_upper": high}, index=rows.index)


def summed(some: pd.DataFrame) -> dict[str, float]:
    """Columns of one cell; the samples are the clusters of the Monte Carlo errors."""

    def rms(error) -> float:
        return float(np.sqrt((error**2).mean()))

    def covered(low, high) -> pd.Series:
        return held(some.truth, some[low], some[high])

    own = covered("lower", "upper")
    by_sample = own.groupby(some["sample"]).mean()
    root = np.sqrt(len(by_sample))
    length = (some.high - some.low).mean()
    error = rms(some.d - some.truth)
    squares = pd.DataFrame(
        {"d": (some.d - some.truth) ** 2, "e": (some.estimate - some.truth) ** 2}
    ).groupby(some["sample"]).mean()  # fmt: skip
    ratio = rms(some.estimate - some.truth) / error
    spread = (squares.e - ratio**2 * squares.d).std() / root / squares.d.mean()
    return {
        "samples": len(by_sample),
        "runs": len(some),
        "design_error": error,
        "model_ratio": rms(some.m - some.truth) / error,
        "ratio": ratio,
        "ratio_error": spread / (2 * ratio),
        "model_bias": (some.m - some.truth).mean(),
        "design_covered": covered("low", "high").mean(),
        "model_covered": ((some.m - some.truth).abs() <= Z * np.sqrt(some.c) + 1e-12).mean(),
        "covered": own.mean(),
        "covered_error": by_sample.std(ddof=1) / root,
        "each_covered": covered("each_lower", "each_upper").mean(),
        "length_ratio": (some.upper - some.lower).mean() / length,
        "each_length_ratio": (some.each_upper - some.each_lower).mean() / length,
        "shared": some["product"].mean() / np.minimum(some.c, some.v).mean(),
        "conflict": some.conflict.mean(),
        "flagged": some.flagged.mean(),
    }
