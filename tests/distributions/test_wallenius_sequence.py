"""The urn's sequences for PyMC, against enumeration of every sequence and of every M."""

import itertools

import numpy as np
import pymc as pm
import pytensor
import pytest
from pymc.logprob.utils import ParameterValueError
from scipy import stats
from scipy.special import expit, logsumexp

from bayeseval.distributions import wallenius_count, wallenius_sequence
from bayeseval.distributions.wallenius_sequence_kernel import run_log_likelihoods

# Compiling a graph with numba takes seconds; tests of its compiled form say so.
PYTHON = "FAST_COMPILE"


def sequence_probability(colour, log_odds, n_documents, n_relevant):
    """Product over the ranks of equation 12, every rank known."""
    probability, relevant, other = 1.0, n_relevant, n_documents - n_relevant
    for found in colour:
        total = relevant + np.exp(log_odds) * other
        if total == 0 or (relevant if found else other) == 0:
            return 0.0
        chance = relevant / total
        probability *= chance if found else 1 - chance
        relevant, other = relevant - found, other - (1 - found)
    return probability


def run_probability(colour, log_odds, n_documents, n_relevant):
    """Sum over all relevances of the unjudged ranks."""
    options = [(0, 1) if seen < 0 else (int(seen),) for seen in colour]
    return sum(
        sequence_probability(filled, log_odds, n_documents, n_relevant)
        for filled in itertools.product(*options)
    )


def topic_probability(colour, log_odds, n_documents, logit_prevalence):
    """Sum over M of its binomial probability times the product over runs."""
    chance = stats.binom(n_documents, expit(logit_prevalence)).pmf(np.arange(n_documents + 1))
    return sum(
        chance[m]
        * np.prod([run_probability(*x, n_documents, m) for x in zip(colour, log_odds, strict=True)])
        for m in range(n_documents + 1)
    )


def every_sequence(*shape):
    """All arrays of 0 and 1 of a shape."""
    rows = itertools.product((0, 1), repeat=int(np.prod(shape)))
    return np.array(list(rows), dtype=np.int8).reshape(-1, *shape)


def run_log_likelihood(colour, log_odds, n_documents, n_relevant):
    judged = np.ones(np.shape(colour)[-1], dtype=bool)
    run = wallenius_sequence(None, log_odds, n_documents, judged, n_relevant=n_relevant)
    return pm.logp(run, np.asarray(colour, dtype=np.int8)).eval(mode=PYTHON)


def topic_log_likelihood(colour, log_odds, n_documents, logit_prevalence):
    judged = np.ones(np.shape(colour)[-2:], dtype=bool)
    topic = wallenius_sequence(
        None, log_odds, n_documents, judged, logit_prevalence=logit_prevalence
    )
    return pm.logp(topic, np.asarray(colour, dtype=np.int8)).eval(mode=PYTHON)


def drawn(rng, log_odds, n_documents, n_relevant, depth):
    """Colours of runs (run, rank), one draw each."""
    judged = np.ones((len(log_odds), depth), dtype=bool)
    run = wallenius_sequence(None, log_odds, n_documents, judged, n_relevant=n_relevant)
    return pm.draw(run, random_seed=int(rng.integers(2**31)))


def test_a_run_with_gaps_sums_over_every_filling():
    rng = np.random.default_rng(1)
    colour = rng.integers(-1, 2, (300, 7)).astype(np.int8)
    log_odds = rng.normal(0, 2, 300)
    n_documents = rng.integers(7, 13, 300)
    n_relevant = rng.integers(0, n_documents + 1)
    value = run_log_likelihood(colour, log_odds, n_documents, n_relevant)
    expected = [
        run_probability(*x) for x in zip(colour, log_odds, n_documents, n_relevant, strict=True)
    ]
    assert (np.array(expected) == 0).sum() > 20
    np.testing.assert_allclose(np.exp(value), expected, rtol=1e-12)


