"""Pictures of orders of runs: what stands where."""

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import bayeseval as be


def means(n_runs=4):
    runs = [f"r{i}" for i in range(n_runs)]
    estimate = np.linspace(0.3, 0.6, n_runs)
    mean = xr.Dataset(
        {"estimate": (("measure", "run"), [estimate, estimate[::-1]])},
        coords={"measure": ["P@10", "AP"], "run": runs},
    )
    matrix = xr.DataArray(
        np.broadcast_to(0.002 * np.eye(n_runs), (2, n_runs, n_runs)),
        dims=("measure", "run", "run_other"),
        coords={"measure": ["P@10", "AP"], "run": runs, "run_other": runs},
    )
    return mean, matrix


def labels(ax):
    return [label.get_text() for label in ax.get_yticklabels()]


@pytest.mark.parametrize("n_runs", [4, 126])
def test_heat_map_and_matrix_show_the_probabilities_the_best_on_top(n_runs):
    mean, matrix = means(n_runs)
    ranks = be.rankings.rank_probabilities(mean, covariance=matrix, n_draws=200)
    ax = be.plots.plot_rank_probabilities(ranks, "P@10")
    assert labels(ax) == [f"r{i}" for i in reversed(range(n_runs))]
    shown = ranks.probability.sel(measure="P@10").isel(run=slice(None, None, -1))
    np.testing.assert_allclose(np.square(ax.images[0].get_array()), shown, atol=1e-12)
    ax = be.plots.plot_better(ranks, "AP", runs=["r0", "r3"])
    assert labels(ax) == ["1  r0", "2  r3"]
    probability = ranks.better.sel(measure="AP", run="r0", run_other="r3").item()
    assert ax.images[0].get_array()[0, 1] == probability > 0.5


@pytest.mark.parametrize("n_runs", [4, 126])
def test_the_forest_shows_sets_groups_and_the_best(n_runs):
    mean, matrix = means(n_runs)
    sets = be.rankings.rank_sets(mean, covariance=0.01 * matrix, top=1, n_draws=200)
    ax = be.plots.plot_rank_sets(sets, "AP")
    assert labels(ax) == [f"r{i}" for i in range(n_runs)]
    bars = ax.collections[0].get_segments()
    expected = sets.interval.sel(measure="AP").values + [-0.3, 0.3]
    np.testing.assert_allclose([bar[:, 0] for bar in bars], expected)
    n_groups = int(sets.tie_group.sel(measure="AP").max())
    assert len(ax.patches) == (n_groups + 1) // 2  # every other group has a band
    size = ax.get_yticklabels()[0].get_fontsize()
    room = 72 * ax.figure.get_size_inches()[1] / n_runs
    assert 6 <= size <= max(room, 9)


def test_bias_and_standard_deviation_are_the_axes():
    found = {
        "a": xr.Dataset({"bias": 0.03, "sigma": 0.09}),
        "b": xr.Dataset(
            {"bias": -0.01, "sigma": 0.08,
             "interval": (("quantity", "ci_bound"), [[-0.03, 0.02], [0.07, 0.09]])},
            coords={"quantity": ["bias", "sigma"], "ci_bound": ["lower", "upper"]},
        ),
    }  # fmt: skip
    ax = be.plots.plot_bias_variance(found)
    points = {line.get_label(): line.get_xydata()[0] for line in ax.get_lines()}
    assert points["a"].tolist() == [0.03, 0.09] and points["b"].tolist() == [-0.01, 0.08]
    assert ax.get_xlim()[0] < -0.03 and ax.get_ylim()[1] > 0.09
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["a", "b"]


def test_reliability_shows_shares_with_bars_beside_the_diagonal():
    table = pd.DataFrame({"probability": [0.6, 0.9], "right": [0.55, 0.8], "error": [0.02, 0.01]})
    ax = be.plots.plot_reliability({"flat": table, "learned": table.to_xarray()}, ci_prob=0.95)
    flat, learned = ax.containers
    moved = flat.lines[0].get_xdata() - learned.lines[0].get_xdata()
    np.testing.assert_allclose(moved, -0.003)
    np.testing.assert_allclose(flat.lines[0].get_ydata(), [0.55, 0.8])
    bar = flat.lines[2][0].get_segments()[0]
    np.testing.assert_allclose(bar[:, 1], [0.55 - 1.96 * 0.02, 0.55 + 1.96 * 0.02], atol=1e-4)
    assert ax.get_xlim() == ax.get_ylim()
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["flat", "learned"]
    with pytest.raises(ValueError, match="flat lacks error"):
        be.plots.plot_reliability({"flat": table.drop(columns="error")})
    with pytest.raises(ValueError, match="outside"):
        be.plots.plot_reliability({"flat": table.assign(probability=2.0)})
    with pytest.raises(TypeError, match="must map names to tables, not DataFrame"):
        be.plots.plot_reliability(table)


def test_what_cannot_be_drawn_is_refused():
    mean, matrix = means()
    ranks = be.rankings.rank_probabilities(mean, covariance=matrix, n_draws=50)
    with pytest.raises(ValueError, match="measure must name one of P@10, AP"):
        be.plots.plot_better(ranks)
    with pytest.raises(ValueError, match="the result has no measure 'RR'; it has P@10, AP"):
        be.plots.plot_better(ranks, "RR")
    with pytest.raises(ValueError, match="run 'z' is not in the result"):
        be.plots.plot_better(ranks, "AP", runs=["z"])
    with pytest.raises(ValueError, match="lacks the variable 'rank'"):
        be.plots.plot_rank_sets(mean, "AP")
    with pytest.raises(TypeError, match="must map names to Datasets, not Dataset"):
        be.plots.plot_bias_variance(mean)
    with pytest.raises(ValueError, match="at least one"):
        be.plots.plot_bias_variance({})
    with pytest.raises(ValueError, match="a lacks bias"):
        be.plots.plot_bias_variance({"a": mean})
