"""Bias and variance of rankings: against a double loop, enumeration, and the functional itself."""

import itertools

import numpy as np
import pytest
import scipy.stats
import xarray as xr

import bayeseval as be
from bayeseval.rankings.geometry import SQUARES, bounds_of_differences

DIMS = ("replicate", "run", "topic")


def table(seed, n_runs=6, n_topics=5, n_replicates=3, noise=0.3, favoured=0.0):
    random = np.random.default_rng(seed)
    scores = np.linspace(0.2, 0.8, n_runs)[:, None] + 0.3 * random.normal(size=(n_runs, n_topics))
    scores = scores + noise * random.normal(size=(n_replicates, n_runs, n_topics))
    scores[:, 0] += favoured
    return xr.DataArray(scores, dims=DIMS, coords={"run": list("abcdefghij")[:n_runs]})


def double_loop(x, gold, squared):
    """Delta(X, G), sigma^2(X), sigma^2(G) from score vectors, one pair of rankings at a time."""
    delta = np.mean([squared(a, b) for a in x for b in gold])
    own = [
        0.5 * np.mean([squared(a, b) for a, b in itertools.permutations(scores, 2)])
        for scores in (x, gold)
    ]
    return delta, *own


def tau_distance(a, b):
    return (1.0 - scipy.stats.kendalltau(a, b).statistic) ** 2


def root_spearman_distance(a, b):
    return 1.0 - scipy.stats.spearmanr(a, b).statistic


@pytest.mark.parametrize(
    ("similarity", "distance", "squared"),
    [("tau", "paper", tau_distance), ("spearman", "root", root_spearman_distance)],
)
@pytest.mark.parametrize("replicates", ["shared", "per_run"])
def test_the_geometry_is_that_of_a_double_loop(similarity, distance, squared, replicates):
    one, gold = table(1, favoured=0.4), table(2)
    found = be.rankings.bias_variance(
        one, gold, n_boot=12, similarity=similarity, distance=distance, replicates=replicates,
        random_seed=7,
    )  # fmt: skip
    # the same draws: both tables from one generator, one after the other
    from bayeseval.rankings.bootstrap import drawn_means, drawn_topics, table_values

    random = np.random.default_rng(7)
    scores = []
    for values in (table_values(one), table_values(gold)):
        topics = drawn_topics(random, 5, 12, None)
        scores.append(drawn_means(values, topics, random, replicates))
    delta, variance, variance_gold = double_loop(*scores, squared)
    squared_bias = delta - variance - variance_gold
    expected = {
        "squared_bias": squared_bias,
        "bias": np.sign(squared_bias) * np.sqrt(abs(squared_bias)),
        "sigma": np.sqrt(variance),
        "sigma_gold": np.sqrt(variance_gold),
        "mse": delta - variance_gold,
        "rmse": np.sqrt(delta - variance_gold),
    }
    for name, value in expected.items():
        assert found[name].item() == pytest.approx(value, abs=1e-12), name


def test_the_bootstrap_converges_to_the_list_of_all_its_results():
    one, gold = table(3, 4, 3, 1), table(4, 4, 3, 1)
    every = np.array(list(itertools.product(range(3), repeat=3)))
    results = [np.round(t.values[0][:, every].mean(axis=2).T, 10) for t in (one, gold)]

    def mean(x, y):
        return np.mean([tau_distance(a, b) for a in x for b in y])

    expected = [mean(*results), 0.5 * mean(results[0], results[0])]
    found = be.rankings.bias_variance(one, gold, n_boot=2000, random_seed=1)
    error = found.monte_carlo_error.sel(quantity="sigma").item()
    assert found.sigma.item() == pytest.approx(np.sqrt(expected[1]), abs=4 * error)
    delta = found.mse.item() + found.sigma_gold.item() ** 2
    assert delta == pytest.approx(expected[0], abs=0.02)


def population_table(random, quality, n_topics, noise):
    topic = random.normal(size=(1, n_topics))
    return quality[:, None] + topic + noise * random.normal(size=(quality.size, n_topics))


