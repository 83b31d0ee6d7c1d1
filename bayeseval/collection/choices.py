"""Options that must be one of a few values."""

from collections.abc import Iterable

from bayeseval.messages import Message, Option


def check_choice(name: str, value: object, allowed: Iterable[str]) -> None:
    """Refuse a value that an option does not have, and list those it has.

    Raises
    ------
    ValueError
        Where `value` is not one of `allowed`.

    Examples
    --------
    >>> check_choice("outside", "nonrelevant", ("nonrelevant", "missing"))
    >>> check_choice("outside", "none", ("nonrelevant", "missing"))
    Traceback (most recent call last):
    ValueError: outside must be one of nonrelevant, missing, not 'none'
    """
    allowed = tuple(allowed)
    if value not in allowed:
        listed = ", ".join(str(choice) for choice in allowed)
        raise ValueError(Message(Option(name), f" must be one of {listed}, not {value!r}"))