def test_a_topic_sums_over_every_number_of_relevant_documents_once():
    rng = np.random.default_rng(2)
    for n_documents in (1, 4, 9):
        colour = rng.integers(-1, 2, (8, 3, min(n_documents, 4))).astype(np.int8)
        log_odds, prevalence = rng.normal(0, 1.5, (8, 3)), rng.normal(-1, 2, 8)
        value = topic_log_likelihood(colour, log_odds, n_documents, prevalence)
        expected = [
            topic_probability(colour[i], log_odds[i], n_documents, prevalence[i]) for i in range(8)
        ]
        np.testing.assert_allclose(np.exp(value), expected, rtol=1e-12)


def test_probabilities_of_all_sequences_sum_to_one():
    runs = every_sequence(9)
    total = np.exp(run_log_likelihood(runs, -1.3, 11, 4)).sum()
    assert total == pytest.approx(1.0, abs=1e-13)
    with_gaps = runs.copy()
    with_gaps[:, [0, 3, 4, 7]] = -1
    total = np.exp(run_log_likelihood(np.unique(with_gaps, axis=0), -1.3, 11, 4)).sum()
    assert total == pytest.approx(1.0, abs=1e-13)
    topics = every_sequence(2, 5)
    total = np.exp(topic_log_likelihood(topics, [-2.0, 0.5], 40, -1.0)).sum()
    assert total == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize("log_odds", [-4.0, -1.6, 0.7])
def test_a_gap_of_hundreds_agrees_with_the_distribution_of_counts(log_odds):
    # After 400 unjudged ranks of N = 1000 the next one is relevant: sum over Wallenius' counts.
    n_relevant, colour = 120, np.full(401, -1, dtype=np.int8)
    colour[400] = 1
    count = np.arange(n_relevant + 1)
    log_pmf = pm.logp(wallenius_count(None, 400, n_relevant, 1000, log_odds), count).eval(
        mode=PYTHON
    )
    left, other = n_relevant - count, 1000 - n_relevant - (400 - count)
    with np.errstate(divide="ignore"):
        following = np.log(left) - np.log(left + np.exp(log_odds) * other)
    value = run_log_likelihood(colour, log_odds, 1000, n_relevant)
    assert value == pytest.approx(logsumexp(log_pmf + following), abs=1e-10)


@pytest.mark.parametrize("n_relevant", [1, 50, 500, 999])
@pytest.mark.parametrize("log_odds", [-5.0, -1.0, 2.0])
def test_both_relevances_after_a_gap_of_hundreds_sum_to_one(n_relevant, log_odds):
    colour = np.full((2, 800), -1, dtype=np.int8)
    colour[:, 799] = [0, 1]
    whole = [np.full(2, x) for x in (1000, n_relevant)]
    value, slope = run_log_likelihoods(colour, np.full(2, log_odds), *whole)
    chance = np.exp(value)
    assert chance.sum() == pytest.approx(1.0, abs=1e-12)
    assert chance @ slope == pytest.approx(0.0, abs=1e-10)


def test_a_judgment_that_all_but_rules_out_the_likely_states_is_still_exact():
    # 300 unjudged ranks of a good run, then all M = 60 relevant documents in a row: the first 300
    # held none of them, which has a probability far below the smallest float64.
    log_odds, n_relevant = -6.0, 60
    colour = np.r_[np.full(300, -1), np.ones(n_relevant)].astype(np.int8)
    filled = np.where(colour < 0, 0, colour)
    value = run_log_likelihood(colour, log_odds, 1000, n_relevant)
    assert value < -800
    assert value == pytest.approx(run_log_likelihood(filled, log_odds, 1000, n_relevant), rel=1e-12)


