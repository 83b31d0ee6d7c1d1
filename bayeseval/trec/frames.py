"""Data frames of runs and judgments, checked as the files are."""

import numpy as np
import pandas as pd


def checked_frame(
    frame: pd.DataFrame, kind: str, labels: tuple[str, ...], others: tuple[str, ...]
) -> pd.DataFrame:
    """Frame with the columns asked for, labels as text.

    Raises
    ------
    ValueError
        Where a column is missing or twice, a label is missing or empty, or there is no row.
    """
    has = frame.columns.tolist()
    not_once = [column for column in (*labels, *others) if has.count(column) != 1]
    if not_once:
        number = "more than one" if not_once[0] in has else "no"
        raise ValueError(
            f"{kind} DataFrame has {number} column '{not_once[0]}'; it needs "
            f"{', '.join((*labels, *others))} and has {', '.join(map(str, has))}."
        )
    if frame.empty:
        raise ValueError(f"{kind} DataFrame is empty; it needs at least one row.")
    checked = {}
    for column in labels:
        text = checked[column] = frame[column].astype(object).map(str)
        wrong = frame[column].isna() | (text == "") | text.str.contains("\0", regex=False)
        if wrong.any():
            where = row_name(kind, frame, int(np.argmax(wrong)))
            raise ValueError(
                f"{where}: the {column} is missing or empty; every {column} has a label."
            )
    return frame.assign(**checked).reset_index(drop=True)


def finite_column(frame: pd.DataFrame, kind: str, column: str) -> np.ndarray:
    """A column as finite float64."""
    values = np.asarray(pd.to_numeric(frame[column], errors="coerce"), dtype=np.float64)
    wrong = ~np.isfinite(values)
    if wrong.any():
        row = int(np.argmax(wrong))
        raise ValueError(
            f"{row_name(kind, frame, row)}: {column} '{frame[column].iloc[row]}' is not a finite "
            f"number, as every {column} must be."
        )
    return values


def row_name(kind: str, frame: pd.DataFrame, row: int) -> str:
    """Text that names a row in a message: its place, topic and document."""
    topic, document = frame["topic"].iloc[row], frame["document"].iloc[row]
    return f"{kind} DataFrame, row {row} (topic '{topic}', document '{document}')"
