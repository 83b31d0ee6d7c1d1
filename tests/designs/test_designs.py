"""Designs on small collections: frames, probabilities, draws."""

from functools import partial

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import bayeseval as be
from tests.small import every_stratified_sample, small_collection


@pytest.fixture(scope="module")
def collection() -> xr.DataTree:
    return small_collection()


def test_the_top_of_the_fused_order_is_judged_surely(collection):
    design = be.designs.pps_strata(collection, budget=4, n_strata=2)
    ranking = collection["rankings/ranking"].to_numpy()[:, 0]
    score = {
        pair: sum(
            1.0 / (60 + 1 + rank) for run in ranking for rank, p in enumerate(run) if p == pair
        )
        for pair in range(9)
    }
    best = sorted(score, key=lambda pair: (-score[pair], -pair))
    probability = design.inclusion_probability.to_numpy()[:9]
    assert (probability[best[:2]] == 1).all()
    assert (probability[best[2:]] == 2 / 7).all()


@pytest.mark.parametrize("budget", [5, 6, 7, 12, 40])
@pytest.mark.parametrize("scheme", ["pps_strata", "uniform_strata"])
def test_probabilities_sum_to_the_budget_and_to_no_more_than_the_frame(collection, scheme, budget):
    seed = {"random_seed": 1} if scheme == "uniform_strata" else {}
    design = getattr(be.designs, scheme)(collection, budget=budget, n_strata=5, **seed)
    total = design.inclusion_probability.groupby(design.pair_topic).sum().to_numpy()
    np.testing.assert_allclose(total, np.minimum(budget, [9, 8]))
    selected = be.draw(design, n_replicates=20, random_seed=2)
    drawn = selected.groupby(design.pair_topic).sum().transpose("replicate", ...).to_numpy()
    np.testing.assert_array_equal(drawn, np.tile(np.minimum(budget, [9, 8]), (20, 1)))


def test_draws_have_the_stated_first_and_second_order_probabilities(collection):
    design = be.designs.pps_strata(collection, budget=6, n_strata=3)
    samples = every_stratified_sample(design).to_numpy()
    pairs = np.flatnonzero(design.inclusion_probability > 0)
    exact = np.array([[(samples[:, i] & samples[:, j]).mean() for j in pairs] for i in pairs])
    many = be.draw(design, n_replicates=20000, random_seed=4).to_numpy()[:, pairs].astype(float)
    np.testing.assert_allclose(many.T @ many / 20000, exact, atol=0.02)


def test_poisson_probabilities_sum_to_the_budget_and_pairs_are_independent(collection):
    design = be.designs.poisson(collection, budget=4)
    total = design.inclusion_probability.groupby(design.pair_topic).sum()
    np.testing.assert_allclose(total, 4.0)
    probability = design.inclusion_probability.to_numpy()
    many = be.draw(design, n_replicates=20000, random_seed=4).to_numpy().astype(float)
    joint = np.where(np.eye(probability.size), probability, np.outer(probability, probability))
    np.testing.assert_allclose(many.T @ many / 20000, joint, atol=0.02)


def test_certain_pairs_are_always_drawn_and_count_in_the_budget(collection):
    certain = np.zeros(collection.sizes["pair"], dtype=bool)
    certain[[3, 8, 12]] = True
    for design in (
        be.designs.pps_strata(collection, budget=5, n_strata=2, certain=certain),
        be.designs.poisson(collection, budget=5, certain=certain),
    ):
        assert (design.inclusion_probability[certain] == 1).all()
        total = design.inclusion_probability.groupby(design.pair_topic).sum()
        np.testing.assert_allclose(total, 5.0)
        assert be.draw(design, n_replicates=30, random_seed=1).to_numpy()[:, certain].all()


def test_what_is_added_to_a_sample_with_its_seed_does_not_follow_it():
    ranked = {"1": {f"d{i:03d}": 200 - i for i in range(200)}}
    collection = be.read_collection(None, {"a": ranked})
    first = be.designs.poisson(collection, budget=20)
    number = {"one": [], "other": []}
    for seed in range(150):
        before = be.draw(first, random_seed=seed)
        more = be.designs.poisson(
            collection, budget=int(before.sum()) + 20, frame="retrieved", certain=before
        )
        for name, again in (("one", seed), ("other", seed + 1000)):
            number[name].append(int((be.draw(more, random_seed=again) & ~before).sum()))
    expected = 20.0
    for drawn in number.values():
        assert np.mean(drawn) == pytest.approx(expected, abs=4.0 * np.sqrt(expected / 150))


