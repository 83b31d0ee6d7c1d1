"""All runs of one topic together: the number of relevant documents M is summed out once.

With M ~ Binomial(N, q) the likelihood of a topic is sum over M of P(M) times the product over runs
of L_run(M), raised to a weight where the likelihood is a composite one. Only the part of the sum
that matters is evaluated, block by block: the first and the last block, every block whose middle is
within CUT of the best term found so far, and from there outwards until the terms have fallen by
CUT.

The module compiles with numba on first use and must be imported inside functions.
"""

import math

import numpy as np

from bayeseval.distributions import wallenius_sequence_kernel, wallenius_single_kernel
from bayeseval.distributions.kernel_cache import compiled_over
from bayeseval.distributions.wallenius_sequence_kernel import (
    FAINT,
    LARGEST_LOG_ODDS,
    add_run,
    add_topic,
    judged_depth,
    random_run,
)
from bayeseval.distributions.wallenius_single_kernel import (
    log_factorial,
    log_odds_pair,
    single_log_likelihood,
)

# Values of M looked at together, and how far below the best log term of the sum over M a term
# counts as nothing (20000 such terms change a log-likelihood by less than 1e-17).
BLOCK = 16
CUT = 50.0

_compiled = compiled_over(wallenius_sequence_kernel, wallenius_single_kernel)


@_compiled
def _add_prior(logit_prevalence, n_documents, n_relevant, value):
    """Add the log pmf of M ~ Binomial(N, q), without cancellation when q is near 0 or 1."""
    log_q, log_rest = log_odds_pair(logit_prevalence)
    whole = log_factorial(n_documents)
    for lane in range(n_relevant.size):
        found, rest = n_relevant[lane], n_documents - n_relevant[lane]
        value[lane] += whole - log_factorial(found) - log_factorial(rest)
        value[lane] += found * log_q + rest * log_rest


@_compiled
def _multiply_prefix(colour, depth, odds, n_documents, n_relevant, above, below, product, scaled):
    """Multiply in the likelihood of a run without gaps, one division every fourth rank."""
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
def _add_runs(colour, log_odds, n_documents, n_relevant, value):
    """Add the log-likelihoods of runs (run, rank), for each M, without derivatives.

    Every M must leave room for the colours seen.
    """
    lanes = n_relevant.size
    product, scaled, slope = np.ones(lanes), np.zeros(lanes), np.empty(lanes)
    above, below = np.ones(lanes), np.ones(lanes)
    for run in range(colour.shape[0]):
        depth, relevant, other = judged_depth(colour[run])
        if depth == relevant + other and abs(log_odds[run]) <= LARGEST_LOG_ODDS:
            odds = math.exp(log_odds[run])
            _multiply_prefix(
                colour[run], depth, odds, n_documents, n_relevant, above, below, product, scaled
            )
        else:
            add_run(colour[run], log_odds[run], n_documents, n_relevant, value, slope)
    for lane in range(lanes):
        value[lane] += math.log(product[lane]) + scaled[lane] * math.log(FAINT)


@_compiled
def _joint(
    colour, log_odds, logit_prevalence, n_documents, likelihood_weight, n_relevant, value, slope
):
    """Log P(M) + weight * sum over runs of log L_run(M), and d log L_run, for several M."""
    value[:] = 0.0
    if slope.shape[0] == 0:
        _add_runs(colour, log_odds, n_documents, n_relevant, value)
    else:
        add_topic(colour, log_odds, n_documents, n_relevant, value, slope)
    value *= likelihood_weight
    _add_prior(logit_prevalence, n_documents, n_relevant, value)


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
    lowest, highest = number_range(colour, n_documents)
    n_runs = colour.shape[0] if derivatives else 0
    n_blocks = max(0, highest - lowest + BLOCK) // BLOCK
    number = np.empty(n_blocks * BLOCK)
    value = np.full(n_blocks * BLOCK, -math.inf)
    slope = np.empty((n_blocks, n_runs, BLOCK))
    for term in range(number.size):
        number[term] = min(lowest + term, highest)
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
def topic_log_likelihood(colour, log_odds, logit_prevalence, n_documents, likelihood_weight, slope):
    """Log-likelihood of one topic and its derivative with respect to logit q.

    `slope` (run,) receives the derivatives with respect to the runs' log odds. Runs without a
    judged document take no part in the sum, and cost nothing.
    """
    listed = _listed(colour)
    slope[:] = 0.0
    if listed.size == 0 and n_documents >= 0:
        return 0.0, 0.0
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
        colour[listed], log_odds[listed], logit_prevalence, n_documents, likelihood_weight, True
    )
    best = value.max() if value.size else -math.inf
    if not best > -math.inf:
        return best, 0.0
    total, mean = 0.0, 0.0
    for term in range(value.size):
        share = math.exp(value[term] - best)
        if share == 0.0:
            continue
        total += share
        mean += share * number[term]
        for place in range(listed.size):
            slope[listed[place]] += share * slopes[term // BLOCK, place, term % BLOCK]
    slope *= likelihood_weight / total
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
def random_topic(rng, log_odds, logit_prevalence, n_documents, judged):
    """Colours (run, rank) of one topic: M first, then every run from the same urn."""
    n_relevant = rng.binomial(n_documents, 1.0 / (1.0 + math.exp(-logit_prevalence)))
    colour = np.empty(judged.shape, dtype=np.int8)
    for run in range(judged.shape[0]):
        colour[run] = random_run(rng, log_odds[run], n_relevant, n_documents, judged[run])
    return colour


@_compiled
def random_topics(rng, log_odds, logit_prevalence, n_documents, judged):
    """Colours (topic, run, rank), one draw for each row of parameters."""
    colour = np.empty(judged.shape, dtype=np.int8)
    for topic in range(judged.shape[0]):
        colour[topic] = random_topic(
            rng, log_odds[topic], logit_prevalence[topic], n_documents[topic], judged[topic]
        )
    return colour