@pytest.mark.parametrize("distance", ["paper", "root"])
def test_a_large_table_gives_the_functional_of_very_many_independent_draws(distance):
    """2,000 topics stand for the population; the truth is of 3,000 fresh sets of 10 topics."""
    random = np.random.default_rng(5)
    quality = np.linspace(0.0, 1.0, 8)
    biased = quality + np.array([0.8, 0, 0, 0.4, 0, 0, 0, -0.5])
    tables = [
        xr.DataArray(population_table(random, q, 2000, noise), dims=("run", "topic"))
        for q, noise in ((biased, 1.5), (quality, 1.0))
    ]
    fresh = [
        xr.DataArray(
            [population_table(random, q, 10, noise).mean(axis=1) for _ in range(3000)],
            dims=("resample", "run"),
        )
        for q, noise in ((biased, 1.5), (quality, 1.0))
    ]

    def square(x, y):
        away = 1.0 - be.rankings.rank_similarity(x, y).values
        return away**2 if distance == "paper" else away

    delta = square(*fresh).mean()
    own = [0.5 * square(x, x).sum() / 3000 / 2999 for x in fresh]
    found = be.rankings.bias_variance(
        *tables, n_boot=2000, n_topics=10, distance=distance, random_seed=2
    )
    assert found.sigma.item() == pytest.approx(np.sqrt(own[0]), rel=0.05)
    assert found.sigma_gold.item() == pytest.approx(np.sqrt(own[1]), rel=0.05)
    assert found.bias.item() == pytest.approx(np.sqrt(delta - sum(own)), rel=0.08)


def test_the_papers_distance_has_a_negative_squared_bias_without_chance_and_the_root_has_not():
    """Three systems; the rankings' distributions themselves, so no chance error."""
    random = np.random.default_rng(1)
    orders = np.array(list(itertools.permutations([0.0, 1.0, 2.0])))
    similarity = be.rankings.rank_similarity(
        *[xr.DataArray(orders, dims=("resample", "run"))] * 2
    ).values
    least = {"paper": np.inf, "root": np.inf}
    for _ in range(3000):
        p, q = random.dirichlet(np.full(6, 0.2), size=2)
        for distance, square in (("paper", (1 - similarity) ** 2), ("root", 1 - similarity)):
            bias = p @ square @ q - 0.5 * p @ square @ p - 0.5 * q @ square @ q
            least[distance] = min(least[distance], bias)
    assert least["paper"] < -0.5
    assert least["root"] > -1e-12


def test_runs_that_tie_with_their_duals_leave_the_reference_sigma_as_it_was():
    gold = table(6, 8, 12, 1)
    both = xr.concat([gold, gold.assign_coords(run=[f"{r}~" for r in gold.run.values])], "run")
    sigma = [
        be.rankings.bias_variance(t, t, n_boot=300, random_seed=3).sigma.item()
        for t in (gold, both)
    ]
    assert sigma[0] == pytest.approx(sigma[1], abs=1e-12)


def test_more_topics_halve_sigma_and_leave_the_bias():
    one, gold = table(8, 10, 40, 1, favoured=0.5), table(8, 10, 40, 1)
    here = be.rankings.bias_variance(one, gold, n_boot=500, random_seed=1)
    more = be.rankings.bias_variance(one, gold, n_boot=500, n_topics=160, random_seed=1)
    assert 0.4 < more.sigma.item() / here.sigma.item() < 0.65
    assert more.bias.item() == pytest.approx(here.bias.item(), rel=0.15)


def test_methods_without_chance_on_the_same_topics_have_a_bias_and_no_variance():
    one, gold = table(9, n_replicates=1, favoured=0.5), table(9, n_replicates=1)
    found = be.rankings.bias_variance(one, gold, n_boot=100, topics="together", random_seed=1)
    assert found.sigma.item() == 0 and found.bias.item() > 0
    same = be.rankings.bias_variance(gold, gold, n_boot=100, topics="together", random_seed=1)
    assert same.bias.item() == 0 and same.rmse.item() == 0


