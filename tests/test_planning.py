"""Plans: errors of samples to come, from a pilot or from complete judgments."""

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from scipy.stats import norm
from scipy.stats import t as student_t

import bayeseval as be
from bayeseval.estimators.counts import CountsMisfit
from bayeseval.planning import _budget_needed

MEASURES = ["P@10", "AP"]
Z = norm.ppf(0.95)


@pytest.fixture(scope="module")
def collection():
    """Eight runs, twenty topics of a thousand documents, all judged."""
    return be.simulate.urn_collection(
        np.linspace(0.05, 0.3, 8), n_topics=20, prevalence=0.08, shared=0.5, random_seed=3
    )


@pytest.fixture(scope="module")
def true(collection):
    return be.plan(collection, MEASURES, budget=[40, 80], n_simulations=12, random_seed=4)


@pytest.fixture(scope="module")
def pilot(collection):
    design = be.designs.pps_strata(collection, budget=40)
    return be.reveal(collection, design, be.draw(design, random_seed=5))


def test_complete_judgments_are_the_truth_of_replicated_samples(collection, true):
    design = be.designs.order(collection, budget=80, random_seed=0)
    drawn = be.experiments.replicate(
        collection, design, MEASURES, estimators=["dyn"], n_replicates=12, random_seed=4
    ).isel(estimator=0)
    planned = true.sel(budget=80).isel(n_topics=0)
    error = drawn["estimate"] - drawn["truth"]
    half = 0.5 * (drawn["upper"] - drawn["lower"]).mean("replicate")
    xr.testing.assert_allclose(planned["half_width"].drop_vars(["budget", "n_topics"]),
                               half.drop_vars("estimator").drop_attrs())  # fmt: skip
    np.testing.assert_allclose(planned["error"], np.sqrt((error**2).mean("replicate")))
    pairs = np.triu_indices(8, k=1)
    apart = (error.isel(run=pairs[0]).to_numpy() - error.isel(run=pairs[1]).to_numpy()) ** 2
    middle = np.median(np.sqrt(apart.mean(axis=error.dims.index("replicate"))), axis=-1)
    np.testing.assert_allclose(planned["difference_error"], middle)
    held = (drawn["lower"] <= drawn["truth"]) & (drawn["truth"] <= drawn["upper"])
    np.testing.assert_allclose(planned["coverage"], held.mean(["run", "replicate"]))


def test_what_is_detectable_goes_by_the_intervals_of_differences(collection, true):
    design = be.designs.order(collection, budget=80, random_seed=0)
    selected = be.draw(design, n_replicates=6, random_seed=4)
    half = 0.0
    for one in range(6):
        sampled = be.reveal(collection, design, selected.isel(replicate=one))
        pairs = be.compare(sampled, MEASURES, estimator="dyn", random_seed=4, n_permutations=1)
        half = half + pairs["interval"].diff("ci_bound").isel(ci_bound=0) / 12.0
    planned = true.sel(budget=80).isel(n_topics=0)
    expected = half.median("comparison") + norm.ppf(0.8) * planned["difference_error"]
    np.testing.assert_allclose(planned["detectable"], expected)
    # which are longer, and find less, than the errors alone ask for where judgments are few
    few = true.sel(budget=40).isel(n_topics=0)
    assert (few["detectable"] > (Z + norm.ppf(0.8)) * few["difference_error"]).all()


def test_a_detectable_difference_is_told_from_none_four_times_in_five(collection, true):
    # the fixture is made of other samples; 20 samples of 28 pairs, whose errors go together
    few = true.sel(budget=40).isel(n_topics=0)
    design = be.designs.order(collection, budget=40, random_seed=0)
    selected = be.draw(design, n_replicates=20, random_seed=104)
    truth = be.mean_over_topics(be.evaluate(collection, MEASURES, estimator="assumed"))["estimate"]
    told = []
    for one in range(20):
        sampled = be.reveal(collection, design, selected.isel(replicate=one))
        pairs = be.compare(sampled, MEASURES, estimator="dyn", random_seed=1, n_permutations=1)
        true_apart = truth.sel(run=pairs["run_a"]) - truth.sel(run=pairs["run_b"])
        half = 0.5 * pairs["interval"].diff("ci_bound").isel(ci_bound=0)
        error = pairs["estimate"] - true_apart
        told += [few["detectable"] + sign * error > half for sign in (1.0, -1.0)]
    share = xr.concat(told, "sample").mean(["sample", "comparison"])
    assert (abs(share - 0.8) < 0.12).all(), share


