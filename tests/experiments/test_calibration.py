"""Simulation-based calibration: ranks, ties, studies that are right and studies that are not."""

import numpy as np
import pytest
import xarray as xr
from scipy.stats import chisquare

import bayeseval as be
from bayeseval.experiments.calibration import even_positions, rank_of, simulated_ranks


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


def test_ranks_count_the_draws_below_the_truth():
    random = np.random.default_rng(1)
    draws = np.array([3.0, 1.0, 2.0, 5.0])
    assert [rank_of(v, draws, random) for v in (0.0, 1.5, 2.5, 4.0, 6.0)] == [0, 1, 2, 3, 4]


def test_ties_are_broken_evenly_among_all_ranks_that_they_allow():
    random = np.random.default_rng(1)
    draws = np.array([0.0, 0.5, 0.5, 0.5 + 1e-13, 1.0])
    ranks = [rank_of(0.5, draws, random) for _ in range(4000)]
    counts = np.bincount(ranks, minlength=6)
    assert counts[[0, 5]].sum() == 0
    assert chisquare(counts[1:5]).pvalue > 0.001


def test_draws_are_taken_at_even_distances_from_all_chains():
    np.testing.assert_array_equal(even_positions(2000, 99)[[0, 49, -1]], [10, 1000, 1989])
    np.testing.assert_array_equal(even_positions(5, 5), np.arange(5))
    assert set(np.diff(even_positions(1000, 99))) == {10, 11}
    with pytest.raises(ValueError, match="there are 50 draws and n_draws is 99"):
        even_positions(50, 99)


def test_moments_and_labels_are_those_of_the_study():
    found = simulated_ranks(normal_study()(3), 3, 99)
    one = normal_study()(3)
    assert found["quantity"].values.tolist() == ["mean[1]", "mean[2]"]
    assert found["simulation"].values.tolist() == [3]
    draws = one["posterior/mean"]
    np.testing.assert_allclose(found["mean"][0], draws.mean(("chain", "draw")))
    np.testing.assert_allclose(found["truth"][0], one["truth/mean"])
    spread = draws.stack(all=("chain", "draw")).std("all", ddof=1)
    np.testing.assert_allclose(found["standard_error"][0], spread)


@pytest.mark.parametrize("rounded", [False, True])
def test_a_right_posterior_passes_discrete_or_not(rounded):
    study = normal_study(rounded=rounded)
    found = be.experiments.simulation_based_calibration(study, range(200))
    assert be.experiments.rank_uniformity(found)["passed"].all()


@pytest.mark.parametrize("wrong", [{"shift": 0.4}, {"stretch": 0.5}, {"stretch": 2.0}])
def test_a_wrong_posterior_fails(wrong):
    found = be.experiments.simulation_based_calibration(normal_study(**wrong), range(200))
    assert not be.experiments.rank_uniformity(found)["passed"].any()


def test_the_same_seeds_give_the_same_ranks_in_parts_or_at_once():
    study = normal_study(rounded=True)
    whole = be.experiments.simulation_based_calibration(study, range(6), n_draws=19)
    parts = [be.experiments.simulation_based_calibration(study, [s], n_draws=19) for s in range(6)]
    xr.testing.assert_identical(whole, xr.concat(parts, "simulation", combine_attrs="override"))


def test_studies_that_say_too_little_are_refused():
    def other(seed):
        return normal_study()(seed) if seed else one_only(seed)

    def one_only(seed):
        tree = normal_study()(seed)
        return xr.DataTree.from_dict(
            {name: tree[name].to_dataset().isel(topic=[0]) for name in ("truth", "posterior")}
        )

    def unnamed(seed):
        return xr.DataTree.from_dict({"truth": xr.Dataset({"mean": 1.0})})

    def different(seed):
        tree = normal_study()(seed)
        renamed = tree["posterior"].to_dataset().rename(mean="median")
        return xr.DataTree.from_dict({"truth": tree["truth"].to_dataset(), "posterior": renamed})

    def missing(seed):
        tree = normal_study()(seed)
        truth = tree["truth"].to_dataset() * np.nan
        return xr.DataTree.from_dict({"truth": truth, "posterior": tree["posterior"].to_dataset()})

    calibrate = be.experiments.simulation_based_calibration
    with pytest.raises(ValueError, match="seeds is empty"):
        calibrate(normal_study(), [])
    with pytest.raises(ValueError, match="the study of seed 1 has other quantities"):
        calibrate(other, [0, 1])
    with pytest.raises(ValueError, match="seed 5 has no group 'posterior'"):
        calibrate(unnamed, [5])
    with pytest.raises(ValueError, match="true values of mean and draws of median"):
        calibrate(different, [5])
    with pytest.raises(ValueError, match=r"mean\[1\] of seed 5 is not finite"):
        calibrate(missing, [5])
