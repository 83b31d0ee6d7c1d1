import numpy as np
import pytest
import xarray as xr

import bayeseval as be
from tests.posterior.handmade import collection_of_three, half_judged, handmade_fit

GRADES = (2, 0, 1, 0, 0, 1, 2, 0)
# documents that nobody judged are all alike
FLAT = dict.fromkeys(
    [
        "topic_effect",
        "curvature",
        "tail_effect",
        "component_effect",
        "agreement_effect",
        "topic_component_effect",
        "topic_shape_effect",
        "topic_step_effect",
        "step_slope",
        "step_log_rank",
    ],
    0.0,
)


def logit(probability):
    return np.log(probability / (1 - probability))


def labelled(grades) -> xr.DataTree:
    """Three documents of each topic judged; two of these have the label 0, all others 1."""
    sampled = half_judged(collection_of_three(grades), budget=3)
    label = np.full(8, 1.0)
    label[np.flatnonzero(~np.isnan(sampled["judgments/grade"].to_numpy()))[:2]] = 0.0
    sampled["predictors"] = xr.DataTree(xr.Dataset({"llm": ("pair", label)}))
    return sampled


def test_complete_grades_give_the_exact_graded_scores():
    collection = collection_of_three(GRADES)
    own = be.measure("ShareOfGrades", lambda grades, every: grades.sum(0) / every.sum(0))
    measures = ["nDCG@3", "DCG@2", "AP", "P(rel=2)@2", f"{own}@2", "SetF(rel=2)"]
    fitted = handmade_fit(be.models.grade_model(collection))
    post = be.posterior_scores(fitted, collection, measures, random_seed=1)
    exact = be.evaluate(collection, measures, estimator="assumed").estimate.mean("topic")
    np.testing.assert_allclose(post.estimate - exact, 0.0, atol=1e-12)


def test_unjudged_documents_reach_each_grade_as_often_as_the_steps_say():
    sampled = half_judged(collection_of_three(GRADES), budget=3)
    model = be.models.grade_model(sampled)
    fitted = handmade_fit(model, **FLAT, step_intercept=logit(0.4))
    levels = be.posterior_scores(fitted, sampled, ["NumRel", "NumRel(rel=2)"], random_seed=1)
    grade = sampled["judgments/grade"].to_numpy()
    for measure, level, share in (("NumRel", 1, 0.5), ("NumRel(rel=2)", 2, 0.2)):
        drawn = levels.estimate.sel(measure=measure, run="a").mean() * 2 - (grade >= level).sum()
        assert abs(float(drawn) - 2 * share) < 4 * np.sqrt(2 * 0.25 / 2000)


def test_unjudged_documents_may_be_not_relevant_where_every_judged_one_is():
    sampled = half_judged(collection_of_three((2, 1, 1, 2, 1, 1, 2, 1)), budget=3)
    model = be.models.grade_model(sampled)
    assert list(model.coords["grade_value"]) == [0.0, 1.0, 2.0]
    fitted = handmade_fit(model, **FLAT, step_intercept=logit(0.4))
    found = be.posterior_scores(fitted, sampled, "NumRel", random_seed=1).estimate.sel(run="a")
    drawn = found.mean() * 2 - sampled["judgments/grade"].notnull().sum()
    assert abs(float(drawn) - 1.0) < 4 * np.sqrt(2 * 0.25 / 2000)  # half of two
    alike = half_judged(collection_of_three((1, 1, 1, 1, 1, 1, 1, 1)), budget=3)
    fitted = be.fit(be.models.grade_model(alike), approximation="laplace", draws=200, random_seed=1)
    error = be.posterior_scores(fitted, alike, "P@4", random_seed=1).estimate.std(["chain", "draw"])
    assert (error > 0.02).all()


