"""Enumeration of the urn's sequences, for the tests of its distributions."""

import itertools

import numpy as np
import pymc as pm
from scipy import stats
from scipy.special import expit

from bayeseval.distributions.wallenius import wallenius_sequence

# Compiling a graph with numba takes seconds; tests of its compiled form say so.
PYTHON = "FAST_COMPILE"


def sequence_probability(colour, log_odds, n_documents, n_relevant):
    """Product over the ranks of equation 12, every rank known."""
    probability, relevant, other = 1.0, n_relevant, n_documents - n_relevant
    for found in colour:
        total = relevant + np.exp(log_odds) * other
        if total == 0 or (relevant if found else other) == 0:
            return 0.0
        chance = relevant / total
        probability *= chance if found else 1 - chance
        relevant, other = relevant - found, other - (1 - found)
    return probability


def run_probability(colour, log_odds, n_documents, n_relevant):
    """Sum over all relevances of the unjudged ranks."""
    options = [(0, 1) if seen < 0 else (int(seen),) for seen in colour]
    return sum(
        sequence_probability(filled, log_odds, n_documents, n_relevant)
        for filled in itertools.product(*options)
    )


def topic_probability(colour, log_odds, n_documents, logit_prevalence):
    """Sum over M of its binomial probability times the product over runs."""
    chance = stats.binom(n_documents, expit(logit_prevalence)).pmf(np.arange(n_documents + 1))
    return sum(
        chance[m]
        * np.prod([run_probability(*x, n_documents, m) for x in zip(colour, log_odds, strict=True)])
        for m in range(n_documents + 1)
    )


def count_probability(n_draws, n_relevant, n_documents, log_odds):
    """Probability of every number of relevant documents (count,), 0 to M, after some draws."""
    count = np.arange(n_relevant + 1)
    chance = np.where(count == 0, 1.0, 0.0)
    for drawn in range(n_draws):
        left = n_relevant - count
        weight = np.exp(log_odds) * np.maximum(n_documents - n_relevant - drawn + count, 0)
        share = np.where(left > 0, left / np.maximum(left + weight, 1e-300), 0.0)
        chance, moved = chance * (1.0 - share), chance * share
        chance[1:] += moved[:-1]
    return chance


def every_sequence(*shape):
    """All arrays of 0 and 1 of a shape."""
    rows = itertools.product((0, 1), repeat=int(np.prod(shape)))
    return np.array(list(rows), dtype=np.int8).reshape(-1, *shape)


def run_log_likelihood(colour, log_odds, n_documents, n_relevant):
    judged = np.ones(np.shape(colour)[-1], dtype=bool)
    run = wallenius_sequence(None, log_odds, n_documents, judged, n_relevant=n_relevant)
    return pm.logp(run, np.asarray(colour, dtype=np.int8)).eval(mode=PYTHON)


def topic_log_likelihood(colour, log_odds, n_documents, logit_prevalence):
    judged = np.ones(np.shape(colour)[-2:], dtype=bool)
    topic = wallenius_sequence(
        None, log_odds, n_documents, judged, logit_prevalence=logit_prevalence
    )
    return pm.logp(topic, np.asarray(colour, dtype=np.int8)).eval(mode=PYTHON)


def drawn(rng, log_odds, n_documents, n_relevant, depth):
    """Colours of runs (run, rank), one draw each."""
    judged = np.ones((len(log_odds), depth), dtype=bool)
    run = wallenius_sequence(None, log_odds, n_documents, judged, n_relevant=n_relevant)
    return pm.draw(run, random_seed=int(rng.integers(2**31)))


def chi_square_tail(observed, expected):
    """Upper tail of Pearson's statistic, cells expected below 5 taken together."""
    common = expected > 5
    table = [np.append(x[common], x[~common].sum()) for x in (observed, expected)]
    with np.errstate(invalid="ignore", divide="ignore"):
        terms = (table[0] - table[1]) ** 2 / table[1]
    kept = table[1] > 0
    return stats.chi2.sf(terms[kept].sum(), kept.sum() - 1)
