"""The pooled predictor."""

import tracemalloc
from dataclasses import replace

import numpy as np

from bayeseval.frame.features import RankFeatures, component_directions
from bayeseval.predictors import pooled
from bayeseval.predictors.pooled import value_features
from tests.predictors.samples import random_sample


def test_a_reliable_run_is_believed_and_a_random_one_is_not():
    sample, relevance = random_sample(n_topics=12, n_replicates=1, n_runs=0, random_seed=2)
    rng = np.random.default_rng(0)
    truth = rng.random(sample.n_pairs) < 0.4
    good = np.where(truth, rng.integers(1, 10, sample.n_pairs), 0)
    bad = rng.integers(0, 40, sample.n_pairs)
    runs = replace(sample, run_rank=np.column_stack([good, bad]).astype(np.int32))
    predicted = pooled(runs, np.where(sample.selected, truth, 0.0))[0]
    assert predicted[truth].mean() > 0.75
    assert predicted[~truth].mean() < 0.2


def test_no_relevant_document_at_all_gives_small_predictions():
    sample, _ = random_sample(n_topics=3, n_strata=20, n_runs=2)
    assert pooled(sample, np.zeros(sample.selected.shape)).max() < 0.05


def test_a_topic_with_one_stratum_and_nothing_else_gives_zero():
    sample, relevance = random_sample(n_topics=1, n_strata=1)
    np.testing.assert_array_equal(pooled(sample, relevance), 0.0)


def test_external_values_are_learned_from():
    sample, _ = random_sample(n_topics=8, n_runs=0, n_replicates=1, random_seed=5)
    truth = np.random.default_rng(3).random(sample.n_pairs) < 0.5
    values = truth + np.random.default_rng(4).normal(0, 0.2, sample.n_pairs)
    relevance = np.where(sample.selected, truth, 0.0)
    without = np.abs(pooled(sample, relevance) - truth).mean()
    assert np.abs(pooled(sample, relevance, values=values) - truth).mean() < without / 2


def test_run_features_fall_from_one_to_zero_and_are_zero_where_not_retrieved():
    sample, _ = random_sample(n_topics=1)
    ranked = replace(sample, run_rank=np.arange(sample.n_pairs, dtype=np.int32)[:, None])
    features = RankFeatures.of(ranked, 3).runs(slice(None))[:, 0]
    assert features[0] == 0.0
    assert features[1] == 1.0
    assert np.all(np.diff(features[1:]) < 0)
    assert features[-1] > 0


def test_value_features_are_labels_when_few_and_numbers_when_many():
    few = value_features(np.array([1.0, np.nan, 3.0, 1.0]))(slice(None))
    np.testing.assert_array_equal(few, [[1, 0], [0, 0], [0, 1], [1, 0]])
    many = value_features(np.append(np.arange(30.0), np.nan))(slice(None))
    np.testing.assert_allclose(many[:30, 0].std(), 1.0)
    np.testing.assert_array_equal(many[30], [0.0, 0.0, 1.0])


def test_best_ranks_count_what_is_not_retrieved_as_one_below_the_deepest():
    sample, _ = random_sample(n_topics=1, n_runs=0)
    ranks = np.zeros((sample.n_pairs, 3), np.int32)
    ranks[:2] = [[7, 3, 9], [0, 5, 0]]
    features = RankFeatures.of(replace(sample, run_rank=ranks), 3)
    features = np.exp(features.best_ranks(slice(None)))
    ratios = features / features[2]
    np.testing.assert_allclose(ratios[:2], [[3 / 10, 7 / 10], [5 / 10, 1.0]])


def test_components_are_where_runs_disagree():
    rng = np.random.default_rng(7)
    common, split = rng.normal(size=(2, 500)) * [[1.0], [0.3]]
    runs = np.column_stack([common + split, common + split, common - split, common - split])
    covariance = np.cov(runs.T)
    (direction,) = component_directions(covariance, 1).T
    assert abs(np.corrcoef(runs @ direction, split)[0, 1]) > 0.99
    assert component_directions(covariance, 9).shape == (4, 1)  # along the others nothing varies
    assert component_directions(covariance[:1, :1], 3).shape == (1, 0)
    assert component_directions(covariance[:0, :0], 3).shape == (0, 0)


def test_predictions_by_blocks_of_topics_are_those_of_all_at_once(monkeypatch):
    sample, relevance = random_sample(n_topics=7, n_runs=3, random_seed=6)
    values = np.random.default_rng(1).random(sample.n_pairs)
    whole = pooled(sample, relevance, values=values)
    monkeypatch.setattr("bayeseval.frame.sample.CELLS", 40)
    assert len(list(sample.blocks())) > 7
    np.testing.assert_allclose(pooled(sample, relevance, values=values), whole, atol=1e-13)


def test_features_of_all_documents_are_never_in_memory_at_once(monkeypatch):
    sample, relevance = random_sample(n_topics=200, n_runs=40, n_replicates=1, random_seed=3)
    few = np.random.default_rng(0).random(sample.n_pairs) < 0.05
    sample = replace(sample, selected=sample.selected & few)
    peak = {}
    for cells in (4000, 10**9):
        monkeypatch.setattr("bayeseval.frame.sample.CELLS", cells)
        pooled(sample, relevance)  # imports
        tracemalloc.start()
        pooled(sample, relevance)
        peak[cells] = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert 2 * peak[4000] < peak[10**9]
