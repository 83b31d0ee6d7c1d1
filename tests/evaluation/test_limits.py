"""Limits of ratios over topics: what they take from a run that finds what others do not."""

import numpy as np
import pytest
from bayeseval.estimators.denominators import given_back

import bayeseval as be

MEASURES = ["AP", "R@20", "nDCG@10"]
ODD = "odd"  # a run that begins with relevant documents of any fused rank


@pytest.fixture(scope="module")
def collection():
    made = be.simulate.urn_collection(
        np.full((6, 40), 0.05), n_topics=40, n_relevant=15, n_documents=1500, depth=100,
        shared=0.7, random_seed=3,
    )  # fmt: skip
    known = be.trec.qrels_frame(made)
    chance = np.random.default_rng(1).random(len(known))
    odd = known[["topic", "document"]].assign(run=ODD, score=known.grade + chance)
    both = be.add_runs(made, odd)
    return both.assign(contributed=both["run"] != ODD)


@pytest.fixture(scope="module")
def samples(collection):
    design = be.designs.pps_strata(collection, budget=40)
    return be.reveal(collection, design, be.draw(design, n_replicates=8, random_seed=1))


@pytest.mark.parametrize("estimator", ["stat", "dyn"])
def test_a_run_that_finds_what_others_do_not_is_not_held_down(
    collection, samples, estimator, monkeypatch
):
    truth = be.evaluate(collection, MEASURES, estimator="assumed").estimate.mean("topic")
    scores = be.evaluate(samples, MEASURES, estimator=estimator)
    assert scores.limited.sel(run=ODD).any()
    mean = be.mean_over_topics(scores)
    off = (mean.estimate - truth).sel(run=ODD).mean("replicate")
    monkeypatch.setattr("bayeseval.evaluation.scored.given_back", np.zeros_like)
    held_down = be.evaluate(samples, MEASURES, estimator=estimator).estimate.mean("topic")
    before = (held_down - truth).sel(run=ODD).mean("replicate")
    assert (before < 0).all() and (abs(off) < 0.6 * abs(before)).all()


def test_topics_that_are_skipped_say_nothing_of_what_is_given_back(collection, monkeypatch):
    of_some = be.trec.runs_frame(collection).query(f"run == '{ODD}' and topic < '3'")
    short = be.add_runs(collection, of_some.assign(run="short"))
    design = be.designs.pps_strata(short, budget=40)
    sampled = be.reveal(short, design, be.draw(design, random_seed=1))
    seen = []

    def recorded(beyond):
        seen.append(beyond)
        return given_back(beyond)

    monkeypatch.setattr("bayeseval.evaluation.scored.given_back", recorded)
    skipped = be.evaluate(sampled, ["R@20"], estimator="dyn", missing_topics="skip")
    absent = (short["rankings/ranking"] < 0).all("rank").to_numpy()
    assert 0 < absent.sum() < absent.shape[1]
    assert np.isnan(seen[0][:, absent]).all() and not np.isnan(seen[0][:, ~absent]).any()
    assert (skipped.estimate.isnull() == absent).all()


def test_differences_are_those_of_the_means(collection):
    design = be.designs.pps_strata(collection, budget=40)
    sampled = be.reveal(collection, design, be.draw(design, random_seed=1))
    scores = be.evaluate(sampled, MEASURES, estimator="dyn", random_seed=1)
    mean = be.mean_over_topics(scores).estimate
    found = be.compare(
        sampled, MEASURES, estimator="dyn", reference=ODD, n_permutations=99, random_seed=1
    )
    runs = {name: found[name].to_numpy() for name in ("run_a", "run_b")}
    expected = mean.sel(run=runs["run_a"]).to_numpy() - mean.sel(run=runs["run_b"]).to_numpy()
    np.testing.assert_allclose(found.estimate, expected, atol=1e-12)


def test_little_is_given_back_where_one_topic_makes_it():
    beyond = np.zeros((3, 30, 2))
    beyond[0, 4] = 3.0  # one topic
    beyond[1, ::3] = 0.5  # a third of them
    beyond[2, ::3] = 0.5
    beyond[2, 1] = np.nan
    back = given_back(beyond)
    assert (back[0] == 0).all()
    share = back[1:, ::3] / beyond[1:, ::3]
    assert ((share > 0.9) & (share < 1)).all() and (back[1:, 1:3] == 0).all()


def test_a_ratio_whose_denominator_is_well_known_has_no_limits():
    made = be.simulate.urn_collection(
        [0.05, 0.05, 0.1], n_topics=4, n_relevant=300, n_documents=600, depth=400, random_seed=3
    )
    design = be.designs.uniform_strata(made, budget=120, n_strata=6, random_seed=1)
    sampled = be.reveal(made, design, be.draw(design, n_replicates=20, random_seed=1))
    scores = be.evaluate(
        sampled, ["nDCG@5", "R@400", "Rprec"], estimator="dyn",
        estimator_options={"denominator": "topic"},
    )  # fmt: skip
    ratios = scores.estimate.drop_sel(measure="Rprec")
    outside = ((ratios < 0.0) | (ratios > 1.0)).mean(["run", "topic", "replicate"])
    assert (outside > 0.1).all() and not scores.limited.drop_sel(measure="Rprec").any()
    assert np.abs(scores.estimate.sel(measure="Rprec") - 0.5).max() <= 0.5
