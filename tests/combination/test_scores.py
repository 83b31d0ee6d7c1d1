"""Design and model combined in one call: the same numbers as step by step."""

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import bayeseval as be

MEASURES = ["P@10", "AP"]


def drawn(low=0, high=1):
    """A sample of four runs, of which one comes after it, with two grades."""
    collection = be.simulate.urn_collection(
        [0.05, 0.3, 0.1, 0.2], n_topics=12, prevalence=0.08, shared=0.5, random_seed=3
    )
    runs, judged = be.trec.runs_frame(collection), be.trec.qrels_frame(collection)
    table = pd.DataFrame({"run": np.unique(runs["run"]), "contributed": [True] * 3 + [False]})
    judged["grade"] = np.where(judged["grade"] > 0, high, low)
    whole = be.read_collection(judged, runs, run_table=table)
    design = be.designs.pps_strata(whole, budget=40)
    return be.reveal(whole, design, be.draw(design, random_seed=4))


@pytest.fixture(scope="module")
def sampled():
    return drawn()


@pytest.fixture(scope="module")
def scores(sampled):
    return be.scores(
        sampled,
        MEASURES,
        estimator="combined",
        predictor="rank_logistic",
        ci_prob=0.8,
        draws=100,
        random_seed=2,
    )


def stepwise(sampled, how, external=()):
    """The same step by step."""
    level = how.get("relevance_level", 1)
    mean = be.mean_over_topics(be.evaluate(sampled, MEASURES, estimator="dyn", **how), ci_prob=0.8)
    matrix = be.covariance(sampled, MEASURES, estimator="dyn", **how)
    model = be.models.relevance_model(sampled, relevance_level=level, external=external)
    fitted = be.fit(model, approximation="laplace", draws=100, random_seed=2)
    post = be.posterior_scores(fitted, sampled, MEASURES, random_seed=2)
    both = be.combine(mean, post, covariance=matrix)
    alone = be.with_model_errors(post, ci_prob=0.8)
    return mean, both, be.compare_intervals(mean, alone, both)


def check_alike(scores, mean, both, table):
    """Every variable is that of the steps."""
    xr.testing.assert_equal(scores[list(both)], both)
    ratio = table["length_ratio"].sel(source="combined").transpose("measure", "run")
    np.testing.assert_array_equal(scores["length_ratio"], ratio)
    for name in ("outside_weight", "n_topics"):
        np.testing.assert_array_equal(scores[name], mean[name])


def test_they_are_those_of_the_steps_one_by_one(sampled, scores):
    check_alike(scores, *stepwise(sampled, {"predictor": "rank_logistic"}))
    assert scores["group"].to_numpy().tolist() == ["contributed"] * 3 + ["new"]


def test_labels_and_levels_are_handed_on():
    """Grades 2 and 4, of which 3 or more are relevant, and labels."""
    graded = drawn(2, 4)
    pairs = graded.to_dataset()
    labels = pd.DataFrame(
        {
            "topic": pairs["topic"].to_numpy()[pairs["pair_topic"].to_numpy()],
            "document": pairs["document"].to_numpy(),
            "label": np.random.default_rng(5).random(pairs.sizes["pair"]).round(3),
        }
    )
    labelled = be.add_predictions(graded, "judge", labels)
    how = {"relevance_level": 3}
    found = be.scores(
        labelled, MEASURES, estimator="combined", ci_prob=0.8, draws=100, random_seed=2, **how
    )
    check_alike(found, *stepwise(labelled, how, ["judge"]))