@pytest.mark.parametrize("gaps", [0.0, 0.4])
def test_the_terms_left_out_of_the_sum_over_m_do_not_count(gaps):
    rng = np.random.default_rng(4)
    number = np.arange(1001)
    for n_relevant, prevalence, shift in ((20, -3.0, 0.0), (300, -3.0, 1.5), (2, 1.0, -2.0)):
        log_odds = np.array([-3.0, -2.0, -1.0, 0.5])
        colour = drawn(rng, log_odds, 1000, n_relevant, 20)
        colour[rng.random(colour.shape) < gaps] = -1
        log_odds = log_odds + shift
        runs = run_log_likelihood(colour[:, None], log_odds[:, None], 1000, number)
        expected = logsumexp(stats.binom(1000, expit(prevalence)).logpmf(number) + runs.sum(0))
        value = topic_log_likelihood(colour, log_odds, 1000, prevalence)
        assert value == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("log_odds", [-200.0, -80.0, 80.0, 200.0])
def test_extreme_odds_give_finite_log_likelihoods_with_the_slope_of_their_limit(log_odds):
    # One relevant document before the other of four: exactly one draw against the odds or none.
    odds = pytensor.tensor.dscalar("log_odds")
    judged = np.ones(2, dtype=bool)
    run = wallenius_sequence(None, odds, 4, judged, n_relevant=2)
    value = pm.logp(run, np.array([1, 0], dtype=np.int8))
    both = pytensor.function([odds], [value, pytensor.grad(value, odds)], mode=PYTHON)
    result, slope = both(log_odds)
    # w small: 1 * 2 w; w large: 1 / w * 2 w / (2 w).
    expected = np.log(2) + log_odds if log_odds < 0 else -log_odds
    assert result == pytest.approx(expected, rel=1e-13)
    assert slope == pytest.approx(1.0 if log_odds < 0 else -1.0, rel=1e-13)


def test_gradients_match_finite_differences():
    rng = np.random.default_rng(5)
    colour = drawn(rng, np.array([-2.0, -1.0, 0.0]), 200, 30, 12)
    gapped = np.where(rng.random(colour.shape) < 0.5, -1, colour).astype(np.int8)
    odds, prevalence = pytensor.tensor.dmatrix("odds"), pytensor.tensor.dvector("prevalence")
    judged = np.ones(colour.shape, dtype=bool)
    topic = wallenius_sequence(None, odds, 200, judged, logit_prevalence=prevalence)
    value = pm.logp(topic, np.stack([colour, gapped])).sum()
    value += pm.logp(wallenius_sequence(None, odds[0], 200, judged, n_relevant=40), gapped).sum()
    function = pytensor.function([odds, prevalence], value, mode=PYTHON)
    gradient = pytensor.function(
        [odds, prevalence], pytensor.grad(value, [odds, prevalence]), mode=PYTHON
    )
    point = [rng.normal(-1, 0.5, (2, 3)), np.array([-2.0, -1.0])]
    for exact, parameter in zip(gradient(*point), point, strict=True):
        for index in np.ndindex(parameter.shape):
            kept, sides = parameter[index], []
            for step in (1e-4, -1e-4):
                parameter[index] = kept + step
                sides.append(float(function(*point)))
            parameter[index] = kept
            assert exact[index] == pytest.approx((sides[0] - sides[1]) / 2e-4, abs=2e-6)


def chi_square_tail(observed, expected):
    """Upper tail of Pearson's statistic, cells expected below 5 taken together."""
    common = expected > 5
    table = [np.append(x[common], x[~common].sum()) for x in (observed, expected)]
    with np.errstate(invalid="ignore", divide="ignore"):
        terms = (table[0] - table[1]) ** 2 / table[1]
    kept = table[1] > 0
    return stats.chi2.sf(terms[kept].sum(), kept.sum() - 1)


