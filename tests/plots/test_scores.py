"""A forest of posterior scores, by ArviZ's conventions."""

import numpy as np
import pytest
import xarray as xr

from bayeseval.plots import plot_intervals, plot_scores
from bayeseval.posterior import summarize


def posterior(measures=("P@10",), runs=("a", "b", "c")) -> xr.Dataset:
    random = np.random.default_rng(1)
    level = np.linspace(0.1, 0.8, len(runs))
    draws = level + 0.02 * random.standard_normal((2, 50, len(measures), len(runs)))
    return xr.Dataset(
        {"estimate": (("chain", "draw", "measure", "run"), draws)},
        coords={"measure": list(measures), "run": list(runs), "team": ("run", ["x"] * len(runs))},
    )


def words(drawing) -> list[str]:
    figure = drawing.viz["figure"].item()
    return [text.get_text() for axes in figure.axes for text in axes.texts]


def test_the_highest_runs_are_named_and_the_title_says_what_is_shown():
    drawing = plot_scores(posterior(["P@10", "AP"]), "AP", max_runs=2)
    assert set(words(drawing)) >= {"b", "c"} and "a" not in words(drawing)
    title = drawing.viz["figure"].item().get_suptitle()
    assert title == "AP: the highest 2 of 3 runs, 45% (thick) and 90% intervals"


def test_backend_and_figure_options_go_to_arviz():
    drawing = plot_scores(posterior(), backend="none", figure_kwargs={"figsize": (3, 2)})
    assert drawing.backend == "none"
    drawing = plot_scores(posterior(), figure_kwargs={"figsize": (3, 2)})
    assert drawing.viz["figure"].item().get_size_inches().tolist() == [3, 2]


@pytest.mark.parametrize(
    ("post", "options", "message"),
    [
        (posterior(["P@10", "AP"]), {}, "measure must name one of P@10, AP"),
        (posterior().mean("draw"), {}, "must hold draws of means over topics"),
        (posterior(), {"ci_prob": 1.0}, "ci_prob must lie between 0 and 1, not 1.0"),
        (posterior(), {"measure": "AP"}, "the result has no measure 'AP'; it has P@10"),
    ],
)
def test_what_is_no_posterior_is_refused(post, options, message):
    with pytest.raises(ValueError, match=message):
        plot_scores(post, **options)


def test_a_table_of_intervals_is_sent_to_the_picture_of_intervals():
    table = summarize(posterior())
    with pytest.raises(ValueError, match="not run; estimates with intervals are drawn by be.plots"):
        plot_scores(table)
    assert plot_intervals({"model": table}).get_yticklabels()[0].get_text() == "c"
