"""Scores with a model's own errors: how much they widen intervals, and what is refused."""

import numpy as np
import pytest
import xarray as xr

import bayeseval as be
from bayeseval import with_model_errors

RUNS = [f"run{number:02d}" for number in range(12)]


def posterior(centre: float = 0.4, common_sd: float = 0.05, **attrs) -> xr.Dataset:
    random = np.random.default_rng(3)
    shape = (2, 4000, 2, len(RUNS))
    draws = centre + 0.01 * random.standard_normal(shape)
    draws = draws + common_sd * random.standard_normal((*shape[:3], 1))
    return xr.Dataset(
        {
            "estimate": (("chain", "draw", "measure", "run"), draws),
            "outside_weight": (("measure", "run"), np.zeros((2, len(RUNS)))),
        },
        coords={
            "measure": ["P@10", "AP"],
            "run": RUNS,
            "contributed": ("run", np.arange(len(RUNS)) < len(RUNS) // 2),
        },
        attrs=attrs,
    )


def test_the_errors_widen_the_posterior_by_the_ratio_of_the_group():
    post = posterior()
    known = {"contributed": {"near_ratio": 0.0}, "new": {"near_ratio": 1.5}}
    wider, plain = (
        with_model_errors(post, constants=known, ci_prob=0.8),
        be.summarize(post, ci_prob=0.8),
    )
    factor = np.where(post.contributed, 1.0, np.sqrt(1.0 + 1.5**2))
    np.testing.assert_allclose(wider.estimate, plain.estimate)
    np.testing.assert_allclose(wider.standard_error, plain.standard_error * factor)
    off = (one.interval - one.estimate for one in (wider, plain))
    np.testing.assert_allclose(next(off), next(off) * factor[:, None])
    variance = np.diagonal(wider.covariance, axis1=1, axis2=2)
    np.testing.assert_allclose(variance, wider.standard_error**2)
    values = post.estimate.sel(measure="AP").transpose("run", ...).to_numpy().reshape(12, -1)
    expected = np.corrcoef(values)
    correlation = wider.covariance[1] / np.sqrt(np.outer(variance[1], variance[1]))
    np.testing.assert_allclose(correlation, expected)
    assert wider.attrs["ci_prob"] == 0.8 and "outside_weight" in wider


def test_intervals_are_possible_scores():
    wider = with_model_errors(posterior(centre=0.98))
    assert float(wider.interval.max()) == 1.0
    sums = posterior(centre=0.98).assign_coords(measure=["DCG@10", "NumRelRet"])
    assert float(with_model_errors(sums).interval.max()) > 1.0


def test_a_score_that_is_known_has_no_error():
    post = posterior()
    post = post.assign(estimate=xr.where(post.run == "run03", 0.4, post.estimate))
    wider = with_model_errors(post.transpose("chain", "draw", "measure", "run"))
    known = wider.sel(run="run03")
    assert (known.standard_error == 0).all() and (known.interval == 0.4).all()
    assert (known.covariance == 0).all()


def test_measures_have_the_constants_of_their_kind():
    post = posterior()
    ratio = (with_model_errors(post).standard_error / be.summarize(post).standard_error) ** 2
    shipped = {"P@10": (0.5, 0.5), "AP": (0.85, 1.2)}
    for label, (contributed, new) in shipped.items():
        expected = 1.0 + np.where(post.contributed, contributed, new) ** 2
        np.testing.assert_allclose(ratio.sel(measure=label), expected)


def test_runs_are_compared_and_ranked():
    post = posterior(common_sd=0.0)
    shifted = post.assign(estimate=post.estimate + xr.where(post.run == "run11", 0.02, 0.0))
    wider = with_model_errors(shifted)
    plain, sure = (
        be.rankings.rank_probabilities(one).better.sel(run="run11", run_other="run10")
        for one in (wider, shifted)
    )
    assert bool((sure > 0.9).all()) and bool((plain < sure).all()) and bool((plain > 0.5).all())
    pairs = be.rankings.compare_draws(wider, reference="run10")
    assert (
        pairs.standard_error
        > be.rankings.compare_draws(shifted, reference="run10")["standard_error"]
    ).all()


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        (lambda post: post.drop_vars("estimate"), "must be posterior draws"),
        (with_model_errors, "must be posterior draws"),
        (lambda post: post.expand_dims(topic=["1"]), "known of means over these topics"),
        (lambda post: post.assign_attrs(population="topics"), "known of means over these topics"),
        (lambda post: post.sel(measure="P@10"), "pick measures with"),
        (lambda post: post.sel(run="run03"), "pick runs with"),
        (lambda post: post.isel(chain=[0], draw=[0]), "two draws or more"),
        (lambda post: post.where(post.run != "run00"), "some are NaN"),
        (lambda post: post.drop_vars("contributed"), "do not say which runs contributed"),
    ],
)
def test_scores_without_such_errors_are_refused(changed, said):
    with pytest.raises(ValueError, match=said):
        with_model_errors(changed(posterior()))


def test_constants_below_zero_are_refused():
    with pytest.raises(ValueError, match="near_ratio is -1"):
        with_model_errors(posterior(), constants={"new": {"near_ratio": -1}})
