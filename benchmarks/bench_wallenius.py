"""Urns of N = 1000: 126 runs of one topic judged to depth 10, with and without gaps, or one run.

Times of one log-likelihood with gradient, and of drawing the unjudged ranks, in processor time.
"""

import time

import numpy as np
import pytest

N_RUNS, N_RANKS, DEPTH, N_DOCUMENTS = 126, 200, 10, 1000
N_DRAWS = 200
# Seconds. Measured on one core of a busy machine: a fifth to a fourth of these.
LIMITS = {0.0: 0.005, 0.3: 0.015}
N_LISTS, SINGLE_LIMIT = 1000, 0.01
DRAW_LIMITS = {0.0: 0.003, 0.3: 0.015}


def judged(gaps):
    """Colours (run, rank) to the depth, and log w (run,)."""
    rng = np.random.default_rng(1)
    colour = (rng.random((N_RUNS, DEPTH)) < 0.4).astype(np.int8)
    colour[rng.random(colour.shape) < gaps] = -1
    return colour, rng.normal(-2.0, 0.3, N_RUNS)


def check(benchmark, limit, units=1):
    """The least time of a unit, on record and below the limit."""
    if benchmark.stats is None:  # run with --benchmark-disable
        return
    least = benchmark.stats.stats.min / units
    print(f"Wallenius: {1000.0 * least:.2f} ms")
    assert least < limit, f"{1000 * least:.3f} ms, allowed {1000 * limit:.1f} ms"


@pytest.mark.benchmark(timer=time.process_time)
@pytest.mark.parametrize("gaps", LIMITS)
def test_likelihood_and_gradient_of_a_topic(benchmark, gaps):
    from bayeseval.distributions.wallenius_sequence_kernel import topic_log_likelihood

    colour, log_odds = judged(gaps)
    slope = np.empty(N_RUNS)
    arguments = (colour, log_odds, -3.0, N_DOCUMENTS, 1.0, slope)
    value, _ = benchmark.pedantic(
        topic_log_likelihood, args=arguments, rounds=20, iterations=10, warmup_rounds=1
    )
    assert np.isfinite(value) and np.isfinite(slope).all()
    check(benchmark, LIMITS[gaps])


@pytest.mark.benchmark(timer=time.process_time)
def test_likelihood_and_gradient_of_a_thousand_urns_of_one_run(benchmark):
    """Three judged places a list, M unknown in each: as where other runs show the rest."""
    from bayeseval.distributions.wallenius_sequence_kernel import topic_log_likelihoods

    rng = np.random.default_rng(4)
    colour = np.full((N_LISTS, 1, DEPTH), -1, dtype=np.int8)
    colour[:, :, :3] = rng.integers(0, 2, (N_LISTS, 1, 3))
    odds, logit = rng.normal(-1.5, 0.5, (N_LISTS, 1)), rng.normal(-1.5, 0.8, N_LISTS)
    arguments = (colour, odds, logit, np.full(N_LISTS, N_DOCUMENTS), np.ones(N_LISTS))
    value, _, _ = benchmark.pedantic(
        topic_log_likelihoods, args=arguments, rounds=20, iterations=5, warmup_rounds=1
    )
    assert np.isfinite(value).all()
    check(benchmark, SINGLE_LIMIT)


@pytest.mark.benchmark(timer=time.process_time)
@pytest.mark.parametrize("gaps", DRAW_LIMITS)
def test_unjudged_ranks_of_a_topic(benchmark, gaps):
    """Time of one draw: M, and 126 runs of 200 ranks; 2000 draws of 50 topics take 100,000."""
    from bayeseval.distributions.wallenius_sequence_draws import filled_topic

    colour, log_odds = judged(gaps)
    ranks = np.full((N_RUNS, N_RANKS), -1, dtype=np.int8)
    ranks[:, :DEPTH] = colour
    odds = log_odds + np.random.default_rng(3).normal(0.0, 0.1, (N_DRAWS, N_RUNS))
    arguments = (1, ranks, np.full(N_RUNS, DEPTH), odds, np.full(N_DRAWS, -3.0), N_DOCUMENTS, 1.0)
    filled, number = benchmark.pedantic(filled_topic, args=arguments, rounds=3, warmup_rounds=1)
    assert (filled >= 0).all() and (number > 0).all()
    check(benchmark, DRAW_LIMITS[gaps], N_DRAWS)