@pytest.mark.parametrize("similarity", ["tau", "tau_ap", "spearman"])
@pytest.mark.parametrize("distance", ["paper", "root"])
def test_a_gold_standard_without_chance_has_no_sigma_whatever_the_rounding(similarity, distance):
    one, gold = table(9, 8, 15, favoured=0.5), table(9, 8, 15, n_replicates=1)
    options = {"n_boot": 100, "topics": "together", "random_seed": 1}
    options |= {"similarity": similarity, "distance": distance}
    found = be.rankings.bias_variance(one, gold, **options)
    assert found.sigma_gold.item() == 0 and found.sigma.item() > 0
    same = be.rankings.bias_variance(gold, gold, **options)
    assert [same[name].item() for name in ("bias", "sigma", "mse", "rmse")] == [0.0] * 4


def test_results_on_the_same_topics_differ_in_the_replicates_of_each():
    """Two replicates in opposite order: drawn with replacement they would agree half the time."""
    order = np.arange(5.0)
    opposite = np.stack([order, -order])[:, :, None] + np.zeros(1)
    one = xr.DataArray(opposite, dims=DIMS)
    found = be.rankings.bias_variance(one, one, n_boot=50, topics="together", random_seed=1)
    assert found.sigma.item() ** 2 == pytest.approx(0.5 * 2.0**2)


def test_intervals_of_results_on_the_same_topics_are_of_the_judgments_alone():
    noisy = table(8, 8, 30, 6, noise=0.5)
    gold = noisy.mean("replicate")
    found = be.rankings.bias_variance(
        noisy, gold, n_boot=100, n_outer=30, topics="together", random_seed=1
    )
    held = (found.interval[:, 0] <= found.corrected) & (found.corrected <= found.interval[:, 1])
    assert held.all()
    assert found.corrected.sel(quantity="sigma_gold").item() == 0
    assert (found.interval.sel(quantity="sigma_gold") == 0).all()
    assert found.interval.sel(quantity="sigma", ci_bound="lower").item() > 0


def test_a_replicate_for_each_run_breaks_what_runs_share():
    """All runs of a replicate are lifted together: the order of runs does not notice."""
    random = np.random.default_rng(3)
    lifted = xr.DataArray(
        table(10, n_replicates=1).values + random.normal(0, 2, (30, 1, 5)), dims=DIMS
    )
    sigma = {
        share: be.rankings.bias_variance(
            lifted, lifted, n_boot=200, topics="together", replicates=share, random_seed=1
        ).sigma.item()
        for share in ("shared", "per_run")
    }
    assert sigma["shared"] == pytest.approx(0, abs=1e-12)
    assert sigma["per_run"] > 0.3


def test_intervals_hold_a_clear_bias_and_are_the_same_for_one_seed():
    one, gold = table(8, 8, 30, 1, favoured=0.8), table(8, 8, 30, 1)
    found = be.rankings.bias_variance(one, gold, n_boot=60, n_outer=40, random_seed=1)
    again = be.rankings.bias_variance(one, gold, n_boot=60, n_outer=40, random_seed=1)
    xr.testing.assert_identical(found, again)
    lower, upper = found.interval.sel(quantity="bias").values
    assert 0 < lower < upper
    assert found.bias_found.item()
    held = (found.interval.isel(ci_bound=0) <= found.corrected) & (
        found.corrected <= found.interval.isel(ci_bound=1)
    )
    assert held.all()


