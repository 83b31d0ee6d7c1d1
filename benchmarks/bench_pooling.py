"""Pools that follow the judgments, and a dynamic sample, of round 5: 126 runs, 50 topics."""

import time

import pytest

import bayeseval as be
from benchmarks.pooling_round5 import dynamic_sample
from benchmarks.real_data import round5

LIMIT = 10.0  # seconds of one core for 100 judgments a topic
STAGES_LIMIT = 10.0  # seconds of one core for a dynamic sample of 5 stages
POOLS = {"move_to_front": be.designs.move_to_front, "hedge": be.designs.hedge}


@pytest.fixture(scope="module")
def collection(real_data):
    return round5()


@pytest.mark.benchmark(timer=time.process_time)
@pytest.mark.parametrize("method", POOLS)
def test_a_hundred_judgments_a_topic_take_less_than_ten_seconds(benchmark, collection, method):
    """Compilation counts where the kernels have not been compiled before."""
    design = benchmark.pedantic(POOLS[method], args=(collection, 100), rounds=1)
    assert design.inclusion_probability.sum() == 100 * collection.sizes["topic"]
    if benchmark.stats is not None:
        assert benchmark.stats.stats.max < LIMIT


@pytest.mark.benchmark(timer=time.process_time)
def test_a_dynamic_sample_takes_less_than_ten_seconds(benchmark, collection):
    options = {"budget": 100, "random_seed": 1}
    design = benchmark.pedantic(dynamic_sample, (collection,), options, rounds=1)
    assert design.selected.sum() == 100 * collection.sizes["topic"]
    if benchmark.stats is not None:
        assert benchmark.stats.stats.max < STAGES_LIMIT
