import numpy as np
import pytest
import xarray as xr
from scipy import stats

import bayeseval as be


def test_summary_of_normal_draws_is_that_of_the_normal_distribution():
    draws = np.random.default_rng(1).normal(0.4, 0.1, size=(4, 5000, 1, 2))
    post = xr.Dataset(
        {
            "estimate": (("chain", "draw", "measure", "run"), draws),
            "outside_weight": (("measure", "run"), np.zeros((1, 2))),
        },
        attrs={"population": "sample"},
    )
    summary = be.summarize(post, ci_prob=0.8)
    np.testing.assert_allclose(summary.estimate, 0.4, atol=0.003)
    np.testing.assert_allclose(summary.standard_error, 0.1, rtol=0.03)
    exact = stats.norm(0.4, 0.1).ppf([0.1, 0.9])
    np.testing.assert_allclose(summary.interval.values, [[exact, exact]], atol=0.005)
    assert summary.ci_bound.values.tolist() == ["lower", "upper"]
    assert summary.attrs == {"population": "sample", "ci_prob": 0.8, "ci_kind": "eti"}
    assert summary.outside_weight.dims == ("measure", "run")


def test_probability_of_the_interval_lies_between_0_and_1():
    with pytest.raises(ValueError, match="ci_prob must lie between 0 and 1, not 90"):
        be.summarize(xr.Dataset({"estimate": (("chain", "draw"), [[0.1]])}), ci_prob=90)


def test_draws_that_are_all_one_score_have_no_error_from_rounding():
    draws = np.full((4, 333), 0.1) + np.where(np.arange(333) % 2, 1e-17, 0.0)
    post = xr.Dataset({"estimate": (("chain", "draw"), draws)})
    summary = be.summarize(post)
    assert summary.estimate.item() == 0.1 and summary.standard_error.item() == 0.0
    assert summary.interval.values.tolist() == [0.1, 0.1]


def test_estimates_that_are_no_draws_are_refused():
    with pytest.raises(ValueError, match="takes posterior draws, with the dims chain and draw"):
        be.summarize(xr.Dataset({"estimate": ("run", [0.1])}))