def test_bounds_of_a_difference_come_from_those_of_the_distances():
    corrected, reach = np.array([0.5, 0.1, 0.2]), np.array([0.2, 0.0, 0.0])
    found = bounds_of_differences(corrected, reach, np.diag(reach**2))
    np.testing.assert_allclose(
        found[0], np.array([0.5, 0.5 / np.exp(0.4), 0.5 * np.exp(0.4)]) - 0.3
    )
    np.testing.assert_allclose(found[1], 0.1)
    reach = np.array([1e-5, 2e-5, 3e-5])  # so small that logarithms are straight
    shared = np.array([[1.0, 0.5, 0.2], [0.5, 1.0, -0.3], [0.2, -0.3, 1.0]]) * np.outer(
        reach, reach
    )
    found = bounds_of_differences(corrected, reach, shared)
    error = np.sqrt(np.diagonal(SQUARES @ shared @ SQUARES.T))
    np.testing.assert_allclose(found[:, 2] - found[:, 0], error, rtol=1e-3)
    np.testing.assert_allclose(found[:, 0] - found[:, 1], error, rtol=1e-3)


def test_bounds_of_b_are_as_lopsided_as_those_of_what_it_is_made_of():
    corrected, error = np.array([0.5, 0.1, 0.1]), np.array([0.3, 0.0, 0.0])
    value, lower, upper = bounds_of_differences(corrected, error, np.diag(error**2))[0]
    assert upper - value > 1.5 * (value - lower)
    error = np.array([0.0, 0.09, 0.09])
    value, lower, upper = bounds_of_differences(corrected, error, np.diag(error**2))[0]
    assert value - lower > 1.5 * (upper - value)


def test_a_method_that_is_the_gold_standard_has_no_bias_found():
    gold = table(8, 8, 30, 1)
    found = be.rankings.bias_variance(gold, gold, n_boot=60, n_outer=40, random_seed=1)
    assert not found.bias_found.item()
    assert found.interval.sel(quantity="bias", ci_bound="lower").item() < 0
    assert found.interval.sel(quantity=["mse", "rmse"], ci_bound="lower").min() >= 0


def test_the_order_of_topics_says_nothing_and_some_shared_topics_are_refused():
    one, gold = (
        table(8, 6, 20, 1, favoured=f).assign_coords(topic=[f"t{i}" for i in range(20)])
        for f in (0.8, 0.0)
    )
    turned = gold.isel(topic=slice(None, None, -1))
    widths = [
        float(np.ptp(be.rankings.bias_variance(
            one, g, n_boot=200, n_outer=60, random_seed=1).interval.sel(quantity="rmse").values))
        for g in (gold, turned, gold.assign_coords(topic=[f"u{i}" for i in range(20)]))
    ]  # fmt: skip
    assert widths[0] == pytest.approx(widths[1], rel=0.25)
    assert widths[2] > 0
    with pytest.raises(ValueError, match="15 of the 20 topics of table_x are among the 15"):
        be.rankings.bias_variance(
            one, gold.isel(topic=slice(0, 15)), n_boot=60, n_outer=20, random_seed=1
        )


def test_influences_are_those_of_leaving_a_topic_out():
    """Exact functionals of 4 topics, all 256 bootstrap rankings, weights moved by a little."""
    from bayeseval.rankings.geometry import Request, distances_between, influences

    every = np.array(list(itertools.product(range(4), repeat=4)))
    one, gold = (t.values[0].T for t in (table(3, 5, 4, 1, favoured=0.3), table(4, 5, 4, 1)))
    scores = [np.round(t[every].mean(axis=1), 10) for t in (one, gold)]

    def functional(weight):
        p = weight[every].prod(axis=1)
        away = [
            (1 - be.rankings.rank_similarity(
                xr.DataArray(a, dims=("resample", "run")), xr.DataArray(b, dims=("resample", "run"))
            ).values) ** 2
            for a, b in ((scores[0], scores[1]), (scores[0], scores[0]), (scores[1], scores[1]))
        ]  # fmt: skip
        return np.array([p @ away[0] @ p, 0.5 * p @ away[1] @ p, 0.5 * p @ away[2] @ p])

    even, step = np.full(4, 0.25), 1e-5
    expected = np.stack(
        [(functional((1 - step) * even + step * np.eye(4)[t]) - functional(even)) / step
         for t in range(4)], axis=1
    )  # fmt: skip
    request = Request(256, None, "tau", "paper", "independent", "shared")
    copies = 4  # many results, so that little is taken off for their number
    found = distances_between(*(np.tile(s, (copies, 1)) for s in scores), request)
    by_table = influences(found, [np.tile(every, (copies, 1))] * 2, [4, 4])
    for name in ("found", "freed"):
        total = sum(getattr(one, name) for one in by_table)
        np.testing.assert_allclose(total, expected, rtol=0.05, atol=1e-3)


