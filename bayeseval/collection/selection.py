"""Parts of a collection: some topics, some runs, with every position renumbered."""

import numpy as np
import xarray as xr

from bayeseval.collection.labels import asked_labels, label_positions
from bayeseval.collection.pairs import renumber
from bayeseval.collection.schema import check_collection
from bayeseval.messages import some_of


def select(collection: xr.DataTree, topics=None, runs=None) -> xr.DataTree:
    """Collection of some topics and runs, equal to one that was read from those alone.

    Pairs that are then neither retrieved, pooled, judged nor in the frame are left out, and ranks
    that no run fills are cut off. Design, judgments and predictors go with their pairs.

    Parameters
    ----------
    collection : DataTree
        The collection; it is not changed.
    topics, runs : str or iterable of str, optional
        Labels to keep, all by default. Topics keep their natural order, runs come in the
        order given (those of a set in the order of the alphabet).

    Returns
    -------
    DataTree
        A collection.

    Raises
    ------
    ValueError
        Where a label is not in the collection.

    Examples
    --------
    >>> import bayeseval as be
    >>> from bayeseval.collection import assemble
    >>> collection = assemble(
    ...     topics=["1", "2"], runs=[], document=["a", "a"], pair_topic=[0, 1], grade=[1, 0]
    ... )
    >>> be.select(collection, topics=["2"])["judgments/grade"].to_numpy().tolist()
    [0.0]
    """
    check_collection(collection)
    kept_topics = np.sort(_positions(collection, "topic", topics))
    kept_runs = _positions(collection, "run", runs)
    kept = np.isin(collection["pair_topic"].to_numpy(), kept_topics)
    if runs is not None:
        kept &= _needed(collection, kept_runs)
    old = np.flatnonzero(kept)
    return renumber(
        collection,
        topics=collection["topic"].to_numpy()[kept_topics],
        document=collection["document"].to_numpy()[old],
        pair_topic=np.searchsorted(kept_topics, collection["pair_topic"].to_numpy()[old]),
        old=old,
        runs=kept_runs,
    )


def _positions(collection, name: str, labels) -> np.ndarray:
    own = collection[name].to_numpy()
    if labels is None:
        return np.arange(own.size)
    labels = asked_labels(labels)
    positions = label_positions(own, labels)
    if (positions < 0).any():
        missing = labels[int(np.argmax(positions < 0))]
        known = some_of([f"'{label}'" for label in own], 5)
        raise ValueError(f"{name} '{missing}' is not in the collection; it has {known}.")
    return positions


def _needed(collection, runs: np.ndarray) -> np.ndarray:
    needed = np.zeros(collection["document"].size, dtype=bool)
    if "rankings" in collection:
        ranking = collection["rankings/ranking"].to_numpy()[runs]
        needed[ranking[ranking >= 0]] = True
    if "judgments" in collection:
        judged = collection["judgments/grade"].notnull()
        judged = judged.any("replicate") if "replicate" in judged.dims else judged
        needed |= judged.values | collection["judgments/pooled"].to_numpy()
    if "design" in collection:
        needed |= collection["design/inclusion_probability"].to_numpy() > 0
    return needed
