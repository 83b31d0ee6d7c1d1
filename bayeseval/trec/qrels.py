"""Judgments: qrels, and the three formats that say how documents were sampled."""

import re
import warnings
from pathlib import Path

import numpy as np
import pandas as pd

from bayeseval.collection.choices import check_choice
from bayeseval.messages import Message, Option
from bayeseval.trec.frames import LINE, checked_frame, finite_column, of_columns, row_name
from bayeseval.trec.lines import Lines, WrongFields, blocks
from bayeseval.trec.records import file_frame
from bayeseval.trec.sources import expanded, path_text, read_bytes

COLUMNS = {
    "qrels": "topic iter document grade",
    "sampleval": "topic iter document stratum grade",
    "prels": "topic document grade method probability",
    "probs": "topic iter document grade probability",
}
PAIR = ["topic", "document"]
PLACE = ("source", "unit", "number")  # where a judgment stands, for messages
RUN_FIELDS = 6
_TEXT = ("topic", "document", "stratum", "method")
UNJUDGEABLE = "unjudgeable"  # in place of a grade: a document that nobody can judge
_WHOLE = re.compile(r"[+-]?\d+(\.0*)?")  # as pandas writes a column that has held a NaN, too
_LARGEST_GRADE = 2**24  # float32 holds whole numbers up to it


class FieldsIgnored(UserWarning):
    """More fields than plain qrels have: ``found`` says where, the message what to do."""

    def __init__(self, found: str) -> None:
        super().__init__(
            Message(
                f"{found}, but if they say how documents were sampled, set ",
                Option("qrels_format"),
                f" to one of {', '.join(tuple(COLUMNS)[1:])}",
            )
        )
        self.found = found


class GradesMissing(UserWarning):
    """Rows of judgments without a grade."""


def read_qrels(source, qrels_format: str = "qrels", *, unjudgeable: str = "error") -> pd.DataFrame:
    """Judgments of files or data frames, one row each, in the order given.

    Columns topic, document, grade (a negative one, or NaN, of which a warning says how many:
    pooled, not judged; such a row of qrels gives way to another of the same pair, as in a pool of
    several rounds) and, as the format has them, stratum, method, probability: see
    :func:`read_collection`.

    A ValueError names the file and line of a missing file, too few fields, a grade that is not a
    whole number, a stratum that is not a whole number of 0 or more, a probability outside (0, 1], a
    negative grade beside a probability (what prels and probs list was sampled, so it is judged), a
    pair that is judged twice.

    Parameters
    ----------
    source : str, Path, DataFrame, or list of them
        Files (patterns such as ``qrels/*`` too) or data frames.
    qrels_format : {"qrels", "sampleval", "prels", "probs"}
    unjudgeable : {"error", "nonrelevant"}
        The word `unjudgeable` in place of a grade: an error, or grade 0.

    Returns
    -------
    DataFrame

    Examples
    --------
    >>> import pandas as pd, bayeseval as be
    >>> frame = pd.DataFrame({"topic": [1, 1], "document": ["a", "b"], "grade": [1, -1]})
    >>> be.trec.read_qrels(frame)["grade"].tolist()
    [1, -1]
    """
    check_choice("qrels_format", qrels_format, COLUMNS)
    check_choice("unjudgeable", unjudgeable, ("error", "nonrelevant"))
    frames = [_read_one(item, qrels_format) for item in expanded(source, "judgments")]
    judgments = pd.concat(frames, ignore_index=True)
    marked = judgments.pop("marked").to_numpy()
    if marked.any() and unjudgeable == "error":
        row = judgments.iloc[int(np.argmax(marked))]
        raise ValueError(
            Message(
                f"{_where(row)}: document '{row['document']}' of topic '{row['topic']}' is marked "
                f"{UNJUDGEABLE}; ",
                Option("unjudgeable", "nonrelevant"),
                " counts such documents of a design as judged and not relevant",
            )
        )
    again = judgments.duplicated(PAIR).to_numpy()
    if again.any() and qrels_format == "qrels":
        # rows that say "not judged" give way to another row of the pair
        kept = (judgments["grade"] >= 0).to_numpy(copy=True)
        order = np.argsort(~kept, kind="stable")
        kept[order[~judgments.iloc[order].duplicated(PAIR).to_numpy()]] = True
        judgments = judgments.loc[kept]
        again = judgments.duplicated(PAIR).to_numpy()
    if again.any():
        row = judgments.iloc[int(np.argmax(again))]
        raise ValueError(
            f"{_where(row)}: document '{row['document']}' of topic '{row['topic']}' is judged a "
            f"second time; one judgment is allowed{_expected(qrels_format)}; of several assessors "
            "give one, or the grade that they agreed on."
        )
    return judgments.drop(columns=[*PLACE])


