"""What newcomers hand over instead is refused in words."""

import re
from types import SimpleNamespace

import matplotlib
import numpy as np
import pandas as pd
import pytest
import xarray as xr

import bayeseval as be
from bayeseval.residual import rbp_uncertainty, rbp_uncertainty_cdf
from bayeseval.trec import qrels_frame, runs_frame, write_qrels

matplotlib.use("Agg")
TABLE = xr.DataArray([[0.1, 0.3], [0.2, 0.4]], dims=("run", "topic"), coords={"run": ["a", "b"]})
DRAWS = xr.Dataset(
    {"estimate": (("chain", "draw", "measure", "run"), np.linspace(0, 1, 40).reshape(2, 10, 1, 2))},
    coords={"measure": ["P@10"], "run": ["run001", "run002"]},
)
REACHES = pd.DataFrame({"probability": [0.9], "right": [0.8], "error": [0.02]})


@pytest.fixture(scope="module")
def given(tmp_path_factory) -> SimpleNamespace:
    """A collection, a design, what it selected, the sample, and scores, a model and a fit of it."""
    collection = be.simulate.urn_collection([0.1, 0.3], n_topics=2, prevalence=0.2, random_seed=1)
    design = be.designs.pps_strata(collection, budget=10, n_strata=2)
    selected = be.draw(design, random_seed=1)
    several = be.draw(design, n_replicates=2, random_seed=1)
    sampled = be.reveal(collection, design, selected)
    scores = be.evaluate(sampled, "P@10", estimator="stat")
    model = be.models.relevance_model(sampled)
    return SimpleNamespace(
        collection=collection,
        design=design,
        sampled=sampled,
        several=be.reveal(collection, design, several),
        drawn=design.assign(selected=several.isel(replicate=0, drop=True)),
        scores=scores,
        means=be.mean_over_topics(scores),
        model=model,
        fit=be.fit(model, approximation="laplace", draws=20, random_seed=1),
        folder=tmp_path_factory.mktemp("wrong"),
    )


