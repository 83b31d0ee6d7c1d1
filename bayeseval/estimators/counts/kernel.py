"""Counts of all topics, integrated over topic effects (compiled; import inside functions).

The relevant among the sampled documents of cell c are Binomial(n_c, p_c) with
logit p_c = eta_c + u_0 + u_1 z_c, and the pair (u_0, u_1) of a topic is normal. The integral over
the pair is a Gauss-Hermite rule around its mode, scaled by the curvature there.
"""

import numba
import numpy as np

NARROW = 0.3  # least variance of a density at nodes, by that which the nodes were placed by


@numba.njit(cache=True, nogil=True)
def topic_mode(relevant, sampled, eta, slope, precision, mode):
    """Newton's method from ``mode``, which it overwrites; the three entries of the curvature."""
    curvature = np.zeros(3)
    for _ in range(50):
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
                weight = sampled[cell] * p * (1.0 - p)
                g0 += residual
                g1 += residual * slope[cell]
                h00 += weight
                h01 += weight * slope[cell]
                h11 += weight * slope[cell] ** 2
        # the step, shortened where it is long
        determinant = h00 * h11 - h01 * h01
        d0 = (h11 * g0 - h01 * g1) / determinant
        d1 = (h00 * g1 - h01 * g0) / determinant
        size = max(abs(d0), abs(d1))
        shrink = min(1.0, 1.5 / size) if size > 0.0 else 1.0
        mode[0] += shrink * d0
        mode[1] += shrink * d1
        curvature[0], curvature[1], curvature[2] = h00, h01, h11
        if size < 1e-7:
            break
    return curvature


@numba.njit(cache=True, nogil=True)
def place_nodes(mode, curvature, point, node):
    """Fill ``node`` (node, 2) with the rule's points around the mode; log of the scale."""
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
    return np.log(l00) + np.log(l11)


@numba.njit(cache=True, nogil=True)
def place_densities(relevant, sampled, eta, slope, precision, node, first, last, p, log_density):
    """Log density of one topic's counts and effects at its nodes; ``p`` (node, cell) is filled."""
    for j in range(node.shape[0]):
        u0, u1 = node[j, 0], node[j, 1]
        # the effects, then the counts, with the larger of p and 1 - p in logs
        value = -0.5 * (
            precision[0, 0] * u0 * u0 + 2 * precision[0, 1] * u0 * u1 + precision[1, 1] * u1**2
        )
        for cell in range(first, last):
            if sampled[cell] > 0.0:
                logit = eta[cell] + u0 + u1 * slope[cell]
                odds = np.exp(-abs(logit))
                more = 1.0 / (1.0 + odds)  # the larger of p and 1 - p
                value += sampled[cell] * np.log(more)
                if logit > 0.0:
                    p[j, cell - first] = more
                    value -= (sampled[cell] - relevant[cell]) * logit
                else:
                    p[j, cell - first] = 1.0 - more
                    value += relevant[cell] * logit
        log_density[j] = value


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
def zero_inflated(value, zero_share, shows_none):
    """Log likelihood of a topic that may have none, and the probability that it has none.

    ``value`` is the log likelihood if it has some. A topic without any is certain to show none.
    """
    if zero_share == 0.0 or not shows_none:
        return np.log(1.0 - zero_share) + value, 0.0
    chance = zero_share + (1.0 - zero_share) * np.exp(value)
    return np.log(chance), zero_share / chance


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
    zero_share,
    point,
    log_weight,
    mode,
    node,
    share,
    zero,
):
    """Log marginal likelihood, its gradient in beta, and the sum of E[u u'] over topics.

    ``eta`` (cell,) is the curve with its coefficients beta. ``scale`` holds the two standard
    deviations and the correlation of the topic effects; a topic has no relevant document at all
    with probability ``zero_share``, unless it is known to have some (``shows_none`` (topic,) is
    False). On return ``zero`` (topic,) is that probability given the counts, and ``node`` (topic,
    node, 2) and ``share`` (topic, node) are the posterior of the effects of a topic that has some,
    as points and probabilities. The gradient (the posterior mean of that of the complete data) and
    E[u u'] count a topic by 1 - ``zero``.
    Loops, since expressions of whole arrays would make this three times as long to compile.
    """
    n_nodes = point.size**2
    precision, determinant = effect_precision(scale)
    gradient = np.zeros(curve.shape[1])
    moment = np.zeros((2, 2))
    p = np.zeros((n_nodes, np.diff(start).max()))
    total = 0.0
    # topic by topic: mode, nodes around it, densities there
    for topic in range(start.size - 1):
        first, last = start[topic], start[topic + 1]
        curvature = topic_mode(
            relevant[first:last],
            sampled[first:last],
            eta[first:last],
            slope[first:last],
            precision,
            mode[topic],
        )
        log_scale = place_nodes(mode[topic], curvature, point, node[topic])
        place_densities(
            relevant, sampled, eta, slope, precision, node[topic], first, last, p, share[topic]
        )
        value = shares_of_nodes(share[topic], log_weight) + log_scale - 0.5 * np.log(determinant)
        value, zero[topic] = zero_inflated(value, zero_share, shows_none[topic])
        total += value
        # posterior means of the gradient and of the squared effects
        for j in range(n_nodes):
            weight = share[topic, j] * (1.0 - zero[topic])
            if weight > 1e-8:
                u0, u1 = node[topic, j, 0], node[topic, j, 1]
                moment[0, 0] += weight * u0 * u0
                moment[0, 1] += weight * u0 * u1
                moment[1, 1] += weight * u1 * u1
                for cell in range(first, last):
                    if sampled[cell] > 0.0:
                        residual = relevant[cell] - sampled[cell] * p[j, cell - first]
                        for column in range(gradient.size):
                            gradient[column] += weight * residual * curve[cell, column]
    moment[1, 0] = moment[0, 1]
    return total, gradient, moment


