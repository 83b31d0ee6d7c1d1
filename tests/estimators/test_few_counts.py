"""Counts of topics with few relevant documents: likelihood, posterior, and when they are taken."""

from itertools import product
from math import factorial

import numpy as np
import pytest
from scipy.stats import multinomial, poisson

import bayeseval as be
from bayeseval.estimators.counts.cells import Counts
from bayeseval.estimators.counts.choice import fit_counts
from bayeseval.estimators.counts.few import MOST, FewFit, are_few
from bayeseval.estimators.counts.model import CountFit


def few_counts(number, seed=1, n_cells=6):
    """Relevant documents that fall on the cells of each topic, some of which are sampled."""
    random = np.random.default_rng(seed)
    n = len(number) * n_cells
    size = np.tile(np.array([1.0, 2.0, 4.0, 8.0, 16.0, 32.0])[:n_cells], len(number))
    place = np.tile(np.arange(n_cells) - (n_cells - 1) / 2, len(number))
    sampled = np.minimum(size, 2.0)
    cell = np.repeat(np.arange(n_cells), size[:n_cells].astype(int))
    chance = np.exp(-0.6 * place[cell])
    seen = np.zeros(n)
    for topic, of_topic in enumerate(number):
        relevant = random.choice(cell.size, of_topic, replace=False, p=chance / chance.sum())
        shown = random.random(of_topic) < (sampled / size)[cell[relevant]]
        np.add.at(seen, topic * n_cells + cell[relevant[shown]], 1.0)
    start = np.arange(0, n + 1, n_cells)
    left = size - sampled
    return Counts(start, seen, sampled, np.column_stack([np.ones(n), place]), place), left


def test_the_likelihood_sums_over_numbers_and_the_places_of_those_that_were_not_sampled():
    counts, left = few_counts([0, 1, 2, 3], n_cells=2)
    fit, hyper = FewFit(counts, left), np.array([-0.7, 0.4, 0.3, -0.5])
    chance = fit._numbers(hyper)
    for topic in range(4):
        inside = slice(*counts.start[topic : topic + 2])
        seen = counts.relevant[inside].astype(int)
        odds = np.exp(-0.7 * counts.curve[inside, 1])
        size = counts.sampled[inside] + left[inside]
        share = odds / (odds * size).sum()
        cells = np.concatenate([counts.sampled[inside] * share, left[inside] * share])
        ways = np.prod(counts.sampled[inside] ** seen / [factorial(k) for k in seen])
        likelihood = 0.0
        for unseen in product(range(MOST + 1), repeat=2):
            placed = np.concatenate([seen, unseen])
            if placed.sum() <= MOST and (left[inside][np.array(unseen) > 0] > 0).all():
                likelihood += chance[placed.sum()] * multinomial.pmf(placed, placed.sum(), cells)
        assert fit._given(hyper)[0][topic] == pytest.approx(np.log(likelihood / ways), abs=1e-10)


def test_poisson_numbers_make_independent_poisson_counts():
    counts, left = few_counts([0, 2, 1])
    fit, hyper = FewFit(counts, left), np.array([-1.1, -np.log(1.7), np.log(1.7 / 2.0), 0.0])
    share = fit._shares(hyper)[0]
    expected = poisson.logpmf(counts.relevant, 1.7 * share * counts.sampled)
    ways = counts.relevant * np.log(counts.sampled) - np.log(
        [factorial(int(k)) for k in counts.relevant]
    )
    by_topic = np.add.reduceat(expected - ways, counts.start[:-1])
    np.testing.assert_allclose(fit._given(hyper)[0], by_topic, atol=1e-12)


def test_the_gradient_is_the_slope_of_the_log_posterior():
    fit, hyper = FewFit(*few_counts([1, 0, 3, 2, 1])), np.array([-0.6, 0.5, 0.4, -0.7])
    step = 1e-5 * np.eye(4)
    slope = [(fit._loss(hyper + h)[0] - fit._loss(hyper - h)[0]) / 2e-5 for h in step]
    np.testing.assert_allclose(fit._loss(hyper)[1], slope, rtol=1e-6, atol=1e-7)


