"""Counts of all topics, integrated over topic effects (compiled; import inside functions).

The relevant among the sampled documents of cell c are Binomial(n_c, p_c) with
logit p_c = eta_c + u_0 + u_1 z_c, and the pair (u_0, u_1) of a topic is normal. Where relevant
documents are scattered besides, 1 - p_c is multiplied by exp(-sum of weight_c p_c). The integral
over the pair is a Gauss-Hermite rule around its mode, scaled by the curvature there.
"""

import numba
import numpy as np

NARROW = 0.3  # least variance of a density at nodes, by that which the nodes were placed by
FEW = 8.0  # sampled documents of a cell up to which a product is faster than a logarithm
FARTHEST_LOGIT = 230.0  # odds of which can be multiplied with each other
LARGEST = 600.0  # log of what a product may come to
MOST_SCATTERED = 20.0  # rate of them, beyond any that is sensible
FARTHEST_MODE = 50.0  # from which a search does not find back
LEAST = 1e-300  # of a probability that something is divided by
NOTHING = -40.0  # log of a sum that is not worth making


@numba.njit(cache=True, nogil=True)
def topic_mode(relevant, sampled, eta, slope, weight, precision, mode):
    """Newton's method from ``mode``, which it overwrites; the three entries of the curvature.

    With scattered documents (``weight`` (cell,), empty without) it is that of Fisher's scoring.
    """
    curvature = np.zeros(3)
    damping, last0, last1, last = 1.0, 0.0, 0.0, 0.0
    for _ in range(100):
        u0, u1 = mode[0], mode[1]
        # gradient and curvature of the normal prior
        g0 = -(precision[0, 0] * u0 + precision[0, 1] * u1)
        g1 = -(precision[0, 1] * u0 + precision[1, 1] * u1)
        h00, h01, h11 = precision[0, 0], precision[0, 1], precision[1, 1]
        # and of the binomial counts
        if weight.size:
            own = scattered_slopes(relevant, sampled, eta, slope, weight, u0, u1)
            g0, g1 = g0 + own[0], g1 + own[1]
            h00, h01, h11 = h00 + own[2], h01 + own[3], h11 + own[4]
        else:
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
def scattered_share(eta, slope, weight, u0, u1):
    """Probability that a document of a topic is relevant by being scattered; 0 without weights."""
    rate = 0.0
    for cell in range(weight.size):
        rate += weight[cell] / (1.0 + np.exp(-(eta[cell] + u0 + u1 * slope[cell])))
    return -np.expm1(-min(rate, MOST_SCATTERED))


@numba.njit(cache=True, nogil=True)
def scattered_slopes(relevant, sampled, eta, slope, weight, u0, u1):
    """Gradient of one topic's counts in its effects, and the three entries of their information.

    With p as without scattered documents, P as with them and b the rate at which they are,
    1 - P = (1 - p) exp(-b): dP = (1 - P) (p deta + db), where db is the sum of weight p (1 - p)
    deta over the cells.
    """
    share = scattered_share(eta, slope, weight, u0, u1)
    by_0, by_1 = 0.0, 0.0
    for cell in range(relevant.size):
        p = 1.0 / (1.0 + np.exp(-(eta[cell] + u0 + u1 * slope[cell])))
        by_0 += weight[cell] * p * (1.0 - p)
        by_1 += weight[cell] * p * (1.0 - p) * slope[cell]
    g0, g1, h00, h01, h11 = 0.0, 0.0, 0.0, 0.0, 0.0
    for cell in range(relevant.size):
        if sampled[cell] > 0.0:
            p = 1.0 / (1.0 + np.exp(-(eta[cell] + u0 + u1 * slope[cell])))
            whole = max(p + (1.0 - p) * share, LEAST)
            residual = (relevant[cell] - sampled[cell] * whole) / whole
            information = sampled[cell] * (1.0 - whole) / whole
            d0, d1 = p + by_0, p * slope[cell] + by_1
            g0 += residual * d0
            g1 += residual * d1
            h00 += information * d0 * d0
            h01 += information * d0 * d1
            h11 += information * d1 * d1
    return g0, g1, h00, h01, h11


