"""Where the search for a fit of the counts begins, and along which directions it goes."""

import numpy as np
from numpy.typing import NDArray

from bayeseval.estimators.counts.cells import Counts

STEPS = 6  # which mostly come within a tenth of a standard deviation of where they would end
LONGEST = 2.0  # change of any log odds in a step
FARTHEST = 30.0  # log odds beyond which a document tells nothing


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
    American Statistical Association 88 (1993), doi:10.1080/01621459.1993.10594284, equation 15.

    Examples
    --------
    >>> k, n, cells = np.array([2.0, 3.0]), np.array([4.0, 4.0]), np.array([0, 1, 2])
    >>> counts = Counts(cells, k, n, np.ones((2, 1)), np.zeros(2))
    >>> beta, root = quasi_likelihood(counts, np.array([10.0]), np.ones(2))
    >>> beta.round(2), root.round(2)
    (array([0.51]), array([[1.02]]))
    """
    relevant, sampled, curve, slope = counts.relevant, counts.sampled, counts.curve, counts.slope
    n_columns, length = curve.shape[1], np.diff(counts.start)
    first, topic = counts.start[:-1][length > 0], np.repeat(np.cumsum(length > 0) - 1, length)
    beta, effect = np.zeros(n_columns), np.zeros((first.size, 2))
    share = (relevant.sum() + 0.5) / (sampled.sum() + 1.0)
    beta[0] = np.log(share / (1.0 - share))
    every = np.column_stack([curve, np.ones(slope.size), slope])
    prior, effect_prior = prior_sd**-2.0, np.diag(effect_sd**-2.0)
    for step in range(STEPS + 1):
        logit = curve @ beta + effect[topic, 0] + effect[topic, 1] * slope
        p = 1.0 / (1.0 + np.exp(-np.clip(logit, -FARTHEST, FARTHEST)))
        # information of each topic, and of the coefficients with its effects integrated out
        scaled = np.sqrt(sampled * p * (1.0 - p))[:, None] * every
        both = np.add.reduceat(scaled[:, :, None] * scaled[:, None, :], first, axis=0)
        crossed = both[:, :n_columns, n_columns:]
        of_effects = both[:, n_columns:, n_columns:] + effect_prior
        told = np.linalg.solve(of_effects, np.swapaxes(crossed, 1, 2))
        information = (both[:, :n_columns, :n_columns] - crossed @ told).sum(axis=0)
        information += np.diag(prior)
        if step == STEPS:
            break
        # Newton's step, for the effects given that of the coefficients
        slopes = np.add.reduceat((relevant - sampled * p)[:, None] * every, first, axis=0)
        of_beta = slopes[:, :n_columns].sum(axis=0) - prior * beta
        alone = slopes[:, n_columns:] - effect @ effect_prior
        alone = np.linalg.solve(of_effects, alone[:, :, None])[:, :, 0]
        by_beta = np.linalg.solve(information, of_beta - np.einsum("tce,te->c", crossed, alone))
        by_effect = alone - told @ by_beta
        longest = max(np.abs(curve @ by_beta).max(), np.abs(by_effect).max(), LONGEST)
        beta = beta + by_beta * LONGEST / longest
        effect = effect + by_effect * LONGEST / longest
    value, vector = np.linalg.eigh(information)
    return beta, vector / np.sqrt(value)
