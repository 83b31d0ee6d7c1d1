"""Draws of the colours at unjudged ranks, given the judged ones: filter forward, sample backward.

State of the urn before a rank: how many of the unjudged draws so far were relevant.
``forward[rank, state]`` is its probability together with the judged colours before the rank, up to
a factor for each rank; states that leave no room for the judged documents still to come have none.

Codes of colours: 1 relevant, 0 not, -1 unjudged, -2 nothing there (the list has ended).

The module compiles with numba on first use and must be imported inside functions.
"""

import math

import numpy as np

from bayeseval.distributions import (
    wallenius_sequence_kernel,
    wallenius_single_kernel,
    wallenius_topic_kernel,
)
from bayeseval.distributions.kernel_cache import compiled_over
from bayeseval.distributions.wallenius_sequence_kernel import LARGEST_LOG_ODDS, judged_depth
from bayeseval.distributions.wallenius_topic_kernel import joint_terms, number_range

_compiled = compiled_over(
    wallenius_sequence_kernel, wallenius_single_kernel, wallenius_topic_kernel
)


def filled_topic(
    rng_seed, colour, depth, log_odds, logit_prevalence, n_documents, likelihood_weight
):
    """Colours (draw, run, rank) and M (draw,) of a topic given its judged ranks above `depth`.

    M is drawn from its distribution given the colours (run, rank) at ranks below `depth` (run,),
    log w (draw, run) and logit q (draw,), then the unjudged ranks of every run given M. Draws come
    from ``np.random.default_rng(rng_seed)``: the same seed gives the same draws. Where no M leaves
    room for the judged documents, M is -1 and the ranks stay unjudged.
    """
    shown, colour = shown_colours(colour, depth), np.ascontiguousarray(colour, dtype=np.int8)
    log_odds = np.ascontiguousarray(log_odds, dtype=np.float64)
    logit = np.ascontiguousarray(logit_prevalence, dtype=np.float64)
    rng = np.random.default_rng(rng_seed)
    n_relevant = _numbers(rng, shown, log_odds, logit, int(n_documents), float(likelihood_weight))
    return _filled(rng, colour, shown, log_odds, int(n_documents), n_relevant), n_relevant


def filled_runs(rng_seed, colour, depth, log_odds, n_documents, n_relevant):
    """Colours (draw, run, rank) as of `filled_topic`, given M (draw,)."""
    shown, colour = shown_colours(colour, depth), np.ascontiguousarray(colour, dtype=np.int8)
    log_odds = np.ascontiguousarray(log_odds, dtype=np.float64)
    number = np.ascontiguousarray(n_relevant, dtype=np.int64)
    rng = np.random.default_rng(rng_seed)
    return _filled(rng, colour, shown, log_odds, int(n_documents), number)


def shown_colours(colour, depth):
    """Colours (run, rank) that inform, -1 elsewhere, as deep as the deepest run."""
    depth = np.asarray(depth, dtype=np.int64)
    deepest = int(depth.max(initial=0))
    below = np.arange(deepest) < depth[:, None]
    return np.where(below, np.asarray(colour)[:, :deepest], -1).astype(np.int8)


def possible_numbers(colour, depth, n_documents):
    """Smallest and largest M that leave room for the judged ranks above `depth` (run,)."""
    return number_range(shown_colours(colour, depth), n_documents)


@_compiled
def _numbers(rng, shown, log_odds, logit_prevalence, n_documents, likelihood_weight):
    """M of each draw, from its distribution given the colours; -1 where there is none."""
    n_relevant = np.full(logit_prevalence.size, -1, dtype=np.int64)
    nothing_seen = not (shown >= 0).any()
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
        share = np.exp(value - best)
        rest = rng.random() * share.sum()
        for term in range(share.size):
            rest -= share[term]
            if share[term] > 0.0:
                n_relevant[draw] = int(number[term])
                if rest < 0.0:
                    break
    return n_relevant


@_compiled
def _filled(rng, colour, shown, log_odds, n_documents, n_relevant):
    """Every run of every draw: what is unjudged above its last shown colour, then the rest."""
    n_runs, n_ranks = colour.shape
    out = np.empty((n_relevant.size, n_runs, n_ranks), dtype=np.int8)
    forward = np.empty((shown.shape[1] + 1, shown.shape[1] + 1))
    judged = np.empty((n_runs, 3), dtype=np.int64)
    for run in range(n_runs):
        judged[run] = judged_depth(shown[run])
    lowest, highest = number_range(shown, n_documents)
    for draw in range(n_relevant.size):
        out[draw] = colour
        if not lowest <= n_relevant[draw] <= highest:
            continue
        for run in range(n_runs):
            odds = math.exp(min(max(log_odds[draw, run], -LARGEST_LOG_ODDS), LARGEST_LOG_ODDS))
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
    _filter(colour, depth, spare, odds, n_documents, n_relevant, forward)
    n_other, relevant, gaps = n_documents - n_relevant, spare[0], depth - spare[0] - spare[1]
    state, rest = -1, rng.random()
    while rest >= 0.0 and state < gaps:
        state += 1
        rest -= forward[depth, state]
    while forward[depth, state] == 0.0:  # rounding: the last state with a probability
        state -= 1
    found = state
    for rank in range(depth - 1, -1, -1):
        if colour[rank] >= 0:
            relevant -= colour[rank] > 0
            continue
        gaps -= 1
        left = n_relevant - relevant - state
        weight = odds * (n_other - (rank - relevant - state))
        stay = forward[rank, state] * weight / (left + weight) if state <= gaps else 0.0
        left, weight = left + 1, weight - odds
        up = forward[rank, state - 1] * left / (left + weight) if state > 0 else 0.0
        out[rank] = rng.random() * (up + stay) < up
        state -= out[rank]
    return found
