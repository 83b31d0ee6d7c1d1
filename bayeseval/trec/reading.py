"""Collections from files: rankings and judgments brought together by label."""

import os
import warnings

import numpy as np
import pandas as pd
import xarray as xr

from bayeseval.collection import topic_order
from bayeseval.collection.choices import check_choice, check_whole_numbers
from bayeseval.collection.labels import plain_label, same_strings
from bayeseval.collection.schema import no_strata, rebuilt, strata
from bayeseval.messages import Message, Option
from bayeseval.trec.excluding import excluded
from bayeseval.trec.gathering import gathered, warn_documents_alike, warn_unjudged_runs
from bayeseval.trec.qrels import read_qrels, warn_below
from bayeseval.trec.run import RunReader
from bayeseval.trec.storing import stored


def read_collection(
    qrels,
    runs=None,
    *,
    qrels_format: str = "qrels",
    depth: int | None = None,
    run_table: pd.DataFrame | None = None,
    negative_grades: str = "unjudged",
    on_duplicate: str = "error",
    score_type: str = "float64",
    exclude=None,
    store: str | os.PathLike | None = None,
) -> xr.DataTree:
    """Read judgments and runs as a collection.

    Rankings are by score descending, ties by document id descending, then cut at ``depth``. The
    rank column of a file is ignored, as in trec_eval, except that a table of runs without scores is
    ordered by its ranks. Any number of blanks or tabs separates fields, and ``#`` in the first
    column of lines without commas starts a comment, with a warning where it has the fields of the
    other lines. A run is called by its tag, or by its file where tags clash (a warning
    says so); in a dict by its key.

    Parameters
    ----------
    qrels : path, glob, DataFrame (topic, document, grade), list of them, or None
        Judgments; None reads runs alone. A file has lines of TREC, or a first line that names its
        columns (ours, or those of a package below, of BEIR or Quepid) with commas, semicolons, tabs
        or blanks between, or is Parquet, or JSON: ``{topic: {document: grade}}``, objects with a
        topic and a document, in a list or one a line, or as OpenSearch and RRE have it. It may be
        compressed (.gz, .xz, .bz2, .zst). A missing grade (NaN, an empty cell) means pooled but not
        judged; a warning counts them. Also ``{topic: {document: grade}}`` (pytrec_eval), ranx's
        ``Qrels``, a dataset of ir_datasets (``ir_datasets:ID`` loads it) or its named tuples.
    runs : path, glob, DataFrame (run, topic, document, score or rank), list of them, or None
        A file of lines is one run; a DataFrame, JSON or a file with a header may hold several, and
        is one run, called by its file or ``run``, where it names none. Also ``{topic: {document:
        score}}``, ranx's ``Run``, and ``{run: any of these}``. Columns may have PyTerrier's names
        (qid, docno, label, score) or those of ir_measures (query_id, doc_id, relevance, score).
    qrels_format : {"qrels", "sampleval", "prels", "probs"}
        The last three say how the judged documents were sampled, which becomes ``/design``; a line
        is ``topic iter document stratum grade``, ``topic document grade method probability`` or
        ``topic iter document grade probability``. A table needs these columns, without iter and
        method. Prels and probs hold no joint probabilities: as in statAP, their documents count as
        selected independently, and the probability of a pair that is not listed is unknown.
    depth : int or None
        Ranks to keep; None keeps all, as trec_eval does. The attribute ``runs_cut`` counts the runs
        that had more.
    run_table : DataFrame (run[, contributed][, team]), optional
        Facts about every run that is read.
    negative_grades : {"unjudged", "judged"}
        Whether a negative grade means pooled but not judged, as in trec_eval, or is the grade of a
        judged document that is not relevant. In sampleval -1 means not drawn either way.
    on_duplicate : {"error", "best"}
        Whether a document that occurs twice in a ranking is refused, or its best-ranked copy kept.
    score_type : {"float64", "float32"}
        Precision in which scores are compared; older evaluators use float32, which makes ties.
    exclude : path, DataFrame (topic, document) or dict {topic: [document]}, optional
        Documents that do not count for a topic: they are taken out of rankings and judgments, and
        later documents move up. A file has lines ``topic document``, a header, or JSON.
    store : path, optional
        New folder ending in ``.zarr`` (extra ``scale``), to which a collection larger than memory
        is written run by run. Its rankings and document labels are read from there by blocks of
        topics. Of plain qrels; warnings look at the first topics.

    Returns
    -------
    DataTree
        A collection over every topic and pair that is retrieved or judged.

    Raises
    ------
    ValueError
        One sentence that names the file and line (or topic and document) of bad input.

    Warns
    -----
    UserWarning
        Where runs and judgments may write the same topics or documents differently, as ``7`` and
        ``007``, and where no document of the judgments is in a run.

    Examples
    --------
    >>> import pandas as pd, bayeseval as be
    >>> qrels = pd.DataFrame({"topic": ["1"], "document": ["a"], "grade": [1]})
    >>> run = pd.DataFrame({"run": "r", "topic": "1", "document": ["a", "b"], "score": [1.0, 2.0]})
    >>> collection = be.read_collection(qrels, run)
    >>> collection["document"].to_numpy()[collection["rankings/ranking"].to_numpy()[0, 0]].tolist()
    ['b', 'a']
    """
    if qrels is None and runs is None:
        raise ValueError("read_collection needs judgments or runs; both are None.")
    check_choice("negative_grades", negative_grades, ("unjudged", "judged"))
    if depth is not None:
        check_whole_numbers(1, depth=depth)
    judgments = None if qrels is None else read_qrels(qrels, qrels_format)
    if judgments is not None and negative_grades == "unjudged":
        warn_below(judgments["grade"].to_numpy())
    facts = {"score_type": score_type, "depth": -1 if depth is None else int(depth)}
    reading = {"on_duplicate": on_duplicate, "score_type": score_type}
    if store is None:
        reader = RunReader(**reading)
        cut = depth if exclude is None else None  # else once documents have moved up
        ranked = [] if runs is None else reader.read(runs)
        tree, where = gathered(reader, ranked, judgments, cut, run_table, facts)
        if judgments is not None:
            tree = _judged(tree, judgments, where, qrels_format, negative_grades)
        looked_at = tree
    else:
        if runs is None or qrels_format != "qrels" or exclude is not None:
            text = " needs runs, and does not go with qrels_format or exclude"
            raise ValueError(Message(Option("store"), text))
        if judgments is not None:
            unjudged = _unjudged(judgments["grade"].to_numpy(), negative_grades)
            judgments = judgments.assign(judged=~unjudged)
        options = {"depth": depth, "run_table": run_table, "reading": reading, "attrs": facts}
        tree, looked_at = stored(store, runs, judgments, **options)
    if judgments is not None and runs is not None:
        if depth is None:
            _warn_apart(looked_at)
        warn_unjudged_runs(looked_at)
    warn_documents_alike(looked_at)
    return excluded(tree, exclude, depth)


