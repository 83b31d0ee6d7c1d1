"""Adjusted p values: against definitions written out, and loops."""

import numpy as np
import pytest
import scipy.stats
from statsmodels.stats.multitest import multipletests

from bayeseval.significance import (
    holm,
    permuted_maximum,
    share_at_least,
    student_p,
    tukey_randomised,
)


def holm_by_definition(p):
    """The smallest level at which the step-down rejects each hypothesis."""
    order = np.argsort(p)
    adjusted = np.empty(len(p))
    highest = 0.0
    for step, index in enumerate(order):
        highest = max(highest, min(1.0, (len(p) - step) * p[index]))
        adjusted[index] = highest
    return adjusted


def test_holm_is_its_definition_and_leaves_unknown_values_out():
    random = np.random.default_rng(1)
    p = random.uniform(size=(3, 12)) ** 3
    np.testing.assert_allclose(holm(p), [holm_by_definition(row) for row in p], atol=1e-15)
    gaps = p.copy()
    gaps[:, [2, 7]] = np.nan
    expected = holm_by_definition(np.delete(gaps[0], [2, 7]))
    np.testing.assert_allclose(np.delete(holm(gaps)[0], [2, 7]), expected, atol=1e-15)
    assert np.isnan(holm(gaps)[:, [2, 7]]).all()


def test_holm_is_statsmodels():
    p = np.random.default_rng(2).uniform(size=40) ** 4
    p[[3, 17]] = p[5]  # ties
    expected = multipletests(p, method="holm")[1]
    np.testing.assert_allclose(holm(p), expected, atol=1e-15)


def test_students_p_is_scipys_and_exact_differences_are_sure():
    random = np.random.default_rng(3)
    one, two = random.normal(size=(2, 15))
    difference = one - two
    error = difference.std(ddof=1) / np.sqrt(15)
    found = student_p(np.array([difference.mean()]), np.array([error]), np.array([14.0]))
    assert found.item() == pytest.approx(scipy.stats.ttest_rel(one, two).pvalue, abs=1e-14)
    exact = student_p(np.array([0.1, 0.0]), np.zeros(2), np.array([np.inf, np.nan]))
    assert exact.tolist() == [0.0, 1.0]
    assert np.isnan(student_p(np.array([0.1]), np.array([np.nan]), np.array([np.nan]))).all()


@pytest.mark.parametrize("reference", [False, True])
def test_the_randomised_test_is_a_loop_over_permutations(reference):
    random = np.random.default_rng(4)
    scores = np.array([0.3, 0.35, 0.5]) + 0.2 * random.normal(size=(8, 3))
    pairs = np.triu_indices(3, k=1)
    if reference:
        pairs = np.array([0, 1]), np.array([2, 2])
    found = tukey_randomised(scores, pairs, n_permutations=199, random=np.random.default_rng(7))
    # the same permutations, one at a time
    loop = np.random.default_rng(7)
    exceed = np.ones(pairs[0].size)
    for _ in range(199):
        mean = np.array([loop.permuted(topic) for topic in scores]).mean(axis=0)
        largest = max(abs(mean[a] - mean[b]) for a, b in zip(*pairs, strict=True))
        observed = np.abs((scores[:, pairs[0]] - scores[:, pairs[1]]).mean(axis=0))
        exceed += largest >= observed - 1e-10
    np.testing.assert_allclose(found, exceed / 200, atol=1e-15)


def test_chunks_of_permutations_are_the_same_permutations(monkeypatch):
    scores = np.random.default_rng(5).normal(size=(6, 4))
    pairs = np.triu_indices(4, k=1)
    whole = permuted_maximum(scores, pairs, n_permutations=50, random=np.random.default_rng(1))
    monkeypatch.setattr("bayeseval.significance.CHUNK", 100)
    parts = permuted_maximum(scores, pairs, n_permutations=50, random=np.random.default_rng(1))
    np.testing.assert_array_equal(whole, parts)


def test_the_randomised_test_of_two_runs_is_the_sign_test_of_all_flips():
    scores = np.random.default_rng(6).normal(size=(7, 2)) + [0.0, 0.6]
    difference = scores[:, 0] - scores[:, 1]
    flips = np.array(np.meshgrid(*[[-1, 1]] * 7)).reshape(7, -1).T
    exact = (np.abs(flips @ difference) >= abs(difference.sum()) - 1e-9).mean()
    pairs = np.array([0]), np.array([1])
    found = tukey_randomised(scores, pairs, n_permutations=20_000, random=np.random.default_rng(2))
    assert found.item() == pytest.approx(exact, abs=4 * np.sqrt(exact * (1 - exact) / 20_000))


def test_the_normal_adjustment_of_independent_runs_is_the_studentised_range():
    random = np.random.default_rng(8)
    errors = random.normal(size=(40_000, 4))
    first, second = np.triu_indices(4, k=1)
    largest = np.abs(errors[:, first] - errors[:, second]).max(axis=1) / np.sqrt(2)
    found = share_at_least(np.array([2.0, 2.6, np.nan]), largest)
    expected = scipy.stats.studentized_range.sf(np.array([2.0, 2.6]) * np.sqrt(2), 4, np.inf)
    np.testing.assert_allclose(found[:2], expected, atol=0.008)
    assert np.isnan(found[2])
