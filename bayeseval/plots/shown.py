"""What a picture shows of a result: one measure, and the runs that were asked for."""

from collections.abc import Mapping, Sequence

import numpy as np
import xarray as xr


def check_named(named, name: str, one: str, what: str = "Dataset") -> None:
    """Refuse what does not map names to at least one thing to show."""
    if not isinstance(named, Mapping) or isinstance(named, xr.Dataset):
        raise TypeError(
            f"{name} must map names to {what}s, not {type(named).__name__}; of one give "
            f"{{'name': the {what}}}"
        )
    if not named:
        raise ValueError(f"{name} must hold at least one {one}")


def of_measure[Data: (xr.Dataset, xr.DataArray)](
    data: Data, measure: str | None, name: str = "the result"
) -> Data:
    """The result for one measure, which may be left out where there is one only."""
    if "measure" not in data.dims:
        return data
    labels = [str(label) for label in data["measure"].to_numpy()]
    if measure is None and len(labels) > 1:
        raise ValueError(f"measure must name one of {', '.join(labels)}")
    wanted = labels[0] if measure is None else measure
    if wanted not in labels:
        raise ValueError(f"{name} has no measure {wanted!r}; it has {', '.join(labels)}")
    return data.sel(measure=wanted)


def having(data: xr.Dataset, needed: Sequence[str], name: str = "the result") -> xr.Dataset:
    """The result itself, which must have the variables that a picture shows."""
    if not isinstance(data, xr.Dataset):
        raise TypeError(f"{name} must be a Dataset, not a {type(data).__name__}")
    absent = [variable for variable in needed if variable not in data]
    if absent:
        raise ValueError(f"{name} lacks the variable {absent[0]!r}, which this picture shows")
    return data


def chosen_runs(data, runs: str | Sequence[str] | None, name: str = "the result") -> list[str]:
    """Labels of the runs to show, by default all."""
    known = [str(run) for run in data["run"].to_numpy()]
    runs = [runs] if isinstance(runs, str) else runs
    chosen = known if runs is None else [str(run) for run in runs]
    absent = sorted(set(chosen) - set(known))
    if absent:
        raise ValueError(f"run {absent[0]!r} is not in {name}")
    return chosen


def runs_in_order(
    value: xr.DataArray, runs: str | Sequence[str] | None, name: str = "the result"
) -> list[str]:
    """Labels of the runs to show, that of the lowest value (run,) first, NaN last."""
    chosen = chosen_runs(value, runs, name)
    return [chosen[i] for i in np.argsort(value.sel(run=chosen).to_numpy(), kind="stable")]


def name_of(shown: xr.Dataset, measure: str | None = None) -> str:
    """The measure's label, as far as it is known."""
    return str(shown["measure"].item()) if "measure" in shown.coords else (measure or "score")
