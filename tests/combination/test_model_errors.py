"""Posterior draws with a model's own errors: how far apart they take runs, and what is refused."""

import numpy as np
import pytest
import xarray as xr

import bayeseval as be
from bayeseval import with_model_errors

N_RUNS = 12
RUNS = [f"run{number:02d}" for number in range(N_RUNS)]


def posterior(common_sd: float = 0.05, **attrs) -> xr.Dataset:
    random = np.random.default_rng(3)
    shape = (2, 4000, 2, N_RUNS)
    draws = 0.4 + 0.01 * random.standard_normal(shape)
    draws = draws + common_sd * random.standard_normal((*shape[:3], 1))
    return xr.Dataset(
        {"estimate": (("chain", "draw", "measure", "run"), draws)},
        coords={
            "measure": ["P@10", "AP"],
            "run": RUNS,
            "contributed": ("run", np.arange(N_RUNS) < N_RUNS // 2),
        },
        attrs=attrs,
    )


def spread_of_difference(post: xr.Dataset, first: str, second: str, measure: str) -> float:
    draws = post.estimate.sel(measure=measure)
    return float((draws.sel(run=first) - draws.sel(run=second)).std())


def test_differences_widen_by_the_errors_of_their_runs_and_not_by_what_all_share():
    constants = {"contributed": {"apart_ratio": 0.0}, "new": {"apart_ratio": 2.0}}
    post = posterior()
    wider = with_model_errors(post, constants=constants, random_seed=1)
    same, other = ("run00", "run01"), ("run10", "run11")
    for pair, factor in ((same, 1.0), (other, np.sqrt(5.0))):
        found = spread_of_difference(wider, *pair, "P@10") / spread_of_difference(
            post, *pair, "P@10"
        )
        np.testing.assert_allclose(found, factor, rtol=0.03)


def test_a_score_widens_by_its_ratio_whatever_part_of_it_is_shared():
    post = posterior()
    before = post.estimate.std(("chain", "draw"))
    for apart in (0.0, 0.7, 1.5):
        known = {"apart_ratio": apart, "alone_ratio": 1.5}
        wider = with_model_errors(post, constants={"contributed": known, "new": known})
        ratio = wider.estimate.std(("chain", "draw")) / before
        np.testing.assert_allclose(ratio, np.sqrt(1.0 + 1.5**2), rtol=0.04)


def test_what_is_shared_widens_no_difference_of_runs_that_are_as_uncertain():
    known = {"apart_ratio": 0.0, "alone_ratio": 1.0}
    post = posterior()
    wider = with_model_errors(post, constants={"contributed": known, "new": known})
    np.testing.assert_allclose(
        spread_of_difference(wider, "run00", "run11", "AP"),
        spread_of_difference(post, "run00", "run11", "AP"),
        rtol=1e-3,
    )


def test_posterior_means_stay_and_a_score_that_is_known_has_no_error():
    post = posterior()
    post = post.assign(estimate=xr.where(post.run == "run03", 0.4, post.estimate))
    post = post.assign(estimate=xr.where(post.measure == "AP", 0.2, post.estimate))
    post = post.transpose("chain", "draw", "measure", "run")
    wider = with_model_errors(post)
    for one in (post, wider):
        assert float(one.estimate.sel(run="run03").std(("chain", "draw")).max()) < 1e-12
        assert float(one.estimate.sel(measure="AP").std(("chain", "draw")).max()) < 1e-12
    means = [one.estimate.mean(("chain", "draw")) for one in (post, wider)]
    np.testing.assert_allclose(means[1], means[0], rtol=1e-9)


def test_measures_have_the_constants_of_their_kind_and_a_seed_repeats_itself():
    post = posterior()
    first, again, other = (with_model_errors(post, random_seed=seed) for seed in (1, 1, 2))
    assert bool((first.estimate == again.estimate).all())
    assert bool((first.estimate != other.estimate).any())
    spread = [one.estimate.sel(run="run10").std(("chain", "draw")) for one in (first, post)]
    widened = [float((spread[0] / spread[1]).sel(measure=label)) for label in ("P@10", "AP")]
    assert widened[0] != pytest.approx(widened[1], rel=0.05)


def test_a_probability_comes_nearer_to_one_half():
    post = posterior(common_sd=0.0)
    shifted = post.assign(estimate=post.estimate + xr.where(post.run == "run11", 0.02, 0.0))
    known = {group: {"apart_ratio": 0.85} for group in ("contributed", "new")}
    plain, wider = (
        be.rankings.rank_probabilities(one).better.sel(run="run11", run_other="run10")
        for one in (shifted, with_model_errors(shifted, constants=known))
    )
    assert bool((plain > 0.9).all()) and bool((wider < plain).all()) and bool((wider > 0.5).all())


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        (lambda post: post.drop_vars("estimate"), "must be posterior draws"),
        (lambda post: post.mean(("chain", "draw")), "must be posterior draws"),
        (lambda post: post.expand_dims(topic=["1"]), "known of means over these topics"),
        (lambda post: post.assign_attrs(population="topics"), "known of means over these topics"),
        (lambda post: post.sel(measure="P@10"), "pick measures with"),
        (lambda post: post.sel(run="run03"), "pick runs with"),
        (lambda post: post.isel(chain=[0], draw=[0]), "two draws or more"),
        (lambda post: post.where(post.run != "run00"), "without NaN"),
        (with_model_errors, "have the model's own errors already"),
        (lambda post: post.drop_vars("contributed"), "do not say which runs contributed"),
    ],
)
def test_what_has_no_such_errors_is_refused(changed, said):
    with pytest.raises(ValueError, match=said):
        with_model_errors(changed(posterior()))


def test_constants_below_zero_are_refused():
    with pytest.raises(ValueError, match="apart_ratio is -1"):
        with_model_errors(posterior(), constants={"new": {"apart_ratio": -1}})
