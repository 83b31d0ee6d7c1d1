"""Bootstrap rankings: mean scores over topics drawn with replacement, each with a replicate."""

from collections.abc import Iterator

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from bayeseval.collection.choices import check_choice, check_seed, check_whole_numbers
from bayeseval.rounding import DECIMALS

REPLICATES = ("shared", "per_run")

Floats = NDArray[np.floating]


def bootstrap_scores(
    table: xr.DataArray,
    *,
    n_boot: int = 1000,
    n_topics: int | None = None,
    replicates: str = "shared",
    random_seed: int | None,
) -> xr.DataArray:
    """Mean scores of the runs over topics drawn with replacement, as in section 3 of the paper.

    Each bootstrap result draws ``n_topics`` topics with replacement and, for every topic drawn, one
    replicate of the table, and takes each run's mean. What is random: the topics, and the sample of
    judgments of each topic.

    Parameters
    ----------
    table : DataArray (replicate, run, topic)
        Scores; without the dim replicate for methods without chance.
    n_boot : int
        Number of results.
    n_topics : int, optional
        Topics per result; by default as many as the table has.
    replicates : {"shared", "per_run"}
        One replicate per topic for all runs, for the runs are scored on one sample; or one for each
        run, as the text of the paper has it.
    random_seed : int or None

    Returns
    -------
    DataArray (resample, run)

    Raises
    ------
    ValueError
        Other dims; a score that is NaN; numbers below 1.

    References
    ----------
    Cormack and Grossman, "Quantifying bias and variance of system rankings", SIGIR 2019, section 3,
    doi:10.1145/3331184.3331356.

    Examples
    --------
    >>> import xarray as xr, bayeseval as be
    >>> table = xr.DataArray([[0.1, 0.3], [0.2, 0.2]], dims=("run", "topic"))
    >>> be.rankings.bootstrap_scores(table, n_boot=3, random_seed=1).shape
    (3, 2)
    """
    values = table_values(table)
    check_seed(random_seed)
    check_choice("replicates", replicates, REPLICATES)
    check_whole_numbers(1, n_boot=n_boot, n_topics=1 if n_topics is None else n_topics)
    random = np.random.default_rng(random_seed)
    topics = drawn_topics(random, values.shape[1], n_boot, n_topics)
    scores = drawn_means(values, topics, random, replicates)
    coords = {"run": table["run"]} if "run" in table.coords else {}
    return xr.DataArray(scores, dims=("resample", "run"), coords=coords)


def table_values(table: xr.DataArray) -> Floats:
    """Scores (replicate, topic, run) of a table whose dims may stand in any order."""
    if not isinstance(table, xr.DataArray) or not {"run", "topic"} <= set(table.dims):
        raise ValueError("a table must be a DataArray with the dims run and topic, and replicate")
    others = set(table.dims) - {"run", "topic", "replicate"}
    if others:
        raise ValueError(
            "a table has the dims replicate, run and topic alone, not "
            f"{sorted(map(str, others))[0]}; select one measure"
        )
    if "replicate" not in table.dims:
        table = table.expand_dims("replicate")
    values = table.transpose("replicate", "topic", "run").to_numpy().astype(float)
    if np.isnan(values).any():
        raise ValueError(
            f"{int(np.isnan(values).sum())} of {values.size} scores of the table are NaN; leave "
            "out the topics or runs that have some, or score missing topics as 0"
        )
    return values


def drawn_topics(
    random: np.random.Generator, n_here: int, n_boot: int, n_topics: int | None
) -> NDArray[np.int64]:
    """Positions (result, slot) of topics drawn with replacement."""
    return random.integers(n_here, size=(n_boot, n_topics or n_here))


def drawn_means(
    values: Floats, topics: NDArray[np.int64], random: np.random.Generator, replicates: str
) -> Floats:
    """Mean scores (result, run) over the drawn topics, each with a replicate of its own.

    The sums run over topics in one order for all runs, so that equal runs have equal sums.
    """
    total = np.zeros((len(topics), values.shape[2]))
    for slot, replicate in enumerate(_replicates(values, topics.shape, random, replicates)):
        total += _picked(values, replicate, topics[:, slot])
    return np.round(total / topics.shape[1], DECIMALS)


def drawn_pairs(
    values: Floats, topics: NDArray[np.int64], random: np.random.Generator, replicates: str
) -> tuple[Floats, Floats]:
    """Two results on the same topics, each topic with two different replicates where it has two."""
    total = np.zeros((2, len(topics), values.shape[2]))
    others = max(values.shape[0], 2)
    for slot, replicate in enumerate(_replicates(values, topics.shape, random, replicates)):
        other = (replicate + random.integers(1, others, size=replicate.shape)) % values.shape[0]
        for one, picked in zip(total, (replicate, other), strict=True):
            one += _picked(values, picked, topics[:, slot])
    first, second = np.round(total / topics.shape[1], DECIMALS)
    return first, second


def _picked(values: Floats, replicate: NDArray[np.int64], topic: NDArray[np.int64]) -> Floats:
    """Scores (result, run) of one topic a result, by one replicate for all runs or one for each."""
    if replicate.ndim == 1:
        return values[replicate, topic]
    return values[replicate, topic[:, None], np.arange(values.shape[2])]


def _replicates(
    values: Floats, shape: tuple[int, ...], random: np.random.Generator, replicates: str
) -> Iterator[NDArray[np.int64]]:
    """Positions of replicates slot by slot, (result,) or (result, run)."""
    n_boot, n_slots = shape
    size = n_boot if replicates == "shared" else (n_boot, values.shape[2])
    for _ in range(n_slots):
        yield random.integers(values.shape[0], size=size)