@pytest.mark.parametrize("mode", ["NUMBA", "FAST_COMPILE"])
def test_draws_of_a_run_follow_the_probabilities_of_sequences(mode):
    # Level 1e-4: one false alarm in 10000 seeds.
    judged = np.array([True, True, False, True, True])
    run = wallenius_sequence(None, -1.0, 12, judged, n_relevant=5)
    draws = pm.draw(run, 4000, random_seed=6, mode=mode)
    assert (draws[:, 2] == -1).all()
    cells = every_sequence(4)
    possible = np.insert(cells, 2, -1, axis=1).astype(np.int8)
    expected = 4000 * np.exp(run_log_likelihood(possible, -1.0, 12, 5))
    observed = np.array([(draws[:, judged] == cell).all(axis=1).sum() for cell in cells])
    assert observed.sum() == 4000
    assert chi_square_tail(observed, expected) > 1e-4


@pytest.mark.parametrize("mode", ["NUMBA", "FAST_COMPILE"])
def test_draws_of_a_topic_share_m_between_runs(mode):
    # Level 1e-4; were M drawn for each run, the statistic would be in the hundreds.
    judged = np.ones((2, 3), dtype=bool)
    topic = wallenius_sequence(None, [-2.0, -2.0], 6, judged, logit_prevalence=-0.5)
    draws = pm.draw(topic, 4000, random_seed=7, mode=mode)
    cells = every_sequence(2, 3)
    expected = 4000 * np.exp(topic_log_likelihood(cells, [-2.0, -2.0], 6, -0.5))
    observed = np.array([(draws == cell).all(axis=(1, 2)).sum() for cell in cells])
    assert chi_square_tail(observed, expected) > 1e-4


def test_draws_are_unjudged_past_the_last_document():
    run = wallenius_sequence(None, -1.0, 3, np.ones(5, dtype=bool), n_relevant=1)
    draws = pm.draw(run, 20, random_seed=8)
    assert (draws[:, 3:] == -1).all()
    assert ((draws[:, :3] == 1).sum(axis=1) == 1).all()
    assert np.isfinite(pm.logp(run, draws).eval(mode=PYTHON)).all()


def test_batches_broadcast_and_keep_their_shape():
    rng = np.random.default_rng(9)
    log_odds = rng.normal(-1, 1, (4, 1, 3))
    prevalence = np.array([-2.0, 0.0])
    judged = np.ones((3, 5), dtype=bool)
    topic = wallenius_sequence(None, log_odds, 30, judged, logit_prevalence=prevalence)
    draws = pm.draw(topic, random_seed=10)
    assert draws.shape == (4, 2, 3, 5)
    value = pm.logp(topic, draws).eval(mode=PYTHON)
    assert value.shape == (4, 2)
    for i, j in np.ndindex(4, 2):
        expected = topic_log_likelihood(draws[i, j], log_odds[i, 0], 30, prevalence[j])
        assert value[i, j] == pytest.approx(expected, abs=1e-13)
    run = wallenius_sequence(None, log_odds[:, 0], 30, np.ones(5, bool), n_relevant=[3, 8, 20])
    draws = pm.draw(run, 6, random_seed=11)
    assert draws.shape == (6, 4, 3, 5)
    assert pm.logp(run, draws).eval(mode=PYTHON).shape == (6, 4, 3)


def test_the_compiled_graph_gives_the_values_and_gradients_of_the_python_one():
    odds, prevalence = pytensor.tensor.dvector("odds"), pytensor.tensor.dscalar("prevalence")
    judged, colour = np.ones((2, 4), dtype=bool), np.array([[1, -1, 0, 1], [0, 0, -1, -1]])
    topic = wallenius_sequence(None, odds, 20, judged, logit_prevalence=prevalence)
    runs = wallenius_sequence(None, odds, 20, judged, n_relevant=[5, 9])
    total = pm.logp(topic, colour) + pm.logp(runs, colour).sum()
    outputs = [total, *pytensor.grad(total, [odds, prevalence])]
    compiled, plain = (
        pytensor.function([odds, prevalence], outputs, mode=mode)([-1.0, 0.5], -0.7)
        for mode in ("NUMBA", PYTHON)
    )
    for value, expected in zip(compiled, plain, strict=True):
        np.testing.assert_allclose(value, expected, rtol=1e-13)


