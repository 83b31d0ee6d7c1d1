"""Probabilities of ranks and of being better: draws, normal errors, and the learned prior."""

import numpy as np
import pytest
import xarray as xr
from scipy.stats import norm

import bayeseval as be
from bayeseval.rankings.comparisons import learned_weights, probability_positive
from tests.rankings.test_rank_sets import matrix, means, shared_errors


def posterior(draws):
    return xr.Dataset(
        {"estimate": (("chain", "draw", "measure", "run"), draws[None, :, None])},
        coords={"measure": ["P@10"], "run": [f"r{i}" for i in range(draws.shape[1])]},
    )


def test_draws_are_counted():
    draws = np.array([[0.5, 0.4, 0.1], [0.5, 0.5, 0.1], [0.2, 0.4, 0.3], [0.5, 0.4, 0.6]])
    found = be.rankings.rank_probabilities(posterior(draws)).isel(measure=0)
    np.testing.assert_allclose(found.better.sel(run="r0", run_other="r1"), (1 + 0.5 + 0 + 1) / 4)
    np.testing.assert_allclose(np.diagonal(found.better), 0.5)
    np.testing.assert_allclose(found.better + found.better.values.T, 1.0)
    np.testing.assert_allclose(found.probability.sel(run="r0"), [0.5, 0.25, 0.25])
    np.testing.assert_allclose(found.probability.sel(run="r1"), [0.5, 0.25, 0.25])
    assert found.expected_rank.sel(run="r0").item() == pytest.approx((1 + 1.5 + 3 + 2) / 4)
    assert found.interval.sel(run="r0").values.tolist() == [1, 3]


def test_draws_that_differ_by_rounding_tie():
    draws = np.random.default_rng(1).uniform(0.3, 0.4, (50, 1)) * np.ones(3)
    draws[:, 1] *= 1.0 + 1e-15 * np.random.default_rng(2).choice([-1, 1], 50)
    assert (draws[:, 0] != draws[:, 1]).any()
    post = posterior(draws)
    found = be.rankings.rank_probabilities(post).isel(measure=0)
    assert (found.better == 0.5).all() and (found.probability.isel(rank=0) == 1.0).all()
    assert (be.rankings.compare_draws(post).probability_better == 0.5).all()


def test_a_flat_prior_is_the_normal_distribution_of_the_differences():
    covariance = shared_errors(4, 3)
    estimate = np.array([0.3, 0.31, 0.32, 0.4])
    found = be.rankings.rank_probabilities(
        means(estimate), covariance=matrix(covariance), prior="flat", n_draws=20_000
    ).isel(measure=0)
    variance = np.diagonal(covariance)
    error = np.sqrt(variance[:, None] + variance - 2 * covariance + np.eye(4))
    expected = norm.cdf((estimate[:, None] - estimate) / error)
    np.testing.assert_allclose(found.better, expected, atol=1e-12)
    drawn = np.random.default_rng(1).multivariate_normal(estimate, covariance, 20_000)
    first = (drawn.argmax(axis=1)[:, None] == np.arange(4)).mean(axis=0)
    np.testing.assert_allclose(found.probability.sel(rank=1), first, atol=0.015)
    ranks = (found.probability * found["rank"]).sum("rank")
    np.testing.assert_allclose(ranks, found.expected_rank, atol=0.03)


def test_the_learned_prior_is_less_sure_and_agrees_with_its_ranks():
    random = np.random.default_rng(2)
    truth = 0.01 * random.normal(size=30)
    covariance = shared_errors(30, 4)
    estimate = random.multivariate_normal(truth, covariance)
    given = {"covariance": matrix(covariance), "n_draws": 8000}
    normal = be.rankings.rank_probabilities(means(estimate), **given).isel(measure=0)
    flat = be.rankings.rank_probabilities(means(estimate), prior="flat", **given).isel(measure=0)
    assert (np.abs(normal.better - 0.5) <= np.abs(flat.better - 0.5) + 1e-12).all()
    assert np.abs(normal.better - 0.5).mean() < 0.9 * np.abs(flat.better - 0.5).mean()
    ranks = (normal.probability * normal["rank"]).sum("rank")
    np.testing.assert_allclose(ranks, normal.expected_rank, atol=0.5)
    np.testing.assert_allclose(normal.probability.sum("rank"), 1.0)