def test_where_each_topic_has_one_no_second_is_looked_for():
    counts, left = few_counts([1] * 40)
    fit = fit_counts(counts, np.zeros((2, left.size)), left=left)
    assert isinstance(fit, FewFit)
    seen = np.add.reduceat(counts.relevant, counts.start[:-1])
    assert 10 < seen.sum() < 35
    total = seen[:, None] + np.add.reduceat(fit.draws(left, random_seed=1), counts.start[:-1])
    assert total.mean() == pytest.approx(1.0, abs=0.15)
    usual = np.add.reduceat(CountFit(counts).draws(left, random_seed=1), counts.start[:-1])
    assert total[seen == 1].mean() - 1.0 < 0.4 * usual[seen == 1].mean()


def test_draws_have_the_posterior_of_the_numbers():
    counts, left = few_counts([0, 1, 1, 2, 3, 1, 0, 2])
    fit = FewFit(counts, left)
    fit._root = np.zeros_like(fit._root)  # the hyperparameters stand where they are set
    seen = np.add.reduceat(counts.relevant, counts.start[:-1])
    drawn = [
        seen[:, None] + np.add.reduceat(fit.draws(left, random_seed=s), counts.start[:-1])
        for s in range(40)
    ]
    posterior = fit._given(fit.hyper)[1]
    mean = posterior @ np.arange(MOST + 1)
    sd = np.sqrt(posterior @ np.arange(MOST + 1) ** 2 - mean**2)
    every = np.concatenate(drawn, axis=1)
    np.testing.assert_allclose(every.mean(axis=1), mean, atol=0.05)
    np.testing.assert_allclose(every.std(axis=1), sd, atol=0.07)


def test_numbers_that_differ_as_topics_do_are_left_to_the_topics():
    random = np.random.default_rng(3)
    number = np.where(random.random(60) < 0.25, random.poisson(7.0, 60), 0)
    counts, left = few_counts(number, seed=4)
    assert are_few(counts, left)
    assert isinstance(fit_counts(counts, np.zeros((2, left.size)), left=left), CountFit)


@pytest.mark.parametrize("number", [[40] * 12, [1] * 10 + [60] * 2])
def test_many_relevant_documents_are_not_few(number):
    counts, left = few_counts(number)
    assert not are_few(counts, left)


def known_items(seed):
    """Forty queries of one relevant document each, three runs, and a sample of 20 documents."""
    random = np.random.default_rng(seed)
    qrels, runs = {}, {name: {} for name in "abc"}
    for topic in range(40):
        relevant, common = np.arange(100) == 0, random.normal(size=100)
        for skill, of_run in zip((2.2, 1.8, 1.4), runs.values(), strict=True):
            score = skill * relevant + 0.6 * common + 0.8 * random.normal(size=100)
            order = np.argsort(-score)[:40]
            of_run[f"q{topic}"] = {f"d{d}": float(score[d]) for d in order}
        found = set().union(*(of_run[f"q{topic}"] for of_run in runs.values()))
        qrels[f"q{topic}"] = {d: int(d == "d0") for d in found}
    return be.read_collection(qrels, runs)


@pytest.mark.parametrize("estimator", ["stat", "dyn"])
def test_known_items_are_scored_without_a_bias_and_hold(estimator):
    off, inside, error = [], [], []
    for seed in range(6):
        complete = known_items(seed)
        measures = ["AP", "nDCG@10", "R@10"]
        truth = be.mean_over_topics(be.evaluate(complete, measures, estimator="assumed"))
        design = be.designs.pps_strata(complete, budget=20)
        sampled = be.reveal(complete, design, be.draw(design, random_seed=seed))
        mean = be.mean_over_topics(be.evaluate(sampled, measures, estimator=estimator))
        off.append((mean.estimate - truth.estimate).to_numpy())
        error.append(mean.raised_error.to_numpy())
        lower, upper = mean.interval.transpose("ci_bound", ...).to_numpy()
        inside.append((lower <= truth.estimate.to_numpy()) & (truth.estimate.to_numpy() <= upper))
    assert np.abs(np.mean(off, axis=(0, 2))).max() < 0.03  # -.04 to -.11 by independent counts
    assert np.mean(inside) > 0.93
    assert np.min(error) > 0.02  # by stat .005 where errors of denominators hid what was not seen
