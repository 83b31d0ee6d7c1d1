"""The picture of a plan."""

import numpy as np
import pytest
import xarray as xr

import bayeseval as be


@pytest.fixture
def planned():
    widths = np.linspace(0.2, 0.02, 24).reshape(2, 2, 2, 3)
    return xr.Dataset(
        {
            "half_width": (("measure", "budget", "n_topics", "run"), widths),
            "judgments": (("budget", "n_topics"), [[500, 1000], [1000, 2000]]),
        },
        coords={"measure": ["P@10", "AP"], "budget": [10, 20], "n_topics": [50, 100]},
        attrs={"ci_prob": 0.9, "population": "topics"},
    )


def test_lines_are_the_median_over_runs_for_each_number_of_topics(planned):
    ax = be.plots.plot_plan(planned, "AP")
    drawn = [line.get_ydata() for line in ax.lines]
    median = planned["half_width"].sel(measure="AP").median("run")
    np.testing.assert_allclose(drawn, median.transpose("n_topics", "budget"))
    legend = ax.get_legend()
    assert [text.get_text() for text in legend.get_texts()] == ["50 topics", "100 topics"]
    assert legend.get_title().get_text() == "intervals over the population of topics"
    assert ax.get_ylabel() == "half-width of 90% intervals, AP"
    assert ax.get_xticks().tolist() == [10, 20]


def test_the_wanted_half_width_is_a_line_across(planned):
    ax = be.plots.plot_plan(planned.assign_attrs(half_width=0.05), "P@10")
    assert ax.lines[-1].get_ydata() == [0.05, 0.05]


def test_what_is_no_plan_is_refused(planned):
    with pytest.raises(ValueError, match="measure must name one of P@10, AP"):
        be.plots.plot_plan(planned)
    with pytest.raises(ValueError, match="the plan lacks the variable 'judgments'"):
        be.plots.plot_plan(planned.drop_vars("judgments"))
    with pytest.raises(TypeError, match="the plan must be a Dataset, not a str"):
        be.plots.plot_plan("plan")
