"""The machinery of calibration: ranks, ties, the test of uniform ranks, fits compiled once."""

import matplotlib
import numpy as np
import pymc as pm
import pytest
import xarray as xr
from scipy.stats import beta, binom, chisquare

import bayeseval as be
from benchmarks.simulation_based_calibration import (
    RepeatedFits,
    constant_name,
    covered,
    even_positions,
    least_tail,
    opened,
    plot_ranks,
    rank_of,
    rank_uniformity,
    simulation_based_calibration,
    with_shared_arrays,
)

N_DRAWS = 99


def normal_study(*, shift=0.0, stretch=1.0, rounded=False):
    """Mean of a normal with a normal prior: its posterior is known, here moved or stretched."""

    def study(seed: int) -> xr.DataTree:
        random = np.random.default_rng(seed)
        truth = random.normal(size=2)
        data = truth + random.normal(size=2)
        draws = data / 2 + shift + stretch * np.sqrt(0.5) * random.normal(size=(2, 60, 2))
        if rounded:
            truth, draws = np.round(truth), np.round(draws)
        return xr.DataTree.from_dict(
            {
                "truth": xr.Dataset({"mean": ("topic", truth)}, coords={"topic": ["1", "2"]}),
                "posterior": xr.Dataset({"mean": (("chain", "draw", "topic"), draws)}),
            }
        )

    return study


def ranks_of(*columns) -> xr.Dataset:
    names = [f"q{number}" for number in range(len(columns))]
    return xr.Dataset(
        {"rank": (("simulation", "quantity"), np.stack(columns, axis=1))},
        coords={"quantity": names},
        attrs={"n_draws": N_DRAWS},
    )


def test_ties_are_broken_evenly_among_all_ranks_that_they_allow():
    random = np.random.default_rng(1)
    draws = np.array([0.0, 0.5, 0.5, 0.5 + 1e-13, 1.0])
    counts = np.bincount([rank_of(0.5, draws, random) for _ in range(4000)], minlength=6)
    assert counts[[0, 5]].sum() == 0
    assert chisquare(counts[1:5]).pvalue > 0.001
    assert [rank_of(v, draws, random) for v in (-1.0, 0.1, 0.7, 2.0)] == [0, 1, 4, 5]


def test_draws_are_taken_at_even_distances_from_all_chains():
    np.testing.assert_array_equal(even_positions(2000, 99)[[0, 49, -1]], [10, 1000, 1989])
    assert set(np.diff(even_positions(1000, 99))) == {10, 11}


@pytest.mark.parametrize("rounded", [False, True])
def test_a_right_posterior_passes_discrete_or_not(rounded):
    found = simulation_based_calibration(normal_study(rounded=rounded), range(200))
    assert found["quantity"].values.tolist() == ["mean[1]", "mean[2]"]
    assert rank_uniformity(found)["passed"].all()


@pytest.mark.parametrize("wrong", [{"shift": 0.4}, {"stretch": 0.5}, {"stretch": 2.0}])
def test_a_wrong_posterior_fails(wrong):
    found = simulation_based_calibration(normal_study(**wrong), range(200))
    assert not rank_uniformity(found)["passed"].any()


def test_the_same_seeds_give_the_same_ranks_in_parts_or_at_once():
    study = normal_study(rounded=True)
    whole = simulation_based_calibration(study, range(6), n_draws=19)
    parts = [simulation_based_calibration(study, [seed], n_draws=19) for seed in range(6)]
    xr.testing.assert_identical(whole, xr.concat(parts, "simulation", combine_attrs="override"))


def test_uniform_ranks_are_covered_exactly_as_often_as_promised():
    ranks = xr.DataArray(np.arange(100))
    for ci_prob in (0.5, 0.8, 0.9, 0.98):
        assert float(covered(ranks, N_DRAWS, ci_prob).mean()) == pytest.approx(ci_prob)


def test_statistic_is_the_least_tail_along_the_distribution_function():
    ranks = np.array([0, 0, 1, 3])
    tails = []
    for i in (1, 2, 3):
        below = np.count_nonzero(ranks < i)
        at_most = sum(binom.pmf(k, 4, i / 4) for k in range(below + 1))
        at_least = sum(binom.pmf(k, 4, i / 4) for k in range(below, 5))
        tails.append(2 * min(at_most, at_least))
    np.testing.assert_allclose(least_tail(np.bincount(ranks, minlength=4)[None]), [min(tails)])


