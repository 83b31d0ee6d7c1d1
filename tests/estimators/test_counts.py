"""The counts of all topics: likelihood, search, and posterior draws."""

from dataclasses import replace

import numpy as np
import pytest
from bayeseval.estimators.counts.choice import fit_counts
from bayeseval.estimators.counts.mode import draw_directions
from bayeseval.estimators.counts.model import CountFit
from bayeseval.estimators.counts.start import quasi_likelihood
from scipy.optimize import minimize
from scipy.special import expit
from scipy.stats import multivariate_normal

from bayeseval.estimators.counts import model
from bayeseval.estimators.counts.cells import Counts
from bayeseval.estimators.counts.kernel import (
    likelier_by_others,
    place_densities,
    place_nodes,
    topic_mode,
    unsampled_relevant,
    widened,
)
from tests.estimators.small_counts import grid_posterior, many_counts, small_counts


def test_the_quadrature_is_the_integral_on_a_fine_grid():
    counts = small_counts()
    fit = CountFit(counts)
    hyper = np.array([-1.2, -0.7, 0.1, -0.4, 0.3])
    grid = sum(grid_posterior(counts, topic, hyper)[0] for topic in range(4))
    assert fit._likelihood(hyper)[0] == pytest.approx(grid, abs=2e-4)


def test_densities_at_nodes_are_sums_of_logarithms_however_they_are_added():
    """Few and many sampled documents of a cell, parts of documents, and logits far out."""
    sampled = np.array([1.0, 3.0, 8.0, 2.5, 40.0, 300.0, 7.0, 2.0, 0.0, 8.0, 8.0])
    relevant = np.array([0.0, 3.0, 5.0, 1.25, 2.0, 280.0, 7.0, 0.0, 0.0, 8.0, 8.0])
    eta = np.array([-1.0, 0.5, 1.0, -0.2, -3.0, 2.0, 400.0, -400.0, 0.0, 55.0, 60.0])
    slope = np.linspace(-1.5, 1.5, sampled.size)
    precision = np.array([[1.5, 0.3], [0.3, 0.8]])
    point, mode, root = model._rule()[0], np.array([0.3, -0.2]), (0.7, -0.2, 0.9)
    node = np.stack(np.meshgrid(point, point, indexing="ij"), axis=-1).reshape(-1, 2)
    node = mode + node @ np.array([[root[0], root[1]], [0.0, root[2]]])
    p, density = np.zeros((sampled.size, len(node))), np.zeros(len(node))
    place_densities(relevant, sampled, eta, slope, precision, mode, root, point, node, p, density)
    logit = eta[:, None] + node[:, 0] + slope[:, None] * node[:, 1]
    prior = -0.5 * np.einsum("jd,de,je->j", node, precision, node)
    expected = relevant @ logit - sampled @ np.logaddexp(0.0, logit) + prior
    np.testing.assert_allclose(density, expected, rtol=1e-11)
    np.testing.assert_allclose(p, np.where(sampled[:, None] > 0, expit(logit), 0.0), atol=1e-14)


def test_the_gradient_is_the_slope_of_the_log_posterior():
    fit = CountFit(small_counts(n_topics=6, seed=3))
    hyper = np.array([-0.9, -0.5, -0.2, -0.6, 0.4])
    gradient = fit._loss(hyper)[1]
    step = 1e-5 * np.eye(5)
    slope = [(fit._loss(hyper + h)[0] - fit._loss(hyper - h)[0]) / 2e-5 for h in step]
    np.testing.assert_allclose(gradient, slope, rtol=5e-3, atol=5e-3)


def test_the_fit_is_at_the_top_of_the_log_posterior():
    fit = CountFit(small_counts(n_topics=8, seed=5))
    assert np.abs(fit._loss(fit.hyper)[1]).max() < 0.02


@pytest.mark.parametrize("lacking", [False, True])
def test_the_search_ends_where_one_from_afar_does(lacking):
    counts = small_counts(n_topics=20, n_cells=6, seed=5)
    relevant = counts.relevant * ~np.repeat(np.arange(20) % 4 == 1, 6)
    none = np.add.reduceat(relevant, counts.start[:-1]) == 0.0
    fit = CountFit(replace(counts, relevant=relevant), shows_none=none if lacking else None)
    hyper, log_density = fit.hyper, fit.log_density
    afar = np.append(np.zeros(fit.n_hyper), [-1.0] * lacking)
    fit._search(afar, np.eye(afar.size))
    assert fit.log_density == pytest.approx(log_density, abs=1e-4)
    np.testing.assert_allclose(fit.hyper, hyper, atol=0.01)


