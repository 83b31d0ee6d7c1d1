"""Design and model combined in one call: the same numbers as step by step."""

import warnings

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import bayeseval as be

MEASURES = ["P@10", "AP"]


@pytest.fixture(scope="module")
def sampled():
    """Four runs, of which one comes after the sample."""
    collection = be.simulate.urn_collection(
        [0.05, 0.3, 0.1, 0.2], n_topics=12, prevalence=0.08, shared=0.5, random_seed=3
    )
    runs = be.runs_frame(collection)
    table = pd.DataFrame({"run": np.unique(runs["run"]), "contributed": [True] * 3 + [False]})
    whole = be.read_collection(be.qrels_frame(collection), runs, run_table=table)
    design = be.designs.pps_strata(whole, budget=40)
    return be.reveal(whole, design, be.draw(design, random_seed=4))


@pytest.fixture(scope="module")
def scores(sampled):
    return be.combined_scores(
        sampled, MEASURES, predictor="rank_logistic", ci_prob=0.8, draws=100, random_seed=2
    )


def test_they_are_those_of_the_steps_one_by_one(sampled, scores):
    how = {"estimator": "dyn", "predictor": "rank_logistic"}
    mean = be.mean_over_topics(be.evaluate(sampled, MEASURES, **how), ci_prob=0.8)
    matrix = be.covariance(sampled, MEASURES, **how)
    model = be.models.relevance_model(sampled)
    fitted = be.fit(model, approximation="laplace", draws=100, random_seed=2)
    post = be.posterior_scores(fitted, sampled, MEASURES, random_seed=2)
    expected = be.combine(mean, post, covariance=matrix)
    xr.testing.assert_equal(scores[list(expected)], expected)
    alone = be.summarize(be.with_model_errors(post, random_seed=2), ci_prob=0.8)
    table = be.compare_intervals(mean, alone, expected)
    np.testing.assert_array_equal(scores["flagged"], table["flagged"])
    for name in ("outside_weight", "n_topics", "n_limited", "poorly_known_topics"):
        np.testing.assert_array_equal(scores[name], mean[name])
    assert scores["group"].to_numpy().tolist() == ["contributed"] * 3 + ["new"]


def test_runs_are_compared_and_ranked_by_them(scores):
    pairs = be.rankings.compare_draws(scores, reference="run002")
    off = scores.estimate.sel(run=pairs.run_a) - scores.estimate.sel(run="run002")
    np.testing.assert_allclose(pairs.estimate, off.transpose("measure", "comparison"), atol=1e-12)
    sets = be.rankings.rank_sets(scores, top=2)
    assert sets["best"].dtype == bool and sets.sizes["run"] == 4


def test_judgments_that_contradict_the_model_are_warned_of():
    """Relevant is what stands at ranks 25 to 34 of every run, which no falling curve knows."""
    topics = [f"t{number}" for number in range(12)]
    runs = pd.DataFrame(
        [
            (run, topic, f"d{rank + 100 * (rank % 3 == kind)}", 100.0 - rank)
            for kind, run in enumerate(["x", "y", "z"])
            for topic in topics
            for rank in range(60)
        ],
        columns=["run", "topic", "document", "score"],
    )
    pairs = runs[["topic", "document"]].drop_duplicates()
    place = pairs["document"].str[1:].astype(int) % 100
    judged = pairs.assign(grade=((place >= 25) & (place < 35)).astype(int))
    whole = be.read_collection(judged, runs)
    design = be.designs.pps_strata(whole, budget=40)
    sampled = be.reveal(whole, design, be.draw(design, random_seed=1))
    with pytest.warns(UserWarning, match="the judgments contradict the model's predictions"):
        be.combined_scores(sampled, "P@30", draws=50, random_seed=1)


def test_a_model_that_is_right_is_not_warned_of(sampled):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        be.combined_scores(sampled, "P@10", draws=50, random_seed=3)


@pytest.mark.parametrize(
    ("measure", "level", "message"),
    [
        ("Bpref", 1, "Bpref has no posterior scores"),
        ("P(rel=2)@10", 1, r"P\(rel=2\)@10 counts grades from 2 and the model those from 1"),
        ("P(rel=1)@10", 2, "P@10 counts grades from 1 and the model those from 2"),
        ("P@10", 1.5, "relevance_level"),
        ("P@10", 1, "ci_prob"),
    ],
)
def test_what_has_no_combination_is_refused_before_the_fit(
    sampled, monkeypatch, measure, level, message
):
    monkeypatch.setattr("bayeseval.combination.scores.fit", lambda *_, **__: pytest.fail("fitted"))
    ci_prob = 2.0 if message == "ci_prob" else 0.9
    with pytest.raises(ValueError, match=message):
        be.combined_scores(sampled, measure, relevance_level=level, ci_prob=ci_prob, random_seed=1)


def test_it_is_named_where_evaluate_is_asked_for_it(sampled):
    with pytest.raises(ValueError, match="be.combined_scores has the scores of dyn and a model"):
        be.evaluate(sampled, "P@10", estimator="combined")
