"""Collections from files: rankings and judgments brought together by label."""

import numpy as np
import pandas as pd
import xarray as xr

from bayeseval.collection import (
    add_pairs,
    assemble,
    check_collection,
    pair_positions,
    topic_order,
)
from bayeseval.collection.labels import label_positions
from bayeseval.collection.pairs import trimmed
from bayeseval.trec.labels import spans_of
from bayeseval.trec.qrels import read_qrels
from bayeseval.trec.run import Run, RunReader, ranked
from bayeseval.trec.sampled import sampling_design


def read_collection(
    qrels,
    runs=None,
    *,
    qrels_format: str = "qrels",
    depth: int | None = 1000,
    run_table: pd.DataFrame | None = None,
    negative_grades: str = "unjudged",
    on_duplicate: str = "error",
    score_type: str = "float64",
) -> xr.DataTree:
    """Read judgments and runs as a collection.

    Rankings are by score descending, ties by document id descending, then cut at ``depth``; the
    rank and iter columns of a file are ignored, as in trec_eval. Fields are separated by any number
    of blanks or tabs, ``#`` in the first column starts a comment, blank lines are fine. A run is
    called by its tag, or by its file where tags clash, which a warning says.

    Parameters
    ----------
    qrels : path, glob, DataFrame (topic, document, grade), list of them, or None
        Judgments; None reads runs alone. Files may be compressed (.gz, .xz, .bz2, .zst).
    runs : path, glob, DataFrame (run, topic, document, score), list of them, or None
        One run a file; a frame may hold several.
    qrels_format : {"qrels", "sampleval", "prels", "probs"}
        The last three say how the judged documents were sampled, which becomes ``/design``.
    depth : int or None
        Ranks to keep; None keeps all.
    run_table : DataFrame (run[, contributed][, team]), optional
        Facts about every run that is read.
    negative_grades : {"unjudged", "judged"}
        Whether a negative grade means pooled but not judged, or is a grade.
    on_duplicate : {"error", "best"}
        What to do with a document that is twice in a ranking: refuse, or keep the best-ranked copy.
    score_type : {"float64", "float32"}
        Precision in which scores are compared; older evaluators use float32, which makes ties.

    Returns
    -------
    DataTree
        A collection over every topic and pair that is retrieved or judged.

    Raises
    ------
    ValueError
        One sentence that names the file and line (or topic and document) of bad input.

    Examples
    --------
    >>> qrels = pd.DataFrame({"topic": ["1"], "document": ["a"], "grade": [1]})
    >>> run = pd.DataFrame({"run": "r", "topic": "1", "document": ["a", "b"], "score": [1.0, 2.0]})
    >>> collection = read_collection(qrels, run)
    >>> collection["document"].values[collection["rankings/ranking"].values[0, 0]].tolist()
    ['b', 'a']
    """
    if qrels is None and runs is None:
        raise ValueError("read_collection needs judgments or runs; both are None.")
    if negative_grades not in ("unjudged", "judged"):
        raise ValueError(
            f"negative_grades must be 'unjudged' or 'judged', not {negative_grades!r}."
        )
    _check_depth(depth)
    judgments = None if qrels is None else read_qrels(qrels, qrels_format)
    reader = RunReader(on_duplicate=on_duplicate, score_type=score_type)
    found = [] if runs is None else reader.read(runs)
    facts = {"score_type": score_type, "depth": -1 if depth is None else int(depth)}
    tree = _gathered(reader, found, judgments, depth, run_table, facts)
    if judgments is None:
        return tree
    return _judged(tree, judgments, qrels_format, negative_grades)


