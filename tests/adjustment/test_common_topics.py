"""Algorithm 2 as a sampling estimator: every set of common topics of a toy, and properties."""

import itertools
import math

import numpy as np
import pytest
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st

from bayeseval.adjustment import adjust_by_topics

TRUE = np.array([0.9, 0.4, 0.7, 0.2, 0.6, 0.1, 0.35])
UNPOOLED = np.array([0.6, 0.4, 0.5, 0.3, 0.1, 0.0, 0.3])
DELTA = TRUE - UNPOOLED


def scores(values) -> xr.DataArray:
    return xr.DataArray(np.asarray(values, dtype=float), dims="topic")


def adjusted(places, **options) -> xr.Dataset:
    """Adjustment with the true scores of these topics alone in sight."""
    common = np.isin(np.arange(TRUE.size), list(places))
    true = scores(np.where(common, TRUE, np.nan))
    return adjust_by_topics(true, scores(UNPOOLED), scores(common).astype(bool), **options)


def every_adjustment(n_common: int) -> xr.Dataset:
    parts = [
        adjusted(places, n_boot=0) for places in itertools.combinations(range(TRUE.size), n_common)
    ]
    return xr.concat(parts, dim="choice", join="exact")


@pytest.mark.parametrize("n_common", [1, 2, 3, 6, 7])
def test_the_adjusted_score_is_unbiased_over_every_set_of_common_topics(n_common):
    every = every_adjustment(n_common)
    assert every.adjusted.mean().item() == pytest.approx(TRUE.mean(), abs=1e-12)
    assert every.adjustment.mean().item() == pytest.approx(DELTA.mean(), abs=1e-12)
    assert every.common_mean.mean().item() == pytest.approx(TRUE.mean(), abs=1e-12)


@pytest.mark.parametrize("n_common", [2, 3, 5])
def test_equation_3_is_exact_and_equation_7_estimates_it_without_bias(n_common):
    every = every_adjustment(n_common)
    left = (TRUE.size - n_common) / TRUE.size / n_common
    exact = left * DELTA.var(ddof=1)
    assert every.adjusted.var().item() == pytest.approx(exact, abs=1e-12)
    assert (every.standard_error**2).mean().item() == pytest.approx(exact, abs=1e-12)
    assert (every.topic_deviation**2).mean().item() == pytest.approx(DELTA.var(ddof=1), abs=1e-12)
    assert every.common_mean.var().item() == pytest.approx(left * TRUE.var(ddof=1), abs=1e-12)
    assert (every.common_mean_error**2).mean().item() == pytest.approx(
        every.common_mean.var().item(), abs=1e-12
    )


@pytest.mark.parametrize("n_common", [2, 4])
def test_equation_4_centred_on_the_estimate_is_too_large_by_n_over_n_less_one_variances(n_common):
    every = every_adjustment(n_common)
    centred = [((DELTA - a) ** 2).sum() / (TRUE.size - 1) for a in every.adjustment.values]
    excess = TRUE.size / (TRUE.size - 1) * every.adjustment.var().item()
    assert np.mean(centred) == pytest.approx(DELTA.var(ddof=1) + excess, abs=1e-12)
    assert excess > 1e-3


@given(st.sets(st.integers(0, 6), min_size=1), st.integers(0, 2**32 - 1))
def test_true_scores_on_common_topics_and_adjusted_ones_elsewhere_have_the_same_mean(places, seed):
    random = np.random.default_rng(seed)
    true, unpooled = random.uniform(size=(2, 7))
    common = np.isin(np.arange(7), list(places))
    result = adjust_by_topics(scores(true), scores(unpooled), scores(common).astype(bool), n_boot=0)
    mixed = np.where(common, true, unpooled + result.adjustment.item())
    assert result.adjusted.item() == pytest.approx(mixed.mean(), abs=1e-12)
    assert result.n_common.item() == len(places)


def test_all_topics_common_give_the_truth_without_error():
    result = adjusted(range(7), random_seed=1)
    assert result.adjusted.item() == pytest.approx(TRUE.mean(), abs=1e-12)
    assert result.standard_error.item() == 0
    assert result.confidence.item() == 1
    assert result.bootstrap_interval.values == pytest.approx([TRUE.mean()] * 2, abs=1e-12)


def test_one_common_topic_gives_an_estimate_without_error():
    result = adjusted([4], random_seed=1)
    assert result.adjustment.item() == pytest.approx(0.5)
    for name in ("standard_error", "helps", "confidence", "bootstrap_confidence"):
        assert np.isnan(result[name].item())
    assert result.interval.isnull().all()


