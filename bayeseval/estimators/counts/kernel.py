"""Counts of all topics, integrated over topic effects (compiled; import inside functions).

The relevant among the sampled documents of cell c are Binomial(n_c, p_c) with
logit p_c = eta_c + u_0 + u_1 z_c, and the pair (u_0, u_1) of a topic is normal. The integral over
the pair is a Gauss-Hermite rule around its mode, scaled by the curvature there.
"""

import numba
import numpy as np

FEW = 8.0  # sampled documents of a cell up to which a product is faster than a logarithm
FARTHEST_LOGIT = 230.0  # odds of which can be multiplied with each other
LARGEST = 600.0  # log of what a product may come to


@numba.njit(cache=True, nogil=True)
def topic_mode(relevant, sampled, eta, slope, precision, mode):
    """Newton's method from ``mode``, which it overwrites; the three entries of the curvature."""
    curvature = np.zeros(3)
    damping, last0, last1, last = 1.0, 0.0, 0.0, 0.0
    for _ in range(100):
        u0, u1 = mode[0], mode[1]
        # gradient and curvature of the normal prior
        g0 = -(precision[0, 0] * u0 + precision[0, 1] * u1)
        g1 = -(precision[0, 1] * u0 + precision[1, 1] * u1)
        h00, h01, h11 = precision[0, 0], precision[0, 1], precision[1, 1]
        # and of the binomial counts
        for cell in range(relevant.size):
            if sampled[cell] > 0.0:
                p = 1.0 / (1.0 + np.exp(-(eta[cell] + u0 + u1 * slope[cell])))
                residual = relevant[cell] - sampled[cell] * p
                information = sampled[cell] * p * (1.0 - p)
                g0 += residual
                g1 += residual * slope[cell]
                h00 += information
                h01 += information * slope[cell]
                h11 += information * slope[cell] ** 2
        # the step, shortened where it is long, or goes back as far as the last one came
        determinant = h00 * h11 - h01 * h01
        d0 = (h11 * g0 - h01 * g1) / determinant
        d1 = (h00 * g1 - h01 * g0) / determinant
        size = max(abs(d0), abs(d1))
        if d0 * last0 + d1 * last1 < 0.0 and min(size, 1.5) > 0.5 * last:
            damping *= 0.5
        else:
            damping = min(1.0, 1.2 * damping)
        shrink = damping * min(1.0, 1.5 / size) if size > 0.0 else 1.0
        last0, last1, last = d0, d1, shrink * size
        mode[0] += shrink * d0
        mode[1] += shrink * d1
        curvature[0], curvature[1], curvature[2] = h00, h01, h11
        if size < 1e-7:
            break
    return curvature


@numba.njit(cache=True, nogil=True)
def place_nodes(mode, curvature, point, node):
    """Fill ``node`` (node, 2) with the rule's points around the mode; the root that scales them."""
    determinant = curvature[0] * curvature[2] - curvature[1] ** 2
    # root of the inverse curvature
    l00 = np.sqrt(curvature[2] / determinant)
    l10 = -curvature[1] / determinant / l00
    l11 = np.sqrt(max(curvature[0] / determinant - l10 * l10, 1e-300))
    j = 0
    for first in point:
        for second in point:
            node[j, 0] = mode[0] + l00 * first
            node[j, 1] = mode[1] + l10 * first + l11 * second
            j += 1
    return l00, l10, l11


@numba.njit(cache=True, nogil=True)
def place_odds(centre, first, second, point, odds):
    """Fill ``odds`` (node,) with exp(centre + first x + second y) at the points (x, y).

    One exponential per pair of opposite points each way and products of two, which takes a tenth
    of the time. The points are in order, as far up as down.
    """
    n, middle = point.size, point.size // 2
    above, along = np.empty(n), np.empty(n)
    centre = np.exp(centre)
    above[middle], along[middle] = centre, 1.0
    for i in range(middle):
        low, left = np.exp(first * point[i]), np.exp(second * point[i])
        above[i], above[n - 1 - i] = centre * low, centre / low
        along[i], along[n - 1 - i] = left, 1.0 / left
    for i in range(n):
        for j in range(n):
            odds[i * n + j] = above[i] * along[j]


