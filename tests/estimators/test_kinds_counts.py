"""Counts of navigational topics beside others: likelihood, draws, and when they are taken."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from bayeseval.estimators.counts.choice import fit_counts
from bayeseval.estimators.counts.few import FewFit
from bayeseval.estimators.counts.kinds import HARDLY_ANY, KindsFit
from bayeseval.estimators.counts.model import CountFit
from scipy.special import expit

import bayeseval as be
from bayeseval.estimators.counts import kinds
from bayeseval.estimators.counts.cells import Counts

SIZE = np.array([1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0])
N_CELLS = SIZE.size
PLACE = np.arange(N_CELLS) - 3.0


def counts_of(n_navigational, n_others, seed=1):
    """Topics with one to three relevant documents at the top, and others with some fifty."""
    random = np.random.default_rng(seed)
    n_topics = n_navigational + n_others
    level = np.where(np.arange(n_topics) < n_navigational, -8.0, random.normal(0.2, 0.4, n_topics))
    fall = np.where(np.arange(n_topics) < n_navigational, -3.0, -0.3)
    chance = expit(level[:, None] + fall[:, None] * PLACE)
    size, sampled = np.tile(SIZE, n_topics), np.tile(np.minimum(SIZE, 4.0), n_topics)
    seen = random.binomial(sampled.astype(int), chance.ravel()).astype(float)
    start, place = np.arange(0, size.size + 1, N_CELLS), np.tile(PLACE, n_topics)
    curve = np.column_stack([np.ones(size.size), place])
    return Counts(start, seen, sampled, curve, place), size - sampled


def of_one_kind(seed):
    """Thirty topics that differ smoothly."""
    random = np.random.default_rng(seed)
    effect = random.normal(size=(30, 2)) * [1.5, 0.3]
    counts, left = counts_of(0, 30)
    chance = expit(-3.5 + effect[:, :1] + (effect[:, 1:] - 0.6) * PLACE).ravel()
    seen = random.binomial(counts.sampled.astype(int), chance).astype(float)
    return replace(counts, relevant=seen), left


def test_the_likelihood_is_that_of_the_mixture():
    counts, left = counts_of(8, 10)
    fit = KindsFit(counts, left)
    hyper = fit.hyper + 0.1
    alone = CountFit(counts)
    total = np.log(1.0 - fit._other_share(hyper)) * (~fit._may).sum()
    few = dict(zip(np.flatnonzero(fit._may), fit._few.likelihood, strict=True))
    beside = fit._beside
    for topic in range(18):
        apart = np.full(18, -np.inf)
        apart[topic] = 700.0  # certain to be of the other kind: what is left is the others'
        fit._beside = apart
        whole = fit._likelihood(hyper)[0]
        others = whole - 700.0 - np.log(fit._other_share(hyper))
        fit._beside = np.full(18, -np.inf)
        own = fit._likelihood(hyper)[0] - others  # log of (1 - q) p_count
        if topic in few:
            total += np.logaddexp(own, few[topic] + np.log(fit._other_share(hyper)))
        else:
            total += own - np.log(1.0 - fit._other_share(hyper))
    fit._beside = beside
    assert fit._likelihood(hyper)[0] == pytest.approx(total, abs=1e-8)
    assert alone._likelihood(hyper[:-1])[0] < fit.log_density


def test_slopes_are_those_of_the_log_densities():
    counts, left = counts_of(8, 10)
    fit = KindsFit(counts, left)
    few = fit._few
    few._beside = few.likelihood + np.linspace(-2.0, 2.0, few.likelihood.size)
    # the quadrature of the first is no exact integral
    for one, hyper, exact in ((fit, fit.hyper + 0.1, 1e-3), (few, few.hyper - 0.1, 1e-5)):
        slope = one._loss(hyper)[1]
        step = 1e-5 * np.eye(hyper.size)
        found = [(one._loss(hyper + d)[0] - one._loss(hyper - d)[0]) / 2e-5 for d in step]
        np.testing.assert_allclose(slope, found, rtol=exact, atol=exact)


def test_navigational_topics_are_found_and_drawn_with_a_few_documents():
    counts, left = counts_of(16, 24)
    fit = fit_counts(counts, np.tile(counts.slope, (2, 1)), left=left)
    assert isinstance(fit, KindsFit)
    np.testing.assert_array_equal(fit.few, np.arange(40) < 16)
    drawn = np.add.reduceat(fit.draws(left, random_seed=1), counts.start[:-1], axis=0)
    seen = np.add.reduceat(counts.relevant, counts.start[:-1])
    number = drawn + seen[:, None]
    assert (drawn >= 0.0).all() and (number[:16] > HARDLY_ANY).mean() < 0.05
    assert number[:16].mean() == pytest.approx(seen[:16].mean(), abs=0.5)
    usual = CountFit(counts).draws(left, random_seed=1)
    usual = np.add.reduceat(usual, counts.start[:-1], axis=0)
    assert usual[:16].mean() > 3.0 * drawn[:16].mean()  # drawn towards the others
    np.testing.assert_allclose(number[16:].mean(), (usual[16:] + seen[16:, None]).mean(), rtol=0.05)


@pytest.mark.parametrize(("n_navigational", "n_others"), [(4, 20), (20, 4), (0, 24)])
def test_few_topics_of_a_kind_are_no_kind(n_navigational, n_others):
    counts, left = counts_of(n_navigational, n_others)
    of_kinds = KindsFit(counts, left)
    assert not of_kinds.converged and of_kinds.log_density == -np.inf
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fit = fit_counts(counts, np.tile(counts.slope, (2, 1)), left=left)
    assert not isinstance(fit, KindsFit)


def test_topics_that_differ_smoothly_are_of_one_kind():
    for seed in range(4):
        counts, left = of_one_kind(seed)
        of_kinds = KindsFit(counts, left)
        assert of_kinds._may.sum() >= 5  # such topics there are
        assert of_kinds.log_density - CountFit(counts).log_density < 5.0


def test_topics_without_documents_tell_nothing_of_the_kinds():
    counts, left = counts_of(16, 24)
    fit = KindsFit(counts, left)
    wider = replace(counts, start=np.append(counts.start, np.full(40, counts.start[-1])))
    with_empty = KindsFit(wider, left)
    assert with_empty.log_density == pytest.approx(fit.log_density, abs=1e-6)
    np.testing.assert_allclose(with_empty.hyper, fit.hyper, atol=1e-3)
    counts, left = counts_of(16, 3)
    wider = replace(counts, start=np.append(counts.start, np.full(5, counts.start[-1])))
    assert not KindsFit(wider, left).converged  # three topics are no kind


def test_topics_are_of_the_kind_that_they_are_where_the_hyperparameters_are_set():
    counts, left = counts_of(16, 24)
    fit = KindsFit(counts, left)
    fit._likelihood(np.append(fit.hyper[:-1], -200.0))  # as draws leave it elsewhere
    np.testing.assert_array_equal(fit.few, np.arange(40) < 16)


def test_the_density_is_that_of_both_kinds_after_the_last_round(monkeypatch):
    monkeypatch.setattr(kinds, "ROUNDS", 1)  # in which little is settled
    counts, left = of_one_kind(1)
    fit = KindsFit(counts, left)
    np.testing.assert_array_equal(fit._beside[fit._may], fit._few.likelihood)
    assert -fit._loss(fit.hyper)[0] == pytest.approx(fit.log_density, abs=1e-6)


def test_two_kinds_are_found_where_the_search_for_each_ended(monkeypatch):
    counts, left = counts_of(8, 10)
    assert KindsFit(counts, left).converged

    class Lost(FewFit):
        def _search(self, start, unit):
            super()._search(start, unit)
            self.converged = False

    monkeypatch.setattr(kinds, "FewFit", Lost)
    assert not KindsFit(counts, left).converged


def test_a_number_that_falls_has_none_likelier_than_the_one_before():
    counts, left = counts_of(12, 0)
    fit = FewFit(counts, left, most=HARDLY_ANY, falling=True)
    numbers = fit._numbers(np.append(fit.hyper[:-2], [3.0, -2.0]))
    assert numbers.size == HARDLY_ANY + 1 and (np.diff(numbers[1:]) <= 1e-12).all()


def mixed(seed):
    """Twelve topics with one to three relevant documents, twelve with a hundred, twelve hard."""
    random = np.random.default_rng(seed)
    qrels, runs = {}, {f"run{number}": {} for number in range(8)}
    for topic in range(36):
        number, ease = ((random.integers(1, 4), 3.0), (100, 1.5), (15, 0.6))[topic % 3]
        relevant = np.arange(1500) < number
        quality = ease * relevant * random.gamma(6.0, 1.0 / 6.0, 1500)
        common = 0.6 * random.normal(size=1500)
        for skill, of_run in zip(np.linspace(0.9, 1.5, 8), runs.values(), strict=True):
            score = skill * quality + common + 0.7 * random.normal(size=1500)
            best = np.argsort(-score)[:150]
            of_run[f"q{topic}"] = {f"d{d}": float(score[d]) for d in best}
        found = set().union(*(of_run[f"q{topic}"] for of_run in runs.values()))
        qrels[f"q{topic}"] = {d: int(int(d[1:]) < number) for d in found}
    return be.read_collection(qrels, runs)


def test_a_third_of_navigational_topics_leaves_intervals_as_they_should_be():
    """Both were 1.3 standard errors too low, and held .66, where all topics were of one kind."""
    off, inside = [], []
    for seed in range(3):
        complete = mixed(seed)
        truth = be.evaluate(complete, ["AP", "nDCG@10"], estimator="assumed").estimate.mean("topic")
        design = be.designs.pps_strata(complete, budget=60)
        selected = be.draw(design, n_replicates=4, random_seed=seed)
        scores = be.evaluate(
            be.reveal(complete, design, selected), ["AP", "nDCG@10"], estimator="dyn"
        )
        mean = be.mean_over_topics(scores)
        off.append(((mean.estimate - truth) / mean.standard_error).mean().item())
        lower, upper = mean.interval.transpose("ci_bound", ...)
        inside.append(((lower <= truth) & (truth <= upper)).mean().item())
    assert abs(np.mean(off)) < 0.6
    assert np.mean(inside) > 0.9
