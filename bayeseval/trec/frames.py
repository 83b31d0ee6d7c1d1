"""Data frames, dicts and objects of other packages, checked; collections as data frames."""

import warnings
from collections.abc import Iterable, Mapping
from contextlib import suppress
from itertools import chain
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from bayeseval.collection import check_collection, check_one_sample
from bayeseval.collection.labels import pair_names
from bayeseval.trec.lines import WrongFields, yes_or_no

LINE, ENTRY = "line", "entry"  # names of an index that says where a row stands in a file
RUN = "run"  # the name of a run that has none
VALUE = {"run": "score", "judgments": "grade"}
# our name of a column -> names that others have for it, the first that is there being taken
SYNONYMS = {
    "topic": ("qid", "query_id", "q_id", "topic_id", "query-id", "queryid"),
    "document": ("docno", "doc_id", "docid", "passage_id", "pid", "corpus-id", "corpus_id"),
    "grade": ("relevance", "label", "rel", "rating"),
    "score": ("relevance_score",),
    "rank": ("position",),
    "run": ("run_id", "system", "name", "tag"),
}
TEXTS = {"topic": ("query",)}  # taken for a topic where there is no other, as of Quepid
EXACT = {"float16": 2**11, "float32": 2**24, "float64": 2**53}  # below which no digit is lost
_NUMBERS = {int, float, np.float32, np.float64}
# columns of judgments whose score is a grade: BEIR's and ranx's
_SCORED = ({"corpus-id", "score"}, {"corpus_id", "score"}, {"q_id", "doc_id", "score"})


def checked_frame(
    frame: pd.DataFrame, name: str, labels: tuple[str, ...], others: tuple[str, ...]
) -> pd.DataFrame:
    """Frame with the columns asked for, labels as text; its rows are numbered unless of a file.

    ``name`` says what it is, for messages. A ValueError where a column is missing or twice, a label
    is missing or empty, or there is no row.
    """
    has = frame.columns.tolist()
    not_once = [column for column in (*labels, *others) if has.count(column) != 1]
    if not_once:
        number = "more than one" if not_once[0] in has else "no"
        known = not_once[0] in SYNONYMS and not_once[0] not in has
        names = f"; known names: {accepted(not_once[0])}" if known else ""
        # a run where judgments belong, or the other way round?
        swapped = frame.index.name in (LINE, ENTRY) and {"grade", "score", "rank"} & set(has)
        raise (WrongFields if swapped else ValueError)(
            f"{name} has {number} column '{not_once[0]}'; it needs "
            f"{', '.join((*labels, *others))} and has {', '.join(map(str, has))}{names}."
        )
    if frame.empty:
        raise ValueError(f"{name} is empty; it needs at least one row.")
    checked = {}
    for column in labels:
        text = checked[column] = as_text(pd.Series(frame[column]))
        known = text.to_numpy(dtype=object)
        missing = text.isna().to_numpy() | (known == "")
        if missing.any() or "\0" in "".join(known):
            wrong = missing | text.str.contains("\0", regex=False, na=False).to_numpy()
            where = row_name(name, frame, int(np.argmax(wrong)))
            raise ValueError(
                f"{where}: the {column} is missing or empty; every {column} has a label."
            )
    frame = frame.assign(**checked)
    return frame if frame.index.name in (LINE, ENTRY) else frame.reset_index(drop=True)


def finite_column(frame: pd.DataFrame, name: str, column: str) -> np.ndarray:
    """A column as finite float64."""
    values = as_numbers(frame[column])
    wrong = ~np.isfinite(values)
    if wrong.any():
        row = int(np.argmax(wrong))
        raise ValueError(
            f"{row_name(name, frame, row)}: {column} '{frame[column].iloc[row]}' is not a finite "
            f"number, as every {column} must be{yes_or_no(frame[column].iloc[row])}."
        )
    return values


def as_numbers(column: Any) -> np.ndarray:
    """A column as float64, NaN where a cell is no number; of text and of any objects."""
    try:
        return np.asarray(pd.to_numeric(column, errors="coerce"), dtype=np.float64)
    except (OverflowError, TypeError):  # a whole number of hundreds of digits, an array
        return as_numbers(column.map(str))


def row_name(name: str, frame: pd.DataFrame, row: int) -> str:
    """Text that names a row in a message: its place, topic and document."""
    topic, document = frame["topic"].iloc[row], frame["document"].iloc[row]
    return f"{name}, {place(frame, row)} (topic '{topic}', document '{document}')"


def place(frame: pd.DataFrame, row: int) -> str:
    """Where a row stands: its line or entry in a file, its number in a DataFrame."""
    return f"{frame.index.name or 'row'} {frame.index[row]}"


