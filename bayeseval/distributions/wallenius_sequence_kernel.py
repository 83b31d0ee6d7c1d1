"""Likelihood of the colours an urn shows in order of draw, with ranks that nobody judged.

A run is a row of colours: 1 relevant, 0 not relevant, -1 unjudged. State of the urn after some
draws: how many of the unjudged ones were relevant. ``forward[state, lane]`` is the probability of
the colours so far together with the state, ``tangent`` its derivative with respect to log w, for
several M at once (one a lane, so that the innermost loops run over contiguous memory).

The module compiles with numba on first use and must be imported inside functions.
"""

import math

import numba
import numpy as np

# States below this part of all are left out at either end; rescaling starts below FAINT.
NEGLIGIBLE = 1e-100
FAINT = 1e-60
# Added to the weight of an urn, so that an empty one divides nothing by something.
EMPTY = 1e-300
# Beyond this the log-likelihood is a straight line in log w to machine precision.
LARGEST_LOG_ODDS = 60.0


@numba.njit(cache=True, nogil=True, error_model="numpy")
def judged_depth(colour):
    """Rank of the last judged document, and how many of each colour there are down to it."""
    depth, relevant, other = 0, 0, 0
    for rank in range(colour.size):
        if colour[rank] >= 0:
            depth = rank + 1
            if colour[rank] > 0:
                relevant += 1
            else:
                other += 1
    return depth, relevant, other


@numba.njit(cache=True, nogil=True, error_model="numpy")
def prefix_log_likelihood(colour, depth, odds, n_documents, n_relevant):
    """Log-likelihood of a run without gaps for one M that leaves room for it; d / d log w."""
    product, scale, slope, relevant, other = 1.0, 0.0, 0.0, 0, 0
    for rank in range(depth):
        left = n_relevant - relevant
        weight = odds * (n_documents - n_relevant - other)
        inverse = 1.0 / (left + weight)
        if colour[rank] > 0:
            product *= left * inverse
            slope -= weight * inverse
            relevant += 1
        else:
            product *= weight * inverse
            slope += left * inverse
            other += 1
        if product < FAINT:
            scale += math.log(product)
            product = 1.0
    return scale + math.log(product), slope


