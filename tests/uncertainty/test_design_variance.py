"""Design variances: collapsed strata, degrees of freedom, intervals."""

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import bayeseval as be
from bayeseval.uncertainty import degrees_of_freedom, interval
from bayeseval.uncertainty.centred import centred
from bayeseval.uncertainty.slots import collapsed_strata
from tests.small import every_stratified_sample, sample, small_collection


@pytest.mark.parametrize(
    ("stratum", "probability", "expected"),
    [
        ([0, 0, 1, 1], [0.5] * 4, [0, 0, 1, 1]),
        ([0, 1, 2], [0.5] * 3, [1, 1, 1]),
        ([0, 1, 2, 3], [0.5] * 4, [1, 1, 3, 3]),
        ([0, 1, 1, 2], [1.0, 0.5, 0.5, 0.1], [0, 1, 1, 1]),
        ([0, 0, 1], [1.0, 1.0, 0.5], [0, 0, 1]),
        ([-1, -1], [0.5, 0.5], [-1, -1]),
    ],
)
def test_lone_documents_are_joined_with_a_neighbour(stratum, probability, expected):
    group = collapsed_strata(np.array(stratum), np.array(probability))
    np.testing.assert_array_equal(group, expected)


def test_a_lone_document_without_a_neighbour_has_no_variance_estimate():
    one = np.ones((1, 1, 1))
    assert np.isnan(centred(one, np.array([[0.5]]), np.array([[3]]))).all()
    assert (centred(one, np.array([[1.0]]), np.array([[3]])) == 0).all()


def test_deviations_give_the_textbook_variance_of_a_stratified_total():
    random = np.random.default_rng(1)
    size, drawn = np.array([7, 12]), np.array([3, 4])
    group = np.repeat([0, 1], drawn)
    value = random.normal(size=drawn.sum())
    probability = (drawn / size)[group]
    deviation = centred((value / probability)[None, None], probability[None], group[None])[0, 0]
    textbook = sum(
        n_pop**2 * (1 - n / n_pop) * value[group == h].var(ddof=1) / n
        for h, (n_pop, n) in enumerate(zip(size, drawn, strict=True))
    )
    assert (deviation**2).sum() == pytest.approx(textbook, rel=1e-13)


def test_collapsed_variances_are_not_too_small_on_average():
    collection = small_collection()
    design = be.designs.uniform_strata(collection, budget=3, n_strata=3, random_seed=1)
    sampled = be.reveal(collection, design, every_stratified_sample(design))
    measures = ["P@5", "RBP(p=0.8)", "NumRel"]
    scores = be.evaluate(sampled, measures, estimator="stat")
    exact = scores.estimate.var("replicate", ddof=0)
    expected = (scores.design_error**2).mean("replicate")
    assert float(expected.sum() / exact.sum()) > 0.95
    assert (expected >= 0.6 * exact).all()


def test_an_interval_is_central_and_widens_with_few_degrees_of_freedom():
    estimate, error = xr.DataArray([0.5, 0.5], dims="run"), xr.DataArray([0.1, 0.1], dims="run")
    df = xr.DataArray([np.inf, 2.0], dims="run")
    bounds = interval(estimate, error, ci_prob=0.9, degrees_of_freedom=df)
    half = (bounds.sel(ci_bound="upper") - 0.5).to_numpy()
    np.testing.assert_allclose(half, [0.16448536, 0.29199856], rtol=1e-7)
    np.testing.assert_allclose(bounds.mean("ci_bound"), 0.5)
    assert bounds.dims == ("run", "ci_bound")


def test_strata_are_joined_across_one_that_was_judged_in_full():
    documents = [f"d{i:02d}" for i in range(12)]
    run = pd.DataFrame({"run": "a", "document": documents, "score": range(12, 0, -1)})
    runs = pd.concat([run.assign(topic=topic) for topic in "12"])
    qrels = pd.DataFrame(
        {"document": documents, "grade": [1, 0, -1, -1, 1, 0, 0, 0, -1, -1, -1, -1]}
    )

    def errors(strata):
        given = pd.concat([qrels.assign(topic=topic, stratum=strata) for topic in "12"])
        sampled = be.read_collection(given, runs, qrels_format="sampleval")
        scores = be.evaluate(sampled, ["P@10", "AP"], estimator="stat", denominator="topic")
        return scores.design_error

    between = errors([1] * 4 + [2] * 3 + [3] * 5)
    first = errors([2] * 4 + [1] * 3 + [3] * 5)
    assert (between > 0).all()
    xr.testing.assert_allclose(between, first, rtol=1e-12)


def test_equal_strata_have_the_sum_of_their_degrees_of_freedom():
    """With normal values and H strata of n draws the mean df is near H (n - 1), from below."""
    truth = be.simulate.urn_collection(
        [0.3], n_topics=60, n_documents=400, n_relevant=200, depth=400, random_seed=1
    )
    sampled = sample(truth, "uniform_strata", budget=80, n_strata=8, random_seed=1, seed=2)
    scores = be.evaluate(sampled, "NumRel", estimator="stat")
    df = scores.degrees_of_freedom.to_numpy() - 10  # of the anticipated variance
    assert 60 < df.mean() < 72 and df.max() <= 8 * 9 + 1e-9
    mean = be.mean_over_topics(scores)
    variance = scores.design_error.to_numpy() ** 2
    expected = variance.sum() ** 2 / (variance**2 / df).sum()
    assert mean.degrees_of_freedom.item() == pytest.approx(expected)


def test_a_census_has_no_spread_and_two_per_stratum_little_to_go_by():
    collection = small_collection()
    scores = be.evaluate(sample(collection, budget=9, n_strata=3), ["P@3", "AP"], estimator="stat")
    assert np.isinf(scores.degrees_of_freedom).all()
    sampled = sample(collection, "uniform_strata", budget=4, n_strata=2, random_seed=1, seed=4)
    options = {"estimator": "dyn", "predictor": "constant", "denominator": "topic"}
    scores = be.evaluate(sampled, "AP", **options)  # nothing is anticipated
    few = scores.degrees_of_freedom <= 2 + 1e-9
    half = scores.interval.sel(ci_bound="upper") - scores.estimate
    assert few.any() and (scores.degrees_of_freedom >= 1).all()
    assert (half >= 2.9 * scores.standard_error - 1e-12).where(few, True).all(), "t with two"


def test_a_spread_of_rounding_alone_is_none():
    df = degrees_of_freedom(np.array([1e-2, 1e-2, 1e-34]), np.array([1e-64, 1e-5, 1e-68]))
    assert df.tolist() == [np.inf, pytest.approx(10.0), pytest.approx(1.0)]