def add_runs(
    collection: xr.DataTree,
    runs,
    *,
    contributed: bool = True,
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
    runs : path, glob, DataFrame (run, topic, document, score), or a list of them
        The new runs; they come last.
    contributed : bool
        Whether their documents shape frames, fusion and features.
    team : str
        Who made them.
    run_table : DataFrame (run[, contributed][, team]), optional
        The same, run by run.
    on_duplicate : {"error", "best"}
        As in `read_collection`.

    Returns
    -------
    DataTree
        A collection.

    Raises
    ------
    ValueError
        As in `read_collection`, and where none of a run's topics is in the collection.

    Examples
    --------
    >>> one = pd.DataFrame({"run": ["r"], "topic": ["1"], "document": ["b"], "score": [1.0]})
    >>> collection = read_collection(None, one)
    >>> add_runs(collection, one.assign(run="s", document="a"))["rankings/ranking"].values.tolist()
    [[[1]], [[0]]]
    """
    check_collection(collection)
    score_type = collection.attrs.get("score_type", "float64")
    depth = collection.attrs.get("depth", -1)
    reader = RunReader(on_duplicate=on_duplicate, score_type=score_type)
    found = reader.read(runs, taken=collection["run"].values.tolist())
    new = _gathered(reader, found, None, None if depth < 0 else depth, run_table, {})
    _check_overlap(found, reader, collection["topic"].values)
    if run_table is None:
        new["contributed"] = ("run", np.full(len(found), contributed))
        new["team"] = ("run", np.full(len(found), team))
    topics = new["topic"].values[new["pair_topic"].values]
    grown = add_pairs(collection, topics, new["document"].values)
    position = np.append(pair_positions(grown, topics, new["document"].values), -1)
    kept_topic = label_positions(new["topic"].values, grown["topic"].values)
    ranking = position[new["rankings/ranking"].values]
    absent = np.full_like(ranking[:, :1], -1)
    ranking = np.concatenate([ranking, absent], axis=1)[:, kept_topic]
    return _with_runs(grown, new, ranking)


def _with_runs(collection, new, ranking: np.ndarray) -> xr.DataTree:
    """Collection with the runs of another, whose rankings point to its own pairs."""
    n_runs, n_topics = collection["run"].size, collection["topic"].size
    own = np.empty((n_runs, n_topics, 0), dtype=np.int32)
    if "rankings" in collection:
        own = collection["rankings/ranking"].values
    deepest = max(own.shape[2], ranking.shape[2])
    both = np.concatenate([_deepened(own, deepest), _deepened(ranking, deepest)])
    nodes = {
        name: collection[name].to_dataset(inherit=False)
        for name in ("judgments", "design", "predictors")
        if name in collection
    }
    judgments = nodes.pop("judgments", None)
    if judgments is not None:
        nodes |= {"grade": judgments["grade"].values, "pooled": judgments["pooled"].values}
    return assemble(
        topics=collection["topic"].values,
        runs=[*collection["run"].values, *new["run"].values],
        document=collection["document"].values,
        pair_topic=collection["pair_topic"].values,
        ranking=both,
        contributed=np.concatenate([collection["contributed"].values, new["contributed"].values]),
        team=[*collection["team"].values, *new["team"].values],
        attrs={k: v for k, v in collection.attrs.items() if k not in ("schema", "fingerprint")},
        **nodes,
    )


def _deepened(ranking: np.ndarray, depth: int) -> np.ndarray:
    missing = depth - ranking.shape[2]
    return np.pad(ranking, ((0, 0), (0, 0), (0, missing)), constant_values=-1)


def _gathered(reader: RunReader, runs: list[Run], judgments, depth, run_table, facts):
    """Collection of runs, over their pairs and the judged ones."""
    judged_topic = judged_document = np.empty(0, dtype=np.int32)
    if judgments is not None:
        judged_topic = _encoded(reader.topics, judgments["topic"])
        judged_document = _encoded(reader.documents, judgments["document"])
    topics, topic_position = reader.topics.resolve()
    documents, document_position = reader.documents.resolve()
    order = topic_order(topics)
    topic_position = np.argsort(order)[topic_position]
    topics = topics[order]
    if runs and judgments is not None:
        _check_overlap(runs, reader, np.unique(judgments["topic"].to_numpy(str)))
    span = documents.size
    keys = _ranked_keys(runs, topic_position, document_position, topics.size, span, depth)
    filled = keys >= 0
    judged = topic_position[judged_topic].astype(np.int64) * span + document_position[judged_document]
    codes, pairs = pd.factorize(np.concatenate([keys[filled], judged]))
    sort = np.argsort(pairs)
    position = np.empty(sort.size, dtype=np.int32)
    position[sort] = np.arange(sort.size)
    ranking = np.full(keys.shape, -1, dtype=np.int32)
    ranking[filled] = position[codes[: codes.size - judged.size]]
    pairs = pairs[sort]
    return assemble(
        topics=topics,
        runs=[run.name for run in runs],
        document=documents[pairs % span],
        pair_topic=pairs // span,
        ranking=ranking if runs else None,
        attrs=facts,
        **_run_facts([run.name for run in runs], run_table),
    )


def _encoded(labels, texts: pd.Series) -> np.ndarray:
    return labels.encode(labels.pack(spans_of(texts)))


def _ranked_keys(runs, topic_position, document_position, n_topics, span, depth) -> np.ndarray:
    """Pair at each (run, topic, rank), as one number: topic * span + document; -1 for none."""
    rows = []
    deepest = 0
    for run in runs:
        topic, document = topic_position[run.topic], document_position[run.document]
        order, rank = ranked(run, topic, document)
        kept = slice(None) if depth is None else rank < depth
        order, rank = order[kept], rank[kept]
        rows.append((topic[order], rank, topic[order].astype(np.int64) * span + document[order]))
        deepest = max(deepest, int(rank.max()) + 1)
    keys = np.full((len(runs), n_topics, deepest), -1, dtype=np.int64)
    for run, (topic, rank, key) in enumerate(rows):
        keys[run, topic, rank] = key
    return keys


def _check_overlap(runs: list[Run], reader: RunReader, known: np.ndarray) -> None:
    topics, position = reader.topics.resolve()
    is_known = np.isin(topics, known)
    for run in runs:
        own = np.unique(position[run.topic])
        if not is_known[own].any():
            raise ValueError(
                f"{run.source or 'runs DataFrame'}: run '{run.name}' has no topic in common with the "
                f"judgments or the collection; it has '{topics[own[0]]}' and so on, they have "
                f"'{known[0]}' and so on."
            )


def _check_depth(depth) -> None:
    if depth is not None and (depth != int(depth) or depth < 1):
        raise ValueError(f"depth must be a whole number of at least 1, or None, not {depth!r}.")


def _run_facts(runs: list[str], run_table: pd.DataFrame | None) -> dict:
    if run_table is None:
        return {}
    if "run" not in run_table or run_table["run"].duplicated().any():
        raise ValueError("run_table must have a column 'run' in which every run is once.")
    rows = label_positions(run_table["run"].map(str), runs)
    if (rows < 0).any():
        raise ValueError(
            f"run_table lacks run '{runs[int(np.argmax(rows < 0))]}'; every run that is read needs "
            "a row."
        )
    table = run_table.iloc[rows]
    facts = {}
    if "contributed" in table:
        facts["contributed"] = table["contributed"].to_numpy(dtype=bool)
    if "team" in table:
        facts["team"] = table["team"].astype(object).fillna("").map(str).to_numpy()
    return facts


def _judged(tree, judgments: pd.DataFrame, qrels_format: str, negative_grades: str):
    """Collection with judgments, and the design that their format tells."""
    where = pair_positions(tree, judgments["topic"], judgments["document"])
    n_pairs = tree["document"].size
    grade = np.full(n_pairs, np.nan, dtype=np.float32)
    pooled = np.zeros(n_pairs, dtype=bool)
    pooled[where] = True
    known = judgments["grade"].to_numpy()
    unjudged = (known < 0) & (negative_grades == "unjudged")
    grade[where] = np.where(unjudged, np.nan, known)
    nodes = {} if "rankings" not in tree else {"ranking": tree["rankings/ranking"].values}
    return assemble(
        topics=tree["topic"].values,
        runs=tree["run"].values,
        document=tree["document"].values,
        pair_topic=tree["pair_topic"].values,
        contributed=tree["contributed"].values,
        team=tree["team"].values,
        grade=grade,
        pooled=pooled,
        design=sampling_design(tree, judgments, where, qrels_format),
        attrs={k: v for k, v in tree.attrs.items() if k not in ("schema", "fingerprint")},
        **nodes,
    )
