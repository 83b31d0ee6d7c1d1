"""Which runs are found apart: studentised maxima over pairs with step-down, or posterior draws."""

import numpy as np
from numpy.typing import NDArray

from bayeseval.rankings.evidence import Evidence, errors_of_differences
from bayeseval.rounding import ratio, settled

Floats = NDArray[np.floating]
Pairs = NDArray[np.bool_]


def studentised(difference: Floats, error: Floats, freedom: Floats | float) -> Floats:
    """Differences over their errors as standard normal quantiles.

    Student's t is brought to the normal scale at equal tail probability. A difference without error
    is infinite, and 0 where the runs are one and the same.

    Examples
    --------
    >>> studentised(np.array([2.0, 2.0]), np.array([1.0, 1.0]), np.array([np.inf, 5.0])).round(3)
    array([2.   , 1.636])
    """
    from scipy.special import ndtri, stdtr

    difference = settled(difference)  # between runs without an error apart
    with np.errstate(divide="ignore", invalid="ignore"):
        size = np.where(difference == 0, 0.0, np.abs(difference) / error)
    known = np.isinf(freedom) | np.isinf(size) | np.isnan(freedom)
    tail = stdtr(np.where(known, 1.0, np.maximum(freedom, 1.0)), -np.where(known, 0.0, size))
    return np.sign(difference) * np.where(known, size, -ndtri(np.maximum(tail, 1e-300)))


def separated(
    evidence: Evidence,
    *,
    ci_prob: float,
    simultaneous: bool,
    n_draws: int,
    random: np.random.Generator,
) -> Pairs:
    """Pairs (2, run, run_other) of which the first is found better, and of which the second.

    [0, r, s]: r is found better than s; [1, r, s]: s is found better than r. With the probability
    ``ci_prob`` no pair is found the wrong way: among all pairs (``simultaneous``), or among the
    pairs of each run r, and then a row and its column need not agree. ``n_draws`` are of the joint
    normal distribution of the errors.
    """
    if evidence.draws is not None:
        return _posterior(evidence, ci_prob, simultaneous)
    error = evidence.error
    statistic = studentised(evidence.difference, error, evidence.freedom)
    joint = evidence.covariance if evidence.joint is None else evidence.joint
    first = (error == 0).argmax(axis=1)  # runs that are one and the same err as one
    joint = joint[first][:, first]
    errors, drawn_error = normal_draws(joint, n_draws, random), errors_of_differences(joint)
    certain = np.isposinf(statistic)
    every = (error > 0) & ~certain  # not of runs that are one and the same
    if simultaneous:
        found = certain | _step_down(statistic, every, drawn_error, errors, ci_prob)
        return np.stack([found, found.T])
    found = np.stack([certain, certain.T])
    for run in range(len(error)):
        own = np.zeros_like(every)
        own[run], own[:, run] = every[run], every[:, run]
        rejected = _step_down(statistic, own, drawn_error, errors, ci_prob)
        found[:, run] |= np.stack([rejected[run], rejected[:, run]])
    return found


def normal_draws(covariance: Floats, n_draws: int, random: np.random.Generator) -> Floats:
    """Draws (draw, run) of a normal distribution around 0, whose matrix may be singular."""
    value, vector = np.linalg.eigh(covariance)
    rounding = 10 * value.size * np.finfo(float).eps * max(value[-1], 0.0)
    root = vector * np.sqrt(np.where(value > rounding, value, 0.0))
    return random.standard_normal((n_draws, value.size)) @ root.T


def covariance_of_differences(square: Floats) -> Floats:
    """Covariance around the mean run whose differences have these variances, (run, run).

    Twice centred, as in multidimensional scaling; what makes it indefinite is left out when it is
    drawn from.
    """
    row = square.mean(axis=0)
    return -0.5 * (square - row - row[:, None] + row.mean())


def _step_down(
    statistic: Floats, family: Pairs, error: Floats, errors: Floats, ci_prob: float
) -> Pairs:
    """Pairs of a family that are found apart, where the first of a pair is said to be better.

    The hypotheses, that it is not, whose statistic exceeds the quantile of the largest over the
    family are rejected, and the family is what is left, until nothing more is rejected (Romano and
    Wolf 2005). ``errors`` (draw, run) are drawn, and differ with the standard ``error`` (run, run).
    """
    from bayeseval.rankings.largest_ratio import largest_ratio

    rejected = np.zeros_like(family)
    while family.any():
        pairs = np.nonzero(family)
        inverse = ratio(1.0, error[pairs])
        limit = np.quantile(largest_ratio(errors, *pairs, inverse), ci_prob)
        more = family & (statistic > limit)
        if not more.any():
            break
        rejected |= more
        family = family & ~more
    return rejected


def _posterior(evidence: Evidence, ci_prob: float, simultaneous: bool) -> Pairs:
    """As many statements "r is better than s" as hold together with the posterior probability.

    Statements are taken in the order of their studentised difference: all above the smallest limit
    with which the draws contradict none of them in a share ``ci_prob`` of the cases.
    """
    draws = evidence.draws
    assert draws is not None
    with np.errstate(divide="ignore", invalid="ignore"):
        statistic = np.where(evidence.difference == 0, 0.0, evidence.difference / evidence.error)
    contradicted = np.full((len(evidence.estimate), len(draws)), -np.inf)  # by run and draw
    for run in range(len(contradicted)):
        apart = settled(draws[:, [run]] - draws, draws)
        for sign in (1.0, -1.0):  # this run said to be better, or worse
            stated = np.where(sign * statistic[run] > 0, sign * statistic[run], -np.inf)
            wrong = sign * apart <= 0
            wrong[:, run] = False
            broken = np.where(wrong, stated, -np.inf).max(axis=1)
            np.maximum(contradicted[run], broken, out=contradicted[run])
    if simultaneous:
        contradicted[:] = contradicted.max(axis=0)
    limit = np.quantile(contradicted, ci_prob, axis=1, method="higher")
    limit = np.maximum(limit, 0.0)[:, None]
    return np.stack([statistic > limit, -statistic > limit])
