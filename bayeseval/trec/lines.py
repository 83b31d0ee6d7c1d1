"""Lines of whitespace-separated fields, their numbers and labels, for whole blocks of a file."""

import warnings
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from bayeseval.messages import counted

BLOCK = 8_000_000
WORD = 8
LONGEST_PACKED = 32
PADDING = bytes(LONGEST_PACKED + WORD)
_MASK = np.array([2 ** (8 * length) - 1 for length in range(WORD + 1)], dtype="<u8")


class Spans(NamedTuple):
    """Pieces of a text, ``text[start:end]``; it ends in `PADDING`, to be read past its end."""

    text: np.ndarray
    start: np.ndarray
    end: np.ndarray

    def joined(self) -> bytes:
        """The pieces, each with the byte that follows it."""
        length = self.end - self.start + 1
        shift = self.start - np.cumsum(length) + length
        return self.text[np.arange(length.sum()) + np.repeat(shift, length)].tobytes()

    def other_than(self, label: bytes) -> np.ndarray:
        """Which pieces are not this text."""
        other = self.end - self.start != len(label)
        same = np.flatnonzero(~other)
        windows = np.ndarray(
            self.text.size - len(label) + 1, f"S{len(label)}", buffer=self.text, strides=(1,)
        )
        other[same] = windows[self.start[same]] != label
        return np.flatnonzero(other)


def eights(text: np.ndarray) -> np.ndarray:
    """The eight bytes from each place of a padded text on, as a number."""
    return np.ndarray(text.size - WORD, dtype="<u8", buffer=text, strides=(1,))


def kept_bytes(length: np.ndarray) -> np.ndarray:
    """Masks of the first bytes of a word; a length below 0 or above 8 is 0 or 8."""
    return _MASK[np.clip(length, 0, WORD)]


def spans_of(labels) -> Spans:
    """Spans of a sequence of str."""
    listed = labels.tolist() if hasattr(labels, "tolist") else labels
    text = "".join(listed)
    data = text.encode()
    if len(data) == len(text):
        length = np.fromiter(map(len, listed), dtype=np.int64, count=len(listed))
    else:
        length = np.array([len(label.encode()) for label in listed])
    end = np.cumsum(length)
    return Spans(np.frombuffer(data + PADDING, dtype=np.uint8), end - length, end)


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
        values = np.empty(column.start.size)
        others = np.arange(values.size)
        if self.text.size > BLOCK:
            from bayeseval.trec.plain_lines import decimals  # takes time to import

            others = np.flatnonzero(decimals(*column, values))
        if others.size:
            rest = Spans(column.text, column.start[others], column.end[others])
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("error")
                    numbers = np.fromstring(rest.joined(), sep=" ")
            except (ValueError, DeprecationWarning):  # one is not a number
                numbers = np.empty(0)
            if numbers.size != others.size or not np.isfinite(numbers).all():
                self._refuse_number(self.texts(place), what)
            values[others] = numbers
        return values

    def _refuse_number(self, texts: list[str], what: str):
        for number, text in zip(self.number, texts, strict=True):
            try:
                is_finite = np.isfinite(float(text)) and "_" not in text and text.isascii()
            except ValueError:
                is_finite = False
            if not is_finite:
                header = (
                    number == 1
                    and text.isidentifier()
                    and text.lower() not in ("nan", "inf", "infinity")
                )
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
    if b"\r" in data and data.count(b"\r") > data.count(b"\r\n"):
        data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    warn_of_comments(name, data)
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
    """Lines of a block whose first line has this number, and how many lines there are in all."""
    closed = b"" if data.endswith(b"\n") else b"\n"
    padded = np.frombuffer(b"".join([data, closed, PADDING]), dtype=np.uint8)
    text = padded[: -len(PADDING)]
    is_newline = text == ord("\n")
    n_lines = int(np.count_nonzero(is_newline))
    lines = np.arange(number, number + n_lines)
    if text.size > BLOCK:
        from bayeseval.trec.plain_lines import fields  # takes time to import

        width = len(data[: data.find(b"\n")].split())
        start, end = np.empty((2, n_lines * width), dtype=np.int32)
        if width and fields(text, width, start, end):
            first, count = np.arange(0, start.size, width), np.full(n_lines, width)
            return Lines(name, padded, start, end, first, count, lines), n_lines
    newline = np.flatnonzero(is_newline)
    space = (text - np.uint8(ord("\t")) <= 4) | (text == ord(" "))
    edge = np.flatnonzero(space[1:] != space[:-1]) + 1
    if not space[0]:
        edge = np.concatenate([[0], edge])
    start, end = edge[0::2], edge[1::2]
    first = np.concatenate([[0], np.searchsorted(start, newline[:-1])])
    count = np.diff(np.append(first, start.size))
    begin = np.concatenate([[0], newline[:-1] + 1])
    kept = (count > 0) & (text[begin] != ord("#"))
    if not kept.all():
        first, count, lines = first[kept], count[kept], lines[kept]
    return Lines(name, padded, start, end, first, count, lines), n_lines


def warn_of_comments(name: str, data: bytes) -> None:
    """Warn of a comment that has the fields of the other lines, as where a topic is a hashtag."""
    place = 0 if data.startswith(b"#") else data.find(b"\n#") + 1
    if not data.startswith(b"#", place):
        return
    head = data[:100_000].splitlines()
    head = head if len(data) < 100_000 else head[:-1]
    others = [line.split() for line in head if line.strip() and not line.startswith(b"#")]
    if not others:
        return
    numbers = [column for column, field in enumerate(others[-1]) if is_number(field)]
    while True:
        end = data.find(b"\n", place) + 1 or len(data)
        fields = data[place:end].split()
        alike = len(fields) == len(others[-1]) and len(fields[0]) > 1
        if alike and numbers and is_number(fields[numbers[-1]]):
            topic, line = fields[0].decode(), data.count(b"\n", 0, place) + 1
            warnings.warn(
                f"{name}, line {line}: a line that begins with # is left out as a comment, and "
                f"this one has the fields of the others; if '{topic}' is a topic, give a table "
                "with a header (CSV), where # begins no comment",
                stacklevel=4,
            )
            return
        place = data.find(b"\n#", end - 1) + 1
        if not place:
            return


def is_number(field: bytes | str) -> bool:
    """Whether a field is read as a number."""
    try:
        float(field)
    except ValueError:
        return False
    return True


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
        fields = counted(lines.count[line], "field")
        text = (
            f"{lines.name}, line {lines.number[line]}: {fields} where at least {needed} are needed"
        )
        commas = any("," in lines.text_of(place, line) for place in range(lines.count[line]))
        if commas:
            raise ValueError(
                f"{text} ({columns}), with blanks or tabs between; a file with commas needs a "
                "first line that names its columns, with topic and document among them."
            )
        # judgments in the place of a run have too few fields for one
        is_judged = lines.count[line] >= 4
        # topic, document and grade or score: the list of `bayeseval sample`, filled in
        named = (lines.count == 3).all()
        table = "; a table of other columns needs a first line that names them" if named else ""
        raise (WrongFields if is_judged else ValueError)(f"{text} ({columns}){table}.")


def yes_or_no(text: object) -> str:
    """What a message says to write for a yes or a no; nothing of other texts.

    Examples
    --------
    >>> yes_or_no("Yes")
    '; write 1 for yes and true, 0 for no and false'
    """
    is_word = str(text).lower() in ("yes", "true", "no", "false")
    return "; write 1 for yes and true, 0 for no and false" if is_word else ""