@pytest.mark.parametrize("spread", [0.5, 1.0, 4.0])
def test_probabilities_are_calibrated_where_a_flat_prior_is_too_sure(spread):
    """60 sets of 40 runs with normal true scores; errors clustered by set."""
    random = np.random.default_rng(5)
    first, second = np.triu_indices(40, k=1)
    bins = np.array([0.5, 0.6, 0.7, 0.8, 0.9, 0.99])
    stated, right, share = (np.zeros((2, 60, bins.size)) for _ in range(3))
    for sample in range(60):
        truth = spread * random.normal(size=40)
        estimate = truth + random.normal(size=40)
        z = (estimate[first] - estimate[second]) / np.sqrt(2)
        true = truth[first] > truth[second]
        for row, weight in enumerate((None, learned_weights(z, 40))):
            p = probability_positive(z, weight)
            sure = np.maximum(p, 1 - p)
            where = np.digitize(sure, bins) - 1
            agrees = np.where(p > 0.5, true, ~true)
            stated[row, sample] = np.bincount(where, sure, bins.size)
            right[row, sample] = np.bincount(where, agrees, bins.size)
            share[row, sample] = np.bincount(where, minlength=bins.size)
    excess = (stated - right).sum(axis=1) / share.sum(axis=1)
    error = (stated - right).std(axis=1) * np.sqrt(60) / share.sum(axis=1)
    usual = share[1].sum(axis=0) > 1500
    # the scale is learned within each set, so allow .04 beside the Monte Carlo error
    assert (np.abs(excess[1]) < 0.04 + 2.5 * error[1])[usual].all(), excess[1]
    if spread < 4:
        assert excess[0, 3] > 0.05  # what is said to be .8 to .9 is not


@pytest.mark.parametrize("prior", ["normal", "flat"])
@pytest.mark.parametrize("size", [1e-9, 1.0])
def test_runs_that_are_one_and_the_same_share_their_ranks_in_any_order(size, prior):
    """Errors a billionth of the scores leave room for ties by rounding alone, too."""
    covariance = size**2 * shared_errors(6, 7)
    estimate = 0.5 + size * np.array([0.1, 0.11, 0.12, 0.13, 0.14, 0.15])
    copied = np.array([0, 1, 2, 1, 3, 4, 5, 2])
    for seed in range(5):
        order = np.random.default_rng(seed).permutation(8)
        chosen = copied[order]
        found = be.rankings.rank_probabilities(
            means(estimate[chosen]), covariance=matrix(covariance[np.ix_(chosen, chosen)]),
            prior=prior,
        ).isel(measure=0)  # fmt: skip
        probability = found.probability.values[np.argsort(order)]
        for one, other in ((1, 3), (2, 7)):
            np.testing.assert_array_equal(probability[one], probability[other])
            assert probability[one, -1] == 0  # two share a rank, so none of them is the last
        assert (probability.max(axis=1) < 0.9).all()
        ranks = (found.probability * found["rank"]).sum("rank").values[np.argsort(order)]
        better = found.better.values[np.ix_(np.argsort(order), np.argsort(order))]
        strictly = better - 0.5 * (copied[:, None] == copied)
        if prior == "flat":
            np.testing.assert_allclose(ranks, 1.0 + strictly.sum(axis=0), atol=0.1)


