"""Data frames of runs and judgments: checked as the files are, and made of collections."""

from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from bayeseval.collection import check_collection, check_one_sample
from bayeseval.collection.labels import pair_names
from bayeseval.trec.lines import WrongFields, yes_or_no
from bayeseval.trec.objects import SYNONYMS, accepted, as_text

LINE, ENTRY = "line", "entry"  # names of an index that says where a row stands in a file


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
        wrong = text.isna() | (text == "") | text.str.contains("\0", regex=False, na=False)
        if wrong.any():
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
    except OverflowError:  # a whole number of hundreds of digits
        return as_numbers(column.map(str))


def row_name(name: str, frame: pd.DataFrame, row: int) -> str:
    """Text that names a row in a message: its place, topic and document."""
    topic, document = frame["topic"].iloc[row], frame["document"].iloc[row]
    return f"{name}, {places(frame.iloc[[row]])[0]} (topic '{topic}', document '{document}')"


def places(frame: pd.DataFrame) -> list[str]:
    """Where every row stands: its line or entry in a file, its number in a DataFrame."""
    return [f"{frame.index.name or 'row'} {number}" for number in frame.index]


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
