"""The picture of intervals that narrow while judging goes on."""

import numpy as np
import pytest
import xarray as xr

import bayeseval as be

LOOKS = (20, 40, 80)


@pytest.fixture(scope="module")
def watched():
    """Scores at three looks, of a single look and of every look, and the truth."""
    whole = be.simulate.urn_collection([0.05, 0.1, 0.3], n_topics=10, prevalence=0.1, random_seed=1)
    order = be.designs.order(whole, random_seed=1)
    looks = {True: {}, False: {}}
    for number in LOOKS:
        sampled = be.reveal(whole, order, be.draw(order, budget=number))
        for anytime, kept in looks.items():
            asked = {"estimator": "dyn", "anytime": anytime}
            kept[number] = be.scores(sampled, ["P@10", "AP"], **asked)
    truth = be.scores(whole, ["P@10", "AP"], estimator="assumed")
    return looks[True], looks[False], truth


def test_bands_are_the_intervals_and_dotted_lines_those_of_a_single_look(watched):
    always, once, truth = watched
    ax = be.plots.plot_watched(always, "AP", runs=["run002"], truth=truth)
    (band,) = ax.collections
    edges = band.get_paths()[0].vertices
    for number in LOOKS:
        bounds = always[number].interval.sel(measure="AP", run="run002").to_numpy()
        heights = edges[edges[:, 0] == number, 1]
        np.testing.assert_allclose([heights.min(), heights.max()], bounds)
    line, *dotted, dashed = ax.lines
    expected = [always[number].estimate.sel(measure="AP", run="run002").item() for number in LOOKS]
    np.testing.assert_allclose(line.get_ydata(), expected)
    single = [once[number].interval.sel(measure="AP", run="run002").to_numpy() for number in LOOKS]
    np.testing.assert_allclose(np.transpose([one.get_ydata() for one in dotted]), single)
    assert dashed.get_ydata()[0] == truth.estimate.sel(measure="AP", run="run002").item()
    assert "at every look" in ax.get_legend().get_title().get_text()


def test_intervals_of_a_single_look_have_no_dotted_lines(watched):
    ax = be.plots.plot_watched(watched[1], "P@10")
    assert len(ax.lines) == len(ax.collections) == 3
    assert "of a single look each" in ax.get_legend().get_title().get_text()


def test_what_cannot_be_drawn_is_refused(watched):
    always = watched[0]
    with pytest.raises(TypeError, match="looks must map names to Datasets"):
        be.plots.plot_watched(always[20])
    with pytest.raises(ValueError, match="measure must name one of"):
        be.plots.plot_watched(always)
    with pytest.raises(ValueError, match="run 'x' is not in"):
        be.plots.plot_watched(always, "AP", runs=["x"])
    with pytest.raises(ValueError, match="look 20 lacks the variable 'interval'"):
        be.plots.plot_watched({20: always[20].drop_vars("interval")}, "AP")
    with pytest.raises(ValueError, match="look 20 must hold scores of runs"):
        be.plots.plot_watched({20: always[20].expand_dims(topic=["1"])}, "AP")
    with pytest.raises(ValueError, match="intervals of one kind"):
        be.plots.plot_watched({20: always[20], 40: watched[1][40]}, "AP")
    with pytest.raises(TypeError, match="looks must map judgments per topic"):
        be.plots.plot_watched({"20": always[20]}, "AP")
    many = xr.concat(
        [always[20].assign_coords(run=[f"{n}{i}" for i in range(3)]) for n in "abc"], "run"
    )
    with pytest.raises(ValueError, match="runs must name 1 to 6 runs"):
        be.plots.plot_watched({20: many}, "AP", runs=many["run"].values.tolist())
