"""Designs as files."""

import os

import numpy as np
import xarray as xr

from bayeseval.collection.schema import check_strata, describe_pair
from bayeseval.designs.placing import check_design
from bayeseval.messages import Message, Option
from bayeseval.trec.sources import HDF5
from bayeseval.whole_file import check_writable, expanded_path, whole_file

DESIGN_VARIABLES = {
    "inclusion_probability",
    "stratum",
    "stratum_size",
    "stratum_sample_size",
    "stratum_topic",
    "document",
    "pair_topic",
    "topic",
}


def save_design(design: xr.Dataset, path: str | os.PathLike) -> None:
    """Write a design to a netCDF file, whole or not at all; only its frame is kept.

    Parameters
    ----------
    design : Dataset
        A design, with its sample as ``design.assign(selected=selected)``, against which
        ``attach_judgments`` checks the judgments. A sample with replacement must be there, as
        ``design.assign(draw_count=draw_count)``.
    path : path
        File to write; a file that is there is replaced.

    Raises
    ------
    ValueError
        The path is a folder, or its folder does not exist.

    Examples
    --------
    >>> import tempfile, pathlib, pandas as pd, bayeseval as be
    >>> run = pd.DataFrame({"run": "a", "topic": "1", "document": list("abcd")})
    >>> collection = be.read_collection(None, run.assign(score=[4, 3, 2, 1]))
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "design.nc"
    >>> be.save_design(be.designs.depth_pool(collection, 2), path)
    >>> be.read_design(path).sizes["pair"]
    2
    """
    check_design(design)
    path = expanded_path(path)
    check_writable(path)
    in_frame = (design["inclusion_probability"] != 0) | (design["stratum"] >= 0)
    frame = design.isel(pair=np.flatnonzero(in_frame))
    with whole_file(path) as part:
        frame.to_netcdf(part, engine="h5netcdf")


def read_design(path: str | os.PathLike) -> xr.Dataset:
    """Read a design that ``save_design`` wrote.

    Parameters
    ----------
    path : path
        File to read.

    Returns
    -------
    Dataset
        The design over the pairs of its frame.

    Raises
    ------
    ValueError
        The file is not a design, a probability lies outside (0, 1], or a stratum's size disagrees
        with its rows.
    FileNotFoundError
        No such file.

    Examples
    --------
    >>> import tempfile, pathlib, pandas as pd, bayeseval as be
    >>> run = pd.DataFrame({"run": "a", "topic": "1", "document": list("abcd")})
    >>> collection = be.read_collection(None, run.assign(score=[4, 3, 2, 1]))
    >>> design = be.designs.pps_strata(collection, budget=2, n_strata=1)
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "design.nc"
    >>> be.save_design(design.assign(selected=be.draw(design, random_seed=1)), path)
    >>> read = be.read_design(path)
    >>> read.inclusion_probability.values, int(read.selected.sum())
    (array([0.5, 0.5, 0.5, 0.5]), 2)
    """
    path = expanded_path(path)
    if not path.is_file():
        raise FileNotFoundError(f"no design file '{path}'")
    with path.open("rb") as file:
        begins = file.read(len(HDF5))
    if begins != HDF5:
        raise ValueError(
            Message(
                f"'{path}' is not a design file; ",
                Option("design", text="read_design"),
                " takes the file that `bayeseval sample --design-file` wrote",
            )
        )
    try:
        design = xr.load_dataset(path, engine="h5netcdf")
    except (OSError, ValueError) as error:
        raise ValueError(f"'{path}' is not a design file (netCDF): {error}") from error
    missing = sorted(DESIGN_VARIABLES - set(design.variables))
    if missing or "scheme" not in design.attrs:
        raise ValueError(f"'{path}' is not a design: it lacks {', '.join(missing) or 'its scheme'}")
    for name in ("topic", "document"):
        design = design.assign_coords(
            {name: (design[name].dims, design[name].to_numpy().astype(str))}
        )
    _check_design(design, path)
    return design


def _check_draws(design: xr.Dataset, path) -> None:
    """Draw probabilities must be there and add up to 1 over every topic of the frame."""
    if "draw_probability" not in design:
        raise ValueError(f"'{path}' is not a design with replacement: it lacks draw_probability")
    probability = design["draw_probability"].to_numpy()
    wrong = np.flatnonzero(~((probability > 0) & (probability <= 1)))
    if wrong.size:
        raise ValueError(
            f"'{path}': draw_probability must lie in (0, 1]; {describe_pair(design, wrong[0])} has "
            f"{probability[wrong[0]]}"
        )
    total = np.bincount(design["pair_topic"].to_numpy(), weights=probability)
    wrong = np.flatnonzero((np.abs(total - 1.0) > 1e-9) & (total > 0))
    if wrong.size:
        raise ValueError(
            f"'{path}': draw_probability must add up to 1 over a topic; over topic "
            f"'{design['topic'].to_numpy()[wrong[0]]}' it adds up to {total[wrong[0]]:.12g}"
        )


def _check_design(design: xr.Dataset, path) -> None:
    if design.attrs["scheme"] == "with_replacement":
        _check_draws(design, path)
    probability = design["inclusion_probability"].to_numpy()
    stratum = design["stratum"].to_numpy()
    drawn = design["stratum_sample_size"].to_numpy()
    never = np.isin(stratum, np.flatnonzero(drawn == 0))  # probability 0
    possible = ((probability > 0) & (probability <= 1)) | never | np.isnan(probability)
    wrong = np.flatnonzero(~possible)
    if wrong.size:
        raise ValueError(
            f"'{path}': inclusion_probability must lie in (0, 1]; "
            f"{describe_pair(design, wrong[0])} has {probability[wrong[0]]}"
        )
    try:
        check_strata(design, design["topic"].to_numpy())
    except ValueError as error:
        raise ValueError(f"'{path}': {error}") from error
    _check_sampling_fractions(design, path)


def _check_sampling_fractions(design: xr.Dataset, path) -> None:
    """In a stratum n of N documents are drawn, each with probability n / N."""
    if design.attrs["scheme"] != "stratified":
        return
    stratum = design["stratum"].to_numpy()
    inside = np.flatnonzero(stratum >= 0)
    drawn, size = (
        design[name].to_numpy()[stratum[inside]] for name in ("stratum_sample_size", "stratum_size")
    )
    probability = design["inclusion_probability"].to_numpy()[inside]
    wrong = np.flatnonzero(np.abs(probability * size - drawn) > 1e-6 * size)
    if wrong.size:
        first = int(wrong[0])
        raise ValueError(
            f"'{path}': {drawn[first]:g} of {size[first]:g} documents are drawn from stratum "
            f"{stratum[inside[first]]}, so each has the inclusion probability "
            f"{drawn[first] / size[first]:.6g}; {describe_pair(design, int(inside[first]))} has "
            f"{probability[first]:.6g}"
        )
