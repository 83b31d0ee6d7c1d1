"""Importance sampling on samples: variances, the stopping rule, evaluate, round 5."""

import numpy as np
import pandas as pd
import pytest

import bayeseval as be
from bayeseval.estimators.importance import (
    ImportanceOptions,
    importance,
    sum_of_precisions,
    topic_draws,
)
from bayeseval.frame.rankings import CollectionLists
from tests.draws import PROBABILITY, measure_of, stopped_chances, topic_of

STOPPED_BIAS = 0.0764  # relative, of the number of relevant documents


def one_topic(n_documents: int, n_relevant: int, seed: int):
    """A collection of one topic: three runs that rank relevant documents high, all judged."""
    rng = np.random.default_rng(seed)
    grade = (np.arange(n_documents) < n_relevant).astype(int)
    labels = [f"d{i:03d}" for i in range(n_documents)]
    qrels = pd.DataFrame({"topic": "1", "document": labels, "grade": grade})
    runs = [
        pd.DataFrame(
            {
                "run": run,
                "topic": "1",
                "document": labels,
                "score": grade + rng.normal(size=n_documents),
            }
        )
        for run in "abc"
    ]
    return be.read_collection(qrels, pd.concat(runs))


def replicated(design, collection, count):
    return CollectionLists(be.reveal(collection, design, count)).topic(0)


def test_variances_are_those_of_many_samples_where_draws_are_many():
    collection = one_topic(120, 30, seed=1)
    design = be.designs.with_replacement(collection, budget=60)
    count = be.draw(design, n_replicates=3000, n_draws=150, random_seed=1)
    topic = replicated(design, collection, count)
    for name in ("AP", "AP@50", "P@20", "RBP(p=0.9)"):
        measure = measure_of(name)
        score = importance(measure, topic)
        np.testing.assert_allclose(
            score.variance.mean(axis=1), score.estimate.var(axis=1), rtol=0.15, err_msg=name
        )
    for conditioning in ("run", "none"):
        options = ImportanceOptions(conditioning=conditioning)
        total, variance, _ = sum_of_precisions(topic_draws(measure_of("AP"), topic, options))
        np.testing.assert_allclose(variance.mean(axis=1), total.var(axis=1), rtol=0.15)


def test_stopping_at_distinct_documents_biases_the_number_of_relevant_exactly_so_much():
    """By enumeration: the last draw is a new document, so the rare ones are counted too often."""
    chances = stopped_chances(PROBABILITY[:5], 3, most_draws=60)
    count = np.array([[*counts, 0] for counts in chances])
    chance = np.array(list(chances.values()))
    assert chance.sum() == pytest.approx(1.0, abs=1e-6)
    estimate = importance(measure_of("NumRel"), topic_of(count)).estimate[0]
    bias = (estimate * chance).sum() / 4 - 1
    assert bias == pytest.approx(STOPPED_BIAS, abs=1e-4)


def test_stopping_at_distinct_documents_biases_sums_by_little_in_a_frame_of_some_size():
    """A frame of 120 documents; with draws fixed in number only Monte Carlo error is left."""
    collection = one_topic(120, 30, seed=2)
    for budget, options, most in ((30, {"n_draws": 40}, 0.0), (30, {}, 0.01), (100, {}, 0.01)):
        design = be.designs.with_replacement(collection, budget=budget)
        count = be.draw(design, n_replicates=4000, random_seed=3, **options)
        topic = replicated(design, collection, count)
        number = importance(measure_of("NumRel"), topic).estimate[0]
        noise = number.std() / np.sqrt(number.size)
        assert noise < 0.005 * 30
        assert abs(number.mean() - 30) < 30 * most + 4 * noise


def test_evaluate_scores_replicates_and_refuses_measures_that_have_no_estimate():
    collection = one_topic(60, 20, seed=4)
    design = be.designs.with_replacement(collection, budget=20)
    sampled = be.reveal(collection, design, be.draw(design, n_replicates=3, random_seed=1))
    scores = be.evaluate(sampled, ["AP", "P@5", "NumRel"], estimator="importance")
    direct = importance(measure_of("AP"), CollectionLists(sampled).topic(0))
    found = scores.sel(measure="AP").isel(topic=0).transpose("run", "replicate", ...)
    np.testing.assert_array_equal(found.estimate, direct.estimate)
    np.testing.assert_allclose(found.standard_error**2, direct.variance)
    corrected = be.evaluate(
        sampled, "AP", estimator="importance", estimator_options={"ratio": "beale"}
    )
    assert (corrected.estimate != scores.estimate.sel(measure="AP")).any()
    with pytest.raises(ValueError, match="P, RBP, Rprec"):
        be.evaluate(sampled, "nDCG@10", estimator="importance")
    strata = be.designs.pps_strata(collection, budget=20, n_strata=2)
    other = be.reveal(collection, strata, be.draw(strata, random_seed=1))
    with pytest.raises(ValueError, match="with_replacement and this design is stratified"):
        be.evaluate(other, "AP", estimator="importance")


def test_on_round_5_a_sample_is_closer_to_the_truth_than_a_depth_pool_of_its_size(
    real_data, round5_runs
):
    """Every eighth run; truth: judged documents that one of them retrieves. Ten samples."""
    names = sorted(path.name for path in round5_runs.iterdir())[::8]
    qrels = real_data / "trec-covid" / "qrels.covid-complete.txt.gz"
    collection = be.read_collection(qrels, [round5_runs / name for name in names])
    measures = ["AP", "Rprec", "P@100"]
    pool = be.designs.depth_pool(collection, 5)
    pooled = be.reveal(collection, pool, unjudged="nonrelevant")
    frame = be.designs.with_replacement(collection, budget=1, pool_depth=1000)
    drawable = frame.draw_probability > 0
    budget = round(float((drawable.values & (pool.inclusion_probability.values > 0)).sum()) / 50)
    design = be.designs.with_replacement(collection, budget=budget, pool_depth=1000)
    count = be.draw(design, n_replicates=10, random_seed=1)
    known = be.reveal(collection, design, drawable.astype(int))
    truth = be.evaluate(known, measures, estimator="assumed").estimate.mean("topic")
    deep = be.evaluate(pooled, measures, estimator="assumed").estimate.mean("topic")
    scores = be.evaluate(
        be.reveal(collection, design, count), measures, estimator="importance"
    ).estimate
    error = scores.mean("topic") - truth
    rms = np.sqrt((error**2).mean("run")).mean("replicate")
    rms_pool = np.sqrt(((deep - truth) ** 2).mean("run"))
    assert (rms < 0.7 * rms_pool).all()
    assert (abs(error.mean(["run", "replicate"])) < 0.02).all()
    assert scores.isnull().mean() < 0.05
