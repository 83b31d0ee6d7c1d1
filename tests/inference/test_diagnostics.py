"""Plots of a fit: which are written, and what they show."""

import arviz as az
import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pytest
import xarray as xr

import bayeseval as be
from bayeseval.inference.diagnostics import _convergence, shown_variables
from bayeseval.inference.pictures import calibration_kind, chains_band, forest, ranks, seen_data
from tests.posterior.handmade import collection_of_three, half_judged, handmade_fit

OF_SAMPLER = ["trace.png", "rank.png", "energy.png", "convergence.png"]


@pytest.fixture(scope="module", autouse=True)
def no_window():
    with matplotlib.rc_context({"backend": "agg"}):
        yield


@pytest.fixture(scope="module")
def sampled():
    return half_judged(collection_of_three((2, 0, 1, 0, 0, 1, 0, 2)), budget=3)


@pytest.fixture(scope="module")
def model(sampled):
    return be.models.relevance_model(sampled)


def sampler_fit(model) -> xr.DataTree:
    """A handmade fit with a sampler's statistics."""
    fitted = handmade_fit(model).isel(draw=slice(0, 200))
    random = np.random.default_rng(1)
    shape = (fitted["posterior"].sizes["chain"], fitted["posterior"].sizes["draw"])
    statistics = {
        "diverging": (("chain", "draw"), np.zeros(shape, dtype=bool)),
        "energy": (("chain", "draw"), random.normal(size=shape)),
    }
    fitted["sample_stats"] = xr.DataTree(xr.Dataset(statistics))
    return fitted


def written(paths) -> list[str]:
    for path in paths:
        assert path.read_bytes().startswith(b"\x89PNG")
        assert plt.imread(path)[..., :3].std() > 0.02  # not blank
    return [path.name for path in paths]


def test_a_fit_of_a_sampler_has_every_plot_and_leaves_no_figure_open(sampled, model, tmp_path):
    fitted = sampler_fit(model)
    scores = be.posterior_scores(fitted, sampled, ["P@2", "RBP(p=0.8)"], random_seed=1)
    style, open_before = dict(plt.rcParams), plt.get_fignums()
    paths = be.diagnostic_plots(
        fitted, tmp_path / "new" / "plots", model=model, scores=scores, random_seed=1
    )
    assert sorted(written(paths)) == sorted(
        [
            *OF_SAMPLER,
            "prior_posterior.png",
            "calibration_relevance.png",
            "forest_reliability.png",
            "scores_P@2.png",
            "scores_RBP_p=0.8.png",
        ]
    )
    assert plt.get_fignums() == open_before
    assert dict(plt.rcParams) == style


def test_an_approximation_has_no_plots_of_chains(model, tmp_path):
    fitted = be.fit(model, approximation="laplace", draws=100, random_seed=1)
    paths = be.diagnostic_plots(fitted, tmp_path, model=model, random_seed=1)
    names = ["forest_reliability.png", "prior_posterior.png", "calibration_relevance.png"]
    assert written(paths) == names


def test_priors_are_drawn_from_thousands_of_draws(model, tmp_path, monkeypatch):
    drawn, draw = [], az.plot_prior_posterior
    kept = lambda both, **options: drawn.append(both) or draw(both, **options)  # noqa: E731
    monkeypatch.setattr(az, "plot_prior_posterior", kept)
    fitted = be.fit(model, approximation="laplace", draws=100, random_seed=1)
    be.diagnostic_plots(fitted, tmp_path, model=model, random_seed=1)
    (both,) = drawn
    assert both["prior"].sizes["draw"] == 5000
    assert set(both["prior"].data_vars) == set(both["posterior"].data_vars)


def test_grades_are_calibrated_step_by_step(sampled, tmp_path):
    model = be.models.grade_model(sampled)
    fitted = handmade_fit(model).isel(draw=slice(0, 200))
    paths = be.diagnostic_plots(fitted, tmp_path, model=model, random_seed=1)
    assert "calibration_grade.png" in written(paths)
    wide, single = (
        plt.imread(tmp_path / f"{name}.png") for name in ("calibration_grade", "forest_reliability")
    )
    assert wide.shape[1] > single.shape[1]


