"""The counts of all topics: likelihood, search, posterior draws, and what ratios divide by."""

import warnings
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.optimize
from scipy.special import expit
from scipy.stats import multivariate_normal

from bayeseval.estimators.counts import CountModel, CountsMisfit, TopicCounts, fit
from bayeseval.estimators.counts.cells import Counts
from bayeseval.estimators.counts.fit import CountFit, draw_directions, fit_counts, quasi_likelihood
from bayeseval.estimators.counts.kernel import place_densities, topic_mode, unsampled_relevant
from bayeseval.estimators.ratios import Difference, _over_counts, difference_score
from bayeseval.estimators.topic_scores import TopicScore
from bayeseval.frame.sample import Sample


def small_counts(n_topics=4, n_cells=3, seed=1, none=()) -> Counts:
    """Counts of a few topics, those of the topics ``none`` without a relevant document."""
    random = np.random.default_rng(seed)
    n = n_topics * n_cells
    slope = np.tile(np.linspace(-1.2, 1.2, n_cells), n_topics)
    sampled = random.integers(0, 8, n).astype(float)
    relevant = random.binomial(sampled.astype(int), expit(-1.0 - slope)).astype(float)
    relevant *= ~np.repeat(np.isin(np.arange(n_topics), none), n_cells)
    curve = np.column_stack([np.ones(n), slope])
    return Counts(np.arange(0, n + 1, n_cells), relevant, sampled, curve, slope)


def drawn_by(fit, unsampled, *, random_seed):
    """Draws of the relevant among the unsampled documents (cell, draw)."""
    numbers, parts = zip(*fit.draws(unsampled, random_seed=random_seed), strict=True)
    return np.concatenate(parts, axis=1)[:, np.argsort(np.concatenate(numbers))]


def grid_posterior(counts, topic, hyper, points=401):
    """Log integral over one topic's effects on a fine grid, and the grid's posterior."""
    inside = slice(*counts.start[topic : topic + 2])
    s0, s1, rho = np.exp(hyper[-3]), np.exp(hyper[-2]), np.tanh(hyper[-1])
    axis = np.linspace(-9.0, 9.0, points)
    u0, u1 = np.meshgrid(axis * s0, axis * s1, indexing="ij")
    covariance = [[s0**2, rho * s0 * s1], [rho * s0 * s1, s1**2]]
    density = multivariate_normal.logpdf(np.stack([u0, u1], axis=-1), cov=covariance)
    eta = counts.curve[inside] @ hyper[:-3]
    for k, n, base, z in zip(
        counts.relevant[inside], counts.sampled[inside], eta, counts.slope[inside], strict=True
    ):
        logit = base + u0 + u1 * z
        density = density + k * logit - n * np.logaddexp(0.0, logit)
    step = (axis[1] - axis[0]) ** 2 * s0 * s1
    highest = density.max()
    mass = np.exp(density - highest)
    return highest + np.log(mass.sum() * step), mass / mass.sum(), u0, u1


def topics_without_any(n_without: int, seed: int) -> tuple[Counts, np.ndarray, np.ndarray]:
    """45 topics of four cells; of the others' 20 relevant documents a sample shows some five."""
    random = np.random.default_rng(seed)
    size, sampled = np.tile([20.0, 40.0, 80.0, 160.0], 45), np.tile([8.0] * 4, 45)
    share = np.array([0.4, 0.12, 0.05, 0.02]) * np.exp(random.normal(0.0, 0.5, (45, 1)))
    share[:n_without] = 0.0
    relevant = random.binomial(sampled.astype(int), share.clip(max=0.9).ravel()).astype(float)
    place = np.tile(np.arange(4.0), 45)
    curve = np.column_stack([np.ones(180), (place - 1.5) / 1.118])
    counts = Counts(np.arange(0, 181, 4), relevant, sampled, curve, curve[:, 1])
    return counts, size - sampled, relevant.reshape(45, 4).sum(axis=1) == 0.0


def test_the_quadrature_is_the_integral_on_a_fine_grid():
    counts, hyper = small_counts(), np.array([-1.2, -0.7, 0.1, -0.4, 0.3])
    grid = sum(grid_posterior(counts, topic, hyper)[0] for topic in range(4))
    assert CountFit(counts).log_likelihood(hyper)[0] == pytest.approx(grid, abs=2e-4)


