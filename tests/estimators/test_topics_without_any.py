"""Topics that have nothing relevant: whether there are any, and what the others learn of it."""

import numpy as np
import pytest
from bayeseval.estimators.counts.choice import fit_counts
from bayeseval.estimators.counts.model import CountFit
from scipy.special import expit

from bayeseval.estimators.counts import CountModel
from bayeseval.frame.sample import Sample
from tests.estimators.small_counts import grid_posterior, lacking, many_counts, topics_without_any


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_topics_may_have_nothing_relevant_where_the_counts_say_so(seed):
    counts, unsampled, none = topics_without_any(15, seed)
    levelling = np.stack([counts.slope, counts.slope])
    found = fit_counts(counts, levelling, shows_none=none).draws(unsampled, random_seed=1)
    all_have = fit_counts(counts, levelling).draws(unsampled, random_seed=1)
    number, otherwise = (d.reshape(45, 4, -1).sum(axis=1)[none] for d in (found, all_have))
    assert (number == 0.0).mean() > 0.75
    assert number.mean() < 0.5 * otherwise.mean()


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_topics_that_show_nothing_have_some_where_all_others_have(seed):
    """A few of 45 show none, as some do whose documents lie deep."""
    counts, _, none = topics_without_any(0, seed)
    counts.relevant[:8] = 0.0  # two topics
    none[:2] = True
    levelling = np.stack([counts.slope, counts.slope])
    fit = fit_counts(counts, levelling, shows_none=none)
    assert isinstance(fit, CountFit)
    np.testing.assert_array_equal(fit.hyper, fit_counts(counts, levelling).hyper)


def test_a_topic_that_shows_none_may_have_none():
    counts = lacking([1, 3])
    fit = CountFit(counts, shows_none=np.array([False, True, False, True]))
    hyper = np.array([-1.2, -0.7, 0.1, -0.4, 0.3, -0.8])
    share = expit(-0.8)
    some = np.array([grid_posterior(counts, topic, hyper[:-1])[0] for topic in range(4)])
    shows_none = share + (1.0 - share) * np.exp(some[[1, 3]])
    expected = np.log(shows_none).sum() + (np.log(1.0 - share) + some[[0, 2]]).sum()
    assert fit._likelihood(hyper)[0] == pytest.approx(expected, abs=2e-4)
    np.testing.assert_allclose(fit._other[[1, 3]], share / shows_none, atol=1e-4)
    assert (fit._other[[0, 2]] == 0.0).all()


def test_a_topic_does_not_lack_what_documents_judged_for_certain_have(monkeypatch):
    """An old pool tells nothing of the documents outside it, but that a topic has the grade."""
    fits = []
    original = CountFit

    def recorded(*args, **options):
        fits.append(original(*args, **options))
        return fits[-1]

    monkeypatch.setattr("bayeseval.estimators.counts.choice.CountFit", recorded)
    n_topics, n_documents = 6, 30
    topic, rank = (part.ravel() for part in np.mgrid[:n_topics, 1 : n_documents + 1])
    certain = rank <= 5
    one = Sample(
        pair=np.arange(topic.size),
        topic=topic.astype(np.int32),
        start=np.arange(n_topics + 1) * n_documents,
        inclusion_probability=np.where(certain, 1.0, 0.2),
        stratum=(2 * topic + ~certain).astype(np.int32),
        selected=(certain | (rank % 5 == 0))[None],
        fused_rank=rank.astype(np.int32),
        run_rank=rank[:, None].astype(np.int32),
    )
    relevant = one.selected.astype(float)
    higher = relevant * np.where(certain, topic == 0, topic >= 2)  # topic 1 shows none
    model = CountModel(one, 1, made_certain=True)
    model.level(((1.0, 2.0), (2.0,)), [relevant, higher])
    lowest, above = (fit for fit in fits if fit._counts.slope is model._cells.slope)
    assert (lowest._other == 0.0).all()
    assert above._other[1] > 0.0 and (np.delete(above._other, 1) == 0.0).all()


def test_the_gradient_knows_topics_that_may_have_none():
    counts = lacking([0, 2, 5], seed=3, n_topics=6)
    fit = CountFit(counts, shows_none=np.isin(np.arange(6), [0, 2, 5]))
    hyper = np.array([-0.9, -0.5, -0.2, -0.6, 0.4, -1.1])
    gradient = fit._loss(hyper)[1]
    step = 1e-5 * np.eye(6)
    slope = [(fit._loss(hyper + h)[0] - fit._loss(hyper - h)[0]) / 2e-5 for h in step]
    np.testing.assert_allclose(gradient, slope, rtol=5e-3, atol=5e-3)


def test_what_topics_lack_altogether_is_not_expected_of_those_that_show_none():
    """A third of the topics have none, the others like ones: by how much 1 / number is off."""
    off = np.mean([_off_where_a_third_lacks_all(seed) for seed in range(5, 13)], axis=0)
    (none, some), (none_by_normal, some_by_normal) = off
    assert abs(none) < 0.05 and abs(some) < 0.1
    assert none_by_normal < -0.1 and some_by_normal > 0.15


def _off_where_a_third_lacks_all(seed) -> list[list[float]]:
    """Of topics that show none and of those that show some; zero-inflated and not."""
    random = np.random.default_rng(seed)
    effects = random.multivariate_normal([-1.5, 0.0], [[1.0, 0.0], [0.0, 0.2]], 90)
    effects[:30, 0] = -50.0
    counts = many_counts(effects, seed=seed + 1, n_cells=6, most=4)
    p = expit(-1.0 + np.repeat(effects[:, 0], 6) + np.repeat(effects[:, 1], 6) * counts.slope)
    shows_none = counts.relevant.reshape(90, 6).sum(axis=1) == 0
    total = random.binomial(20, p, (200, 540)).reshape(200, 90, 6).sum(axis=2)
    off = []
    for inflated in (shows_none, None):
        drawn = CountFit(counts, shows_none=inflated).draws(np.full(540, 20.0), random_seed=1)
        number = drawn.reshape(90, 6, -1).sum(axis=1)
        groups = (shows_none, ~shows_none)
        off.append(
            [(1 / (5 + number[g])).mean() / (1 / (5 + total[:, g])).mean() - 1 for g in groups]
        )
    return off


def test_topics_that_have_none_do_not_speak_for_those_that_have_some():
    """Half of the topics have none, the others are normal: they are taken for normal."""
    random = np.random.default_rng(2)
    effects = random.multivariate_normal([-1.5, 0.0], [[1.0, 0.0], [0.0, 0.2]], 90)
    effects[:45, 0] = -50.0
    counts = many_counts(effects, seed=102, n_cells=6, most=4)
    shown = counts.relevant.reshape(90, 6).sum(axis=1)
    fit = CountFit(counts, shows_none=shown == 0)
    change = (fit._share * np.abs(fit._mixing - 1.0)).sum(axis=1)
    assert np.median(change[shown > 0]) < 0.1