def test_the_search_begins_at_the_mode_of_coefficients_and_effects():
    counts = small_counts(n_topics=20, n_cells=6, seed=5)
    prior_sd, effect_sd = np.full(counts.curve.shape[1], 5.0), np.array([1.0, 0.6])
    beta, root = quasi_likelihood(counts, prior_sd, effect_sd)
    topic = np.repeat(np.arange(20), 6)

    def loss(value):
        effect = value[beta.size :].reshape(20, 2)
        eta = counts.curve @ value[: beta.size] + effect[topic, 0] + effect[topic, 1] * counts.slope
        of_counts = counts.relevant * eta - counts.sampled * np.logaddexp(0.0, eta)
        prior = np.square(value[: beta.size] / prior_sd).sum() + np.square(effect / effect_sd).sum()
        return 0.5 * prior - of_counts.sum()

    found = minimize(loss, np.zeros(beta.size + 40))
    np.testing.assert_allclose(beta, found.x[: beta.size], atol=0.02)
    np.testing.assert_allclose(root @ root.T, found.hess_inv[: beta.size, : beta.size], atol=0.05)


def test_the_search_begins_at_the_prior_where_there_are_no_documents():
    none = np.zeros(0)
    counts = Counts(np.zeros(3, dtype=np.int64), none, none, np.zeros((0, 2)), none)
    beta, root = quasi_likelihood(counts, np.array([10.0, 5.0]), np.ones(2))
    np.testing.assert_allclose(beta, 0.0, atol=1e-12)
    np.testing.assert_allclose(root @ root.T, np.diag([100.0, 25.0]))


def test_topics_without_documents_do_not_move_where_the_search_begins():
    counts = small_counts(n_topics=20, n_cells=6, seed=5)
    more = replace(counts, start=np.insert(counts.start, [0, 7, 21], [0, counts.start[7], 120]))
    given = np.full(counts.curve.shape[1], 5.0), np.ones(2)
    for one, other in zip(quasi_likelihood(counts, *given), quasi_likelihood(more, *given)):
        np.testing.assert_array_equal(one, other)


def test_three_slopes_that_are_one_are_the_usual_one():
    """Half of the topics have none, half are relevant throughout: two modes of their share."""
    relevant = np.tile([0.0, 5000.0], 30)
    counts = Counts(np.arange(61), relevant, np.full(60, 5000.0), np.ones((60, 1)), np.zeros(60))
    fit = fit_counts(counts, np.zeros((2, 60)), shows_none=relevant == 0.0, lowest=False)
    assert fit._counts is counts


def test_the_mode_of_a_topic_is_found_where_newton_goes_to_and_fro():
    """Between the two flat ends of a steep curve."""
    relevant, sampled, eta, slope = (np.array([x]) for x in (70.0, 300.0, 5.174, 0.479))
    precision = np.array([[6.173, 2.262], [2.262, 0.8706]])
    mode = np.array([-16.34, -8.77])
    topic_mode(relevant, sampled, eta, slope, np.zeros(0), precision, mode)
    residual = relevant - sampled * expit(eta + mode[0] + mode[1] * slope)
    gradient = np.array([residual.sum(), residual @ slope]) - precision @ mode
    np.testing.assert_allclose(gradient, 0.0, atol=1e-5)


def test_draws_have_the_moments_of_the_enumerated_posterior():
    """Hyperparameters held still: number of relevant among 6 unsampled, by grid and binomials."""
    counts = small_counts(seed=7)
    fit = CountFit(counts)
    fit._root = np.zeros_like(fit._root)
    fit._mixing = np.ones_like(fit._mixing)
    unsampled = np.full(counts.relevant.size, 2.0)
    draws = fit.draws(unsampled, random_seed=2)
    for topic in range(4):
        inside = slice(*counts.start[topic : topic + 2])
        _, mass, u0, u1 = grid_posterior(counts, topic, fit.hyper)
        eta = counts.curve[inside] @ fit.hyper[:-3]
        p = [expit(base + u0 + u1 * z) for base, z in zip(eta, counts.slope[inside], strict=True)]
        pmf = np.zeros((7, *u0.shape))
        pmf[0] = 1.0
        for chance in p:
            for _ in range(2):
                pmf[1:] = pmf[1:] * (1 - chance) + pmf[:-1] * chance
                pmf[0] *= 1 - chance
        exact = (pmf * mass).sum(axis=(1, 2))
        number = np.arange(7)
        mean = exact @ number
        total = draws[inside].sum(axis=0)
        np.testing.assert_allclose(total, np.round(total), atol=1e-9)
        assert total.mean() == pytest.approx(mean, abs=0.12)
        assert total.var() == pytest.approx(exact @ (number - mean) ** 2, rel=0.2)


