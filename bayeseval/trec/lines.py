"""Lines of whitespace-separated fields, their numbers and labels, for whole blocks of a file."""

import warnings
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pandas as pd

from bayeseval.messages import counted

BLOCK = 8_000_000
WORD = 8
LONGEST_PACKED = 32
PADDING = bytes(LONGEST_PACKED + WORD)
_MOST_DIGITS = 19  # below 2**64
_TEN = np.array([10**power for power in range(_MOST_DIGITS + 1)], dtype=np.uint64)
_TEN_FLOAT = 10.0 ** np.arange(_MOST_DIGITS + 1)
_TEN_EXTENDED = _TEN.astype(np.longdouble)
IS_EXTENDED = np.finfo(np.longdouble).nmant == 63 and np.dtype(np.longdouble).itemsize == 16
_LONG = np.uint64(0xFFFFFFFF00000000)  # bytes that no UTF-8 text holds
_NOT_ASCII = np.uint64(0x8080808080808080)
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
    encoded = [label.encode() for label in listed]
    end = np.cumsum([len(label) for label in encoded], dtype=np.int64)
    start = np.concatenate([[0], end[:-1]])
    return Spans(np.frombuffer(b"".join([*encoded, PADDING]), dtype=np.uint8), start, end)


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
    if data.count(b"\r") > data.count(b"\r\n"):
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
    closed = b"" if data.endswith(b"\n") else b"\n"
    padded = np.frombuffer(b"".join([data, closed, PADDING]), dtype=np.uint8)
    text = padded[: -len(PADDING)]
    space = (text - np.uint8(ord("\t")) <= 4) | (text == ord(" "))
    edge = np.flatnonzero(space[1:] != space[:-1]) + 1
    if not space[0]:
        edge = np.concatenate([[0], edge])
    start, end = edge[0::2], edge[1::2]
    newline = np.flatnonzero(text == ord("\n"))
    width = start.size // newline.size
    first, last = start[0 :: max(width, 1)], start[max(width, 1) - 1 :: max(width, 1)]
    even = width > 0 and width * newline.size == start.size  # as many fields in every line?
    if even and (first[1:] > newline[:-1]).all() and (last < newline).all():
        first = np.arange(0, start.size, width)
    else:
        first = np.concatenate([[0], np.searchsorted(start, newline[:-1])])
    after = np.append(first[1:], start.size)
    begin = np.concatenate([[0], newline[:-1] + 1])
    kept = (after > first) & (text[begin] != ord("#"))
    count = after - first
    lines = np.arange(number, number + newline.size)
    if not kept.all():
        first, count, lines = first[kept], count[kept], lines[kept]
    return Lines(name, padded, start, end, first, count, lines), newline.size


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
    numbers = [column for column, field in enumerate(others[-1]) if _is_number(field)]
    while True:
        end = data.find(b"\n", place) + 1 or len(data)
        fields = data[place:end].split()
        alike = len(fields) == len(others[-1]) and len(fields[0]) > 1
        if alike and numbers and _is_number(fields[numbers[-1]]):
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


def _is_number(field: bytes) -> bool:
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


