"""Options that must be one of a few values, or a number in a range."""

from collections.abc import Iterable

import numpy as np

from bayeseval.messages import Message, Option

LARGEST = 2**63 - 1  # of the integers that arrays and files hold


def check_choice(name: str, value: object, allowed: Iterable[str]) -> None:
    """Refuse a value that an option does not have, and list those it has."""
    allowed = tuple(allowed)
    if value not in allowed:
        listed = ", ".join(str(choice) for choice in allowed)
        raise ValueError(Message(Option(name), f" must be one of {listed}, not {value!r}"))


def check_ci_prob(ci_prob: float) -> None:
    """Refuse a probability of coverage that no interval has."""
    if np.ndim(ci_prob) or np.asarray(ci_prob).dtype.kind not in "fiu":
        raise ValueError(
            Message(Option("ci_prob"), f" must be a number between 0 and 1, not {ci_prob!r}")
        )
    if not 0.0 < ci_prob < 1.0:
        raise ValueError(Message(Option("ci_prob"), f" must lie between 0 and 1, not {ci_prob}"))


def check_seed(random_seed: int | None) -> None:
    """Refuse a seed that no generator takes."""
    if random_seed is not None:
        check_whole_numbers(0, None, random_seed=random_seed)


def generator(random_seed: int | None) -> np.random.Generator:
    """NumPy's generator of a seed that was checked."""
    check_seed(random_seed)
    return np.random.default_rng(random_seed)


def check_whole_numbers(least: int, most: int | None = LARGEST, /, **numbers) -> None:
    """Refuse numbers of things that are no integers, or below the least or above the most."""
    for name, number in numbers.items():
        if not is_whole(number) or number < least:
            allowed = f"allowed: a whole number, {least} or more"
            if isinstance(number, float | np.floating) and number.is_integer() and number >= least:
                allowed += f", as an int: {int(number)}"
            raise ValueError(Message(Option(name), f" is {number!r}; {allowed}"))
        if most is not None and number > most:
            allowed = f"allowed: a whole number from {least} to {most}"
            raise ValueError(Message(Option(name), f" is {number!r}; {allowed}"))


def is_whole(number: object) -> bool:
    """Whether this is an integer; True and False are none."""
    return isinstance(number, int | np.integer) and not isinstance(number, bool)


def check_several_topics(number: int, what: str = "topics") -> None:
    """Refuse to speak of the population of topics by one topic, or by one group of them."""
    if number < 2:
        raise ValueError(
            Message(
                Option("population", "topics"),
                f" needs 2 {what} with judgments or more, to see how scores differ between {what}",
            )
        )
