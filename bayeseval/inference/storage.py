"""Fits on disk: one netCDF file each."""

import xarray as xr

from bayeseval.collection.labels import same_strings
from bayeseval.models.identity import check_fit
from bayeseval.whole_file import expanded_path, whole_file


def save_fit(fitted: xr.DataTree, path) -> None:
    """Save a fit as netCDF, whole or not at all.

    Parameters
    ----------
    fitted : DataTree
        What :func:`bayeseval.fit` returns.
    path : str or Path
        Where to; a file that is there is replaced.

    Raises
    ------
    ValueError
        Where the path is a folder, or its folder does not exist.

    Examples
    --------
    >>> import pathlib, tempfile, xarray as xr, bayeseval as be
    >>> posterior = xr.Dataset({"mean": (("chain", "draw"), [[0.1, 0.2]])})
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "fit.nc"
    >>> be.save_fit(xr.DataTree.from_dict({"posterior": posterior}), path)
    >>> be.open_fit(path)["posterior/mean"].values
    array([[0.1, 0.2]])
    """
    check_fit(fitted)
    with whole_file(path) as part:
        fitted.to_netcdf(part, engine="h5netcdf")


def open_fit(path) -> xr.DataTree:
    """Open a fit that :func:`save_fit` wrote, read into memory.

    Parameters
    ----------
    path : str or Path
        A netCDF file.

    Returns
    -------
    DataTree

    Raises
    ------
    ValueError
        Where the file is missing or holds no posterior draws.

    Examples
    --------
    >>> import pathlib, tempfile, xarray as xr, bayeseval as be
    >>> posterior = xr.Dataset({"mean": (("chain", "draw"), [[0.1, 0.2]])})
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "fit.nc"
    >>> be.save_fit(xr.DataTree.from_dict({"posterior": posterior}), path)
    >>> dict(be.open_fit(path)["posterior"].sizes)
    {'chain': 1, 'draw': 2}
    """
    path = expanded_path(path)
    if not path.exists():
        raise ValueError(f"{path} does not exist; a fit is a netCDF file.")
    try:
        fitted = xr.open_datatree(path, engine="h5netcdf")
    except (OSError, ValueError, KeyError) as error:
        raise ValueError(f"{path} cannot be read as a fit ({error}).") from error
    with fitted:
        fitted = fitted.load()
    if "posterior" not in fitted.children:
        raise ValueError(f"{path} holds no posterior draws, so it is not a fit.")
    return xr.DataTree.from_dict({node.path: _plain_text(node) for node in fitted.subtree})


def _plain_text(node) -> xr.Dataset:
    dataset = node.to_dataset(inherit=False)
    text = {
        name: (coord.dims, same_strings(coord.values))
        for name, coord in dataset.coords.items()
        if coord.dtype.kind in "OT"
    }
    return dataset.assign_coords(text)
