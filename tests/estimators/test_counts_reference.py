"""Posterior numbers of relevant documents, against importance sampling with exact integrals."""

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, logsumexp
from scipy.stats import norm

import bayeseval as be
from bayeseval.estimators.counts import CountModel
from bayeseval.estimators.counts.cells import cells
from bayeseval.frame.frame import Frame

GRID = np.linspace(-4.0, 4.0, 33)  # of a topic's standard normal effects


def posterior_numbers(cut, relevant, sampled, n_tried, random):
    r"""Mean and standard deviation (topic,) of the number of relevant documents not sampled.

    .. math:: k_{tc} \sim Bin(n_{tc}, p_{tc}), \quad
              logit\, p_{tc} = \beta' x_{tc} + u_{t0} + u_{t1} z_{tc}, \quad u_t \sim N(0, \Sigma)

    Topics' effects are summed over a grid; the hyperparameters (beta, logs of the standard
    deviations, Fisher's z) are drawn from a proposal that is fitted to the posterior in a first
    round, and weighted.
    """
    n_beta = cut.curve.shape[1]
    mean = np.r_[np.zeros(n_beta), 0.0, -0.5, 0.0]
    spread = np.r_[10.0, np.full(n_beta - 1, 5.0), 0.75, 0.75, 0.75]
    first, second = (part.ravel() for part in np.meshgrid(GRID, GRID, indexing="ij"))
    log_grid = norm.logpdf(first) + norm.logpdf(second)
    n_topics = cut.start.size - 1

    def evaluated(hyper):
        """Log marginal likelihood times prior, and moments of the unsampled numbers."""
        s0, s1, z = np.exp(hyper[-3]), np.exp(hyper[-2]), hyper[-1]
        u0, u1 = s0 * first, s1 * (np.tanh(z) * first + second / np.cosh(z))
        total, moments = norm.logpdf(hyper, mean, spread).sum(), np.empty((2, n_topics))
        for topic in range(n_topics):
            own = slice(*cut.start[topic : topic + 2])
            eta = (cut.curve[own] @ hyper[:-3])[:, None] + u0 + cut.slope[own, None] * u1
            log = log_grid + relevant[own] @ eta - sampled[own] @ np.logaddexp(0.0, eta)
            total += logsumexp(log)
            share = np.exp(log - logsumexp(log))
            rest, p = cut.size[own] - sampled[own], expit(eta)
            expected, variance = rest @ p, rest @ (p * (1.0 - p))
            moments[:, topic] = share @ expected, share @ (expected**2 + variance)
        return total, moments

    mode = minimize(lambda hyper: -evaluated(hyper)[0], mean, method="BFGS")
    center, root = mode.x, np.linalg.cholesky(mode.hess_inv)
    for width in (2.0, 1.3):
        noise = random.standard_t(6, size=(n_tried, mean.size))
        tried = center + np.sqrt(width) * noise @ root.T
        totals, moments = zip(*(evaluated(hyper) for hyper in tried), strict=True)
        log_weight = np.array(totals) + 3.5 * np.log1p(noise**2 / 6).sum(axis=1)
        weight = np.exp(log_weight - logsumexp(log_weight))
        center, root = weight @ tried, np.linalg.cholesky(np.cov(tried.T, aweights=weight))
    assert (weight**2).sum() < 0.005  # 200 draws, in effect
    expected, square = np.tensordot(weight, np.array(moments), axes=1)
    return expected, np.sqrt(square - expected**2)


def test_numbers_have_the_moments_of_the_posterior_of_the_formula():
    relevant = [15, 30, 60, 25, 40, 80]
    whole = be.simulate.urn_collection(
        [0.02, 0.05, 0.1], n_documents=500, n_relevant=relevant, depth=100, random_seed=9
    )
    design = be.designs.pps_strata(whole, budget=50, n_strata=6)
    sampled = be.reveal(whole, design, be.draw(design, random_seed=1))
    frame = Frame.drawn_from(sampled)
    judged = (frame.grade >= 1).astype(float)
    found = CountModel(frame.ranked_sample, 0).level(((1.0,),), [judged])
    cut = cells(frame.ranked_sample)
    seen, known = cut.sums(judged[0]), cut.sums(frame.sample.selected[0])
    mean, sd = posterior_numbers(cut, seen, known, 1000, np.random.default_rng(1))
    mean += np.add.reduceat(seen, cut.start[:-1])
    assert (np.abs(found.total[0].mean(axis=1) - mean) < 0.2 * sd).all()
    np.testing.assert_allclose(found.total[0].std(axis=1), sd, rtol=0.25)
