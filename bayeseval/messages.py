"""Sentences that name options, as Python's arguments or a shell's; counts, lists, percentages.

Warnings that the command line and the report phrase themselves are here, as nothing loads numpy.
"""

import os
import warnings
from collections.abc import Sequence
from decimal import Decimal
from typing import Self

PACKAGE = os.path.join(os.path.dirname(__file__), "")  # the folder of the package
SHOWN = 5e-4  # from which on a share is more than 0.000
LONGEST = 30  # label in a picture, in characters


def warn(message: str | Warning, category: type[Warning] = UserWarning) -> None:
    """Warn of something at the line of the user's code that called the package."""
    warnings.warn(message, category, skip_file_prefixes=(PACKAGE,))


class TopicsUnranked(UserWarning):
    """Judged topics that no run has documents for, where all runs score 0."""


class Option(str):
    """An option as a message of Python names it, with what another face needs to name its own.

    ``name`` is the argument of the public functions, ``value`` its value, where the message names
    that too, and ``text`` how Python says it (default: ``name``, or ``name=value``).

    Examples
    --------
    >>> Option("on_duplicate", "best")
    "on_duplicate='best'"
    >>> Option("model", "grades", "be.models.grade_model").value
    'grades'
    """

    name: str
    value: object

    def __new__(cls, name: str, value: object = None, text: str | None = None) -> Self:
        """Take Python's text from the name and the value, where none is given."""
        plain = name if value is None else f"{name}={value!r}"
        option = super().__new__(cls, plain if text is None else text)
        option.name, option.value = name, value
        return option


class Message(str):
    """A sentence in parts, plain text and options; to Python it is their text.

    Examples
    --------
    >>> message = Message("once is allowed (", Option("on_duplicate", "best"), " keeps one)")
    >>> str(message)
    "once is allowed (on_duplicate='best' keeps one)"
    >>> [part.name for part in message.parts if isinstance(part, Option)]
    ['on_duplicate']
    """

    parts: tuple[str, ...]

    def __new__(cls, *parts: str) -> Self:
        """Join the parts, and keep them."""
        message = super().__new__(cls, "".join(parts))
        message.parts = parts
        return message


def counted(number: int, noun: str) -> str:
    """A number with its noun, whose plural ends in s."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def some_of(texts: Sequence[str], most: int) -> str:
    """The first of some texts, and how many more there are.

    Examples
    --------
    >>> some_of(["a", "b"], 2), some_of(["a", "b", "c", "d"], 2)
    ('a, b', 'a, b and 2 more')
    """
    more = f" and {len(texts) - most} more" if len(texts) > most else ""
    return ", ".join(texts[:most]) + more


def span(numbers: Sequence[int]) -> str:
    """The least and the largest of some numbers, or the one that all are.

    Examples
    --------
    >>> span([5, 3, 4]), span([3, 3])
    ('3 to 5', '3')
    """
    least, largest = min(numbers), max(numbers)
    return f"{least}" if least == largest else f"{least} to {largest}"


def percent(ci_prob: float) -> str:
    """A probability as text: every digit of a typed one, six of a computed one."""
    exact = Decimal(repr(float(ci_prob))).scaleb(2).normalize()
    rounded = f"{100 * ci_prob:g}"
    typed = len(exact.as_tuple().digits) <= 12
    return f"{exact:f}%" if typed or rounded in ("0", "100") else f"{rounded}%"


def shortened(labels: Sequence[str]) -> list[str]:
    """Labels without the middle of long ones, of which as much is left as tells them apart.

    Examples
    --------
    >>> shortened(["short", "a-name-of-forty-letters-that-ends-in-run1"])
    ['short', 'a-name-of-fort…at-ends-in-run1']
    """
    for most in range(LONGEST, max(map(len, labels), default=0)):
        cut = [
            one if len(one) <= most else f"{one[: most // 2 - 1]}…{one[-(most // 2) :]}"
            for one in labels
        ]
        if len(set(cut)) == len(set(labels)):
            return cut
    return list(labels)
