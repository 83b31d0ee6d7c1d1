"""Wallenius' noncentral hypergeometric pmf by quadrature that follows the peak.

With m relevant and k non-relevant documents, x and y of them drawn, a = m - x, c = w (k - y) and
D = a + c, the substitution t = exp(-D s), s = exp(u) in Wallenius' integral gives

    P(x) = C(m, x) C(k, y) * integral over u of D s exp(-D s) (1 - exp(-s))^x (1 - exp(-w s))^y.

The logarithm of the integrand is concave in u for every w, and the integrand is analytic in
|Im u| < pi/2, so the trapezoid rule between two points at which it has vanished converges
exponentially. Peak and end points are found for each element.

The module compiles with numba on first use and must be imported inside functions.
"""

import math

import numba
import numpy as np

# Nodes of the trapezoid rule, and how far the log integrand has fallen at the first and last one.
N_NODES = 161
FALL = 38.0
# Beyond this the log pmf is a straight line in the log odds to machine precision.
LARGEST_LOG_ODDS = 300.0


@numba.njit(cache=True, nogil=True)
def _log_one_minus_exp(value):
    """log(1 - exp(-value)) for value above 0, without cancellation at either end."""
    if value < 0.6931471805599453:
        return math.log(-math.expm1(-value))
    return math.log1p(-math.exp(-value))


@numba.njit(cache=True, nogil=True)
def _bose(value):
    """Value / (exp(value) - 1), 1 at 0."""
    if value > 700.0:
        return 0.0
    return value / math.expm1(value) if value > 0.0 else 1.0


@numba.njit(cache=True, nogil=True)
def _log_integrand(u, relevant, other, left, odds):
    s = math.exp(u)
    total = u - left * s
    if relevant > 0:
        total += relevant * _log_one_minus_exp(s)
    if other > 0:
        total += other * _log_one_minus_exp(odds * s)
    return total


@numba.njit(cache=True, nogil=True)
def _peak(relevant, other, left, odds):
    """U at which the log integrand is largest: its slope falls from 1 + x + y to minus infinity."""
    draws = 1.0 + relevant + other
    low = math.log(draws / (left + 0.5 * (relevant + other * odds)))
    high = math.log(draws / left)
    for _ in range(60):
        u = 0.5 * (low + high)
        s = math.exp(u)
        if 1.0 - left * s + relevant * _bose(s) + other * _bose(odds * s) > 0.0:
            low = u
        else:
            high = u
        if high - low < 1e-3:
            break
    return 0.5 * (low + high)


@numba.njit(cache=True, nogil=True)
def _end(peak, direction, relevant, other, left, odds):
    """Point on one side of the peak where the log integrand has fallen by FALL to FALL + 10 %."""
    floor = _log_integrand(peak, relevant, other, left, odds) - FALL
    near, step = 0.0, 0.25
    while _log_integrand(peak + direction * step, relevant, other, left, odds) > floor:
        near, step = step, 2.0 * step
    far = step
    while far - near > 0.02 * far:
        middle = 0.5 * (near + far)
        if _log_integrand(peak + direction * middle, relevant, other, left, odds) > floor:
            near = middle
        else:
            far = middle
    return peak + direction * far


@numba.njit(cache=True, nogil=True)
def _log_choose(total, chosen):
    return math.lgamma(total + 1.0) - math.lgamma(chosen + 1.0) - math.lgamma(total - chosen + 1.0)