def test_fixed_numbers_enter_in_double_precision():
    colour = np.array([[1, 0, -1, 1]], dtype=np.int8)
    value = topic_log_likelihood(colour, -0.1, 11, -0.3)
    expected = np.log(topic_probability(colour, [-0.1], 11, -0.3))
    assert value == pytest.approx(expected, abs=1e-13)


def test_a_value_that_is_no_relevance_has_probability_zero():
    assert np.isneginf(run_log_likelihood([1, 2, 0], -1.0, 10, 5))


def test_nutpie_fits_a_generative_model_to_its_own_draw():
    true = {"log_odds": np.array([-3.0, -2.0, -0.5]), "logit_prevalence": np.array(-1.5)}
    judged = np.random.default_rng(12).random((5, 3, 10)) < 0.8
    with pm.Model(coords={"topic": range(5), "run": ["a", "b", "c"], "rank": range(10)}) as model:
        log_odds = pm.Normal("log_odds", np.float64(-1), np.float64(2), dims="run")
        prevalence = pm.Normal("logit_prevalence", np.float64(-2), np.float64(1))
        wallenius_sequence(
            "relevance", log_odds, 40, pm.Data("judged", judged, dims=("topic", "run", "rank")),
            logit_prevalence=prevalence, dims=("topic", "run", "rank"),
        )  # fmt: skip
    seen = pm.draw(pm.do(model, true)["relevance"], random_seed=13)
    assert ((seen >= 0) == judged).all()
    with pm.observe(model, {"relevance": seen}) as observed:
        fit = pm.sample(
            250, tune=300, chains=2, cores=1, nuts_sampler="nutpie", random_seed=14,
            progressbar=False, quiet=True,
        )  # fmt: skip
    assert int(fit["sample_stats/diverging"].sum()) == 0
    for name, value in true.items():
        # Four standard deviations: one false alarm in some 4000 seeds.
        draws = fit["posterior"][name].stack(sample=("chain", "draw"))
        assert (abs(draws.mean("sample") - value) < 4 * draws.std("sample")).all()
    predicted = pm.sample_posterior_predictive(fit, observed, random_seed=15, progressbar=False)
    found = (predicted["posterior_predictive/relevance"] == 1).sum("rank").mean()
    assert float(found) == pytest.approx((seen == 1).sum(-1).mean(), abs=0.8)
    pointwise = pm.compute_log_likelihood(fit, model=observed, progressbar=False)
    assert pointwise["log_likelihood/relevance"].dims == ("chain", "draw", "topic")


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        ((10, [True]), {}, "Give n_relevant or logit_prevalence, one of them; neither given"),
        ((10, [True]), {"n_relevant": 3, "logit_prevalence": 0.0}, "one of them; both given"),
        ((10, [True]), {"logit_prevalence": 0.0}, r"judged must have the dims \('run', 'rank'\)"),
        ((10, True), {"n_relevant": 3}, r"judged must have the dims \('rank',\)"),
        ((10, [True]), {"n_relevant": 11}, "n_relevant must be at most n_documents; found 11"),
        ((10.5, [True]), {"n_relevant": 3}, "n_documents must be whole numbers"),
    ],
)
def test_what_no_urn_has_is_refused(arguments, options, message):
    with pytest.raises(ValueError, match=message):
        wallenius_sequence(None, -1.0, *arguments, **options)


def test_a_random_m_above_n_is_refused_with_the_log_likelihood():
    n_relevant = pytensor.tensor.lscalar("n_relevant")
    run = wallenius_sequence(None, -1.0, 10, [True, True], n_relevant=n_relevant)
    log_likelihood = pm.logp(run, np.array([1, 0], dtype=np.int8))
    with pytest.raises(ParameterValueError, match="n_relevant <= n_documents"):
        log_likelihood.eval({n_relevant: 12}, mode=PYTHON)