def test_a_budget_may_differ_by_topic(collection):
    certain = np.zeros(collection.sizes["pair"], dtype=bool)
    certain[[3, 8, 12]] = True
    kept = np.bincount(collection["pair_topic"].to_numpy()[certain])
    budgets = dict(zip(collection["topic"].to_numpy().tolist(), (kept + 2).tolist(), strict=True))
    options = {"budget": budgets, "frame": "retrieved", "certain": certain}
    for design in (
        be.designs.pps_strata(collection, n_strata=2, **options),
        be.designs.uniform_strata(collection, n_strata=2, random_seed=1, **options),
        be.designs.poisson(collection, **options),
    ):
        assert (design.inclusion_probability[certain] == 1).all()
        total = design.inclusion_probability.groupby(design.pair_topic).sum()
        np.testing.assert_allclose(total, kept + 2)
    counted = pd.Series(budgets)
    numbered = {int(topic): number for topic, number in budgets.items()}
    for same in (
        counted,
        counted.rename(int),
        numbered,
        xr.DataArray(counted.rename_axis("topic")),
    ):
        other = be.designs.poisson(collection, **options | {"budget": same})
        assert other.identical(design)
    again = pd.concat([counted, counted[:1]])
    for twice in (again, xr.DataArray(again.rename_axis("topic")), counted.to_dict() | numbered):
        with pytest.raises(ValueError, match="budget names topic '1' twice"):
            be.designs.poisson(collection, budget=twice)
    with pytest.raises(ValueError, match="budget has no number of judgments for topic"):
        be.designs.poisson(collection, budget={"1": 3})
    with pytest.raises(ValueError, match="judgments for topic '2', 1 or more, not 0"):
        be.designs.poisson(collection, budget={"1": 3, "2": 0})


def test_certain_pairs_that_are_the_whole_judged_frame_leave_nothing_to_sample(collection):
    judged = collection["judgments/grade"].notnull()
    with pytest.raises(ValueError, match="nothing is left to sample; frame='retrieved' adds"):
        be.designs.pps_strata(collection, budget=20, certain=judged)


def test_only_contributing_runs_shape_a_design(collection):
    with_dual = be.dual_runs(collection, random_seed=1)
    for scheme in (be.designs.pps_strata, be.designs.poisson):
        one, two = (scheme(tree, budget=4, n_strata=2) if scheme is be.designs.pps_strata
                    else scheme(tree, budget=4) for tree in (collection, with_dual))  # fmt: skip
        np.testing.assert_array_equal(one.inclusion_probability, two.inclusion_probability)
    alone = be.designs.depth_pool(collection, 1, runs=["c"])
    assert alone.inclusion_probability.sum() == 2


def test_a_pool_is_what_some_run_ranks_that_deep(collection):
    pool = be.designs.depth_pool(collection, 2).inclusion_probability.to_numpy() == 1
    expected = np.zeros(pool.size, dtype=bool)
    top = collection["rankings/ranking"].to_numpy()[..., :2]
    expected[top[top >= 0]] = True
    np.testing.assert_array_equal(pool, expected)


def test_the_same_seed_gives_the_same_design_and_sample(collection):
    one, two = (
        be.designs.uniform_strata(collection, budget=6, n_strata=2, random_seed=7) for _ in range(2)
    )
    xr.testing.assert_identical(one, two)
    first, second = (be.draw(one, n_replicates=3, random_seed=8) for _ in range(2))
    xr.testing.assert_identical(first, second)
    assert first.attrs["seed"] == 8
    assert not first.identical(be.draw(one, n_replicates=3, random_seed=9))


def test_strata_shrink_to_what_the_budget_allows(collection):
    for scheme in (be.designs.pps_strata, partial(be.designs.uniform_strata, random_seed=1)):
        with pytest.warns(UserWarning, match="n_strata is 9, and shrinks to 3: the budget"):
            fewer = scheme(collection, budget=3, n_strata=9)
        xr.testing.assert_identical(fewer, scheme(collection, budget=3, n_strata=3))
        certain = np.zeros(collection.sizes["pair"], dtype=bool)
        certain[0] = True
        with pytest.warns(UserWarning, match="n_strata is 3, and shrinks to 2 in 1 of 2 topics"):
            design = scheme(collection, budget=3, n_strata=3, certain=certain)
        number = np.bincount(design["stratum_topic"]).tolist()  # the certain pair is one of them
        assert number == ([2, 3] if scheme is be.designs.pps_strata else [3, 3])
        assert (design["stratum_sample_size"] > 0).all()


def test_certain_pairs_must_leave_something_for_the_rest_of_the_frame(collection):
    certain = np.zeros(collection.sizes["pair"], dtype=bool)
    certain[:3] = True
    for scheme, options in ((be.designs.poisson, {}), (be.designs.pps_strata, {"n_strata": 2})):
        with pytest.raises(
            ValueError, match="topic '1' has 3 certain pairs, which budget counts: 3 leaves none"
        ):
            scheme(collection, budget=3, certain=certain, **options)


def test_the_frame_defaults_to_the_judged_pairs_else_to_the_retrieved(collection):
    design = be.designs.pps_strata(collection, budget=4, n_strata=2)
    assert '"frame": "judged"' in design.attrs["parameters"]
    sampled = be.reveal(collection, design, be.draw(design, random_seed=1))
    again = be.designs.pps_strata(sampled, budget=4, n_strata=2)
    assert '"frame": "retrieved"' in again.attrs["parameters"]