def test_one_run_has_no_difference_to_detect(collection):
    alone = be.select(collection, runs=collection["run"].to_numpy()[:1].tolist())
    how = {"budget": [40], "n_simulations": 2, "random_seed": 4}
    planned = be.plan(alone, "P@10", **how)
    assert planned["detectable"].isnull().all() and planned["half_width"].notnull().all()


def test_a_pilot_says_about_what_larger_samples_are_like(true, pilot):
    planned = be.plan(pilot, MEASURES, budget=[40, 80], random_seed=6)
    assert planned.attrs["n_worlds"] == 6
    for name in ("half_width", "difference_error"):
        one, other = (
            p[name].mean(set(p[name].dims) & {"run", "n_topics"}) for p in (planned, true)
        )
        assert (abs(np.log(one / other)) < np.log(1.35)).all(), (name, one / other)


def test_a_plan_says_nothing_of_documents_that_a_model_drew(collection, pilot, monkeypatch):
    monkeypatch.setattr("bayeseval.estimators.counts.fit.DISPERSION", -1.0)  # all counts are unlike
    monkeypatch.setattr("bayeseval.estimators.counts.fit.DEVIATIONS", -np.inf)
    small = {"budget": [40], "n_simulations": 1, "random_seed": 1}
    be.plan(pilot, "AP", **small)  # a warning is an error
    with pytest.warns(CountsMisfit, match="in bursts"):
        be.plan(collection, "AP", **small)


def test_a_fit_that_is_given_makes_the_worlds(pilot):
    model = be.models.relevance_model(pilot)
    fitted = be.fit(model, approximation="laplace", draws=25, random_seed=7)
    how = {"budget": [60], "n_simulations": 12, "random_seed": 8}
    given = be.plan(pilot, "P@10", fitted=fitted, **how)
    assert given.attrs["n_worlds"] == 3
    ratio = given["half_width"].mean() / be.plan(pilot, "P@10", **how)["half_width"].mean()
    assert 0.7 < ratio < 1.4


def test_variances_fall_with_the_number_of_topics(collection):
    how = {"budget": [60], "n_topics": [80, 20], "n_simulations": 3, "random_seed": 9}
    planned = be.plan(collection, "P@10", **how)
    assert planned["n_topics"].values.tolist() == [20, 80]
    for name in ("half_width", "error", "difference_error", "detectable"):
        few, many = (planned[name].sel(n_topics=n).to_numpy() for n in (20, 80))
        np.testing.assert_allclose(few, 2.0 * many)
    assert planned["judgments"].values.tolist() == [[1200.0, 4800.0]]


def test_the_population_of_topics_adds_their_variance(collection):
    how = {"budget": [60], "n_topics": [20, 45], "n_simulations": 3, "random_seed": 10}
    here = be.plan(collection, "P@10", **how)
    there = be.plan(collection, "P@10", population="topics", **how)
    score = be.evaluate(collection, "P@10", estimator="assumed")["estimate"]
    own = score.var("topic", ddof=1) / here["n_topics"]
    np.testing.assert_allclose((there["error"] ** 2 - here["error"] ** 2).transpose(*own.dims, ...)
                               .squeeze("budget"), own)  # fmt: skip
    student = xr.DataArray(student_t.ppf(0.95, [19, 44]), dims="n_topics")
    np.testing.assert_allclose(there["half_width"] / there["error"],
                               student.broadcast_like(there["half_width"]))  # fmt: skip
    assert (there["detectable"] > here["detectable"]).all()
    xr.testing.assert_equal(there["coverage"], here["coverage"])