def test_the_model_learns_from_the_runs_that_it_is_told_to_learn_from(sampled):
    every = sampled["run"].to_numpy().tolist()
    how = {"draws": 100, "random_seed": 2}
    found = be.scores(sampled, "P@10", estimator="combined", learn_from="all", **how)
    xr.testing.assert_identical(
        found, be.scores(sampled, "P@10", estimator="combined", learn_from=every[::-1], **how)
    )
    some = sampled["run"][1:]
    xr.testing.assert_identical(
        be.scores(sampled, "P@10", estimator="combined", learn_from=some, **how),
        be.scores(sampled, "P@10", estimator="combined", learn_from=every[1:], **how),
    )
    fitted = be.fit(be.models.relevance_model(sampled, runs=every), approximation="laplace", **how)
    post = be.posterior_scores(fitted, sampled, "P@10", random_seed=2)
    mean = be.mean_over_topics(be.evaluate(sampled, "P@10", estimator="dyn"))
    matrix = be.covariance(sampled, "P@10", estimator="dyn")
    xr.testing.assert_equal(
        found[["estimate"]], be.combine(mean, post, covariance=matrix)[["estimate"]]
    )
    assert found["group"].to_numpy().tolist() == ["contributed"] * 4
    with pytest.raises(ValueError, match="learn_from must be one of design, all, not 'run001'"):
        be.scores(sampled, "P@10", estimator="combined", learn_from="run001", random_seed=2)
    with pytest.raises(ValueError, match="unknown: z"):
        be.scores(sampled, "P@10", estimator="combined", learn_from=["z"], random_seed=2)


def test_runs_are_compared_by_their_covariance(scores):
    pairs = be.rankings.compare_draws(scores, reference="run002")
    matrix = scores["covariance"].sel(run=pairs.run_a, run_other="run002")
    own = np.stack([np.diagonal(one) for one in scores["covariance"].to_numpy()])
    own = xr.DataArray(own, dims=("measure", "run"), coords={"run": scores["run"].to_numpy()})
    variance = own.sel(run=pairs.run_a) + own.sel(run="run002") - 2 * matrix
    np.testing.assert_allclose(
        pairs.standard_error**2, variance.transpose("measure", "comparison"), atol=1e-12
    )


def test_copies_have_the_same_score_whenever_they_come(sampled):
    """Of a run that the model learned from, and of one that came later."""
    runs = be.trec.runs_frame(sampled)
    copies = {"copy": "run001", "again": "run004"}
    added = [runs[runs["run"] == run].assign(run=name) for name, run in copies.items()]
    more = be.add_runs(sampled, pd.concat(added))
    scores = be.scores(more, MEASURES, estimator="combined", draws=100, random_seed=2)
    for name, run in copies.items():
        one, other = scores.sel(run=name), scores.sel(run=run)
        np.testing.assert_allclose(one["estimate"], other["estimate"], atol=1e-12)
        pairs = be.rankings.compare_draws(scores.sel(run=[name, run], run_other=[name, run]))
        np.testing.assert_allclose(pairs["standard_error"], 0.0, atol=1e-6)
        np.testing.assert_allclose(pairs["probability_better"], 0.5)
    groups = scores["group"].sel(run=["copy", "again"]).to_numpy().tolist()
    assert groups == ["contributed", "new"]


def test_judgments_that_contradict_the_model_are_warned_of():
    """Relevant is what stands at ranks 25 to 34 of every run, which no falling curve knows."""
    topics = [f"t{number}" for number in range(12)]
    runs = pd.DataFrame(
        [
            (run, topic, f"d{rank + 100 * (rank % 3 == kind)}", 100.0 - rank)
            for kind, run in enumerate(["x", "y", "z"])
            for topic in topics
            for rank in range(60)
        ],
        columns=["run", "topic", "document", "score"],
    )
    pairs = runs[["topic", "document"]].drop_duplicates()
    place = pairs["document"].str[1:].astype(int) % 100
    judged = pairs.assign(grade=((place >= 25) & (place < 35)).astype(int))
    whole = be.read_collection(judged, runs)
    design = be.designs.pps_strata(whole, budget=40)
    sampled = be.reveal(whole, design, be.draw(design, random_seed=1))
    with pytest.warns(UserWarning, match="the judgments contradict the model's predictions"):
        be.scores(sampled, "P@30", estimator="combined", draws=50, random_seed=1)