def test_a_topic_that_shows_none_may_have_none():
    counts = small_counts(none=[1, 3])
    with_none = CountFit(counts, shows_none=np.array([False, True, False, True]))
    hyper = np.array([-1.2, -0.7, 0.1, -0.4, 0.3, -0.8])
    share = expit(-0.8)
    some = np.array([grid_posterior(counts, topic, hyper[:-1])[0] for topic in range(4)])
    shows_none = share + (1.0 - share) * np.exp(some[[1, 3]])
    expected = np.log(shows_none).sum() + (np.log(1.0 - share) + some[[0, 2]]).sum()
    assert with_none.log_likelihood(hyper)[0] == pytest.approx(expected, abs=2e-4)


def test_densities_at_nodes_are_sums_of_logarithms_however_they_are_added():
    """Few and many sampled documents of a cell, parts of documents, and logits far out."""
    sampled = np.array([1.0, 3.0, 8.0, 2.5, 40.0, 300.0, 7.0, 2.0, 0.0, 8.0, 8.0])
    relevant = np.array([0.0, 3.0, 5.0, 1.25, 2.0, 280.0, 7.0, 0.0, 0.0, 8.0, 8.0])
    eta = np.array([-1.0, 0.5, 1.0, -0.2, -3.0, 2.0, 400.0, -400.0, 0.0, 55.0, 60.0])
    slope = np.linspace(-1.5, 1.5, sampled.size)
    precision = np.array([[1.5, 0.3], [0.3, 0.8]])
    point, mode = np.polynomial.hermite_e.hermegauss(7)[0], np.array([0.3, -0.2])
    root = (0.7, -0.2, 0.9)
    node = np.stack(np.meshgrid(point, point, indexing="ij"), axis=-1).reshape(-1, 2)
    node = mode + node @ np.array([[root[0], root[1]], [0.0, root[2]]])
    p, density = np.zeros((sampled.size, len(node))), np.zeros(len(node))
    place_densities(relevant, sampled, eta, slope, precision, mode, root, point, node, p, density)
    logit = eta[:, None] + node[:, 0] + slope[:, None] * node[:, 1]
    prior = -0.5 * np.einsum("jd,de,je->j", node, precision, node)
    expected = relevant @ logit - sampled @ np.logaddexp(0.0, logit) + prior
    np.testing.assert_allclose(density, expected, rtol=1e-11)
    np.testing.assert_allclose(p, np.where(sampled[:, None] > 0, expit(logit), 0.0), atol=1e-14)


@pytest.mark.parametrize("none", [[], [0, 2, 5]])
def test_the_gradient_is_the_slope_of_the_log_posterior(none):
    counts = small_counts(n_topics=6, seed=3, none=none)
    shows_none = np.isin(np.arange(6), none) if none else None
    hyper = np.array([-0.9, -0.5, -0.2, -0.6, 0.4] + [-1.1] * bool(none))
    loss = CountFit(counts, shows_none=shows_none).loss
    step = 1e-5 * np.eye(hyper.size)
    slope = [(loss(hyper + h)[0] - loss(hyper - h)[0]) / 2e-5 for h in step]
    np.testing.assert_allclose(loss(hyper)[1], slope, rtol=5e-3, atol=5e-3)


@pytest.mark.parametrize("none", [[], [1, 5, 9, 13, 17]])
def test_the_search_ends_at_the_top_where_one_from_afar_does(none):
    counts = small_counts(n_topics=20, n_cells=6, seed=5, none=none)
    shown = np.add.reduceat(counts.relevant, counts.start[:-1])
    found = CountFit(counts, shows_none=shown == 0.0 if none else None)
    assert np.abs(found.loss(found.hyper)[1]).max() < 0.02
    afar = np.append(np.zeros(found.n_hyper), [-1.0] * bool(none))
    again = scipy.optimize.minimize(found.loss, afar, jac=True, method="L-BFGS-B")
    assert found.log_density == pytest.approx(-again.fun, abs=1e-4)
    np.testing.assert_allclose(found.hyper, again.x, atol=0.01)


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

    mode = scipy.optimize.minimize(loss, np.zeros(beta.size + 40))
    np.testing.assert_allclose(beta, mode.x[: beta.size], atol=0.02)
    np.testing.assert_allclose(root @ root.T, mode.hess_inv[: beta.size, : beta.size], atol=0.05)


