"""Pools: what they judge, in which order, and what to judge next."""

import numpy as np
import pytest
import xarray as xr

import bayeseval as be
from tests.small import small_collection

FOLLOWING = {"move_to_front": be.designs.move_to_front, "hedge": be.designs.hedge}


@pytest.fixture(scope="module")
def collection() -> xr.DataTree:
    return small_collection()


@pytest.fixture(scope="module")
def simulated() -> xr.DataTree:
    return be.simulate.urn_collection(
        [0.05, 0.1, 0.2, 0.5],
        n_topics=3,
        n_documents=60,
        n_relevant=[5, 15, 30],
        depth=25,
        random_seed=3,
    )


def without_grades(collection: xr.DataTree, hidden: np.ndarray) -> xr.DataTree:
    """Copy in which the grades of the hidden pairs are not known."""
    copy = collection.copy()
    grade = collection["judgments/grade"]
    copy["judgments/grade"] = grade.where(~xr.DataArray(hidden, dims="pair"))
    return copy


@pytest.mark.parametrize("method", FOLLOWING)
@pytest.mark.parametrize("budget", [1, 4, 7, 30, 100])
def test_the_budget_is_spent_exactly_in_an_order_without_gaps(simulated, method, budget):
    design = FOLLOWING[method](simulated, budget)
    ranking = simulated["rankings/ranking"].to_numpy()
    pairs = simulated["pair_topic"].to_numpy()
    for topic in range(3):
        order = design.judging_order.to_numpy()[pairs == topic]
        reachable = np.unique(ranking[:, topic]).size
        judged = np.sort(order[order > 0])
        np.testing.assert_array_equal(judged, np.arange(1, min(budget, reachable) + 1))
    probability = design.inclusion_probability.to_numpy()
    np.testing.assert_array_equal(probability == 1, design.judging_order.to_numpy() > 0)
    assert set(np.unique(probability)) <= {0.0, 1.0}
    assert design.attrs["scheme"] == "deterministic"


@pytest.mark.parametrize("method", FOLLOWING)
def test_topics_may_have_budgets_of_their_own(simulated, method):
    by_name = FOLLOWING[method](simulated, {"3": 9, "1": 2, "2": 5})
    by_array = xr.DataArray([9, 2, 5], coords={"topic": ["3", "1", "2"]})
    xr.testing.assert_identical(by_name, FOLLOWING[method](simulated, by_array))
    drawn = by_name.inclusion_probability.groupby(by_name.pair_topic).sum()
    np.testing.assert_array_equal(drawn, [2, 5, 9])


@pytest.mark.parametrize("method", FOLLOWING)
def test_the_pool_can_be_revealed_saved_and_evaluated(simulated, method, tmp_path):
    design = FOLLOWING[method](simulated, 10)
    sampled = be.reveal(simulated, design)
    assert sampled["judgments/grade"].notnull().sum() == 30
    assert be.evaluate(sampled, "P@5", estimator="assumed").estimate.notnull().all()
    with pytest.raises(ValueError, match="deterministic"):
        be.evaluate(sampled, "P@5", estimator="stat")
    be.save_design(design, tmp_path / "pool.nc")
    again = be.read_design(tmp_path / "pool.nc")
    kept = design.isel(pair=np.flatnonzero(design.inclusion_probability))
    np.testing.assert_array_equal(again.judging_order, kept.judging_order)


@pytest.mark.parametrize("method", FOLLOWING)
def test_pairs_without_a_grade_are_left_out_of_the_judged_frame(simulated, method):
    hidden = np.arange(simulated.sizes["pair"]) % 3 == 0
    fewer = without_grades(simulated, hidden)
    judged = FOLLOWING[method](fewer, 12).inclusion_probability.to_numpy() == 1
    assert not (judged & hidden).any() and judged.sum() == 36
    taken = FOLLOWING[method](fewer, 12, frame="retrieved").inclusion_probability.to_numpy() == 1
    assert (taken & hidden).any() and taken.sum() == 36


@pytest.mark.parametrize("method", FOLLOWING)
def test_an_unjudged_pair_of_the_frame_counts_as_not_relevant(simulated, method):
    hidden = np.arange(simulated.sizes["pair"]) % 3 == 0
    fewer = without_grades(simulated, hidden)
    zero = fewer.copy()
    zero["judgments/grade"] = fewer["judgments/grade"].fillna(0.0)
    one, two = (FOLLOWING[method](tree, 12, frame="retrieved") for tree in (fewer, zero))
    np.testing.assert_array_equal(one.judging_order, two.judging_order)
    other = FOLLOWING[method](simulated, 12, frame="retrieved")
    assert not np.array_equal(one.judging_order, other.judging_order)