def test_uniform_ranks_pass_at_the_stated_rate():
    random = np.random.default_rng(5)
    found = rank_uniformity(ranks_of(*random.integers(0, N_DRAWS + 1, (2000, 200))))
    for level in (0.01, 0.05, 0.2):
        rejected = int((found["p_value"] <= level).sum())
        assert binom.ppf(0.001, 2000, level) * 0.9 <= rejected <= binom.ppf(0.999, 2000, level)


@pytest.mark.parametrize("shape", [(1.6, 1), (1, 1.6), (0.6, 0.6), (1.8, 1.8)])
def test_skewed_narrow_and_wide_posteriors_fail(shape):
    share = beta(*shape).rvs((20, 200), random_state=np.random.default_rng(7))
    found = rank_uniformity(ranks_of(*(share * (N_DRAWS + 1)).astype(int)))
    assert found["passed"].mean() <= 0.1


def test_a_panel_shows_the_distribution_function_less_the_uniform_one():
    matplotlib.use("Agg")
    one = ranks_of([0] * 10 + [10] * 10).assign_attrs(n_draws=19)
    (line,) = plot_ranks(one).axes[0].get_lines()
    share, height = line.get_data()
    np.testing.assert_allclose(share, np.arange(1, 20) / 20)
    np.testing.assert_allclose(height, np.where(np.arange(1, 20) <= 10, 0.5, 1.0) - share)


def normal_model(values, sd=0.5):
    with pm.Model(coords={"item": ["a", "b", "c"]}) as model:
        pm.Data("judged_score", np.asarray(values, dtype=float), dims="item")
        mean = pm.Normal("mean", np.float64(0), np.float64(1))
        pm.Normal("score", mean, np.float64(sd), dims="item")
    return model


def test_posteriors_are_those_of_each_data_set():
    fits = RepeatedFits(draws=1000, tune=300, chains=2)
    for values in ([0.0, 0.5, 1.0], [-3.0, -2.0, -2.5]):
        mean = fits(normal_model(values), random_seed=1)["posterior/mean"]
        precision = 1 + 3 / 0.25
        assert float(mean.mean()) == pytest.approx(sum(values) / 0.25 / precision, abs=0.03)
        assert float(mean.std()) == pytest.approx(precision**-0.5, rel=0.1)
    with pytest.raises(ValueError, match=r"was 0\.5 and is 0\.7; only arrays may differ"):
        fits(normal_model(values, sd=0.7), random_seed=1)


def sampled_with(random_seed: int, **options) -> xr.DataTree:
    sizes = {"n_topics": 2, "n_documents": 30, "n_relevant": 8, "depth": 15, "random_seed": 1}
    collection = be.simulate.urn_collection([0.1, 0.2, 0.5], **sizes, **options)
    random = np.random.default_rng(random_seed)
    judgments = collection["judgments"].to_dataset(inherit=False)
    grade = random.integers(0, len(options.get("grade_proportions", [1])) + 1, 60)
    collection["judgments"] = xr.DataTree(judgments.assign(grade=("pair", grade.astype("f4"))))
    design = be.designs.pps_strata(collection, budget=8, n_strata=2)
    return be.reveal(collection, design, be.draw(design, random_seed=random_seed))


@pytest.mark.parametrize(
    ("build", "options"),
    [
        (be.models.relevance_model, {}),
        (be.models.grade_model, {"grade_proportions": [0.5, 0.5]}),
    ],
)
def test_the_first_model_filled_with_the_data_of_another_is_that_other(build, options):
    first, other = (build(sampled_with(seed, **options)) for seed in (1, 2))
    filled = with_shared_arrays(*opened(first)).compile_logp(mode="FAST_COMPILE")
    _, constants = opened(other)
    given = {constant_name(place): constant.data for place, constant in enumerate(constants)}
    given |= {variable.name: variable.get_value() for variable in other.data_vars}
    changed = 0
    for variable in filled.f.get_shared():
        if variable.name not in other.coords:  # not the length of a dim
            changed += not np.array_equal(variable.get_value(), given[variable.name])
            variable.set_value(np.array(given[variable.name]))
    assert changed >= 4
    response = "grade" if "grade_value" in first.coords else "relevance"
    observed = pm.observe(other, {response: other[f"judged_{response}"].get_value()})
    expected = observed.compile_logp(mode="FAST_COMPILE")
    random = np.random.default_rng(3)
    start = observed.initial_point()
    point = {name: value + random.normal(size=value.shape) for name, value in start.items()}
    np.testing.assert_allclose(filled(point), expected(point), rtol=1e-10)
