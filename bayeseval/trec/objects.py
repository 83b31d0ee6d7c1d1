"""Runs and judgments as other packages hold them: dicts, data frames, objects, iterables."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd

RUN = "run"  # the name of a run that has none
VALUE = {"run": "score", "judgments": "grade"}
# our name of a column -> names that others have for it, the first that is there being taken
SYNONYMS = {
    "topic": ("qid", "query_id", "q_id", "topic_id", "query-id", "queryid"),
    "document": ("docno", "doc_id", "docid", "passage_id", "pid", "corpus-id", "corpus_id"),
    "grade": ("relevance", "label", "rel"),
    "score": ("relevance_score",),
    "rank": ("position",),
    "run": ("run_id", "system", "name", "tag"),
}
# columns of judgments whose score is a grade: BEIR's and ranx's
_SCORED = ({"corpus-id", "score"}, {"corpus_id", "score"}, {"q_id", "doc_id", "score"})


def accepted(column: str) -> str:
    """A column and the names that it may have instead, for messages.

    Examples
    --------
    >>> accepted("score")
    'score (or relevance_score), or rank (or position)'
    """
    others = ", ".join(SYNONYMS.get(column, ()))
    text = f"{column} (or {others})" if others else column
    return f"{text}, or {accepted('rank')}" if column == "score" else text


def is_scored(columns: Iterable[str]) -> bool:
    """Whether these are columns of judgments that call the grade a score."""
    names = set(columns)
    has_grade = names & {"grade", *SYNONYMS["grade"]}
    return not has_grade and any(names >= scored for scored in _SCORED)


def as_frame(source: Any, kind: str) -> pd.DataFrame | None:
    """The DataFrame that something of another package stands for, or None where it is no such.

    A DataFrame with our columns, PyTerrier's (``qid, docno, label`` or ``score``), those of
    ir_measures (``query_id, doc_id, relevance`` or ``score``) or of the judgments of BEIR and ranx
    (``query-id, corpus-id, score``; ``q_id, doc_id, score``); a dict ``{topic: {document: x}}``,
    for runs also ``{run: anything of these}``; an object with ``to_dict`` (ranx's ``Qrels`` and
    ``Run``), with ``qrels_iter`` or ``scoreddocs_iter`` (a dataset of ir_datasets), or an iterable
    of its named tuples. ``kind`` is "run" or "judgments".

    Examples
    --------
    >>> as_frame({"1": {"a": 2, "b": 0}}, "judgments")
      topic document  grade
    0     1        a      2
    1     1        b      0
    >>> as_frame({"bm25": {"1": {"a": 1.5}}}, "run")
      topic document  score   run
    0     1        a    1.5  bm25
    """
    if isinstance(source, pd.DataFrame):
        return of_columns(source, kind)
    if isinstance(source, Mapping):
        return of_dict(source, kind)
    method = "scoreddocs_iter" if kind == "run" else "qrels_iter"
    if callable(getattr(source, method, None)):
        return _of_tuples(getattr(source, method)(), kind)
    if callable(getattr(source, "to_dict", None)) and hasattr(source, "keys"):
        frame = of_dict(source.to_dict(), kind)
        name = getattr(source, "name", None)
        return frame if kind != "run" or not name else frame.assign(run=str(name))
    if _holds_tuples(source):
        return _of_tuples(source, kind)
    return None


def with_our_names(frame: pd.DataFrame, columns: Iterable[str]) -> pd.DataFrame:
    """Frame in which columns that go by another package's name, or in capitals, have ours.

    Examples
    --------
    >>> frame = pd.DataFrame({"qid": ["1"], "DocNo": ["a"]})
    >>> with_our_names(frame, ("topic", "document")).columns.tolist()
    ['topic', 'document']
    """
    names = {}
    lower = [str(name).lower() for name in frame.columns]
    for column in columns:
        known = (column, *SYNONYMS.get(column, ()))
        found = [other for other in known if lower.count(other) == 1]
        if column not in frame.columns and found:
            names[frame.columns[lower.index(found[0])]] = column
    return frame.rename(columns=names) if names else frame


def of_columns(frame: pd.DataFrame, kind: str) -> pd.DataFrame:
    """A DataFrame with our names of columns; its one run called ``run`` where it has no name."""
    columns = ("topic", "document", VALUE[kind])
    if kind != "run":
        frame = with_our_names(frame, columns[2:])
        if is_scored(frame.columns):
            frame = frame.rename(columns={"score": "grade"})
        return with_our_names(frame, columns)
    frame = with_our_names(frame, ("run", *columns))
    return frame if "run" in frame.columns else frame.assign(run=RUN)


def of_dict(table: Mapping, kind: str) -> pd.DataFrame:
    """Rows of ``{topic: {document: x}}``; of ``{run: ...}`` where the values are runs."""
    filled = (v for v in table.values() if not isinstance(v, Mapping) or v)
    first = next(filled, None)
    if kind == "run" and not _scored(first):
        return _of_named(table)
    if table and not all(isinstance(documents, Mapping) for documents in table.values()):
        shape = "{topic: {document: score}}" if kind == "run" else "{topic: {document: grade}}"
        raise TypeError(
            f"a dict of {kind} must be {shape}, and {next(iter(table))!r} holds no dict."
        )
    size = [len(documents) for documents in table.values()]
    topics = np.repeat(np.array([str(topic) for topic in table], dtype=object), size)
    documents = [str(document) for of_topic in table.values() for document in of_topic]
    values = [value for of_topic in table.values() for value in of_topic.values()]
    frame = pd.DataFrame({"topic": topics, "document": documents, VALUE[kind]: values})
    return frame if kind != "run" else frame.assign(run=RUN)


def _scored(value: Any) -> bool:
    """Whether a value is ``{document: x}``, and its key therefore a topic."""
    if value is None:
        return True
    if not isinstance(value, Mapping):
        return False
    return not isinstance(next(iter(value.values())), Mapping)


def _of_named(table: Mapping) -> pd.DataFrame:
    """Rows of ``{run: frame, dict or object}``."""
    parts = []
    for name, source in table.items():
        part = as_frame(source, "run")
        if part is None:
            raise TypeError(
                f"run '{name}' must be a path, a DataFrame, {{topic: {{document: score}}}} or an "
                f"object of ranx or ir_datasets, not {type(source).__name__}."
            )
        parts.append(part.assign(run=str(name)))
    return pd.concat(parts, ignore_index=True)


def _holds_tuples(source: Any) -> bool:
    """Whether this is a list of named tuples with a query_id, or a generator."""
    if isinstance(source, list | tuple):
        return bool(source) and hasattr(source[0], "query_id")
    return isinstance(source, Iterable) and hasattr(source, "__next__")


def _of_tuples(rows: Iterable, kind: str) -> pd.DataFrame:
    """Rows of named tuples ``query_id, doc_id`` and ``relevance`` or ``score``."""
    value = "score" if kind == "run" else "relevance"
    named = {"topic": "query_id", "document": "doc_id", VALUE[kind]: value}
    listed = list(rows)
    for row in listed:
        if not all(hasattr(row, field) for field in named.values()):
            raise TypeError(
                f"each of the {kind} must have query_id, doc_id and {value}; {row!r} lacks some."
            )
    frame = pd.DataFrame(
        {name: [getattr(row, field) for row in listed] for name, field in named.items()}
    )
    return frame if kind != "run" else frame.assign(run=RUN)
