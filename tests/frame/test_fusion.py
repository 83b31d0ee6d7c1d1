"""Reciprocal-rank fusion against math.fsum, and its indifference to the order of runs."""

import math

import numpy as np
import pytest

from bayeseval.frame.rankings import fused_order, reciprocal_rank_fusion


def random_ranking(n_runs, n_ranks, n_pairs, random_seed):
    rng = np.random.default_rng(random_seed)
    ranking = np.stack([rng.permutation(n_pairs)[:n_ranks] for _ in range(n_runs)])
    shown = rng.integers(0, n_ranks + 1, n_runs)
    return np.where(np.arange(n_ranks) < shown[:, None], ranking, -1).astype(np.int32)


@pytest.mark.parametrize(("n_ranks", "n_pairs"), [(5, 9), (1000, 1500), (9000, 9000)])
def test_fusion_equals_the_exactly_rounded_sum(n_ranks, n_pairs):
    ranking = random_ranking(25, n_ranks, n_pairs, random_seed=n_ranks)
    terms = [[] for _ in range(n_pairs)]
    for run in ranking:
        for rank, document in enumerate(run, start=1):
            if document >= 0:
                terms[document].append(1.0 / (60.0 + rank))
    expected = np.array([math.fsum(term) for term in terms])
    np.testing.assert_array_equal(reciprocal_rank_fusion(ranking, n_pairs), expected)


def test_fusion_does_not_depend_on_the_order_of_runs():
    ranking = random_ranking(126, 300, 500, random_seed=1)
    shuffled = np.random.default_rng(2).permutation(ranking, axis=0)
    np.testing.assert_array_equal(
        reciprocal_rank_fusion(ranking, 500), reciprocal_rank_fusion(shuffled, 500)
    )


def test_fusion_of_no_runs_or_no_ranks_is_zero():
    assert reciprocal_rank_fusion(np.zeros((0, 3), np.int32), 4).tolist() == [0.0] * 4
    assert reciprocal_rank_fusion(np.zeros((2, 0), np.int32), 4).tolist() == [0.0] * 4


def test_ties_go_to_the_later_document_id():
    assert fused_order(np.array([0.5, 0.7, 0.5, 0.7])).tolist() == [3, 1, 2, 0]
