"""One run by topic: where the points stand, and what is refused."""

import numpy as np
import pytest
import xarray as xr

from bayeseval.plots import plot_topics


def scores(estimate, half_width=0.1):
    estimate = np.asarray(estimate, dtype=float)
    bounds = estimate[..., None] + half_width * np.array([-1.0, 1.0])
    return xr.Dataset(
        {
            "estimate": (("measure", "run", "topic"), estimate),
            "interval": (("measure", "run", "topic", "ci_bound"), bounds),
        },
        coords={"measure": ["AP"], "run": ["a", "b"], "topic": ["1", "2", "3"],
                "ci_bound": ["lower", "upper"]},
        attrs={"ci_prob": 0.9},
    )  # fmt: skip


SCORES = scores([[[0.1, 0.5, 0.3], [0.9, 0.8, 0.7]]])


def test_topics_stand_by_the_truth_where_it_is_given_and_points_where_the_scores_are():
    truth = SCORES["estimate"].sel(measure="AP") * [3.0, 1.0, 1.0]
    ax = plot_topics({"dyn": SCORES}, "AP", run="a", truth=truth)
    assert [label.get_text() for label in ax.get_yticklabels()] == ["2", "1", "3"]
    np.testing.assert_allclose(ax.lines[0].get_xdata(), [0.5, 0.1, 0.3])
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("AP of a", "topic")
    assert ax.get_legend().get_title().get_text() == "bars: 90% intervals of each topic"


def test_topics_without_a_score_are_left_out_and_estimates_without_intervals_are_grey():
    gaps = scores([[[0.1, np.nan, 0.3], [0.9, 0.8, 0.7]]], half_width=np.nan)
    ax = plot_topics({"assumed": gaps}, run="a")
    assert [label.get_text() for label in ax.get_yticklabels()] == ["3", "1"]
    assert ax.lines[0].get_color() == "#8C8C8C"


@pytest.mark.parametrize(
    ("given", "options", "message"),
    [
        ({}, {"run": "a"}, "at least one estimator"),
        ({"dyn": SCORES}, {"run": "x"}, "run 'x' is not in dyn"),
        ({"dyn": SCORES}, {"run": "a", "measure": "P@5"}, "dyn has no measure 'P@5'; it has AP"),
        ({"dyn": SCORES.mean("topic")}, {"run": "a"}, "dyn has no dim topic"),
    ],
)
def test_what_cannot_be_drawn_is_refused(given, options, message):
    with pytest.raises(ValueError, match=message):
        plot_topics(given, **options)


def test_a_dataset_alone_is_refused():
    with pytest.raises(TypeError, match="must map names to Datasets"):
        plot_topics(SCORES, run="a")