DESIGN = "read_design reads, not this DataTree"
FIT = "that be.fit returns, not this collection$"
WHOLE = "; allowed: a whole number, [12] or more$"
FITTING = "; allowed: a whole number from [12] to (9223372036854775807|1000000000)$"
WRONG = [
    (lambda g: be.draw(g.collection, random_seed=1), DESIGN),
    (lambda g: be.save_design(g.collection, g.folder / "design.nc"), DESIGN),
    (lambda g: be.attach_judgments(g.collection, g.collection, qrels_frame(g.collection)), DESIGN),
    (lambda g: be.reveal(g.collection, g.collection), DESIGN),
    (lambda g: be.reveal(g.collection, g.design, g.design), "selected is the DataArray that be.dr"),
    (lambda g: be.posterior_scores("fit.nc", g.sampled, "P@10"), "be.fit returns.* this str"),
    (lambda g: be.verdict(g.means), "that be.fit returns, not this Dataset"),
    (lambda g: be.inference.log_likelihood(g.model, g.model), "be.fit returns, not this Model"),
    (lambda g: be.verdict(g.sampled, g.fit), FIT),
    (lambda g: be.posterior_scores(g.sampled, g.fit, "P@10"), FIT),
    (lambda g: be.inference.predicted_judgments(g.sampled, g.fit), FIT),
    (lambda g: be.inference.predictive_draws(g.model, g.sampled), FIT),
    (lambda g: be.diagnostic_plots(g.sampled, g.folder / "plots"), FIT),
    (lambda g: be.inference.log_likelihood(g.sampled, g.model), FIT),
    (lambda g: be.save_fit(g.sampled, g.folder / "fit.nc"), FIT),
    (lambda g: be.verdict(xr.DataTree()), "not this DataTree without posterior draws"),
    (lambda g: be.plots.plot_judgments(g.sampled), "seen must be what be.inference.predicted_jud"),
    (lambda g: be.plots.plot_judgments(g.means), "what be.inference.predicted_judgments returns"),
    (
        lambda g: be.evaluate(be.select(g.collection, topics=[]), "P@10", estimator="assumed"),
        "the collection has no topics to evaluate",
    ),
    (lambda g: be.evaluate(g.sampled, "P@10", estimator=["dyn"]), "no estimator"),
    (
        lambda g: be.compare(g.sampled, "P@10", estimator="stat", reference=["run001"]),
        "reference is the name of one run, not this list",
    ),
    (lambda g: be.compare_intervals(g.means, DRAWS), "summary must be what summarize returns"),
    (
        lambda g: be.plots.plot_topics({"stat": be.to_frame(g.scores)}, "P@10", run="run1"),
        "stat must be a Dataset, not a DataFrame",
    ),
    (lambda g: be.plots.plot_reliability({"flat": REACHES[:0]}), "flat has no row"),
    (
        lambda g: be.designs.pps_strata(g.collection, budget=xr.DataArray([5, 5], dims="topic")),
        "has labels of topics",
    ),
    (
        lambda g: be.rankings.rank_similarity(TABLE.mean("topic"), TABLE.mean("topic")),
        "dims resample and run, not a DataArray over run; of one ranking",
    ),
    (
        lambda g: be.designs.to_judge(g.drawn, g.several, random_seed=1),
        "judged holds replicates of a sample",
    ),
    (
        lambda g: be.designs.to_judge(
            g.drawn, be.read_collection(None, runs_frame(g.collection)), random_seed=1
        ),
        "judged has no judgments",
    ),
    (lambda g: be.designs.pps_strata(g.collection, budget=10**30), "^budget is 10+" + FITTING),
    (
        lambda g: be.designs.order(g.collection, budget={"1": 2**63, "2": 5}, random_seed=1),
        "^budget is 9223372036854775808" + FITTING,
    ),
    (
        lambda g: be.plan(g.sampled, "P@10", budget=[5], n_topics=[10**20], random_seed=1),
        "^n_topics is 10+" + FITTING,
    ),
    (lambda g: be.fit(g.model, draws=10**20, random_seed=1), "^draws is 10+" + FITTING),
    (
        lambda g: be.rankings.rank_probabilities(g.scores, n_draws=10**30),
        "^n_draws is 10+" + FITTING,
    ),
    (lambda g: be.add_predictions(g.collection, 5, {}), "^name must be the name of a judge, or a"),
    (lambda g: be.add_predictions(g.collection, None, {}), "must be a table with a column assesso"),
    (lambda g: be.select(g.collection, topics=slice(0, 1)), "one or a list of them, not slice"),
    (lambda g: be.draw(g.design, n_replicates=1.5, random_seed=1), "^n_replicates is 1.5" + WHOLE),
    (lambda g: be.rankings.rank_sets(g.scores, n_draws=2.5), "^n_draws is 2.5" + WHOLE),
    (lambda g: be.rankings.rank_sets(g.scores, top=1.5), "^top is 1.5" + WHOLE),
    (lambda g: be.rankings.rank_sets(g.scores, top=0), "^top is 0" + WHOLE),
    (lambda g: be.rankings.rank_probabilities(g.scores, n_draws=2.5), "^n_draws is 2.5" + WHOLE),
    (
        lambda g: be.rankings.bias_variance(TABLE, TABLE, n_boot=9.5, random_seed=1),
        "^n_boot is 9.5" + WHOLE,
    ),
    (
        lambda g: be.rankings.bias_variance(TABLE, TABLE, n_topics=2.5, random_seed=1),
        "^n_topics is 2.5" + WHOLE,
    ),
    (
        lambda g: be.compare(g.collection, "P@5", estimator="assumed", n_permutations=1.5),
        "^n_permutations is 1.5" + WHOLE,
    ),
    (lambda g: be.designs.depth_pool(g.collection, "a"), "^pool_depth is 'a'" + WHOLE),
    (
        lambda g: be.designs.pps_strata(g.collection, budget=9, n_strata=True),
        "^n_strata is True" + WHOLE,
    ),
    (
        lambda g: be.designs.hedge(g.collection, 3, list_length=2.5),
        "^list_length is 2.5" + WHOLE,
    ),
    (lambda g: be.read_collection({"1": {"a": 1}}, depth="x"), "^depth is 'x'" + WHOLE),
    (lambda g: be.adjust_scores(g.collection, "P@5", pool_depth="a"), "^pool_depth is 'a'" + WHOLE),
    (
        lambda g: be.simulate.urn_collection([1.0], n_topics=2.5, prevalence=0.1, random_seed=1),
        "^n_topics is 2.5" + WHOLE,
    ),
    (
        lambda g: rbp_uncertainty_cdf(g.collection, 0.8, 0.2, n_points=9.5),
        "^n_points is 9.5" + WHOLE,
    ),
    (
        lambda g: be.evaluate(
            g.collection, "P@5", estimator="condensed", estimator_options={"depth": "a"}
        ),
        "^depth is 'a'" + WHOLE,
    ),
    (
        lambda g: be.designs.depth_pool(g.collection, 10.0),
        "a whole number, 1 or more, as an int: 1",
    ),
    (lambda g: be.designs.depth_pool(g.collection, np.float32(10.0)), "1 or more, as an int: 10$"),
    (
        lambda g: be.designs.depth_pool(g.collection, np.inf),
        "inf; allowed: a whole number, 1 or mo",
    ),
]


@pytest.mark.parametrize("number", range(len(WRONG)))
def test_what_is_not_meant_is_refused_in_one_sentence(number, given):
    call, message = WRONG[number]
    with pytest.raises((ValueError, TypeError), match=message):
        call(given)
    assert not list(given.folder.iterdir())


def test_the_file_of_a_design_stands_for_it(given, tmp_path):
    be.save_design(given.design, tmp_path / "design.nc")
    judged = qrels_frame(given.sampled)
    attached = be.attach_judgments(given.collection, tmp_path / "design.nc", judged)
    xr.testing.assert_identical(attached["judgments/grade"], given.sampled["judgments/grade"])


