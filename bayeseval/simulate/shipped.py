"""The simulated collection that the package ships, and the small form it is shipped in."""

from pathlib import Path

import numpy as np
import xarray as xr

from bayeseval.collection import assemble

_FILE = "trec8_like.nc"
UNJUDGED, NOTHING = -1, 65535  # in the integers of the file


def demo_collection() -> xr.DataTree:
    """Simulated TREC-8-like collection that the package ships: 129 runs, 50 topics.

    The rankings come from the urn model of `urn_collection`. Numbers of relevant and of judged
    documents per topic and each run's mean average precision are near those published for TREC-8.
    As at TREC, the documents in the depth-100 pool of the contributing runs are judged and the
    others are not: the truth of an experiment is the plain measure with unjudged documents counted
    as non-relevant. ``data/README.md`` says how it was made and how near it comes.

    Returns
    -------
    DataTree
        The collection.

    Raises
    ------
    ValueError
        If the file is not where the installation should have put it.

    References
    ----------
    Voorhees and Harman, Overview of the Eighth Text REtrieval Conference (TREC-8), NIST SP 500-246.

    Examples
    --------
    >>> import bayeseval as be
    >>> dict(be.simulate.demo_collection()["rankings/ranking"].sizes)
    {'run': 129, 'topic': 50, 'rank': 100}
    """
    with xr.open_dataset(_shipped_path(), engine="h5netcdf", mask_and_scale=False) as dataset:
        return unpacked(dataset.load())


def unpacked(dataset: xr.Dataset) -> xr.DataTree:
    """Collection from the small integers of the file; the judged pairs are the pool."""
    n_pairs = dataset["n_pairs"].values
    starts = np.cumsum(n_pairs) - n_pairs
    pair_topic = np.repeat(np.arange(n_pairs.size), n_pairs)
    topics = dataset["topic"].values.astype(str)
    width = int(dataset.attrs["label_width"])
    numbers = np.char.zfill(dataset["number"].values.astype(str), width)
    local = dataset["ranking"].values.astype(np.int32)
    grade = dataset["grade"].values.astype(np.float32)
    return assemble(
        topics=topics,
        runs=dataset["run"].values.astype(str),
        document=np.char.add(np.char.add(topics, "-")[pair_topic], numbers),
        pair_topic=pair_topic,
        ranking=np.where(local == NOTHING, -1, local + starts[:, None]),
        grade=np.where(grade == UNJUDGED, np.nan, grade),
        contributed=dataset["contributed"].values.astype(bool),
        team=dataset["team"].values.astype(str),
    )


def _shipped_path() -> Path:
    """Path of the file: in the installed package, or in data/ of a checkout."""
    package = Path(__file__).parents[1]
    for path in (package / "data" / _FILE, package.parent / "data" / _FILE):
        if path.is_file():
            return path
    raise ValueError(f"{_FILE} is not in {package / 'data'}: the installation is not whole.")