def qrels_frame(collection: xr.DataTree) -> pd.DataFrame:
    """Judgments as a DataFrame (topic, document, grade), -1 where pooled but not judged.

    Missing (NaN) there where judged documents have negative grades, which -1 would be taken for.

    Parameters
    ----------
    collection : DataTree
        Collection with judgments, without replicates.

    Returns
    -------
    DataFrame
        One row for each judged or pooled pair, in the order of the pairs.

    Raises
    ------
    ValueError
        Where the collection has no judgments, or replicates of them.

    Examples
    --------
    >>> import pandas as pd, bayeseval as be
    >>> qrels = pd.DataFrame({"topic": ["1", "1"], "document": ["a", "b"], "grade": [2, -1]})
    >>> be.trec.qrels_frame(be.read_collection(qrels))
      topic document  grade
    0     1        a      2
    1     1        b     -1
    """
    check_collection(collection)
    if "judgments" not in collection.children:
        raise ValueError("the collection has no judgments to put into a DataFrame.")
    check_one_sample(collection, "a DataFrame of qrels holds one sample")
    grade = collection["judgments/grade"].to_numpy().reshape(-1)
    listed = np.flatnonzero(~np.isnan(grade) | collection["judgments/pooled"].to_numpy())
    unjudged = np.nan if (grade < 0).any() else -1
    value = np.where(np.isnan(grade), unjudged, grade)[listed]
    whole = (value == np.round(value)).all()
    topic, document = pair_names(collection, listed)
    grade = value.astype(np.int64) if whole else value
    return pd.DataFrame({"topic": topic, "document": document, "grade": grade})


def runs_frame(collection: xr.DataTree) -> pd.DataFrame:
    """Rankings as a DataFrame (run, topic, document, score), best document first.

    A collection holds rankings, not scores: the score is the number of documents that are left, so
    that reading the frame gives the same rankings.

    Parameters
    ----------
    collection : DataTree
        Collection with runs.

    Returns
    -------
    DataFrame
        One row for each retrieved document.

    Raises
    ------
    ValueError
        Where the collection has no runs.

    Examples
    --------
    >>> import pandas as pd, bayeseval as be
    >>> runs = pd.DataFrame({"run": "a", "topic": "1", "document": ["x", "y"], "score": [1.5, 3.0]})
    >>> be.trec.runs_frame(be.read_collection(None, runs))
      run topic document  score
    0   a     1        y      2
    1   a     1        x      1
    """
    check_collection(collection)
    if "rankings" not in collection.children:
        raise ValueError("the collection has no runs to put into a DataFrame.")
    ranking = collection["rankings/ranking"].to_numpy()
    run, topic, rank = np.nonzero(ranking >= 0)
    length = np.count_nonzero(ranking >= 0, axis=2)
    return pd.DataFrame(
        {
            "run": collection["run"].to_numpy()[run],
            "topic": collection["topic"].to_numpy()[topic],
            "document": collection["document"].to_numpy()[ranking[run, topic, rank]],
            "score": length[run, topic] - rank,
        }
    )


def accepted(column: str) -> str:
    """A column and the names that it may have instead, for messages.

    Examples
    --------
    >>> accepted("score")
    'score (or relevance_score), or rank (or position)'
    """
    others = ", ".join((*SYNONYMS.get(column, ()), *TEXTS.get(column, ())))
    text = f"{column} (or {others})" if others else column
    return f"{text}, or {accepted('rank')}" if column == "score" else text


def is_scored(columns: Iterable[str]) -> bool:
    """Whether these are columns of judgments that call the grade a score."""
    names = set(columns)
    has_grade = names & {"grade", *SYNONYMS["grade"]}
    return not has_grade and any(names >= scored for scored in _SCORED)