@pytest.mark.parametrize(
    "make",
    [
        lambda s, **options: be.models.relevance_model(s, **options),
        lambda s, **options: be.models.grade_model(s, **options),
        lambda s, **options: be.models.urn_model(s, depth=3, frame="retrieved", **options),
    ],
)
def test_priors_have_names(make, given):
    for priors in ([1], [], 0.5):
        kind = type(priors).__name__
        with pytest.raises(
            ValueError, match=f"priors maps names to numbers, and is this {kind}; priors: "
        ):
            make(given.sampled, priors=priors)


@pytest.mark.parametrize(
    "call",
    [
        lambda s, **how: be.evaluate(s, "P@10", estimator="stat", **how),
        lambda s, **how: be.mean_over_topics(be.evaluate(s, "P@10", estimator="stat"), **how),
        lambda s, **how: be.compare(s, "P@10", estimator="stat", **how),
        lambda s, **how: be.summarize(DRAWS, **how),
        lambda s, **how: be.rankings.rank_sets(DRAWS, **how),
        lambda s, **how: be.rankings.rank_probabilities(DRAWS, **how),
        lambda s, **how: be.rankings.compare_draws(DRAWS, **how),
        lambda s, **how: rbp_uncertainty(s, 0.8, 0.2, **how),
        lambda s, **how: be.plots.plot_scores(DRAWS, backend="none", **how),
        lambda s, **how: be.plots.plot_reliability({"flat": REACHES}, **how),
    ],
)
def test_levels_of_intervals_are_numbers(call, given):
    for level in ("0.9", None, [0.9]):
        message = f"ci_prob must be a number between 0 and 1, not {level!r}"
        with pytest.raises(ValueError, match=re.escape(message)):
            call(given.sampled, ci_prob=level)
    for level in (np.float32(0.5), np.array(0.5), xr.DataArray(0.5)):
        call(given.sampled, ci_prob=level)


@pytest.mark.parametrize("make", [be.designs.pps_strata, be.designs.poisson])
def test_whole_numbers_of_numpy_are_whole_numbers(make, given, tmp_path):
    budget = np.int64(40)
    design = make(given.collection, budget=budget, pool_depth=np.int32(10))
    be.save_design(design, tmp_path / "design.nc")
    xr.testing.assert_equal(design, make(given.collection, budget=40, pool_depth=10))
    ordered = be.designs.hedge(given.collection, budget, list_length=np.int64(8))
    xr.testing.assert_identical(ordered, be.designs.hedge(given.collection, 40, list_length=8))


@pytest.mark.parametrize("seed", [-1, 1.5, "1", True])
@pytest.mark.parametrize(
    "call",
    [
        lambda g, **how: be.designs.uniform_strata(g.collection, budget=10, n_strata=2, **how),
        lambda g, **how: be.evaluate(g.sampled, "P@10", estimator="dyn", **how),
        lambda g, **how: be.dual_runs(g.collection, **how),
        lambda g, **how: be.simulate.urn_collection([0.1], n_topics=2, prevalence=0.2, **how),
    ],
)
def test_what_is_no_seed(call, given, seed):
    with pytest.raises(ValueError, match="random_seed is .*; allowed: a whole number, 0 or more"):
        call(given, random_seed=seed)


@pytest.mark.parametrize(
    ("observed", "message"),
    [
        ({}, "needs the values of relevance in observed, and of nothing else; these are of noth"),
        ({"x": 1}, "observed names 'x', and .* be.fit observes by itself: relevance"),
        ({"relevance": [1, 0]}, r"'relevance' in observed have the shape \(2,\)"),
    ],
)
def test_an_approximation_needs_values_of_what_the_model_observes(given, observed, message):
    with pytest.raises(ValueError, match=message):
        be.fit(given.model, approximation="laplace", draws=20, random_seed=1, observed=observed)


def test_a_tilde_is_the_home_folder(given, monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    be.save_collection(given.collection, "~/collection.nc")
    be.save_design(given.design, "~/design.nc")
    write_qrels(given.collection, "~/qrels")
    labels = qrels_frame(given.collection).rename(columns={"grade": "label"})
    labels.to_csv(tmp_path / "labels.csv", index=False)
    names = ["collection.nc", "design.nc", "labels.csv", "qrels"]
    assert sorted(path.name for path in tmp_path.iterdir()) == names
    read = be.add_predictions(be.open_collection("~/collection.nc"), "judge", "~/labels.csv")
    assert "judge" in read["predictors"]
    xr.testing.assert_identical(
        be.read_design("~/design.nc"), be.read_design(tmp_path / "design.nc")
    )


def test_one_ranking_is_a_set_of_one():
    one = TABLE.mean("topic").expand_dims("resample")
    assert be.rankings.rank_similarity(one, one).values == 1.0
