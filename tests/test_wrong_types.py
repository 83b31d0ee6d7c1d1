"""What newcomers hand over instead is refused in words."""

import re

import matplotlib
import numpy as np
import pandas as pd
import pytest
import xarray as xr

import bayeseval as be

matplotlib.use("Agg")
TABLE = xr.DataArray([[0.1, 0.3], [0.2, 0.4]], dims=("run", "topic"), coords={"run": ["a", "b"]})


@pytest.fixture(scope="module")
def collection() -> xr.DataTree:
    return be.simulate.urn_collection([0.1, 0.3], n_topics=2, prevalence=0.2, random_seed=1)


@pytest.fixture(scope="module")
def design(collection) -> xr.Dataset:
    return be.designs.pps_strata(collection, budget=10, n_strata=2)


@pytest.fixture(scope="module")
def sampled(collection, design) -> xr.DataTree:
    return be.reveal(collection, design, be.draw(design, random_seed=1))


def test_a_collection_is_no_design(collection, tmp_path):
    said = "read_design reads, not this DataTree"
    with pytest.raises(ValueError, match=said):
        be.draw(collection, random_seed=1)
    with pytest.raises(ValueError, match=said):
        be.save_design(collection, tmp_path / "design.nc")
    with pytest.raises(ValueError, match=said):
        be.attach_judgments(collection, collection, be.qrels_frame(collection))
    with pytest.raises(ValueError, match=said):
        be.reveal(collection, collection)
    assert not list(tmp_path.iterdir())


def test_the_file_of_a_design_stands_for_it(collection, design, sampled, tmp_path):
    be.save_design(design, tmp_path / "design.nc")
    attached = be.attach_judgments(collection, tmp_path / "design.nc", be.qrels_frame(sampled))
    xr.testing.assert_identical(attached["judgments/grade"], sampled["judgments/grade"])


def test_a_file_or_scores_are_no_fit(sampled):
    with pytest.raises(ValueError, match="a fit is the DataTree that be.fit returns.* this str"):
        be.posterior_scores("fit.nc", sampled, "P@10")
    means = be.mean_over_topics(be.evaluate(sampled, "P@10", estimator="stat"))
    with pytest.raises(ValueError, match="that be.fit returns, not this Dataset"):
        be.verdict(means)
    model = be.models.relevance_model(sampled)
    with pytest.raises(ValueError, match="that be.fit returns, not this Model"):
        be.log_likelihood(model, model)


def test_a_collection_is_no_fit(sampled, tmp_path):
    model = be.models.relevance_model(sampled)
    fit = be.fit(model, approximation="laplace", draws=20, random_seed=1)
    for act in (
        lambda: be.verdict(sampled, fit),
        lambda: be.posterior_scores(sampled, fit, "P@10"),
        lambda: be.inference.predicted_judgments(sampled, fit),
        lambda: be.inference.predictive_draws(model, sampled),
        lambda: be.inference.diagnostic_plots(sampled, tmp_path / "plots"),
        lambda: be.models.relevant_numbers(sampled),
        lambda: be.log_likelihood(sampled, model),
        lambda: be.save_fit(sampled, tmp_path / "fit.nc"),
    ):
        with pytest.raises(ValueError, match="that be.fit returns, not this collection$"):
            act()
    with pytest.raises(ValueError, match="not this DataTree without posterior draws"):
        be.verdict(xr.DataTree())
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "make",
    [
        lambda s, **options: be.models.relevance_model(s, **options),
        lambda s, **options: be.models.grade_model(s, **options),
        lambda s, **options: be.models.count_model(s, **options),
        lambda s, **options: be.models.urn_model(s, depth=3, frame="retrieved", **options),
        lambda s, **options: be.models.score_model(s, s, **options),
    ],
)
def test_priors_have_names(make, sampled):
    for given in ([1], [], 0.5):
        said = f"priors maps names to numbers, and is this {type(given).__name__}; priors: "
        with pytest.raises(ValueError, match=said):
            make(sampled, priors=given)