def test_topics_without_judgments_are_told_once():
    """The first topic waits for its judges."""
    whole = be.simulate.urn_collection([0.05, 0.3, 0.1], n_topics=8, prevalence=0.1, random_seed=3)
    design = be.designs.pps_strata(whole, budget=20)
    selected = be.draw(design, random_seed=4)
    judged = be.trec.qrels_frame(be.reveal(whole, design, selected))
    begun = judged[judged["topic"] != judged["topic"].iloc[0]]
    runs = be.read_collection(None, be.trec.runs_frame(whole))
    fewer = be.attach_judgments(runs, design.assign(selected=selected), begun)
    with pytest.warns(UserWarning) as said:
        be.scores(fewer, "P@10", estimator="combined", draws=50, random_seed=1)
    assert [str(one.message).split(" and ")[0] for one in said] == ["1 topic has no judgment yet"]


def test_topics_without_documents_are_told_once():
    whole = be.simulate.urn_collection([0.05, 0.3, 0.1], n_topics=8, prevalence=0.1, random_seed=3)
    runs = be.trec.runs_frame(whole)
    fewer = be.read_collection(be.trec.qrels_frame(whole), runs[runs["topic"] != "8"])
    design = be.designs.pps_strata(fewer, budget=20)
    sampled = be.reveal(fewer, design, be.draw(design, random_seed=4))
    with pytest.warns(UserWarning) as said:
        be.scores(sampled, "P@10", estimator="combined", draws=50, random_seed=1)
    texts = [str(one.message).split(":")[0] for one in said]
    assert texts == ["no run has documents for 1 of 8 topics (8)"]


def test_where_all_late_runs_are_copies_nothing_departs(sampled):
    old = be.select(sampled, runs=["run001", "run002", "run003"])
    runs = be.trec.runs_frame(old)
    late = be.add_runs(old, runs[runs["run"] == "run002"].assign(run="copy"))
    scores = be.scores(late, "P@10", estimator="combined", draws=50, random_seed=2)
    assert scores["group"].to_numpy().tolist() == ["contributed"] * 4
    np.testing.assert_array_equal(
        scores["interval"].sel(run="copy"), scores["interval"].sel(run="run002")
    )


def test_measures_of_grades_need_grades(monkeypatch):
    monkeypatch.setattr("bayeseval.combination.scores.fit", lambda *_, **__: pytest.fail("fitted"))
    twos = pd.DataFrame({"topic": "1", "document": list("abcdefgh"), "grade": 2})
    run = pd.DataFrame({"run": "a", "topic": "1", "document": list("abcdefgh")})
    one = be.read_collection(twos, run.assign(score=range(8)))
    design = be.designs.pps_strata(one, budget=4, n_strata=2)
    sampled = be.reveal(one, design, be.draw(design, random_seed=1))
    told = "nDCG@5 counts grades, and all judged documents have the grade 2: take dyn alone for it"
    with pytest.raises(ValueError, match=told):
        be.scores(sampled, ["P@5", "nDCG@5"], estimator="combined", random_seed=1)


def test_measures_of_grades_are_combined_with_a_model_of_grades():
    """The others are as they are by themselves."""
    graded = be.simulate.urn_collection(
        [0.05, 0.3, 0.1], n_topics=8, prevalence=0.1, grade_proportions=(0.6, 0.4), random_seed=3
    )
    design = be.designs.pps_strata(graded, budget=40)
    sampled = be.reveal(graded, design, be.draw(design, random_seed=4))
    found = be.scores(
        sampled, ["nDCG@10", "P@10", "P(rel=2)@5"], estimator="combined", draws=100, random_seed=2
    )
    assert found["measure"].to_numpy().tolist() == ["nDCG@10", "P@10", "P(rel=2)@5"]
    alone = be.scores(sampled, "P@10", estimator="combined", draws=100, random_seed=2)
    xr.testing.assert_equal(found.sel(measure=["P@10"]).covariance, alone.covariance)
    xr.testing.assert_equal(found.sel(measure=["P@10"]).interval, alone.interval)
    names = ["grade_model", "relevance_model", "grade_model"]
    assert found["model"].to_numpy().tolist() == names
    others = ["nDCG@10", "P(rel=2)@5"]
    fitted = be.fit(
        be.models.grade_model(sampled), approximation="laplace", draws=100, random_seed=2
    )
    post = be.posterior_scores(fitted, sampled, others, random_seed=2)
    mean = be.mean_over_topics(be.evaluate(sampled, others, estimator="dyn"))
    both = be.combine(mean, post, covariance=be.covariance(sampled, others, estimator="dyn"))
    for name in ("estimate", "interval", "covariance", "model_weight"):
        xr.testing.assert_equal(found.sel(measure=others)[name], both[name])
    assert be.rankings.rank_sets(found)["separated"].sizes["measure"] == 3