@numba.njit(cache=True, nogil=True)
def place_scattered(
    relevant, sampled, eta, slope, weight, precision, node, by_eta, by_weight, density
):
    """Do for a topic with scattered documents what :func:`place_densities` does without them.

    ``by_eta`` (cell, node) and ``by_weight`` (node,) are filled with the derivatives of the log
    density in eta and in the log of all weights.
    """
    p, irrelevant = np.empty(relevant.size), np.empty(relevant.size)
    for j in range(node.shape[0]):
        u0, u1 = node[j, 0], node[j, 1]
        density[j] = -0.5 * precision[0, 0] * u0 * u0 - precision[0, 1] * u0 * u1
        density[j] -= 0.5 * precision[1, 1] * u1 * u1
        # without scattered documents: p and -log(1 - p)
        rate = 0.0
        for cell in range(relevant.size):
            logit = eta[cell] + u0 + u1 * slope[cell]
            odds = np.exp(-abs(logit))
            p[cell] = (1.0 if logit > 0.0 else odds) / (1.0 + odds)
            if sampled[cell] > 0.0:
                irrelevant[cell] = max(logit, 0.0) + np.log1p(odds)
            rate += weight[cell] * p[cell]
        rate = min(rate, MOST_SCATTERED)
        share = -np.expm1(-rate)
        # with them
        by_rate = 0.0
        for cell in range(relevant.size):
            by_eta[cell, j] = 0.0
            if sampled[cell] > 0.0:
                whole = max(p[cell] + (1.0 - p[cell]) * share, LEAST)
                if relevant[cell] > 0.0:
                    density[j] += relevant[cell] * np.log(whole)
                density[j] -= (sampled[cell] - relevant[cell]) * (irrelevant[cell] + rate)
                residual = (relevant[cell] - sampled[cell] * whole) / whole
                by_rate += residual
                by_eta[cell, j] = p[cell] * residual
        for cell in range(relevant.size):
            by_eta[cell, j] += by_rate * weight[cell] * p[cell] * (1.0 - p[cell])
        by_weight[j] = by_rate * rate


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
def of_two_kinds(value, other_share, beside):
    """Log likelihood of a topic that may be of another kind, and the probability that it is.

    ``value`` is the log likelihood if it is not, ``beside`` that if it is.
    """
    if other_share == 0.0 or beside == -np.inf:
        return np.log(1.0 - other_share) + value, 0.0
    own, other = np.log(1.0 - other_share) + value, np.log(other_share) + beside
    total = max(own, other) + np.log1p(np.exp(-abs(own - other)))
    return total, np.exp(other - total)


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
    weight,
    scale,
    beside,
    other_share,
    point,
    log_weight,
    mode,
    node,
    share,
    other,
):
    """Log marginal likelihood and gradients: in beta, in :func:`scale_gradient`, in the weights.

    ``eta`` (cell,) is the curve with its coefficients beta; ``weight`` (cell,) makes documents
    relevant by being scattered, or is empty (the gradient is in the log of all). ``scale`` holds
    the two standard deviations and the correlation of the topic effects; a topic is of another
    kind, by which its counts have the log likelihood ``beside`` (topic,), with probability
    ``other_share``. On return ``other`` (topic,) is that probability given the counts, and ``node``
    (topic, node, 2) and ``share`` (topic, node) are the posterior of the effects of a topic that is
    not, as points and probabilities. The gradients, posterior means of those of the complete data,
    count a topic by 1 - ``other``.
    Loops, since expressions of whole arrays would make this three times as long to compile.
    """
    n_nodes = point.size**2
    precision, determinant = effect_precision(scale)
    gradient = np.zeros(curve.shape[1])
    moment = np.zeros((2, 2))
    most = 0
    for topic in range(start.size - 1):
        most = max(most, start[topic + 1] - start[topic])
    p, by_weight = np.empty((most, n_nodes)), np.empty(n_nodes)
    total, number, in_weight = 0.0, 0.0, 0.0
    # topic by topic: mode, nodes around it, densities there
    for topic in range(start.size - 1):
        first, last = start[topic], start[topic + 1]
        own = (relevant[first:last], sampled[first:last], eta[first:last], slope[first:last])
        scattered = weight[first:last]
        if scattered.size and np.abs(mode[topic]).max() > FARTHEST_MODE:
            mode[topic] = 0.0
        curvature = topic_mode(*own, scattered, precision, mode[topic])
        root = place_nodes(mode[topic], curvature, point, node[topic])
        if scattered.size:
            place_scattered(*own, scattered, precision, node[topic], p, by_weight, share[topic])
        else:
            place_densities(*own, precision, mode[topic], root, point, node[topic], p, share[topic])
        value = shares_of_nodes(share[topic], log_weight)
        value += np.log(root[0] * root[2]) - 0.5 * np.log(determinant)
        value, other[topic] = of_two_kinds(value, other_share, beside[topic])
        total += value
        # posterior means of the squared effects and of the gradient
        some = 1.0 - other[topic]
        number += some
        add_squares(some, share[topic], node[topic], moment)
        if scattered.size:
            in_weight += some * product_sum(share[topic], by_weight)
        for cell in range(first, last):
            if scattered.size:
                residual = some * product_sum(share[topic], p[cell - first])
            elif sampled[cell] > 0.0:
                expected = product_sum(share[topic], p[cell - first])
                residual = some * (relevant[cell] - sampled[cell] * expected)
            else:
                continue
            for column in range(gradient.size):
                gradient[column] += residual * curve[cell, column]
    return total, gradient, scale_gradient(scale, precision, moment, number), in_weight


