"""Runs that are alike depart alike: what is left of departures, and their random numbers."""

import numpy as np
import pytest
import scipy.stats

from bayeseval.frame.rankings import Rankings
from bayeseval.models.relevance.departure_prior import POWER, Kinship, likeness


@pytest.fixture(scope="module")
def rankings():
    """Ten runs of three topics with 30 of 60 documents: 3 copies 0, 8 copies 7, 9 is empty."""
    random = np.random.default_rng(1)
    pair = np.array([[random.permutation(60)[:30] + 60 * t for t in range(3)] for _ in range(10)])
    pair[3], pair[8], pair[9] = pair[0], pair[7], -1
    near = pair[5].copy()
    near[:, [0, 1]] = near[:, [1, 0]]
    pair[6] = near
    return Rankings(pair.astype(np.int32), np.arange(4) * 60)


def test_likeness_is_the_cosine_of_documents_that_weigh_by_their_rank(rankings):
    found = likeness(rankings, 20)
    dense = np.zeros((10, rankings.n_pairs))
    for run, topics in enumerate(rankings.pair):
        for ranking in topics:
            for rank, pair in enumerate(ranking[:20], start=1):
                if pair >= 0:
                    dense[run, pair] = 1 - np.log(rank) / np.log(21)
    dense = dense[:9] / np.linalg.norm(dense[:9], axis=1, keepdims=True)
    np.testing.assert_allclose(found[:9, :9], dense @ dense.T, atol=1e-12)
    np.testing.assert_array_equal(found[9], np.eye(10)[9])
    assert found[0, 3] == pytest.approx(1) and 0.9 < found[5, 6] < 1


def test_a_copy_of_a_run_of_the_model_has_no_share_and_a_stranger_all(rankings):
    kin = Kinship.of(likeness(rankings, 20), np.array([0, 1, 2]), np.arange(3, 10))
    assert kin.share[0] == 0 and kin.share[-1] == 1
    assert ((kin.share[1:-1] > 0.9) & (kin.share[1:-1] < 1)).all()
    near = Kinship.of(likeness(rankings, 20), np.array([5]), np.array([6, 7]))
    assert near.share[0] < 0.7 < near.share[1]


def test_shares_and_correlations_are_those_of_the_gaussian_process(rankings):
    known, others = np.array([0, 5]), np.array([1, 6, 7, 8])
    alike = likeness(rankings, 20)
    kin = Kinship.of(alike, known, others)
    kernel = alike**POWER
    precision = np.linalg.inv(kernel[np.ix_(known, known)])
    between = kernel[np.ix_(others, known)]
    left = kernel[np.ix_(others, others)] - between @ precision @ between.T
    np.testing.assert_allclose(kin.share**2, np.diagonal(left), atol=1e-5)
    scaled = np.outer(kin.share, kin.share) * (kin.root @ kin.root.T)
    np.testing.assert_allclose(scaled, left, atol=1e-5)


def test_random_numbers_are_uniform_and_the_same_for_copies(rankings):
    kin = Kinship.of(likeness(rankings, 20), np.array([0]), np.arange(1, 10))
    drawn = kin.uniform(4000, np.random.default_rng(2))
    assert drawn.shape == (9, 3, 4000)
    for run in (0, 4, 8):
        assert scipy.stats.kstest(drawn[run].ravel(), "uniform").pvalue > 0.001
    np.testing.assert_allclose(drawn[6], drawn[7], atol=1e-6)  # runs 7 and 8
    correlation = np.corrcoef(scipy.stats.norm.ppf(drawn[:, 0]))
    np.testing.assert_allclose(correlation, kin.root @ kin.root.T, atol=0.06)
    some = kin.of_runs(np.arange(9) > 3).uniform(4000, np.random.default_rng(2))
    np.testing.assert_allclose(
        some, drawn[4:], rtol=1e-12
    )  # products of other shapes round otherwise
