"""Likelihood of the colours an urn shows in order of draw, with ranks that nobody judged.

A run is a row of colours: 1 relevant, 0 not relevant, -1 unjudged. A topic is its runs (run, rank),
which draw from one urn with N documents, M of them relevant. Three parts: one run, M known; one
run, M summed out in steps; all runs of a topic, M summed out, and draws of M given their colours.
They call each other and stand in one file: numba keeps what it compiled until the file of a
function changes, and does not see that a function called from another file has changed.

The module compiles with numba on first use and must be imported inside functions.
"""

import math

import numba
import numpy as np
from scipy.special import gammaln

# Beyond this the log-likelihood is a straight line in log w to machine precision.
LARGEST_LOG_ODDS = 60.0
# Probabilities below this are rescaled.
FAINT = 1e-60
# Added to the weight of an urn, so that an empty one divides nothing by something.
EMPTY = 1e-300
# Log of how much smaller than the best the terms at the ends of a sum in steps, and those left out,
# must be.
FAR = 36.0
# Values of M looked at together, and how far below the best log term of the sum over M a term
# counts as nothing (20000 such terms change a log-likelihood by less than 1e-17).
BLOCK = 16
CUT = 50.0
# Logarithms of 0!, 1!, ...; a look-up takes a tenth of the time of lgamma.
LOG_FACTORIAL = gammaln(np.arange(1.0, 8193.0))

_compiled = numba.njit(cache=True, nogil=True, error_model="numpy")

# One run, M known
#
# Where all is judged down to the last judged rank, the likelihood is a product over the ranks.
# Where there are gaps, the urn has a state after some draws: how many of the unjudged ones were
# relevant. forward[state, lane] is the probability of the colours so far together with the state,
# tangent its derivative with respect to log w, for several M at once (one a lane, so that the
# innermost loops run over contiguous memory).


@_compiled
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


@_compiled
def prefix_log_likelihood(colour, depth, odds, n_documents, n_relevant):
    """Log-likelihood of a run without gaps for one M that leaves room for it; d / d log w."""
    product, scale, slope, relevant, other = 1.0, 0.0, 0.0, 0, 0
    for rank in range(depth):
        # Equation 12: left / (left + weight) for a relevant document. Its log has the derivative
        # -weight / (left + weight) with respect to log w, that of the other left / (left + weight).
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
        # One logarithm for many ranks: only where the product would underflow.
        if product < FAINT:
            scale += math.log(product)
            product = 1.0
    return scale + math.log(product), slope


@_compiled
def _observe(forward, tangent, low, high, found, base, drawn, odds, n_documents, n_relevant):
    """One judged draw: every state is multiplied by the probability of the colour seen."""
    for state in range(low, high + 1):
        relevant = base + state
        for lane in range(n_relevant.size):
            left = n_relevant[lane] - relevant
            weight = odds * (n_documents - n_relevant[lane] - (drawn - relevant))
            # A state that has drawn more of a kind than there are has probability 0.
            left, weight = left if left > 0.0 else 0.0, weight if weight > 0.0 else 0.0
            scale = 1.0 / (left + weight + EMPTY)
            share = weight * scale
            chance = left * scale if found else share
            change = -share if found else 1.0 - share
            # Product rule; `change` is d log chance / d log w.
            tangent[state, lane] = chance * (tangent[state, lane] + change * forward[state, lane])
            forward[state, lane] *= chance


@_compiled
def _skip(forward, tangent, low, high, base, drawn, spare, odds, n_documents, n_relevant):
    """One unjudged draw: states move up by one or stay, unless the judged ranks rule it out.

    `spare` is the number of judged documents (relevant, other) in the whole row: a state must
    leave room for all of them.
    """
    gaps = drawn - base[0] - base[1]
    # Downwards, so that what moves up to a state does not move again.
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
            # Up: the document was relevant, and `spare[0]` judged relevant ones must still fit in.
            up = chance if state + 1 <= n_relevant[lane] - spare[0] else 0.0
            stay = share if gaps + 1 - state <= n_other - spare[1] else 0.0
            forward[state + 1, lane] += up * now
            tangent[state + 1, lane] += up * (moved - share * now)
            forward[state, lane] = stay * now
            tangent[state, lane] = stay * (moved + chance * now)


@_compiled
def _negligible(forward, state, other_end):
    """Whether a state at one end has next to no probability in any lane: 1e-100 of another's."""
    step = 1 if other_end > state else -1
    for lane in range(forward.shape[1]):
        most = forward[state, lane] / 1e-100
        largest = 0.0
        for other in range(state + step, other_end + step, step):
            largest = forward[other, lane]
            if largest >= most:
                break
        if largest < most:
            return False
    return True


