"""Which slope the counts are fitted with, and what is said of a fit that does not do."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from bayeseval.estimators.counts.choice import fit_counts, warn_of_dispersion
from bayeseval.estimators.counts.model import CountFit
from scipy.special import expit

from bayeseval.estimators.counts.cells import Counts
from tests.estimators.small_counts import many_counts, small_counts, topics_without_any


def test_counts_of_the_model_have_the_spread_of_chance_and_bursts_have_more():
    counts, _, _ = topics_without_any(0, 4)
    fit = CountFit(counts)
    ratio, deviations = fit.dispersion
    assert 0.7 < ratio < 1.1
    assert deviations < 2.0
    # the same by hand, each topic at the mean of its effects
    effect = (fit._share[..., None] * fit._node).sum(axis=1).repeat(4, axis=0)
    logit = counts.curve @ fit.hyper[:2] + effect[:, 0] + effect[:, 1] * counts.slope
    expected = counts.sampled * expit(logit)
    variance = expected * (1.0 - expit(logit))
    assert ratio == pytest.approx(((counts.relevant - expected) ** 2).sum() / variance.sum())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_of_dispersion(fit)
    # relevant documents that stand side by side: all of a stratum's sample is, or none
    burst = np.random.default_rng(1).random(180) < np.tile([0.5, 0.15, 0.06, 0.03], 45)
    bursts = CountFit(replace(counts, relevant=np.where(burst, counts.sampled, 0.0)))
    with pytest.warns(UserWarning, match="stand in bursts or end abruptly .* 'topic' mostly by"):
        warn_of_dispersion(bursts)


def test_a_fit_that_stops_early_says_so(monkeypatch):
    monkeypatch.setattr("bayeseval.estimators.counts.mode.MOST_STEPS", 2)
    counts = small_counts(n_topics=8, seed=5)
    with pytest.warns(UserWarning, match="did not converge.*denominator 'topic'"):
        fit = fit_counts(counts, np.stack([counts.slope, counts.slope**3]))
    assert not fit.converged


@pytest.mark.parametrize("power", [1 / 6, -1.5])
def test_the_slope_is_the_one_that_the_counts_show(power):
    """Topics that differ along the one or the other slope, twenty documents of every cell seen."""
    effects = np.random.default_rng(8).normal(0.0, [1.0, 2.0], (60, 2))
    place = np.tile(np.arange(1.0, 9.0), 60)
    slope, later, sooner = (
        (value - value.mean()) / value.std()
        for value in (place ** (1 / 6), -(place**-1.5), -(place**-4.0))
    )
    shown = slope if power > 0 else later
    topic = np.repeat(np.arange(60), 8)
    logit = -1.0 - slope + effects[topic, 0] + effects[topic, 1] * shown
    sampled = np.full(topic.size, 20.0)
    relevant = np.random.default_rng(9).binomial(20, expit(logit)).astype(float)
    curve = np.column_stack([np.ones(topic.size), slope, later])
    counts = Counts(np.arange(0, 481, 8), relevant, sampled, curve, slope)
    fit = fit_counts(counts, np.stack([later, sooner]))
    assert (fit._counts.slope == shown).all()


def test_the_evidence_judges_each_topic_by_the_others():
    """The density of the counts times, for each topic, the mean ratio of the two distributions."""
    effects = np.random.default_rng(5).normal(0.0, 0.3, (30, 2))
    effects[:10, 1] -= 3.0
    fit = CountFit(many_counts(effects, seed=6))
    ratio = (fit._share * fit._mixing).sum(axis=1)
    assert np.ptp(ratio) > 0.01
    expected = -fit._loss(fit.hyper)[0] + np.log(ratio).sum()
    assert fit.evidence == pytest.approx(expected, abs=1e-6)
    before = fit.evidence
    fit.draws(np.full(fit._counts.relevant.size, 5.0), random_seed=1)
    assert fit.evidence == before


def stated_fits(monkeypatch, normal, as_shown, converged=(True, True)) -> tuple:
    """Counts and slopes by which fits have these densities, over those by the usual slope."""

    class Stated:
        def __init__(self, counts, shows_none):
            self.place, self.n_topics = int(counts.slope[0]), counts.start.size - 1
            self.converged = (True, *converged)[self.place]
            self.log_density = (0.0, *normal)[self.place]
            self.evidence = (0.0, *as_shown)[self.place]

    monkeypatch.setattr("bayeseval.estimators.counts.choice.CountFit", Stated)
    return replace(small_counts(), slope=np.zeros(12)), np.ones((2, 12)) * [[1.0], [2.0]]


@pytest.mark.parametrize(
    ("normal", "as_shown", "converged", "chosen"),
    [
        ((20.0, 10.0), (20.0, 15.0), (True, True), 1),
        ((20.0, 10.0), (20.0, 25.0), (True, True), 2),
        ((20.0, 10.0), (20.0, 25.0), (True, False), 1),
        ((20.0, 10.0), (20.0, 25.0), (False, True), 0),
        ((20.0, 3.0), (20.0, 25.0), (True, True), 1),
        ((20.0, 10.0), (3.0, 25.0), (True, True), 0),
        ((3.0, 1.0), (20.0, 25.0), (True, True), 1),
        ((1.0, -9.0), (9.0, 9.0), (True, True), 1),
        ((-1.0, 9.0), (20.0, 25.0), (True, True), 0),
        ((20.0, 10.0), (7.0, 6.0), (True, True), 0),
    ],
)
def test_a_slope_that_levels_off_must_be_likelier_as_the_topics_show_it(
    monkeypatch, normal, as_shown, converged, chosen
):
    counts, levelling = stated_fits(monkeypatch, normal, as_shown, converged)
    assert fit_counts(counts, levelling).place == chosen


def test_of_many_judgments_a_slope_that_levels_off_must_be_likelier_still(monkeypatch):
    counts, levelling = stated_fits(monkeypatch, (10.0, 0.0), (12.0, 0.0))
    assert fit_counts(counts, levelling).place == 1
    topics = counts.start.size - 1
    many = replace(counts, sampled=counts.sampled * 200.0 * topics / counts.sampled.sum())
    assert fit_counts(many, levelling).place == 0


@pytest.mark.parametrize("normal", [(20.0, 25.0), (1.0, 9.0)])
def test_no_slope_is_taken_that_is_likelier_the_sooner_it_levels_off(monkeypatch, normal):
    """Which is told of the lowest level of relevance alone."""
    counts, levelling = stated_fits(monkeypatch, normal, (20.0, 30.0))
    with pytest.warns(UserWarning, match="differ at the very tops"):
        assert fit_counts(counts, levelling).place == 0
    assert (
        fit_counts(counts, levelling, shows_none=np.zeros(4, dtype=bool), lowest=False).place == 0
    )


def test_spam_at_the_tops_of_some_lists_is_told_and_no_reason_for_a_slope_that_levels_off():
    """A third of the topics has next to nothing relevant in its first cell."""
    random = np.random.default_rng(8)
    place = np.tile(np.arange(1.0, 13.0) ** 2, 60)
    slope, later, sooner = (
        (value - value.mean()) / value.std()
        for value in (place ** (1 / 6), -(place**-0.5), -(place**-0.75))
    )
    topic = np.repeat(np.arange(60), 12)
    spam = (topic < 20) & (place == 1.0)
    logit = -1.0 - slope + random.normal(0.0, 0.5, 60)[topic] - 6.0 * spam
    sampled = np.full(topic.size, 20.0)
    relevant = random.binomial(20, expit(logit)).astype(float)
    curve = np.column_stack([np.ones(topic.size), slope, slope**2 - 1.0])
    counts = Counts(np.arange(0, 721, 12), relevant, sampled, curve, slope)
    with pytest.warns(UserWarning, match="spam leads some of them.*AP, R@k and Rprec"):
        fit = fit_counts(counts, np.stack([later, sooner]))
    assert (fit._counts.slope == slope).all()