def test_where_every_document_is_relevant_for_certain_all_are():
    out = np.zeros((2, 3))
    unsampled_relevant(
        np.array([0, 2]),
        np.full((2, 3), 4.0),
        np.array([50.0, 40.0]),  # expit of both is 1
        np.zeros(2),
        np.zeros(0),
        np.zeros((1, 1, 2)),
        np.ones((1, 1)),
        np.zeros(1),
        np.full((3, 2), 0.5),
        np.array([-1.0, 0.0, 1.0]),
        np.zeros((1, 2)),
        out,
    )
    np.testing.assert_array_equal(out, 4.0)


def test_hyperparameters_that_a_line_search_tries_far_out_have_a_finite_density():
    fit = CountFit(small_counts())
    for far in ([0.0, -1000.0, 0.0], [1000.0, 0.0, 0.0], [0.0, 0.0, -25.0]):
        value, gradient = fit._loss(np.concatenate([fit.hyper[:-3], far]))
        assert value > fit._loss(fit.hyper)[0]
        assert np.isfinite([value, *gradient]).all()


def test_topics_that_are_normal_stay_so():
    random = np.random.default_rng(3)
    effects = random.multivariate_normal([0.0, 0.0], [[1.0, 0.3], [0.3, 0.5]], 80)
    fit = CountFit(many_counts(effects, seed=4))
    change = (fit._share * np.abs(fit._mixing - 1.0)).sum(axis=1)
    assert np.median(change) < 0.1


def test_topics_of_two_kinds_are_known_by_their_kind():
    """Two thirds end abruptly, the others hardly fade; of the deep cells two documents are seen."""
    random = np.random.default_rng(5)
    kind = np.where(random.random(60) < 2 / 3, -2.5, 0.5)
    effects = np.column_stack([random.normal(0, 0.5, 60), kind + random.normal(0, 0.2, 60)])
    complete = many_counts(effects, seed=6)
    sampled = np.where(complete.slope < -0.5, complete.sampled, 2.0)
    seen = random.hypergeometric(
        complete.relevant.astype(int), (30 - complete.relevant).astype(int), sampled.astype(int)
    ).astype(float)
    fit = CountFit(Counts(complete.start, seen, sampled, complete.curve, complete.slope))
    missed = np.add.reduceat(complete.relevant - seen, complete.start[:-1])

    def error(fit):
        drawn = fit.draws(complete.sampled - sampled, random_seed=1)
        found = np.add.reduceat(drawn, complete.start[:-1]).mean(axis=1)
        return np.sqrt(np.mean((found - missed) ** 2))

    mixed = error(fit)
    fit._mixing = np.ones_like(fit._mixing)
    assert mixed < 0.95 * error(fit)


def navigational(n_topics: int, n_rich: int) -> tuple[Counts, np.ndarray]:
    """Topics with one relevant document, in the first cell, before rich ones; what is unsampled."""
    random = np.random.default_rng(0)
    size = np.array([5, 5, 8, 12, 18, 27, 40, 60, 90, 135, 200, 300])
    slope = np.linspace(1.5, -1.5, size.size)
    effects = random.normal(0.0, [0.55, 0.22], (n_topics, 2))
    chance = expit(-0.5 + 1.2 * slope + effects[:, :1] + effects[:, 1:] * slope)
    relevant = random.binomial(size, chance)
    relevant[: n_topics - n_rich] = np.arange(size.size) == 0
    sampled = np.tile(np.minimum(size, 6), (n_topics, 1))
    seen = random.hypergeometric(relevant, size - relevant, sampled).ravel().astype(float)
    start, z = np.arange(0, seen.size + 1, size.size), np.tile(slope, n_topics)
    curve = np.column_stack([np.ones(z.size), z, z**2 - (z**2).mean()])
    left = np.tile(size, n_topics) - sampled.ravel()
    return Counts(start, seen, sampled.ravel().astype(float), curve, z), left.astype(float)


def left_over(counts: Counts, unsampled: np.ndarray) -> np.ndarray:
    """Relevant documents of each topic that are expected among the unsampled ones."""
    drawn = CountFit(counts).draws(unsampled, random_seed=1)
    return np.add.reduceat(drawn, counts.start[:-1]).mean(axis=1)


