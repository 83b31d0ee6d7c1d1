"""P values of differences between runs, adjusted for many comparisons."""

import numpy as np
from numpy.typing import NDArray

CHUNK = 200_000  # shuffled scores held at once

Floats = NDArray[np.floating]
Pairs = tuple[NDArray[np.int64], NDArray[np.int64]]


def student_p(difference: Floats, error: Floats, freedom: Floats) -> Floats:
    """Two-sided p value of a difference of 0 by Student's t; infinite freedom is the normal.

    NaN gives NaN; an exact 0 (no difference and no error) gives 1.
    """
    return np.minimum(2.0 * upper_tail(np.abs(difference), error, freedom), 1.0)


def upper_tail(difference: Floats, error: Floats, freedom: Floats) -> Floats:
    """Probability that Student's t lies above difference / error; exact where the error is 0."""
    from scipy.special import ndtr, stdtr

    difference, error, freedom = np.broadcast_arrays(difference, error, freedom)
    exact = error == 0
    sure = np.where(difference == 0, 0.0, np.where(difference > 0, np.inf, -np.inf))
    ratio = np.where(exact, sure, difference / np.where(exact, 1.0, error))
    normal = np.isinf(freedom)
    student = stdtr(np.where(normal, 1.0, freedom), -ratio)
    # degrees of freedom may be unknown where nothing is left to be known
    return np.where(normal | exact, ndtr(-ratio), student)


def holm(p_value: Floats) -> Floats:
    """P values adjusted by Holm's step-down, over the last axis; NaN stays NaN and counts for none.

    The smallest is multiplied by their number, the next by one less, and so on, no adjusted value
    being below one before it: the chance of any false rejection stays below the level, whatever the
    dependence.

    References
    ----------
    S. Holm, "A simple sequentially rejective multiple test procedure", Scandinavian Journal of
    Statistics 6 (1979).
    """
    order = np.argsort(p_value, axis=-1)  # NaN last
    ordered = np.take_along_axis(p_value, order, axis=-1)
    number = np.count_nonzero(~np.isnan(p_value), axis=-1)[..., None]
    factor = number - np.arange(p_value.shape[-1])
    adjusted = np.minimum(np.fmax.accumulate(ordered * factor, axis=-1), 1.0)
    adjusted = np.where(np.isnan(ordered), np.nan, adjusted)
    result = np.empty_like(adjusted)
    np.put_along_axis(result, order, adjusted, axis=-1)
    return result


def tukey_randomised(
    scores: Floats, pairs: Pairs, *, n_permutations: int, random: np.random.Generator
) -> Floats:
    """Tukey's honest significant difference, its null distribution by randomisation.

    Under the null hypothesis that all runs are alike, a topic's ``scores`` (topic, run) could stand
    under any of the runs. Each permutation shuffles the scores of every topic over the runs; the p
    value of a pair is the share of permutations, the observed one among them, whose largest mean
    difference among the compared ``pairs``, positions of runs (for all pairs: largest mean less
    smallest) is at least the pair's.

    References
    ----------
    B. Carterette, "Multiple testing in statistical analysis of systems-based information retrieval
    experiments", ACM TOIS 30 (2012), doi:10.1145/2094072.2094076.
    """
    first, second = pairs
    observed = np.abs((scores[:, first] - scores[:, second]).mean(axis=0))
    largest = permuted_maximum(scores, pairs, n_permutations=n_permutations, random=random)
    # rounding must not part a difference from the same one found under a permutation
    return share_at_least(observed - 1e-10, largest)


def permuted_maximum(
    scores: Floats, pairs: Pairs, *, n_permutations: int, random: np.random.Generator
) -> Floats:
    """Largest absolute mean difference (permutation,) of the compared pairs."""
    n_runs = scores.shape[1]
    first, second = pairs
    every = first.size == n_runs * (n_runs - 1) // 2
    largest = np.empty(n_permutations)
    rows = max(CHUNK // scores.size, 1)
    for start in range(0, n_permutations, rows):
        size = min(rows, n_permutations - start)
        shuffled = np.broadcast_to(scores, (size, *scores.shape)).copy()
        random.permuted(shuffled, axis=-1, out=shuffled)
        mean = shuffled.mean(axis=1)
        largest[start : start + size] = (
            np.ptp(mean, axis=1) if every else np.abs(mean[:, first] - mean[:, second]).max(axis=1)
        )
    return largest


def share_at_least(observed: Floats, largest: Floats) -> Floats:
    """Share of drawn maxima at or above each observed one, itself among them: a p value.

    Of those observed (comparison,) NaN stays; ``largest`` (draw,) are maxima over the comparisons,
    drawn under the hypothesis that no two runs differ.
    """
    ordered = np.sort(largest)
    number = largest.size - np.searchsorted(ordered, observed, side="left")
    return np.where(np.isnan(observed), np.nan, (1.0 + number) / (1.0 + largest.size))
