import matplotlib
import numpy as np
import pytest
import xarray as xr
from matplotlib.collections import PathCollection

from bayeseval.plots import plot_intervals

RUNS = ["a", "b", "c"]


def scores(estimate, half_width=0.05, ci_prob=0.9):
    estimate = np.asarray(estimate, dtype=float)
    bounds = estimate[..., None] + half_width * np.array([-1.0, 1.0])
    return xr.Dataset(
        {
            "estimate": (("measure", "run"), estimate),
            "interval": (("measure", "run", "ci_bound"), bounds),
        },
        coords={"measure": ["P@10", "AP"][: len(estimate)], "run": RUNS},
        attrs={"ci_prob": ci_prob},
    )


TRUTH = xr.DataArray([0.2, 0.6, 0.4], dims="run", coords={"run": RUNS})


def labels(ax):
    return [label.get_text() for label in ax.get_yticklabels()]


def legend(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def test_runs_stand_in_the_order_of_the_truth_best_on_top():
    ax = plot_intervals({"dyn": scores([[0.5, 0.1, 0.3]])}, "P@10", truth=TRUTH)
    assert labels(ax) == ["b", "c", "a"]
    bottom, top = ax.get_ylim()
    assert bottom > top  # rows count downward from the best
    assert ax.get_xlabel() == "mean P@10"


def test_without_truth_the_first_estimator_orders_the_runs():
    estimates = {"stat": scores([[0.1, 0.2, 0.3]]), "dyn": scores([[0.3, 0.2, 0.1]])}
    ax = plot_intervals(estimates)
    assert labels(ax) == ["c", "b", "a"]
    assert legend(ax) == ["stat", "dyn"]


def test_points_and_bars_are_where_the_numbers_are():
    ax = plot_intervals({"dyn": scores([[0.1, 0.2, 0.3], [0.4, 0.6, 0.5]])}, "AP", truth=TRUTH)
    points = {line.get_label(): line for line in ax.get_lines()}["dyn"]
    np.testing.assert_allclose(points.get_xdata(), [0.6, 0.5, 0.4])
    bars, marks = ax.collections
    np.testing.assert_allclose([s[:, 0] for s in bars.get_segments()],
                               [[0.55, 0.65], [0.45, 0.55], [0.35, 0.45]])  # fmt: skip
    np.testing.assert_allclose([s[0, 0] for s in marks.get_segments()], [0.6, 0.4, 0.2])
    assert legend(ax) == ["dyn", "truth"]
    assert ax.get_legend().get_title().get_text() == "points: estimates; bars: 90% intervals"


def test_estimators_of_a_run_do_not_hide_each_other():
    estimates = {name: scores([[0.1, 0.2, 0.3]]) for name in ("assumed", "stat", "dyn")}
    ax = plot_intervals(estimates)
    rows = np.array([line.get_ydata() for line in ax.get_lines() if len(line.get_xdata()) == 3])
    assert (np.diff(rows[:, 0]) > 0.1).all()
    np.testing.assert_allclose(rows.mean(axis=0), [0, 1, 2], atol=1e-12)


def test_an_estimator_without_intervals_is_a_grey_point():
    ax = plot_intervals({"assumed": scores([[0.1, 0.2, 0.3]], half_width=np.nan)})
    color = ax.get_lines()[0].get_color()
    assert len(set(matplotlib.colors.to_rgb(color))) == 1


def test_chosen_runs_and_axes_are_used_and_truth_may_be_a_dataset():
    import matplotlib.pyplot as plt

    axes = plt.subplots()[1]
    truth = scores([[0.2, 0.6, 0.4]])
    ax = plot_intervals({"dyn": scores([[0.1, 0.2, 0.3]])}, truth=truth, runs=["a", "c"], ax=axes)
    assert ax is axes
    assert labels(ax) == ["c", "a"]


def test_a_covariance_beside_the_intervals_is_left_aside():
    of_two = scores([[0.3, 0.5, 0.4]])
    dims = ("measure", "run", "run_other")
    beside = of_two.assign(covariance=(dims, np.eye(3)[None])).assign_coords(run_other=RUNS)
    ax = plot_intervals({"combined": beside}, "P@10")
    assert labels(ax) == labels(plot_intervals({"combined": of_two}, "P@10")) == ["b", "c", "a"]


def test_a_picture_is_written(tmp_path):
    ax = plot_intervals({"dyn": scores([[0.1, 0.2, 0.3]])}, truth=TRUTH)
    ax.figure.savefig(tmp_path / "intervals.png")
    assert (tmp_path / "intervals.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("estimates", "options", "message"),
    [
        ({}, {}, "at least one estimator"),
        (
            {"stat": scores([[0, 0, 0]]), "dyn": scores([[0, 0, 0]], ci_prob=0.95)},
            {},
            "one ci_prob",
        ),
        ({"dyn": scores([[0, 0, 0], [0, 0, 0]])}, {}, "measure must name one of P@10, AP"),
        ({"dyn": scores([[0, 0, 0]])}, {"measure": "RR"}, "dyn has no measure 'RR'; it has P@10"),
        ({"dyn": scores([[0, 0, 0]])}, {"runs": ["d"]}, "run 'd' is not in"),
        ({"dyn": scores([[0, 0, 0]]).expand_dims(topic=["1"])}, {}, "be.mean_over_topics"),
        ({"dyn": scores([[0, 0, 0]]).expand_dims(replicate=2)}, {}, "replicate"),
        ({"dyn": scores([[0, 0, 0]]).drop_vars("interval")}, {}, "lacks the variable 'interval'"),
        (
            {"dyn": scores([[0, 0, 0]])},
            {"truth": TRUTH.expand_dims(topic=["1"])},
            "truth has a score for every topic",
        ),
    ],
)
def test_what_cannot_stand_side_by_side_is_refused(estimates, options, message):
    with pytest.raises(ValueError, match=message):
        plot_intervals(estimates, **options)


@pytest.mark.parametrize("estimates", [scores([[0, 0, 0]]), {"dyn": TRUTH}, [1]])
def test_what_is_no_mapping_of_datasets_is_refused(estimates):
    with pytest.raises(TypeError, match="must .* not "):
        plot_intervals(estimates)


def test_a_few_very_long_intervals_are_cut_with_an_arrow():
    found = scores([[0.3, 0.4, 0.5]])
    found["interval"][0, 0] = [-2.0, 3.0]
    ax = plot_intervals({"dyn": found}, truth=TRUTH)
    low, high = ax.get_xlim()
    assert 0.1 < low < 0.2 and 0.6 < high < 0.7
    assert legend(ax) == ["dyn", "truth", "goes on"]
    arrows = [part for part in ax.collections if isinstance(part, PathCollection)]
    edges = np.concatenate([part.get_offsets() for part in arrows])
    assert edges[:, 0].tolist() == [low, high] and set(edges[:, 1]) == {2.0}


def test_intervals_of_like_length_are_shown_whole():
    ax = plot_intervals({"dyn": scores([[0.3, 0.4, 0.5]], half_width=0.4)}, truth=TRUTH)
    low, high = ax.get_xlim()
    assert low < -0.1 and high > 0.9 and "goes on" not in legend(ax)


def test_dollars_in_a_name_are_no_formula():
    shown = scores([[0.2, 0.6, 0.4]]).assign_coords(run=["$\\frac$", "a$b^$c", "$x$"])
    ax = plot_intervals({"dyn": shown})
    ax.figure.canvas.draw()  # would fail to read them
    assert not any(label.get_parse_math() for label in ax.get_yticklabels())
    assert sorted(labels(ax)) == ["$\\frac$", "$x$", "a$b^$c"]
