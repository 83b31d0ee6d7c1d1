"""The papers' predictor: calibration equation, agreement with scikit-learn, degenerate training."""

from dataclasses import replace

import numpy as np
from scipy.special import expit, logit
from sklearn.linear_model import LogisticRegression

from bayeseval.predictors import rank_logistic
from bayeseval.predictors.cross_fitting import RIDGE, held_out_groups
from tests.predictors.samples import random_sample


def fit_outside(sample, relevance, topic, inside):
    """Intercept and slope by scikit-learn from the topic's judged pairs outside a group."""
    training = sample.selected[0] & (sample.topic == topic) & ~inside
    x = np.log(sample.fused_rank[training].astype(float))
    model = LogisticRegression(C=1 / RIDGE, tol=1e-10, max_iter=1000)
    model.fit((x - x.mean())[:, None], relevance[0, training])
    return float(model.intercept_[0] - model.coef_[0, 0] * x.mean()), float(model.coef_[0, 0])


def test_slope_agrees_with_scikit_learn_and_the_offset_solves_the_calibration():
    sample, relevance = random_sample(n_topics=2, n_strata=8, n_replicates=1, random_seed=4)
    predicted = rank_logistic(sample, relevance)[0]
    group = held_out_groups(sample)
    for number in range(group.max() + 1):
        inside = group == number
        topic = sample.topic[inside][0]
        intercept, slope = fit_outside(sample, relevance, topic, inside)
        score = intercept + slope * np.log(sample.fused_rank.astype(float))
        offset = logit(predicted[inside]) - score[inside]
        np.testing.assert_allclose(offset, offset[0], atol=1e-5)
        outside = (sample.topic == topic) & ~inside
        target = (relevance[0] / sample.inclusion_probability)[outside].sum()
        first = np.flatnonzero(inside)[0]
        exact = logit(predicted[first]) - slope * np.log(sample.fused_rank[first])
        total = expit(exact + slope * np.log(sample.fused_rank[outside])).sum()
        np.testing.assert_allclose(total, target, rtol=1e-5)


def test_calibration_equation_holds_to_1e_8():
    """The line through two predictions of a held-out stratum gives all others outside it."""
    sample, relevance = random_sample(n_topics=3, n_strata=7, random_seed=8)
    predicted = rank_logistic(sample, relevance)
    group, x = held_out_groups(sample), np.log(sample.fused_rank.astype(float))
    for replicate in range(sample.n_replicates):
        for number in range(group.max() + 1):
            inside = np.flatnonzero(group == number)
            first, last = inside[np.argmin(x[inside])], inside[np.argmax(x[inside])]
            ends = logit(predicted[replicate, [first, last]])
            slope = (ends[1] - ends[0]) / (x[last] - x[first])
            outside = (sample.topic == sample.topic[first]) & (group != number)
            total = expit(ends[0] + slope * (x[outside] - x[first])).sum()
            expanded = relevance[replicate] / sample.inclusion_probability
            np.testing.assert_allclose(total, expanded[outside].sum(), rtol=1e-8)


def test_nothing_relevant_gives_zero_and_everything_relevant_gives_one():
    sample, _ = random_sample()
    np.testing.assert_array_equal(rank_logistic(sample, np.zeros(sample.selected.shape)), 0.0)
    np.testing.assert_array_equal(rank_logistic(sample, sample.selected.astype(float)), 1.0)


def test_relevant_in_one_stratum_only_leaves_that_stratum_without_prediction():
    sample, _ = random_sample(n_topics=1, n_strata=5, n_replicates=1)
    relevance = np.where(sample.selected & (sample.stratum == 0), 1.0, 0.0)
    predicted = rank_logistic(sample, relevance)[0]
    np.testing.assert_array_equal(predicted[sample.stratum == 0], 0.0)
    assert np.all(predicted[sample.stratum != 0] > 0)


def test_rank_that_separates_the_relevant_gives_a_steep_but_finite_curve():
    sample, _ = random_sample(n_topics=1, n_strata=8, n_replicates=1)
    relevance = np.where(sample.selected & (sample.fused_rank <= 12), 1.0, 0.0)
    predicted = rank_logistic(sample, relevance)[0]
    assert np.all(np.isfinite(predicted))
    assert predicted[sample.fused_rank <= 5].min() > 0.9
    assert predicted[sample.fused_rank >= 25].max() < 0.1


def test_topics_without_frame_pairs_do_no_harm():
    sample, relevance = random_sample(n_topics=2)
    start = np.array([0, 0, sample.start[1], sample.start[1], sample.start[2], sample.start[2]])
    topic = np.where(sample.topic == 0, 1, 3).astype(np.int32)
    spread = replace(sample, start=start, topic=topic)
    np.testing.assert_array_equal(
        rank_logistic(spread, relevance), rank_logistic(sample, relevance)
    )