@pytest.mark.parametrize("method", FOLLOWING.values())
def test_a_random_sample_taken_for_the_truth_is_warned_of(simulated, method):
    design = be.designs.pps_strata(simulated, budget=20, n_strata=2)
    sampled = be.reveal(simulated, design, be.draw(design, random_seed=1))
    grade = sampled["judgments/grade"].to_numpy()
    ranking = simulated["rankings/ranking"].to_numpy()
    lacking = np.isnan(grade[np.unique(ranking[ranking >= 0])]).sum()
    with pytest.warns(
        UserWarning, match=rf"\(stratified\), and {lacking} pairs of its frame without a grade"
    ) as said:
        method(sampled, 5)
    assert said[0].filename == __file__
    method(sampled, 5, frame="judged")  # every pair has its grade: warnings are errors here
    pool = be.designs.depth_pool(simulated, 3)
    method(be.reveal(simulated, pool), 5)  # a pool is what such methods do start from


@pytest.mark.parametrize("method", FOLLOWING)
def test_runs_that_did_not_contribute_change_nothing(simulated, method):
    both = be.dual_runs(simulated, random_seed=1)
    one, two = (FOLLOWING[method](tree, 10).judging_order for tree in (simulated, both))
    np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize("method", FOLLOWING)
def test_asking_for_one_document_at_a_time_gives_the_simulated_pool(simulated, method):
    pool = FOLLOWING[method](simulated, 12, frame="retrieved").judging_order.to_numpy()
    known = np.zeros(simulated.sizes["pair"], dtype=bool)
    for step in range(1, 13):
        so_far = without_grades(simulated, ~known)
        batch = be.designs.next_documents(so_far, 1, method=method).judging_order.to_numpy()
        np.testing.assert_array_equal(batch == 1, pool == step)
        known |= batch > 0


@pytest.mark.parametrize("method", FOLLOWING)
def test_a_batch_is_of_documents_not_judged_and_starts_with_the_next_one(simulated, method):
    known = FOLLOWING[method](simulated, 6).inclusion_probability.to_numpy() == 1
    so_far = without_grades(simulated, ~known)
    batch = be.designs.next_documents(so_far, 8, method=method)
    chosen = batch.inclusion_probability.to_numpy() == 1
    assert chosen.sum() == 24 and not (chosen & known).any()
    following = FOLLOWING[method](simulated, 7).judging_order.to_numpy() == 7
    np.testing.assert_array_equal(batch.judging_order.to_numpy() == 1, following)


def test_the_first_documents_need_no_judgments(simulated):
    bare = simulated.copy()
    del bare["judgments"]
    first = be.designs.next_documents(bare, 3)
    none = without_grades(simulated, np.ones(simulated.sizes["pair"], dtype=bool))
    np.testing.assert_array_equal(
        first.judging_order, be.designs.next_documents(none, 3).judging_order
    )
    with pytest.raises(ValueError, match="next_documents give the first documents to judge"):
        be.designs.hedge(bare, 3)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"budget": 0}, "budget must be a whole number"),
        ({"budget": {"1": 3}}, "budget has no number of judgments for topic '2'"),
        ({"budget": 2, "runs": ["z"]}, "unknown: z"),
        ({"budget": 2, "frame": "all"}, "frame must be"),
        ({"budget": 2, "pool_depth": 0}, "pool_depth is 0; allowed: a whole number, 1 or more"),
    ],
)
@pytest.mark.parametrize("method", FOLLOWING)
def test_a_pool_that_cannot_be_is_refused(collection, method, options, message):
    with pytest.raises(ValueError, match=message):
        FOLLOWING[method](collection, **options)


def test_unknown_methods_and_replicates_are_refused(collection):
    with pytest.raises(ValueError, match="method must be one of hedge, move_to_front"):
        be.designs.next_documents(collection, 1, method="mtf")
    design = be.designs.pps_strata(collection, budget=4, n_strata=2)
    sampled = be.reveal(collection, design, be.draw(design, n_replicates=2, random_seed=1))
    with pytest.raises(ValueError, match="next_documents follows one sample"):
        be.designs.next_documents(sampled, 1)
    with pytest.raises(ValueError, match="follows one sample and this collection holds replicates"):
        be.designs.hedge(sampled, 1, frame="retrieved")


@pytest.mark.parametrize("level", [0, 1.5, "1", float("nan")])
def test_a_level_of_relevance_is_a_whole_number(level):
    collection = be.simulate.urn_collection([0.1, 0.3], n_topics=1, prevalence=0.2, random_seed=1)
    for pool in (be.designs.hedge, be.designs.move_to_front, be.designs.next_documents):
        with pytest.raises(ValueError, match="relevance_level is .*; allowed: a whole number, 1"):
            pool(collection, 3, relevance_level=level)