def test_condition_6_compares_the_error_with_the_adjustment():
    result = adjusted([0, 1, 2, 4], n_boot=0)
    delta = DELTA[[0, 1, 2, 4]]
    error = np.sqrt((7 - 4) / 7 * delta.var(ddof=1) / 4)
    assert result.standard_error.item() == pytest.approx(error, abs=1e-12)
    assert result.helps.item() == (error < abs(delta.mean()))
    chance = math.erf(delta.mean() / error / math.sqrt(2))  # .68 where the two are equal
    assert result.confidence.item() == pytest.approx(chance, abs=1e-12)


ERRORS = ("standard_error", "helps", "confidence", "interval")
OF_BOOTSTRAP = ("bootstrap_interval", "bootstrap_confidence")


@pytest.mark.parametrize("bias", [0.0, 0.1])
def test_the_same_bias_on_a_few_common_topics_tells_no_error(bias):
    true = UNPOOLED + np.array([bias, bias, bias, bias, 0.3, 0.3, 0.0])  # .1 + x - x is not .1
    common = scores(np.arange(7) < 4).astype(bool)
    with pytest.warns(UserWarning, match="^1 of 1 mean scores have the same difference on all"):
        result = adjust_by_topics(scores(true), scores(UNPOOLED), common, random_seed=1)
    assert result.adjustment.item() == pytest.approx(bias, abs=1e-12)
    assert result.adjusted.item() == pytest.approx(UNPOOLED.mean() + bias, abs=1e-12)
    assert result.topic_deviation.item() == pytest.approx(0, abs=1e-12)
    for name in (*ERRORS, *OF_BOOTSTRAP):
        assert result[name].isnull().all(), name
    assert result.common_mean_error.item() > 0
    assert result.interval.attrs == {"ci_prob": 0.9, "ci_kind": "central"}
    with pytest.warns(UserWarning, match="the same difference"):
        plain = adjust_by_topics(scores(true), scores(UNPOOLED), common, n_boot=0)
    assert not set(OF_BOOTSTRAP) & set(plain.data_vars)


def test_only_the_runs_whose_common_topics_show_no_spread_lose_their_error():
    common = scores(np.arange(7) < 3).astype(bool)
    cheap = xr.concat([scores(UNPOOLED)] * 3, dim="run")
    shift = np.zeros((3, 7))
    shift[1, 2:4], shift[2] = 0.1, 0.05 * np.arange(7)
    with pytest.warns(UserWarning, match="^1 of 3 mean scores have the same difference"):
        result = adjust_by_topics(cheap + shift, cheap, common, random_seed=1)
    others = adjust_by_topics(
        cheap[1:] + shift[1:], cheap[1:], common, random_seed=1
    )  # warnings are errors
    xr.testing.assert_identical(result.isel(run=[1, 2]), others)
    assert result.standard_error.isnull().values.tolist() == [True, False, False]


def test_no_bias_on_any_topic_is_known_to_be_none_where_all_are_common():
    everyone = scores(np.ones(7)).astype(bool)
    result = adjust_by_topics(scores(UNPOOLED), scores(UNPOOLED), everyone, random_seed=1)
    assert (result.adjustment.item(), result.standard_error.item()) == (0, 0)
    assert (result.helps.item(), result.confidence.item()) == (False, 0.0)
    assert result.bootstrap_confidence.item() == 0
    assert result.interval.values.tolist() == [UNPOOLED.mean()] * 2


def test_the_bootstrap_has_the_spread_of_the_standard_error():
    result = adjusted([0, 1, 2, 3, 4], n_boot=40_000, random_seed=3, ci_prob=0.68268949)
    half = np.diff(result.bootstrap_interval.values).item() / 2
    # 5 topics: percentiles of a discrete distribution, close to one standard error each side
    assert half == pytest.approx(result.standard_error.item(), rel=0.06)
    again = adjusted([0, 1, 2, 3, 4], n_boot=40_000, random_seed=3, ci_prob=0.68268949)
    assert result.identical(again)


def test_runs_and_measures_keep_their_labels_and_do_not_mix():
    true = xr.DataArray(
        np.stack([[TRUE, TRUE[::-1]], [UNPOOLED, TRUE]]),
        dims=("measure", "run", "topic"),
        coords={"measure": ["m", "n"], "run": ["a", "b"], "topic": [str(i) for i in range(7)]},
    )
    common = xr.DataArray([True, True, True, False, False, True, False], dims="topic")
    unadjusted = 0.8 * true  # differences are not the same on all topics
    both = adjust_by_topics(true, unadjusted, common, random_seed=5)
    one = adjust_by_topics(
        true.sel(measure="n", run="b"),
        unadjusted.sel(measure="n", run="b"),
        common,
        random_seed=5,
    )
    xr.testing.assert_allclose(both.sel(measure="n", run="b"), one, rtol=1e-12)