def test_topics_without_judgments_are_left_out_of_a_plan(collection):
    few = be.select(collection, topics=collection["topic"].to_numpy()[:8].tolist())
    design = be.designs.pps_strata(few, budget=40)
    pilot = be.reveal(few, design, be.draw(design, random_seed=16))
    runs = be.trec.runs_frame(collection)
    how = {"budget": [60], "n_topics": [8, 20], "n_simulations": 4, "random_seed": 17}
    for some, more in (
        (
            pilot,
            be.attach_judgments(be.read_collection(None, runs), design, be.trec.qrels_frame(pilot)),
        ),
        (few, be.read_collection(be.trec.qrels_frame(few), runs)),
    ):
        assert (some.sizes["topic"], more.sizes["topic"]) == (8, 20)
        with pytest.warns(UserWarning, match="12 topics have no judgment yet and are left out"):
            planned = be.plan(more, "P@10", **how)
        assert planned["judgments"].values.tolist() == [[480.0, 1200.0]]
        ratio = planned["half_width"].mean() / be.plan(some, "P@10", **how)["half_width"].mean()
        assert abs(np.log(ratio)) < np.log(1.25)  # with all 20 topics counted it would be 1.58


def test_topics_of_which_a_poisson_sample_has_nothing_count(collection):
    design = be.designs.poisson(collection, budget=2)
    pilot = be.reveal(collection, design, be.draw(design, random_seed=3))
    judged = pilot["judgments/grade"].notnull().to_numpy()
    assert np.unique(pilot["pair_topic"].to_numpy()[judged]).size < 20
    planned = be.plan(pilot, "P@10", budget=[30], n_simulations=2, random_seed=4)
    assert planned["judgments"].item() == 600 and planned["n_topics"].item() == 20


def test_a_plan_is_made_from_one_sample(collection):
    design = be.designs.pps_strata(collection, budget=40)
    selected = be.draw(design, n_replicates=2, random_seed=17)
    with pytest.raises(ValueError, match="a plan is made from one sample and this collection"):
        be.plan(be.reveal(collection, design, selected), "P@10", budget=[50], random_seed=1)


def test_a_pilot_that_lists_its_sampled_documents_alone_is_no_frame_to_plan_for(pilot, tmp_path):
    be.trec.write_prels(pilot, tmp_path / "prels")
    runs = be.trec.runs_frame(pilot)
    listed = be.read_collection(tmp_path / "prels", runs, qrels_format="prels")
    with pytest.raises(ValueError, match=r"needs the documents that could have been judged"):
        be.plan(listed, "P@10", budget=[50], random_seed=1)


@pytest.mark.parametrize("budget", [15, 60])
def test_half_widths_over_the_population_of_topics_are_those_of_its_intervals(collection, budget):
    how = {"budget": [budget], "n_topics": [1, 20], "n_simulations": 8}
    planned = be.plan(collection, MEASURES, population="topics", random_seed=19, **how)
    assert planned["half_width"].sel(n_topics=1).isnull().all()
    design = be.designs.order(collection, budget=budget, random_seed=0)
    selected = be.draw(design, n_replicates=8, random_seed=20)
    sampled = be.reveal(collection, design, selected)
    scores = be.evaluate(sampled, MEASURES, estimator="dyn")
    bounds = be.mean_over_topics(scores, population="topics")["interval"]
    half = 0.5 * (bounds.sel(ci_bound="upper") - bounds.sel(ci_bound="lower")).mean("replicate")
    ratio = (planned["half_width"].sel(n_topics=20) / half).mean("run")
    assert (abs(np.log(ratio)) < np.log(1.2)).all(), ratio


def test_one_topic_says_nothing_of_the_population_of_topics(collection):
    one = be.select(collection, topics=collection["topic"].to_numpy()[:1].tolist())
    how = {"budget": [40], "n_simulations": 2, "random_seed": 18}
    assert (be.plan(one, "P@10", **how)["error"] > 0).all()
    with pytest.raises(ValueError, match="population='topics' needs 2 topics with judgments"):
        be.plan(one, "P@10", population="topics", **how)