def _where(row: pd.Series) -> str:
    """File and line, or table and row, of a judgment."""
    return "{}, {} {}".format(*row[[*PLACE]])


def _expected(qrels_format: str) -> str:
    """The columns of a format that is easily taken for another; none of plain qrels."""
    if qrels_format == "qrels":
        return ""
    return f" (columns of {qrels_format}: {COLUMNS[qrels_format]})"


def _read_one(source: Path | pd.DataFrame, qrels_format: str) -> pd.DataFrame:
    if not isinstance(source, Path):
        return _of_frame(source, "judgments DataFrame", qrels_format)
    data = read_bytes(source, "judgments")
    table = file_frame(path_text(source), data, "judgments")
    if table is not None:
        return _of_frame(of_columns(table, "judgments"), path_text(source), qrels_format)
    parts = blocks(path_text(source), data, COLUMNS[qrels_format])
    return pd.concat([_judgments(lines, qrels_format) for lines in parts])


def _of_frame(source: pd.DataFrame, name: str, qrels_format: str) -> pd.DataFrame:
    columns = [
        column for column in COLUMNS[qrels_format].split() if column not in ("iter", "method")
    ]
    columns += ["method"] if "method" in source and qrels_format == "prels" else []
    labels = tuple(column for column in columns if column in _TEXT)
    numbers = tuple(column for column in columns if column not in _TEXT)
    frame = checked_frame(source, name, labels, numbers)
    spare = [column for column in ("stratum", "probability") if column in frame.columns]
    if qrels_format == "qrels" and spare:
        found = f"{name} has a column '{spare[0]}', which plain qrels have not; it is ignored"
        warnings.warn(FieldsIgnored(found), stacklevel=5)
    if "probability" in numbers:
        finite_column(frame, name, "probability")
    marked = frame["grade"].isin([UNJUDGEABLE]).to_numpy()
    if marked.any():
        frame = frame.assign(grade=frame["grade"].mask(marked, "0"))
    grade = _frame_grades(frame, name)
    table = frame[columns].assign(grade=grade, marked=marked)
    table = table.assign(source=name, unit=frame.index.name or "row", number=frame.index)
    if "probability" in numbers:
        table["probability"] = pd.to_numeric(table["probability"])
    _check_sampled(table)
    _warn_missing(table, name, of_sample="round" in source)
    return table


def _warn_missing(judgments: pd.DataFrame, name: str, *, of_sample: bool) -> None:
    """Warn of missing grades, with their number and meaning; in the list of a sample ask for it."""
    missing = judgments["grade"].isna().to_numpy()
    if missing.any():
        row = judgments.iloc[int(np.argmax(missing))]
        if missing.all():
            raise ValueError(
                f"{name} has no grade in any of its {missing.size} rows, the first is topic "
                f"'{row['topic']}' document '{row['document']}'; fill in the column grade (0 where "
                "a document is not relevant)."
            )
        warnings.warn(
            f"grades are missing (NaN) in {int(missing.sum())} of {missing.size} rows of "
            f"{name}, the first is topic '{row['topic']}' document "
            f"'{row['document']}': "
            + (
                "the table is the list of a sample, whose scores are far too low without its design"
                if of_sample
                else "these documents count as pooled and not judged; leave the rows out where "
                "they are not in the pool either."
            ),
            GradesMissing,
            stacklevel=6,
        )


def _judgments(lines: Lines, qrels_format: str) -> pd.DataFrame:
    """Judgments of lines; a message on a wrong line names the expected columns."""
    try:
        return _of_lines(lines, qrels_format)
    except ValueError as error:
        if qrels_format == "qrels":
            raise
        raise ValueError(f"{str(error).rstrip('.')}{_expected(qrels_format)}.") from error


def _of_lines(lines: Lines, qrels_format: str) -> pd.DataFrame:
    if qrels_format == "qrels":
        _check_width(lines)
    table = {}
    for column, name in enumerate(COLUMNS[qrels_format].split()):
        if name in _TEXT:
            table[name] = pd.Series(lines.texts(column), dtype=object)
        elif name == "grade":
            table[name], table["marked"] = _whole(lines, column)
        elif name == "probability":
            table[name] = lines.numbers(column, "probability")
    judgments = pd.DataFrame(table).assign(source=lines.name, unit=LINE, number=lines.number)
    _check_sampled(judgments)
    return judgments


