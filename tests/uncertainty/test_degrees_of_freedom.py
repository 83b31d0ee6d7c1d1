"""Degrees of freedom of design variances."""

import numpy as np
import pytest

import bayeseval as be
from bayeseval.uncertainty import degrees_of_freedom
from tests.small import small_collection


def test_equal_strata_have_the_sum_of_their_degrees_of_freedom():
    """With normal values and H strata of n draws the mean df is near H (n - 1), from below."""
    odds = [0.3]
    truth = be.simulate.urn_collection(
        odds, n_topics=60, n_documents=400, n_relevant=200, depth=400, random_seed=1
    )
    design = be.designs.uniform_strata(truth, budget=80, n_strata=8, random_seed=1)
    sampled = be.reveal(truth, design, be.draw(design, random_seed=2))
    scores = be.evaluate(sampled, "NumRel", estimator="stat")
    df = scores.degrees_of_freedom.to_numpy()
    assert 60 < df.mean() < 72 and df.max() <= 8 * 9 + 1e-9
    mean = be.mean_over_topics(scores)
    variance = scores.standard_error.to_numpy() ** 2
    expected = variance.sum() ** 2 / (variance**2 / df).sum()
    assert mean.degrees_of_freedom.item() == pytest.approx(expected)


def test_a_census_has_no_spread_and_two_per_stratum_little_to_go_by():
    collection = small_collection()
    whole = be.designs.pps_strata(collection, budget=9, n_strata=3)
    sampled = be.reveal(collection, whole, be.draw(whole, random_seed=1))
    scores = be.evaluate(sampled, ["P@3", "AP"], estimator="stat")
    assert np.isinf(scores.degrees_of_freedom).all()
    design = be.designs.uniform_strata(collection, budget=4, n_strata=2, random_seed=1)
    sampled = be.reveal(collection, design, be.draw(design, random_seed=4))
    scores = be.evaluate(sampled, "P@5", estimator="stat")
    known = scores.standard_error > 0
    assert (
        ((scores.degrees_of_freedom >= 1) & (scores.degrees_of_freedom <= 2 + 1e-9))
        .where(known, True)
        .all()
    )
    half = scores.interval.sel(ci_bound="upper") - scores.estimate
    assert (half >= 1.81 * scores.standard_error - 1e-12).all(), "t with ten degrees of freedom"
    options = {"predictor": "constant", "estimator_options": {"denominator": "topic"}}
    scores = be.evaluate(sampled, "AP", estimator="dyn", **options)  # nothing is anticipated
    few = scores.degrees_of_freedom <= 2 + 1e-9
    half = scores.interval.sel(ci_bound="upper") - scores.estimate
    assert few.any()
    assert (half >= 2.9 * scores.standard_error - 1e-12).where(few, True).all(), "t with two"


def test_a_spread_of_rounding_alone_is_none():
    df = degrees_of_freedom(np.array([1e-2, 1e-2, 1e-34]), np.array([1e-64, 1e-5, 1e-68]))
    assert df.tolist() == [np.inf, pytest.approx(10.0), pytest.approx(1.0)]