def test_forests_leave_out_what_others_are_made_of_and_keep_a_users_own(model, tmp_path):
    fitted = handmade_fit(model)
    own = fitted["posterior"].to_dataset()[["reliability"]]
    fitted["posterior"] = xr.DataTree(
        own.assign({name: own["reliability"] for name in ("topic_tilt_deviation", "my_deviation")})
    )
    names = written(be.diagnostic_plots(fitted, tmp_path))
    assert [name for name in names if name.startswith("forest_")] == [
        "forest_reliability.png",
        "forest_my_deviation.png",
    ]


def forest_of(values, labels, **options):
    array = xr.DataArray(
        np.asarray(values)[None], dims=("chain", "draw", "run"), coords={"run": labels}, name="P@10"
    )
    figure = forest(array, **({"ci_prob": 0.9, "max_rows": 10} | options)).viz["figure"].item()
    texts = [text.get_text() for ax in figure.axes for text in ax.texts]
    title = figure.get_suptitle()
    rows = {text.get_text(): text.get_position()[1] for ax in figure.axes for text in ax.texts}
    lines = [line.get_xdata() for ax in figure.axes for line in ax.lines]
    plt.close(figure)
    return texts, title, rows, lines


def test_a_forest_has_the_highest_on_top_and_its_intervals_are_quantiles():
    values = np.linspace(0, 1, 201)[:, None] + np.array([1.0, 3.0, np.nan, 2.0])
    texts, title, rows, lines = forest_of(values, ["a", "b", "none", "c"])
    assert title == "P@10: the highest 3 of 4 runs, 45% (thick) and 90% intervals"
    drawn = {label: y for label, y in rows.items() if label in ("a", "b", "c")}
    top_down = sorted(drawn, key=lambda label: drawn[label], reverse=True)
    assert top_down == ["b", "c", "a"]
    assert "none" not in texts
    bounds = [tuple(np.round(x, 6)) for x in lines if len(x) == 2]
    assert (3.05, 3.95) in bounds and (1.05, 1.95) in bounds
    _, title, rows, _ = forest_of(values, ["a", "b", "none", "c"], max_rows=1)
    assert title.startswith("P@10: the highest 1 of 4 runs") and "c" not in rows


def test_variables_that_the_fit_holds_fixed_or_that_are_long_are_not_drawn_entry_by_entry():
    random = np.random.default_rng(1)

    def variable(size, scale=1.0):
        values = 0.7 * np.ones((2, 10, size)) + scale * random.normal(size=(2, 10, size))
        return (("chain", "draw", f"of_{size}"), values)

    draws = {"long": variable(9), "eight": variable(8), "five": variable(5), "two": variable(2)}
    assert shown_variables(xr.Dataset(draws | {"fixed": variable(1, 0.0)})) == ["two", "five"]


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([0, 1, 1, 0], "binary"),
        ([0, -1, 1, 0], "binary"),
        ([0, 1, 2, 0], "ordinal"),
        ([1, 2, 2, 1], None),
        ([0, -1, 2, 2], None),
        ([0, 1, 99, 0], None),
        ([0.1, 0.2, 0.3, 0.4], None),
    ],
)
def test_the_kind_of_calibration_follows_the_data(values, kind):
    data = {"answer": (("topic", "rank"), np.reshape(values, (2, 2)))}
    draws = {"answer": (("chain", "draw", "topic", "rank"), np.zeros((1, 3, 2, 2), dtype=int))}
    drawn = xr.DataTree.from_dict(
        {"observed_data": xr.Dataset(data), "posterior_predictive": xr.Dataset(draws)}
    )
    assert calibration_kind(seen_data(drawn, "answer")) == kind