def test_measures_beside_it_change_nothing():
    collection = be.simulate.urn_collection(
        [0.05, 0.06, 0.1, 0.12], n_topics=8, prevalence=0.1, random_seed=1
    )
    design = be.designs.pps_strata(collection, budget=20, n_strata=4)
    sampled = be.reveal(collection, design, be.draw(design, random_seed=1))
    measures = ["P@10", "AP"]
    mean = be.mean_over_topics(be.evaluate(sampled, measures, estimator="dyn"))
    errors = be.covariance(sampled, measures, estimator="dyn", anticipated=True)
    both = be.rankings.rank_probabilities(mean, covariance=errors)
    for measure in measures:
        one = {"measure": [measure]}
        alone = be.rankings.rank_probabilities(mean.sel(one), covariance=errors.sel(one))
        xr.testing.assert_identical(alone, both.sel(one))


def test_priors_and_their_defaults():
    covariance = matrix(shared_errors(3, 1))
    estimate = means([0.1, 0.11, 0.3])
    assert be.rankings.rank_probabilities(estimate, covariance=covariance).prior == "normal"
    combined = estimate.assign(covariance=covariance)
    assert be.rankings.rank_probabilities(combined).attrs["prior"] == "flat"
    with pytest.raises(ValueError, match="prior must be one of normal, flat, not 'cauchy'"):
        be.rankings.rank_probabilities(estimate, covariance=covariance, prior="cauchy")
    draws = np.random.default_rng(1).normal(size=(5, 3))
    with pytest.raises(ValueError, match="have the prior of their model"):
        be.rankings.rank_probabilities(posterior(draws), prior="flat")
    with pytest.raises(ValueError, match="ci_prob must lie between 0 and 1"):
        be.rankings.rank_probabilities(posterior(draws), ci_prob=0)
    with pytest.raises(ValueError, match="must be a Dataset with `estimate`"):
        be.rankings.rank_probabilities(draws)


def test_comparisons_of_draws_are_shares_and_quantiles():
    random = np.random.default_rng(3)
    draws = np.array([0.5, 0.45, 0.2]) + 0.05 * random.normal(size=(400, 3))
    pairs = be.rankings.compare_draws(posterior(draws), ci_prob=0.8, equivalence=0.1)
    difference = draws[:, 0] - draws[:, 1]
    pair = pairs.isel(measure=0, comparison=0)
    assert (pair.run_a.item(), pair.run_b.item()) == ("r0", "r1")
    np.testing.assert_allclose(pair.interval, np.quantile(difference, [0.1, 0.9]))
    assert pair.probability_better.item() == (difference > 0).mean()
    assert pair.standard_error.item() == pytest.approx(difference.std(ddof=1))
    assert pair.probability_equivalent.item() == (np.abs(difference) <= 0.1).mean()
    assert "p_value" not in pairs
    beside = be.rankings.compare_draws(posterior(draws), reference="r2")
    assert beside.run_b.values.tolist() == ["r2", "r2"]


def test_combined_estimates_are_compared_by_their_covariance():
    covariance = shared_errors(3, 6)
    combined = means([0.30, 0.31, 0.4]).assign(covariance=matrix(covariance))
    pairs = be.rankings.compare_draws(combined, equivalence={"P@10": 0.5})
    pair = pairs.isel(measure=0, comparison=0)
    error = np.sqrt(covariance[0, 0] + covariance[1, 1] - 2 * covariance[0, 1])
    assert pair.standard_error.item() == pytest.approx(error)
    assert pair.probability_better.item() == pytest.approx(norm.cdf(-0.01 / error))
    np.testing.assert_allclose(pair.interval, -0.01 + norm.ppf([0.05, 0.95]) * error)
    assert pair.probability_equivalent.item() > 0.999


def test_draws_by_topic_have_standardised_differences():
    random = np.random.default_rng(4)
    values = random.normal([[0.5], [0.4]], 0.1, size=(1, 50, 2, 30))
    post = xr.Dataset(
        {"estimate": (("chain", "draw", "run", "topic"), values)}, coords={"run": ["a", "b"]}
    )
    pair = be.rankings.compare_draws(post)
    difference = values[0, :, 0] - values[0, :, 1]
    expected = (difference.mean(axis=1) / difference.std(axis=1, ddof=1)).mean()
    assert pair.standardised.item() == pytest.approx(expected)
    assert pair.estimate.item() == pytest.approx(difference.mean())
