"""Numbers of priors: the defaults of a model, and what the user gave instead."""

from collections.abc import Mapping
from typing import Any

import numpy as np


def checked_priors(
    defaults: Mapping[str, tuple[float, ...]], given: Mapping[str, Any] | None
) -> dict[str, tuple[np.float64, ...]]:
    """Numbers of every prior, as float64: a bare number would lose precision in a graph.

    Examples
    --------
    >>> checked_priors({"run_sd": (1.0,), "log_odds": (-1.5, 1.5)}, {"run_sd": 0.2})["run_sd"]
    (np.float64(0.2),)
    """
    given = {} if given is None else given
    if not isinstance(given, Mapping):
        raise ValueError(
            f"priors maps names to numbers, and is this {type(given).__name__}; priors: "
            f"{', '.join(defaults)}"
        )
    values = dict(defaults)
    for name, asked in given.items():
        if name not in defaults:
            raise ValueError(f"there is no prior '{name}'; priors: {', '.join(defaults)}")
        try:
            numbers = tuple(np.atleast_1d(np.asarray(asked, dtype=float)).tolist())
        except (TypeError, ValueError):
            numbers = ()
        wrong = len(numbers) != len(defaults[name]) or not np.isfinite(numbers).all()
        if wrong or not numbers or numbers[-1] <= 0:
            form = "(mean, sd)" if len(defaults[name]) == 2 else "a scale"
            raise ValueError(f"prior '{name}' is {asked!r}; allowed: {form}, the spread above 0")
        values[name] = numbers
    return {name: tuple(np.float64(number) for number in part) for name, part in values.items()}
