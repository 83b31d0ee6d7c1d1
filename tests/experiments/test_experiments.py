"""Dual runs, replicated sampling and its summary."""

import numpy as np
import pytest
import xarray as xr

import bayeseval as be
from tests.small import small_collection


@pytest.fixture(scope="module")
def truth() -> xr.DataTree:
    return be.simulate.urn_collection(
        [0.05, 0.1, 0.2, 0.4], n_topics=8, n_documents=300, prevalence=0.12, shared=0.7,
        difficulty_sd=0.5, random_seed=3,
    )  # fmt: skip


def test_a_dual_run_has_the_precision_of_its_original_at_every_cutoff(truth):
    both = be.dual_runs(truth, random_seed=1)
    measures = ["P@1", "P@10", "RBP(p=0.95)", "AP", "R@50"]
    scores = be.evaluate(both, measures, estimator="assumed").estimate.to_numpy()
    np.testing.assert_allclose(scores[:, :4], scores[:, 4:], rtol=0, atol=1e-14)
    ranking = both["rankings/ranking"].to_numpy()
    assert (ranking[:4] != ranking[4:]).any(axis=(1, 2)).all()
    np.testing.assert_array_equal(np.sort(ranking[:4], axis=2), np.sort(ranking[4:], axis=2))
    assert both["contributed"].to_numpy().tolist() == [True] * 4 + [False] * 4
    with pytest.raises(ValueError, match="dual runs already"):
        be.dual_runs(both, random_seed=1)


def test_dual_runs_keep_what_else_is_in_the_collection():
    both = be.dual_runs(small_collection(), random_seed=1)
    assert {"judgments", "predictors", "rankings"} <= set(both.children)


@pytest.fixture(scope="module")
def result(truth) -> xr.Dataset:
    both = be.dual_runs(truth, random_seed=1)
    design = be.designs.pps_strata(both, budget=50, n_strata=10)
    return be.experiments.replicate(
        both,
        design,
        ["P@10", "AP"],
        estimators=["assumed", "stat", ("dyn", "rank_logistic"), ("dyn", "pooled")],
        n_replicates=60,
        random_seed=5,
    )


def test_stat_and_dyn_are_unbiased_where_assuming_is_not(result):
    summary = be.experiments.error_summary(result)
    stat_dyn = summary.sel(estimator=["stat", "dyn:rank_logistic", "dyn:pooled"])
    assert (abs(stat_dyn.bias) < 3.5 * stat_dyn.bias_error).sel(measure="P@10").all()
    assert (summary.bias.sel(estimator="assumed", measure="P@10") < -0.05).all()
    better = stat_dyn.rms_error.sel(measure="P@10", group="contributed")
    assert better.sel(estimator="dyn:pooled") < better.sel(estimator="stat")


def test_intervals_of_the_mean_cover(result):
    summary = be.experiments.error_summary(result).drop_sel(estimator="assumed")
    room = 0.05 + 2.5 * summary.coverage_error
    assert (summary.coverage > 0.9 - room).all()
    # those of AP count the error of its denominator as independent, which makes them long
    assert (summary.coverage < 0.9 + room).sel(measure="P@10").all()


def test_the_summary_has_the_columns_of_the_papers(result):
    summary = be.experiments.error_summary(result)
    error = (result.estimate - result.truth).sel(estimator="stat", measure="P@10")
    mine = error.isel(run=np.flatnonzero(result.contributed))
    row = summary.sel(estimator="stat", measure="P@10", group="contributed")
    assert row.bias.item() == pytest.approx(mine.mean().item())
    assert row.rms_error.item() == pytest.approx(np.sqrt((mine**2).mean().item()))
    assert row.rms_error.item() ** 2 == pytest.approx(
        row.rms_bias.item() ** 2 + row.rms_sigma.item() ** 2
    )
    assert row.bias_error_paper.item() == pytest.approx(row.rms_sigma.item() / np.sqrt(60 * 4))
    topics = result.truth_by_topic.sel(measure="P@10").isel(run=np.flatnonzero(result.contributed))
    sigma_t = topics.var("topic").to_numpy() / 7
    expected = np.sqrt(row.rms_error.item() ** 2 + sigma_t.mean())
    assert row.rmse_topics.item() == pytest.approx(expected)
    assert row.rmse_more_topics.item() < row.rmse_topics.item()


def test_replicates_do_not_depend_on_the_other_estimators(truth, result):
    both = be.dual_runs(truth, random_seed=1)
    design = be.designs.pps_strata(both, budget=50, n_strata=10)
    alone = be.experiments.replicate(
        both, design, "P@10", estimators=["stat"], n_replicates=60, random_seed=5
    )
    expected = result.estimate.sel(estimator="stat", measure="P@10")
    np.testing.assert_array_equal(alone.estimate.squeeze().to_numpy(), expected.to_numpy())


def test_all_intervals_hold_where_everything_is_judged():
    collection = be.simulate.urn_collection(
        [0.05, 0.1, 0.2, 0.3, 0.5], n_topics=13, n_documents=60, prevalence=0.2, random_seed=1
    )
    result = be.experiments.replicate(
        collection,
        be.designs.pps_strata(collection, budget=60),
        ["P@10", "RBP", "AP", "nDCG@10"],
        estimators=["stat", "dyn"],
        n_replicates=2,
        random_seed=1,
    )
    assert 0 < abs(result.estimate - result.truth).max() < 1e-12
    assert (be.experiments.error_summary(result).coverage == 1).all()
