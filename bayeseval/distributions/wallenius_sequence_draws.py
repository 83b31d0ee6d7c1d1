"""Draws of the colours that an urn shows: all of them, or the unjudged ones given the judged.

Codes as in the likelihood (`wallenius_sequence_kernel`), and -2 where a list has ended. Given the
judged colours, filter forward and sample backward: the state of the urn before a rank is how many
of the unjudged draws so far were relevant, and ``forward[rank, state]`` its probability together
with the judged colours before the rank, up to a factor for each rank; states that leave no room for
the judged documents still to come have none.

No compiled function here calls one of another file, whose changes numba would not see. The module
compiles with numba on first use and must be imported inside functions.
"""

import math

import numba
import numpy as np

from bayeseval.distributions.wallenius_sequence_kernel import (
    LARGEST_LOG_ODDS,
    judged_depth,
    number_range,
    random_numbers,
)

_compiled = numba.njit(cache=True, nogil=True, error_model="numpy")


@_compiled
def draw_run(rng, log_odds, n_relevant, n_documents, judged, colour):
    """Fill ``colour`` (rank,) of one run in order; -1 where nobody judges or nothing is left."""
    odds = math.exp(log_odds)
    relevant, other = n_relevant, n_documents - n_relevant
    for rank in range(judged.size):
        colour[rank] = -1
        if rank >= n_documents:
            continue
        found = rng.random() * (relevant + odds * other) < relevant or other == 0
        if found:
            relevant -= 1
        else:
            other -= 1
        if judged[rank]:
            colour[rank] = found


@_compiled
def random_runs(rng, log_odds, n_documents, n_relevant, judged):
    """Colours of rows (row, rank), one draw for each row of parameters."""
    colour = np.empty(judged.shape, dtype=np.int8)
    for row in range(judged.shape[0]):
        draw_run(rng, log_odds[row], n_relevant[row], n_documents[row], judged[row], colour[row])
    return colour


@_compiled
def draw_topic(rng, log_odds, logit_prevalence, n_documents, judged, colour):
    """Fill ``colour`` (run, rank) of one topic: M first, then every run from the same urn."""
    n_relevant = rng.binomial(n_documents, 1.0 / (1.0 + math.exp(-logit_prevalence)))
    for run in range(judged.shape[0]):
        draw_run(rng, log_odds[run], n_relevant, n_documents, judged[run], colour[run])


@_compiled
def random_topics(rng, log_odds, logit_prevalence, n_documents, judged):
    """Colours (topic, run, rank), one draw for each row of parameters."""
    colour = np.empty(judged.shape, dtype=np.int8)
    for topic in range(judged.shape[0]):
        draw_topic(
            rng, log_odds[topic], logit_prevalence[topic], n_documents[topic],
            judged[topic], colour[topic],
        )  # fmt: skip
    return colour


def filled_topic(
    rng_seed, colour, depth, log_odds, logit_prevalence, n_documents, likelihood_weight
):
    """Colours (draw, run, rank) and M (draw,) of a topic given its judged ranks above `depth`.

    M is drawn from its distribution given the colours (run, rank) at ranks below `depth` (run,),
    log w (draw, run) and logit q (draw,), then the unjudged ranks of every run given M. Draws come
    from ``np.random.default_rng(rng_seed)``: the same seed gives the same draws. Where no M leaves
    room for the judged documents, M is -1 and the ranks stay unjudged.
    """
    colour = np.ascontiguousarray(colour, dtype=np.int8)
    depth = np.asarray(depth, dtype=np.int64)
    # Colours that inform, -1 elsewhere, as deep as the deepest run.
    deepest = int(depth.max(initial=0))
    informs = np.arange(deepest) < depth[:, None]
    shown = np.where(informs, colour[:, :deepest], np.int8(-1))
    log_odds = np.ascontiguousarray(log_odds, dtype=np.float64)
    logit = np.ascontiguousarray(logit_prevalence, dtype=np.float64)
    rng = np.random.default_rng(rng_seed)
    n_relevant = random_numbers(
        rng, shown, log_odds, logit, int(n_documents), float(likelihood_weight)
    )
    return filled_runs(rng, colour, shown, log_odds, int(n_documents), n_relevant), n_relevant


def filled_runs(rng, colour, shown, log_odds, n_documents, n_relevant):
    """Colours (draw, run, rank) given those shown (run, rank), as int8, and M (draw,)."""
    judged = np.array([judged_depth(run) for run in shown], dtype=np.int64).reshape(-1, 3)
    lowest, highest = number_range(shown, n_documents)
    log_odds = np.clip(log_odds, -LARGEST_LOG_ODDS, LARGEST_LOG_ODDS)
    possible = (lowest <= n_relevant) & (n_relevant <= highest)
    return _filled(rng, colour, shown, judged, log_odds, n_documents, n_relevant, possible)