@numba.njit(cache=True, nogil=True, error_model="numpy")
def multiply_prefix(colour, depth, odds, n_documents, n_relevant, product, scaled, slope):
    """Multiply by the likelihood of a run without gaps, for each M, and write its derivative.

    The likelihood is product * FAINT ** scaled: one logarithm serves many runs.
    """
    relevant, other = 0, 0
    for rank in range(depth):
        if colour[rank] > 0:
            for lane in range(n_relevant.size):
                left = n_relevant[lane] - relevant
                weight = odds * (n_documents - n_relevant[lane] - other)
                inverse = 1.0 / (left + weight)
                product[lane] *= left * inverse
                slope[lane] -= weight * inverse
            relevant += 1
        else:
            for lane in range(n_relevant.size):
                left = n_relevant[lane] - relevant
                weight = odds * (n_documents - n_relevant[lane] - other)
                share = weight / (left + weight)
                product[lane] *= share
                slope[lane] += 1.0 - share
            other += 1
        if rank % 4 == 3 or rank == depth - 1:
            for lane in range(n_relevant.size):
                faint = product[lane] < FAINT
                product[lane] = product[lane] / FAINT if faint else product[lane]
                scaled[lane] += 1.0 if faint else 0.0


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _add_prefix(colour, depth, odds, n_documents, n_relevant, value, slope):
    """Add log-likelihood and derivative of a run without gaps, for each M."""
    product, scaled = np.ones(n_relevant.size), np.zeros(n_relevant.size)
    multiply_prefix(colour, depth, odds, n_documents, n_relevant, product, scaled, slope)
    for lane in range(n_relevant.size):
        value[lane] += math.log(product[lane]) + scaled[lane] * math.log(FAINT)


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _observe(forward, tangent, low, high, found, base, drawn, odds, n_documents, n_relevant):
    """One judged draw: every state is multiplied by the probability of the colour seen."""
    for state in range(low, high + 1):
        relevant = base + state
        for lane in range(n_relevant.size):
            left = n_relevant[lane] - relevant
            weight = odds * (n_documents - n_relevant[lane] - (drawn - relevant))
            left, weight = left if left > 0.0 else 0.0, weight if weight > 0.0 else 0.0
            scale = 1.0 / (left + weight + EMPTY)
            share = weight * scale
            chance = left * scale if found else share
            change = -share if found else 1.0 - share
            tangent[state, lane] = chance * (tangent[state, lane] + change * forward[state, lane])
            forward[state, lane] *= chance


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _skip(forward, tangent, low, high, base, drawn, spare, odds, n_documents, n_relevant):
    """One unjudged draw: states move up by one or stay, unless the judged ranks rule it out.

    `spare` is the number of judged documents (relevant, other) in the whole row: a state must
    leave room for all of them.
    """
    gaps = drawn - base[0] - base[1]
    for state in range(high, low - 1, -1):
        relevant = base[0] + state
        for lane in range(n_relevant.size):
            n_other = n_documents - n_relevant[lane]
            left = n_relevant[lane] - relevant
            weight = odds * (n_other - (drawn - relevant))
            left, weight = left if left > 0.0 else 0.0, weight if weight > 0.0 else 0.0
            scale = 1.0 / (left + weight + EMPTY)
            share, chance = weight * scale, left * scale
            now, moved = forward[state, lane], tangent[state, lane]
            up = chance if state + 1 <= n_relevant[lane] - spare[0] else 0.0
            stay = share if gaps + 1 - state <= n_other - spare[1] else 0.0
            forward[state + 1, lane] += up * now
            tangent[state + 1, lane] += up * (moved - share * now)
            forward[state, lane] = stay * now
            tangent[state, lane] = stay * (moved + chance * now)


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _negligible(forward, state, other_end):
    """Whether a state at one end has next to no probability in any lane."""
    step = 1 if other_end > state else -1
    for lane in range(forward.shape[1]):
        most = forward[state, lane] / NEGLIGIBLE
        largest = 0.0
        for other in range(state + step, other_end + step, step):
            largest = forward[other, lane]
            if largest >= most:
                break
        if largest < most:
            return False
    return True


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _rescale(forward, tangent, low, high, value):
    """Bring faint lanes back to 1 and drop negligible states at either end; the states kept."""
    for lane in range(forward.shape[1]):
        total = 0.0
        for state in range(low, high + 1):
            total += forward[state, lane]
        if 0.0 < total < FAINT:
            value[lane] += math.log(total)
            for state in range(low, high + 1):
                forward[state, lane] /= total
                tangent[state, lane] /= total
    while high > low and _negligible(forward, high, low):
        forward[high], tangent[high] = 0.0, 0.0
        high -= 1
    while low < high and _negligible(forward, low, high):
        forward[low], tangent[low] = 0.0, 0.0
        low += 1
    return low, high


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _add_gapped(colour, depth, spare, odds, n_documents, n_relevant, value, slope):
    """Add log-likelihood and derivative of a run with gaps, for each M: forward recursion."""
    forward = np.zeros((depth - spare[0] - spare[1] + 2, n_relevant.size))
    tangent = np.zeros_like(forward)
    forward[0] = 1.0
    low, high, relevant, other = 0, 0, 0, 0
    for rank in range(depth):
        if colour[rank] < 0:
            _skip(forward, tangent, low, high, (relevant, other), rank, spare, odds, n_documents,
                  n_relevant)  # fmt: skip
            high += 1
        else:
            found = colour[rank] > 0
            _observe(forward, tangent, low, high, found, relevant, rank, odds, n_documents,
                     n_relevant)  # fmt: skip
            relevant, other = (relevant + 1, other) if found else (relevant, other + 1)
        if rank % 4 == 3:
            low, high = _rescale(forward, tangent, low, high, value)
    for lane in range(n_relevant.size):
        total = forward[low : high + 1, lane].sum()
        value[lane] += math.log(total) if total > 0.0 else -math.inf
        slope[lane] += tangent[low : high + 1, lane].sum() / total if total > 0.0 else 0.0


