"""A small version of the calibration, with seeds of its own: minutes a study."""

import numpy as np
import pandas as pd
import pytest

import bayeseval as be
from benchmarks.calibration import N_DRAWS, RESULTS, STUDIES

FALSE_ALARM = 0.001
SEEDS = range(1001, 1021)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["relevance", "relevance_centred", "grade", "counts"])
def test_twenty_simulations_of_their_own_seeds_are_calibrated(name):
    study = STUDIES[name]()
    found = be.experiments.simulation_based_calibration(study, SEEDS, n_draws=N_DRAWS)
    tested = be.experiments.rank_uniformity(found, level=FALSE_ALARM)
    assert tested["passed"].all(), tested.where(~tested["passed"], drop=True)
    r_hat = found["verdict"].sel(check="r_hat")
    committed = pd.read_csv(RESULTS / f"{name}_ranks.csv")["r_hat"]
    assert float(np.median(r_hat)) < np.median(committed) + 0.01  # short chains, many parameters


@pytest.mark.slow
@pytest.mark.parametrize("name", ["relevance", "relevance_centred", "grade"])
def test_the_first_simulations_are_the_committed_ones(name):
    committed = pd.read_csv(RESULTS / f"{name}_ranks.csv").head(2).filter(regex="^rank:")
    study = STUDIES[name]()
    found = be.experiments.simulation_based_calibration(study, [1, 2], n_draws=N_DRAWS)
    # the same draws on one machine; elsewhere the sampler may go another way from the same data
    together = np.corrcoef(found["rank"].to_numpy().ravel(), committed.to_numpy().ravel())
    assert together[0, 1] > 0.9
