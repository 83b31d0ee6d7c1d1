"""Labels of topics and documents while files are read: codes, their order, and pairs."""

import numpy as np
from numpy.typing import NDArray

from bayeseval.trec.lines import LONGEST_PACKED, WORD, Spans, eights, kept_bytes

_LONG = np.uint64(0xFFFFFFFF00000000)  # bytes that no UTF-8 text holds
_LAST = np.uint64(2**64 - 1)  # after all keys
LINES = 1_000_000  # lines that are sorted, or whose labels are written, at once
_NOT_ASCII = np.uint64(0x8080808080808080)


class Labels:
    """Labels that were seen; `encode` gives provisional codes, the other methods what they mean.

    A label of up to 32 bytes is packed into 64-bit words. The bytes of UTF-8 are in the order of
    the letters, so words ascend as labels do. A longer label goes through a dictionary and is one
    word that no text has.
    """

    def __init__(self):
        self._seen: list[np.ndarray] = []
        self._count = 0
        self._long: dict[bytes, int] = {}

    def encode(self, spans: Spans) -> NDArray[np.int32]:
        """Provisional codes (n,) of labels: one for each stretch of equal ones."""
        packed = self._packed(spans)
        change = np.flatnonzero((packed[1:] != packed[:-1]).any(axis=1)) + 1
        stretch = np.concatenate([[0], change])
        self._seen.append(packed[stretch])
        codes = np.arange(self._count, self._count + stretch.size, dtype=np.int32)
        self._count += stretch.size
        return np.repeat(codes, np.diff(np.append(stretch, len(packed))))

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

    def _rows(self) -> np.ndarray:
        """Packed words (code, width) of every code."""
        if len(self._seen) != 1:
            width = max((rows.shape[1] for rows in self._seen), default=1)
            rows = np.zeros((self._count, width), dtype="<u8")
            stop = 0
            for part in self._seen:
                start, stop = stop, stop + len(part)
                rows[start:stop, : part.shape[1]] = part
            self._seen = [rows]
        return self._seen[0]

    def keys(self) -> NDArray[np.uint64]:
        """Numbers (code, width) of every code; rows of them ascend as labels do."""
        rows = self._rows()
        if not self._long:
            return rows.byteswap() if rows.shape[1] == 1 else _differing_bits(rows)
        codes, seen = numbered(np.zeros(self._count, dtype=np.int32), rows)
        _, place = np.unique(self.texts(seen), return_inverse=True)
        return place[codes, None].astype(np.uint64)

    def texts(self, codes: np.ndarray) -> NDArray[np.str_]:
        """Labels (n,) of codes."""
        rows = self._rows()
        parts = [slice(first, first + LINES) for first in range(0, codes.size, LINES)]
        seen = np.zeros(rows.shape[1], dtype=rows.dtype)
        for part in parts:
            seen |= np.bitwise_or.reduce(rows[codes[part]], axis=0)
        if self._long or (seen & _NOT_ASCII).any():
            return self._decoded(rows[codes])
        length = int(np.flatnonzero(seen.view(np.uint8)).max(initial=0)) + 1
        texts = np.empty(codes.size, dtype=f"U{length}")
        letters = texts.view(np.uint32).reshape(codes.size, length)
        for part in parts:
            letters[part] = _letters(rows[codes[part]])[:, :length]
        return texts

    def resolve(self) -> tuple[np.ndarray, np.ndarray]:
        """Labels (label,) of str in ascending order, and the label's position for each code."""
        position, seen = numbered(np.zeros(self._count, dtype=np.int32), self.keys())
        return self.texts(seen), position

    def _decoded(self, rows: np.ndarray) -> NDArray[np.str_]:
        """Labels (n,) of packed rows, one by one."""
        letters = _letters(rows)
        listed = letters.view(f"S{letters.shape[1]}").ravel().tolist()
        by_number = list(self._long)
        for row in np.flatnonzero(rows[:, 0] & _LONG == _LONG):
            listed[row] = by_number[int(rows[row, 0] & ~_LONG)]
        return np.array([text.decode() for text in listed], dtype=str)


def _letters(rows: np.ndarray) -> NDArray[np.uint8]:
    """Bytes (label, byte) of packed words (label, width)."""
    return rows.view(np.uint8).reshape(len(rows), WORD * rows.shape[1])