@_compiled
def _rescale(forward, tangent, low, high, value):
    """Bring faint lanes back to 1 and drop negligible states at either end; the states kept."""
    # Likelihoods of long runs underflow: the log of the sum is kept apart.
    for lane in range(forward.shape[1]):
        total = 0.0
        for state in range(low, high + 1):
            total += forward[state, lane]
        if 0.0 < total < FAINT:
            value[lane] += math.log(total)
            for state in range(low, high + 1):
                forward[state, lane] /= total
                tangent[state, lane] /= total
    # A state is dropped where in every lane a state further in has 1e100 times as much.
    while high > low and _negligible(forward, high, low):
        _drop(forward, tangent, high)
        high -= 1
    while low < high and _negligible(forward, low, high):
        _drop(forward, tangent, low)
        low += 1
    return low, high


@_compiled
def _drop(forward, tangent, state):
    """Leave out a state in every lane."""
    for lane in range(forward.shape[1]):
        forward[state, lane], tangent[state, lane] = 0.0, 0.0


@_compiled
def add_run(colour, log_odds, n_documents, n_relevant, value, slope):
    """Add the log-likelihood of one run, for each M, to `value`; write its derivative to `slope`.

    Minus infinity (derivative 0) where M leaves no room for the colours seen. Forward recursion
    over the ranks; right for runs without gaps too, which the products below do faster.
    """
    slope[:] = 0.0
    depth, n_found, n_other = judged_depth(colour)
    if depth == 0:
        return
    inner = min(max(log_odds, -LARGEST_LOG_ODDS), LARGEST_LOG_ODDS)
    odds, spare = math.exp(inner), (n_found, n_other)
    forward = np.zeros((depth - n_found - n_other + 2, n_relevant.size))
    tangent = np.zeros_like(forward)
    # Before the first draw: one state, no unjudged document drawn.
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
        # The likelihood is the sum over the states; d log L is that of the tangents over it.
        total, change = 0.0, 0.0
        for state in range(low, high + 1):
            total += forward[state, lane]
            change += tangent[state, lane]
        value[lane] += math.log(total) if total > 0.0 else -math.inf
        slope[lane] += change / total if total > 0.0 else 0.0
        if n_relevant[lane] < n_found or n_documents - n_relevant[lane] < n_other:
            value[lane], slope[lane] = -math.inf, 0.0
        else:
            value[lane] += slope[lane] * (log_odds - inner)


@_compiled
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


# One run, M ~ Binomial(N, q) summed out in steps, where that is exact
#
# The likelihood is the sum over M of P(M) L(M)^weight. A list tells little of M, so the terms are a
# smooth bell nearly as wide as P(M). Where that lies well inside the range of M, every so manieth
# term has the same sum: by Poisson's summation formula the part lost with a step h is about
# exp(-2 pi^2 (s / h)^2) for a bell of standard deviation s. The bell found is checked, and refused
# where it is too narrow for its step, uneven, or cut by an end.


@_compiled
def log_factorial(number):
    """Logarithm of the factorial of a whole number."""
    if number < LOG_FACTORIAL.size:
        return LOG_FACTORIAL[int(number)]
    return math.lgamma(number + 1.0)


@_compiled
def log_odds_pair(logit):
    """Logarithms of q and of 1 - q, without cancellation when q is near 0 or 1."""
    tail = math.log1p(math.exp(-abs(logit)))
    return -tail + min(logit, 0.0), -tail - max(logit, 0.0)


@_compiled
def _term(colour, depth, odds, log_q, log_rest, n_documents, n_relevant, likelihood_weight):
    """Log of P(M) L(M)^weight but for log N!, and d log L / d log w."""
    log, slope = prefix_log_likelihood(colour, depth, odds, n_documents, n_relevant)
    rest = n_documents - n_relevant
    value = n_relevant * log_q + rest * log_rest
    value -= log_factorial(n_relevant) + log_factorial(rest)
    return value + likelihood_weight * log, slope


