"""What comparisons of runs have in common: probabilities, and regions of practical equivalence."""

from collections.abc import Iterable, Mapping
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


def prior_knowledge(estimate: Floats, error: Floats, freedom: Floats | float) -> Floats:
    """What a normal prior of differences is learned from: all pairs, NaN where nothing is random.

    Differences from one run would not do: all share its error, so they look as if they were more
    alike, or further apart, than runs are. Each pair counts once; the arrays broadcast together.
    """
    return np.where(error > 0, studentised(estimate, error, freedom), np.nan)


def probability_better(
    estimate: Floats, error: Floats, freedom: Floats, z_of_pairs: Iterable[Floats] | None
) -> Floats:
    """Probability that each difference is above 0; NaN where its error is not known.

    Arrays (measure, comparison) that broadcast together; ``z_of_pairs`` are of
    :func:`prior_knowledge`, (pair,) for each measure, or None: the prior is flat.
    """
    z = studentised(estimate, error, freedom)
    weights = [None] * len(z)
    if z_of_pairs is not None:
        weights = [learned_weights(every, _n_runs(every.size)) for every in z_of_pairs]
    result = [probability_positive(row, weight) for row, weight in zip(z, weights, strict=True)]
    return np.where(np.isnan(error), np.nan, np.stack(result))


def _n_runs(n_pairs: int) -> int:
    """Number of runs that have so many pairs."""
    return round(0.5 + np.sqrt(0.25 + 2 * n_pairs))


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