def test_data_that_were_not_seen_are_left_out_with_their_predictions():
    data = {"answer": (("topic", "rank"), np.array([[0, -1], [1, 1]]))}
    draws = np.arange(12).reshape(1, 3, 2, 2)
    drawn = xr.DataTree.from_dict(
        {
            "observed_data": xr.Dataset(data),
            "posterior_predictive": xr.Dataset(
                {"answer": (("chain", "draw", "rank", "topic"), draws.swapaxes(2, 3))}
            ),
        }
    )
    seen = seen_data(drawn, "answer")
    np.testing.assert_array_equal(seen["observed_data/answer"], [0, 1, 1])
    np.testing.assert_array_equal(seen["posterior_predictive/answer"][0, 1], [4, 6, 7])
    drawn["posterior_predictive/answer"][0, 2, 1, 1] = -1  # rank 2 of topic 2: not always drawn
    np.testing.assert_array_equal(seen_data(drawn, "answer")["observed_data/answer"], [0, 1])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"ci_prob": 1.0}, "ci_prob must lie between 0 and 1, not 1.0"),
        ({"max_rows": 0}, "max_rows is 0; allowed: a whole number, 1 or more"),
        ({"scores": xr.Dataset({"estimate": ("run", [0.1])})}, "these are over run"),
        ({"scores": xr.Dataset()}, "these are over nothing"),
    ],
)
def test_requests_that_cannot_be_met_are_refused_before_a_folder_is_made(
    model, tmp_path, options, message
):
    with pytest.raises(ValueError, match=message):
        be.diagnostic_plots(handmade_fit(model), tmp_path / "plots", **options)
    assert not (tmp_path / "plots").exists()


def test_a_file_in_the_folders_place_and_what_is_no_fit_are_refused(model, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ValueError, match="file is a file; name a folder for the plots"):
        be.diagnostic_plots(handmade_fit(model), tmp_path / "file")
    with pytest.raises(ValueError, match="not this DataTree without posterior draws"):
        be.diagnostic_plots(xr.DataTree(), tmp_path / "plots")


@pytest.mark.parametrize("n_chains", [2, 4])
def test_ranks_of_one_target_leave_the_band_as_often_as_it_says(n_chains):
    random, n_draws, n_plots = np.random.default_rng(3), 200, 400
    share, width = chains_band(n_chains, n_draws)
    outside = 0
    for _ in range(n_plots):
        dealt = random.permutation(np.repeat(np.arange(n_chains), n_draws))
        place = np.rint(share * dealt.size).astype(int)
        held = np.stack([np.cumsum(dealt == c)[place - 1] for c in range(n_chains)]) / n_draws
        outside += bool((np.abs(held - share) > width).any())
    # 4 expected of 400; more than 12 in 1 of 4,000 sets of plots
    assert outside <= 12


def test_a_chain_at_another_place_leaves_the_band_of_the_rank_plot():
    random = np.random.default_rng(1)
    alike = random.normal(size=(2, 300))
    figures = {}
    for name, shift in (("alike", 0.0), ("apart", 0.5)):
        draws = alike + np.array([[0.0], [shift]])
        fitted = az.from_dict({"posterior": {"mean": draws}})
        axes = ranks(fitted, ["mean"]).viz["figure"].item().axes[0]
        band = axes.collections[0].get_paths()[0].vertices[:, 1].max()
        figures[name] = max(np.abs(line.get_ydata()).max() for line in axes.lines) / band
    plt.close("all")
    assert figures["alike"] < 1 < figures["apart"]


def test_the_lines_of_the_convergence_plot_are_the_limits_of_the_verdict(tmp_path):
    random = np.random.default_rng(1)
    fitted = az.from_dict({"posterior": {"mean": random.normal(size=(2, 300, 3))}})
    axes = _convergence(fitted).viz["figure"].item().axes
    assert [panel.lines[-1].get_xdata()[0] for panel in axes] == [400.0, 400.0, 1.01]
    plt.close("all")