def test_a_design_is_not_what_was_drawn(collection, design):
    with pytest.raises(ValueError, match="selected is the DataArray that be.draw returns"):
        be.reveal(collection, design, design)


def test_a_collection_shows_no_predicted_judgments(sampled):
    with pytest.raises(ValueError, match="seen must be what be.inference.predicted_judgments"):
        be.plots.plot_judgments(sampled)


def test_where_no_topic_was_selected_there_is_nothing_to_evaluate(collection):
    with pytest.raises(ValueError, match="the collection has no topics to evaluate"):
        be.evaluate(be.select(collection, topics=[]), "P@10", estimator="assumed")


def test_lists_where_one_name_is_wanted(sampled):
    with pytest.raises(ValueError, match="no estimator"):
        be.evaluate(sampled, "P@10", estimator=["dyn"])
    with pytest.raises(ValueError, match="reference is the name of one run, not this list"):
        be.compare(sampled, "P@10", estimator="stat", reference=["run001"])


def test_draws_are_summed_up_before_they_are_compared(sampled):
    means = be.mean_over_topics(be.evaluate(sampled, "P@10", estimator="stat"))
    draws = xr.Dataset(
        {"estimate": (("chain", "draw", "measure", "run"), np.zeros((1, 3, 1, 2)))},
        coords={"measure": means["measure"], "run": means["run"]},
    )
    with pytest.raises(ValueError, match="summary must be what summarize returns"):
        be.compare_intervals(means, draws)


@pytest.mark.parametrize(
    ("act", "said"),
    [
        (lambda c, d, s: be.draw(d, n_replicates=1.5, random_seed=1), "n_replicates is 1.5"),
        (lambda c, d, s: be.rankings.rank_sets(s, n_draws=2.5), "n_draws is 2.5"),
        (lambda c, d, s: be.rankings.rank_sets(s, top=1.5), "top is 1.5"),
        (lambda c, d, s: be.rankings.rank_sets(s, top=0), "top is 0"),
        (lambda c, d, s: be.rankings.rank_probabilities(s, n_draws=2.5), "n_draws is 2.5"),
        (
            lambda c, d, s: be.rankings.bias_variance(TABLE, TABLE, n_boot=9.5, random_seed=1),
            "n_boot is 9.5",
        ),
        (
            lambda c, d, s: be.rankings.bias_variance(TABLE, TABLE, n_topics=2.5, random_seed=1),
            "n_topics is 2.5",
        ),
        (
            lambda c, d, s: be.compare(c, "P@5", estimator="assumed", n_permutations=1.5),
            "n_permutations is 1.5",
        ),
        (lambda c, d, s: be.designs.depth_pool(c, "a"), "pool_depth is 'a'"),
        (lambda c, d, s: be.designs.pps_strata(c, budget=9, n_strata=True), "n_strata is True"),
        (lambda c, d, s: be.designs.hedge(c, 3, list_length=2.5), "list_length is 2.5"),
        (lambda c, d, s: be.read_collection({"1": {"a": 1}}, depth="x"), "depth is 'x'"),
        (lambda c, d, s: be.adjust_scores(c, "P@5", pool_depth="a"), "pool_depth is 'a'"),
        (
            lambda c, d, s: be.simulate.urn_collection(
                [1.0], n_topics=2.5, prevalence=0.1, random_seed=1
            ),
            "n_topics is 2.5",
        ),
        (
            lambda c, d, s: be.rbp_uncertainty_cdf(c, 0.8, 0.2, n_points=9.5),
            "n_points is 9.5",
        ),
        (
            lambda c, d, s: be.evaluate(
                c, "P@5", estimator="condensed", estimator_options={"depth": "a"}
            ),
            "depth is 'a'",
        ),
    ],
)
def test_numbers_of_things_are_whole(collection, design, sampled, act, said):
    scores = be.evaluate(sampled, "P@10", estimator="stat")
    with pytest.raises(ValueError, match=f"^{said}; allowed: a whole number, [12] or more$"):
        act(collection, design, scores)