def test_topics_without_documents_do_not_move_where_the_search_begins():
    counts = small_counts(n_topics=20, n_cells=6, seed=5)
    more = replace(counts, start=np.insert(counts.start, [0, 7, 21], [0, counts.start[7], 120]))
    given = np.full(counts.curve.shape[1], 5.0), np.ones(2)
    for one, other in zip(quasi_likelihood(counts, *given), quasi_likelihood(more, *given)):
        np.testing.assert_array_equal(one, other)
    none = np.zeros(0)
    nothing = Counts(np.zeros(3, dtype=np.int64), none, none, np.zeros((0, 2)), none)
    beta, root = quasi_likelihood(nothing, np.array([10.0, 5.0]), np.ones(2))
    np.testing.assert_allclose(beta, 0.0, atol=1e-12)
    np.testing.assert_allclose(root @ root.T, np.diag([100.0, 25.0]))


def test_the_mode_of_a_topic_is_found_where_newton_goes_to_and_fro():
    """Between the two flat ends of a steep curve."""
    relevant, sampled, eta, slope = (np.array([x]) for x in (70.0, 300.0, 5.174, 0.479))
    precision = np.array([[6.173, 2.262], [2.262, 0.8706]])
    mode = np.array([-16.34, -8.77])
    topic_mode(relevant, sampled, eta, slope, precision, mode)
    residual = relevant - sampled * expit(eta + mode[0] + mode[1] * slope)
    gradient = np.array([residual.sum(), residual @ slope]) - precision @ mode
    np.testing.assert_allclose(gradient, 0.0, atol=1e-5)


def test_draws_have_the_moments_of_the_enumerated_posterior():
    """Hyperparameters held still: number of relevant among 6 unsampled, by grid and binomials."""
    counts = small_counts(seed=7)
    still = CountFit(counts)
    still.root = np.zeros((still.n_hyper, still.n_hyper))
    draws = drawn_by(still, np.full(counts.relevant.size, 2.0), random_seed=2)
    for topic in range(4):
        inside = slice(*counts.start[topic : topic + 2])
        _, mass, u0, u1 = grid_posterior(counts, topic, still.hyper)
        eta = counts.curve[inside] @ still.hyper[:-3]
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
    start, eta, quantile = np.array([0, 2]), np.array([50.0, 40.0]), np.array([-1.0, 0.0, 1.0])
    unsampled, node, share = np.full((2, 3), 4.0), np.zeros((1, 1, 2)), np.ones((1, 1))
    numbers = np.zeros(1), np.full((3, 2), 0.5), quantile, np.zeros((1, 2)), np.zeros((2, 3))
    unsampled_relevant(start, unsampled, eta, np.zeros(2), node, share, *numbers)
    np.testing.assert_array_equal(numbers[-1], 4.0)


def test_hyperparameters_that_a_line_search_tries_far_out_have_a_finite_density():
    found = CountFit(small_counts())
    for far in ([0.0, -1000.0, 0.0], [1000.0, 0.0, 0.0], [0.0, 0.0, -25.0]):
        value, gradient = found.loss(np.concatenate([found.hyper[:-3], far]))
        assert value > found.loss(found.hyper)[0]
        assert np.isfinite([value, *gradient]).all()


def test_hyperparameters_do_not_stand_where_the_sample_rules_them_out(monkeypatch):
    """No topic shows a second relevant document: the curve has a cliff on one side."""
    size = np.array([5, 5, 8, 12, 18, 27, 40, 60, 90, 135, 200, 300])
    sampled = np.minimum(size, 6)
    first = np.arange(size.size) == 0
    seen = np.random.default_rng(0).hypergeometric(first, size - first, sampled, (30, size.size))
    z = np.tile(np.linspace(1.5, -1.5, size.size), 30)
    curve = np.column_stack([np.ones(z.size), z, z**2 - (z**2).mean()])
    start = np.arange(0, z.size + 1, size.size)
    counts = Counts(start, seen.ravel().astype(float), np.tile(sampled, 30).astype(float), curve, z)

    def expected():
        drawn = drawn_by(CountFit(counts), np.tile(size - sampled, 30).astype(float), random_seed=1)
        return np.add.reduceat(drawn, start[:-1]).mean()

    assert expected() < 1.0
    monkeypatch.setattr(fit, "CLIFF", np.inf)
    assert expected() > 5.0


def test_directions_have_unit_covariance_and_levels_do_not_correlate():
    every = np.concatenate([draw_directions(7, number) for number in range(3)], axis=1)
    np.testing.assert_allclose(every.mean(axis=0), 0.0, atol=1e-12)
    np.testing.assert_allclose(every.T @ every / len(every), np.eye(21), atol=1e-12)