@_compiled
def single_log_likelihood(
    colour, depth, log_odds, logit_prevalence, n_documents, likelihood_weight, lowest, highest
):
    """Log-likelihood of one list without gaps, its derivatives in log w and logit q, and success.

    ``lowest`` and ``highest`` are the numbers M that leave room for the colours seen. Without
    success the numbers mean nothing: the whole sum is needed.
    """
    # Start at the mean of P(M), or as near to it as there is room, with 1.5 steps in its sd.
    odds, prevalence = math.exp(log_odds), 1.0 / (1.0 + math.exp(-logit_prevalence))
    log_q, log_rest = log_odds_pair(logit_prevalence)
    step = max(1, int(math.sqrt(n_documents * prevalence * (1 - prevalence)) / 1.5))
    start = min(max(int(n_documents * prevalence), lowest), highest)
    first, _ = _term(
        colour, depth, odds, log_q, log_rest, n_documents, start, likelihood_weight
    )  # fmt: skip
    if not first > -math.inf:
        return 0.0, 0.0, 0.0, False
    # From there down and up until the terms are lost. Relative to the first term: their sum, the
    # sum with alternating signs, their first two moments in steps, and that of the derivatives.
    best, total, uneven, mean, square, change = first, 0.0, 0.0, 0.0, 0.0, 0.0
    for direction in (-1, 1):
        place = 0 if direction < 0 else 1
        while lowest <= start + direction * place * step <= highest:
            number = start + direction * place * step
            value, slope = _term(
                colour, depth, odds, log_q, log_rest, n_documents, number, likelihood_weight
            )  # fmt: skip
            if value < best - FAR:
                break
            best = max(best, value)
            share = math.exp(value - first)
            total += share
            uneven += -share if place % 2 else share
            mean += direction * place * share
            square += place * place * share
            change += share * slope
            place += 1
    mean /= total
    # Refused where the bell is cut by an end of the range.
    for end in (lowest, highest):
        value, _ = _term(
            colour, depth, odds, log_q, log_rest, n_documents, end, likelihood_weight
        )  # fmt: skip
        if not value < best - FAR:
            return 0.0, 0.0, 0.0, False
    # Or where the odd terms have another sum than the even ones, or fewer than 1.2 steps are in the
    # standard deviation of the terms.
    bell = abs(uneven) <= 1e-3 * total and square / total - mean**2 >= 1.2**2
    value = first + math.log(total * step) + log_factorial(n_documents)
    # d log L / d logit q is the mean of M given the list, less N q.
    of_prevalence = start + step * mean - n_documents * prevalence
    return value, likelihood_weight * change / total, of_prevalence, step == 1 or bell


# All runs of a topic, M ~ Binomial(N, q) summed out once
#
# The likelihood is the sum over M of P(M) times the product over runs of L_run(M), raised to a
# weight where it is a composite one. Only the part of the sum that matters is evaluated, block by
# block: the first and the last block, every block whose middle is within CUT of the best term found
# so far, and from there outwards until the terms have fallen by CUT.


@_compiled
def _multiply_with_slope(colour, depth, odds, n_documents, n_relevant, product, scaled, slope):
    """Multiply by the likelihood of a run without gaps, for each M, and write its derivative.

    The likelihood is product * FAINT ** scaled: one logarithm serves many runs.
    """
    slope[:] = 0.0
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
        # Four factors above FAINT at a time cannot underflow.
        if rank % 4 == 3 or rank == depth - 1:
            for lane in range(n_relevant.size):
                faint = product[lane] < FAINT
                product[lane] = product[lane] / FAINT if faint else product[lane]
                scaled[lane] += 1.0 if faint else 0.0


@_compiled
def _multiply(colour, depth, odds, n_documents, n_relevant, above, below, product, scaled):
    """The same without the derivative: one division every fourth rank.

    `above` and `below`, both 1, hold numerators and denominators on the way.
    """
    relevant, other = 0, 0
    for rank in range(depth):
        found = colour[rank] > 0
        for lane in range(n_relevant.size):
            left = n_relevant[lane] - relevant
            weight = odds * (n_documents - n_relevant[lane] - other)
            above[lane] *= left if found else weight
            below[lane] *= left + weight
        if found:
            relevant += 1
        else:
            other += 1
        if rank % 4 == 3 or rank == depth - 1:
            for lane in range(n_relevant.size):
                chance = product[lane] * (above[lane] / below[lane])
                faint = chance < FAINT
                product[lane] = chance / FAINT if faint else chance
                scaled[lane] += 1.0 if faint else 0.0
                above[lane], below[lane] = 1.0, 1.0


