"""Runs that were made with the judgments of the sample, or without what was judged."""

import itertools
import warnings

import numpy as np
import pandas as pd
import pytest

import bayeseval as be
from bayeseval.frame.frame import Frame
from bayeseval.frame.independence import DrawnTogether, RunsFollowSample, deviations
from bayeseval.frame.sample import Sample


def drawn(design_of, *, seed=1, n_topics=20, budget=20):
    """Six runs, the design of the first four, and a sample."""
    collection = be.simulate.urn_collection(
        [0.05, 0.1, 0.2, 0.3, 0.1, 0.2], n_topics=n_topics, prevalence=0.1, random_seed=seed
    )
    contributed = np.arange(6) < 4
    collection = collection.assign(contributed=collection["contributed"].copy(data=contributed))
    design = design_of(collection, budget=budget)
    return collection, design


def late(sampled, run, name, move):
    """A late run: some run with judged documents moved by what is known of them."""
    known = be.trec.qrels_frame(sampled).query("grade >= 0")
    one = be.trec.runs_frame(sampled).query("run == @run").merge(known, how="left")
    return move(one).assign(run=name)[["run", "topic", "document", "score"]]


def feedback(one):
    return one.assign(score=one["score"] + 1e6 * (one["grade"] > 0))


def residual(one):
    return one[one["grade"].isna()]


@pytest.mark.parametrize("design_of", [be.designs.pps_strata, be.designs.poisson])
def test_runs_made_by_the_judgments_are_named_and_their_scores_are_off(design_of):
    collection, design = drawn(design_of)
    sampled = be.reveal(collection, design, be.draw(design, random_seed=1))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        be.evaluate(sampled, "P@10", estimator="stat")
    made = [
        late(sampled, "run005", "fed back", feedback),
        late(sampled, "run006", "rest", residual),
    ]
    both = be.add_runs(sampled, pd.concat(made))
    with pytest.warns(
        RunsFollowSample, match="in 2 of 8 runs: .*'fed back' .higher.*'rest' .lower"
    ):
        scores = be.evaluate(both, "P@10", estimator="stat")
    truth = be.add_runs(collection, pd.concat(made))
    true = be.evaluate(truth, "P@10", estimator="assumed").estimate.mean("topic")
    error = (scores.estimate.mean("topic") - true).isel(measure=0)
    assert error.sel(run="fed back") > 0.2
    assert error.sel(run="rest") < -0.05


@pytest.mark.parametrize("design_of", [be.designs.pps_strata, be.designs.poisson])
def test_runs_that_came_before_the_draw_are_not_named(design_of):
    for n_topics, budget in ((3, 20), (10, 40)):
        collection, design = drawn(design_of, n_topics=n_topics, budget=budget)
        selected = be.draw(design, n_replicates=150, random_seed=2)
        for number in range(150):
            sampled = be.reveal(collection, design, selected.isel(replicate=number))
            assert not deviations(Frame.drawn_from(sampled)).any()


def test_further_judgments_beside_certain_ones_estimate_such_a_run():
    collection, design = drawn(be.designs.pps_strata)
    first = be.draw(design, random_seed=1)
    made = late(be.reveal(collection, design, first), "run005", "fed back", feedback)
    complete = be.add_runs(collection, made)
    more = be.designs.pps_strata(complete, budget=40, certain=first, frame="retrieved")
    sampled = be.reveal(complete, more, be.draw(more, n_replicates=60, random_seed=7))
    true = be.evaluate(complete, "P@10", estimator="assumed").estimate.mean("topic")
    for estimator in ("stat", "dyn"):
        score = be.evaluate(sampled, "P@10", estimator=estimator).estimate.mean("topic")
        error = (score - true).sel(run="fed back").to_numpy().ravel()
        assert abs(error.mean()) < 3 * error.std() / np.sqrt(error.size)


def test_variances_are_those_of_all_samples():
    stratum = np.array([0, 0, 0, 0, 1, 1, 1, -1])
    chance = np.array([0.5] * 4 + [1 / 3] * 3 + [0.25])
    value = np.array([0.9, 0.1, 0.0, 0.4, 1.0, 0.0, 0.3, 0.7])
    sums, weights = [], []
    for two, one, alone in itertools.product(
        itertools.combinations(range(4), 2), range(4, 7), (True, False)
    ):
        sums.append(value[[*two, one]].sum() + alone * value[7])
        weights.append(0.25 if alone else 0.75)
    mean, square = np.average(sums, weights=weights), np.average(np.square(sums), weights=weights)
    sample = Sample(
        np.arange(8), np.zeros(8, int), np.array([0, 8]), chance, stratum,
        np.zeros((1, 8), bool), np.arange(1, 9), np.arange(1, 9)[:, None],
    )  # fmt: skip
    rows = np.flatnonzero(value)
    found = DrawnTogether.of(sample).variances(rows, value[rows]).sum()
    np.testing.assert_allclose(found, square - mean**2, rtol=1e-12)
    np.testing.assert_allclose(chance @ value, mean, rtol=1e-12)


def test_draws_within_a_stratum_are_bounded_as_bernstein_s_inequality_needs():
    """log E exp(l x) <= l^2 V / (2 (1 - l / 3)), over all samples, of values from 0 to 1."""
    random = np.random.default_rng(1)
    for _ in range(500):
        size = int(random.integers(2, 9))
        value = random.random(size) ** random.choice([0.2, 1.0, 4.0])
        value[random.random(size) < random.choice([0.0, 0.5])] = 0.0
        chosen = itertools.combinations(range(size), int(random.integers(1, size)))
        total = np.array([value[list(some)].sum() for some in chosen])
        off = total - total.mean()
        for along in (0.1, 0.3, 1.0, 2.0, 2.9):
            bound = along**2 * off.var() / (2.0 * (1.0 - along / 3.0))
            for side in (off, -off):
                assert np.log(np.exp(along * side).mean()) <= bound + 1e-12


def test_probabilities_that_are_not_those_of_the_sample_are_suspected():
    collection, design = drawn(be.designs.poisson, budget=40)
    wrong = design.assign(inclusion_probability=design["inclusion_probability"] * 0.6)
    sampled = be.reveal(collection, wrong, be.draw(design, random_seed=1))
    with pytest.warns(RunsFollowSample, match="in 6 of 6 runs .* not the probabilities"):
        be.evaluate(sampled, "P@10", estimator="stat")


def test_comparisons_models_and_what_combines_warn_too():
    collection, design = drawn(be.designs.pps_strata)
    sampled = be.reveal(collection, design, be.draw(design, random_seed=1))
    both = be.add_runs(sampled, late(sampled, "run005", "fed back", feedback))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        be.scores(both, "P@10", estimator="combined", draws=50, random_seed=1)
    assert sum(issubclass(one.category, RunsFollowSample) for one in caught) == 1
    for population in ("sample", "topics"):
        with pytest.warns(RunsFollowSample, match="in 1 of 7 runs: 'fed back'"):
            be.compare(both, "P@10", estimator="stat", population=population, reference="run001")
    fitted = be.fit(
        be.models.relevance_model(both), approximation="laplace", draws=20, random_seed=1
    )
    with pytest.warns(RunsFollowSample, match="in 1 of 7 runs"):
        be.posterior_scores(fitted, both, "P@10", random_seed=1)
