"""Kernels for large blocks of lines that are all alike: where fields are, and plain numbers."""

import numpy as np
from numba import njit

_POWERS = np.array([float(10**power) for power in range(23)])  # exact
_EXACT = 2**53  # whole numbers up to it are exact
_BLANK, _TAB, _RETURN, _NEWLINE, _COMMENT, _ZERO, _POINT, _MINUS = (ord(c) for c in " \t\r\n#0.-")


@njit(cache=True)
def fields(text, width, start, end):  # pragma: no cover
    """Write where fields of lines start and end; False where a line is not like the others.

    All lines of ``text``, whose last byte ends a line, must have ``width`` fields; none is blank or
    a comment. ``start`` and ``end`` (line * width,) are undefined where it is False.
    """
    field, line, inside = 0, 0, False
    for place in range(text.size):
        byte = text[place]
        if byte == _BLANK or (_TAB <= byte <= _RETURN):
            if inside:
                end[field] = place
                field += 1
                inside = False
            if byte == _NEWLINE:
                line += 1
                if field != line * width:
                    return False
        elif not inside:
            if field == (line + 1) * width:
                return False
            if byte == _COMMENT and (place == 0 or text[place - 1] == _NEWLINE):
                return False
            start[field] = place
            inside = True
    return True


@njit(cache=True)
def decimals(text, start, end, values):  # pragma: no cover
    """Write the numbers that are digits with at most one point and a minus sign; True for others.

    A quotient of two exact numbers is rounded once, as ``float`` rounds: there are at most 22
    digits after the point, and all digits together are at most 2**53.
    """
    others = np.zeros(start.size, dtype=np.bool_)
    for index in range(start.size):
        place, stop = start[index], end[index]
        negative = text[place] == _MINUS
        place += negative
        whole, n_digits, n_decimals, after = 0, 0, 0, False
        while place < stop and whole <= _EXACT:
            digit = np.int64(text[place]) - _ZERO
            if 0 <= digit <= 9:
                whole = 10 * whole + digit
                n_digits += 1
                n_decimals += after
            elif text[place] == _POINT and not after:
                after = True
            else:
                break
            place += 1
        if place < stop or n_digits == 0 or n_decimals > 22 or whole > _EXACT:
            others[index] = True
        else:
            value = whole / _POWERS[n_decimals]
            values[index] = -value if negative else value
    return others
