"""Decimal numbers read eight digits at a time, to the last bit.

Most scores look like ``12.3456``: digits with a point. They are read as a whole number of up to 19
digits and divided by a power of ten, with one rounding: in float64 where both are exact there, else
in the 64-bit mantissa of an extended float (and not at all where its second rounding could differ).
Everything else, such as ``1e-5``, is left to NumPy's reader. That one alone would be as exact, and
is not enough: reading runs would take .96 of pytrec_eval's time in the place of .85.
"""

import numpy as np

from bayeseval.trec.labels import WORD, Spans, eights, kept_bytes

_LONGEST = 3 * WORD
_MOST_DIGITS = 19  # below 2**64
_POINTS, _ZEROS = np.uint64(0x2E2E2E2E2E2E2E2E), np.uint64(0x3030303030303030)
_ONES, _HIGHS = np.uint64(0x0101010101010101), np.uint64(0x8080808080808080)
_ABOVE_NINE = np.uint64(0x7676767676767676)
_TEN = np.array([10**power for power in range(_MOST_DIGITS + 1)], dtype=np.uint64)
_TEN_FLOAT = 10.0 ** np.arange(_MOST_DIGITS + 1)
_TEN_EXTENDED = _TEN.astype(np.longdouble)
_IS_EXTENDED = np.finfo(np.longdouble).nmant == 63 and np.dtype(np.longdouble).itemsize == 16


def plain_decimals(spans: Spans) -> tuple[np.ndarray, np.ndarray]:
    """Numbers (n,) written as digits with at most one point, and a minus sign or not.

    What ``float`` gives for the texts, none of which may be empty; and which (m,) are something
    else, or cannot be read this way: their numbers are undefined.
    """
    negative = spans.text[spans.start] == ord("-")
    start = spans.start + negative
    length = spans.end - start
    read = (length > 0) & (length <= _LONGEST)
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
    for word in reversed(range(len(words))):
        other = words[word] ^ _POINTS
        found = (other - _ONES) & ~other & _HIGHS
        place = np.bitwise_count((found & (~found + np.uint64(1))) - np.uint64(1)) >> 3
        point = np.where(found != 0, np.minimum(place + np.int64(word * WORD), point), point)
    return np.minimum(point, length)


def _eight_digits(text: np.ndarray, n_digits: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Number that the first digits of each word make, and whether they all are digits."""
    digit = text ^ (_ZEROS & kept_bytes(n_digits))
    is_number = (((digit + _ABOVE_NINE) | digit) & _HIGHS) == 0
    digit <<= (np.minimum(WORD - n_digits, WORD - 1) * 8).astype(np.uint64)
    two = (digit * np.uint64(10 * 2**8 + 1) >> np.uint64(8)) & np.uint64(0x00FF00FF00FF00FF)
    four = (two * np.uint64(100 * 2**16 + 1) >> np.uint64(16)) & np.uint64(0x0000FFFF0000FFFF)
    return four * np.uint64(10000 * 2**32 + 1) >> np.uint64(32), is_number


def _divided(whole: np.ndarray, n_decimals: np.ndarray, read: np.ndarray) -> np.ndarray:
    """Quotient by a power of ten, rounded once; ``read`` is cleared where that cannot be told."""
    values = whole.astype(np.float64) / _TEN_FLOAT[n_decimals]
    large = np.flatnonzero(read & (whole > 2**53))
    if not _IS_EXTENDED:
        read[large] = False
    elif large.size:
        quotient = whole[large].astype(np.longdouble) / _TEN_EXTENDED[n_decimals[large]]
        values[large] = quotient.astype(np.float64)
        mantissa = quotient.view(np.uint64)[::2]
        read[large[mantissa & np.uint64(0x7FF) == 0x400]] = False
    return values
