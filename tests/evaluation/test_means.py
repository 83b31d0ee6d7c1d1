"""Means over topics, for these topics and for their population."""

import numpy as np
import pytest
import xarray as xr

import bayeseval as be


def simulated(n_topics: int, seed: int):
    return be.simulate.urn_collection(
        [0.1, 0.3], n_topics=n_topics, n_documents=200, prevalence=0.1, difficulty_sd=0.8,
        random_seed=seed,
    )  # fmt: skip


def test_the_mean_over_a_population_of_topics_holds_the_design_variance_already():
    """Draw topics and samples anew many times: the variance estimate is right, not doubled."""
    population = simulated(400, 1)
    design = be.designs.uniform_strata(population, budget=60, n_strata=6, random_seed=5)
    scores = be.evaluate(
        be.reveal(population, design, be.draw(design, n_replicates=40, random_seed=2)),
        "P@10",
        estimator="stat",
    ).isel(measure=0, run=0)
    random = np.random.default_rng(3)
    sample = xr.DataArray(np.repeat(np.arange(40), 10), dims="replicate")
    topics = xr.DataArray(
        [random.choice(400, 20, replace=True) for _ in sample], dims=("replicate", "topic")
    )
    drawn = scores.drop_vars("topic").isel(replicate=sample, topic=topics)
    mean = be.mean_over_topics(drawn, population="topics")
    variance = mean.estimate.var().item()
    assert 0.85 < np.square(mean.standard_error).mean().item() / variance < 1.15
    fixed = be.mean_over_topics(drawn).standard_error
    assert np.square(fixed).mean().item() < 0.8 * variance, "the topics vary too"


@pytest.mark.parametrize("population", ["sample", "topics"])
def test_scores_in_chunks_have_the_same_means(population):
    collection = simulated(6, 1)
    design = be.designs.uniform_strata(collection, budget=20, n_strata=4, random_seed=5)
    sampled = be.reveal(collection, design, be.draw(design, random_seed=2))
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
    scores = xr.Dataset(
        {
            "estimate": (("run", "topic"), [[0.30, 0.31, 0.30], [0.5, 0.5, 0.5], [0.2, 0.4, 0.9]]),
            "standard_error": (("run", "topic"), np.full((3, 3), 0.03)),
            "denominator_effect": (("run", "topic"), [[1.0, -1.0, 1.0], [0.0] * 3, [0.0] * 3]),
            "denominator_left": (("run", "topic"), np.zeros((3, 3))),
            "denominator_direction": (("topic", "direction"), np.full((3, 1), 0.02)),
            "outside_weight": (("run", "topic"), np.zeros((3, 3))),
            "limited": (("run", "topic"), np.zeros((3, 3), dtype=bool)),
        }
    )
    spread = scores.estimate.std("topic", ddof=1) / np.sqrt(3)
    found = be.mean_over_topics(scores, population="topics").standard_error
    np.testing.assert_allclose(found, spread, atol=1e-12)
    together = scores.assign(denominator_effect=abs(scores.denominator_effect))
    found = be.mean_over_topics(together, population="topics").standard_error
    between = (0.06**2 - 3 * 0.02**2) / 6
    np.testing.assert_allclose(found[0] ** 2, spread[0] ** 2 + between)
