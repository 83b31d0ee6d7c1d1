"""Recovery: hand-made simulations with known errors and coverage."""

import matplotlib
import numpy as np
import pytest
import xarray as xr

import bayeseval as be
from bayeseval.experiments.calibration_recovery import covered, wilson


def calibration(rank, truth, mean, spread) -> xr.Dataset:
    dims = ("simulation", "quantity")
    kinds = {"rank": rank, "truth": truth, "mean": mean, "standard_error": spread}
    return xr.Dataset(
        {kind: (dims, np.asarray(values)[:, None]) for kind, values in kinds.items()},
        coords={"quantity": ["slope"]},
        attrs={"n_draws": 19},
    )


def test_errors_and_coverage_are_those_of_a_hand_computation():
    found = be.experiments.recovery(
        calibration(
            [0, 5, 19, 18], [0.0, 1.0, 2.0, 3.0], [1.0, 1.0, 2.0, 4.0], [1.0, 2.0, 2.0, 1.0]
        )
    ).isel(quantity=0)
    assert float(found["bias"]) == 0.5
    assert float(found["rms_error"]) == pytest.approx(np.sqrt(0.5))
    assert float(found["posterior_sd"]) == pytest.approx(np.sqrt(2.5))
    assert float(found["correlation"]) == pytest.approx(
        np.corrcoef([0, 1, 2, 3], [1, 1, 2, 4])[0, 1]
    )
    assert float(found["coverage"]) == 0.5


def test_uniform_ranks_are_covered_exactly_as_often_as_promised():
    ranks = xr.DataArray(np.arange(100))
    for ci_prob in (0.5, 0.8, 0.9, 0.98):
        assert float(covered(ranks, 99, ci_prob).mean()) == pytest.approx(ci_prob)


def test_intervals_that_the_draws_do_not_have_are_refused():
    with pytest.raises(ValueError, match="99 draws have no central interval of 0.955"):
        covered(xr.DataArray([1]), 99, 0.955)
    for ci_prob in (0.0, 1.0):
        with pytest.raises(ValueError, match="ci_prob must lie between 0 and 1"):
            covered(xr.DataArray([1]), 99, ci_prob)


def test_wilson_interval_is_that_of_the_score_test():
    for successes in (0, 3, 50):
        for bound in wilson(np.array([successes]), 50)[0]:
            if 1e-9 < bound < 1 - 1e-9:
                z = (successes / 50 - bound) / np.sqrt(bound * (1 - bound) / 50)
                assert abs(z) == pytest.approx(1.959964)


def test_a_panel_shows_the_distribution_function_less_the_uniform_one():
    matplotlib.use("Agg")
    one = calibration([0] * 10 + [10] * 10, np.zeros(20), np.zeros(20), np.ones(20))
    figure = be.experiments.plot_ranks(one)
    assert len(figure.axes) == 1
    (line,) = figure.axes[0].get_lines()
    share, height = line.get_data()
    np.testing.assert_allclose(share, np.arange(1, 20) / 20)
    expected = np.where(np.arange(1, 20) <= 10, 0.5, 1.0) - share
    np.testing.assert_allclose(height, expected)
