"""Runs and predictions that are added to a collection."""

import os
import warnings
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from bayeseval.collection import add_pairs, check_collection, pair_positions
from bayeseval.collection.labels import alike_document, label_positions, pair_names
from bayeseval.collection.schema import rebuilt, with_labels
from bayeseval.messages import Message, Option
from bayeseval.trec.excluding import excluded
from bayeseval.trec.frames import (
    ENTRY,
    LINE,
    as_frame,
    as_numbers,
    as_pandas,
    as_text,
    checked_frame,
    described,
    place,
    row_name,
    with_our_names,
    without_index,
)
from bayeseval.trec.gathering import (
    check_overlap,
    gathered,
    warn_documents_alike,
    warn_unjudged_runs,
)
from bayeseval.trec.lines import blocks, yes_or_no
from bayeseval.trec.qrels import RUN_FIELDS
from bayeseval.trec.records import file_frame
from bayeseval.trec.run import Run, RunReader
from bayeseval.trec.sources import path_text, read_bytes, shown
from bayeseval.whole_file import expanded_path

ASSESSORS = ("assessor", "annotator", "rater", "judge")
VALUES = ("label", "probability", "grade", "relevance", "rel", "rating", "score", "value")


def add_runs(
    collection: xr.DataTree,
    runs,
    *,
    contributed: bool | None = None,
    team: str = "",
    run_table: pd.DataFrame | None = None,
    on_duplicate: str = "error",
    exclude=None,
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
    exclude : path, DataFrame or dict, optional
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
        Where a file has the tag and the rankings of a run that was read before, and where runs may
        write a document of a topic differently, as ``7`` and ``007``.

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
    depth = None if depth < 0 else depth
    reader = RunReader(on_duplicate=on_duplicate, score_type=score_type)
    added = reader.read(runs, taken=collection["run"].to_numpy().tolist())
    new, _ = gathered(reader, added, None, depth if exclude is None else None, run_table, {})
    new = excluded(new, exclude, depth)
    topics, position = reader.topics.resolve()
    check_overlap(added, topics, position, collection["topic"].to_numpy())
    named = pair_names(new)
    grown = add_pairs(collection, *named)
    position = np.append(pair_positions(grown, *named), -1)
    kept_topic = label_positions(new["topic"].to_numpy(), grown["topic"].to_numpy())
    ranking = position[new["rankings/ranking"].to_numpy()]
    absent = np.full_like(ranking[:, :1], -1)
    ranking = np.concatenate([ranking, absent], axis=1)[:, kept_topic]
    given = {"contributed": contributed, "team": team}
    stated = () if run_table is None else run_table.columns
    facts = {
        name: new[name].to_numpy() if name in stated else np.array([value] * len(added))
        for name, value in given.items()
    }
    facts["runs_cut"] = collection.attrs.get("runs_cut", 0) + new.attrs["runs_cut"]
    joined = _with_runs(grown, new["run"].to_numpy(), ranking, facts)
    _warn_of_copies(joined, added)
    if "judgments" in joined.children:
        warn_unjudged_runs(joined, joined["run"].size - len(added))
    warn_documents_alike(joined)
    return joined


def _warn_of_copies(joined: xr.DataTree, added: list[Run]) -> None:
    """Warn of files whose tag is taken and that hold the rankings of a run that is there."""
    ranking, names = joined["rankings/ranking"].to_numpy(), joined["run"].to_numpy()
    n_before = names.size - len(added)
    for run, ranked in zip(added, ranking[n_before:], strict=True):
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
    rankings = np.full((n_runs + len(ranking), n_topics, deepest), -1, dtype=np.int32)
    rankings[:n_runs, :, : own.shape[2]] = own
    rankings[n_runs:, :, : ranking.shape[2]] = ranking
    return rebuilt(
        collection,
        runs=[*collection["run"].to_numpy(), *runs],
        ranking=rankings,
        contributed=[*collection["contributed"].to_numpy(), *facts["contributed"]],
        team=[*collection["team"].to_numpy(), *facts["team"]],
        attrs={**collection.attrs, "runs_cut": facts["runs_cut"]},
    )


def add_predictions(
    collection: xr.DataTree, name: str | Sequence[str] | None, predictions: Any
) -> xr.DataTree:
    """Collection with other judges' labels or probabilities of relevance as predictors.

    They are joined by topic and document. ``be.evaluate(..., estimator="dyn")`` then learns from
    them together with the ranks. It learns the worth of a label from the documents that have a
    judgment too, so that a bad judge makes intervals longer and biases nothing. The labels must be
    of all documents that could be sampled, or of documents that were chosen before the draw;
    ``dyn`` refuses labels of the sampled documents alone.

    Parameters
    ----------
    collection : DataTree
        The collection; it is not changed.
    name : str, list of str or None
        Name of the judge, or of several at once. None takes every assessor that a column
        ``assessor`` (or ``annotator``, ``rater``, ``judge``) of one table names, for one judge.
    predictions : path, DataFrame, dict or object, or a list of them
        Of one judge: a file with lines ``topic iter document x`` (as qrels), ``topic
        document x`` or of a run, whose scores are read; a DataFrame with topic and document
        (or the names that other packages have for them) and a column named as the judge, or
        ``label``, ``probability``, ``grade``, ``relevance``, ``rel``, ``rating``, ``score`` or
        ``value``; a CSV or TSV file whose first line names such columns, or a JSON file of
        objects that have them (a list, or one a line); ``{topic: {document: x}}``, in JSON
        too; anything else that `read_collection` takes as qrels. x is any number, missing
        (NaN, an empty cell) where the judge gave none; so is a whole number below 0, unless
        there are others too, as among the scores of a model. Of several judges: one
        DataFrame with a column for each, or a list with one of the above for each.

    Returns
    -------
    DataTree
        With a column of /predictors for each judge, NaN where a pair has no label.

    Raises
    ------
    ValueError
        A name that is a column already or a part of the collection, or has a ``/``; a pair that a
        judge labels twice, a label that is not a finite number, or no label at all of a pair of the
        collection.

    Warns
    -----
    UserWarning
        Where labels are left out because the collection lacks their pairs (neither
        retrieved, judged nor in the frame), or because they are below 0, with how many
        there are; where a file is a run, in case it is one of the runs to evaluate.

    Examples
    --------
    >>> import bayeseval as be
    >>> collection = be.read_collection({"1": {"a": 1, "b": 0}}, {"r": {"1": {"a": 2, "b": 1}}})
    >>> labelled = be.add_predictions(collection, "gpt", {"1": {"b": 0.2}})
    >>> labelled["predictors/gpt"].to_numpy()
    array([nan, 0.2])
    """
    check_collection(collection)
    if name is None:
        name, predictions = _by_assessor(predictions)
    several = not isinstance(name, str)
    if several and not (isinstance(name, Iterable) and all(isinstance(n, str) for n in name)):
        raise TypeError(f"name must be the name of a judge, or a list of names, not {name!r}")
    names = list(name) if several else [name]
    known = collection.children["predictors"].data_vars if "predictors" in collection else ()
    for judge in names:
        if not judge or "/" in judge:
            raise ValueError(
                f"'{judge}' cannot name a judge: a name has a letter at least and no /"
            )
        if judge in collection.coords or judge in collection.dims:
            raise ValueError(f"a judge cannot be named '{judge}', as a part of the collection is")
        if names.count(judge) > 1 or judge in known:
            raise ValueError(f"a judge named '{judge}' is there already; each needs its own name")
    if several and isinstance(predictions, str | os.PathLike | Mapping):
        raise ValueError(
            f"labels of {len(names)} judges are a list with a file or dict for each, or one "
            "DataFrame with a column for each"
        )
    predictions = as_pandas(predictions)
    shared = several and isinstance(predictions, pd.DataFrame)
    sources = [predictions] * len(names) if shared or not several else list(predictions)
    if len(sources) != len(names):
        raise ValueError(f"{len(names)} judges are named, and there are labels of {len(sources)}")
    columns = {}
    for judge, source in zip(names, sources, strict=True):
        table, where = _table(source, judge, shared)
        columns[judge] = _joined(collection, table, where)
    return with_labels(collection, columns)


def _table(source: Any, name: str, by_name: bool) -> tuple[pd.DataFrame, str]:
    """Labels (topic, document, value) of one judge, and what they came from, for messages."""
    if isinstance(source, str | os.PathLike):
        return file_labels(expanded_path(source), name), path_text(source)
    where = f"labels of '{name}'"
    source = as_pandas(source)
    frame = source if isinstance(source, pd.DataFrame) else as_frame(source, "judgments")
    if frame is None:
        raise TypeError(
            f"{where} must be a path, a DataFrame, a dict {{topic: {{document: x}}}} or qrels of "
            f"another package, not {described(source)}"
        )
    frame = with_our_names(without_index(frame), ("topic", "document"))
    table = _of_columns(frame, where, (name,) if by_name else (name, *VALUES))
    return _checked_labels(table, where), where


def _by_assessor(source: Any) -> tuple[list[str], list[pd.DataFrame]]:
    """Names of the assessors of a table, and the part of it that is each one's."""
    where, frame = "labels", as_pandas(source)
    if isinstance(source, str | os.PathLike):
        path = expanded_path(source)
        where = path_text(path)
        frame = file_frame(where, read_bytes(path, "labels"), "judgments")
    columns = [*frame.columns] if isinstance(frame, pd.DataFrame) else []
    named = next((column for column in columns if str(column).lower() in ASSESSORS), None)
    if named is None or not isinstance(frame, pd.DataFrame):
        raise ValueError(
            f"{where} must be a table with a column {' or '.join(ASSESSORS)} where no judge is "
            f"named; there are {', '.join(map(str, columns)) or 'no columns'}"
        )
    assessor = as_text(pd.Series(frame[named]))
    unknown = (assessor.isna() | (assessor == "")).to_numpy()
    if unknown.any():
        raise ValueError(f"{where}, {place(frame, int(np.argmax(unknown)))}: no {named} is named")
    parts = dict(list(frame.drop(columns=named).groupby(assessor.to_numpy(), sort=False)))
    return [str(label) for label in parts], [*parts.values()]


def _of_columns(frame: pd.DataFrame, where: str, allowed: tuple[str, ...]) -> pd.DataFrame:
    """Labels of a table, from the first column that is there of those allowed."""
    value = next((column for column in allowed if column in frame.columns), None)
    if value is None:
        raise ValueError(
            f"{where} must have one of the columns {', '.join(dict.fromkeys(allowed))}; there are "
            f"{', '.join(map(str, frame.columns))}"
        )
    checked = checked_frame(frame, where, ("topic", "document"), (value,))
    numbers = as_numbers(checked[value])
    wrong = np.isinf(numbers) | (np.isnan(numbers) & checked[value].notna().to_numpy())
    if wrong.any():
        row = int(np.argmax(wrong))
        label = checked[value].iloc[row]
        of_file = checked.index.name in (LINE, ENTRY)
        empty = "empty (null in JSON)" if of_file else "NaN"
        others = f", the first of {int(wrong.sum())} such labels" if wrong.sum() > 1 else ""
        raise ValueError(
            f"{row_name(where, checked, row)}: '{label}' is not a finite number, as every label "
            f"must be{others}{yes_or_no(label)}; where the judge gave none, it is {empty}"
        )
    return checked[["topic", "document"]].assign(value=numbers)


def file_labels(path: Path, name: str) -> pd.DataFrame:
    """Labels (topic, document, value) of a file, each pair once, whatever collection they go to.

    The file has a header, in which a column may be named as the judge, 3 columns, or those of qrels
    or a run; one that cannot be read so, a pair with two labels or no label at all is a ValueError.
    """
    if not os.path.exists(path):
        raise ValueError(f"labels file {shown(path_text(path))} does not exist")
    data = read_bytes(path, "labels")
    table = file_frame(path_text(path), data, "judgments")
    if table is None:
        labels = _of_lines(path, data)
    else:
        if not {name, *VALUES} & set(table):
            written = {column.lower(): column for column in table}
            known = [value for value in (name, *VALUES) if value.lower() in written]
            table = table.rename(columns={written[value.lower()]: value for value in known[:1]})
        labels = _of_columns(table, path_text(path), (name, *VALUES))
    return _checked_labels(labels, path_text(path))


def _of_lines(path: Path, data: bytes) -> pd.DataFrame:
    """Labels of a file without a header; the number of columns tells which they are."""
    parts = []
    width = 0
    for lines in blocks(path_text(path), data, "topic document label"):
        width = int(lines.count[0])
        if (lines.count != width).any():
            line = int(np.argmax(lines.count != width))
            raise ValueError(
                f"{path}, line {lines.number[line]}: {lines.count[line]} fields where the lines "
                f"before have {width}"
            )
        document, value = {3: (1, 2), RUN_FIELDS: (2, 4)}.get(width, (2, 3))
        parts.append(
            pd.DataFrame(
                {
                    "topic": lines.texts(0),
                    "document": lines.texts(document),
                    "value": lines.numbers(value, "label"),
                }
            )
        )
    if width == RUN_FIELDS:
        warnings.warn(
            f"{path}: {width} fields, as in a run; its scores are read as labels. If it is no "
            "judge's, name a file with topic, document and label",
            stacklevel=5,
        )
    return pd.concat(parts, ignore_index=True)


def _checked_labels(table: pd.DataFrame, where: str) -> pd.DataFrame:
    """Labels, of which those below 0 are missing where they are whole numbers.

    A pair with two labels is refused, and so are labels that are all missing.
    """
    again = table.duplicated(["topic", "document"]).to_numpy()
    if again.any():
        row = table.iloc[int(np.argmax(again))]
        raise ValueError(
            f"{where}: document '{row['document']}' of topic '{row['topic']}' has a second label; "
            "take the mean of several, or name each as a judge of its own"
        )
    values = table["value"].to_numpy(dtype=np.float64)
    below = values < 0
    if below.any() and (values[below] == np.round(values[below])).all():
        warnings.warn(
            f"{where}: {int(below.sum())} of {len(table)} labels are below 0 (the lowest is "
            f"{values[below].min():g}) and count as no label, as a grade of -1 is no judgment",
            stacklevel=5,
        )
        table = table.assign(value=np.where(below, np.nan, values))
    if table["value"].isna().to_numpy().all():
        raise ValueError(f"{where}: no document has a label, all {len(table)} are missing")
    return table


def _joined(collection: xr.DataTree, table: pd.DataFrame, where: str) -> NDArray[np.float64]:
    """Labels over the pairs (pair,) of the collection; a missing one is no label."""
    table = table.dropna(subset="value")
    position = pair_positions(collection, table["topic"], table["document"])
    stray = position < 0
    if stray.all():
        row = table.iloc[0]
        raise ValueError(
            f"{where}: none of {len(table)} labels is of a pair of the collection, the first is of "
            f"topic '{row['topic']}' document '{row['document']}'"
            f"{alike_document(collection, row['topic'], row['document'])}"
        )
    if stray.any():
        row = table.iloc[int(np.argmax(stray))]
        warnings.warn(
            f"{where}: {int(stray.sum())} of {len(table)} labels are left out: none of these "
            "runs retrieved their documents and nobody judged them; the first is topic "
            f"'{row['topic']}' document '{row['document']}'"
            f"{alike_document(collection, row['topic'], row['document'])}",
            UserWarning,
            stacklevel=3,
        )
    values = np.full(collection.sizes["pair"], np.nan)
    values[position[~stray]] = table["value"].to_numpy(dtype=np.float64)[~stray]
    return values