def _check_width(lines: Lines) -> None:
    """Refuse the lines of a run, and warn of other fields than those of plain qrels."""
    n_columns = len(COLUMNS["qrels"].split())
    if lines.text_of(1, 0).startswith("qid:"):
        raise ValueError(
            f"{lines.name}, line {lines.number[0]}: a line of RankLib (grade qid:topic, then "
            f"features), which names no document; write lines of {COLUMNS['qrels']}."
        )
    wide = lines.count > n_columns
    if not wide.any():
        return
    line = int(np.argmax(wide))
    found = (
        f"{lines.name}, line {lines.number[line]}: {lines.count[line]} fields where qrels have "
        f"{n_columns} ({COLUMNS['qrels']})"
    )
    if lines.count[line] == RUN_FIELDS and lines.text_of(1, line) == "Q0":
        raise WrongFields(f"{found}, the second Q0, as in a run.")
    warnings.warn(FieldsIgnored(f"{found}; the others are ignored"), stacklevel=2)


def _whole(lines: Lines, place: int) -> tuple[np.ndarray, np.ndarray]:
    """Grades of lines, and which are marked as unjudgeable; their grade is 0."""
    texts = lines.texts(place)
    marked = np.array([text == UNJUDGEABLE for text in texts], dtype=bool)
    if marked.any():
        grade = np.zeros(marked.size, dtype=np.int64)
        if not marked.all():
            rest = {name: getattr(lines, name)[~marked] for name in ("first", "count", "number")}
            grade[~marked], _ = _whole(lines._replace(**rest), place)
        return grade, marked
    grade = lines.numbers(place, "grade")
    plain = np.array([_WHOLE.fullmatch(text) is not None for text in texts], dtype=bool)
    wrong = ~plain | (np.abs(grade) > _LARGEST_GRADE)
    if wrong.any():
        line = int(np.argmax(wrong))
        raise ValueError(
            f"{lines.name}, line {lines.number[line]}: grade '{texts[line]}' is not a whole number "
            f"from -{_LARGEST_GRADE} to {_LARGEST_GRADE}, as every grade must be."
        )
    return grade.astype(np.int64), marked


def _frame_grades(frame: pd.DataFrame, name: str) -> np.ndarray:
    missing = (frame["grade"].isna() | (frame["grade"].astype(object) == "")).to_numpy()
    known = frame.assign(grade=frame["grade"].astype(object).mask(missing, 0))
    grade = finite_column(known, name, "grade")
    wrong = (grade != np.round(grade)) | (np.abs(grade) > _LARGEST_GRADE)
    if wrong.any():
        row = int(np.argmax(wrong))
        where = row_name(name, frame, row)
        raise ValueError(
            f"{where}: grade {grade[row]:.6g} is not a whole number from -{_LARGEST_GRADE} to "
            f"{_LARGEST_GRADE}, as every grade must be; gains of grades are for gain= of "
            "be.evaluate, probabilities and means of several assessors are labels "
            "(be.add_predictions)."
        )
    return np.where(missing, np.nan, grade) if missing.any() else grade.astype(np.int64)


def _check_sampled(judgments: pd.DataFrame) -> None:
    """Refuse a stratum or a probability that cannot be, and a sampled document without a grade."""
    if "stratum" in judgments:
        whole = [text.isascii() and text.isdigit() for text in judgments["stratum"]]
        _refuse(~np.array(whole), judgments, "stratum", "must be a whole number of 0 or more.")
    if "probability" in judgments:
        probability = judgments["probability"].to_numpy(dtype=np.float64)
        outside = ~((probability > 0) & (probability <= 1))
        _refuse(outside, judgments, "probability", "must lie in (0, 1].")
        rule = "must be 0 or more, as a document listed with a probability was sampled and judged."
        _refuse(~(judgments["grade"].to_numpy() >= 0), judgments, "grade", rule)


def _refuse(wrong: np.ndarray, judgments: pd.DataFrame, column: str, rule: str) -> None:
    if wrong.any():
        row = judgments.iloc[int(np.argmax(wrong))]
        name = "inclusion probability" if column == "probability" else column
        raise ValueError(f"{_where(row)}: {name} {row[column]} {rule}")


def warn_below(grade: np.ndarray) -> None:
    """Warn that grades below -1 count as not judged, as -1 does."""
    below = grade < -1
    if below.any():
        number = f"{np.count_nonzero(below)} of {grade.size} grades"
        warnings.warn(
            Message(
                f"{number} are below -1 (the lowest is {grade[below].min():g}) and count as not "
                "judged, as -1 does; if they are judgments, as -2 of spam is, set ",
                Option("negative_grades", "judged"),
            ),
            stacklevel=3,
        )