def _judged(
    tree, judgments: pd.DataFrame, where: np.ndarray, qrels_format: str, negative_grades: str
):
    """Collection with judgments of the pairs at some positions, and the design of their format."""
    n_pairs = tree["document"].size
    grade = np.full(n_pairs, np.nan, dtype=np.float32)
    pooled = np.zeros(n_pairs, dtype=bool)
    pooled[where] = True
    known = judgments["grade"].to_numpy()
    unjudged = _unjudged(known, negative_grades)
    if qrels_format == "sampleval":
        unjudged |= known == -1  # was not drawn, whatever else is below 0
    grade[where] = np.where(unjudged, np.nan, known)
    design = None
    if qrels_format == "sampleval":
        design = _stratified(tree, judgments, where, ~unjudged)
    elif qrels_format in ("prels", "probs"):
        design = _poisson(n_pairs, judgments, where, qrels_format)
    return rebuilt(tree, grade=grade, pooled=pooled, design=design)


def _unjudged(grade: np.ndarray, negative_grades: str) -> np.ndarray:
    """Which grades mean that a document of the pool was not judged."""
    return np.isnan(grade) | ((grade < 0) & (negative_grades == "unjudged"))


def _warn_apart(tree) -> None:
    """Warn where no document of the judgments is in a run, as where ids are written differently."""
    ranking, pooled = tree["rankings/ranking"].to_numpy(), tree["judgments/pooled"].to_numpy()
    retrieved = np.zeros(pooled.size + 1, dtype=bool)
    retrieved[ranking.ravel()] = True  # -1, nothing, is the last
    retrieved = retrieved[:-1]
    if (retrieved & pooled).any():
        _warn_topics_alike(tree, retrieved, pooled)
        return
    if not pooled.any():  # of the first topics of a store none may be judged
        return
    document = tree["document"].to_numpy()
    asked = "are the documents' ids written alike?"
    if np.isin(document[pooled], document[retrieved]).any():
        asked = "their documents are in the runs for other topics: are the topics the same?"
    warnings.warn(
        "no document of the judgments is in a run, so they say nothing of any: they have "
        f"'{document[pooled][0]}' and so on, the runs '{document[retrieved][0]}' and so on; "
        f"{asked}",
        stacklevel=3,
    )


