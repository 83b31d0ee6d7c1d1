"""External predictions as they are and recalibrated; the constant; the registry."""

import subprocess
import sys

import numpy as np
import pytest

from bayeseval.predictors import constant, external, predicted_relevance, recalibrated
from bayeseval.predictors.cross_fitting import held_out_prevalence
from tests.predictors.samples import random_sample


def test_probabilities_are_used_as_they_are():
    sample, relevance = random_sample()
    values = np.random.default_rng(0).random(sample.n_pairs)
    for row in external(sample, relevance, values=values, counted=(2.0, np.inf)):
        np.testing.assert_array_equal(row, values)


def test_grades_count_as_the_measure_counts_them():
    sample, relevance = random_sample(n_topics=1, n_replicates=1)
    values = np.arange(sample.n_pairs) % 5 - 1.0
    predicted = external(sample, relevance, values=values, counted=(1.0, np.inf))[0]
    np.testing.assert_array_equal(predicted, values >= 1)
    predicted = external(sample, relevance, values=values, counted=(1.0,))[0]
    np.testing.assert_array_equal(predicted, values == 1)
    np.testing.assert_array_equal(external(sample, relevance, values=values, counted=()), 0.0)


def test_a_missing_value_becomes_the_prevalence_of_the_topic():
    sample, relevance = random_sample()
    values = np.where(np.arange(sample.n_pairs) % 3, 0.25, np.nan)
    predicted = external(sample, relevance, values=values)
    missing = np.isnan(values)
    np.testing.assert_array_equal(
        predicted[:, missing], held_out_prevalence(sample, relevance)[:, missing]
    )
    np.testing.assert_array_equal(predicted[:, ~missing], 0.25)


@pytest.mark.parametrize("wrong", [-0.5, 1.5])
def test_a_value_that_is_no_probability_is_an_error(wrong):
    sample, relevance = random_sample()
    values = np.full(sample.n_pairs, 0.5)
    values[3] = wrong
    with pytest.raises(ValueError, match=f"holds {wrong}; allowed: probabilities in .0, 1."):
        external(sample, relevance, values=values)


@pytest.mark.parametrize("few_labels", [True, False])
def test_recalibration_repairs_a_score_with_the_wrong_sign_and_scale(few_labels):
    sample, _ = random_sample(n_topics=10, n_replicates=1, random_seed=6)
    rng = np.random.default_rng(1)
    truth = rng.random(sample.n_pairs) < 0.3
    values = 100.0 - 50.0 * truth + (0.0 if few_labels else rng.normal(0, 5, sample.n_pairs))
    predicted = recalibrated(sample, np.where(sample.selected, truth, 0.0), values=values)[0]
    assert predicted[truth].mean() > 0.8
    assert predicted[~truth].mean() < 0.1


def test_recalibration_of_noise_is_about_the_prevalence():
    sample, _ = random_sample(n_topics=10, n_strata=10, n_replicates=1, random_seed=6)
    rng = np.random.default_rng(2)
    truth, values = rng.random(sample.n_pairs) < 0.3, rng.random(sample.n_pairs)
    predicted = recalibrated(sample, np.where(sample.selected, truth, 0.0), values=values)
    assert abs(predicted.mean() - truth.mean()) < 0.08


def test_a_constant_column_and_a_column_of_nothing_are_harmless():
    sample, relevance = random_sample()
    for value in (3.0, np.nan):
        predicted = recalibrated(sample, relevance, values=np.full(sample.n_pairs, value))
        assert np.all((predicted > 0) & (predicted < 1))


def test_infinite_values_are_an_error():
    sample, relevance = random_sample()
    with pytest.raises(ValueError, match="infinite value; allowed: finite or NaN"):
        recalibrated(sample, relevance, values=np.full(sample.n_pairs, np.inf))


def test_constant_outside_zero_to_one_is_an_error():
    sample, relevance = random_sample()
    with pytest.raises(ValueError, match="constant predictor is 1.5; allowed: 0 to 1"):
        constant(sample, relevance, value=1.5)


@pytest.mark.parametrize(
    ("specification", "message"),
    [
        ("bert", "no predictor 'bert'; there are: constant, external, pooled, rank_logistic"),
        ("external", r"needs a column, as \('external', column\); columns of /predictors: 'judge'"),
        (("external", "bert"), "no column 'bert' for predictor 'external'.*'judge'"),
        (("rank_logistic", "judge"), "'rank_logistic' takes no argument, 'judge' was given"),
        (("constant", "judge"), "constant predictor is 'judge'; allowed: a number"),
        (("a", "b", "c"), "is not a name or a pair"),
        (3, "predictor 3 is not a name or a pair"),
    ],
)
def test_a_wrong_specification_is_an_error_that_lists_what_exists(specification, message):
    sample, relevance = random_sample()
    columns = {"judge": np.zeros(sample.n_pairs)}
    with pytest.raises(ValueError, match=message):
        predicted_relevance(sample, relevance, specification, columns=columns)


def test_importing_predictors_loads_neither_numba_nor_scikit_learn():
    code = (
        "import sys, bayeseval.predictors; "
        "print([m for m in ('numba', 'sklearn', 'threadpoolctl') if m in sys.modules])"
    )
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert answer.stdout.strip() == "[]", answer.stderr
