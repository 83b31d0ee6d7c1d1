"""Collections on disk: one netCDF file, or one zarr folder."""

import json
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from bayeseval.collection.labels import same_strings
from bayeseval.collection.schema import SCHEMA, check_collection, datasets
from bayeseval.messages import Message, Option
from bayeseval.whole_file import expanded_path, whole_file, whole_folder

# what may stay on disk while the rest is in memory
ON_DISK = ("document", "ranking", "place", "judging_order")
# where a chunk of a store is missing, its ranks are read as this, which is no position of a pair
UNWRITTEN = {"fill_value": -2}


def save_collection(collection: xr.DataTree, path) -> None:
    """Save a collection as netCDF, or as zarr where the path ends in ``.zarr``.

    The file is written whole or not at all; where the path is a link, its target is replaced.

    Parameters
    ----------
    collection : DataTree
        The collection.
    path : str or Path
        Where to; a file that is there, or a ``.zarr`` folder that holds a collection, is replaced.

    Raises
    ------
    ValueError
        Where the path is a folder that is not a saved collection, or its folder does not exist.

    Examples
    --------
    >>> import pathlib, tempfile, pandas as pd, bayeseval as be
    >>> qrels = pd.DataFrame({"topic": ["1"], "document": ["a"], "grade": [1]})
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "collection.nc"
    >>> be.save_collection(be.read_collection(qrels), path)
    >>> be.open_collection(path)["document"].to_numpy().tolist()
    ['a']
    """
    check_collection(collection)
    path = expanded_path(path)
    check_target(path)
    if path.suffix == ".zarr":
        with whole_folder(path) as part:
            has_rankings = "rankings" in collection.children
            encoding = {"/rankings": {"ranking": UNWRITTEN}} if has_rankings else {}
            collection.to_zarr(part, consolidated=False, encoding=encoding)
        return
    encoding = {
        node_path: {
            name: {"zlib": True, "complevel": 1, "shuffle": True}
            for name, variable in node.variables.items()
            if variable.dtype.kind in "iuf" and variable.size > 10_000
        }
        for node_path, node in datasets(collection).items()
    }
    with whole_file(path) as part:
        collection.to_netcdf(part, engine="h5netcdf", encoding=encoding)


def open_collection(path, *, chunks: dict | None = None) -> xr.DataTree:
    """Open a collection that `save_collection` wrote, equal to what was saved.

    Parameters
    ----------
    path : str or Path
        A netCDF file, or a folder that ends in ``.zarr``.
    chunks : dict, optional
        Sizes of dask chunks, ``{}`` those of the file: then the labels of the documents and the
        rankings stay on disk. By default everything is read into memory.

    Returns
    -------
    DataTree
        The collection.

    Raises
    ------
    ValueError
        Where the file is missing or holds something else.

    Examples
    --------
    >>> from pathlib import Path
    >>> import tempfile, pandas as pd, bayeseval as be
    >>> run = pd.DataFrame({"run": "a", "topic": "1", "document": list("xyz"), "score": [3, 2, 1]})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "collection.nc"
    ...     be.save_collection(be.read_collection(None, run), path)
    ...     collection = be.open_collection(path)
    >>> collection["rankings/ranking"].to_numpy().tolist()
    [[[0, 1, 2]]]
    """
    path = expanded_path(path)
    if not path.exists():
        raise ValueError(f"{path} does not exist; a collection is a netCDF file or a .zarr folder.")
    is_zarr = path.suffix == ".zarr"
    engine = "zarr" if is_zarr else "h5netcdf"
    options: dict[str, Any] = {"consolidated": False} if is_zarr else {}
    if chunks is not None:
        check_scale("chunks")
    try:
        collection = xr.open_datatree(path, engine=engine, chunks=chunks, **options)
    except (OSError, ValueError, KeyError) as error:
        raise ValueError(f"{path} cannot be read as a collection ({error}).") from error
    if chunks is None:
        with collection:
            collection = collection.load()
    nodes = {path: restored(node) for path, node in datasets(collection).items()}
    collection = xr.DataTree.from_dict(nodes)
    check_collection(collection)
    return collection


def check_target(path: Path) -> None:
    """Refuse to replace anything but a file, or a folder that holds a collection."""
    if path.suffix == ".zarr":
        try:  # a group with the schema of a collection, of any version
            schema = json.loads((path / "zarr.json").read_text())["attributes"]["schema"]
        except (OSError, ValueError, KeyError, TypeError):
            schema = ""
        if path.is_dir() and not str(schema).startswith(SCHEMA.rstrip("0123456789")):
            raise ValueError(
                f"{path} is a folder that holds no collection, so it is not replaced; choose "
                "another path."
            )
        if path.exists() and not path.is_dir():
            raise ValueError(f"{path} is a file, which a .zarr folder cannot replace; remove it.")
    elif path.is_dir():
        raise ValueError(
            f"{path} is a folder, which a netCDF file cannot replace; name a file in it, or a "
            "folder that ends in .zarr."
        )


def check_scale(option: str) -> None:
    """Refuse an option whose packages, those of the extra ``scale``, are missing."""
    for package in ("zarr", "dask"):
        if find_spec(package) is None:
            raise ValueError(
                Message(Option(option), f" needs {package}: pip install 'bayeseval[scale]'")
            )


def restored(dataset: xr.Dataset) -> xr.Dataset:
    """Dataset as it was before it was saved: texts as arrays of text, attrs as plain values.

    What is in chunks stays so where it is large: labels of documents, and rankings.
    """
    small = {name: v.load() for name, v in dataset.variables.items() if name not in ON_DISK}
    dataset = dataset.assign({n: v for n, v in small.items() if n not in dataset.coords})
    text = {
        name: (variable.dims, same_strings(variable.values), variable.attrs)
        for name, variable in dataset.variables.items()
        if variable.dtype.kind in "OT" or (variable.dtype.kind == "U" and variable.chunks is None)
    }
    plain = {
        name: value.item()
        if isinstance(value, np.generic | np.ndarray) and value.size == 1
        else value
        for name, value in dataset.attrs.items()
    }
    dataset = dataset.assign({n: v for n, v in text.items() if n not in dataset.coords})
    dataset = dataset.assign_coords({n: v for n, v in text.items() if n in dataset.coords})
    return dataset.drop_attrs(deep=False).assign_attrs(plain)