@numba.njit(cache=True, nogil=True, error_model="numpy")
def add_run(colour, log_odds, n_documents, n_relevant, value, slope):
    """Add the log-likelihood of one run, for each M, to `value`; write its derivative to `slope`.

    Minus infinity (derivative 0) where M leaves no room for the colours seen.
    """
    slope[:] = 0.0
    depth, relevant, other = judged_depth(colour)
    if depth == 0:
        return
    inner = min(max(log_odds, -LARGEST_LOG_ODDS), LARGEST_LOG_ODDS)
    odds = math.exp(inner)
    if depth == relevant + other:
        _add_prefix(colour, depth, odds, n_documents, n_relevant, value, slope)
    else:
        spare = (relevant, other)
        _add_gapped(colour, depth, spare, odds, n_documents, n_relevant, value, slope)
    for lane in range(n_relevant.size):
        if n_relevant[lane] < relevant or n_documents - n_relevant[lane] < other:
            value[lane], slope[lane] = -math.inf, 0.0
        else:
            value[lane] += slope[lane] * (log_odds - inner)


@numba.njit(cache=True, nogil=True, error_model="numpy")
def add_topic(colour, log_odds, n_documents, n_relevant, value, slope):
    """Add the log-likelihoods of runs (run, rank), for each M; write the derivatives (run, M).

    Every M must leave room for the colours seen.
    """
    product, scaled = np.ones(n_relevant.size), np.zeros(n_relevant.size)
    for run in range(colour.shape[0]):
        depth, relevant, other = judged_depth(colour[run])
        if depth == relevant + other and abs(log_odds[run]) <= LARGEST_LOG_ODDS:
            slope[run] = 0.0
            multiply_prefix(
                colour[run], depth, math.exp(log_odds[run]), n_documents, n_relevant, product,
                scaled, slope[run],
            )  # fmt: skip
        else:
            add_run(colour[run], log_odds[run], n_documents, n_relevant, value, slope[run])
    for lane in range(n_relevant.size):
        value[lane] += math.log(product[lane]) + scaled[lane] * math.log(FAINT)


@numba.njit(cache=True, nogil=True, error_model="numpy")
def run_log_likelihoods(colour, log_odds, n_documents, n_relevant):
    """Log-likelihood and derivative of each row of colours (row, rank), M known for each."""
    value, slope = np.zeros(colour.shape[0]), np.zeros(colour.shape[0])
    one = np.empty(1)
    for row in range(colour.shape[0]):
        depth, relevant, other = judged_depth(colour[row])
        room = relevant <= n_relevant[row] and other <= n_documents[row] - n_relevant[row]
        if depth == relevant + other and room and abs(log_odds[row]) <= LARGEST_LOG_ODDS:
            value[row], slope[row] = prefix_log_likelihood(
                colour[row], depth, math.exp(log_odds[row]), n_documents[row], n_relevant[row]
            )
            continue
        one[0] = n_relevant[row]
        add_run(colour[row], log_odds[row], n_documents[row], one,
                value[row : row + 1], slope[row : row + 1])  # fmt: skip
    return value, slope


@numba.njit(cache=True, nogil=True)
def random_run(rng, log_odds, n_relevant, n_documents, judged):
    """Colours of one run, drawn rank by rank; -1 where nobody judges or nothing is left."""
    odds = math.exp(log_odds)
    relevant, other = n_relevant, n_documents - n_relevant
    colour = np.full(judged.size, -1, dtype=np.int8)
    for rank in range(min(judged.size, n_documents)):
        found = rng.random() * (relevant + odds * other) < relevant or other == 0
        if found:
            relevant -= 1
        else:
            other -= 1
        if judged[rank]:
            colour[rank] = found
    return colour


@numba.njit(cache=True, nogil=True)
def random_runs(rng, log_odds, n_documents, n_relevant, judged):
    """Colours of rows (row, rank), one draw for each row of parameters."""
    colour = np.empty(judged.shape, dtype=np.int8)
    for row in range(judged.shape[0]):
        colour[row] = random_run(rng, log_odds[row], n_relevant[row], n_documents[row], judged[row])
    return colour
