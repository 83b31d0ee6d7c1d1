"""The urn's sequences as variables of PyMC models: draws, batches, compiled graphs, nutpie."""

import numpy as np
import pymc as pm
import pytensor
import pytest
from pymc.logprob.utils import ParameterValueError

from bayeseval.distributions.wallenius import wallenius_sequence
from tests.distributions.wallenius_enumeration import (
    PYTHON,
    chi_square_tail,
    every_sequence,
    run_log_likelihood,
    topic_log_likelihood,
    topic_probability,
)


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
