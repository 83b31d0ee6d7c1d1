"""Counts where a share of the relevant documents is scattered over the lists."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
from bayeseval.estimators.counts.choice import _are_scattered, fit_counts
from bayeseval.estimators.counts.model import CountFit, _covariance
from bayeseval.estimators.counts.scattered import ScatteredFit
from scipy.special import expit

from bayeseval.estimators.counts.cells import Counts
from bayeseval.estimators.counts.kernel import scattered_slopes

SIZE = np.round(5 * 1.26 ** np.arange(20))  # documents of a topic's cells
N_SAMPLED = 5.0


def lists(n_topics: int, share: float, seed: int, abrupt: bool = True):
    """Counts of samples, slopes that level off, documents left, and relevant among these.

    Systems find a set of documents, half to nine tenths relevant, or ever fewer down their lists;
    a share of the relevant documents lies anywhere.
    """
    random = np.random.default_rng(seed)
    last = np.cumsum(SIZE)
    rank = last - SIZE / 2 + 0.5
    relevant, left = [], []
    for _ in range(n_topics):
        number = np.exp(random.normal(3.5, 0.8))
        precision = random.uniform(0.5, 0.9)
        end = (1.0 - share) * number / precision
        if abrupt:
            p = precision * np.clip((end - last + SIZE) / SIZE, 0.0, 1.0)
        else:
            p = precision * expit(1.5 * np.log(end / rank))
        p = 1.0 - (1.0 - p) * (1.0 - share * number / last[-1])
        relevant.append(random.binomial(int(N_SAMPLED), p))
        left.append(random.binomial((SIZE - N_SAMPLED).astype(int), p))
    whole = np.tile(rank, n_topics)
    log_rank = np.log(whole)
    columns = [np.ones(whole.size), np.cbrt(whole), log_rank]
    for column in columns[1:]:
        column -= column.mean()
        column /= column.std()
    curve = np.column_stack([*columns, columns[2] ** 2 - 1.0])
    slope, *levelling = (
        (value - value.mean()) / value.std()
        for value in (whole ** (1.0 / 6.0), -(whole**-0.5), -(whole**-0.75))
    )
    counts = Counts(
        np.arange(0, whole.size + 1, SIZE.size),
        np.concatenate(relevant).astype(float),
        np.full(whole.size, N_SAMPLED),
        curve,
        slope,
    )
    rest = np.tile(SIZE - N_SAMPLED, n_topics)
    return counts, np.array(levelling), rest, np.array(left).sum(axis=1)


@dataclass
class Stated:
    """What is asked of a fit before it is taken."""

    log_density: float
    evidence: float
    converged: bool = True
    n_topics: int = 60


@pytest.fixture(scope="module")
def abrupt():
    counts, _, rest, _ = lists(12, 0.3, seed=1)
    usual = CountFit(counts)
    return counts, rest + N_SAMPLED, usual, ScatteredFit(counts, rest + N_SAMPLED, usual)


def integral(counts, size, hyper) -> float:
    """Log likelihood by a fine grid of every topic's effects, as the formulas say it."""
    part = np.exp(hyper[-1])
    axis = np.linspace(-8.0, 8.0, 241)
    first, second = (grid.ravel() for grid in np.meshgrid(axis, axis, indexing="ij"))
    root = np.linalg.cholesky(_covariance(hyper[4:7]))
    u0, u1 = root[0, 0] * first, root[1, 0] * first + root[1, 1] * second
    prior = -0.5 * (first**2 + second**2) - np.log(2.0 * np.pi) + 2.0 * np.log(axis[1] - axis[0])
    total = 0.0
    for begin, end in zip(counts.start[:-1], counts.start[1:], strict=True):
        own = slice(begin, end)
        eta = (counts.curve[own] @ hyper[:4])[:, None] + u0 + counts.slope[own, None] * u1
        p = expit(eta)
        rate = part * (size[own] @ p) / size[own].sum()
        p = 1.0 - (1.0 - p) * np.exp(-rate)
        k, n = counts.relevant[own, None], counts.sampled[own, None]
        density = (k * np.log(p) + (n - k) * np.log1p(-p)).sum(axis=0) + prior
        total += np.log(np.exp(density - density.max()).sum()) + density.max()
    return total


def test_the_likelihood_is_the_integral_on_a_fine_grid(abrupt):
    counts, size, _, fit = abrupt
    for hyper in (fit.hyper, fit.hyper + 0.2):
        assert fit._likelihood(hyper)[0] == pytest.approx(integral(counts, size, hyper), abs=0.05)


def test_next_to_none_scattered_is_the_usual_likelihood(abrupt):
    _, _, usual, fit = abrupt
    hyper = np.append(usual.hyper, -9.9)
    assert fit._likelihood(hyper)[0] == pytest.approx(usual._likelihood(usual.hyper)[0], abs=0.02)


def test_the_gradient_is_the_slope_of_the_log_posterior(abrupt):
    fit = abrupt[-1]
    hyper = fit.hyper + 0.1
    step = 1e-5 * np.eye(hyper.size)
    slope = [(fit._loss(hyper + h)[0] - fit._loss(hyper - h)[0]) / 2e-5 for h in step]
    np.testing.assert_allclose(fit._loss(hyper)[1], slope, rtol=0.01, atol=0.02)