@numba.njit(cache=True, nogil=True)
def widened(spread, own):
    """Entries 00, 01, 11 of a covariance, in no direction narrower than ``NARROW`` of another."""
    determinant = own[0, 0] * own[1, 1] - own[0, 1] ** 2
    half = 0.5 * (
        own[1, 1] * spread[0, 0] - 2.0 * own[0, 1] * spread[0, 1] + own[0, 0] * spread[1, 1]
    )
    half /= determinant
    ratio = (spread[0, 0] * spread[1, 1] - spread[0, 1] ** 2) / determinant
    least = half - np.sqrt(max(half * half - ratio, 0.0))  # the smaller eigenvalue of their ratio
    more = max(NARROW - least, 0.0)
    return (
        spread[0, 0] + more * own[0, 0],
        spread[0, 1] + more * own[0, 1],
        spread[1, 1] + more * own[1, 1],
    )


@numba.njit(cache=True, nogil=True)
def along_grid(node, point):
    """Middle and root of a topic's nodes, which :func:`place_nodes` made of the rule's points.

    The points are an odd number, as far up as down, with 0 in the middle.
    """
    n, middle = point.size, point.size // 2
    u0, u1 = node[middle * n + middle, 0], node[middle * n + middle, 1]
    if n == 1:
        return u0, u1, 0.0, 0.0, 0.0
    last = (n - 1) * n + middle
    l00, l10 = (node[last, 0] - u0) / point[-1], (node[last, 1] - u1) / point[-1]
    return u0, u1, l00, l10, (node[middle * n + n - 1, 1] - u1) / point[-1]


@numba.njit(cache=True, nogil=True)
def add_exponentials(scale, quadratic, point, row, column, crossed, out):
    """Add ``scale`` exp(quadratic of x and y) at the points (x, y) of the rule to ``out`` (node,).

    ``quadratic`` has the coefficients of 1, x, y, x^2, xy and y^2. Nothing is added where it is
    below -40 everywhere. Products of the exponentials of a row, a column and a pair of points (the
    last made once for points of either sign) take half the time; where one of them might overflow
    the exponentials are made one by one, of 600 at most.
    """
    constant, by_x, by_y, by_xx, by_xy, by_yy = quadratic
    n, middle, farthest = point.size, point.size // 2, point[-1]
    reach = (abs(by_x) + abs(by_y)) * farthest
    reach += (abs(by_xx) + abs(by_xy) + abs(by_yy)) * farthest * farthest
    if constant + reach < NOTHING:
        return
    if abs(constant) + reach > LARGEST:
        for i in range(n):
            for j in range(n):
                x, y = point[i], point[j]
                value = constant + (by_x + by_xx * x + by_xy * y) * x + (by_y + by_yy * y) * y
                out[i * n + j] += scale * np.exp(min(value, LARGEST))
        return
    for i in range(n):
        row[i] = scale * np.exp(constant + (by_x + by_xx * point[i]) * point[i])
        column[i] = np.exp((by_y + by_yy * point[i]) * point[i])
    for i in range(middle):
        for j in range(i + 1):
            same = np.exp(by_xy * point[i] * point[j])
            for far_i, far_j in ((i, j), (j, i)):
                crossed[far_i, far_j] = crossed[n - 1 - far_i, n - 1 - far_j] = same
                crossed[far_i, n - 1 - far_j] = crossed[n - 1 - far_i, far_j] = 1.0 / same
    for i in range(n):
        for j in range(n):
            out[i * n + j] += row[i] * column[j] * crossed[i, j]