def test_counts_of_the_model_have_the_spread_of_chance_and_bursts_have_more():
    counts, _, none = topics_without_any(0, 4)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ratio, deviations = fit_counts(counts, shows_none=none).dispersion
    assert 0.7 < ratio < 1.1 and deviations < 2.0
    # the same by hand, each topic at the mean of its effects
    hyper = CountFit(counts).hyper
    square = variance = 0.0
    for topic in range(45):
        inside = slice(4 * topic, 4 * topic + 4)
        _, mass, u0, u1 = grid_posterior(counts, topic, hyper, points=101)
        logit = counts.curve[inside] @ hyper[:2]
        p = expit(logit + (mass * u0).sum() + (mass * u1).sum() * counts.slope[inside])
        square += np.square(counts.relevant[inside] - counts.sampled[inside] * p).sum()
        variance += (counts.sampled[inside] * p * (1.0 - p)).sum()
    assert ratio == pytest.approx(square / variance, rel=2e-3)
    # relevant documents that stand side by side: all of a stratum's sample is, or none
    burst = np.random.default_rng(1).random(180) < np.tile([0.5, 0.15, 0.06, 0.03], 45)
    bursts = replace(counts, relevant=np.where(burst, counts.sampled, 0.0))
    with pytest.warns(CountsMisfit, match="stand in bursts or end abruptly .* 'topic' does"):
        fit_counts(bursts, shows_none=np.zeros(45, dtype=bool))


def test_a_fit_that_stops_early_says_so(monkeypatch):
    whole = scipy.optimize.minimize

    def brief(*args, options, **others):
        return whole(*args, options=options | {"maxiter": 1}, **others)

    monkeypatch.setattr(scipy.optimize, "minimize", brief)
    counts = small_counts(n_topics=8, seed=5)
    with pytest.warns(UserWarning, match="did not converge.*denominator 'topic'"):
        assert not fit_counts(counts, shows_none=np.zeros(8, dtype=bool)).converged


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_topics_may_have_nothing_relevant_where_the_counts_say_so(seed):
    counts, unsampled, none = topics_without_any(15, seed)
    fits = fit_counts(counts, shows_none=none), CountFit(counts)
    draws = (drawn_by(one, unsampled, random_seed=1) for one in fits)
    number, otherwise = (drawn.reshape(45, 4, -1).sum(axis=1)[none] for drawn in draws)
    assert (number == 0.0).mean() > 0.75
    assert number.mean() < 0.5 * otherwise.mean()


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_topics_that_show_nothing_have_some_where_all_others_have(seed):
    """A few of 45 show none, as some do whose documents lie deep."""
    counts, _, none = topics_without_any(0, seed)
    counts.relevant[:8] = 0.0  # two topics
    none[:2] = True
    found = fit_counts(counts, shows_none=none)
    np.testing.assert_array_equal(found.hyper, CountFit(counts).hyper)


def test_a_topic_does_not_lack_what_documents_judged_for_certain_have(monkeypatch):
    """An old pool tells nothing of the documents outside it, but that a topic has the grade."""
    asked = []

    def recorded(counts, shows_none=None):
        asked.append(shows_none)
        return CountFit(counts, shows_none=shows_none)

    monkeypatch.setattr(fit, "CountFit", recorded)
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
    CountModel(one, 1, made_certain=True).level(((1.0, 2.0), (2.0,)), [relevant, higher])
    assert asked[0] is None  # of the lowest level
    np.testing.assert_array_equal(asked[1], np.arange(n_topics) == 1)


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
    slope = np.linspace(-1.7, 1.7, 6)
    p = expit(-1.0 + effects[:, :1] + effects[:, 1:] * slope).ravel()
    relevant = np.random.default_rng(seed + 1).binomial(4, p).astype(float)
    slope = np.tile(slope, 90)
    curve = np.column_stack([np.ones(540), slope])
    counts = Counts(np.arange(0, 541, 6), relevant, np.full(540, 4.0), curve, slope)
    shows_none = relevant.reshape(90, 6).sum(axis=1) == 0
    total = random.binomial(20, p, (200, 540)).reshape(200, 90, 6).sum(axis=2)
    off = []
    for inflated in (shows_none, None):
        drawn = drawn_by(CountFit(counts, shows_none=inflated), np.full(540, 20.0), random_seed=1)
        number = drawn.reshape(90, 6, -1).sum(axis=1)
        groups = (shows_none, ~shows_none)
        off.append(
            [(1 / (5 + number[g])).mean() / (1 / (5 + total[:, g])).mean() - 1 for g in groups]
        )
    return off


def counted(draw, weight) -> TopicCounts:
    """Posterior draws (replicate, draw) of a denominator, without hyperparameters."""
    draw = np.asarray(draw, dtype=float)
    weights, error = np.full(len(draw), weight), draw.std(axis=1) / draw.mean()
    return TopicCounts(draw, np.zeros((draw.shape[1], 1)), weights, error)


