"""What the unjudged part of a list drawn from Park's urn adds to rank-biased precision.

The module compiles with numba on first use; nothing that ``import bayeseval`` loads imports it.
"""

import numba
import numpy as np
import xarray as xr
from numpy.typing import NDArray
from scipy.stats import binom

from bayeseval.collection.choices import check_whole_numbers

_compiled = numba.njit(cache=True, nogil=True)


def urn_moments(
    n_documents: int,
    odds: float | xr.DataArray,
    *,
    relevant_probability: float | xr.DataArray | None = None,
    n_relevant: int | xr.DataArray | None = None,
    judged_depth: int,
    persistence: float = 0.8,
    length: int | None = None,
    n_topics: int = 1,
) -> xr.Dataset:
    r"""Mean and standard deviation of what unjudged ranks add to RBP, under the urn, exactly.

    A list of `length` documents is drawn from N, M of them relevant (equation 12)

    .. math:: P(b \mid c_b, c_w) = \frac{M - c_b}{(M - c_b) + w (N - M - c_w)}, \quad
              v = (1-p) \sum_{i = d + 1}^{length} r_i p^{i-1}

    with d the judged depth. Moments by recursion over the ranks, forward over the number of
    relevant documents drawn: the probability of each number, and the mean of v and of its square
    on it; nothing is approximated. With M ~ Binomial(N, q), one draw per topic (section 3.2), the
    moments are mixed over M; the mean over topics has the same mean, and the standard deviation
    over the square root of their number. What is random: M and the draws, given q and w. Cost:
    length squared per M.

    With w on the non-relevant documents, as equation 12 has it, the mean grows when w falls from 1
    (N = 100, ten judged: two- to threefold at w = .05), since the relevant documents that do not
    fit into the judged ranks crowd those just below; it goes down only where the judged ranks come
    to hold nearly all of them (q = .05, w below .1). Section 3.2 says that mean and standard
    deviation decrease with w: so they do when w is the weight of the *relevant* documents, which
    is ``odds=1 / w``.

    Parameters
    ----------
    n_documents : int
        N.
    odds : float or DataArray
        w, above 0: weight of a non-relevant document in units of that of a relevant one.
    relevant_probability : float or DataArray, optional
        q. Give this or `n_relevant`.
    n_relevant : int or DataArray, optional
        M, whole numbers.
    judged_depth : int
        d, at least 0.
    persistence : float
        p, in (0, 1).
    length : int, optional
        Ranks of the list; all N by default.
    n_topics : int
        Topics averaged over, at least 1.

    Returns
    -------
    Dataset
        ``unjudged_mean`` and ``standard_deviation``, over the dims of `odds` and the other array.

    Raises
    ------
    ValueError
        A parameter outside its range, or both or neither of `relevant_probability`, `n_relevant`.

    References
    ----------
    Park, Uncertainty in Rank-Biased Precision, ADCS 2016, sections 3.1 and 3.2, figure 3,
    doi:10.1145/3015022.3015029.

    Examples
    --------
    >>> same = urn_moments(100, 1.0, relevant_probability=0.2, judged_depth=10, n_topics=50)
    >>> same.unjudged_mean.item(), same.standard_deviation.item()  # mean .2 * .8**10
    (0.021475, 0.002025)
    """
    check_whole_numbers(1, n_topics=n_topics)
    _check(n_documents, odds, relevant_probability, n_relevant, judged_depth, persistence, length)
    weight = _rank_weights(judged_depth, persistence, length or n_documents)
    number = np.arange(n_documents + 1)

    def moments(w, known):
        if n_relevant is None:
            chance = np.exp(binom.logpmf(number, n_documents, known))
        else:
            chance = (number == known).astype(float)
        return _mixed_moments(n_documents, chance, float(w), weight)

    known = xr.DataArray(relevant_probability if n_relevant is None else n_relevant)
    mean, square = xr.apply_ufunc(
        moments, xr.DataArray(odds), known, vectorize=True, output_core_dims=[[], []]
    )
    variance = (square - mean**2).clip(0.0) / n_topics
    return xr.Dataset({"unjudged_mean": mean, "standard_deviation": variance**0.5})


def simulated_urn_means(
    n_documents: int,
    odds: float,
    relevant_probability: float,
    *,
    judged_depth: int,
    persistence: float = 0.8,
    length: int | None = None,
    n_topics: int = 50,
    n_replicates: int = 10_000,
    random_seed: int | None,
) -> xr.DataArray:
    r"""Simulation of section 3.2: what unjudged ranks add to the mean RBP of drawn lists.

    Parameters as for :func:`urn_moments`, which is exact and what this checks.

    Parameters
    ----------
    n_documents, odds, relevant_probability, judged_depth, persistence, length, n_topics
        As for :func:`urn_moments`.
    n_replicates : int
        Means to draw.
    random_seed : int or None
        Seed; the same seed gives the same draws.

    Returns
    -------
    DataArray (replicate,)
        Mean over topics of each replicate.

    References
    ----------
    Park, Uncertainty in Rank-Biased Precision, ADCS 2016, section 3.2,
    doi:10.1145/3015022.3015029.

    Examples
    --------
    >>> drawn = simulated_urn_means(100, 1.0, 0.2, judged_depth=10, random_seed=1)
    >>> round(float(drawn.mean()), 4), round(float(drawn.std()), 4)
    (0.0214, 0.002)
    """
    check_whole_numbers(1, n_topics=n_topics)
    _check(n_documents, odds, relevant_probability, None, judged_depth, persistence, length)
    weight = _rank_weights(judged_depth, persistence, length or n_documents)
    rng = np.random.default_rng(random_seed)
    means = _simulated_means(
        rng, n_replicates, n_topics, n_documents, relevant_probability, odds, weight
    )
    return xr.DataArray(means, dims="replicate")


