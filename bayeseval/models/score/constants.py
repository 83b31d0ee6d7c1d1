"""Constants of the combination, and which of them holds for which run."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from importlib.resources import files
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from bayeseval.measures.names import parse_measures
from bayeseval.messages import Message, Option

TABLE = "constants.csv"
GROUPS = ("contributed", "new")  # of the table
LISTS = "lists"  # kind of all measures by draws of each run's own list, as an urn's
# of measures: weighted sums over ranks; ratios whose denominators the counts have moved; all others
KINDS = ("linear", "ratio", "counted", LISTS)
COUNTED = ("AP", "R")  # what the counts have a say in; the constants were learned of AP


@dataclass(frozen=True)
class Constants:
    """What is assumed of the model's errors in one group of runs.

    Parameters
    ----------
    near_ratio : float
        Standard deviation of the model's own errors, for runs as modelled, in units of its
        posterior standard deviation: a posterior that is as far from the truth as it says has 0,
        and what holds at 100 judgments a topic can hold at 50.
    common_ratio : float
        The part of it that all runs of the collection share.
    far_sd : float
        Standard deviation of the model's errors for runs that are not as modelled, in units of the
        score.
    far_weight : float
        Prior probability of such a run.
    apart_ratio : float
        Standard deviation of the errors by which runs as modelled differ from one another, in units
        of the posterior standard deviation of their distance from the mean of all.
    alone_ratio : float
        Standard deviation of the model's errors where no design is beside it, in the same units,
        runs that are not as modelled among the rest; of draws of each run's own list (kind
        "lists"), in log odds of what they fill with relevant documents.
    design_ratio : float
        What the model's own errors, for runs as modelled, are at least, in units of the design's
        standard error: with few runs and topics a posterior is narrow, and how far off it is shows
        on the other collections by what their judgments could tell. No more than ``far_sd``,
        where that is above 0.
    flag_ratio : float
        The part of ``alone_ratio`` that was seen: an error that is no contradiction between design
        and model. Intervals of the model alone allow for half a posterior deviation at least.
    """

    near_ratio: float
    common_ratio: float
    far_sd: float
    far_weight: float
    apart_ratio: float = 0.0
    alone_ratio: float = 0.0
    design_ratio: float = 0.0
    flag_ratio: float = 0.0

    def __post_init__(self) -> None:
        for name in self.__dataclass_fields__:
            if name != "far_weight" and not 0.0 <= getattr(self, name) < np.inf:
                raise ValueError(f"{name} is {getattr(self, name)}; allowed: 0 or more")
        if not 0.0 <= self.far_weight <= 1.0:
            raise ValueError(f"far_weight is {self.far_weight}; allowed: 0 to 1")


def shipped() -> dict[tuple[str, str], Constants]:
    """Constants of the package by kind of measure and group of runs.

    Learned from the collections of ``benchmarks/interval_coverage`` by
    ``benchmarks/combined_intervals.py``, and of urns by ``benchmarks/urn_pools.py``.

    Examples
    --------
    >>> sorted(shipped())[-1]
    ('ratio', 'new')
    """
    lines = files("bayeseval.models.score").joinpath(TABLE).read_text().split()
    header, *rows = (line.split(",") for line in lines)
    found = {}
    for kind, group, *numbers in rows:
        named = dict(zip(header[2:], map(float, numbers), strict=True))
        found[kind, group] = Constants(**named)
    return found


def checked_constants(given: Mapping[str, Any] | None) -> dict[tuple[str, str], Constants]:
    """Constants of every kind and group: the package's, and what the user gave instead.

    Examples
    --------
    >>> checked_constants({"new": {"far_weight": 0.5}})["ratio", "new"].far_weight
    0.5

    What is not given of a group of one's own is that of the package's new runs:

    >>> given = {"new": {"far_weight": 0.5}, "mine": {"far_sd": 0.2}}
    >>> checked_constants(given)["ratio", "mine"].far_weight
    0.1
    """
    of_package = shipped()
    known = dict(of_package)
    for group, values in (given or {}).items():
        unknown = set(values) - set(Constants.__dataclass_fields__)
        if unknown:
            raise ValueError(
                Message(
                    Option("constants"),
                    f" of group '{group}' has '{sorted(unknown)[0]}'; allowed: "
                    f"{', '.join(Constants.__dataclass_fields__)}",
                )
            )
        for kind in KINDS:
            start = of_package.get((kind, group), of_package[kind, "new"])
            numbers = {name: float(value) for name, value in values.items()}
            known[kind, group] = replace(start, **numbers)
    return known


def kinds_of_measures(labels: list[str], post: xr.Dataset) -> list[str]:
    """Kinds of constants that measures have.

    By what posterior scores, or their summary, say of their denominators.

    Examples
    --------
    >>> by_counts = xr.Dataset(attrs={"denominator": "counts"})
    >>> kinds_of_measures(["P@10", "R@100", "nDCG@10"], by_counts)
    ['linear', 'counted', 'ratio']
    >>> kinds_of_measures(["R@100"], xr.Dataset())
    ['ratio']
    """
    counted = COUNTED if post.attrs.get("denominator") == "counts" else ()
    return [
        "linear" if one.kind == "linear" else "counted" if one.name in counted else "ratio"
        for one in parse_measures(labels)
    ]


def constants_by_group(
    scores: xr.Dataset,
    groups: str | Mapping[str, str] | None,
    constants: Mapping[str, Any] | None,
    learned: xr.DataArray | None = None,
) -> tuple[dict[tuple[str, str], Constants], NDArray[np.str_]]:
    """Constants by kind and group, and the group of every run.

    The scores have runs, and the coord that ``groups`` names, if it is no mapping of runs to
    groups; by default "contributed" are runs that the model learned from, others "new". These are
    said by ``learned``, a bool DataArray (run,), else by the coord ``learned``, else by the coord
    ``contributed``. ``constants`` are what the user gave instead of the package's.
    """
    known = checked_constants(constants)
    names = {name for _, name in known}
    group = _groups(scores, groups, names, learned)
    without_runs = sorted(set(constants or {}) - set(GROUPS) - set(group))
    if without_runs:
        raise ValueError(
            Message(
                Option("constants"),
                f" are given of group '{without_runs[0]}', and no run is in it; groups of the "
                f"runs: {', '.join(sorted(set(group)))}",
            )
        )
    return known, group


def _groups(
    scores: xr.Dataset, groups, known: Iterable[str], learned: xr.DataArray | None
) -> NDArray[np.str_]:
    """Group of every run."""
    runs = np.atleast_1d(scores["run"].to_numpy())
    if groups is None:
        if learned is None:
            learned = scores.coords.get("learned", scores.coords.get("contributed"))
        if learned is None:
            raise ValueError(
                "the scores do not say which runs contributed; give groups={run: 'contributed' or "
                "'new'}"
            )
        if "run" in learned.dims:
            learned = learned.sel(run=runs)
        return np.where(np.atleast_1d(learned.to_numpy()), *GROUPS)
    if isinstance(groups, str):
        if groups not in scores.coords:
            raise ValueError(f"groups names the coord '{groups}', which the scores do not have")
        found = scores[groups].to_numpy().astype(str)
    else:
        missing = [run for run in runs if run not in groups]
        if missing:
            raise ValueError(f"groups has no group for run '{missing[0]}'")
        found = np.array([str(groups[run]) for run in runs])
    unknown = sorted(set(found) - set(known))
    if unknown:
        raise ValueError(
            f"group '{unknown[0]}' has no constants; give constants={{'{unknown[0]}': ...}}, or "
            f"one of {', '.join(sorted(set(known)))}"
        )
    return found