@pytest.mark.parametrize(
    ("number", "slope"),
    [
        ([0.0, 0.5, 1.0 - 1e-15, 1.0 + 1e-15], 1.0),  # a score of 1 or none at all
        ([1.0 - 1e-15, 1.0, 1.0 + 1e-15, 1.0], 0.0),
        ([1.0, 1.0, 2.0, 2.0], 1.0),  # precision of .5 at rank 2
    ],
)
def test_the_slope_of_r_precision_is_not_that_of_rounding(number, slope):
    value = np.array([[1.0], [0.0]])  # the first of two documents is relevant
    counts = counted(np.repeat(number, 4)[None], 0.5)
    mean, found = _over_counts(np.array([[0, 1]], dtype=np.int32), value, counts)
    assert found.item() == pytest.approx(slope, abs=1e-9)
    assert 0.7 < mean.item() <= 1.0


def by_hand(counts, *, numerator, above, below, expected=0.0, number=8.0) -> TopicScore:
    """Ratio of one run and replicate by the difference estimator."""
    plain = SimpleNamespace(
        score=lambda estimate, error: TopicScore(estimate, error, None), centred=lambda x: x
    )
    one, weight = np.array([number]), np.array([[expected]])
    difference = Difference(counts, weight * counts.some, weight, one, np.array([below]))
    return difference_score(
        plain,  # type: ignore[arg-type]
        np.array([[numerator]]),
        np.array([[above]]),
        np.array([below]),
        difference,
    )


@pytest.mark.parametrize("expected", [0.0, 0.2, 0.9])
def test_a_number_that_the_topic_tells_by_itself_gives_the_ratio_whatever_is_expected(expected):
    """And its linear error."""
    above, below = np.array([0.3, -0.2, 0.0]), np.array([0.4, 0.1, -0.5])
    known = counted([[8.0] * 4], 1.0)
    score = by_hand(known, numerator=2.0, above=above, below=below, expected=expected)
    linear = (above - 0.25 * below) / 8.0
    np.testing.assert_allclose(score.deviation[0, 0], [*linear, 0.0], atol=1e-15)
    assert score.estimate.item() == pytest.approx(0.25, abs=1e-15)


@pytest.mark.parametrize("weight", [0.0, 0.6])
def test_deviations_are_slopes_of_the_estimate(weight):
    """The posterior is scaled as its mean follows the topic's own number by the weight."""
    draw, step, above, below = np.array([6.0, 10.0, 7.0, 9.0]), 1e-6, 0.3, -0.4

    def ratio(error):
        moved = counted([draw * (1.0 + weight * error * below / draw.mean())], weight)
        of_sample = {"numerator": 2.0 + error * above, "number": 7.0 + error * below}
        return by_hand(moved, above=[above], below=[below], expected=0.2, **of_sample)

    slope = (ratio(step).estimate - ratio(-step).estimate).item() / (2 * step)
    assert ratio(0.0).deviation[0, 0, 0] == pytest.approx(slope, rel=1e-8)


def test_what_the_own_sample_does_not_explain_multiplies_what_predictions_leave():
    """That is .6 of the numerator; by the weight half of the variance at least is not explained."""
    above, below = np.zeros(2), np.array([0.6, -0.8])
    counts = counted([[6.0, 10.0, 7.0, 9.0]], 0.5)
    inverse = 1.0 / counts.draw[0]
    explained = (0.5 * inverse.mean() / 8.0) ** 2
    score = by_hand(counts, numerator=2.0, above=above, below=below)
    least = 4.0 * inverse.var()
    of_own = 4.0 * explained + 0.36 * (least - 4.0 * explained)
    assert score.variance.item() == pytest.approx(of_own, rel=1e-12)
    strong = by_hand(counts, numerator=2.0, above=above, below=20.0 * below)
    of_own = 400.0 * 4.0 * explained + 0.36 * 0.5 * least
    assert strong.variance.item() == pytest.approx(of_own, rel=1e-12)


def test_where_a_denominator_is_poorly_known_a_ratio_is_limited():
    known, poor = counted([[8.0] * 4], 1.0), counted([[2.0, 14.0, 2.0, 14.0]], 1.0)
    for numerator in (-4.0, 40.0):
        given = {"numerator": numerator, "above": np.zeros(2), "below": np.zeros(2)}
        assert by_hand(known, **given).estimate.item() == numerator / 8.0
        assert by_hand(poor, **given).estimate.item() == float(numerator > 0.0)
