"""External predictions as they are and recalibrated; the constant; the registry."""

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import scipy.stats

import bayeseval as be
from bayeseval.frame.sample import Sample
from bayeseval.predictors import constant, external, predicted_relevance, recalibrated
from bayeseval.predictors.cross_fitting import held_out_prevalence
from bayeseval.predictors.registry import check_gaps, log_tail
from tests.predictors.samples import random_sample
from tests.small import small_collection


def test_probabilities_are_used_as_they_are():
    sample, relevance = random_sample()
    values = np.random.default_rng(0).random(sample.n_pairs)
    for row in external(sample, relevance, values=values, counted=(2.0, np.inf)):
        np.testing.assert_array_equal(row, values)


def test_grades_count_as_the_measure_counts_them():
    sample, relevance = random_sample(n_topics=1, n_replicates=1)
    values = np.arange(sample.n_pairs) % 5 - 1.0
    predicted = external(sample, relevance, values=values, counted=(1.0, np.inf))[0]
    np.testing.assert_array_equal(predicted, values >= 1)
    predicted = external(sample, relevance, values=values, counted=(1.0,))[0]
    np.testing.assert_array_equal(predicted, values == 1)
    np.testing.assert_array_equal(external(sample, relevance, values=values, counted=()), 0.0)


def test_a_missing_value_becomes_the_prevalence_of_the_topic():
    sample, relevance = random_sample()
    values = np.where(np.arange(sample.n_pairs) % 3, 0.25, np.nan)
    predicted = external(sample, relevance, values=values)
    missing = np.isnan(values)
    np.testing.assert_array_equal(
        predicted[:, missing], held_out_prevalence(sample, relevance)[:, missing]
    )
    np.testing.assert_array_equal(predicted[:, ~missing], 0.25)


@pytest.mark.parametrize("wrong", [-0.5, 1.5])
def test_a_value_that_is_no_probability_is_an_error(wrong):
    sample, relevance = random_sample()
    values = np.full(sample.n_pairs, 0.5)
    values[3] = wrong
    with pytest.raises(ValueError, match=f"holds {wrong}; allowed: probabilities in .0, 1."):
        external(sample, relevance, values=values)


@pytest.mark.parametrize("few_labels", [True, False])
def test_recalibration_repairs_a_score_with_the_wrong_sign_and_scale(few_labels):
    sample, _ = random_sample(n_topics=10, n_replicates=1, random_seed=6)
    rng = np.random.default_rng(1)
    truth = rng.random(sample.n_pairs) < 0.3
    values = 100.0 - 50.0 * truth + (0.0 if few_labels else rng.normal(0, 5, sample.n_pairs))
    predicted = recalibrated(sample, np.where(sample.selected, truth, 0.0), values=values)[0]
    assert predicted[truth].mean() > 0.8
    assert predicted[~truth].mean() < 0.1


def test_recalibration_of_noise_is_about_the_prevalence():
    sample, _ = random_sample(n_topics=10, n_strata=10, n_replicates=1, random_seed=6)
    rng = np.random.default_rng(2)
    truth, values = rng.random(sample.n_pairs) < 0.3, rng.random(sample.n_pairs)
    predicted = recalibrated(sample, np.where(sample.selected, truth, 0.0), values=values)
    assert abs(predicted.mean() - truth.mean()) < 0.08


def test_a_constant_column_and_a_column_of_nothing_are_harmless():
    sample, relevance = random_sample()
    for value in (3.0, np.nan):
        predicted = recalibrated(sample, relevance, values=np.full(sample.n_pairs, value))
        assert np.all((predicted > 0) & (predicted < 1))


def test_infinite_values_are_an_error():
    sample, relevance = random_sample()
    with pytest.raises(ValueError, match="infinite value; allowed: finite or NaN"):
        recalibrated(sample, relevance, values=np.full(sample.n_pairs, np.inf))


def test_constant_outside_zero_to_one_is_an_error():
    sample, relevance = random_sample()
    with pytest.raises(ValueError, match="constant predictor is 1.5; allowed: 0 to 1"):
        constant(sample, relevance, value=1.5)


