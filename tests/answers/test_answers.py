"""One call for each question: what it chooses, and that it is what the steps give."""

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import bayeseval as be


@pytest.fixture(scope="module")
def whole() -> xr.DataTree:
    return be.simulate.urn_collection(
        [0.05, 0.1, 0.2, 0.3], n_topics=10, prevalence=0.1, random_seed=1
    )


@pytest.fixture(scope="module")
def sampled(whole) -> xr.DataTree:
    order = be.designs.order(whole, random_seed=1)
    return be.reveal(whole, order, be.draw(order, budget=40))


def test_scores_choose_the_estimator_and_the_population(whole, sampled):
    judged = be.scores(whole, ["P@10", "AP"])
    steps = be.evaluate(whole, ["P@10", "AP"], estimator="assumed")
    xr.testing.assert_identical(judged, be.mean_over_topics(steps, population="topics"))
    assert be.scores(sampled, "P@10").attrs["estimator"] == "combined"
    assert be.scores(sampled, "P@10", anytime=True).attrs["estimator"] == "dyn"
    stat = be.scores(sampled, "P@10", estimator="stat")
    xr.testing.assert_identical(
        stat, be.mean_over_topics(be.evaluate(sampled, "P@10", estimator="stat"))
    )


def test_a_sample_that_lists_itself_alone_and_one_with_replacement_have_their_estimators(whole):
    drawn = be.designs.with_replacement(whole, budget=20)
    one = be.reveal(whole, drawn, be.draw(drawn, n_draws=40, random_seed=1))
    found = be.scores(one, "P@10")
    assert (found.attrs["estimator"], found.attrs["population"]) == ("importance", "sample")


def test_combined_scores_of_a_population_are_those_of_the_steps(sampled):
    found = be.scores(sampled, ["P@10", "AP"], population="topics", draws=50, random_seed=2)
    names, measures = {"estimator": "dyn"}, ["P@10", "AP"]
    mean = be.mean_over_topics(be.evaluate(sampled, measures, **names))
    model = be.models.relevance_model(sampled)
    fitted = be.fit(model, approximation="laplace", chains=4, draws=50, random_seed=2)
    post = be.posterior_scores(fitted, sampled, measures, over=None, random_seed=2)
    errors = be.covariance(sampled, measures, **names)
    steps = be.combine(mean, post, covariance=errors, population="topics")
    for name in ("estimate", "interval", "covariance"):
        np.testing.assert_allclose(found[name], steps[name], atol=1e-12)
    here = be.scores(sampled, measures, draws=50, random_seed=2)
    assert (found.standard_error > here.standard_error).all()
    ranked = be.rank(sampled, measures, population="topics", draws=50, random_seed=2)
    assert ranked.attrs["population"] == "topics"


@pytest.mark.filterwarnings("ignore:RR@10. no sums of sampled documents:UserWarning")
def test_a_model_alone_has_the_spread_of_topics_for_a_population(sampled):
    here, there = (
        be.scores(sampled, "RR@10", population=population, draws=50, random_seed=2)
        for population in ("sample", "topics")
    )
    fitted = be.fit(
        be.models.relevance_model(sampled), approximation="laplace", draws=50, random_seed=2
    )
    post = be.posterior_scores(fitted, sampled, "RR@10", over=None, random_seed=2)
    spread = post.estimate.var("topic", ddof=1).mean(("chain", "draw")) / sampled.sizes["topic"]
    widened = np.square(1.8331 / 1.6449)  # quantiles of Student's t with 9 degrees, and the normal
    expected = here.standard_error**2 + widened * spread.transpose("measure", "run")
    np.testing.assert_allclose(there.standard_error**2, expected, rtol=1e-3)
    np.testing.assert_allclose(
        np.diagonal(there.covariance, axis1=1, axis2=2), there.standard_error**2, rtol=1e-9
    )


