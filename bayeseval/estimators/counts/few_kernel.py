"""Where a topic's few relevant documents are (compiled; import inside functions).

D relevant documents are any D of a topic's documents with a probability that is proportional to the
product of their odds. Sums of such products over all choices are the coefficients of

    prod_c (1 + omega_c z)^n_c

by powers of z, which are multiplied out cell by cell; slopes go back the same way.
"""

import numba
import numpy as np


@numba.njit(cache=True, nogil=True)
def binomials(odds, size, out):
    """Coefficients (cell, number) of each cell's factor, up to a number of documents."""
    for cell in range(odds.size):
        out[cell, 0] = 1.0
        for number in range(1, out.shape[1]):
            ways = max(size[cell] - number + 1.0, 0.0) / number
            out[cell, number] = out[cell, number - 1] * odds[cell] * ways


@numba.njit(cache=True, nogil=True)
def products(factor, size, out):
    """Coefficients (cell + 1, number) of the product of the factors before each cell."""
    n = factor.shape[1]
    out[0] = 0.0
    out[0, 0] = 1.0
    reached = 1  # coefficients that are not 0
    for cell in range(factor.shape[0]):
        most = min(int(size[cell]), n - 1)
        out[cell + 1] = 0.0
        for here in range(most + 1):
            times = factor[cell, here]
            for number in range(min(reached, n - here)):
                out[cell + 1, number + here] += times * out[cell, number]
        reached = min(reached + most, n)


@numba.njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def slopes(factor, size, before, slope, out, sign):
    """Add to ``out`` (cell,) what the log odds of each cell are to a function of the product.

    ``slope`` (number,), its slope by the coefficients of the whole product, is overwritten.
    """
    n = factor.shape[1]
    carried = np.empty(n)
    for cell in range(factor.shape[0] - 1, -1, -1):
        most = min(int(size[cell]), n - 1)
        if most == 0:
            continue
        carried[:] = slope
        for here in range(1, most + 1):
            times = factor[cell, here]
            of_factor = 0.0
            for number in range(n - here):
                of_factor += before[cell, number] * slope[number + here]
                carried[number] += times * slope[number + here]
            out[cell] += sign * here * times * of_factor
        slope[:] = carried


@numba.njit(cache=True, nogil=True)
def likelihood_of_few(start, relevant, left, size, log_odds, log_prior, log_weight, sloping):
    """Log likelihood (topic,), posterior (node, topic, number), slopes by log odds (node, cell).

    ``relevant`` (cell,) of the sampled documents, ``left`` those not sampled, ``size`` all;
    ``log_odds`` (node, cell), those of a topic 0 at most; ``log_prior`` (number,) and
    ``log_weight`` (node,) are what numbers and nodes are likely to be. Slopes are 0 unless
    ``sloping``.
    """
    n_nodes, n_topics, n = log_odds.shape[0], start.size - 1, log_prior.size
    likelihood = np.zeros(n_topics)
    posterior = np.zeros((n_nodes, n_topics, n))
    gradient = np.zeros(log_odds.shape)
    most_cells = np.diff(start).max()
    factor = np.zeros((n_nodes, 2, most_cells, n))
    before = np.zeros((n_nodes, 2, most_cells + 1, n))
    slope = np.zeros(n)
    for topic in range(n_topics):
        first, last = start[topic], start[topic + 1]
        cells = last - first
        seen = int(relevant[first:last].sum())
        highest = -np.inf
        for node in range(n_nodes):
            odds = np.exp(log_odds[node, first:last])
            odds /= (odds * size[first:last]).sum()
            binomials(odds, left[first:last], factor[node, 0, :cells])
            binomials(odds, size[first:last], factor[node, 1, :cells])
            products(factor[node, 0, :cells], left[first:last], before[node, 0])
            products(factor[node, 1, :cells], size[first:last], before[node, 1])
            placed = log_weight[node] + (relevant[first:last] * np.log(odds)).sum()
            for number in range(n):
                posterior[node, topic, number] = -np.inf
                if number >= seen:
                    unseen = before[node, 0, cells, number - seen]
                    whole = before[node, 1, cells, number]
                    if unseen > 0.0 and whole > 0.0:
                        value = placed + log_prior[number] + np.log(unseen) - np.log(whole)
                        posterior[node, topic, number] = value
                        highest = max(highest, value)
        total = 0.0
        for node in range(n_nodes):
            for number in range(n):
                mass = np.exp(posterior[node, topic, number] - highest)
                posterior[node, topic, number] = mass
                total += mass
        likelihood[topic] = highest + np.log(total)
        for node in range(n_nodes):
            weight = 0.0
            for number in range(n):
                posterior[node, topic, number] /= total
                weight += posterior[node, topic, number]
            if not sloping:
                continue
            gradient[node, first:last] += weight * relevant[first:last]
            for which in range(2):
                for number in range(n):
                    slope[number] = 0.0
                for number in range(seen, n):
                    at = number - seen if which == 0 else number
                    if posterior[node, topic, number] > 0.0:
                        slope[at] = posterior[node, topic, number] / before[node, which, cells, at]
                slopes(
                    factor[node, which, :cells],
                    left[first:last] if which == 0 else size[first:last],
                    before[node, which],
                    slope,
                    gradient[node, first:last],
                    1.0 if which == 0 else -1.0,
                )
    return likelihood, posterior, gradient


@numba.njit(cache=True, nogil=True)
def expected_places(start, left, log_odds, node, number, out):
    """Expected relevant among the ``left`` documents of each cell, (cell, draw), to ``out``.

    Of ``number`` (topic, draw) that are left in all, at the node (topic, draw): each document as
    likely as if it were by itself, with odds that make up the number.
    """
    for topic in range(start.size - 1):
        first, last = start[topic], start[topic + 1]
        whole = left[first:last].sum()
        for draw in range(number.shape[1]):
            wanted = min(float(number[topic, draw]), whole)
            if wanted <= 0.0:
                continue
            eta = log_odds[node[topic, draw], first:last]
            low, high = -60.0, 60.0
            for _ in range(45):  # by halves
                middle = 0.5 * (low + high)
                if (left[first:last] / (1.0 + np.exp(-eta - middle))).sum() < wanted:
                    low = middle
                else:
                    high = middle
            for cell in range(first, last):
                chance = 1.0 / (1.0 + np.exp(-eta[cell - first] - high))
                out[cell, draw] = left[cell] * chance