@pytest.mark.parametrize(
    ("specification", "message"),
    [
        ("bert", "no predictor 'bert'; there are: constant, external, pooled, rank_logistic"),
        ("external", r"needs a column, as \('external', column\); columns of /predictors: 'judge'"),
        (("external", "bert"), "no column 'bert' for predictor 'external'.*'judge'"),
        (("rank_logistic", "judge"), "'rank_logistic' takes no argument, 'judge' was given"),
        (("constant", "judge"), "constant predictor is 'judge'; allowed: a number"),
        (("a", "b", "c"), "is not a name or a pair"),
        (3, "predictor 3 is not a name or a pair"),
    ],
)
def test_a_wrong_specification_is_an_error_that_lists_what_exists(specification, message):
    sample, relevance = random_sample()
    columns = {"judge": np.zeros(sample.n_pairs)}
    with pytest.raises(ValueError, match=message):
        predicted_relevance(sample, relevance, specification, columns=columns)


def test_importing_predictors_loads_neither_numba_nor_scikit_learn():
    code = (
        "import sys, bayeseval.predictors; "
        "print([m for m in ('numba', 'sklearn', 'threadpoolctl') if m in sys.modules])"
    )
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert answer.stdout.strip() == "[]", answer.stderr


def drawn_half(selected) -> Sample:
    n = selected.shape[1]
    return Sample(
        np.arange(n), np.zeros(n, int), np.array([0, n]), np.full(n, 0.5), np.zeros(n, int),
        selected, np.arange(1, n + 1), np.arange(1, n + 1)[:, None],
    )  # fmt: skip


def test_gaps_that_the_sample_made_are_refused_and_others_are_not():
    random = np.random.default_rng(1)
    n = 400
    draws = np.array([random.permutation(np.arange(n) % 2 == 0) for _ in range(300)])
    before = np.where(random.random(n) < 0.4, 1.0, np.nan)  # before the draw: never refused
    check_gaps(drawn_half(draws), "gpt", before)
    for known in (draws[0], ~draws[0]):  # of the sampled ones, and of those that were not
        with pytest.raises(ValueError, match="'gpt'.*tell what was sampled"):
            check_gaps(drawn_half(draws[:1]), "gpt", np.where(known, 1.0, np.nan))
    pool = np.where((np.arange(n) < 200) | draws[0], 1.0, np.nan)  # a pool, and what was sampled
    with pytest.raises(ValueError, match="200 of 200 sampled documents"):
        check_gaps(drawn_half(draws[:1]), "gpt", pool)


def test_a_label_of_few_rare_documents_is_not_refused_for_one_of_them_being_drawn():
    random = np.random.default_rng(2)
    n, rare = 3000, 0.01
    chance = np.where(np.arange(n) < 200, 0.5, rare)
    draws = random.random((200, n)) < chance
    draws[0, 2900] = True
    sample = replace(drawn_half(draws), inclusion_probability=chance)
    values = np.where(np.arange(n) >= 2900, 3.0, 0.0)
    values[2902:] = 0.0
    check_gaps(sample, "gpt", values)  # two documents have the label, and one of them was drawn
    with pytest.raises(ValueError, match="tell what was sampled"):
        check_gaps(sample, "gpt", np.where(draws[0] & (np.arange(n) >= 200), 3.0, 0.0))


def test_labels_of_what_was_sampled_are_seen_beside_many_that_were_there_before():
    random = np.random.default_rng(3)
    n_strata, size = 60, 50
    stratum = np.repeat(np.arange(n_strata), size)
    keys = random.random((200, n_strata, size))
    draws = (keys.argsort(axis=2).argsort(axis=2) < 2).reshape(200, -1)  # two of each stratum
    sample = replace(
        drawn_half(draws), stratum=stratum, inclusion_probability=np.full(stratum.size, 2 / size)
    )
    before = np.where(random.random(stratum.size) < 0.7, 1.0, np.nan)
    check_gaps(sample, "gpt", before)
    one = replace(sample, selected=draws[:1])
    with pytest.raises(ValueError, match="120 of 120 sampled documents"):
        check_gaps(one, "gpt", np.where(draws[0], 1.0, before))


def test_the_bound_of_a_tail_is_near_the_probability_and_never_below():
    for number in (0, 1, 10, 40, 60, 99, 100):
        tail = scipy.stats.binom.cdf if number < 50 else scipy.stats.binom.sf
        exact = tail(number if number < 50 else number - 1, 100, 0.5)
        assert np.log(exact) - 1e-9 <= log_tail(np.full(100, 0.5), number) <= np.log(exact) + 3.0


