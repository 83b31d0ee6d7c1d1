"""Labels as integer codes, found for millions of lines without a Python object for each."""

from typing import NamedTuple

import numpy as np
import pandas as pd

WORD = 8
LONGEST_PACKED = 32
PADDING = bytes(LONGEST_PACKED + WORD)
_LONG = np.uint64(0xFFFFFFFF00000000)  # bytes that no UTF-8 text holds
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
        codes, first = distinct_rows(rows)
        labels = self._texts(rows[first])
        order = np.argsort(labels)
        position = np.empty(order.size, dtype=np.int32)
        position[order] = np.arange(order.size)
        return labels[order], position[codes]

    def _texts(self, rows: np.ndarray) -> np.ndarray:
        texts = np.ascontiguousarray(rows).view(f"S{rows.shape[1] * WORD}").ravel().tolist()
        by_number = list(self._long)
        for row in np.flatnonzero(rows[:, 0] & _LONG == _LONG):
            texts[row] = by_number[int(rows[row, 0] & ~_LONG)]
        return np.array([text.decode() for text in texts], dtype=str)


def distinct_rows(words: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Codes (n,) that are equal where rows are, and the first row of each code."""
    codes = pd.factorize(words[:, 0])[0]
    for column in words[:, 1:].T:
        more, distinct = pd.factorize(column)
        codes = pd.factorize(codes * np.int64(len(distinct)) + more)[0]
    first = np.empty(codes.max(initial=-1) + 1, dtype=np.int64)
    first[codes[::-1]] = np.arange(codes.size)[::-1]
    return codes, first