@numba.njit(cache=True, nogil=True)
def likelier_by_others(node, share, some, covariance, own, mean, spread, every, point, out):
    """Mean density of the other topics' effects over that of all topics, ``out`` (topic, node).

    That of all topics has the mean 0 and ``covariance``; others, ``every`` one of them, have the
    mean (topic, 2) and the covariance (topic, 2, 2), which is :func:`widened` beside ``own``, the
    covariance (topic, 2, 2) that the nodes were placed by, at the points of a rule, ``point``. They
    count by ``some`` (topic,), the probability that they have effects at all. ``out`` is 0 where
    the probability ``share`` of the node is next to nothing, and 1 where there are no others.
    """
    n_topics, n_nodes = share.shape
    row, column = np.empty(point.size), np.empty(point.size)
    crossed = np.ones((point.size, point.size))
    whole = covariance[0, 0] * covariance[1, 1] - covariance[0, 1] ** 2
    c00, c01, c11 = covariance[1, 1] / whole, -covariance[0, 1] / whole, covariance[0, 0] / whole
    for topic in range(n_topics):
        for j in range(n_nodes):
            out[topic, j] = 0.0
        u0, u1, l00, l10, l11 = along_grid(node[topic], point)
        number = 0.0
        for other in range(0, n_topics, every):
            if other != topic:
                number += some[other]
                # log of the other's density over that of all topics: a quadratic on the grid
                w00, w01, w11 = widened(spread[other], own[topic])
                part = w00 * w11 - w01**2
                h00, h01, h11 = w11 / part, -w01 / part, w00 / part
                v0, v1 = u0 - mean[other, 0], u1 - mean[other, 1]
                normal = c00 * u0 * u0 + 2.0 * c01 * u0 * u1 + c11 * u1 * u1
                there = h00 * v0 * v0 + 2.0 * h01 * v0 * v1 + h11 * v1 * v1
                g0 = c00 * u0 + c01 * u1 - h00 * v0 - h01 * v1
                g1 = c01 * u0 + c11 * u1 - h01 * v0 - h11 * v1
                d00, d01, d11 = c00 - h00, c01 - h01, c11 - h11
                quadratic = (
                    0.5 * (normal - there),
                    g0 * l00 + g1 * l10,
                    g1 * l11,
                    0.5 * (d00 * l00 * l00 + d11 * l10 * l10) + d01 * l00 * l10,
                    (d01 * l00 + d11 * l10) * l11,
                    0.5 * d11 * l11 * l11,
                )
                scale = some[other] * np.sqrt(whole / part)
                add_exponentials(scale, quadratic, point, row, column, crossed, out[topic])
        for j in range(n_nodes):
            if number == 0.0:
                out[topic, j] = 1.0
            elif share[topic, j] > 1e-8:
                out[topic, j] /= number
            else:
                out[topic, j] = 0.0


@numba.njit(cache=True, nogil=True)
def unsampled_relevant(
    start, unsampled, eta, slope, weight, node, share, other, uniform, normal, shift, out
):
    """Draws of the relevant among the unsampled documents of each cell, ``out[cell, draw]``.

    With probability ``other`` (topic,) a topic is of another kind, and its cells get NaN. Else its
    effects are drawn from its nodes, the number over all its cells from the binomial distribution
    with the right mean and variance (from 40 on a rounded normal one), and the cells get their
    expected shares of it, so that a cell's number need not be whole. Documents are scattered where
    ``weight`` (cell,) is not empty. ``unsampled[cell, draw]`` may itself be drawn. ``shift``
    (topic, 2) moves the points of the uniform sequence, modulo 1, so that topics are independent.
    """
    n_draws = out.shape[1]
    for topic in range(start.size - 1):
        first, last = start[topic], start[topic + 1]
        for draw in range(n_draws):
            x = (uniform[draw, 0] + shift[topic, 0]) % 1.0
            y = (uniform[draw, 1] + shift[topic, 1]) % 1.0
            if x < other[topic]:
                for cell in range(first, last):
                    out[cell, draw] = np.nan
                continue
            x = (x - other[topic]) / (1.0 - other[topic])
            # the node that the first number falls on
            j, mass = 0, share[topic, 0]
            while mass < x and j < share.shape[1] - 1:
                j += 1
                mass += share[topic, j]
            # what is expected of each cell there
            mean, variance, most = 0.0, 0.0, 0.0
            u0, u1 = node[topic, j, 0], node[topic, j, 1]
            own = (eta[first:last], slope[first:last], weight[first:last])
            scattered = scattered_share(*own, u0, u1)
            for cell in range(first, last):
                p = 1.0 / (1.0 + np.exp(-(eta[cell] + u0 + u1 * slope[cell])))
                p += (1.0 - p) * scattered
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