def test_topics_without_a_judgment_tell_nothing_of_gaps():
    sample = drawn_half(np.tile([True, False], 100)[None])
    two = replace(
        sample,
        topic=np.repeat([0, 1], 100).astype(np.int32),
        start=np.array([0, 100, 200]),
        selected=sample.selected & (np.arange(200) < 100),
    )
    values = np.where(np.arange(200) >= 90, 1.0, np.nan)
    check_gaps(two, "gpt", values)


@pytest.mark.parametrize("how", ["dyn", "model"])
def test_labels_that_judgments_were_written_over_are_suspected(how):
    collection = be.simulate.urn_collection(
        [0.1, 0.3], n_topics=10, n_documents=100, prevalence=0.3, random_seed=1
    )
    labels = be.trec.qrels_frame(collection).rename(columns={"grade": "label"})
    wrong = np.random.default_rng(1).random(len(labels)) < 0.2
    labels["label"] = np.where(wrong, 1 - labels["label"], labels["label"])
    labels = labels[["topic", "document", "label"]]
    design = be.designs.pps_strata(collection, budget=30, n_strata=5)
    sampled = be.reveal(collection, design, be.draw(design, random_seed=1))
    judged = be.trec.qrels_frame(sampled).query("grade >= 0").set_index(["topic", "document"])
    over = labels.set_index(["topic", "document"])
    over.loc[judged.index, "label"] = judged["grade"]

    def asked(frame):
        labelled = be.add_predictions(sampled, "gpt", frame)
        if how == "model":
            be.models.relevance_model(labelled, external="gpt")
        else:
            be.evaluate(labelled, "P@10", estimator="dyn")

    with pytest.warns(UserWarning, match="the labels 'gpt' agree with all 300 judgments"):
        asked(over.reset_index())
    asked(labels)


@pytest.mark.filterwarnings("ignore:the labels 'gpt' agree with all")
def test_labels_of_sampled_documents_would_bias_the_estimate():
    collection = be.simulate.urn_collection(
        [0.1, 0.3], n_topics=10, n_documents=100, prevalence=0.3, random_seed=1
    )
    design = be.designs.pps_strata(collection, budget=30, n_strata=5)
    sampled = be.reveal(collection, design, be.draw(design, random_seed=1))
    labels = be.trec.qrels_frame(sampled).rename(columns={"grade": "label"})
    labels = labels[["topic", "document", "label"]]  # -1 where it was not drawn
    labelled = be.add_predictions(sampled, "gpt", labels.query("label >= 0"))
    for predictor in (None, ("recalibrated", "gpt"), ("pooled", ["gpt"])):
        with pytest.raises(ValueError, match="300 of 300 sampled documents have one and 0 of 700"):
            be.evaluate(labelled, "P@10", estimator="dyn", predictor=predictor)
    be.evaluate(labelled, "P@10", estimator="dyn", predictor="pooled")
    with pytest.warns(UserWarning, match="700 of 1000 labels are below 0"):
        marked = be.add_predictions(sampled, "gpt", labels)
    with pytest.raises(ValueError, match="300 of 300 sampled documents have one and 0 of 700"):
        be.evaluate(marked, "P@10", estimator="dyn")
    marked = be.add_predictions(sampled, "gpt", labels.assign(label=labels["label"] + 1))
    with pytest.raises(ValueError, match="0 of 300 sampled documents have 0 and 700 of 700"):
        be.evaluate(marked, "P@10", estimator="dyn")


@pytest.mark.filterwarnings("ignore:the labels 'gpt' are taken for the relevance as they are")
def test_a_column_without_values_in_the_frame_is_the_prevalence_for_measures_of_gains_too():
    collection = small_collection()
    outside = pd.DataFrame({"topic": ["1"], "document": ["d7"], "label": [1.0]})
    labelled = be.add_predictions(collection, "gpt", outside)
    design = be.designs.uniform_strata(
        labelled, budget=4, n_strata=2, pool_depth=3, runs=["a", "c"], random_seed=1
    )
    sampled = be.reveal(labelled, design, be.draw(design, random_seed=1))
    scores = [
        be.evaluate(sampled, ["P@3", "DCG@3"], estimator="dyn", predictor=predictor).estimate
        for predictor in (("external", "gpt"), "constant")
    ]
    np.testing.assert_allclose(*(score.sel(measure="P@3") for score in scores), rtol=1e-12)
    assert np.isfinite(scores[0].sel(measure="DCG@3")).all()
