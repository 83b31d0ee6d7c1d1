"""Rank correlations by matrix products, against scipy and against loops."""

import numpy as np
import pytest
import scipy.stats
import xarray as xr

import bayeseval as be


def rankings(n_rankings, n_runs, seed, ties=True):
    random = np.random.default_rng(seed)
    scores = random.normal(size=n_runs) + random.normal(size=(n_rankings, n_runs))
    return xr.DataArray(np.round(scores, 0 if ties else 12), dims=("resample", "run"))


def ap_correlation_one_way(scores, other):
    """Mean over the runs below the first tie group of the mean agreement with the runs above."""
    means = []
    for run in range(len(scores)):
        above = [k for k in range(len(scores)) if scores[k] > scores[run]]
        if above:
            means.append(np.mean([np.sign(other[k] - other[run]) for k in above]))
    return np.mean(means)


@pytest.mark.parametrize("ties", [True, False])
def test_tau_is_scipys_tau_b_of_every_pair_of_rankings(ties):
    one, two = rankings(7, 12, 1, ties), rankings(5, 12, 2, ties)
    expected = [[scipy.stats.kendalltau(x, y).statistic for y in two.values] for x in one.values]
    np.testing.assert_allclose(be.rankings.rank_similarity(one, two), expected, atol=1e-12)


@pytest.mark.parametrize("ties", [True, False])
def test_spearman_is_scipys(ties):
    one, two = rankings(7, 12, 1, ties), rankings(5, 12, 2, ties)
    expected = [[scipy.stats.spearmanr(x, y).statistic for y in two.values] for x in one.values]
    found = be.rankings.rank_similarity(one, two, similarity="spearman")
    np.testing.assert_allclose(found, expected, atol=1e-12)


@pytest.mark.parametrize("ties", [True, False])
def test_the_ap_correlation_is_the_mean_of_both_directions(ties):
    one, two = rankings(6, 9, 3, ties), rankings(4, 9, 4, ties)
    expected = [
        [(ap_correlation_one_way(x, y) + ap_correlation_one_way(y, x)) / 2 for y in two.values]
        for x in one.values
    ]
    found = be.rankings.rank_similarity(one, two, similarity="tau_ap")
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_the_ap_correlation_without_ties_weighs_the_top_as_its_paper_has_it():
    scores = np.array([4.0, 3.0, 2.0, 1.0])
    swapped_top, swapped_bottom = scores[[1, 0, 2, 3]], scores[[0, 1, 3, 2]]

    def paper(estimated, reference):  # 2 / (N - 1) sum_i C(i) / (i - 1) - 1
        order = np.argsort(-estimated)
        right = [np.mean(reference[order[:i]] > reference[order[i]]) for i in range(1, 4)]
        return 2.0 / 3.0 * sum(right) - 1.0

    one = xr.DataArray([scores], dims=("resample", "run"))
    for other in (swapped_top, swapped_bottom):
        two = xr.DataArray([other], dims=("resample", "run"))
        found = be.rankings.rank_similarity(one, two, similarity="tau_ap").item()
        assert found == pytest.approx((paper(scores, other) + paper(other, scores)) / 2)
    assert paper(swapped_top, scores) < paper(swapped_bottom, scores)


@pytest.mark.parametrize("similarity", ["tau", "tau_ap", "spearman"])
@pytest.mark.parametrize("n_runs", [15, 120])  # with 120 runs pairs come in two chunks
def test_a_ranking_is_like_itself_and_unlike_its_reverse(similarity, n_runs):
    one = rankings(4, n_runs, 5)
    whole = be.rankings.rank_similarity(one, one, similarity=similarity)
    np.testing.assert_allclose(np.diagonal(whole), 1.0)
    np.testing.assert_allclose(whole, whole.T, atol=1e-12)
    reverse = be.rankings.rank_similarity(one, -one, similarity=similarity)
    np.testing.assert_allclose(np.diagonal(reverse), -1.0)


@pytest.mark.parametrize("similarity", ["tau", "tau_ap", "spearman"])
def test_a_ranking_without_any_order_has_no_correlation(similarity):
    flat = xr.DataArray([[1.0, 1.0, 1.0]], dims=("resample", "run"))
    found = be.rankings.rank_similarity(flat, rankings(2, 3, 1, ties=False), similarity=similarity)
    assert np.isnan(found).all()


def test_unknown_similarities_and_other_runs_are_refused():
    one = rankings(2, 3, 1)
    with pytest.raises(ValueError, match="one of tau, tau_ap, spearman, not 'kendall'"):
        be.rankings.rank_similarity(one, one, similarity="kendall")
    with pytest.raises(ValueError, match="the same runs in the same order"):
        be.rankings.rank_similarity(
            one.assign_coords(run=["a", "b", "c"]), one.assign_coords(run=["a", "c", "b"])
        )
