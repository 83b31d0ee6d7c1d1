"""Lines of whitespace-separated fields, split for whole blocks of a file at a time."""

import warnings
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from bayeseval.messages import counted
from bayeseval.trec.decimals import plain_decimals
from bayeseval.trec.labels import PADDING, Spans

BLOCK = 8_000_000
JUDGED_FIELDS = 4
NAMED_FIELDS = 3  # topic, document and grade or score: the list of `bayeseval sample`, filled in
_NEWLINE, _BLANK, _TAB, _COMMENT = 10, 32, 9, 35
_NO_WORDS = ("nan", "inf", "infinity")
_YES_NO = ("yes", "true", "no", "false")


class WrongFields(ValueError):
    """Lines whose fields are not those of their format, as where files are named in wrong order."""


class Lines(NamedTuple):
    """Lines of a file that are neither blank nor comments.

    ``start`` and ``end`` bound each field, ``first`` is the first field of each line, ``count`` how
    many it has and ``number`` the line's number in the file, from 1.
    """

    name: str
    text: np.ndarray
    start: np.ndarray
    end: np.ndarray
    first: np.ndarray
    count: np.ndarray
    number: np.ndarray

    def column(self, place: int) -> Spans:
        """The field at one place of every line."""
        width = self.start.size // self.first.size
        even = width * self.first.size == self.start.size and (self.count == width).all()
        field = slice(place, None, width) if even else self.first + place
        return Spans(self.text, self.start[field], self.end[field])

    def texts(self, place: int) -> list[str]:
        """The field at one place of every line, as text."""
        return [text.decode() for text in self.column(place).joined().split()]

    def text_of(self, place: int, line: int) -> str:
        """The field at one place of one line, as text."""
        field = self.first[line] + place
        return self.text[self.start[field] : self.end[field]].tobytes().decode()

    def numbers(self, place: int, what: str) -> np.ndarray:
        """The field at one place of every line, as a finite float64."""
        column = self.column(place)
        values, others = plain_decimals(column)
        if others.size:
            rest = Spans(column.text, column.start[others], column.end[others])
            numbers = _numbers(rest.joined())
            if numbers.size != others.size or not np.isfinite(numbers).all():
                self._refuse_number(self.texts(place), what)
            values[others] = numbers
        return values

    def _refuse_number(self, texts: list[str], what: str):
        for number, text in zip(self.number, texts, strict=True):
            if not _is_finite(text):
                header = number == 1 and text.isidentifier() and text.lower() not in _NO_WORDS
                hint = "; a header line must be taken out" if header else ""
                raise ValueError(
                    f"{self.name}, line {number}: {what} '{text}' is not a finite number, as every "
                    f"{what} must be{yes_or_no(text) or hint}."
                )
        raise AssertionError("numbers that float reads one by one must be read together")


def blocks(name: str, data: bytes, columns: str) -> Iterator[Lines]:
    """Lines of a file, a few megabytes at a time; they end in LF, CR LF or CR.

    ``name`` is the file, for messages, and ``columns`` the names of the fields that every line must
    have, with blanks between. A ValueError where the file is not UTF-8 text, a line has too few
    fields, or there is no line.
    """
    check_text(name, data)
    if data.count(b"\r") > data.count(b"\r\n"):
        data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    number = 1
    seen = False
    start = 0
    while start < len(data):
        stop = data.find(b"\n", min(start + BLOCK, len(data))) + 1 or len(data)
        lines, n_lines = _split(name, data[start:stop], number)
        if lines.first.size:
            _check_fields(lines, columns)
            seen = True
            yield lines
        number += n_lines
        start = stop
    if not seen:
        raise ValueError(f"{name} is empty: it has comments or blank lines only.")


def _split(name: str, data: bytes, number: int) -> tuple[Lines, int]:
    closed = b"" if data.endswith(b"\n") else b"\n"
    padded = np.frombuffer(b"".join([data, closed, PADDING]), dtype=np.uint8)
    text = padded[: -len(PADDING)]
    space = (text - np.uint8(_TAB) <= 4) | (text == _BLANK)
    edge = np.flatnonzero(space[1:] != space[:-1]) + 1
    if not space[0]:
        edge = np.concatenate([[0], edge])
    start, end = edge[0::2], edge[1::2]
    newline = np.flatnonzero(text == _NEWLINE)
    first = _first_fields(start, newline)
    after = np.append(first[1:], start.size)
    begin = np.concatenate([[0], newline[:-1] + 1])
    kept = (after > first) & (text[begin] != _COMMENT)
    count = after - first
    lines = np.arange(number, number + newline.size)
    if not kept.all():
        first, count, lines = first[kept], count[kept], lines[kept]
    return Lines(name, padded, start, end, first, count, lines), newline.size


def _first_fields(start: np.ndarray, newline: np.ndarray) -> np.ndarray:
    """The first field at or after the beginning of each line."""
    width = start.size // newline.size
    if width and width * newline.size == start.size:  # as many fields in every line?
        first, last = start[0::width], start[width - 1 :: width]
        if (first[1:] > newline[:-1]).all() and (last < newline).all():
            return np.arange(0, start.size, width)
    return np.concatenate([[0], np.searchsorted(start, newline[:-1])])


def check_text(name: str, data: bytes) -> None:
    """Refuse what is not UTF-8 text, with the line of the first byte that is not."""
    wrong = data.find(b"\0")
    if wrong < 0 and not data.isascii():
        try:
            data.decode()
        except UnicodeDecodeError as error:
            wrong = error.start
    if wrong >= 0:
        line = data.count(b"\n", 0, wrong) + 1
        wide = data.startswith((b"\xff\xfe", b"\xfe\xff")) or data.count(b"\0") > len(data) // 4
        nul = "a NUL byte" + (" (the file looks like UTF-16)" if wide else "")
        found = f"byte 0x{data[wrong]:02x}" if data[wrong] else nul
        raise ValueError(f"{name}, line {line}: {found} is not UTF-8 text, as files must be.")


def _check_fields(lines: Lines, columns: str) -> None:
    needed = len(columns.split())
    if lines.count.min() < needed:
        line = int(np.argmax(lines.count < needed))
        found = counted(lines.count[line], "field")
        text = (
            f"{lines.name}, line {lines.number[line]}: {found} where at least {needed} are needed"
        )
        commas = any("," in lines.text_of(place, line) for place in range(lines.count[line]))
        if commas:
            raise ValueError(
                f"{text} ({columns}), with blanks or tabs between; a file with commas needs a "
                "first line that names its columns, with topic and document among them."
            )
        # judgments in the place of a run have too few fields for one
        is_judged = lines.count[line] >= JUDGED_FIELDS
        named = (lines.count == NAMED_FIELDS).all()
        table = "; a table of other columns needs a first line that names them" if named else ""
        raise (WrongFields if is_judged else ValueError)(f"{text} ({columns}){table}.")


def _numbers(joined: bytes) -> np.ndarray:
    """Numbers with blanks between; none where one is not a number."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            return np.fromstring(joined, sep=" ")
    except (ValueError, DeprecationWarning):
        return np.empty(0)


def yes_or_no(text: object) -> str:
    """What a message says to write for a yes or a no; nothing of other texts.

    Examples
    --------
    >>> yes_or_no("Yes")
    '; write 1 for yes and true, 0 for no and false'
    """
    is_word = str(text).lower() in _YES_NO
    return "; write 1 for yes and true, 0 for no and false" if is_word else ""


def _is_finite(text: str) -> bool:
    try:
        return bool(np.isfinite(float(text))) and "_" not in text and text.isascii()
    except ValueError:
        return False