@_compiled
def _joint(
    colour, log_odds, logit_prevalence, n_documents, likelihood_weight, n_relevant, value, slope
):
    """Log P(M) + weight * sum over runs of log L_run(M), and d log L_run, for several M.

    Every M must leave room for the colours seen. Where `slope` (run, M) has no runs there are no
    derivatives.
    """
    lanes, derivatives = n_relevant.size, slope.shape[0] > 0
    product, scaled, unused = np.ones(lanes), np.zeros(lanes), np.empty(lanes)
    above, below = np.ones(lanes), np.ones(lanes)
    value[:] = 0.0
    # Runs without gaps go into one product, runs with gaps are added to the logarithm.
    for run in range(colour.shape[0]):
        change = slope[run] if derivatives else unused
        depth, relevant, other = judged_depth(colour[run])
        if depth > relevant + other or abs(log_odds[run]) > LARGEST_LOG_ODDS:
            add_run(colour[run], log_odds[run], n_documents, n_relevant, value, change)
        elif derivatives:
            _multiply_with_slope(colour[run], depth, math.exp(log_odds[run]), n_documents,
                                 n_relevant, product, scaled, change)  # fmt: skip
        else:
            _multiply(colour[run], depth, math.exp(log_odds[run]), n_documents, n_relevant, above,
                      below, product, scaled)  # fmt: skip
    for lane in range(lanes):
        value[lane] += math.log(product[lane]) + scaled[lane] * math.log(FAINT)
        value[lane] *= likelihood_weight
    # P(M), without cancellation when q is near 0 or 1.
    log_q, log_rest = log_odds_pair(logit_prevalence)
    whole = log_factorial(n_documents)
    for lane in range(lanes):
        found, rest = n_relevant[lane], n_documents - n_relevant[lane]
        value[lane] += whole - log_factorial(found) - log_factorial(rest)
        value[lane] += found * log_q + rest * log_rest


@_compiled
def number_range(colour, n_documents):
    """Smallest and largest M that leave room for the judged documents of every run."""
    lowest, highest = 0, n_documents
    for run in range(colour.shape[0]):
        depth, relevant, other = judged_depth(colour[run])
        if depth > n_documents:
            return 0, -1
        lowest, highest = max(lowest, relevant), min(highest, n_documents - other)
    return lowest, highest


