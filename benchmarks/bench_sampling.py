"""A hundred samples of round 5, estimated with stat and dyn and their standard errors."""

import pytest

import bayeseval as be
from benchmarks.real_data import round5

LIMIT = 40.0  # seconds


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
