"""More runs in a collection, joined by label."""

import warnings

import numpy as np
import pandas as pd
import xarray as xr

from bayeseval.collection import add_pairs, check_collection, pair_positions
from bayeseval.collection.labels import label_positions, pair_names
from bayeseval.collection.schema import rebuilt
from bayeseval.messages import Message, Option
from bayeseval.trec.gathering import (
    check_overlap,
    gathered,
    warn_documents_alike,
    warn_unjudged_runs,
)
from bayeseval.trec.run import Run, RunReader


def add_runs(
    collection: xr.DataTree,
    runs,
    *,
    contributed: bool | None = None,
    team: str = "",
    run_table: pd.DataFrame | None = None,
    on_duplicate: str = "error",
) -> xr.DataTree:
    """Collection with more runs, as if all had been read at once.

    Documents and topics that the collection lacked become new pairs: not judged and outside the
    frame. Depth and score type are those the collection was read with.

    Parameters
    ----------
    collection : DataTree
        The collection; it is not changed.
    runs : path, glob, DataFrame (run, topic, document, score), dict, or a list of them
        The new runs, as in `read_collection`; they come last.
    contributed : bool, optional
        Whether their documents shape frames, fusion and features. Default: False where the
        collection has a design, which was made without them, else True.
    team : str
        Who made them.
    run_table : DataFrame (run[, contributed][, team]), optional
        The same, run by run; what it has no column for is as the options say.
    on_duplicate : {"error", "best"}
        As in `read_collection`.

    Returns
    -------
    DataTree
        A collection.

    Raises
    ------
    ValueError
        As in `read_collection`, and where none of a run's topics is in the collection, or an option
        says what `run_table` says too.

    Warns
    -----
    UserWarning
        A file has the tag and the rankings of runs that are there already: it was read before. Or
        runs, new ones or old, may write documents of a topic unalike, as ``7`` and ``007``.

    Examples
    --------
    >>> import pandas as pd, bayeseval as be
    >>> one = pd.DataFrame({"run": ["r"], "topic": ["1"], "document": ["b"], "score": [1.0]})
    >>> collection = be.read_collection(None, one)
    >>> grown = be.add_runs(collection, one.assign(run="s", document="a"))
    >>> grown["rankings/ranking"].to_numpy().tolist()
    [[[1]], [[0]]]
    """
    check_collection(collection)
    for name, value in (("contributed", contributed), ("team", team or None)):
        if value is not None and run_table is not None and name in run_table:
            raise ValueError(Message(Option(name), f" is given, and run_table has '{name}' too"))
    if contributed is None:
        contributed = "design" not in collection
    score_type = collection.attrs.get("score_type", "float64")
    depth = collection.attrs.get("depth", -1)
    reader = RunReader(on_duplicate=on_duplicate, score_type=score_type)
    found = reader.read(runs, taken=collection["run"].to_numpy().tolist())
    new = gathered(reader, found, None, None if depth < 0 else depth, run_table, {})
    topics, position = reader.topics.resolve()
    check_overlap(found, topics, position, collection["topic"].to_numpy())
    named = pair_names(new)
    grown = add_pairs(collection, *named)
    position = np.append(pair_positions(grown, *named), -1)
    kept_topic = label_positions(new["topic"].to_numpy(), grown["topic"].to_numpy())
    ranking = position[new["rankings/ranking"].to_numpy()]
    absent = np.full_like(ranking[:, :1], -1)
    ranking = np.concatenate([ranking, absent], axis=1)[:, kept_topic]
    given = {"contributed": contributed, "team": team}
    told = () if run_table is None else run_table.columns
    facts = {
        name: new[name].to_numpy() if name in told else np.array([value] * len(found))
        for name, value in given.items()
    }
    facts["runs_cut"] = collection.attrs.get("runs_cut", 0) + new.attrs["runs_cut"]
    joined = _with_runs(grown, new["run"].to_numpy(), ranking, facts)
    _warn_of_copies(joined, found)
    if "judgments" in joined.children:
        warn_unjudged_runs(joined, joined["run"].size - len(found))
    warn_documents_alike(joined)
    return joined


def _warn_of_copies(joined: xr.DataTree, found: list[Run]) -> None:
    """Say which files whose tag is taken hold the rankings of a run that was there before them."""
    ranking, names = joined["rankings/ranking"].to_numpy(), joined["run"].to_numpy()
    n_before = names.size - len(found)
    for run, ranked in zip(found, ranking[n_before:], strict=True):
        if not run.renamed:
            continue
        alike = np.flatnonzero((ranking[:n_before, :, 0] == ranked[:, 0]).all(axis=1))
        same = [place for place in alike if np.array_equal(ranking[place], ranked)]
        if same:
            warnings.warn(
                f"{run.source}: run '{run.name}' has the rankings of run '{names[same[0]]}', which "
                "is in the collection already; if that is the same file, take the collection as it "
                "was before",
                stacklevel=3,
            )


def _with_runs(collection, runs, ranking: np.ndarray, facts: dict) -> xr.DataTree:
    """Collection with more runs, whose rankings point to its own pairs."""
    n_runs, n_topics = collection["run"].size, collection["topic"].size
    own = np.empty((n_runs, n_topics, 0), dtype=np.int32)
    if "rankings" in collection:
        own = collection["rankings/ranking"].to_numpy()
    deepest = max(own.shape[2], ranking.shape[2])
    both = np.full((n_runs + len(ranking), n_topics, deepest), -1, dtype=np.int32)
    both[:n_runs, :, : own.shape[2]] = own
    both[n_runs:, :, : ranking.shape[2]] = ranking
    return rebuilt(
        collection,
        runs=[*collection["run"].to_numpy(), *runs],
        ranking=both,
        contributed=[*collection["contributed"].to_numpy(), *facts["contributed"]],
        team=[*collection["team"].to_numpy(), *facts["team"]],
        attrs={**collection.attrs, "runs_cut": facts["runs_cut"]},
    )