DRAWS = xr.Dataset(
    {"estimate": (("chain", "draw", "measure", "run"), np.linspace(0, 1, 40).reshape(2, 10, 1, 2))},
    coords={"measure": ["P@10"], "run": ["run001", "run002"]},
)
REACHES = pd.DataFrame({"probability": [0.9], "right": [0.8], "error": [0.02]})
LEVELS = {
    "evaluate": lambda s, **how: be.evaluate(s, "P@10", estimator="stat", **how),
    "mean_over_topics": lambda s, **how: be.mean_over_topics(
        be.evaluate(s, "P@10", estimator="stat"), **how
    ),
    "compare": lambda s, **how: be.compare(s, "P@10", estimator="stat", **how),
    "paired_difference": lambda s, **how: be.paired_difference(
        s, "P@10", "run001", "run002", estimator="stat", **how
    ),
    "calc_aggregate": lambda s, **how: be.calc_aggregate(
        ["P@10"], {"1": {"a": 1}}, {"1": {"a": 1.0}}, **how
    ),
    "summarize": lambda s, **how: be.summarize(DRAWS, **how),
    "rank_sets": lambda s, **how: be.rankings.rank_sets(DRAWS, **how),
    "rank_probabilities": lambda s, **how: be.rankings.rank_probabilities(DRAWS, **how),
    "compare_draws": lambda s, **how: be.rankings.compare_draws(DRAWS, **how),
    "rbp_uncertainty": lambda s, **how: be.rbp_uncertainty(s, 0.8, 0.2, **how),
    "plot_scores": lambda s, **how: be.plots.plot_scores(DRAWS, backend="none", **how),
    "plot_reliability": lambda s, **how: be.plots.plot_reliability({"flat": REACHES}, **how),
}


@pytest.mark.parametrize("name", LEVELS)
def test_levels_of_intervals_are_numbers(name, sampled):
    for given in ("0.9", None, [0.9]):
        said = f"ci_prob must be a number between 0 and 1, not {given!r}"
        with pytest.raises(ValueError, match=re.escape(said)):
            LEVELS[name](sampled, ci_prob=given)
    for given in (np.float32(0.5), np.array(0.5), xr.DataArray(0.5)):
        LEVELS[name](sampled, ci_prob=given)


def test_a_float_that_is_whole_is_refused_with_the_int_that_was_meant(collection):
    for depth in (10.0, np.float32(10.0)):
        with pytest.raises(ValueError, match="allowed: a whole number, 1 or more, as an int: 10$"):
            be.designs.depth_pool(collection, depth)
    with pytest.raises(ValueError, match="inf; allowed: a whole number, 1 or more$"):
        be.designs.depth_pool(collection, np.inf)


@pytest.mark.parametrize("make", [be.designs.pps_strata, be.designs.poisson])
def test_whole_numbers_of_numpy_are_whole_numbers(make, collection, tmp_path):
    budget = np.int64(40)
    design = make(collection, budget=budget, pool_depth=np.int32(10))
    be.save_design(design, tmp_path / "design.nc")
    xr.testing.assert_equal(design, make(collection, budget=40, pool_depth=10))
    ordered = be.designs.hedge(collection, budget, list_length=np.int64(8))
    xr.testing.assert_identical(ordered, be.designs.hedge(collection, 40, list_length=8))


@pytest.mark.parametrize("seed", [-1, 1.5, "1", True])
@pytest.mark.parametrize(
    "name", ["uniform_strata", "dynamic_stage", "evaluate", "dual_runs", "urn_collection"]
)
def test_what_is_no_seed(collection, sampled, name, seed):
    calls = {
        "uniform_strata": lambda: be.designs.uniform_strata(
            collection, budget=10, n_strata=2, random_seed=seed
        ),
        "dynamic_stage": lambda: be.designs.dynamic_stage(
            collection, budget=10, n_strata=2, n_stages=2, random_seed=seed
        ),
        "evaluate": lambda: be.evaluate(sampled, "P@10", estimator="dyn", random_seed=seed),
        "dual_runs": lambda: be.dual_runs(collection, random_seed=seed),
        "urn_collection": lambda: be.simulate.urn_collection(
            [0.1], n_topics=2, prevalence=0.2, random_seed=seed
        ),
    }
    with pytest.raises(ValueError, match="random_seed is .*; allowed: a whole number, 0 or more"):
        calls[name]()


