"""Sizes of strata and how many documents are drawn from each, for one topic."""

import numpy as np


def exponential_sizes(n_documents: int, n_strata: int, smallest: int) -> np.ndarray:
    """Sizes of strata that grow exponentially and cover ``n_documents``.

    |S_i| = floor(s (1 + a)^i) for all strata but the last, which takes the rest; s = ``smallest``
    and a is the smallest growth rate with sum_i floor(s (1 + a)^i) >= n_documents. Where strata of
    size s already cover the documents there is no growth: strata of size s until the documents are
    used up.

    References
    ----------
    Cormack and Grossman (2019), Unbiased low-variance estimators, section 4, without the stray
    factor s in the sum and with the last size read as |S_(N-1)|.
    """
    if n_documents <= n_strata * smallest:
        full, rest = divmod(n_documents, smallest)
        return np.array([smallest] * full + [rest] * (rest > 0), dtype=np.int64)
    if n_strata == 1:
        return np.array([n_documents], dtype=np.int64)
    power = np.arange(n_strata)

    def sizes(growth):
        return np.floor(smallest * (1.0 + growth) ** power)

    low, high = 0.0, 1.0
    while sizes(high).sum() < n_documents:
        high *= 2.0
    while high - low > 1e-13 * high:
        middle = 0.5 * (low + high)
        low, high = (low, middle) if sizes(middle).sum() >= n_documents else (middle, high)
    cumulative = np.minimum(np.cumsum(sizes(high)[:-1]), n_documents)
    return np.diff(np.concatenate([[0.0], cumulative, [n_documents]])).astype(np.int64)


def equal_sizes(n_documents: int, n_strata: int) -> np.ndarray:
    """Sizes of ``n_strata`` strata as equal as can be, larger ones first, none empty."""
    base, rest = divmod(n_documents, n_strata)
    sizes = np.full(n_strata, base, dtype=np.int64)
    sizes[:rest] += 1
    return sizes[sizes > 0]


def allocated(sizes: np.ndarray, budget: int) -> np.ndarray:
    """How many documents to draw from each stratum: equal numbers, the remainder from the top down.

    A stratum never gives more than it holds; what it cannot give goes to the others, top first, so
    that exactly min(budget, sum of sizes) documents are drawn.
    """
    drawn = np.zeros(sizes.size, dtype=np.int64)
    left = min(budget, int(sizes.sum()))
    while left > 0:
        room = np.flatnonzero(drawn < sizes)
        share = left // room.size
        if share == 0:
            drawn[room[:left]] += 1
            break
        step = np.minimum(share, sizes[room] - drawn[room])
        drawn[room] += step
        left -= int(step.sum())
    return drawn


def without_lone_draw(sizes: np.ndarray, drawn: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Strata of which no single one has chance, with a single draw that tells no error.

    Where all strata but one are judged in full, and of that one a single document is drawn, it is
    joined with the stratum before it (or after it, the first).
    """
    partly = np.flatnonzero(drawn < sizes)
    if sizes.size < 2 or partly.size != 1 or drawn[partly[0]] != 1:
        return sizes, drawn
    first = max(int(partly[0]) - 1, 0)
    starts = np.delete(np.arange(sizes.size), first + 1)
    return np.add.reduceat(sizes, starts), np.add.reduceat(drawn, starts)