def as_frame(source: Any, kind: str) -> pd.DataFrame | None:
    """The DataFrame that something of another package stands for, or None where it is no such.

    A DataFrame, or what turns into one (``to_pandas``: polars, pyarrow), with our columns, those of
    PyTerrier (``qid, docno, label`` or ``score``), of ir_measures (``query_id, doc_id, relevance``
    or ``score``) or of the judgments of BEIR and ranx (``query-id, corpus-id, score``; ``q_id,
    doc_id, score``); a dict ``{topic: {document: x}}``, for runs also ``{run: such a dict}``; an
    object with ``to_dict`` (ranx's ``Qrels`` and ``Run``), with ``qrels_iter`` or
    ``scoreddocs_iter`` (a dataset of ir_datasets), or an iterable of its named tuples. ``kind`` is
    "run" or "judgments".

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
    source = as_pandas(source)
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
    if isinstance(source, list | tuple):
        holds_tuples = bool(source) and hasattr(source[0], "query_id")
    else:  # a generator
        holds_tuples = isinstance(source, Iterable) and hasattr(source, "__next__")
    return _of_tuples(source, kind) if holds_tuples else None


def as_pandas(source: Any) -> Any:
    """The DataFrame of a table of polars, pyarrow and the like; all else as it is.

    So has a Series one whose index holds topics and documents.
    """
    if isinstance(source, pd.Series) and source.index.nlevels > 1:
        return source.to_frame()
    if isinstance(source, pd.DataFrame) or not callable(getattr(source, "to_pandas", None)):
        return source
    table = source.to_pandas()
    return table if isinstance(table, pd.DataFrame) else source


def with_our_names(frame: pd.DataFrame, columns: Iterable[str]) -> pd.DataFrame:
    """Frame in which columns that go by another package's name, or in capitals, have ours.

    Names that others have for a topic and a document come before ours, beside which ours may hold
    texts, as in files.

    Examples
    --------
    >>> frame = pd.DataFrame({"qid": ["1"], "DocNo": ["a"], "document": ["some text"]})
    >>> with_our_names(frame, ("topic", "document")).columns.tolist()
    ['topic', 'document', 'document (not read)']
    """
    names = {}
    lower = [str(name).lower() for name in frame.columns]
    for column in columns:
        others = SYNONYMS.get(column, ())
        first = column in ("topic", "document")
        known = (*others, column, *TEXTS.get(column, ())) if first else (column, *others)
        present = [other for other in known if lower.count(other) == 1]
        if present and (first or column not in frame.columns):
            if present[0] != column and column in frame.columns:
                names[column] = f"{column} (not read)"
            names[frame.columns[lower.index(present[0])]] = column
    return frame.rename(columns=names) if names else frame


def without_index(frame: pd.DataFrame) -> pd.DataFrame:
    """Frame whose topics and documents are columns, where the index alone has them.

    Examples
    --------
    >>> frame = pd.DataFrame({"qid": ["1"], "docno": ["a"], "label": [1]})
    >>> without_index(frame.set_index(["qid", "docno"])).columns.tolist()
    ['qid', 'docno', 'label']
    """
    has = {str(name).lower() for name in frame.columns}
    levels = []
    for column in ("topic", "document"):
        known = {column, *SYNONYMS[column]}
        own_levels = [name for name in frame.index.names if str(name).lower() in known]
        levels += [] if known & has else own_levels[:1]
    return frame.reset_index(level=levels) if levels else frame


def of_columns(
    frame: pd.DataFrame, kind: str, *, run: str = RUN, file: str | None = None
) -> pd.DataFrame:
    """A DataFrame with our names of columns; its one run called ``run`` where it has no name.

    A column that differs from document to document names no runs: of a ``file`` none by which no
    two documents of a topic are of one run, in a DataFrame a ``name`` that is a document's title.
    """
    columns = ("topic", "document", VALUE[kind])
    frame = without_index(frame)
    if kind != "run":
        frame = with_our_names(frame, columns[2:])
        if is_scored(frame.columns):
            frame = frame.rename(columns={"score": "grade"})
        return with_our_names(frame, columns)
    frame = with_our_names(frame, columns)
    if "run" in frame.columns:
        return frame
    named = with_our_names(frame, ("run",))
    if "run" not in named.columns:
        return frame.assign(run=run)
    lower = [str(name).lower() for name in frame.columns]
    column = next(name for name in ("run", *SYNONYMS["run"]) if lower.count(name) == 1)
    titles = column == "name" and file is None
    if not (file or titles) or not _differ_by_document(named, titles):
        return named
    called = f"by its file, '{run}'" if file else f"'{run}'"
    warnings.warn(
        f"{file or 'runs DataFrame'}: column '{column}' differs from document to document, so it "
        f"names no runs; the run is named {called}.",
        stacklevel=3,
    )
    return frame.assign(run=run)


def _differ_by_document(named: pd.DataFrame, as_titles: bool) -> bool:
    """Whether no two documents of a topic have the same name of a run, though topics have two.

    ``as_titles``: and all rows of a document the same.
    """
    if not {"topic", "document"} <= set(named.columns):
        return False
    pairs = pd.DataFrame(named, columns=["run", "topic"]).astype(str)
    several = pairs.duplicated(subset="topic").any()
    differ = bool(several and not pairs.duplicated().any())
    if not differ or not as_titles:
        return differ
    titles = pd.DataFrame(named, columns=["document", "run"]).astype(str).drop_duplicates()
    return not titles.duplicated(subset="document").any()


def of_dict(table: Mapping, kind: str) -> pd.DataFrame:
    """Rows of ``{topic: {document: x}}``; of ``{run: ...}`` where the values are runs."""
    if kind == "run" and holds_runs(table):
        parts = [of_run(str(name), source) for name, source in table.items()]
        return pd.concat(parts, ignore_index=True)
    if table and not all(isinstance(documents, Mapping) for documents in table.values()):
        shape = "{topic: {document: score}}" if kind == "run" else "{topic: {document: grade}}"
        raise TypeError(
            f"a dict of {kind} must be {shape}, and {next(iter(table))!r} holds no dict."
        )
    size = [len(documents) for documents in table.values()]
    topics = np.repeat(as_text(pd.Series([*table], dtype=object)).to_numpy(), size)
    documents = [document for of_topic in table.values() for document in of_topic]
    documents = as_text(pd.Series(documents, dtype=object)).to_numpy()
    values = [value for of_topic in table.values() for value in of_topic.values()]
    columns = {"topic": topics, "document": documents}
    frame = pd.DataFrame(columns, dtype=object).assign(**{VALUE[kind]: values})
    return frame if kind != "run" else frame.assign(run=RUN)


def plain_dict(table: Mapping) -> tuple[list[str], NDArray, list[str], NDArray] | None:
    """Topics, their numbers of documents, documents and values of ``{topic: {document: x}}``.

    Topics without a document are left out. None unless topics and documents are text and values are
    finite numbers: :func:`of_dict` makes a table of others too.

    Examples
    --------
    >>> plain_dict({"1": {"a": 2, "b": 0.5}, "2": {}})
    (['1'], array([2]), ['a', 'b'], array([2. , 0.5]))
    """
    if not all(type(part) is dict for part in table.values()):
        return None
    filled = {topic: part for topic, part in table.items() if part}
    documents = list(chain.from_iterable(filled.values()))
    values = list(chain.from_iterable(part.values() for part in filled.values()))
    if {*map(type, filled), *map(type, documents)} != {str} or not {*map(type, values)} <= _NUMBERS:
        return None
    if not all(filled) or not all(documents) or "\0" in "".join([*filled, *documents]):
        return None
    with suppress(OverflowError):
        numbers = np.array(values, dtype=np.float64)
        if np.isfinite(numbers).all():
            return [*filled], np.array([*map(len, filled.values())]), documents, numbers
    return None


def holds_runs(table: Mapping) -> bool:
    """Whether a dict is ``{run: ...}``, and not ``{topic: {document: x}}``."""
    first = next(
        (value for value in table.values() if not isinstance(value, Mapping) or value), None
    )
    if not isinstance(first, Mapping):
        return first is not None
    return isinstance(next(iter(first.values())), Mapping)


def of_run(name: str, source: Any) -> pd.DataFrame:
    """Rows of one run of a dict, which is a frame, dict or object and not empty."""
    source = as_pandas(source)
    if isinstance(source, pd.DataFrame):
        source = source.assign(run=name)  # whatever other columns say
    part = as_frame(source, "run")
    if part is None:
        raise TypeError(
            f"run '{name}' must be a path, a DataFrame, {{topic: {{document: score}}}} or an "
            f"object of ranx or ir_datasets, not {described(source)}."
        )
    if part.empty:
        raise ValueError(f"run '{name}' is empty; a run needs at least one document.")
    return part.assign(run=name)


def described(source: Any) -> str:
    """What something is, for messages.

    Examples
    --------
    >>> described(3), described(np.zeros(2))
    ('int', 'ndarray of numpy')
    """
    kind = type(source)
    package = kind.__module__.partition(".")[0]
    return kind.__name__ if package == "builtins" else f"{kind.__name__} of {package}"


def as_text(column: pd.Series) -> pd.Series:
    """A column of labels as text, missing ones as they are.

    Whole numbers that pandas holds as floating-point numbers, as beside a missing one, are whole.
    A ValueError where they may have been rounded.

    Examples
    --------
    >>> as_text(pd.Series([7.0, 8.0, None])).tolist(), as_text(pd.Series([1.5, 2.0])).tolist()
    (['7', '8', nan], ['1.5', '2.0'])
    """
    values = np.array(column.astype(object), dtype=object)
    known = column.notna().to_numpy()
    if pd.api.types.infer_dtype(values, skipna=True) == "string":
        return pd.Series(values, index=column.index, name=column.name, dtype=object)
    floats = [value for value in values[known] if isinstance(value, float | np.floating)]
    whole = bool(floats) and all(float(value).is_integer() for value in floats)
    exact = EXACT.get(str(column.dtype), EXACT["float64"])
    if whole and max(map(abs, floats)) >= exact:
        raise ValueError(
            f"{column.name or 'a label'} {max(map(abs, floats)):.0f} is a floating-point number, "
            "which does not hold so many digits; make the column text."
        )
    kinds = (float, np.floating) if whole else ()
    values[known] = [
        str(int(value) if isinstance(value, kinds) else value) for value in values[known]
    ]
    return pd.Series(values, index=column.index, name=column.name, dtype=object)


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
