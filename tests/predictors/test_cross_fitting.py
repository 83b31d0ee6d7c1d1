"""M of a document never sees its own stratum; folds and groups are fixed before the draw."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bayeseval import predictors
from bayeseval.predictors import PREDICTORS, predicted_relevance
from bayeseval.predictors.cross_fitting import folds, held_out_groups, held_out_prevalence
from bayeseval.predictors.registry import needs_column, reads_columns
from tests.predictors.samples import random_sample

COLUMN = {"judge": np.random.default_rng(5).random(1000)}
SPECIFICATIONS = [name for name in PREDICTORS if not needs_column(name)]
SPECIFICATIONS += [(name, "judge") for name in PREDICTORS if reads_columns(name)]


def predict(specification, sample, relevance):
    columns = {"judge": np.where(np.arange(1000) % 7, COLUMN["judge"], np.nan)[: sample.n_pairs]}
    return predicted_relevance(sample, relevance, specification, columns=columns)


@pytest.mark.parametrize("name", PREDICTORS)
def test_a_predictor_is_a_public_name(name):
    assert name in predictors.__all__
    assert getattr(predictors, name) is PREDICTORS[name]


@pytest.mark.parametrize("specification", SPECIFICATIONS, ids=str)
@pytest.mark.parametrize("poisson", [False, True], ids=["stratified", "poisson"])
def test_prediction_never_depends_on_the_sample_of_its_own_stratum(specification, poisson):
    sample, relevance = random_sample(poisson=poisson, random_seed=3)
    before = predict(specification, sample, relevance)
    group = held_out_groups(sample)
    changed_elsewhere = False
    for number in range(0, group.max() + 1, 3):
        inside = group == number
        selected, flipped = sample.selected.copy(), relevance.copy()
        selected[:, inside] = ~selected[:, inside]
        flipped[:, inside] = np.where(selected[:, inside], 1 - relevance[:, inside], 0.0)
        after = predict(specification, replace(sample, selected=selected), flipped)
        np.testing.assert_array_equal(after[:, inside], before[:, inside])
        changed_elsewhere |= not np.array_equal(after, before)
    assert changed_elsewhere


@pytest.mark.parametrize("specification", SPECIFICATIONS, ids=str)
@settings(max_examples=15, deadline=None)
@given(
    random_seed=st.integers(0, 10_000),
    n_topics=st.integers(1, 4),
    n_strata=st.integers(1, 7),
    n_runs=st.integers(0, 3),
    rate=st.sampled_from([0.1, 0.5, 1.0]),
    share=st.sampled_from([0.0, 0.3, 1.0]),
    poisson=st.booleans(),
)
def test_predictions_are_probabilities_for_any_small_collection(
    specification, random_seed, n_topics, n_strata, n_runs, rate, share, poisson
):
    sample, _ = random_sample(
        n_topics=n_topics,
        n_strata=n_strata,
        n_runs=n_runs,
        rate=rate,
        poisson=poisson,
        random_seed=random_seed,
    )
    relevant = np.random.default_rng(random_seed).random(sample.n_pairs) < share
    predicted = predict(specification, sample, np.where(sample.selected, relevant, 0.0))
    assert predicted.shape == sample.selected.shape
    assert np.all((predicted >= 0) & (predicted <= 1))


@pytest.mark.parametrize("specification", SPECIFICATIONS, ids=str)
def test_order_of_the_runs_changes_no_digit(specification):
    sample, relevance = random_sample(n_runs=4)
    shuffled = replace(sample, run_rank=sample.run_rank[:, [2, 0, 3, 1]])
    np.testing.assert_array_equal(
        predict(specification, sample, relevance), predict(specification, shuffled, relevance)
    )


@pytest.mark.parametrize("specification", SPECIFICATIONS, ids=str)
def test_a_replicate_is_predicted_as_if_it_were_alone(specification):
    sample, relevance = random_sample(n_replicates=5)
    together = predict(specification, sample, relevance)
    alone = predict(specification, replace(sample, selected=sample.selected[2:3]), relevance[2:3])
    np.testing.assert_array_equal(alone[0], together[2])


@pytest.mark.parametrize("poisson", [False, True])
def test_groups_and_folds_are_fixed_before_the_draw_and_keep_strata_whole(poisson):
    sample, _ = random_sample(poisson=poisson, n_topics=3, n_strata=9)
    group, fold = held_out_groups(sample), folds(sample, 5)
    emptied = replace(sample, selected=np.zeros_like(sample.selected))
    np.testing.assert_array_equal(group, held_out_groups(emptied))
    np.testing.assert_array_equal(fold, folds(emptied, 5))
    assert set(np.unique(group)) == set(range(group.max() + 1))
    for number in range(group.max() + 1):
        assert np.unique(sample.topic[group == number]).size == 1
        assert np.unique(fold[group == number]).size == 1
        if not poisson:
            assert np.unique(sample.stratum[group == number]).size == 1
    assert set(np.unique(fold)) == set(range(5))


def test_held_out_prevalence_by_hand():
    sample, _ = random_sample(n_topics=1, n_strata=3, n_replicates=1)
    relevance = np.where(sample.selected, (sample.stratum == 2).astype(float), 0.0)
    sizes = np.bincount(sample.stratum)
    expected = np.array([sizes[2] / (sizes[1] + sizes[2]), sizes[2] / (sizes[0] + sizes[2]), 0.0])
    np.testing.assert_allclose(
        held_out_prevalence(sample, relevance)[0], expected[sample.stratum], atol=1e-12
    )
