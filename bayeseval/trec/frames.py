"""Data frames of runs and judgments, checked as the files are."""

from typing import Any

import numpy as np
import pandas as pd

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