def test_the_slopes_of_a_topic_are_those_of_its_counts():
    random = np.random.default_rng(2)
    eta, slope = random.normal(-1.0, 1.0, 6), random.normal(size=6)
    sampled = np.array([5.0, 0.0, 3.0, 8.0, 2.0, 5.0])
    relevant = np.array([4.0, 0.0, 1.0, 0.0, 0.0, 1.0])
    weight = 0.5 * np.arange(1.0, 7.0) / 21.0

    def whole(u):
        p = expit(eta + u[0] + u[1] * slope)
        return 1.0 - (1.0 - p) * np.exp(-weight @ p)

    def value(u):
        return relevant @ np.log(whole(u)) + (sampled - relevant) @ np.log1p(-whole(u))

    at, step = np.array([0.3, -0.4]), 1e-5 * np.eye(2)
    g0, g1, h00, h01, h11 = scattered_slopes(relevant, sampled, eta, slope, weight, *at)
    numerical = [(value(at + h) - value(at - h)) / 2e-5 for h in step]
    np.testing.assert_allclose([g0, g1], numerical, rtol=1e-6)
    change = np.array([(whole(at + h) - whole(at - h)) / 2e-5 for h in step])
    information = (change * sampled / whole(at) / (1.0 - whole(at))) @ change.T
    np.testing.assert_allclose([[h00, h01], [h01, h11]], information, rtol=1e-6)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_lists_that_end_abruptly_have_their_scattered_documents(seed):
    """Topics with few relevant documents get a fifth too few without a share of them."""
    counts, levelling, rest, left = lists(80, 0.3, seed)
    fit = fit_counts(counts, levelling, left=rest)
    assert isinstance(fit, ScatteredFit)
    assert 0.15 < expit(fit.hyper[-1]) < 0.4

    def off(fit):
        drawn = fit.draws(rest, random_seed=1)
        totals = np.add.reduceat(drawn, counts.start[:-1], axis=0).mean(axis=1)
        few = left <= np.median(left)
        return totals[few].sum() / left[few].sum() - 1.0

    assert off(CountFit(counts)) < -0.15
    assert abs(off(fit)) < 0.15
    assert fit.dispersion[0] < CountFit(counts).dispersion[0]


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_lists_that_fade_have_no_scattered_documents(seed):
    counts, levelling, rest, _ = lists(80, 0.0, seed, abrupt=False)
    assert not isinstance(fit_counts(counts, levelling, left=rest), ScatteredFit)


def test_a_topic_without_documents_changes_nothing():
    """Neither the last one nor one in the middle."""
    counts, levelling, rest, _ = lists(80, 0.3, seed=1)
    fit = fit_counts(counts, levelling, left=rest)
    start = np.concatenate([counts.start[:5], counts.start[4:], counts.start[-1:]])
    more = fit_counts(replace(counts, start=start), levelling, left=rest)
    assert isinstance(more, ScatteredFit)
    assert more.log_density == pytest.approx(fit.log_density, abs=1e-3)


def test_scattered_documents_must_be_likelier_for_each_topic():
    usual, later = Stated(0.0, 0.0), Stated(-20.0, -20.0)
    for n_topics, least in ((10, 13.0), (60, 13.0), (120, 26.0)):
        usual.n_topics = n_topics
        assert _are_scattered(Stated(least + 0.1, least + 0.1), usual, later)
        assert not _are_scattered(Stated(least - 0.1, 99.0), usual, later)
        assert not _are_scattered(Stated(99.0, least - 0.1), usual, later)


def test_scattered_documents_must_be_far_likelier_than_a_slope_that_levels_off():
    usual, later = Stated(0.0, 0.0), Stated(0.0, 10.0)
    assert _are_scattered(Stated(51.0, 51.0), usual, later)
    assert not _are_scattered(Stated(51.0, 49.0), usual, later)
    assert _are_scattered(Stated(51.0, 49.0), usual, Stated(0.0, 10.0, converged=False))


def test_where_a_tenth_scattered_makes_the_counts_less_likely_none_is_looked_for():
    counts, _, rest, _ = lists(80, 0.0, seed=3, abrupt=False)
    fit = ScatteredFit(counts, rest + N_SAMPLED, CountFit(counts))
    assert not fit.converged
    assert fit.log_density == -np.inf


def test_a_search_that_goes_astray_has_finite_densities_and_finds_back(abrupt):
    counts, size, usual, _ = abrupt
    fit = ScatteredFit(counts, size, usual)
    there = fit._loss(fit.hyper)[0]
    for far in (1e2, 1e4, 1e8):
        value, gradient = fit._loss(far * np.sign(fit.hyper))
        assert np.isfinite(value)
        assert np.isfinite(gradient).all()
    assert fit._loss(fit.hyper)[0] == pytest.approx(there, abs=1e-6)


def test_the_share_moves_with_the_other_hyperparameters(abrupt):
    _, _, usual, fit = abrupt
    assert fit.n_hyper == usual.n_hyper
    placed = np.array([fit._placed(along) for along in np.eye(fit.n_hyper)])
    assert np.ptp(placed[:, -1]) > 0.1