@_compiled
def joint_terms(colour, log_odds, logit_prevalence, n_documents, likelihood_weight, derivatives):
    """Terms of the sum over M that matter: M, log of the term, d log L_run (block, run, term).

    The term is P(M) times the likelihoods of the runs raised to `likelihood_weight`. Without
    `derivatives` there are none (block, 0, term).
    """
    # Blocks of M from the smallest possible one; past the largest the last block repeats it.
    lowest, highest = number_range(colour, n_documents)
    n_runs = colour.shape[0] if derivatives else 0
    n_blocks = max(0, highest - lowest + BLOCK) // BLOCK
    number = np.empty(n_blocks * BLOCK)
    value = np.full(n_blocks * BLOCK, -math.inf)
    slope = np.empty((n_blocks, n_runs, BLOCK))
    for term in range(number.size):
        number[term] = min(lowest + term, highest)
    # The middle of every block, to see which blocks matter; few blocks are all looked at.
    middle = np.full(n_blocks, math.inf)
    if n_blocks > 6:
        some = number[BLOCK // 2 :: BLOCK].copy()
        _joint(colour, log_odds, logit_prevalence, n_documents, likelihood_weight, some, middle,
               np.empty((n_runs, n_blocks)))  # fmt: skip
        best = middle.max()
    else:
        best = -math.inf
    wanted = np.zeros(n_blocks, dtype=np.bool_)
    done = np.zeros(n_blocks, dtype=np.bool_)
    if n_blocks > 0:
        wanted[0], wanted[-1] = True, True
    # All wanted blocks, and the neighbours of those whose terms at the border still count.
    going = n_blocks > 0
    while going:
        going = False
        for block in range(n_blocks):
            if done[block] or not (wanted[block] or middle[block] > best - CUT):
                continue
            here = slice(block * BLOCK, (block + 1) * BLOCK)
            _joint(colour, log_odds, logit_prevalence, n_documents, likelihood_weight, number[here],
                   value[here], slope[block])  # fmt: skip
            done[block], going = True, True
            best = max(best, value[here].max())
            if block > 0 and value[here][0] > best - CUT:
                wanted[block - 1] = True
            if block + 1 < n_blocks and value[here][-1] > best - CUT:
                wanted[block + 1] = True
    # The repeated ones are no terms.
    value[max(0, highest - lowest + 1) :] = -math.inf
    return number, value, slope


@_compiled
def _listed(colour):
    """Positions of the runs with a judged document."""
    listed, n_listed = np.empty(colour.shape[0], dtype=np.int64), 0
    for run in range(colour.shape[0]):
        if judged_depth(colour[run])[0] > 0:
            listed[n_listed] = run
            n_listed += 1
    return listed[:n_listed]


@_compiled
def _picked(colour, log_odds, listed):
    """Colours and log odds of some runs."""
    some = np.empty((listed.size, colour.shape[1]), dtype=colour.dtype)
    odds = np.empty(listed.size)
    for place in range(listed.size):
        odds[place] = log_odds[listed[place]]
        for rank in range(colour.shape[1]):
            some[place, rank] = colour[listed[place], rank]
    return some, odds


@_compiled
def topic_log_likelihood(colour, log_odds, logit_prevalence, n_documents, likelihood_weight, slope):
    """Log-likelihood of one topic and its derivative with respect to logit q.

    `slope` (run,) receives the derivatives with respect to the runs' log odds. Runs without a
    judged document take no part in the sum, and cost nothing.
    """
    listed = _listed(colour)
    slope[:] = 0.0
    if listed.size == 0 and n_documents >= 0:
        return 0.0, 0.0
    # One run without gaps: in steps, where that is exact.
    if listed.size == 1:
        run = listed[0]
        depth, relevant, other = judged_depth(colour[run])
        if depth == relevant + other and abs(log_odds[run]) <= LARGEST_LOG_ODDS:
            value, slope[run], change, summed = single_log_likelihood(
                colour[run], depth, log_odds[run], logit_prevalence, n_documents,
                likelihood_weight, relevant, n_documents - other,
            )  # fmt: skip
            if summed:
                return value, change
            slope[run] = 0.0
    number, value, slopes = joint_terms(
        *_picked(colour, log_odds, listed),
        logit_prevalence, n_documents, likelihood_weight, True,
    )  # fmt: skip
    best = value.max() if value.size else -math.inf
    if not best > -math.inf:
        return best, 0.0
    # Derivatives are means over M given the colours: of d log L_run, and of M less N q.
    total, mean = 0.0, 0.0
    for term in range(value.size):
        share = math.exp(value[term] - best)
        if share == 0.0:
            continue
        total += share
        mean += share * number[term]
        for place in range(listed.size):
            slope[listed[place]] += share * slopes[term // BLOCK, place, term % BLOCK]
    for run in range(slope.size):
        slope[run] *= likelihood_weight / total
    prevalence = 1.0 / (1.0 + math.exp(-logit_prevalence))
    return best + math.log(total), mean / total - n_documents * prevalence


@_compiled
def topic_log_likelihoods(colour, log_odds, logit_prevalence, n_documents, likelihood_weight):
    """Log-likelihood of each topic (topic, run, rank), and its two derivatives."""
    value, change = np.empty(colour.shape[0]), np.empty(colour.shape[0])
    slope = np.empty(colour.shape[:2])
    for topic in range(colour.shape[0]):
        value[topic], change[topic] = topic_log_likelihood(
            colour[topic], log_odds[topic], logit_prevalence[topic], n_documents[topic],
            likelihood_weight[topic], slope[topic],
        )  # fmt: skip
    return value, slope, change


@_compiled
def random_numbers(rng, shown, log_odds, logit_prevalence, n_documents, likelihood_weight):
    """M of each draw, from its distribution given the colours; -1 where there is none."""
    n_relevant = np.full(logit_prevalence.size, -1, dtype=np.int64)
    nothing_seen = _listed(shown).size == 0
    for draw in range(n_relevant.size):
        if nothing_seen:
            chance = 1.0 / (1.0 + math.exp(-logit_prevalence[draw]))
            n_relevant[draw] = rng.binomial(n_documents, chance)
            continue
        number, value, _ = joint_terms(
            shown, log_odds[draw], logit_prevalence[draw], n_documents, likelihood_weight, False
        )
        best = value.max() if value.size else -math.inf
        if not best > -math.inf:
            continue
        # Inverse of the distribution function; the last term with a share where rounding leaves
        # something over.
        share, total = np.empty(value.size), 0.0
        for term in range(value.size):
            share[term] = math.exp(value[term] - best)
            total += share[term]
        rest = rng.random() * total
        for term in range(share.size):
            rest -= share[term]
            if share[term] > 0.0:
                n_relevant[draw] = int(number[term])
                if rest < 0.0:
                    break
    return n_relevant
