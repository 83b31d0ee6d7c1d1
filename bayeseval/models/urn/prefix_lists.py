"""The lists that the urn is fitted to: judged tops of the runs, refused where they have gaps."""

import json

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from bayeseval.collection import check_collection
from bayeseval.distributions.wallenius_count import check_numbers
from bayeseval.frame.grades import grade_columns
from bayeseval.frame.members import contributing_runs
from bayeseval.models.urn.likelihood import UrnLists

GAPS = ("refuse", "ignorable")


def urn_lists(
    collection: xr.DataTree,
    *,
    n_documents: int | xr.DataArray,
    depth: int,
    relevance_level: int = 1,
    runs: list[str] | None = None,
    gaps: str = "refuse",
) -> tuple[UrnLists, NDArray[np.str_]]:
    """Judged tops of the runs, checked, and the labels of these runs.

    Parameters and errors are those of `urn_estimate`.

    Examples
    --------
    >>> import pandas as pd, bayeseval as be
    >>> run = pd.DataFrame({"run": "a", "topic": "1", "document": list("abc"), "score": [3, 2, 1]})
    >>> qrels = pd.DataFrame({"topic": "1", "document": ["a", "b"], "grade": [0, 2]})
    >>> lists, labels = urn_lists(be.read_collection(qrels, run), n_documents=9, depth=2)
    >>> lists.relevance[0, 0].tolist(), lists.length[0, 0].item(), labels.tolist()
    ([0, 1], 2, ['a'])
    """
    check_collection(collection)
    if depth < 1:
        raise ValueError(f"depth must be at least 1, not {depth}.")
    if gaps not in GAPS:
        raise ValueError(f"gaps must be one of {', '.join(map(repr, GAPS))}, not {gaps!r}.")
    pool = pool_parameters(collection)
    if runs is None and "runs" in pool:
        runs = [run for run in collection["run"].to_numpy().tolist() if run in pool["runs"]]
    if runs is None and not collection["contributed"].any():
        raise ValueError("no run of the collection contributed; name the runs to fit with runs=.")
    chosen = contributing_runs(collection, runs)
    labels = collection["run"].to_numpy()[chosen]
    check_pool(pool, labels, depth)
    grade = grade_columns(collection)
    if len(grade) > 1:
        raise ValueError("the judgments have the dim 'replicate'; estimate from one of them.")
    ranking = collection["rankings/ranking"].to_numpy()[chosen]
    if gaps == "refuse":
        _check_gaps(collection, ranking[:, :, :depth], grade[0], labels)
    numbers = _numbers(collection, n_documents)
    lists = _prefix_lists(ranking, grade[0], depth, relevance_level, numbers)
    _check_lists(collection, lists, depth)
    return lists, labels


def pool_parameters(collection: xr.DataTree) -> dict:
    """Depth and runs of the pool that the judgments are, empty where no design says so."""
    if "design" not in collection.children:
        return {}
    attrs = collection["design"].attrs
    if attrs["scheme"] != "deterministic":
        raise ValueError(
            f"the judgments come from a {attrs['scheme']} design; the urn's likelihood is that of "
            "the judged top of a list and needs judgments to a depth, such as those of a pool."
        )
    return json.loads(attrs["parameters"]) if attrs.get("name") == "depth_pool" else {}


def check_pool(pool: dict, labels: NDArray[np.str_], depth: int) -> None:
    """Refuse ranks that the pool did not have judged, or has judged for other runs' sake."""
    if depth > pool.get("pool_depth", depth):
        raise ValueError(
            f"depth must be at most {pool['pool_depth']}, the depth of the pool, not {depth}: "
            "deeper ranks are judged only where another run ranks the document higher."
        )
    stray = [run for run in labels.tolist() if run not in pool.get("runs", labels)]
    if stray:
        raise ValueError(
            f"run '{stray[0]}' is not among the {len(pool['runs'])} runs of the pool, so which of "
            "its documents are judged depends on their relevance; name runs of the pool."
        )


def _check_gaps(collection, top: NDArray[np.integer], grade: NDArray, labels) -> None:
    """Refuse runs with an unjudged document in their tops (run, topic, rank)."""
    topics = collection["topic"].to_numpy()
    judged_topic = np.zeros(topics.size, dtype=bool)
    judged_topic[collection["pair_topic"].to_numpy()[~np.isnan(grade)]] = True
    gap = (top >= 0) & np.isnan(grade)[top] & judged_topic[:, None]
    if not gap.any():
        return
    run, topic, rank = (int(place) for place in np.argwhere(gap)[0])
    raise ValueError(
        f"run '{labels[run]}' has an unjudged document at rank {rank + 1} of topic "
        f"'{topics[topic]}', as {int(gap.any(axis=(1, 2)).sum())} of {labels.size} runs have "
        f"within the depth of {top.shape[2]}; choose a smaller depth or other runs, or "
        "gaps='ignorable' if what was judged did not depend on relevance or other rankings."
    )


def _numbers(collection: xr.DataTree, n_documents: int | xr.DataArray) -> NDArray[np.int64]:
    """N of every topic."""
    numbers = n_documents
    if isinstance(n_documents, xr.DataArray):
        numbers = n_documents.sel(topic=collection["topic"].to_numpy()).to_numpy()
    check_numbers(n_documents=numbers)
    return np.broadcast_to(numbers, collection.sizes["topic"]).astype(np.int64)


def _prefix_lists(ranking, grade, depth: int, relevance_level: int, n_documents) -> UrnLists:
    """First ranks of rankings (run, topic, rank); unjudged ranks at the end are cut off."""
    top = np.swapaxes(ranking[:, :, :depth], 0, 1)
    shown = np.where(top >= 0, grade[top], np.nan)
    relevance = np.where(np.isnan(shown), -1, shown >= relevance_level).astype(np.int8)
    judged = relevance >= 0
    last = relevance.shape[2] - np.argmax(judged[:, :, ::-1], axis=2)
    length = np.where(judged.any(axis=2), last, 0)
    return UrnLists(np.ascontiguousarray(relevance), length, n_documents)


def _check_lists(collection: xr.DataTree, lists: UrnLists, depth: int) -> None:
    """Refuse lists without a judgment and lists longer than the urn."""
    if not lists.length.any():
        raise ValueError(f"no run has a judged document in its first {depth} ranks.")
    short = lists.length.max(axis=1) > lists.n_documents
    if short.any():
        topic = int(np.argmax(short))
        raise ValueError(
            "n_documents must be at least the ranks used; topic "
            f"'{collection['topic'].to_numpy()[topic]}' has {lists.n_documents[topic]} documents "
            "and a run with more."
        )