def test_nothing_is_uncertain_where_all_is_judged(collection):
    planned = be.plan(collection, "P@10", budget=[2000], n_simulations=2, random_seed=11)
    assert (planned["half_width"] == 0).all() and (planned["coverage"] == 1).all()
    assert planned["judgments"].item() == collection["judgments/grade"].notnull().sum()


def test_a_pilot_whose_design_was_forgotten_is_no_plan(collection, pilot):
    listed = be.trec.qrels_frame(pilot)
    alone = be.read_collection(listed, be.trec.runs_frame(collection))
    options = {"n_simulations": 1, "random_seed": 1}
    with pytest.warns(UserWarning, match=r"no plan: \d+% of the retrieved.*be.attach_judgments"):
        planned = be.plan(alone, "P@10", budget=[40, 50], **options)
    assert (planned["half_width"] == 0).all()
    be.plan(alone, "P@10", budget=[20], **options)  # leaves something open: no warning
    be.plan(collection, "P@10", budget=[1000], **options)  # all is judged


def test_the_budget_that_is_needed_is_on_a_line_of_the_variance_over_one_by_the_budget():
    widths = xr.DataArray(
        [[0.08, 0.04, 0.01], [0.08, 0.04, 0.01], [0.08, 0.04, 0.01]],
        dims=("run", "budget"), coords={"budget": [25, 100, 400]},
    )  # fmt: skip
    judged = widths["budget"]
    assert _budget_needed(widths, judged, 0.04).item() == pytest.approx(100)
    assert _budget_needed(widths, judged, 0.08 / np.sqrt(2)).item() == pytest.approx(50)
    assert _budget_needed(widths, judged, 0.02).item() == pytest.approx(250)
    assert _budget_needed(widths, judged, 0.5).item() == pytest.approx(25)
    assert np.isnan(_budget_needed(widths, judged, 0.009).item())
    unknown = widths.where(widths["budget"] > 25)  # no standard error from so few
    assert _budget_needed(unknown, judged, 0.02).item() == pytest.approx(250)
    assert _budget_needed(unknown, judged, 0.5).item() == pytest.approx(100)
    assert np.isnan(_budget_needed(widths * np.nan, judged, 0.5).item())


def test_a_budget_above_what_there_is_takes_what_there_is(collection):
    documents = collection["judgments/grade"].notnull().sum().item() / collection.sizes["topic"]
    options = {"half_width": 0.02, "n_simulations": 4, "random_seed": 3}
    needed = be.plan(collection, "P@10", budget=[40, 9000], **options)["budget_needed"].item()
    assert 40 < needed < documents


def test_the_wanted_width_is_met_by_the_budget_that_is_needed(collection):
    how = {"half_width": 0.07, "n_simulations": 6, "random_seed": 4}
    planned = be.plan(collection, "P@10", budget=[40, 80], **how)
    least, most = planned["half_width"].median("run").squeeze(["measure", "n_topics"]).to_numpy()
    needed = planned["budget_needed"].item()
    assert most < 0.07 < least and 40 < needed < 80


def test_labels_shape_the_worlds_and_the_designs(pilot, collection):
    grade = collection["judgments/grade"].to_numpy()
    topics = collection["topic"].to_numpy()[collection["pair_topic"].to_numpy()]
    documents = collection["document"].to_numpy()
    wrong = np.random.default_rng(12).random(grade.size) < 0.1
    labels = pd.DataFrame(
        {"topic": topics, "document": documents, "label": np.where(wrong, 1 - grade, grade)}
    )
    how = {"budget": [60], "n_simulations": 16, "random_seed": 13}
    with_labels = be.plan(be.add_predictions(pilot, "llm", labels), "P@10", **how)
    without = be.plan(pilot, "P@10", **how)
    assert with_labels["half_width"].mean() < 0.9 * without["half_width"].mean()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"budget": None}, "budget must be a whole number, or a list"),
        ({"budget": []}, "budget must be a whole number, or a list"),
        ({"budget": [0]}, "budget is 0; allowed: a whole number, 1 or more"),
        ({"n_topics": [2.5]}, "n_topics is 2.5; allowed: a whole number, 1 or more"),
        ({"half_width": 0.0}, "half_width must be a number above 0, not 0.0"),
        ({"half_width": np.inf}, "half_width must be a number above 0, not inf"),
        ({"estimator": "assumed"}, "a plan is for samples to come, by stat or dyn, not 'assumed'"),
        ({"population": "runs"}, "population must be"),
        ({"measures": "Bpref"}, "Bpref has no posterior scores"),
        ({"n_simulations": 0}, "n_simulations is 0"),
    ],
)
def test_what_cannot_be_planned_is_refused(pilot, options, message):
    given = {"measures": "P@10", "budget": [50]} | options
    with pytest.raises(ValueError, match=message.replace("(", r"\(").replace(")", r"\)")):
        be.plan(pilot, given.pop("measures"), random_seed=1, **given)


