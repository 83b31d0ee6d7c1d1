"""What every model has: priors, and a name and parts that its fits keep."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr

BUILT = "built_part"  # coord of a model that no variable has
CHECKSUMS = ("frame_checksum", "run_checksum", "fused_run_checksum")
VERSION = 10  # of what a fit holds; counts up when older fits can no longer be read


def checked_priors(
    defaults: Mapping[str, tuple[float, ...]], given: Mapping[str, Any] | None
) -> dict[str, tuple[np.float64, ...]]:
    """Numbers of every prior, as float64: a bare number would lose precision in a graph.

    Examples
    --------
    >>> checked_priors({"run_sd": (1.0,), "log_odds": (-1.5, 1.5)}, {"run_sd": 0.2})["run_sd"]
    (np.float64(0.2),)
    """
    given = {} if given is None else given
    if not isinstance(given, Mapping):
        raise ValueError(
            f"priors maps names to numbers, and is this {type(given).__name__}; priors: "
            f"{', '.join(defaults)}"
        )
    values = dict(defaults)
    for name, asked in given.items():
        if name not in defaults:
            raise ValueError(f"there is no prior '{name}'; priors: {', '.join(defaults)}")
        try:
            numbers = tuple(np.atleast_1d(np.asarray(asked, dtype=float)).tolist())
        except (TypeError, ValueError):
            numbers = ()
        wrong = len(numbers) != len(defaults[name]) or not np.isfinite(numbers).all()
        if wrong or not numbers or numbers[-1] <= 0:
            form = "(mean, sd)" if len(defaults[name]) == 2 else "a scale"
            raise ValueError(f"prior '{name}' is {asked!r}; allowed: {form}, the spread above 0")
        values[name] = numbers
    return {name: tuple(np.float64(number) for number in part) for name, part in values.items()}


def name_model(name: str) -> None:
    """Write a name into the model of the context, as data that every fit keeps."""
    import pymc as pm

    model: Any = pm.modelcontext(None)
    model.add_coord("model_name", [name])
    pm.Data("model_version", np.array([VERSION]), dims="model_name")


def parts_of(model) -> list[str]:
    """Random variables of a model and what was added to its log density, by kind and name."""
    kinds = {"free": model.free_RVs, "observed": model.observed_RVs, "potential": model.potentials}
    return [
        f"{kind} {variable.name}" for kind, variables in kinds.items() for variable in variables
    ]


def keep_parts() -> None:
    """Write what the model of the context is made of into it, once it is complete."""
    import pymc as pm

    model: Any = pm.modelcontext(None)
    model.add_coord(BUILT, parts_of(model))


def changed_parts(model) -> list[str]:
    """What a user has added to a model of this package, taken away from it or observed."""
    return sorted(set(parts_of(model)) ^ set(model.coords[BUILT]))


def added_and_missing(model) -> tuple[list[str], list[str]]:
    """Names of what a user has added to a model of this package, and of what was taken away."""
    if BUILT not in model.coords:
        return [], []
    built, there = (
        {part.partition(" ")[2] for part in parts}
        for parts in (model.coords[BUILT], parts_of(model))
    )
    return sorted(there - built), sorted(built - there)


def check_fit(fitted) -> None:
    """Refuse what is no fit, such as its file, a model or the collection."""
    if not isinstance(fitted, xr.DataTree):
        raise ValueError(
            f"a fit is the DataTree that be.fit returns, not this {type(fitted).__name__}"
        )
    if "posterior" not in fitted.children:
        description = "collection" if "pair_topic" in fitted else "DataTree without posterior draws"
        raise ValueError(f"a fit is the DataTree that be.fit returns, not this {description}")
    missing = [dim for dim in ("chain", "draw") if dim not in fitted["posterior"].sizes]
    if missing:
        raise ValueError(
            f"the posterior of this fit has no dim {' and no dim '.join(missing)}; pick chains and "
            f"draws with isel({missing[0]}=[0]), which keeps the dim"
        )


def check_finite(fitted: xr.DataTree) -> None:
    """Refuse draws that are not finite, of which scores would come out wrong without a word."""
    for name, values in fitted["posterior"].to_dataset().data_vars.items():
        if values.dtype.kind == "f" and not np.isfinite(values.to_numpy()).all():
            raise ValueError(
                f"draws of '{name}' are not all finite; fits with different numbers of draws are "
                "joined with xr.concat(..., join='inner')"
            )


def check_same_model(model, fitted: xr.DataTree) -> None:
    """Refuse a model whose data are not those that the fit holds."""
    if "constant_data" not in fitted.children:
        return
    constant = fitted["constant_data"].to_dataset().data_vars
    data = {variable.name: variable.get_value() for variable in model.data_vars}
    for name in sorted(data.keys() | {str(name) for name in constant}):
        kept = constant[name].to_numpy() if name in constant else None
        same = name in data and kept is not None and _equal(data[name], kept)
        if not same:
            part = "judgments or rankings are" if name in CHECKSUMS else f"{name} is"
            raise ValueError(
                f"the fit is of another model, whose {part} not as here; give the model that was "
                "fitted"
            )


def _equal(first: np.ndarray, second: np.ndarray) -> bool:
    """Whether two arrays hold the same, NaN in the same places."""
    return np.array_equal(first, second, equal_nan=np.asarray(first).dtype.kind == "f")


def model_name(model_or_fit) -> str | None:
    """Name of a model or of a fit; None where it is none of this package's.

    Fits of an earlier version of the package, which hold other things, are refused.
    """
    if not isinstance(model_or_fit, xr.DataTree):
        if not hasattr(model_or_fit, "coords"):
            raise ValueError(
                "a fit is the DataTree that be.fit returns, and a model a pymc.Model, not this "
                f"{type(model_or_fit).__name__}"
            )
        labels = model_or_fit.coords.get("model_name")
        return None if labels is None else str(labels[0])
    if "constant_data" not in model_or_fit.children:
        return None
    constant = model_or_fit["constant_data"].to_dataset()
    if "model_version" not in constant:
        return None
    name, version = str(constant["model_name"].to_numpy()[0]), int(constant["model_version"][0])
    if version != VERSION:
        raise ValueError(
            f"the fit is of version {version} of its model and this package reads version "
            f"{VERSION}; fit the model again"
        )
    return name