def test_a_topic_that_a_run_lacks_is_left_out_of_its_mean():
    unpooled = UNPOOLED.copy()
    unpooled[[2, 3]] = np.nan
    common = scores([1, 1, 1, 0, 0, 0, 0]).astype(bool)
    result = adjust_by_topics(scores(TRUE), scores(unpooled), common, random_seed=1)
    kept = np.array([0, 1, 4, 5, 6])
    assert result.adjustment.item() == pytest.approx(DELTA[:2].mean())
    assert result.adjusted.item() == pytest.approx(UNPOOLED[kept].mean() + DELTA[:2].mean())
    assert (result.n_topics.item(), result.n_common.item()) == (5, 2)


def test_bootstrap_samples_without_a_topic_of_a_run_say_nothing_of_it():
    random = np.random.default_rng(1)
    unpooled = random.random((2, 20)) / 2
    true = unpooled + 0.2 + 0.01 * random.random((2, 20))
    unpooled[1, 2:15] = np.nan  # the second run has two of the ten common topics
    scored = [xr.DataArray(values, dims=("run", "topic")) for values in (true, unpooled)]
    result = adjust_by_topics(*scored, xr.DataArray(np.arange(20) < 10, dims="topic"))
    assert result.n_common.values.tolist() == [10, 2]
    np.testing.assert_array_equal(result.bootstrap_confidence, 1.0)  # as a is many errors from 0


def labelled(values, topics) -> xr.DataArray:
    return xr.DataArray(np.asarray(values), dims="topic", coords={"topic": list(topics)})


def test_a_common_topic_without_true_or_unadjusted_score_is_named_and_not_dropped():
    cheap = labelled([0.1, 0.2, 0.3, 0.4], "abcd")
    common = labelled([True, True, True], "abc")
    with pytest.raises(ValueError, match="topic 'c' is common and lacks a true score"):
        adjust_by_topics(labelled([0.5, 0.6], "ab"), cheap, common)
    true = labelled([0.5, 0.6, 0.7], "abc")
    with pytest.raises(ValueError, match="topic 'c' is common and is no topic of the unadjusted"):
        adjust_by_topics(true, cheap.sel(topic=["a", "b", "d"]), common)
    runs = {"run": ["p", "q"]}
    with pytest.raises(ValueError, match="topic 'a' is common and lacks a true score"):
        adjust_by_topics(true.expand_dims(run=["p"]), cheap.expand_dims(runs), common)


def test_labels_are_matched_whatever_their_order_and_unlisted_topics_are_not_common():
    cheap = labelled(UNPOOLED, "abcdefg")
    true = labelled(TRUE, "abcdefg")
    listed = labelled([True, True, True], "gca")
    result = adjust_by_topics(true.sel(topic=list("cga")), cheap, listed, n_boot=0)
    everything = adjust_by_topics(true, cheap, cheap.topic.isin(list("acg")), n_boot=0)
    xr.testing.assert_allclose(result, everything)
    assert (result.n_topics.item(), result.n_common.item()) == (7, 3)
    assert result.adjustment.item() == pytest.approx(DELTA[[0, 2, 6]].mean(), abs=1e-12)


def test_mistakes_are_named():
    common = scores([0] * 7).astype(bool)
    with pytest.raises(ValueError, match="at least 1"):
        adjust_by_topics(scores(TRUE), scores(UNPOOLED), common)
    true = scores(np.where(np.arange(7) == 3, np.nan, TRUE))
    with pytest.raises(ValueError, match="topic '3' is common and lacks a true score"):
        adjust_by_topics(true, scores(UNPOOLED), ~common)
    with pytest.raises(ValueError, match="ci_prob"):
        adjust_by_topics(scores(TRUE), scores(UNPOOLED), ~common, ci_prob=1.0)
    for n_boot in (-1, 2.5):
        with pytest.raises(ValueError, match="n_boot"):
            adjust_by_topics(scores(TRUE), scores(UNPOOLED), ~common, n_boot=n_boot)


def test_common_topics_without_any_score_are_refused():
    cheap = scores(UNPOOLED).where(xr.DataArray(np.arange(TRUE.size), dims="topic") > 0)
    first = xr.DataArray(np.arange(TRUE.size) == 0, dims="topic")
    with pytest.raises(ValueError, match="no common topic has a score to compare"):
        adjust_by_topics(scores(TRUE), cheap, first, random_seed=1)