@_compiled
def _filled(rng, colour, shown, judged, log_odds, n_documents, n_relevant, possible):
    """Every run of every draw: what is unjudged above its last shown colour, then the rest.

    `judged` (run, 3) holds that rank and the numbers of each colour, `possible` (draw,) whether M
    leaves room for them.
    """
    n_runs, n_ranks = colour.shape
    out = np.empty((n_relevant.size, n_runs, n_ranks), dtype=np.int8)
    forward = np.empty((shown.shape[1] + 1, shown.shape[1] + 1))
    for draw in range(n_relevant.size):
        for run in range(n_runs):
            for rank in range(n_ranks):
                out[draw, run, rank] = colour[run, rank]
        if not possible[draw]:
            continue
        for run in range(n_runs):
            odds = math.exp(log_odds[draw, run])
            depth, relevant, other = judged[run]
            if depth > relevant + other:
                relevant += _sampled_gaps(
                    rng, shown[run], depth, (relevant, other), odds, n_documents,
                    n_relevant[draw], forward, out[draw, run],
                )  # fmt: skip
            left = float(n_relevant[draw] - relevant)
            other = n_documents - depth - left
            _continued(rng, depth, left, other, odds, out[draw, run])
    return out


@_compiled
def _continued(rng, depth, left, other, odds, out):
    """Fill the ranks from `depth` on in order; judged documents only leave the urn."""
    for rank in range(depth, out.size):
        seen = out[rank]
        if seen < -1:
            return
        found = seen > 0
        if seen == -1:
            found = left > 0.0 and rng.random() * (left + odds * other) < left
            out[rank] = found
        if found:
            left = max(left - 1.0, 0.0)
        else:
            other = max(other - 1.0, 0.0)


@_compiled
def _filter(colour, depth, spare, odds, n_documents, n_relevant, forward):
    """Probabilities of the states before each rank; `spare` as in the likelihood."""
    n_other = n_documents - n_relevant
    relevant, gaps = 0, 0
    forward[0, 0] = 1.0
    # A judged rank multiplies every state by the probability of its colour, an unjudged one spreads
    # it over the state and the next, unless that leaves no room for the judged ones to come.
    for rank in range(depth):
        total, seen = 0.0, colour[rank]
        forward[rank + 1, 0] = 0.0
        for state in range(gaps + 1):
            left = max(n_relevant - relevant - state, 0)
            weight = odds * max(n_other - (rank - relevant - state), 0)
            now = forward[rank, state] / (left + weight) if left + weight > 0.0 else 0.0
            if seen >= 0:
                forward[rank + 1, state] = now * (left if seen > 0 else weight)
                total += forward[rank + 1, state]
                continue
            up = now * left if state + 1 <= n_relevant - spare[0] else 0.0
            stay = now * weight if gaps + 1 - state <= n_other - spare[1] else 0.0
            forward[rank + 1, state] += stay
            forward[rank + 1, state + 1] = up
            total += up + stay
        relevant += seen > 0
        gaps += seen < 0
        for state in range(gaps + 1):
            forward[rank + 1, state] /= total


@_compiled
def _sampled_gaps(rng, colour, depth, spare, odds, n_documents, n_relevant, forward, out):
    """Fill the unjudged ranks above `depth`; the number of relevant documents among them."""
    # The state after the last judged rank, by inverse of its distribution function.
    _filter(colour, depth, spare, odds, n_documents, n_relevant, forward)
    n_other, relevant, gaps = n_documents - n_relevant, spare[0], depth - spare[0] - spare[1]
    state, rest = -1, rng.random()
    while rest >= 0.0 and state < gaps:
        state += 1
        rest -= forward[depth, state]
    while forward[depth, state] == 0.0:  # rounding: the last state with a probability
        state -= 1
    # Backward: a rank was relevant in proportion to the probability of the state below it times
    # that of the step up from there.
    found = state
    for rank in range(depth - 1, -1, -1):
        if colour[rank] >= 0:
            relevant -= colour[rank] > 0
            continue
        gaps -= 1
        left = n_relevant - relevant - state
        weight = odds * (n_other - (rank - relevant - state))
        stay = forward[rank, state] * weight / (left + weight) if state <= gaps else 0.0
        # One relevant document fewer drawn before, one other more.
        left, weight = left + 1, weight - odds
        up = forward[rank, state - 1] * left / (left + weight) if state > 0 else 0.0
        out[rank] = rng.random() * (up + stay) < up
        state -= out[rank]
    return found