def test_measures_of_grades_are_planned_by_a_model_of_grades():
    graded = be.simulate.urn_collection(
        [0.1, 0.2], n_topics=5, prevalence=0.2, grade_proportions=(0.5, 0.5), random_seed=14
    )
    design = be.designs.pps_strata(graded, budget=40)
    sampled = be.reveal(graded, design, be.draw(design, random_seed=15))
    how = {"budget": [50], "n_simulations": 6, "random_seed": 1}
    fitted = be.fit(
        be.models.grade_model(sampled), approximation="laplace", draws=2, chains=1, random_seed=1
    )
    of_fit = be.plan(sampled, "nDCG@10", fitted=fitted, **how)
    xr.testing.assert_identical(be.plan(sampled, ["nDCG@10"], **how), of_fit)
    assert be.plan(graded, "nDCG@10", **how)["half_width"].notnull().all()


def test_runs_alone_are_no_pilot(collection):
    bare = collection.copy()
    del bare["judgments"]
    with pytest.raises(ValueError, match="the collection has no judgments to evaluate"):
        be.plan(bare, "P@10", budget=[50], random_seed=1)


def test_a_fit_without_a_pilot_is_refused(collection, pilot):
    model = be.models.relevance_model(pilot)
    fitted = be.fit(model, approximation="laplace", draws=2, random_seed=7)
    with pytest.raises(ValueError, match="a fit serves plans from a pilot"):
        be.plan(collection, "P@10", budget=[50], fitted=fitted, random_seed=1)


def test_labels_of_the_sampled_documents_alone_are_refused(pilot):
    labels = be.trec.qrels_frame(pilot).query("grade >= 0").rename(columns={"grade": "label"})
    labels.loc[::5, "label"] = 1 - labels["label"]
    labelled = be.add_predictions(pilot, "llm", labels)
    with pytest.raises(ValueError, match="so that they tell what was sampled"):
        be.plan(labelled, "P@10", budget=[50], random_seed=1)


@pytest.mark.filterwarnings("ignore:RR@10. no sums of sampled documents:UserWarning")
def test_measures_that_only_a_model_scores_are_planned_by_its_intervals(collection):
    few = be.select(collection, runs=collection["run"].to_numpy()[:3].tolist())
    asked = {"budget": [20, 60], "n_topics": [20, 80], "random_seed": 4}
    planned = be.plan(few, ["RR@10", "P@10"], **asked)
    assert planned["measure"].values.tolist() == ["RR@10", "P@10"]
    by_dyn = be.plan(few, "P@10", **asked)
    for name in ("half_width", "error", "detectable"):
        np.testing.assert_allclose(planned[name].sel(measure=["P@10"]), by_dyn[name])
    of_model = planned.sel(measure="RR@10")
    assert (of_model.half_width.isel(budget=1) < of_model.half_width.isel(budget=0)).all()
    half = of_model.half_width.transpose("n_topics", ...).to_numpy()
    np.testing.assert_allclose(half[1], half[0] / 2)
    assert (of_model.coverage > 0.7).all() and (of_model.detectable > 0).all()
    with pytest.raises(ValueError, match="of one look|anytime"):
        be.plan(few, "RR@10", anytime=True, **asked)