@numba.njit(cache=True, nogil=True)
def widened(spread, own):
    """Covariance no narrower, in any direction, than a share ``NARROW`` of another one."""
    determinant = own[0, 0] * own[1, 1] - own[0, 1] ** 2
    half = 0.5 * (
        own[1, 1] * spread[0, 0] - 2.0 * own[0, 1] * spread[0, 1] + own[0, 0] * spread[1, 1]
    )
    half /= determinant
    ratio = (spread[0, 0] * spread[1, 1] - spread[0, 1] ** 2) / determinant
    least = half - np.sqrt(max(half * half - ratio, 0.0))  # the smaller eigenvalue of their ratio
    return spread + max(NARROW - least, 0.0) * own


@numba.njit(cache=True, nogil=True)
def likelier_by_others(node, share, some, covariance, own, mean, spread, every, out):
    """Mean density of the other topics' effects over that of all topics, ``out`` (topic, node).

    That of all topics has the mean 0 and ``covariance``; others, ``every`` one of them, have the
    mean (topic, 2) and the covariance (topic, 2, 2), which is :func:`widened` beside ``own``, the
    covariance (topic, 2, 2) that the nodes were placed by. They count by ``some`` (topic,), the
    probability that they have effects at all. ``out`` is 0 where the probability ``share`` of the
    node is next to nothing, and 1 where there are no others.
    """
    n_topics, n_nodes = share.shape
    a, b, c = covariance[0, 0], covariance[0, 1], covariance[1, 1]
    whole = a * c - b * b
    for topic in range(n_topics):
        out[topic] = 0.0
        number = 0.0
        for other in range(0, n_topics, every):
            if other != topic:
                number += some[other]
                wide = widened(spread[other], own[topic])
                p, q, r = wide[0, 0], wide[0, 1], wide[1, 1]
                part = p * r - q * q
                scale = some[other] * np.sqrt(whole / part)
                for j in range(n_nodes):
                    if share[topic, j] > 1e-8:
                        u0, u1 = node[topic, j, 0], node[topic, j, 1]
                        v0, v1 = u0 - mean[other, 0], u1 - mean[other, 1]
                        here = (r * v0 * v0 - 2.0 * q * v0 * v1 + p * v1 * v1) / part
                        there = (c * u0 * u0 - 2.0 * b * u0 * u1 + a * u1 * u1) / whole
                        if here - there < 80.0:
                            out[topic, j] += scale * np.exp(0.5 * min(there - here, 100.0))
        for j in range(n_nodes):
            out[topic, j] = out[topic, j] / number if number > 0.0 else 1.0


@numba.njit(cache=True, nogil=True)
def unsampled_relevant(
    start, unsampled, eta, slope, node, share, zero, uniform, normal, shift, out
):
    """Draws of the relevant among the unsampled documents of each cell, ``out[cell, draw]``.

    With probability ``zero`` (topic,) a topic has none. Else its effects are drawn from its nodes,
    the number over all its cells from the binomial distribution with the right mean and variance
    (from 40 on a rounded normal one), and the cells get their expected shares of it, so that a
    cell's number need not be whole. ``unsampled[cell, draw]`` may itself be drawn. ``shift``
    (topic, 2) moves the points of the uniform sequence, modulo 1, so that topics are independent.
    """
    n_draws = out.shape[1]
    for topic in range(start.size - 1):
        first, last = start[topic], start[topic + 1]
        for draw in range(n_draws):
            x = (uniform[draw, 0] + shift[topic, 0]) % 1.0
            y = (uniform[draw, 1] + shift[topic, 1]) % 1.0
            if x < zero[topic]:
                out[first:last, draw] = 0.0
                continue
            x = (x - zero[topic]) / (1.0 - zero[topic])
            # the node that the first number falls on
            j, mass = 0, share[topic, 0]
            while mass < x and j < share.shape[1] - 1:
                j += 1
                mass += share[topic, j]
            # what is expected of each cell there
            mean, variance, most = 0.0, 0.0, 0.0
            for cell in range(first, last):
                logit = eta[cell] + node[topic, j, 0] + node[topic, j, 1] * slope[cell]
                p = 1.0 / (1.0 + np.exp(-logit))
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
