"""The comparison of all estimators under all designs, on a small collection with known truth."""

import numpy as np
import pytest
import xarray as xr

import bayeseval as be

ESTIMATORS = ["assumed", "condensed", "stat", ("dyn", "rank_logistic")]


@pytest.fixture(scope="module")
def both() -> xr.DataTree:
    """Eight runs on four topics, and their dual runs."""
    collection = be.simulate.urn_collection(
        np.geomspace(0.05, 0.5, 8), n_topics=4, prevalence=0.1, random_seed=1
    )
    return be.dual_runs(collection, random_seed=2)


@pytest.fixture(scope="module")
def table(both) -> xr.Dataset:
    return be.experiments.comparison(
        both,
        budgets=[20],
        pool_depths=[2],
        estimators=ESTIMATORS,
        n_strata=5,
        n_replicates=60,
        random_seed=3,
    ).isel(measure=0)


def method(table, estimator: str, sample: str) -> xr.Dataset:
    chosen = (table.estimator == estimator) & (table["sample"] == sample)
    return table.isel(method=int(np.flatnonzero(chosen)[0]))


def test_every_method_is_there_once_with_what_it_judges(table):
    names = list(zip(table["sample"].values, table.estimator.values, strict=True))
    assert len(set(names)) == len(names) == 3 * 4 + 2 * 2
    assert (method(table, "stat", "pps").judgments == 20).item()
    assert (table.budget == 20).all()


def test_stat_and_dyn_are_unbiased_where_pools_are_not(table):
    for sample in ("uniform", "pps", "order"):
        for estimator in ("stat", "dyn:rank_logistic"):
            row = method(table, estimator, sample)
            assert (abs(row.bias) < 4 * row.bias_error).all()
    pool = method(table, "assumed", "depth-2")
    assert (pool.bias < -0.05).all()
    assert pool.bias.sel(group="other") < pool.bias.sel(group="contributed")


def test_a_pool_has_no_chance_error_and_no_interval(table):
    pool = method(table, "condensed", "hedge")
    assert (pool.rms_sigma == 0).all() and (pool.bias_error == 0).all()
    assert pool.coverage.isnull().all()
    assert method(table, "stat", "pps").coverage.notnull().all()


def test_budgets_and_pool_depths_must_go_in_pairs(both):
    with pytest.raises(ValueError, match="there are 2 and 1"):
        be.experiments.comparison(both, budgets=[10, 20], pool_depths=[2], random_seed=1)


def test_a_sample_is_no_truth_to_compare_with(both):
    design = be.designs.pps_strata(both, budget=20, n_strata=5)
    sampled = be.reveal(both, design, be.draw(design, random_seed=1))
    with pytest.raises(ValueError, match="random sample \\(stratified\\) and no truth"):
        be.experiments.comparison(sampled, budgets=[10], pool_depths=[2], random_seed=1)
