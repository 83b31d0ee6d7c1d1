"""Counts of topics with few relevant documents: likelihood, posterior, and when they are taken."""

from itertools import product

import numpy as np
import pytest
from bayeseval.estimators.counts.choice import fit_counts
from bayeseval.estimators.counts.few import MOST, FewFit, _rule, are_few
from bayeseval.estimators.counts.few_kernel import expected_places, likelihood_of_few
from bayeseval.estimators.counts.model import CountFit

import bayeseval as be
from bayeseval.estimators.counts.cells import Counts


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


def test_the_likelihood_sums_over_all_choices_of_the_relevant_documents():
    counts, left = few_counts([0, 1, 2, 3], n_cells=3)
    fit, hyper = FewFit(counts, left), np.array([-0.7, np.log(0.8), 0.4, 0.3, -0.5])
    chance = fit._numbers(hyper)
    point, log_weight = _rule()
    for topic in range(4):
        inside = slice(*counts.start[topic : topic + 2])
        size = (counts.sampled[inside] + left[inside]).astype(int)
        cell = np.repeat(np.arange(3), size)
        sampled = np.concatenate([np.arange(n) < m for n, m in zip(size, (1, 2, 2), strict=True)])
        # the sampled documents of a cell that are relevant are its first ones
        first = np.concatenate([np.arange(n) for n in size])
        seen = sampled & (first < counts.relevant[inside][cell])
        likelihood = 0.0
        for u, log_share in zip(point, log_weight, strict=True):
            odds = np.exp((-0.7 * counts.curve[inside, 1] + 0.8 * u * counts.slope[inside])[cell])
            every = np.array(list(product([False, True], repeat=cell.size)))
            weight = np.where(every, odds, 1.0).prod(axis=1)
            whole = np.bincount(every.sum(axis=1), weight)
            fits = (every[:, sampled] == seen[sampled]).all(axis=1)
            number = every[fits].sum(axis=1)
            likelihood += np.exp(log_share) * (chance[number] * weight[fits] / whole[number]).sum()
        assert fit._given(hyper)[0][topic] == pytest.approx(np.log(likelihood), abs=1e-10)


def test_numbers_of_independent_documents_make_binomial_counts():
    start, size, sampled = np.array([0, 3]), np.array([2.0, 4.0, 8.0]), np.array([2.0, 2.0, 3.0])
    relevant, log_odds = np.array([1.0, 0.0, 1.0]), np.array([[0.0, -1.0, -2.0]])
    chance = 1.0 / (1.0 + np.exp(-log_odds[0]))
    numbers = np.ones(1)
    for p in np.repeat(chance, size.astype(int)):
        numbers = np.convolve(numbers, [1.0 - p, p])
    found, posterior, _ = likelihood_of_few(
        start, relevant, size - sampled, size, log_odds, np.log(numbers), np.zeros(1), True
    )
    each = relevant * np.log(chance) + (sampled - relevant) * np.log(1.0 - chance)
    assert found[0] == pytest.approx(each.sum())
    left = ((size - sampled) * chance).sum()
    assert posterior[0, 0] @ np.arange(numbers.size) == pytest.approx(2.0 + left)


def test_documents_are_expected_where_their_odds_are_and_no_more_than_there_are():
    start, left = np.array([0, 3, 5]), np.array([1.0, 5.0, 40.0, 2.0, 3.0])
    log_odds = np.array([[0.0, -1.0, -6.0, -3.0, -3.0], [0.0, 0.0, 0.0, 0.0, 0.0]])
    node, number = np.array([[0, 1], [0, 0]]), np.array([[4.0, 23.0], [0.0, 9.0]])
    out = np.zeros((5, 2))
    expected_places(start, left, log_odds, node, number, out)
    np.testing.assert_allclose(np.add.reduceat(out, start[:-1]), [[4.0, 23.0], [0.0, 5.0]])
    np.testing.assert_allclose(out[:3, 1], 0.5 * left[:3])
    odds = out[:3, 0] / left[:3] / (1.0 - out[:3, 0] / left[:3])
    np.testing.assert_allclose(np.diff(np.log(odds)), [-1.0, -5.0], atol=1e-6)
    assert (out <= left[:, None]).all()


