"""Error and coverage of stat and dyn on TREC-COVID round 5, where the data are at hand."""

import pytest
import xarray as xr

import bayeseval as be

PAPER, DEFAULT = "dyn:rank_logistic", "dyn:pooled"


@pytest.fixture(scope="module")
def both(real_data, round5_runs) -> xr.DataTree:
    """Every third real run, 42 of them, and their dual runs."""
    qrels = real_data / "trec-covid" / "qrels.covid-complete.txt.gz"
    runs = sorted(round5_runs.iterdir())[::3]
    return be.dual_runs(be.read_collection(qrels, runs), random_seed=1)


def of_thirty_samples(both: xr.DataTree, measures: list[str]) -> xr.Dataset:
    """Thirty samples of 100 judgments a topic; ``make table`` draws a hundred."""
    design = be.designs.pps_strata(both, budget=100)
    result = be.experiments.replicate(
        both,
        design,
        measures,
        estimators=["stat", ("dyn", "rank_logistic"), ("dyn", "pooled")],
        n_replicates=30,
        random_seed=1,
    )
    return be.experiments.error_summary(result)


@pytest.fixture(scope="module")
def linear(both) -> xr.Dataset:
    return of_thirty_samples(both, ["P@10", "RBP(p=0.8)"])


@pytest.fixture(scope="module")
def ratios(both) -> xr.Dataset:
    return of_thirty_samples(both, ["AP", "nDCG@10"])


def test_errors_are_those_of_the_first_measurements_or_better(linear):
    error = linear.rms_error.sel(measure="P@10")
    assert error.sel(estimator="stat", group="contributed") == pytest.approx(0.045, abs=0.003)
    assert error.sel(estimator=PAPER, group="contributed") <= 0.031
    assert error.sel(estimator=DEFAULT, group="contributed") <= 0.026
    assert error.sel(estimator=DEFAULT, group="other") <= 0.042


def test_no_estimator_favours_real_or_dual_runs(linear):
    assert (abs(linear.bias) < 3 * linear.bias_error).all()


def test_intervals_cover_on_the_real_runs(linear):
    real = linear.sel(group="contributed")
    doubt = 2 * real.coverage_error
    assert (abs(real.coverage - 0.9) < 0.03 + doubt).all()


def test_variances_are_those_of_the_estimates(linear):
    # 100 replicates know a variance to some tenth
    assert (abs(linear.variance_ratio - 1) < 0.12).all()


def test_intervals_cover_on_the_dual_runs(linear):
    dual = linear.sel(group="other")
    assert (abs(dual.coverage - 0.9) < 0.04 + 2 * dual.coverage_error).all()


@pytest.mark.slow
def test_average_precision_is_honest_on_real_and_dual_runs(ratios):
    """The error of the number of relevant documents is taken in whole, and is known better."""
    summary = ratios.sel(measure="AP")
    assert (abs(summary.bias) < 0.002).all()
    assert (summary.variance_ratio > 0.9).all() and (summary.variance_ratio < 1.6).all()
    doubt = 2 * summary.coverage_error
    real, dual = (summary.coverage.sel(group=group) for group in ("contributed", "other"))
    assert (real > 0.87 - doubt).all() and (real < 0.95 + doubt).all()
    assert (abs(dual - 0.9) < 0.04 + doubt).all()


@pytest.mark.slow
def test_normalised_gain_at_a_cutoff_is_unbiased_on_real_and_dual_runs(ratios):
    """Relevant documents are many, so this ratio is nearly linear, and must not be clipped."""
    summary = ratios.sel(measure="nDCG@10", estimator=["stat", PAPER])
    assert (abs(summary.bias) < 3 * summary.bias_error).all()
    assert (abs(summary.variance_ratio - 1) < 0.15).all()
    assert (abs(summary.coverage - 0.9) < 0.04 + 2 * summary.coverage_error).all()