def plain_decimals(spans: Spans) -> tuple[np.ndarray, np.ndarray]:
    """Numbers (n,) written as digits with at most one point, and a minus sign or not.

    What ``float`` gives for the texts, none of which may be empty; and which (m,) are something
    else, or cannot be read this way: their numbers are undefined.
    """
    negative = spans.text[spans.start] == ord("-")
    start = spans.start + negative
    length = spans.end - start
    read = (length > 0) & (length <= 3 * WORD)
    length = np.where(read, length, 0)
    n_words = max(1, -(-int(length.max(initial=0)) // WORD))
    eight = eights(spans.text)
    words = [eight[start + word * WORD] for word in range(n_words)]
    point = _first_point(words, length)
    n_digits = length - (point < length)
    whole = np.zeros(length.size, dtype=np.uint64)
    for word, text in enumerate(words):
        before = kept_bytes(point - word * WORD)
        digits = (text & before) | (eight[start + word * WORD + 1] & ~before)
        n_here = np.clip(n_digits - word * WORD, 0, WORD)
        number, is_number = _eight_digits(digits & kept_bytes(n_here), n_here)
        read &= is_number
        whole = whole * _TEN[n_here] + number
    read &= (n_digits > 0) & (n_digits <= _MOST_DIGITS)
    n_decimals = np.where(read, np.maximum(length - point - 1, 0), 0)
    values = _divided(whole, n_decimals, read)
    return np.where(negative, -values, values), np.flatnonzero(~read)


def _first_point(words: list[np.ndarray], length: np.ndarray) -> np.ndarray:
    """Place of the first point, or the length where there is none."""
    point = length
    ones = np.uint64(0x0101010101010101)
    for word in reversed(range(len(words))):
        other = words[word] ^ (ones * np.uint64(ord(".")))
        found = (other - ones) & ~other & (ones << np.uint64(7))
        place = np.bitwise_count((found & (~found + np.uint64(1))) - np.uint64(1)) >> 3
        point = np.where(found != 0, np.minimum(place + np.int64(word * WORD), point), point)
    return np.minimum(point, length)


def _eight_digits(text: np.ndarray, n_digits: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Number that the first digits of each word make, and whether they all are digits."""
    ones = np.uint64(0x0101010101010101)
    digit = text ^ ((ones * np.uint64(ord("0"))) & kept_bytes(n_digits))
    above_nine = digit + ones * np.uint64(0x7F - 9)
    is_number = ((above_nine | digit) & (ones << np.uint64(7))) == 0
    digit <<= (np.minimum(WORD - n_digits, WORD - 1) * 8).astype(np.uint64)
    two = (digit * np.uint64(10 * 2**8 + 1) >> np.uint64(8)) & np.uint64(0x00FF00FF00FF00FF)
    four = (two * np.uint64(100 * 2**16 + 1) >> np.uint64(16)) & np.uint64(0x0000FFFF0000FFFF)
    return four * np.uint64(10000 * 2**32 + 1) >> np.uint64(32), is_number


def _divided(whole: np.ndarray, n_decimals: np.ndarray, read: np.ndarray) -> np.ndarray:
    """Quotient by a power of ten, rounded once; ``read`` is cleared where that cannot be told."""
    values = whole.astype(np.float64) / _TEN_FLOAT[n_decimals]
    large = np.flatnonzero(read & (whole > 2**53))
    if not IS_EXTENDED:
        read[large] = False
    elif large.size:
        quotient = whole[large].astype(np.longdouble) / _TEN_EXTENDED[n_decimals[large]]
        values[large] = quotient.astype(np.float64)
        mantissa = quotient.view(np.uint64)[::2]
        read[large[mantissa & np.uint64(0x7FF) == 0x400]] = False
    return values


class Labels:
    """Labels that were seen; `encode` gives provisional codes and `resolve` what they stand for.

    A label of up to 32 bytes is packed into 64-bit words, which are told apart by hashing them
    as numbers; a longer one goes through a dictionary and is one word that no text has.
    """

    def __init__(self):
        self._seen: list[np.ndarray] = []
        self._count = 0
        self._long: dict[bytes, int] = {}

    def _packed(self, spans: Spans) -> np.ndarray:
        """Words (n, width) in which equal rows are equal labels."""
        length = spans.end - spans.start
        long = np.flatnonzero(length > LONGEST_PACKED)
        length[long] = 0
        width = max(1, -(-int(length.max(initial=1)) // WORD))
        eight = eights(spans.text)
        packed = np.empty((length.size, width), dtype="<u8")
        for word in range(width):
            packed[:, word] = eight[spans.start + word * WORD] & kept_bytes(length - word * WORD)
        for row in long:
            label = spans.text[spans.start[row] : spans.end[row]].tobytes()
            packed[row, 0] = _LONG | np.uint64(self._long.setdefault(label, len(self._long)))
        return packed

    def encode(self, spans: Spans) -> np.ndarray:
        """Provisional codes (n,) of labels: one for each stretch of equal ones."""
        packed = self._packed(spans)
        change = np.flatnonzero((packed[1:] != packed[:-1]).any(axis=1)) + 1
        stretch = np.concatenate([[0], change])
        self._seen.append(packed[stretch])
        codes = np.arange(self._count, self._count + stretch.size, dtype=np.int32)
        self._count += stretch.size
        return np.repeat(codes, np.diff(np.append(stretch, len(packed))))

    def resolve(self) -> tuple[np.ndarray, np.ndarray]:
        """Labels (label,) of str in ascending order, and the label's position for each code."""
        width = max((rows.shape[1] for rows in self._seen), default=1)
        rows = np.zeros((self._count, width), dtype="<u8")
        stop = 0
        for part in self._seen:
            start, stop = stop, stop + len(part)
            rows[start:stop, : part.shape[1]] = part
        codes = pd.factorize(rows[:, 0])[0]
        for column in rows[:, 1:].T:
            more, distinct = pd.factorize(column)
            codes = pd.factorize(codes * np.int64(len(distinct)) + more)[0]
        first = np.empty(codes.max(initial=-1) + 1, dtype=np.int64)  # row of each code
        first[codes[::-1]] = np.arange(codes.size)[::-1]
        rows = np.ascontiguousarray(rows[first])
        labels, order = self._texts(rows)
        position = np.empty(order.size, dtype=np.int32)
        position[order] = np.arange(order.size)
        return labels[order], position[codes]

    def _texts(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Labels (label,) of packed rows, and the order in which they ascend."""
        texts = rows.view(f"S{rows.shape[1] * WORD}").ravel()
        if not self._long and not (rows & _NOT_ASCII).any():  # bytes are letters, in their order
            length = max(1, int(np.char.str_len(texts).max(initial=0)))
            return texts.astype(f"U{length}"), np.lexsort(rows.byteswap().T[::-1])
        listed, by_number = texts.tolist(), list(self._long)
        for row in np.flatnonzero(rows[:, 0] & _LONG == _LONG):
            listed[row] = by_number[int(rows[row, 0] & ~_LONG)]
        labels = np.array([text.decode() for text in listed], dtype=str)
        return labels, np.argsort(labels)