@numba.njit(cache=True, nogil=True)
def place_densities(relevant, sampled, eta, slope, precision, mode, root, point, node, p, density):
    """Log density of one topic's counts and effects at its nodes; ``p`` (cell, node) is filled.

    log(1 + odds) of cells with few sampled documents are added as the log of a product.
    """
    n_nodes = node.shape[0]
    # what is linear in the effects, and the effects
    linear, along_0, along_1 = 0.0, 0.0, 0.0
    for cell in range(relevant.size):
        if sampled[cell] > 0.0:
            linear += relevant[cell] * eta[cell]
            along_0 += relevant[cell]
            along_1 += relevant[cell] * slope[cell]
    for j in range(n_nodes):
        u0, u1 = node[j, 0], node[j, 1]
        density[j] = linear + along_0 * u0 + along_1 * u1
        density[j] -= 0.5 * precision[0, 0] * u0 * u0 + precision[0, 1] * u0 * u1
        density[j] -= 0.5 * precision[1, 1] * u1 * u1
    # the counts: log(1 + odds) for every sampled document
    product, held = np.ones(n_nodes), 0.0  # no product is above exp(held)
    farthest = point[-1]  # the points are in order, as far up as down
    for cell in range(relevant.size):
        n = sampled[cell]
        if n == 0.0:
            continue
        first, second = root[0] + root[1] * slope[cell], root[2] * slope[cell]
        centre = eta[cell] + mode[0] + mode[1] * slope[cell]
        reach = farthest * (abs(first) + abs(second))
        if abs(centre) + reach > FARTHEST_LOGIT:
            place_extreme(n, eta[cell], slope[cell], node, p[cell], density)
            continue
        place_odds(centre, first, second, point, p[cell])
        rise = n * (max(centre + reach, 0.0) + 0.7)
        if n > FEW or n != np.floor(n) or rise > LARGEST:
            for j in range(n_nodes):
                density[j] -= n * np.log(1.0 + p[cell, j])
        else:
            if held + rise > LARGEST:
                for j in range(n_nodes):
                    density[j] -= np.log(product[j])
                    product[j] = 1.0
                held = 0.0
            held += rise
            for _ in range(int(n)):
                for j in range(n_nodes):
                    product[j] *= 1.0 + p[cell, j]
        for j in range(n_nodes):
            p[cell, j] /= 1.0 + p[cell, j]
    for j in range(n_nodes):
        density[j] -= np.log(product[j])


@numba.njit(cache=True, nogil=True)
def place_extreme(n, eta, slope, node, p, density):
    """Do for one cell, whose odds would overflow, what :func:`place_densities` does."""
    for j in range(node.shape[0]):
        logit = eta + node[j, 0] + node[j, 1] * slope
        odds = np.exp(-abs(logit))
        density[j] -= n * (max(logit, 0.0) + np.log1p(odds))
        p[j] = (1.0 if logit > 0.0 else odds) / (1.0 + odds)


@numba.njit(cache=True, nogil=True)
def effect_precision(scale):
    """Inverse and determinant of the covariance of a topic's effects."""
    s0, s1, rho = scale[0], scale[1], scale[2]
    determinant = (s0 * s1) ** 2 * (1.0 - rho * rho)
    precision = np.zeros((2, 2))
    precision[0, 0] = s1 * s1 / determinant
    precision[0, 1] = precision[1, 0] = -rho * s0 * s1 / determinant
    precision[1, 1] = s0 * s0 / determinant
    return precision, determinant


@numba.njit(cache=True, nogil=True)
def shares_of_nodes(share, log_weight):
    """Make shares of their sum from log densities at the nodes (node,); the log of that sum."""
    highest = -np.inf
    for j in range(share.size):
        share[j] += log_weight[j]
        highest = max(highest, share[j])
    mass = 0.0
    for j in range(share.size):
        share[j] = np.exp(share[j] - highest)
        mass += share[j]
    for j in range(share.size):
        share[j] /= mass
    return highest + np.log(mass)


@numba.njit(cache=True, nogil=True)
def zero_inflated(value, none_share, shows_none):
    """Log likelihood of a topic that may have nothing relevant, and the probability of that.

    ``value`` is the log likelihood of its counts if it has something.
    """
    if none_share == 0.0 or not shows_none:
        return np.log(1.0 - none_share) + value, 0.0
    some, none = np.log(1.0 - none_share) + value, np.log(none_share)
    total = max(some, none) + np.log1p(np.exp(-abs(some - none)))
    return total, np.exp(none - total)


@numba.njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def product_sum(one, other):
    """Sum of products, in any order."""
    total = 0.0
    for j in range(one.size):
        total += one[j] * other[j]
    return total


@numba.njit(cache=True, nogil=True)
def add_squares(some, share, node, moment):
    """Add one topic's mean squared effects, ``some`` times, to the upper half of ``moment``."""
    for j in range(share.size):
        weight = some * share[j]
        moment[0, 0] += weight * node[j, 0] * node[j, 0]
        moment[0, 1] += weight * node[j, 0] * node[j, 1]
        moment[1, 1] += weight * node[j, 1] * node[j, 1]