@pytest.mark.parametrize(
    ("observed", "message"),
    [
        (
            {},
            "needs the values of relevance in observed, and of nothing else; these are of nothing",
        ),
        ({"x": 1}, "observed names 'x', and .* be.fit observes by itself: relevance"),
        ({"relevance": [1, 0]}, r"'relevance' in observed have the shape \(2,\)"),
    ],
)
def test_an_approximation_needs_values_of_what_the_model_observes(sampled, observed, message):
    model = be.models.relevance_model(sampled)
    with pytest.raises(ValueError, match=message):
        be.fit(model, approximation="laplace", draws=20, random_seed=1, observed=observed)


def test_what_tells_nothing_of_what_is_left_to_judge(collection, design):
    several = be.draw(design, n_replicates=2, random_seed=1)
    sample = design.assign(selected=several.isel(replicate=0, drop=True))
    with pytest.raises(ValueError, match="judged holds replicates of a sample"):
        be.designs.to_judge(sample, be.reveal(collection, design, several), random_seed=1)
    with pytest.raises(ValueError, match="judged has no judgments"):
        bare = be.read_collection(None, be.runs_frame(collection))
        be.designs.to_judge(sample, bare, random_seed=1)


def test_a_budget_by_topic_without_their_labels(collection):
    with pytest.raises(ValueError, match="has labels of topics"):
        be.designs.pps_strata(collection, budget=xr.DataArray([5, 5], dims="topic"))


def test_a_table_without_rows_shows_no_reliability():
    table = pd.DataFrame({"probability": [], "right": [], "error": []})
    with pytest.raises(ValueError, match="flat has no row"):
        be.plots.plot_reliability({"flat": table})


def test_a_tilde_is_the_home_folder(collection, design, monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    be.save_collection(collection, "~/collection.nc")
    be.save_design(design, "~/design.nc")
    be.write_qrels(collection, "~/qrels")
    labels = be.qrels_frame(collection).rename(columns={"grade": "label"})
    labels.to_csv(tmp_path / "labels.csv", index=False)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "collection.nc", "design.nc", "labels.csv", "qrels",
    ]  # fmt: skip
    read = be.add_predictions(be.open_collection("~/collection.nc"), "judge", "~/labels.csv")
    assert "judge" in read["predictors"]
    xr.testing.assert_identical(
        be.read_design("~/design.nc"), be.read_design(tmp_path / "design.nc")
    )


def test_single_rankings_are_no_set_of_rankings():
    said = "dims resample and run, not a DataArray over run; of one ranking"
    with pytest.raises(ValueError, match=said):
        be.rankings.rank_similarity(TABLE.mean("topic"), TABLE.mean("topic"))
    one = TABLE.mean("topic").expand_dims("resample")
    assert be.rankings.rank_similarity(one, one).values == 1.0


def test_scores_are_neither_combined_nor_judgments_and_a_frame_is_no_dataset(sampled):
    scores = be.evaluate(sampled, "P@10", estimator="stat")
    means = be.mean_over_topics(scores)
    with pytest.raises(ValueError, match="what combine or combined_scores returns"):
        be.sign_turning_bias(means, "run1", "run2")
    with pytest.raises(ValueError, match="what be.inference.predicted_judgments returns"):
        be.plots.plot_judgments(means)
    with pytest.raises(TypeError, match="stat must be a Dataset, not a DataFrame"):
        be.plots.plot_topics({"stat": be.to_frame(scores)}, "P@10", run="run1")
