"""Sizes of strata and numbers drawn."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import bayeseval as be
from bayeseval.designs.stratified import (
    allocated,
    equal_sizes,
    exponential_sizes,
    without_lone_draw,
)


@given(n_documents=st.integers(1, 3000), n_strata=st.integers(1, 40), smallest=st.integers(1, 20))
def test_exponential_strata_cover_the_documents_and_grow(n_documents, n_strata, smallest):
    sizes = exponential_sizes(n_documents, n_strata, smallest)
    assert sizes.sum() == n_documents
    assert (sizes > 0).all() and sizes.size <= n_strata
    assert (np.diff(sizes[:-1]) >= 0).all()
    if n_documents > n_strata * smallest:
        assert sizes.size == n_strata and sizes[0] == smallest or n_strata == 1


def test_the_growth_rate_is_the_smallest_that_covers():
    sizes = exponential_sizes(100, 4, 5)
    power = np.arange(4)
    growth = np.linspace(0.01, 3, 100001)
    cover = np.floor(5 * (1 + growth[:, None]) ** power).sum(axis=1) >= 100
    least = growth[np.argmax(cover)]
    expected = np.floor(5 * (1 + least) ** power)[:-1]
    np.testing.assert_array_equal(sizes[:-1], expected)
    assert sizes[-1] == 100 - expected.sum()


def test_few_documents_fill_strata_of_the_smallest_size():
    np.testing.assert_array_equal(exponential_sizes(12, 20, 5), [5, 5, 2])


@given(n_documents=st.integers(1, 500), n_strata=st.integers(1, 40))
def test_equal_strata_differ_by_one_at_most(n_documents, n_strata):
    sizes = equal_sizes(n_documents, n_strata)
    assert sizes.sum() == n_documents and np.ptp(sizes) <= 1


@given(st.lists(st.integers(1, 50), min_size=1, max_size=30), st.integers(1, 400))
def test_the_budget_is_spent_whole_and_no_stratum_gives_more_than_it_has(sizes, budget):
    drawn = allocated(np.array(sizes), budget)
    assert drawn.sum() == min(budget, sum(sizes))
    assert (drawn <= sizes).all()
    open_strata = drawn < sizes
    if open_strata.any():
        assert np.ptp(drawn[open_strata]) <= 1
        assert (np.diff(drawn[open_strata]) <= 0).all(), "the remainder goes to the top"


@pytest.mark.parametrize(("budget", "expected"), [(9, [3, 3, 3]), (10, [4, 3, 3]), (11, [4, 4, 3])])
def test_the_remainder_goes_from_the_top_down(budget, expected):
    np.testing.assert_array_equal(allocated(np.array([9, 9, 9]), budget), expected)


def test_a_budget_near_the_frame_leaves_an_error_that_can_be_told():
    ranked = {str(topic): {f"d{i:02d}": 26 - i for i in range(26)} for topic in range(3)}
    grades = {topic: {f"d{i:02d}": i % 2 for i in range(26)} for topic in ranked}
    collection = be.read_collection(grades, {"a": ranked})
    design = be.designs.pps_strata(collection, budget=25)
    assert (design.stratum_sample_size.groupby(design.stratum_topic).sum() == 25).all()
    selected = be.draw(design, n_replicates=40, random_seed=1)
    scores = be.evaluate(be.reveal(collection, design, selected), "NumRel", estimator="stat")
    mean = be.mean_over_topics(scores)
    assert (mean.standard_error >= 0).all() and (mean.standard_error > 0).any()


def test_strata_with_chance_elsewhere_or_two_draws_stay():
    for sizes, drawn in (([2, 3, 4], [2, 1, 1]), ([2, 3], [2, 2]), ([4], [1])):
        found = without_lone_draw(np.array(sizes), np.array(drawn))
        np.testing.assert_array_equal(found, [sizes, drawn])
    joined = without_lone_draw(np.array([3, 2, 2]), np.array([1, 2, 2]))
    np.testing.assert_array_equal(joined, [[5, 2], [3, 2]])
