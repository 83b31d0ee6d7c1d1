"""Constants of the combination: what is assumed of a model's errors beyond its posterior."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from importlib.resources import files
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from bayeseval.measures.names import parse_measures
from bayeseval.messages import Message, Option

TABLE = "constants.csv"
GROUPS = ("contributed", "new")  # runs that the model was fitted to, and others
LISTS = "lists"  # kind of every measure where the list of each run is drawn separately (urn_model)
KINDS = ("linear", "ratio", LISTS)  # weighted sums over ranks; all other measures


@dataclass(frozen=True)
class Constants:
    """The assumed errors of the model in one group of runs.

    Parameters
    ----------
    near_ratio : float
        Standard deviation of the model's own errors, for runs as modelled, in units of its
        posterior standard deviation; for the kind "lists" in log odds of the share of relevant
        documents among those that the urns fill.
    design_ratio : float
        The least standard deviation of these errors, in units of the design's standard error; but
        no more than ``far_sd``, where that is above 0. With few runs and topics a posterior is
        narrow.
    far_sd : float
        Standard deviation of the model's errors for runs that are not as modelled, in units of the
        score.
    far_weight : float
        Prior probability of such a run.
    """

    near_ratio: float
    design_ratio: float
    far_sd: float
    far_weight: float

    def __post_init__(self) -> None:
        for name in self.__dataclass_fields__:
            most = 1.0 if name == "far_weight" else np.inf
            value = getattr(self, name)
            if not (0.0 <= value <= most and np.isfinite(value)):
                allowed = "0 to 1" if name == "far_weight" else "0 or more"
                raise ValueError(f"{name} is {value}; allowed: {allowed}")


def checked_constants(given: Mapping[str, Any] | None = None) -> dict[tuple[str, str], Constants]:
    """Constants of every kind and group: those of the package, with the ``given`` in their place.

    Examples
    --------
    >>> checked_constants({"new": {"far_weight": 0.5}})["ratio", "new"].far_weight
    0.5
    """
    lines = files("bayeseval.combination").joinpath(TABLE).read_text().split()
    header, *rows = (line.split(",") for line in lines)
    known = {}
    for kind, group, *numbers in rows:
        named = dict(zip(header[2:], map(float, numbers), strict=True))
        known[kind, group] = Constants(**named)
    for group, values in (given or {}).items():
        if group not in GROUPS:
            raise ValueError(
                Message(
                    Option("constants"),
                    f" are given of group '{group}'; groups: {', '.join(GROUPS)}",
                )
            )
        unknown = set(values) - set(Constants.__dataclass_fields__)
        if unknown:
            raise ValueError(
                Message(
                    Option("constants"),
                    f" of group '{group}' has '{sorted(unknown)[0]}'; allowed: "
                    f"{', '.join(Constants.__dataclass_fields__)}",
                )
            )
        numbers = {name: float(value) for name, value in values.items()}
        for kind in KINDS:
            known[kind, group] = replace(known[kind, group], **numbers)
    return known


def kinds_of_measures(labels: list[str]) -> list[str]:
    """Kinds of constants that measures have.

    Examples
    --------
    >>> kinds_of_measures(["P@10", "nDCG@10"])
    ['linear', 'ratio']
    """
    return ["linear" if one.kind == "linear" else "ratio" for one in parse_measures(labels)]


def groups_of_runs(scores: xr.Dataset, fitted: xr.DataArray | None = None) -> NDArray[np.str_]:
    """Group of every run: "contributed" where the model was fitted to the run, else "new".

    ``fitted``, a bool DataArray (run,), says which runs these are; without it the coord ``learned``
    of the scores, or else the coord ``contributed``.
    """
    if fitted is None:
        fitted = scores.coords.get("learned", scores.coords.get("contributed"))
    if fitted is None:
        raise ValueError(
            "the scores do not say which runs contributed: they have neither a coord 'learned', "
            "as posterior_scores gives it, nor 'contributed'"
        )
    if "run" in fitted.dims:
        fitted = fitted.sel(run=np.atleast_1d(scores["run"].to_numpy()))
    return np.where(np.atleast_1d(fitted.to_numpy()), *GROUPS)


def constants_of(
    known: Mapping[tuple[str, str], Constants], kinds: list[str], groups: NDArray, field: str
) -> NDArray[np.float64]:
    """One of the constants of every measure, by its kind, and run, by its group (measure, run)."""
    return np.array([[getattr(known[kind, group], field) for group in groups] for kind in kinds])
