"""Means over topics, for these topics and for their population."""

import numpy as np
import pandas as pd
import pytest
import scipy.stats
import xarray as xr

import bayeseval as be
from bayeseval.uncertainty import anticipated_part, degrees_of_freedom, with_anticipated
from tests.small import sample


def simulated(n_topics: int, seed: int):
    return be.simulate.urn_collection(
        [0.1, 0.3], n_topics=n_topics, n_documents=200, prevalence=0.1, difficulty_sd=0.8,
        random_seed=seed,
    )  # fmt: skip


def test_the_mean_over_a_population_of_topics_holds_the_design_variance_already():
    """Draw topics and samples anew many times: the variance estimate is right, not doubled."""
    population = simulated(400, 1)
    options = {"budget": 60, "n_strata": 6, "random_seed": 5}
    sampled = sample(population, "uniform_strata", n_replicates=40, seed=2, **options)
    scores = be.evaluate(sampled, "P@10", estimator="stat").isel(measure=0, run=0)
    random = np.random.default_rng(3)
    replicate = xr.DataArray(np.repeat(np.arange(40), 10), dims="replicate")
    topics = xr.DataArray(
        [random.choice(400, 20, replace=True) for _ in replicate], dims=("replicate", "topic")
    )
    drawn = scores.drop_vars("topic").isel(replicate=replicate, topic=topics)
    mean = be.mean_over_topics(drawn, population="topics")
    variance = mean.estimate.var().item()
    assert 0.85 < np.square(mean.standard_error).mean().item() / variance < 1.15
    fixed = be.mean_over_topics(drawn).design_error
    assert np.square(fixed).mean().item() < 0.8 * variance, "the topics vary too"


@pytest.mark.parametrize("population", ["sample", "topics"])
def test_scores_in_chunks_have_the_same_means(population):
    options = {"budget": 20, "n_strata": 4, "random_seed": 5}
    sampled = sample(simulated(6, 1), "uniform_strata", seed=2, **options)
    scores = be.evaluate(sampled, ["P@10", "AP"], estimator="dyn")
    whole, chunked = (
        be.mean_over_topics(one, population=population)
        for one in (scores, scores.chunk({"topic": 4}))
    )
    xr.testing.assert_identical(chunked, whole)


def test_an_option_that_does_not_exist_is_refused():
    scores = be.evaluate(simulated(2, 1), "P@10", estimator="assumed")
    with pytest.raises(ValueError, match="population must be one of sample, topics"):
        be.mean_over_topics(scores, population="world")
    with pytest.raises(ValueError, match="ci_prob must lie between 0 and 1"):
        be.mean_over_topics(scores, ci_prob=90)


def test_what_is_no_score_over_topics_is_refused():
    collection = simulated(4, 1)
    mean = be.mean_over_topics(be.evaluate(collection, "P@10", estimator="assumed"))
    for wrong in (mean, collection, mean["estimate"]):
        with pytest.raises(ValueError, match="scores must have an estimate over topic"):
            be.mean_over_topics(wrong)


def test_the_assumed_estimate_has_no_design_error():
    scores = be.evaluate(simulated(3, 1), "P@10", estimator="assumed")
    mean = be.mean_over_topics(scores)
    assert mean.standard_error.isnull().all() and mean.interval.isnull().all()
    assert be.mean_over_topics(scores, population="topics").standard_error.notnull().all()


def test_an_error_that_topics_share_leaves_no_mean_over_their_population_without_an_error():
    """Covariances below 0 between topics may take away all of the spread over a few."""
    zero = np.zeros((3, 3))
    shared = np.array([[0.02, -0.02, 0.02], [0.0] * 3, [0.0] * 3])[..., None]
    scores = xr.Dataset(
        {
            "estimate": (("run", "topic"), [[0.30, 0.31, 0.30], [0.5, 0.5, 0.5], [0.2, 0.4, 0.9]]),
            "standard_error": (("run", "topic"), zero + 0.03),
            "shared_error": (("run", "topic", "direction"), shared),
            "outside_weight": (("run", "topic"), zero),
        }
    )
    spread = scores.estimate.std("topic", ddof=1) / np.sqrt(3)
    with pytest.warns(UserWarning, match="no error, of 1 of 3 means, the first is"):
        found = be.mean_over_topics(scores, population="topics").standard_error
    np.testing.assert_allclose(found, spread, atol=1e-12)
    together = scores.assign(shared_error=abs(scores.shared_error))
    with pytest.warns(UserWarning, match="no error, of 1 of 3 means"):
        found = be.mean_over_topics(together, population="topics").standard_error
    between = (0.06**2 - 3 * 0.02**2) / 6
    np.testing.assert_allclose(found[0] ** 2, spread[0] ** 2 + between)


