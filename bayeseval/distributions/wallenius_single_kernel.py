"""The list of a single run from an urn of its own: M summed out in steps, where that is exact.

With M ~ Binomial(N, q) and one list, the likelihood is the sum over M of P(M) L(M)^weight. A list
tells little of M, so the terms are a smooth bell nearly as wide as P(M). Where that lies well
inside the range of M, every so manieth term has the same sum: by Poisson's summation formula the
part lost with a step h is about exp(-2 pi^2 (s / h)^2) for a bell of standard deviation s. The bell
found is checked, and refused where it is too narrow for its step, uneven, or cut by an end.

The module compiles with numba on first use and must be imported inside functions.
"""

import math

import numpy as np
from scipy.special import gammaln

from bayeseval.distributions import wallenius_sequence_kernel
from bayeseval.distributions.kernel_cache import compiled_over
from bayeseval.distributions.wallenius_sequence_kernel import prefix_log_likelihood

# Steps of the sum over M in a standard deviation of P(M), and the least number of them in that of
# the terms; by how much the sums over the even and over the odd terms may differ; and log of how
# much smaller than the best the terms at the ends of the range, and those left out, must be.
STEPS_IN_SD = 1.5
LEAST_STEPS_IN_SD = 1.2
UNEVEN = 1e-3
FAR = 36.0

# Logarithms of 0!, 1!, ...; a look-up takes a tenth of the time of lgamma.
LOG_FACTORIAL = gammaln(np.arange(1.0, 8193.0))

_compiled = compiled_over(wallenius_sequence_kernel)


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
    odds, prevalence = math.exp(log_odds), 1.0 / (1.0 + math.exp(-logit_prevalence))
    log_q, log_rest = log_odds_pair(logit_prevalence)
    step = max(1, int(math.sqrt(n_documents * prevalence * (1 - prevalence)) / STEPS_IN_SD))
    start = min(max(int(n_documents * prevalence), lowest), highest)
    first, _ = _term(
        colour, depth, odds, log_q, log_rest, n_documents, start, likelihood_weight
    )  # fmt: skip
    if not first > -math.inf:
        return 0.0, 0.0, 0.0, False
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
    for end in (lowest, highest):
        value, _ = _term(
            colour, depth, odds, log_q, log_rest, n_documents, end, likelihood_weight
        )  # fmt: skip
        if not value < best - FAR:
            return 0.0, 0.0, 0.0, False
    bell = abs(uneven) <= UNEVEN * total and square / total - mean**2 >= LEAST_STEPS_IN_SD**2
    value = first + math.log(total * step) + log_factorial(n_documents)
    of_prevalence = start + step * mean - n_documents * prevalence
    return value, likelihood_weight * change / total, of_prevalence, step == 1 or bell