@numba.njit(cache=True, nogil=True)
def scale_gradient(scale, precision, moment, number):
    """Gradient in the logs of the standard deviations and in Fisher's z of the correlation.

    Of the log density of ``number`` pairs of effects, whose squares add up to ``moment``.
    """
    s0, s1, rho = scale
    a, b, c = precision[0, 0], precision[0, 1], precision[1, 1]
    m00, m01, m11 = moment[0, 0], moment[0, 1], moment[1, 1]
    # half of precision moment precision - number precision: in the entries of the covariance
    g00 = 0.5 * (a * a * m00 + 2.0 * a * b * m01 + b * b * m11 - number * a)
    g01 = 0.5 * (a * b * m00 + (a * c + b * b) * m01 + b * c * m11 - number * b)
    g11 = 0.5 * (b * b * m00 + 2.0 * b * c * m01 + c * c * m11 - number * c)
    crossed = 2.0 * g01 * s0 * s1
    return np.array(
        [
            2.0 * g00 * s0 * s0 + crossed * rho,
            2.0 * g11 * s1 * s1 + crossed * rho,
            crossed * (1.0 - rho * rho),
        ]
    )


@numba.njit(cache=True, nogil=True)
def log_likelihood(
    start,
    relevant,
    sampled,
    curve,
    slope,
    eta,
    scale,
    shows_none,
    none_share,
    point,
    log_weight,
    mode,
    node,
    share,
    none,
):
    """Log marginal likelihood, and its gradients in beta and in :func:`scale_gradient`.

    ``eta`` (cell,) is the curve with its coefficients beta; ``scale`` holds the two standard
    deviations and the correlation of the topic effects; a topic that ``shows_none`` (topic,) has
    nothing relevant with probability ``none_share``. On return ``none`` (topic,) is that
    probability given the counts, and ``node`` (topic, node, 2) and ``share`` (topic, node) are the
    posterior of the effects of a topic that has something, as points and probabilities. The
    gradients, posterior means of those of the complete data, count a topic by 1 - ``none``.
    Loops, since expressions of whole arrays would make this three times as long to compile.
    """
    n_nodes = point.size**2
    precision, determinant = effect_precision(scale)
    gradient = np.zeros(curve.shape[1])
    moment = np.zeros((2, 2))
    most = 0
    for topic in range(start.size - 1):
        most = max(most, start[topic + 1] - start[topic])
    p = np.empty((most, n_nodes))
    total, number = 0.0, 0.0
    # topic by topic: mode, nodes around it, densities there
    for topic in range(start.size - 1):
        first, last = start[topic], start[topic + 1]
        own = (relevant[first:last], sampled[first:last], eta[first:last], slope[first:last])
        curvature = topic_mode(*own, precision, mode[topic])
        root = place_nodes(mode[topic], curvature, point, node[topic])
        place_densities(*own, precision, mode[topic], root, point, node[topic], p, share[topic])
        value = shares_of_nodes(share[topic], log_weight)
        value += np.log(root[0] * root[2]) - 0.5 * np.log(determinant)
        value, none[topic] = zero_inflated(value, none_share, shows_none[topic])
        total += value
        # posterior means of the squared effects and of the gradient
        some = 1.0 - none[topic]
        number += some
        add_squares(some, share[topic], node[topic], moment)
        for cell in range(first, last):
            if sampled[cell] > 0.0:
                expected = product_sum(share[topic], p[cell - first])
                residual = some * (relevant[cell] - sampled[cell] * expected)
                for column in range(gradient.size):
                    gradient[column] += residual * curve[cell, column]
    return total, gradient, scale_gradient(scale, precision, moment, number)


@numba.njit(cache=True, nogil=True)
def unsampled_relevant(
    start, unsampled, eta, slope, node, share, none, uniform, normal, shift, out
):
    """Draws of the relevant among the unsampled documents of each cell, ``out[cell, draw]``.

    With probability ``none`` (topic,) a topic has nothing relevant, and its cells get 0. Else its
    effects are drawn from its nodes, the number over all its cells from the binomial distribution
    with the right mean and variance (from 40 on a rounded normal one), and the cells get their
    expected shares of it, so that a cell's number need not be whole. ``unsampled[cell, draw]`` may
    itself be drawn. ``shift`` (topic, 2) moves the points of the uniform sequence, modulo 1, so
    that topics are independent.
    """
    n_draws = out.shape[1]
    for topic in range(start.size - 1):
        first, last = start[topic], start[topic + 1]
        for draw in range(n_draws):
            x = (uniform[draw, 0] + shift[topic, 0]) % 1.0
            y = (uniform[draw, 1] + shift[topic, 1]) % 1.0
            if x < none[topic]:
                out[first:last, draw] = 0.0
                continue
            x = (x - none[topic]) / (1.0 - none[topic])
            # the node that the first number falls on
            j, mass = 0, share[topic, 0]
            while mass < x and j < share.shape[1] - 1:
                j += 1
                mass += share[topic, j]
            # what is expected of each cell there
            mean, variance, most = 0.0, 0.0, 0.0
            u0, u1 = node[topic, j, 0], node[topic, j, 1]
            for cell in range(first, last):
                p = 1.0 / (1.0 + np.exp(-(eta[cell] + u0 + u1 * slope[cell])))
                expected = unsampled[cell, draw] * p
                out[cell, draw] = expected
                mean += expected
                variance += expected * (1.0 - p)
                most += unsampled[cell, draw]
            # a number for the topic by the second, shared out among its cells
            if mean > 0.0:
                number = _quantile(y, mean, variance, normal)
                factor = min(max(number, 0.0), most) / mean
                for cell in range(first, last):
                    out[cell, draw] *= factor


