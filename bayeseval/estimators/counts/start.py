"""Where the search for a fit of the counts begins, and along which directions it goes."""

import numpy as np
from numpy.typing import NDArray

from bayeseval.estimators.counts.cells import Counts

STEPS = 6  # which come within a third of a standard deviation of where they would end
LONGEST = 2.0  # change of any log odds in a step


def quasi_likelihood(
    counts: Counts, prior_sd: NDArray[np.float64], effect_sd: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Coefficients of the curve by penalised quasi-likelihood, and a root of their covariance.

    The topics' effects, of these standard deviations and independent, are at their mode with the
    coefficients, which Newton's method finds for both at once. The columns of the root are
    uncorrelated directions of a standard deviation each: columns of the curve hardly tell from one
    another, and a search along them takes twice the steps. ``prior_sd`` (column,) belongs to the
    coefficients, whose prior means are 0.

    References
    ----------
    Breslow and Clayton, "Approximate inference in generalized linear mixed models", Journal of the
    American Statistical Association 88 (1993), doi:10.1080/01621459.1993.10594284.
    """
    from bayeseval.estimators.counts.start_kernel import by_topics

    of_counts = counts.start, counts.relevant, counts.sampled, counts.curve, counts.slope
    beta, effect = np.zeros(counts.curve.shape[1]), np.zeros((counts.start.size - 1, 2))
    share = (counts.relevant.sum() + 0.5) / (counts.sampled.sum() + 1.0)
    beta[0] = np.log(share / (1.0 - share))
    priors = prior_sd**-2.0, effect_sd**-2.0
    for step in range(STEPS + 1):
        information, slopes, alone, told = by_topics(*of_counts, beta, priors[0], effect, priors[1])
        if step == STEPS:
            break
        by_beta = np.linalg.solve(information, slopes)
        by_effect = alone - told @ by_beta
        changes = counts.curve @ by_beta, by_effect
        longest = max(np.abs(change).max(initial=LONGEST) for change in changes)
        beta += by_beta * LONGEST / longest
        effect += by_effect * LONGEST / longest
    value, vector = np.linalg.eigh(information)
    return beta, vector / np.sqrt(value)