@pytest.mark.parametrize(
    ("measure", "options", "message"),
    [
        ("Bpref", {}, "Bpref has no posterior scores"),
        ("P@10", {"relevance_level": 1.5}, "relevance_level"),
        ("P@10", {"ci_prob": 2.0}, "ci_prob must lie between 0 and 1"),
        ("P@10", {"draws": 1}, "draws is 1; allowed: a whole number, 2 or more"),
    ],
)
def test_what_has_no_combination_is_refused_before_the_fit(
    sampled, monkeypatch, measure, options, message
):
    monkeypatch.setattr("bayeseval.combination.scores.fit", lambda *_, **__: pytest.fail("fitted"))
    with pytest.raises(ValueError, match=message):
        be.scores(sampled, measure, estimator="combined", random_seed=1, **options)


def test_samples_without_errors_and_other_objects_are_refused(sampled, monkeypatch):
    monkeypatch.setattr("bayeseval.combination.scores.fit", lambda *_, **__: pytest.fail("fitted"))
    whole = be.simulate.urn_collection([0.1, 0.2], n_topics=4, prevalence=0.1, random_seed=1)
    design = be.designs.pps_strata(whole, budget=1, n_strata=1)
    single = be.reveal(whole, design, be.draw(design, random_seed=1))
    with pytest.raises(ValueError, match="the sample is too small to be combined with a model"):
        be.scores(single, "P@10", estimator="combined", random_seed=1)
    with pytest.raises(ValueError, match="needs the design .* of a random sample"):
        be.scores(whole, "P@10", estimator="combined", random_seed=1)
    with pytest.raises(ValueError, match="a collection is a DataTree with schema"):
        be.scores(5, "P@10", estimator="combined", random_seed=1)


def test_it_is_named_where_evaluate_is_asked_for_it(sampled):
    with pytest.raises(ValueError, match="be.scores, be.compare and be.rank have it"):
        be.evaluate(sampled, "P@10", estimator="combined")


def test_what_no_sums_estimate_is_the_model_alone_with_its_own_errors(sampled):
    asked = {"estimator": "combined", "draws": 100, "random_seed": 2}
    with pytest.warns(UserWarning, match="RR@10, Success@5: no sums of sampled documents"):
        both = be.scores(sampled, ["RR@10", "P@10", "Success@5"], **asked)
    assert both["measure"].values.tolist() == ["RR@10", "P@10", "Success@5"]
    alone = be.scores(sampled, "P@10", **asked)
    for name in ("estimate", "interval", "covariance", "length_ratio", "n_topics"):
        np.testing.assert_array_equal(both[name].sel(measure=["P@10"]), alone[name])
    fitted = be.fit(
        be.models.relevance_model(sampled), approximation="laplace", draws=100, random_seed=2
    )
    listed = ["RR@10", "Success@5"]
    post = be.with_model_errors(be.posterior_scores(fitted, sampled, listed, random_seed=2))
    for name in ("estimate", "interval", "covariance"):
        np.testing.assert_array_equal(both[name].sel(measure=listed), post[name])
    assert (both.model_weight.sel(measure=listed) == 1.0).all()
    assert both.length_ratio.sel(measure=listed).isnull().all()
    sets = be.rank(both)
    assert sets.sizes["measure"] == 3 and (sets["rank"].min("run") == 1).all()