def test_corrected_distances_have_less_bias_than_the_bootstraps():
    """20 tables of 20 topics; truth of 2,000 fresh results."""
    quality = np.linspace(0.0, 1.0, 8)
    random = np.random.default_rng(5)
    fresh = xr.DataArray(
        [population_table(random, quality, 20, 1.0).mean(axis=1) for _ in range(2000)],
        dims=("resample", "run"),
    )
    square = (1.0 - be.rankings.rank_similarity(fresh, fresh).values) ** 2
    truth = 0.5 * square.sum() / 2000 / 1999
    plain, corrected = [], []
    for seed in range(20):
        gold = xr.DataArray(
            population_table(np.random.default_rng(seed), quality, 20, 1.0), dims=("run", "topic")
        )
        found = be.rankings.bias_variance(gold, gold, n_boot=60, n_outer=20, random_seed=seed)
        plain.append(found.sigma.item() ** 2)
        corrected.append(found.corrected.sel(quantity="sigma").item() ** 2)
    error = np.std(corrected) / np.sqrt(20)
    assert truth - np.mean(plain) > 0.1 * truth
    assert abs(np.mean(corrected) - truth) < 3 * error


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"similarity": "pearson"}, "similarity must be one of"),
        ({"distance": "squared"}, "distance must be one of paper, root"),
        ({"topics": "fixed"}, "topics must be one of independent, together"),
        ({"replicates": "none"}, "replicates must be one of shared, per_run"),
        ({"n_boot": 1}, "n_boot is 1; allowed: a whole number, 2 or more"),
        ({"n_outer": 3}, "n_outer is 3; allowed: a whole number, 20 or more"),
        ({"n_topics": 0}, "n_topics is 0; allowed: a whole number, 1 or more"),
        ({"ci_prob": 2}, "ci_prob must lie between 0 and 1, not 2"),
        ({"random_seed": -1}, "random_seed is -1; allowed: a whole number, 0 or more"),
    ],
)
def test_options_that_do_not_exist_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        be.rankings.bias_variance(table(1), table(2), **{"random_seed": 1} | options)


def test_a_bootstrap_ranking_in_which_all_runs_tie_is_refused():
    coarse = (table(1) > 0.5).astype(float)[..., :2, :]
    for options in ({}, {"topics": "together"}):
        with pytest.raises(ValueError, match="all runs tie in a bootstrap ranking"):
            be.rankings.bias_variance(coarse, coarse, n_boot=400, random_seed=1, **options)


def test_one_topic_has_no_interval():
    with pytest.raises(ValueError, match="intervals need tables of at least 2 topics"):
        be.rankings.bias_variance(
            table(1, n_topics=1), table(2, n_topics=1), n_boot=4, n_outer=20, random_seed=1
        )


def test_tables_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match="the same runs in the same order"):
        be.rankings.bias_variance(table(1), table(1)[:, ::-1], random_seed=1)
    with pytest.raises(ValueError, match="not measure; select one measure"):
        be.rankings.bias_variance(table(1).expand_dims("measure"), table(1), random_seed=1)
    with pytest.raises(ValueError, match="1 of 90 scores of the table are NaN"):
        be.rankings.bias_variance(table(1).where(table(1) != table(1)[0, 0, 0]), table(1), random_seed=1)  # fmt: skip  # noqa: E501
    with pytest.raises(ValueError, match="tables with the same topics"):
        be.rankings.bias_variance(
            table(1), table(1, n_topics=4), topics="together", random_seed=1
        )  # fmt: skip
    with pytest.raises(TypeError, match="table_x must be a DataArray"):
        be.rankings.bias_variance(table(1).values, table(1), random_seed=1)
