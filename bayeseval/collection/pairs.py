"""Pairs of a collection added or left out, every position renumbered."""

import numpy as np
import pandas as pd
import xarray as xr

from bayeseval.collection.labels import (
    asked_labels,
    label_positions,
    pair_positions,
    same_strings,
    topic_order,
)
from bayeseval.collection.schema import check_collection, rebuilt
from bayeseval.messages import some_of

_FILL = {"inclusion_probability": 0.0, "stratum": -1, "pooled": False, "draw_probability": 0.0}
_BLANK = {"f": np.nan, "i": 0, "u": 0, "b": False, "U": "", "O": None}


def add_pairs(collection: xr.DataTree, topic_labels, document_labels) -> xr.DataTree:
    """Collection in which the pairs that it lacked are there: unjudged and outside the frame.

    A new pair has grade NaN, ``pooled`` False, stratum -1, inclusion probability 0 (NaN where the
    design says nothing of the documents it does not list) and predictors NaN. Topics that
    the collection lacked are added too. The labels (n,) come in any order, repeated or not.
    """
    check_collection(collection)
    missing = pair_positions(collection, topic_labels, document_labels) < 0
    if not missing.any():
        return collection
    new_topic = np.asarray(topic_labels).astype(object)[missing]
    new_document = np.asarray(document_labels).astype(object)[missing]
    own = collection["topic"].to_numpy().astype(object)
    topics = pd.unique(np.concatenate([own, new_topic]))
    topics = topics[topic_order(topics)]
    old_pair_topic = label_positions(topics, own)[collection["pair_topic"].to_numpy()]
    rows = pd.DataFrame(
        {
            "topic": np.concatenate([old_pair_topic, label_positions(topics, new_topic)]),
            "document": np.concatenate([collection["document"].to_numpy(), new_document]),
            "old": np.r_[np.arange(old_pair_topic.size), np.full(new_topic.size, -1)],
        }
    )
    rows = rows.drop_duplicates(["topic", "document"]).sort_values(["topic", "document"])
    return renumber(
        collection,
        topics=topics,
        document=rows["document"].to_numpy(object),
        pair_topic=rows["topic"].to_numpy(),
        old=rows["old"].to_numpy(),
    )


def renumber(collection, *, topics, document, pair_topic, old, runs=None) -> xr.DataTree:
    """Collection over other pairs and topics, and over some of its runs.

    ``old`` is the position each new pair had, -1 for a new one; ``topics`` may add or leave out
    some; ``runs`` are positions of the runs to keep.
    """
    runs = np.arange(collection["run"].size) if runs is None else np.asarray(runs, dtype=np.int64)
    kept_topic = label_positions(collection["topic"].to_numpy(), topics)
    new = np.full(collection["document"].size + 1, -1, dtype=np.int32)
    new[old[old >= 0]] = np.flatnonzero(old >= 0)
    nodes = {}
    for name in ("judgments", "predictors"):
        if name in collection:
            nodes[name] = moved(collection[name].to_dataset(inherit=False), old)
    if "design" in collection:
        nodes["design"] = _moved_design(collection["design"], old, kept_topic)
    if "rankings" in collection:
        ranking = collection["rankings/ranking"].to_numpy()[runs]
        ranking = np.concatenate([ranking, np.full_like(ranking[:, :1], -1)], axis=1)
        ranking = new[ranking[:, kept_topic]]
        filled = (ranking >= 0).any(axis=(0, 1)) if ranking.size else np.zeros(0, dtype=bool)
        nodes["ranking"] = ranking[:, :, : int(filled.sum())]
    return rebuilt(
        collection,
        topics=topics,
        runs=same_strings(collection["run"])[runs],
        document=document,
        pair_topic=pair_topic,
        contributed=collection["contributed"].to_numpy()[runs],
        team=collection["team"].to_numpy()[runs],
        **nodes,
    )


def moved(dataset: xr.Dataset, old: np.ndarray, unlisted: float = 0.0) -> xr.Dataset:
    """Variables over other pairs, of which each had the position ``old``, -1 for a new one."""
    fills = _FILL | {"inclusion_probability": unlisted}
    variables = {}
    for name, variable in dataset.data_vars.items():
        if "pair" in variable.dims:
            axis = variable.dims.index("pair")
            values = variable.values.take(np.maximum(old, 0), axis=axis)
            blank = fills.get(str(name), _BLANK[variable.dtype.kind])
            np.moveaxis(values, axis, 0)[old < 0] = blank
            variables[name] = (variable.dims, values, variable.attrs)
        else:
            variables[name] = variable
    coords = {name: coord for name, coord in dataset.coords.items() if "pair" not in coord.dims}
    return xr.Dataset(variables, coords=coords, attrs=dataset.attrs)


def _moved_design(design, old: np.ndarray, kept_topic: np.ndarray) -> xr.Dataset:
    dataset = design.to_dataset(inherit=False)
    unlisted = np.nan if dataset.attrs.get("unlisted") == "unknown" else 0.0
    dataset = moved(dataset, old, unlisted)
    if "stratum_topic" not in dataset:
        return dataset
    before = dataset["stratum_topic"].to_numpy()
    now = np.full(max(kept_topic.max(initial=-1), before.max(initial=-1)) + 1, -1, dtype=np.int64)
    there = np.flatnonzero(kept_topic >= 0)  # -1 of a new topic
    now[kept_topic[there]] = there
    stratum_topic = now[before]
    kept = np.flatnonzero(stratum_topic >= 0)
    new_stratum = np.full(stratum_topic.size + 1, -1, dtype=np.int32)
    new_stratum[kept] = np.arange(kept.size)
    return dataset.isel(stratum_id=kept).assign(
        stratum_topic=("stratum_id", stratum_topic[kept].astype(np.int32)),
        stratum=("pair", new_stratum[dataset["stratum"].to_numpy()]),
    )


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


def without_pairs(collection: xr.DataTree, out: np.ndarray, depth: int | None) -> xr.DataTree:
    """Collection without the pairs that are ``out`` (pair,), whose rankings are cut at a depth.

    Later documents move up in their place. There is no design. ``runs_cut`` counts anew.
    """
    parts: dict = {}
    if "rankings" in collection.children:
        ranking = collection["rankings/ranking"].to_numpy()
        kept = (ranking >= 0) & ~np.append(out, True)[ranking]
        order = np.argsort(~kept, axis=-1, kind="stable")
        ranking = np.take_along_axis(np.where(kept, ranking, -1), order, axis=-1)
        deeper = np.count_nonzero(kept, axis=-1) > (ranking.shape[-1] if depth is None else depth)
        parts["ranking"] = ranking[..., :depth]
        parts["attrs"] = collection.attrs | {"runs_cut": int(deeper.any(axis=1).sum())}
    if "judgments" in collection.children:
        judgments = collection.children["judgments"].to_dataset(inherit=False)
        known = xr.DataArray(~out, dims="pair")
        grade = judgments["grade"].where(known)
        parts["judgments"] = judgments.assign(grade=grade, pooled=judgments["pooled"] & known)
    rest = rebuilt(collection, **parts)
    old = np.flatnonzero(_needed(rest, np.arange(rest["run"].size)))
    return renumber(
        rest,
        topics=rest["topic"].to_numpy(),
        document=rest["document"].to_numpy()[old],
        pair_topic=rest["pair_topic"].to_numpy()[old],
        old=old,
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