def _rank_weights(judged_depth: int, persistence: float, length: int) -> NDArray[np.float64]:
    """Weight of every rank, 0 where it was judged."""
    weight = (1.0 - persistence) * persistence ** np.arange(length, dtype=np.float64)
    weight[:judged_depth] = 0.0
    return weight


@_compiled
def _relevant_chance(left, other, odds):
    """Equation 12: `left` relevant documents, `other` non-relevant ones of weight `odds`."""
    if left <= 0:
        return 0.0
    return 1.0 if other <= 0 else left / (left + odds * other)


@_compiled
def contribution_moments(n_documents, n_relevant, odds, weight):
    """Mean and mean square of the sum of weight[rank] * relevance[rank], exact.

    Forward over the ranks; per number of relevant documents drawn so far the probability, and the
    mean and mean square of the sum on that event.
    """
    states = min(n_relevant, weight.size) + 1
    chance, first, second = np.zeros(states), np.zeros(states), np.zeros(states)
    chance[0] = 1.0
    # From the most relevant documents down, so that what moves to c + 1 does not move again.
    for rank in range(min(weight.size, n_documents)):
        gain = weight[rank]
        for c in range(min(rank, states - 1), -1, -1):
            p = _relevant_chance(n_relevant - c, n_documents - n_relevant - rank + c, odds)
            if p > 0.0:  # never true in the last state, where no relevant document is left
                chance[c + 1] += p * chance[c]
                first[c + 1] += p * (first[c] + gain * chance[c])
                second[c + 1] += p * (second[c] + 2.0 * gain * first[c] + gain**2 * chance[c])
            chance[c] *= 1.0 - p
            first[c] *= 1.0 - p
            second[c] *= 1.0 - p
    return first.sum(), second.sum()


@_compiled
def _mixed_moments(n_documents, number_chance, odds, weight):
    """Mean and mean square where the number of relevant documents M has these probabilities."""
    mean, square = 0.0, 0.0
    for n_relevant in range(n_documents + 1):
        if number_chance[n_relevant] > 1e-20:
            of_number = contribution_moments(n_documents, n_relevant, odds, weight)
            mean += number_chance[n_relevant] * of_number[0]
            square += number_chance[n_relevant] * of_number[1]
    return mean, square


@_compiled
def _simulated_means(rng, n_replicates, n_topics, n_documents, probability, odds, weight):
    """Mean over topics of the weighted relevances of drawn lists, per replicate."""
    out = np.zeros(n_replicates)
    for replicate in range(n_replicates):
        for _ in range(n_topics):
            left = rng.binomial(n_documents, probability)
            other = n_documents - left
            for rank in range(min(weight.size, n_documents)):
                if rng.random() < _relevant_chance(left, other, odds):
                    left -= 1
                    out[replicate] += weight[rank]
                else:
                    other -= 1
        out[replicate] /= n_topics
    return out


def _check(n_documents, odds, probability, n_relevant, judged_depth, persistence, length) -> None:
    """Refuse parameters outside their ranges."""
    check_whole_numbers(1, n_documents=n_documents, length=1 if length is None else length)
    check_whole_numbers(0, judged_depth=judged_depth)
    if not (np.asarray(odds) > 0).all():
        raise ValueError(f"odds must be above 0, not {np.min(np.asarray(odds))}.")
    if (probability is None) == (n_relevant is None):
        raise ValueError("give relevant_probability or n_relevant, one of the two.")
    if probability is not None and not _within(probability, 0.0, 1.0):
        raise ValueError(f"relevant_probability must lie in [0, 1], not {probability!r}.")
    if n_relevant is not None and not _within(n_relevant, 0, n_documents):
        raise ValueError(f"n_relevant must lie between 0 and n_documents, not {n_relevant!r}.")
    if n_relevant is not None and (np.asarray(n_relevant) % 1 != 0).any():
        raise ValueError(f"n_relevant must be a whole number of documents, not {n_relevant!r}.")
    if not 0.0 < persistence < 1.0:
        raise ValueError(f"persistence must lie between 0 and 1, not {persistence!r}.")
    if length is not None and length > n_documents:
        raise ValueError(f"length must be at most n_documents, {n_documents}, not {length}.")


def _within(value, low: float, high: float) -> bool:
    return bool(((np.asarray(value) >= low) & (np.asarray(value) <= high)).all())
