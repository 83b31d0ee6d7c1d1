"""Mean and covariance of the relevances that a run drawn from an urn has at its ranks."""

from __future__ import annotations

import numpy as np
import xarray as xr

from bayeseval.distributions.wallenius_count import check_numbers


def wallenius_sequence_moments(
    log_odds: float | xr.DataArray,
    *,
    n_documents: int,
    n_ranks: int,
    n_relevant: int | None = None,
    prevalence: float | None = None,
) -> xr.Dataset:
    r"""Mean and covariance of the relevances at the first ranks of a run drawn from an urn.

    With x_i the relevance at rank i in the model of `wallenius_sequence`,

    .. math::
        \mu_i = E[x_i], \qquad \Sigma_{ij} = E[x_i x_j] - \mu_i \mu_j

    both exact: forward over the ranks, over the number of relevant documents drawn so far, and over
    M where it is binomial. A linear measure with weights a has mean sum_i a_i mu_i and variance
    sum_ij a_i a_j Sigma_ij.

    What is random: the draws of the run, and M where `prevalence` is given. Cost: ranks squared
    times the number of relevant documents among them, for each M.

    Parameters
    ----------
    log_odds : float or DataArray (...)
        log w, natural logarithm; w multiplies the weight of non-relevant documents.
    n_documents : int
        N.
    n_ranks : int
        Number of ranks, 1 to N.
    n_relevant : int, optional
        M, where it is known. Give this or `prevalence`.
    prevalence : float, optional
        q, 0 to 1: M ~ Binomial(N, q).

    Returns
    -------
    Dataset
        `mean` (..., rank) and `covariance` (..., rank, rank_other); ranks count from 1.

    Raises
    ------
    ValueError
        If none or both of `n_relevant` and `prevalence` are given, or a number is outside its
        range.

    References
    ----------
    Park, Uncertainty in Rank-Biased Precision, ADCS 2016, section 3.1, equation 12,
    doi:10.1145/3015022.3015029.

    Examples
    --------
    One relevant document among three, w = 1/2: it comes first with probability 1/2, second with
    probability (1/2)(2/3), and at one rank only.

    >>> import numpy as np
    >>> moments = wallenius_sequence_moments(np.log(0.5), n_documents=3, n_ranks=2, n_relevant=1)
    >>> moments["mean"].values.round(6)
    array([0.5     , 0.333333])
    >>> float(moments["covariance"].sel(rank=1, rank_other=2).round(6))
    -0.166667
    """
    from bayeseval.distributions.wallenius_moments_kernel import mixed_moments

    chance = _chance(n_documents, n_ranks, n_relevant, prevalence)
    known = xr.DataArray(log_odds)
    odds = np.exp(np.asarray(known.values, dtype=float))
    parts = [mixed_moments(chance, w, n_documents, n_ranks) for w in odds.ravel()]
    mean = np.reshape([first for first, _ in parts], (*odds.shape, n_ranks))
    product = np.reshape([both for _, both in parts], (*odds.shape, n_ranks, n_ranks))
    covariance = product - mean[..., :, None] * mean[..., None, :]
    ranks = np.arange(1, n_ranks + 1)
    return xr.Dataset(
        {
            "mean": ((*known.dims, "rank"), mean),
            "covariance": ((*known.dims, "rank", "rank_other"), covariance),
        },
        coords={**known.coords, "rank": ranks, "rank_other": ranks},
    )


def _chance(
    n_documents: int, n_ranks: int, n_relevant: int | None, prevalence: float | None
) -> np.ndarray:
    """Probability of each M, 0 to N."""
    from scipy.stats import binom

    check_numbers(n_documents=n_documents, n_ranks=n_ranks)
    if n_ranks < 1:
        raise ValueError(f"n_ranks must be at least 1, not {n_ranks}.")
    if (n_relevant is None) == (prevalence is None):
        given = "neither" if n_relevant is None else "both"
        raise ValueError(f"Give n_relevant or prevalence, one of them; {given} given.")
    if prevalence is None:
        check_numbers(n_documents=n_documents, n_relevant=n_relevant)
        return (np.arange(n_documents + 1) == n_relevant).astype(float)
    if not 0 <= prevalence <= 1:
        raise ValueError(f"prevalence must lie between 0 and 1, not {prevalence}.")
    return binom.pmf(np.arange(n_documents + 1), n_documents, prevalence)