def _differing_bits(rows: np.ndarray) -> NDArray[np.uint64]:
    """Numbers (label, width) that ascend as the letters of packed words do, in few words.

    Of every byte only the bits are kept that are not the same in all labels: four of a digit.
    """
    letters = _letters(rows)
    in_all, in_any = np.bitwise_and.reduce(rows, axis=0), np.bitwise_or.reduce(rows, axis=0)
    differing = (in_all ^ in_any).view(np.uint8)
    keys, n_used = [np.zeros(len(letters), dtype=np.uint64)], 0
    for column in np.flatnonzero(differing).tolist():
        bits = int(differing[column])
        low = (bits & -bits).bit_length() - 1
        n_bits = bits.bit_length() - low
        if n_used + n_bits > 63:  # no key is `_LAST`
            keys.append(np.zeros(len(letters), dtype=np.uint64))
            n_used = 0
        part = (letters[:, column] >> np.uint8(low)) & np.uint8((1 << n_bits) - 1)
        keys[-1] <<= np.uint64(n_bits)
        keys[-1] |= part
        n_used += n_bits
    return np.stack(keys, axis=1) if len(keys) > 1 else keys[0][:, None]


def numbered(
    topic: NDArray[np.integer], keys: NDArray[np.uint64]
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Number (n,) of the pair that each line has, and a line (pair,) that has it.

    Pairs are numbered by topic, then by the ``keys`` (n, width) of their documents, as by
    :meth:`Labels.keys`.

    Examples
    --------
    >>> numbered(np.array([1, 0, 1, 0]), np.array([[7], [9], [7], [3]], dtype=np.uint64))
    (array([2, 1, 2, 0], dtype=int32), array([3, 1, 0]))
    """
    order = stable_order(topic)
    sorted_topic = topic[order]
    edge = np.flatnonzero(sorted_topic[1:] != sorted_topic[:-1]) + 1
    bounds = np.concatenate([[0], edge, [topic.size]])
    size = max(1, LINES * (bounds.size - 1) // topic.size)  # topics of about so many lines
    for first in range(0, bounds.size - 1, size):
        part = bounds[first : first + size + 1]
        order[part[0] : part[-1]] = _by_keys(order[part[0] : part[-1]], np.diff(part), keys)
    del sorted_topic  # of many lines these arrays are large
    words = keys[order]
    is_first = np.ones(topic.size, dtype=bool)
    is_first[1:] = (words[1:] != words[:-1]).any(axis=1)
    is_first[edge] = True
    del words
    place = np.cumsum(is_first, dtype=np.int32) - np.int32(1)
    number = np.empty_like(place)
    number[order] = place
    return number, order[is_first]


def _by_keys(
    lines: NDArray[np.int64], length: NDArray[np.int64], keys: NDArray[np.uint64]
) -> NDArray[np.int64]:
    """Lines in the order of their keys within topics, which have these numbers of lines."""
    if length.size * length.max() <= 2 * lines.size:  # as many lines of every topic, or nearly so
        inside = np.arange(length.max()) < length[:, None]
        words = np.full((keys.shape[1], *inside.shape), _LAST)
        words[:, inside] = keys[lines].T
        first = np.cumsum(length) - length
        return lines[(first[:, None] + _ascending(words))[inside]]
    parts = np.split(lines, np.cumsum(length)[:-1])
    return np.concatenate([part[_ascending(keys[part].T)] for part in parts])


def _ascending(words: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Positions (..., line) that put rows of words (width, ..., line) in order."""
    varying = [word for word in words if (word != word[..., :1]).any()]
    if len(varying) == 1:
        return np.argsort(varying[0], axis=-1)
    return np.lexsort(varying[::-1] or words, axis=-1)


def stable_order(topic: NDArray[np.integer]) -> NDArray[np.int64]:
    """Positions (n,) that put topics, numbered from 0, in order, lines of one as they came."""
    if (topic[1:] >= topic[:-1]).all():
        return np.arange(topic.size)
    small = topic.max() < 2**16  # 16 bits are sorted by radix
    return np.argsort(topic.astype(np.uint16) if small else topic, kind="stable")
