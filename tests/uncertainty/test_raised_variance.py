"""Variances that the predictions lead one to expect."""

import itertools

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import bayeseval as be
from bayeseval.estimators.relevance import FilledRelevance
from bayeseval.estimators.scoring import gain_variance
from bayeseval.uncertainty import raised_variance
from tests.small import every_stratified_sample

CHANCE = np.array([1.0, 0.7, 0.4, 0.0, 0.2, 0.0, 0.3, 0.1])
ORDER = [2, 0, 1, 6, 4, 7, 5, 3]


def world(relevant) -> xr.DataTree:
    """One topic of 8 documents with these grades, and the probabilities that they came from."""
    documents = [f"d{i}" for i in range(8)]
    qrels = pd.DataFrame({"topic": "1", "document": documents, "grade": relevant})
    run = pd.DataFrame({"run": "a", "topic": "1", "document": [documents[i] for i in ORDER]})
    collection = be.read_collection(qrels, run.assign(score=-np.arange(8.0)))
    place = [int(name[1:]) for name in collection["document"].to_numpy().astype(str)]
    column = xr.Dataset({"chance": ("pair", CHANCE[place])})
    collection["predictors"] = xr.DataTree(column)
    return collection


def test_the_anticipated_variance_is_the_mean_design_variance_of_all_worlds():
    """Exact: every world that the predictions allow, and every sample in each."""
    measures, how = ["P@3", "RBP(p=0.8)", "NumRel"], {"predictor": ("external", "chance")}
    open_ones = np.flatnonzero((CHANCE > 0) & (CHANCE < 1))
    expected, anticipated = 0.0, None
    for answer in itertools.product([0, 1], repeat=open_ones.size):
        relevant = (CHANCE == 1).astype(int)
        relevant[open_ones] = answer
        p = CHANCE[open_ones]
        weight = np.prod(np.where(np.array(answer) == 1, p, 1 - p))
        collection = world(relevant)
        design = be.designs.pps_strata(collection, budget=5, n_strata=2)
        sampled = be.reveal(collection, design, every_stratified_sample(design))
        scores = be.evaluate(sampled, measures, estimator="dyn", **how)
        expected = expected + weight * scores.estimate.var("replicate", ddof=0)
        anticipated = scores.anticipated_error.isel(replicate=0) ** 2
    xr.testing.assert_allclose(expected, anticipated, rtol=1e-12)


def test_the_variance_of_a_gain_is_that_of_its_grades():
    random = np.random.default_rng(2)
    steps = [1.0, 2.0, 4.0]
    above = np.sort(random.uniform(size=(3, 1, 5)), axis=0)[::-1]  # P(grade >= 1, 2, 3)
    levels = [
        (step, FilledRelevance(np.zeros((5, 1)), np.zeros((1, 0)), np.zeros(1), chance))
        for step, chance in zip(steps, above, strict=True)
    ]
    gains = np.array([0.0, 1.0, 3.0, 7.0])
    share = -np.diff(above[:, 0], axis=0, prepend=1.0, append=0.0)  # of each grade
    mean = gains @ share
    exact = gains**2 @ share - mean**2
    np.testing.assert_allclose(gain_variance(levels)[:, 0], exact, rtol=1e-12)


def test_a_ratio_is_anticipated_by_its_numerator():
    collection = world([1, 1, 0, 0, 0, 0, 1, 0])
    design = be.designs.pps_strata(collection, budget=5, n_strata=2)
    sampled = be.reveal(collection, design, be.draw(design, random_seed=1))
    how = {"predictor": ("external", "chance"), "estimator_options": {"denominator": "topic"}}
    scores = be.evaluate(sampled, ["R@3", "P@3", "NumRel", "AP"], estimator="dyn", **how)
    number = max(scores.estimate.sel(measure="NumRel").item(), 1.0)
    error = scores.anticipated_error.isel(run=0, topic=0)
    assert error.sel(measure="R@3") == pytest.approx(3 * error.sel(measure="P@3") / number)
    assert np.isnan(error.sel(measure="AP"))


def test_a_sample_without_surprises_is_no_certainty():
    """All that was drawn is as predicted or not relevant: V is 0, and the interval is not."""
    collection = world([1, 0, 0, 0, 0, 0, 0, 0])
    design = be.designs.pps_strata(collection, budget=4, n_strata=2)
    for estimator, predictor in (("dyn", "constant"), ("stat", None)):
        for seed in range(40):
            sampled = be.reveal(collection, design, be.draw(design, random_seed=seed))
            scores = be.evaluate(sampled, "P@8", estimator=estimator, predictor=predictor)
            if scores.standard_error.item() == 0:
                break
        mean = be.mean_over_topics(scores)
        assert mean.standard_error.item() == 0
        for found in (scores, mean):
            assert found.interval.diff("ci_bound").item() > 0.02, estimator


def test_the_variance_is_raised_by_its_degrees_of_freedom_and_never_lowered():
    numbers = [(1.0, 10.0, 3.0), (1.0, 10.0, 0.5), (1.0, np.inf, 3.0), (0.0, np.inf, 2.0)]
    columns = [xr.DataArray(list(v), dims="x") for v in zip(*numbers, strict=True)]
    variance, freedom = raised_variance(*columns)
    np.testing.assert_allclose(variance, [2.0, 1.0, 1.0, 2.0])
    np.testing.assert_allclose(freedom, [10.0, 10.0, np.inf, 10.0])


def test_complete_samples_and_probabilities_of_0_and_1_anticipate_nothing():
    collection = world([1, 0, 0, 0, 0, 0, 1, 0])
    whole = be.designs.pps_strata(collection, budget=8, n_strata=2)
    sampled = be.reveal(collection, whole, be.draw(whole, random_seed=1))
    scores = be.evaluate(sampled, ["P@3", "nDCG@3"], estimator="dyn")
    np.testing.assert_array_equal(scores.anticipated_error, 0.0)
    assert scores.interval.diff("ci_bound").max() == 0