@numba.njit(cache=True, nogil=True)
def log_pmf(count, n_draws, n_relevant, n_documents, log_odds):
    """Log pmf of one count, and its derivative with respect to the log odds.

    NaN outside the range of the parameters, minus infinity (derivative 0) outside the support.
    """
    n_other = n_documents - n_relevant
    if not (0 <= n_relevant <= n_documents and 0 <= n_draws <= n_documents) or math.isnan(log_odds):
        return math.nan, math.nan
    lowest, highest = max(0, n_draws - n_other), min(n_draws, n_relevant)
    if count < lowest or count > highest:
        return -math.inf, 0.0
    if lowest == highest:
        return 0.0, 0.0
    inner = min(max(log_odds, -LARGEST_LOG_ODDS), LARGEST_LOG_ODDS)
    odds = math.exp(inner)
    drawn_other = n_draws - count
    weight_other = odds * (n_other - drawn_other)
    left = n_relevant - count + weight_other
    peak = _peak(count, drawn_other, left, odds)
    start = _end(peak, -1.0, count, drawn_other, left, odds)
    width = (_end(peak, 1.0, count, drawn_other, left, odds) - start) / (N_NODES - 1)
    top = _log_integrand(peak, count, drawn_other, left, odds)
    total, slope = 0.0, 0.0
    for node in range(N_NODES):
        u = start + node * width
        s = math.exp(u)
        value = math.exp(_log_integrand(u, count, drawn_other, left, odds) - top)
        total += value
        slope += value * (drawn_other * _bose(odds * s) - weight_other * s)
    result = math.log(left * width * total) + top
    result += _log_choose(n_relevant, count) + _log_choose(n_other, drawn_other)
    slope = slope / total + weight_other / left
    return result + slope * (log_odds - inner), slope


@numba.njit(cache=True, nogil=True)
def log_pmfs(count, n_draws, n_relevant, n_documents, log_odds):
    """Log pmf and its derivative, element by element of five vectors."""
    value, slope = np.empty(count.size), np.empty(count.size)
    for i in range(count.size):
        value[i], slope[i] = log_pmf(
            count[i], n_draws[i], n_relevant[i], n_documents[i], log_odds[i]
        )
    return value, slope


@numba.njit(cache=True, nogil=True)
def _log_tail(first, step, last, n_draws, n_relevant, n_documents, log_odds):
    """Log of the sum of the pmf from one count to another, and its derivative.

    The pmf is taken to have one peak: the sum is over once a term is lost in it.
    """
    best, total, slope = -math.inf, 0.0, 0.0
    for count in range(first, last + step, step):
        value, change = log_pmf(count, n_draws, n_relevant, n_documents, log_odds)
        if value > best:
            share = math.exp(best - value)
            best, total, slope = value, total * share, slope * share
        term = math.exp(value - best)
        total, slope = total + term, slope + term * change
        if term < 1e-18 * total:
            break
    return best + math.log(total), slope / total


@numba.njit(cache=True, nogil=True)
def log_cdf(count, n_draws, n_relevant, n_documents, log_odds):
    """Log probability of at most this count, and its derivative with respect to the log odds."""
    n_other = n_documents - n_relevant
    if not (0 <= n_relevant <= n_documents and 0 <= n_draws <= n_documents) or math.isnan(log_odds):
        return math.nan, math.nan
    lowest, highest = max(0, n_draws - n_other), min(n_draws, n_relevant)
    if count < lowest:
        return -math.inf, 0.0
    if count >= highest:
        return 0.0, 0.0
    above, slope = _log_tail(count + 1, 1, highest, n_draws, n_relevant, n_documents, log_odds)
    if above < -0.7:
        return math.log1p(-math.exp(above)), -slope * math.exp(above) / -math.expm1(above)
    return _log_tail(count, -1, lowest, n_draws, n_relevant, n_documents, log_odds)


@numba.njit(cache=True, nogil=True)
def log_cdfs(count, n_draws, n_relevant, n_documents, log_odds):
    """Log cdf and its derivative, element by element of five vectors."""
    value, slope = np.empty(count.size), np.empty(count.size)
    for i in range(count.size):
        value[i], slope[i] = log_cdf(
            count[i], n_draws[i], n_relevant[i], n_documents[i], log_odds[i]
        )
    return value, slope


@numba.njit(cache=True, nogil=True)
def random_count(rng, n_draws, n_relevant, n_documents, log_odds):
    """Number of relevant documents among `n_draws` draws, one draw after the other."""
    odds = math.exp(log_odds)
    relevant, other = n_relevant, n_documents - n_relevant
    for _ in range(n_draws):
        if rng.random() * (relevant + odds * other) < relevant or other == 0:
            relevant -= 1
        else:
            other -= 1
    return n_relevant - relevant


@numba.njit(cache=True, nogil=True)
def random_counts(rng, n_draws, n_relevant, n_documents, log_odds):
    """Random counts, element by element of four vectors."""
    count = np.empty(n_draws.size, dtype=np.int64)
    for i in range(count.size):
        count[i] = random_count(rng, n_draws[i], n_relevant[i], n_documents[i], log_odds[i])
    return count