def test_the_error_of_a_mean_is_that_of_its_scores_by_hand():
    r"""The larger of V and (df V + 10 A) / (df + 10), V of the design and of what topics share."""
    random = np.random.default_rng(2)
    dims, shape = ("run", "topic"), (3, 8)
    variance, freedom = random.uniform(0.01, 0.04, shape), random.uniform(1.0, 9.0, shape)
    factor = np.array([[0.2], [1.5], [0.0]])  # of the last run nothing is anticipated
    anticipated = factor * random.uniform(0.01, 0.04, shape)
    shared = 0.03 * random.normal(size=(*shape, 2))
    single = (freedom * variance + 10 * anticipated) / (freedom + 10)
    mixed, total = with_anticipated(
        *(xr.DataArray(values, dims=dims) for values in (variance, freedom, anticipated))
    )
    np.testing.assert_allclose(mixed, np.where(factor > 0, single, variance))
    np.testing.assert_allclose(total, freedom + np.where(factor > 0, 10, 0))
    scores = xr.Dataset(
        {
            "estimate": (dims, random.random(shape)),
            "standard_error": mixed**0.5,
            "degrees_of_freedom": total,
            "design_error": (dims, variance**0.5),
            "shared_error": ((*dims, "direction"), shared),
            "outside_weight": (dims, np.zeros(shape)),
        }
    )
    # a score's own variance holds its part of the shared one already
    between = (shared.sum(axis=1) ** 2).sum(axis=-1) - (shared**2).sum(axis=(1, 2))
    design = variance.sum(axis=1) + between
    df = design**2 / (variance**2 / freedom).sum(axis=1)
    both = (df * design + 10 * anticipated.sum(axis=1)) / (df + 10)
    expected = np.where(factor[:, 0] > 0, np.maximum(design, both), design)
    mean = be.mean_over_topics(scores)
    np.testing.assert_allclose(mean.design_error**2, design / 8**2)
    np.testing.assert_allclose(mean.standard_error**2, expected / 8**2)
    assert mean.design_error[0] == mean.standard_error[0] and expected[1] > design[1]
    larger = np.where(factor[:, 0] > 0, np.maximum(df, 10), df)
    np.testing.assert_allclose(mean.degrees_of_freedom, larger)
    half = scipy.stats.t.ppf(0.95, larger) * mean.standard_error
    np.testing.assert_allclose(mean.interval.sel(ci_bound="upper") - mean.estimate, half)
    there = be.mean_over_topics(scores, population="topics")
    xr.testing.assert_equal(there.design_error, mean.design_error)


def test_the_error_of_a_mean_is_that_of_the_scores_of_a_sample():
    """The anticipated variances are those in the errors of single scores."""
    scores = be.evaluate(sample(simulated(6, 1), budget=20, n_strata=4), "P@10", estimator="dyn")
    errors = scores.standard_error, scores.design_error, scores.degrees_of_freedom
    anticipated, variance = anticipated_part(*errors), errors[1] ** 2
    design, df = variance.sum("topic"), degrees_of_freedom(
        variance.sum("topic"), (variance**2 / (errors[2] - 10)).sum("topic")
    )  # fmt: skip
    both = (df * design + 10 * anticipated.sum("topic")) / (df + 10)
    mean = be.mean_over_topics(scores)
    xr.testing.assert_allclose(mean.standard_error**2, xr.ufuncs.maximum(design, both) / 36)
    xr.testing.assert_allclose(mean.design_error**2, design / 36)


def test_means_of_topics_that_are_all_alike_are_told():
    """Three of three queries with the answer at the top, or nowhere: an interval of no length."""
    runs = [(run, t, d, -i) for run, order in {"hit": "abc", "miss": "cba"}.items() for t in "123"
            for i, d in enumerate(order)]  # fmt: skip
    runs = pd.DataFrame(runs, columns=["run", "topic", "document", "score"])
    qrels = pd.DataFrame({"topic": list("123"), "document": "a", "grade": 1})
    collection = be.read_collection(qrels, runs)
    with pytest.warns(UserWarning, match="no error, of 4 of 4 means, the first is RR@2 of run hit"):
        mean = be.scores(collection, ["RR@2", "Success@2"])
    assert (mean.standard_error == 0).all()
    qrels.loc[0, "document"] = "b"
    some = be.scores(be.read_collection(qrels, runs), "RR@2")
    assert (some.standard_error > 0).all()