@pytest.mark.parametrize(
    "hyper",
    [
        [-0.6, -0.3, 0.5, 0.4, -0.7],
        [-8.0, 1.5, -4.0, -5.0, 2.0],  # some documents are among the rarest
        [5.0, 2.0, 3.0, 3.0, 1.0],
        [-0.5, 4.5, 0.0, 0.0, 6.5],  # beyond what changes anything
    ],
)
def test_the_gradient_is_the_slope_of_the_log_posterior(hyper):
    fit, hyper = FewFit(*few_counts([1, 0, 3, 2, 1])), np.array(hyper)
    step = 1e-5 * np.eye(5)
    slope = [(fit._loss(hyper + h)[0] - fit._loss(hyper - h)[0]) / 2e-5 for h in step]
    np.testing.assert_allclose(fit._loss(hyper)[1], slope, rtol=1e-6, atol=1e-5)


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
    posterior = fit._given(fit.hyper)[1].sum(axis=0)
    mean = posterior @ np.arange(MOST + 1)
    sd = np.sqrt(posterior @ np.arange(MOST + 1) ** 2 - mean**2)
    every = np.concatenate(drawn, axis=1)
    np.testing.assert_allclose(every.mean(axis=1), mean, atol=0.05)
    np.testing.assert_allclose(every.std(axis=1), sd, atol=0.07)


def test_numbers_that_differ_as_topics_do_are_left_to_the_topics():
    random = np.random.default_rng(3)
    number = np.where(random.random(60) < 0.25, random.integers(8, 13, 60), 1)
    counts, left = few_counts(number, seed=7)
    assert are_few(counts, left)
    assert isinstance(fit_counts(counts, np.zeros((2, left.size)), left=left), CountFit)


def chosen(random, odds, number):
    """A choice of some documents, as if each came by its odds and their number happened to fit."""
    for _ in range(30):
        odds = odds * number / (odds / (1.0 + odds)).sum()
    while True:
        found = random.random(odds.size) < odds / (1.0 + odds)
        if found.sum() == number:
            return np.flatnonzero(found)


def test_numbers_are_known_where_they_fill_the_tops_of_lists():
    """Nearly all documents are relevant there, and no document is twice."""
    random = np.random.default_rng(2)
    n_topics, size = 150, np.array([1.0] * 6 + [2.0, 4.0, 8.0, 16.0, 32.0, 32.0])
    sampled, cell = np.minimum(size, 1.0), np.repeat(np.arange(12), size.astype(int))
    place = np.cbrt(np.arange(12))
    place = (place - place.mean()) / place.std()
    number, steepness = random.integers(1, 6, n_topics), random.normal(2.5, 0.5, n_topics)
    seen = np.zeros((n_topics, 12))
    for topic, of_topic in enumerate(number):
        relevant = chosen(random, np.exp(-steepness[topic] * place[cell]), of_topic)
        shown = random.random(of_topic) < (sampled / size)[cell[relevant]]
        np.add.at(seen[topic], cell[relevant[shown]], 1.0)
    start, tiled = np.arange(0, 12 * n_topics + 1, 12), np.tile(place, n_topics)
    columns = np.column_stack([np.ones(tiled.size), tiled])
    counts = Counts(start, seen.ravel(), np.tile(sampled, n_topics), columns, tiled)
    left = np.tile(size - sampled, n_topics)
    fits = FewFit(counts, left), CountFit(counts)
    assert fits[0].log_density > fits[1].log_density - 3.0  # -30 and less by draws with replacement
    total, usual = (
        seen.sum(axis=1) + np.add.reduceat(fit.draws(left, random_seed=1), start[:-1]).mean(axis=1)
        for fit in fits
    )
    steep = steepness > np.median(steepness)
    for kind in (steep, ~steep):
        assert total[kind].mean() == pytest.approx(number[kind].mean(), abs=0.35)
    assert np.square(total - number).mean() < 0.9 * np.square(usual - number).mean()


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