def test_few_topics_of_another_kind_are_not_drawn_up_to_the_rest(monkeypatch):
    """Six topics with one relevant document among 54 with some 150."""
    counts, unsampled = navigational(60, 54)
    found = left_over(counts, unsampled)
    assert found[:6].mean() < 1.2 and 100 < found[6:].mean() < 180
    monkeypatch.setattr("bayeseval.estimators.counts.mixing.MOST_STEPS", 10)
    assert left_over(counts, unsampled)[:6].mean() > 2.0


def test_hyperparameters_do_not_stand_where_the_sample_rules_them_out(monkeypatch):
    """No topic shows a second relevant document: the curve has a cliff on one side."""
    counts, unsampled = navigational(30, 0)
    assert left_over(counts, unsampled).mean() < 1.0
    monkeypatch.setattr("bayeseval.estimators.counts.mode.CLIFF", np.inf)
    assert left_over(counts, unsampled).mean() > 5.0


@pytest.mark.parametrize(
    ("n_points", "root", "known"),
    [(7, 0.7, 0.5), (3, 0.7, 0.5), (1, 0.7, 0.5), (7, 3.0, 2e-3), (7, 4.0, 0.5)],
)
def test_the_others_speak_through_their_normal_distributions(n_points, root, known):
    """However far apart the nodes are, by what the others are known: products would overflow."""
    random = np.random.default_rng(7)
    point = np.polynomial.hermite_e.hermegauss(n_points)[0]
    node, mode = np.empty((4, n_points**2, 2)), random.normal(size=(4, 2))
    for topic in range(4):
        place_nodes(mode[topic], np.array([1.0, -0.3, 0.8]) / root**2, point, node[topic])
    share = random.dirichlet(np.ones(n_points**2), 4)
    covariance = np.array([[1.2, 0.3], [0.3, 0.8]])
    mean = mode[::-1] + 0.1
    spread = known * np.stack([np.diag(row) for row in random.uniform(0.4, 1.8, (4, 2))])
    own = np.stack([known * np.eye(2)] * 4)
    found = np.empty((4, n_points**2))
    some = np.array([1.0, 0.2, 0.7, 0.0])
    likelier_by_others(node, share, some, covariance, own, mean, spread, 1, point, found)
    for topic in range(4):
        others = [t for t in range(4) if t != topic]
        densities = [multivariate_normal(mean[t], spread[t]).pdf(node[topic]) for t in others]
        density = np.average(densities, axis=0, weights=some[others])
        normal = multivariate_normal([0.0, 0.0], covariance).pdf(node[topic])
        np.testing.assert_allclose(found[topic], density / normal, atol=1e-15)


def test_a_density_is_widened_in_the_direction_in_which_it_is_narrow():
    own = np.array([[2.0, 0.6], [0.6, 1.0]])
    for spread in (own, 0.31 * own):
        np.testing.assert_array_equal(widened(spread, own), spread[[0, 0, 1], [0, 1, 1]])
    w00, w01, w11 = widened(np.diag([1.0, 0.01]), own)
    thin = np.array([[w00, w01], [w01, w11]])
    assert np.linalg.eigvals(np.linalg.solve(own, thin)).min() == pytest.approx(0.3, abs=0.05)


def test_a_topic_without_judgments_finds_as_much_mass_among_the_others_as_there_is():
    """A density over another, averaged over the other, is 1, however well the others are known."""
    random = np.random.default_rng(11)
    effects = random.multivariate_normal([0.0, 0.0], [[1.0, 0.3], [0.3, 0.5]], 50)
    complete = many_counts(effects, seed=12, most=100)
    empty = np.repeat(np.arange(50), 12) < 10
    sampled = np.where(empty, 0.0, complete.sampled)
    relevant = np.where(empty, 0.0, complete.relevant)
    fit = CountFit(Counts(complete.start, relevant, sampled, complete.curve, complete.slope))
    np.testing.assert_allclose((fit._share * fit._mixing).sum(axis=1)[:10], 1.0, atol=0.1)


def test_two_topics_tell_nothing_of_their_distribution():
    fit = CountFit(small_counts(n_topics=2))
    np.testing.assert_array_equal(fit._mixing, np.ones((2, 49)))


def test_directions_have_unit_covariance_and_levels_do_not_correlate():
    every = np.concatenate([draw_directions(7, number) for number in range(3)], axis=1)
    np.testing.assert_allclose(every.mean(axis=0), 0.0, atol=1e-12)
    np.testing.assert_allclose(every.T @ every / len(every), np.eye(21), atol=1e-12)