def test_scores_of_topics_stand_beside_the_means(whole, sampled):
    found = be.scores(whole, ["P@10", "AP"], per_topic=True)
    steps = be.evaluate(whole, ["P@10", "AP"], estimator="assumed")
    np.testing.assert_array_equal(found.topic_estimate, steps.estimate)
    xr.testing.assert_identical(found.estimate, be.scores(whole, ["P@10", "AP"]).estimate)
    combined = be.scores(sampled, "P@10", per_topic=True, draws=50, random_seed=2)
    fitted = be.fit(
        be.models.relevance_model(sampled), approximation="laplace", draws=50, random_seed=2
    )
    post = be.posterior_scores(fitted, sampled, "P@10", over=None, random_seed=2)
    summary = be.summarize(post)
    for name in ("estimate", "interval", "standard_error"):
        np.testing.assert_allclose(combined[f"topic_{name}"], summary[name], atol=1e-12)


def test_labels_are_what_dyn_corrects(sampled):
    pairs = sampled.to_dataset()
    topic = pairs["topic"].to_numpy()[pairs["pair_topic"].to_numpy()]
    frame = {"topic": topic, "document": pairs["document"].to_numpy(), "value": 0.5}
    labelled = be.add_predictions(sampled, "judge", pd.DataFrame(frame))
    found = be.scores(labelled, "P@10", estimator="dyn", labels="judge")
    steps = be.evaluate(labelled, "P@10", estimator="dyn", predictor=("pooled", ["judge"]))
    xr.testing.assert_identical(found, be.mean_over_topics(steps))


def test_ranks_and_differences_of_a_collection_are_those_of_its_scores(sampled):
    combined = be.scores(sampled, "P@10", draws=100, random_seed=1)
    ranked = be.rank(sampled, "P@10", draws=100, random_seed=1)
    sets = be.rankings.rank_sets(combined, simultaneous=True, random_seed=1)
    for name in ("interval", "separated"):
        np.testing.assert_array_equal(ranked[name], sets[name])
    xr.testing.assert_identical(ranked, be.rank(combined, random_seed=1))
    pairs = be.compare(sampled, "P@10", draws=100, random_seed=1)
    expected = be.rankings.compare_draws(combined)
    xr.testing.assert_identical(pairs[list(expected)].drop_vars("run", errors="ignore"), expected)
    xr.testing.assert_identical(be.compare(combined), expected)


def test_ranks_by_dyn_have_the_errors_of_all_pairs(sampled):
    ranked = be.rank(sampled, "P@10", estimator="dyn", top=2, random_seed=3)
    errors = be.covariance(sampled, "P@10", estimator="dyn", anticipated=True)
    mean = be.scores(sampled, "P@10", estimator="dyn")
    sets = be.rankings.rank_sets(mean, covariance=errors, simultaneous=True, top=2, random_seed=3)
    for name in ("estimate", "interval", "separated", "best", "tie_group"):
        np.testing.assert_array_equal(ranked[name], sets[name])
    chances = be.rankings.rank_probabilities(mean, covariance=errors, random_seed=3)
    np.testing.assert_array_equal(ranked.expected_rank, chances.expected_rank)
    assert ranked.probability_better.sizes["run_other"] == 4


def test_ranks_of_complete_judgments_go_by_the_topics(whole):
    ranked = be.rank(whole, "P@10")
    scores = be.evaluate(whole, "P@10", estimator="assumed")
    sets = be.rankings.rank_sets(scores, simultaneous=True)
    np.testing.assert_array_equal(ranked.interval, sets.interval)
    assert ranked.attrs["population"] == "topics"


REFUSED = [
    (be.scores, {"estimator": "combined", "population": "all"}, "population must be one of"),
    (be.scores, {"estimator": "combined", "outside": "error"}, "has no option outside"),
    (be.scores, {"estimator": "dyn", "labels": "nobody"}, "nobody"),
    (be.rank, {"top": 9}, "top must be a number of runs from 1 to 4"),
    (be.rank, {"estimator": "condensed", "population": "sample"}, "ranks for these topics need"),
]


@pytest.mark.parametrize(("function", "asked", "message"), REFUSED)
def test_what_cannot_be_answered_is_refused(sampled, function, asked, message):
    with pytest.raises(ValueError, match=message):
        function(sampled, "P@10", **asked)


def test_what_is_asked_of_a_collection_is_refused_where_scores_are_given(sampled):
    scores = be.scores(sampled, "P@10", draws=50)
    with pytest.raises(ValueError, match="measures is for a collection; scores have been given"):
        be.rank(scores, "P@10")
    with pytest.raises(ValueError, match="estimator is for a collection"):
        be.compare(scores, estimator="dyn")
