"""A hundred samples of round 5; and how long an order takes, beside pps strata."""

import time

import numpy as np
import pytest

import bayeseval as be
from benchmarks.real_data import round5

LIMIT = 40.0  # seconds
LONGER = 1.2  # time of an order and its evaluation by that of pps strata
MEASURES = ["P@10", "RBP(p=0.8)", "nDCG@10", "AP", "R@100"]


@pytest.fixture(scope="module")
def collection(real_data):
    return round5()


def test_a_hundred_samples_take_less_than_forty_seconds(benchmark, collection):
    design = be.designs.pps_strata(collection, budget=100)
    estimators = ["stat", ("dyn", "rank_logistic")]

    def replicated(n_replicates):
        return be.experiments.replicate(
            collection,
            design,
            ["P@10", "RBP(p=0.8)", "AP"],
            estimators=estimators,
            n_replicates=n_replicates,
            random_seed=1,
        )

    replicated(2)  # compile
    result = benchmark.pedantic(replicated, args=(100,), rounds=1)
    assert result.standard_error.notnull().all()
    if benchmark.stats is not None:
        assert benchmark.stats.stats.max < LIMIT


def large():
    """500 topics, 20 runs of 1,000 ranks."""
    return be.simulate.urn_collection(
        np.geomspace(0.02, 0.3, 20), n_topics=500, n_documents=3000, prevalence=0.02, depth=1000,
        keep="retrieved", random_seed=1,
    )  # fmt: skip


def seconds(collection, design, **options) -> float:
    """Processor time of a design, a sample and its evaluation."""
    began = time.process_time()  # whatever else the machine does
    made = design(collection, budget=50, **options)
    sampled = be.reveal(collection, made, be.draw(made, random_seed=1))
    be.evaluate(sampled, MEASURES, estimator="dyn")
    return time.process_time() - began


@pytest.mark.parametrize("made", [be.simulate.demo_collection, large], ids=["shipped", "large"])
def test_an_order_takes_hardly_longer_than_pps_strata(made):
    collection = made()
    times = np.array([
        [
            seconds(collection, be.designs.pps_strata),
            seconds(collection, be.designs.order, random_seed=1),
        ]
        for _ in range(4)
    ])  # fmt: skip
    pps, order = np.median(times[1:], axis=0)  # the first compiles
    print(f"pps strata {pps:.2f} s, order {order:.2f} s: {order / pps:.2f}")
    assert order < LONGER * pps