def _warn_topics_alike(tree, retrieved: np.ndarray, pooled: np.ndarray) -> None:
    """Warn of topics of the runs that differ from those of the judgments in spelling alone."""
    pair_topic = tree["pair_topic"].to_numpy()
    labels = tree["topic"].to_numpy()
    of_runs, of_judgments = (np.unique(pair_topic[pairs]) for pairs in (retrieved, pooled))
    others = labels[np.setdiff1d(of_judgments, of_runs)].tolist()
    apart = {plain_label(label): label for label in others}
    own = labels[np.setdiff1d(of_runs, of_judgments)].tolist()
    alike = [(label, apart[plain_label(label)]) for label in own if plain_label(label) in apart]
    if alike:
        warnings.warn(
            f"topic '{alike[0][0]}' of the runs has no judgment and '{alike[0][1]}' of the "
            f"judgments no run; there are {len(alike)} such topics in all: are they the same?",
            stacklevel=4,
        )


def _stratified(
    collection, judgments: pd.DataFrame, where: np.ndarray, judged: np.ndarray
) -> xr.Dataset:
    """Design with inclusion probability = sampled / documents of the topic's stratum."""
    topic = collection["pair_topic"].to_numpy()[where]
    labels, label = np.unique(same_strings(judgments["stratum"]), return_inverse=True)
    order = topic_order(labels)
    key = topic.astype(np.int64) * labels.size + np.argsort(order)[label]
    keys, stratum_of_row = np.unique(key, return_inverse=True)
    size = np.bincount(stratum_of_row)
    sampled = np.bincount(stratum_of_row, weights=judged).astype(np.int64)
    if (sampled == 0).any():
        first = keys[int(np.argmax(sampled == 0))]
        topic_label = collection["topic"].to_numpy()[first // labels.size]
        warnings.warn(
            f"strata without a sampled document: {int((sampled == 0).sum())}, the first is stratum "
            f"'{labels[order][first % labels.size]}' of topic '{topic_label}'; their documents "
            "count as outside the frame.",
            stacklevel=2,
        )
    stratum = np.full(collection["document"].size, -1, dtype=np.int32)
    stratum[where] = stratum_of_row
    label = ("stratum_id", labels[order][keys % labels.size])
    return xr.Dataset(
        strata(stratum, size, sampled, keys // labels.size) | {"stratum_label": label},
        attrs={"scheme": "stratified", "name": "sampleval", "parameters": "{}"},
    )


def _poisson(n_pairs: int, judgments: pd.DataFrame, where: np.ndarray, name: str) -> xr.Dataset:
    """Design with the listed probabilities, NaN (unknown) for documents that are not listed."""
    probability = np.full(n_pairs, np.nan)
    probability[where] = judgments["probability"]
    variables = {"inclusion_probability": ("pair", probability), **no_strata(n_pairs)}
    if "method" in judgments:
        method = np.full(n_pairs, "", dtype=object)
        method[where] = judgments["method"]
        variables["method"] = ("pair", same_strings(method))
    return xr.Dataset(
        variables,
        attrs={"scheme": "poisson", "name": name, "parameters": "{}", "unlisted": "unknown"},
    )