def test_labels_change_the_odds_by_their_error_rates():
    sampled = labelled((1, 0, 1, 0, 0, 1, 0, 0))
    model = be.models.relevance_model(sampled, external="llm")
    rate = np.array([[0.8, 0.2], [0.4, 0.6]])  # a label of 1 triples the odds
    fitted = handmade_fit(model, **FLAT, llm_share=rate[:, :1], llm_slope=0.0)
    post = be.posterior_scores(fitted, sampled, "NumRel", random_seed=1)
    seen = (sampled["judgments/grade"].to_numpy() >= 1).sum()
    drawn = float(post.estimate.sel(run="a").mean()) * 2 - seen
    assert abs(drawn - 2 * 0.75) < 4 * np.sqrt(2 * 0.19 / 2000)


def test_error_rates_go_with_the_linear_predictor():
    sampled = labelled((1, 0, 1, 0, 0, 1, 0, 0))
    model = be.models.relevance_model(sampled, external="llm")
    even, slope = np.full((2, 1), 0.5), np.array([1.0, -1.0])
    fitted = handmade_fit(model, **FLAT, llm_share=even, llm_slope=slope)
    for name, effect in fitted["constant_data"].to_dataset().data_vars.items():
        if str(name).startswith("label_at_mode_"):  # the linear predictor is 1 everywhere
            effect[...] = [1.0, 0.0] if name == "label_at_mode_topic_effect" else 0.0
            fitted[f"constant_data/{name}"] = effect
    post = be.posterior_scores(fitted, sampled, "NumRel", random_seed=1)
    seen = (sampled["judgments/grade"].to_numpy() >= 1).sum()
    drawn = float(post.estimate.sel(run="a").mean()) * 2 - seen
    odds = np.exp(1.0)  # the judge says no of 1 / (1 + e) of the relevant, e / (1 + e) of others
    assert abs(drawn - 2 * odds / (1 + odds)) < 4 * np.sqrt(2 * 0.2 / 2000)


def test_runs_that_come_later_are_scored_with_labels_where_none_of_theirs_is_judged():
    whole = be.simulate.urn_collection(
        [0.1, 0.2, 0.3], n_topics=4, n_documents=200, prevalence=0.2, depth=10, random_seed=1
    )
    labels = (whole["judgments/grade"].to_numpy() >= 1).astype(float)
    whole["predictors"] = xr.DataTree(xr.Dataset({"llm": ("pair", labels)}))
    design = be.designs.pps_strata(whole, budget=6, n_strata=2)
    sampled = be.reveal(whole, design, be.draw(design, random_seed=1))
    first = whole["run"].to_numpy()[:1].tolist()
    model = be.models.relevance_model(sampled, external="llm", runs=first)
    fitted = be.fit(model, approximation="laplace", draws=50, random_seed=1)
    post = be.posterior_scores(fitted, sampled, "P@5", random_seed=1)
    assert np.isfinite(post.estimate).all() and post.sizes["run"] == 3


def test_labels_change_the_odds_of_every_grade():
    sampled = labelled(GRADES)
    model = be.models.grade_model(sampled, external="llm")
    rate = np.array([[0.9, 0.1], [0.8, 0.2], [0.5, 0.5]])
    errors = {"llm_share": rate[:, :1], "llm_slope": 0.0}
    fitted = handmade_fit(model, **FLAT, **errors, step_intercept=logit(0.4))
    post = be.posterior_scores(fitted, sampled, "NumRel(rel=2)", random_seed=1)
    mass = np.array([0.5, 0.3, 0.2]) * rate[:, 1]
    seen = (sampled["judgments/grade"].to_numpy() >= 2).sum()
    drawn = float(post.estimate.sel(run="a").mean()) * 2 - seen
    assert abs(drawn - 2 * mass[2] / mass.sum()) < 4 * np.sqrt(2 * 0.25 / 2000)


def test_graded_measures_need_a_model_of_grades():
    sampled = half_judged(collection_of_three(GRADES))
    fitted = handmade_fit(be.models.relevance_model(sampled))
    with pytest.raises(ValueError, match="take be.models.grade_model for it"):
        be.posterior_scores(fitted, sampled, "nDCG@3")