@numba.njit(cache=True, nogil=True)
def _quantile(y, mean, variance, normal):
    """Quantile of the binomial distribution of this mean and variance, its size not whole."""
    # large: normal
    if mean >= 40.0:
        place = y * (normal.size - 1.0)
        below = min(int(place), normal.size - 2)
        z = normal[below] + (place - below) * (normal[below + 1] - normal[below])
        return np.round(mean + np.sqrt(variance) * z)
    p = max(1.0 - variance / mean, 1e-9)
    if p == 1.0:  # every document is relevant for certain
        return mean
    # small: terms of the binomial distribution, added up
    size = mean / p
    mass = np.exp(size * np.log1p(-p))
    total, number = mass, 0.0
    while total < y and number < size - 1e-9 and number < 400.0:
        mass *= (size - number) / (number + 1.0) * p / (1.0 - p)
        number += 1.0
        total += mass
    return number


@numba.njit(cache=True, nogil=True)
def by_topics(start, relevant, sampled, curve, slope, beta, prior, effect, effect_prior):
    """Information on the coefficients, and their slopes, the topics' effects integrated out.

    Also what Newton's step of a topic's effects is: the third (topic, 2) less the fourth
    (topic, 2, column) times the step of the coefficients. ``prior`` and ``effect_prior`` are
    precisions of normal distributions with mean 0.
    """
    n_columns, n_topics = beta.size, start.size - 1
    information, slopes = np.diag(prior), -prior * beta
    alone, crossing = np.empty((n_topics, 2)), np.empty((n_topics, 2, n_columns))
    crossed = np.zeros((2, n_columns))
    for topic in range(n_topics):
        # gradient and information of the effects
        g0, g1 = -effect_prior[0] * effect[topic, 0], -effect_prior[1] * effect[topic, 1]
        h00, h01, h11 = effect_prior[0], 0.0, effect_prior[1]
        crossed[:] = 0.0
        for cell in range(start[topic], start[topic + 1]):
            if sampled[cell] == 0.0:
                continue
            logit = effect[topic, 0] + effect[topic, 1] * slope[cell]
            for i in range(n_columns):
                logit += curve[cell, i] * beta[i]
            p = 1.0 / (1.0 + np.exp(-min(max(logit, -30.0), 30.0)))
            residual = relevant[cell] - sampled[cell] * p
            weight = sampled[cell] * p * (1.0 - p)
            g0 += residual
            g1 += residual * slope[cell]
            h00 += weight
            h01 += weight * slope[cell]
            h11 += weight * slope[cell] ** 2
            for i in range(n_columns):
                slopes[i] += residual * curve[cell, i]
                crossed[0, i] += weight * curve[cell, i]
                crossed[1, i] += weight * curve[cell, i] * slope[cell]
                for j in range(n_columns):
                    information[i, j] += weight * curve[cell, i] * curve[cell, j]
        # what they take from the coefficients
        determinant = h00 * h11 - h01 * h01
        alone[topic, 0] = (h11 * g0 - h01 * g1) / determinant
        alone[topic, 1] = (h00 * g1 - h01 * g0) / determinant
        for i in range(n_columns):
            crossing[topic, 0, i] = (h11 * crossed[0, i] - h01 * crossed[1, i]) / determinant
            crossing[topic, 1, i] = (h00 * crossed[1, i] - h01 * crossed[0, i]) / determinant
        for i in range(n_columns):
            slopes[i] -= crossed[0, i] * alone[topic, 0] + crossed[1, i] * alone[topic, 1]
            for j in range(n_columns):
                information[i, j] -= crossed[0, i] * crossing[topic, 0, j]
                information[i, j] -= crossed[1, i] * crossing[topic, 1, j]
    return information, slopes, alone, crossing
