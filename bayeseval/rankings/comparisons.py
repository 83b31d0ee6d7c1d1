"""What comparisons of runs have in common: probabilities, and regions of practical equivalence."""

from collections.abc import Mapping, Sequence
from numbers import Real

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from bayeseval.collection.choices import check_choice
from bayeseval.messages import Message, Option
from bayeseval.rankings.difference_prior import learned_weights, probability_positive
from bayeseval.rankings.evidence import Evidence
from bayeseval.rankings.separation import studentised
from bayeseval.significance import upper_tail

PRIORS = ("normal", "flat")

Floats = NDArray[np.floating]


def chosen_prior(prior: str | None, evidence: Evidence) -> str | None:
    """The prior asked for, else that of such estimates; None for draws, which have their own."""
    if evidence.draws is not None:
        if prior is not None:
            raise ValueError("posterior draws have the prior of their model; leave prior= out")
        return None
    prior = prior or ("flat" if evidence.combined else "normal")
    check_choice("prior", prior, PRIORS)
    return prior


def prior_weights(estimate: Floats, error: Floats, freedom: Floats | float, n_runs: int) -> Floats:
    """Weights of a normal prior of differences, learned from all pairs (pair,) of so many runs.

    Differences from one run would not do: all share its error, so they look as if they were more
    alike, or further apart, than runs are. Each pair counts once.
    """
    z = np.where(error > 0, studentised(estimate, error, freedom), np.nan)
    return learned_weights(z, n_runs)


def probability_better(
    estimate: Floats, error: Floats, freedom: Floats, weights: Sequence[Floats] | None
) -> Floats:
    """Probability that each difference is above 0; NaN where its error is not known.

    Arrays (measure, comparison) that broadcast together; ``weights`` are of :func:`prior_weights`
    for each measure, or None: the prior is flat.
    """
    z = studentised(estimate, error, freedom)
    priors = weights or [None] * len(z)
    result = [probability_positive(row, weight) for row, weight in zip(z, priors, strict=True)]
    return np.where(np.isnan(error), np.nan, np.stack(result))


def equivalence_margins(
    equivalence: float | Mapping[str, float] | None, measures: NDArray
) -> Floats | None:
    """Largest difference without practical meaning for each measure, or None.

    Examples
    --------
    >>> equivalence_margins({"P@10": 0.02, "AP": 0.01}, np.array(["AP", "P@10"]))
    array([0.01, 0.02])
    """
    if equivalence is None:
        return None
    if isinstance(equivalence, Mapping):
        lacking = [str(label) for label in measures if label not in equivalence]
        if lacking:
            raise ValueError(
                f"equivalence has no value for {lacking[0]}; it has some for "
                f"{', '.join(map(str, equivalence))}"
            )
        given = [equivalence[label] for label in measures]
    else:
        given = [equivalence] * measures.size
    for value in given:
        if not isinstance(value, Real):
            raise ValueError(Message(Option("equivalence"), f" must be a number, not {value!r}"))
    values = np.array(given, dtype=float)
    if not (values > 0).all():
        raise ValueError(Message(Option("equivalence"), f" must be above 0, not {values.min():g}"))
    return values


def equivalence_probability(
    estimate: Floats, error: Floats, freedom: Floats, margin: Floats
) -> Floats:
    """Probability under a flat prior that a difference lies within the margin on either side."""
    above = upper_tail(margin - estimate, error, freedom)
    below = upper_tail(margin + estimate, error, freedom)
    return 1.0 - above - below


def with_equivalence(
    result: xr.Dataset, probability: Floats, p_value: Floats | None, margin: Floats
) -> xr.Dataset:
    """Comparisons with what is said of practical equivalence."""
    dims = ("measure", "comparison")
    result = result.assign(
        probability_equivalent=(dims, probability), equivalence=("measure", margin)
    )
    if p_value is None:
        return result
    equivalent = p_value <= 0.5 * (1.0 - result.attrs["ci_prob"])
    return result.assign(p_equivalence=(dims, p_value), equivalent=(dims, equivalent))
