"""Importance sampling: every sequence of draws of small topics, many samples, rules, round 5."""

import itertools
import math
from collections import Counter

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import bayeseval as be
from bayeseval.estimators.importance import (
    ImportanceOptions,
    importance,
    sum_of_precisions,
    topic_draws,
)
from bayeseval.frame.rankings import CollectionLists, TopicLists
from bayeseval.measures.measure import relevance
from bayeseval.measures.scores import rank_weight
from tests.draws import GRADE, POSITION, PROBABILITY, measure_of, stopped_chances, topic_of

N_DRAWS = 5
STOPPED_BIAS = 0.0764  # relative, of the number of relevant documents
LINEAR = ["P@2", "P@10", "RBP(p=0.8)", "DCG@3", "NumRelRet"]


def every_count(n_draws: int = N_DRAWS, probability=PROBABILITY) -> tuple:
    """All vectors of counts of a fixed number of draws, and their multinomial chances."""
    drawable = np.flatnonzero(probability > 0)
    rows, chances = [], []
    for drawn in itertools.combinations_with_replacement(drawable, n_draws):
        times = Counter(drawn)
        row = np.zeros(probability.size, dtype=np.int64)
        row[list(times)] = list(times.values())
        ways = math.factorial(n_draws) / math.prod(map(math.factorial, times.values()))
        rows.append(row)
        chances.append(ways * math.prod(probability[d] ** k for d, k in times.items()))
    return np.array(rows), np.array(chances)


def truth(name: str) -> np.ndarray:
    """Score of every run with everything judged and what cannot be drawn non-relevant."""
    measure = measure_of("DCG@6" if name == "SP" else name)
    value = relevance(measure, np.nan_to_num(GRADE))
    if name == "SP":
        value = (np.nan_to_num(GRADE) >= 1).astype(float)
    at_rank = np.where(POSITION >= 0, value[POSITION], 0.0)
    if name == "SP":
        above = np.cumsum(at_rank, axis=1)
        return (at_rank * above / np.arange(1, at_rank.shape[1] + 1)).sum(axis=1)
    weight = rank_weight(measure, POSITION.shape[1])
    return at_rank[:, : weight.size] @ weight


def sum_of_precisions_of(topic, **options) -> np.ndarray:
    """Estimates (run, replicate) of the numerator of AP."""
    draws = topic_draws(measure_of("AP"), topic, ImportanceOptions(**options))
    return sum_of_precisions(draws)[0]


def draws_on(count, depth: int) -> np.ndarray:
    """Draws that fell on the first ranks of each run, (run, replicate)."""
    top = POSITION[:, :depth]
    return np.where((top >= 0)[..., None], count.T[top], 0).sum(axis=1)


def expectation(estimate, chance, given_mask) -> np.ndarray:
    weight = np.where(given_mask, chance, 0.0)
    return (np.where(given_mask, estimate, 0.0) * weight).sum(axis=1) / weight.sum(axis=1)


def test_the_induced_pairs_distribution_by_enumeration_of_every_sequence():
    probability, n = PROBABILITY[:4] / PROBABILITY[:4].sum(), 4
    induced = np.zeros((4, 4))
    for sequence in itertools.product(range(4), repeat=n):
        chance = math.prod(probability[d] for d in sequence)
        for one, two in itertools.product(sequence, repeat=2):
            induced[one, two] += chance / n**2
    formula = (n - 1) / n * np.outer(probability, probability) + np.diag(probability) / n
    np.testing.assert_allclose(induced, formula, rtol=0, atol=1e-12)
    np.testing.assert_allclose(formula.sum(), 1.0)


def test_sum_of_precisions_is_unbiased_over_every_sequence_given_two_draws():
    count, chance = every_count()
    estimate = sum_of_precisions_of(topic_of(count))
    enough = draws_on(count, 6) >= 2
    enough[4] = True  # nothing of this run can be drawn: zero for certain
    assert np.isnan(estimate[~enough]).all() and (~enough).any()
    np.testing.assert_allclose(
        expectation(estimate, chance, enough), truth("SP"), rtol=0, atol=1e-12
    )
    assert estimate[0].std() > 0.1


@pytest.mark.parametrize("name", LINEAR)
def test_linear_measures_are_unbiased_over_every_sequence_given_one_draw(name):
    count, chance = every_count()
    measure = measure_of(name)
    score = importance(measure, topic_of(count))
    number = draws_on(count, rank_weight(measure, 6).size)
    one = number >= 1
    one[4] = True
    mean = expectation(score.estimate, chance, one)
    np.testing.assert_allclose(mean, truth(name), rtol=0, atol=1e-12)
    for run, n in itertools.product(range(4), (2, 3, N_DRAWS)):
        exactly = number[run] == n
        if not exactly.any():  # all draws fall on a run that retrieves everything
            continue
        weight = np.where(exactly, chance, 0.0) / chance[exactly].sum()
        values = np.where(exactly, score.estimate[run], 0.0)
        variance = (weight * values**2).sum() - (weight * values).sum() ** 2
        expected = (weight * np.where(exactly, score.variance[run], 0.0)).sum()
        np.testing.assert_allclose(expected, variance, rtol=0, atol=1e-12)
    assert np.isnan(score.variance[:4][number[:4] < 2]).all()


def test_the_number_of_relevant_documents_and_its_variance_are_unbiased():
    count, chance = every_count()
    score = importance(measure_of("NumRel"), topic_of(count))
    mean = (score.estimate[0] * chance).sum()
    assert mean == pytest.approx(4.0, abs=1e-12)
    variance = (score.estimate[0] ** 2 * chance).sum() - mean**2
    assert (score.variance[0] * chance).sum() == pytest.approx(variance, abs=1e-12)
    assert (score.estimate == score.estimate[0]).all()


@pytest.mark.parametrize("name", [*LINEAR, "SP"])
def test_without_conditioning_sums_are_unbiased_over_all_sequences(name):
    count, chance = every_count()
    topic = topic_of(count)
    if name == "SP":
        estimate = sum_of_precisions_of(topic, conditioning="none")
    else:
        estimate = importance(
            measure_of(name), topic, ImportanceOptions(conditioning="none")
        ).estimate
    np.testing.assert_allclose(estimate @ chance, truth(name), rtol=0, atol=1e-12)


def brute_force(position, probability, count, value) -> float:
    """SP from all ordered pairs of the draws on a run, by the scaling factors of the paper."""
    listed = position[position >= 0]
    share = probability[listed] / probability[listed].sum()
    number, length = count[listed].sum(), listed.size
    draws = np.repeat(np.arange(length), count[listed])
    total = 0.0
    for i, j in itertools.product(draws, repeat=2):
        joint = (2.0 if i == j else 1.0) / (2.0 * length * (max(i, j) + 1))
        induced = (number - 1) / number * share[i] * share[j] + (i == j) * share[i] / number
        total += joint / induced * value[listed[i]] * value[listed[j]]
    return length * total / number**2


@given(
    st.integers(1, 8).flatmap(
        lambda n: st.tuples(
            st.permutations(range(n)),
            st.lists(st.floats(0.01, 1.0), min_size=n, max_size=n),
            st.lists(st.integers(0, 4), min_size=n, max_size=n),
            st.lists(st.sampled_from([0.0, 1.0]), min_size=n, max_size=n),
        )
    )
)
def test_sum_of_precisions_equals_all_pairs_of_draws_by_brute_force(topic):
    order, size, count, grade = (np.array(part) for part in topic)
    probability = size / size.sum()
    position = order[None].astype(np.int32)
    lists = topic_of(count, grade, position, probability)
    estimate = sum_of_precisions_of(lists)
    if count.sum() < 2:
        assert np.isnan(estimate).all()
        return
    expected = brute_force(order, probability, count, grade)
    np.testing.assert_allclose(estimate, [[expected]], rtol=1e-10, atol=1e-12)


def test_average_precision_by_hand():
    """Two relevant documents, drawn 2 and 1 times with M = .5 and .25, at ranks 1 and 3."""
    position = np.array([[0, 1, 2]], dtype=np.int32)
    probability, grade = np.array([0.5, 0.25, 0.25]), np.array([1.0, 0.0, 1.0])
    topic = topic_of([2, 1, 1], grade, position, probability)
    own = 4 / (12 * 0.25 + 4 * 0.5) + 1 / 3 / (12 / 16 + 4 / 4)
    pair = 2 / (12 * 0.125 * 3)
    number = (2 / 0.5 + 1 / 0.25) / 4
    total = sum_of_precisions_of(topic)
    np.testing.assert_allclose(total, [[own + pair]])
    ratio = importance(measure_of("AP"), topic).estimate
    np.testing.assert_allclose(ratio, [[(own + pair) / number]])
    cut = importance(measure_of("AP@2"), topic).estimate
    one = 4 / (6 * (2 / 3) ** 2 + 3 * 2 / 3)
    np.testing.assert_allclose(cut, [[one / number]])


def test_r_precision_is_precision_at_the_estimated_number_with_a_share_of_the_last_rank():
    count = np.array([1, 1, 0, 1, 0, 0])
    topic = topic_of(count)
    number = importance(measure_of("NumRel"), topic).estimate[0, 0]
    assert number == pytest.approx((1 / 0.4 + 1 / 0.1) / 3)
    estimate = importance(measure_of("Rprec"), topic).estimate[:, 0]
    share = number - 4
    mass, terms = 1.0, 1 / 0.4 + 1 / 0.1
    assert 0 < share < 1
    assert estimate[0] == pytest.approx(mass / 3 * terms / number)
    shifted = POSITION[:, [1, 2, 4, 5, 0, 3]]  # the document at rank 5 counts with its share
    estimate = importance(measure_of("Rprec"), topic_of(count, position=shifted)).estimate
    mass = 0.25 + 0.2 + 0.05 + 0.4
    assert estimate[0, 0] == pytest.approx(mass / 2 * share / 0.4 / number)


def test_the_corrected_ratio_has_less_bias_over_every_sequence():
    count, chance = every_count(8)
    topic, measure = topic_of(count), measure_of("AP")
    bias = {}
    for ratio in ("plain", "beale"):
        estimate = importance(measure, topic, ImportanceOptions(ratio=ratio)).estimate[0]
        bias[ratio] = abs((estimate * chance).sum() - truth("SP")[0] / 4)
    assert bias["beale"] < 0.5 * bias["plain"]
    assert bias["plain"] > 0.004


def test_no_draw_where_it_counts_is_no_estimate_and_nothing_to_draw_is_zero():
    topic = topic_of([3, 0, 0, 0, 0, 0])
    for name in ("P@3", "RBP(p=0.5)", "AP", "Rprec"):
        measure = measure_of(name)
        estimate = importance(measure, topic).estimate[:, 0]
        assert estimate[0] > 0, name
        assert np.isnan(estimate[1:4]).all(), name
        assert estimate[4] == 0, name
    lone = importance(measure_of("AP"), topic_of([2, 0, 0, 1, 0, 0]))
    assert np.isnan(lone.estimate[3, 0])  # one draw on this run shows no pair


def test_without_a_relevant_document_among_the_draws_every_run_scores_zero():
    topic = topic_of([0, 3, 0, 0, 0, 0])
    for name in ("AP", "Rprec"):
        measure = measure_of(name)
        score = importance(measure, topic)
        np.testing.assert_array_equal(score.estimate, 0.0)
        assert score.variance is None or np.isnan(score.variance[:4]).all()


def test_a_topic_that_nobody_has_judged_has_no_estimate():
    drawn = topic_of([1, 2, 0, 0, 1, 0])
    blank = TopicLists(**{**vars(drawn), "grade": np.full_like(drawn.grade, np.nan)})
    for name in ("P@3", "AP", "Rprec", "NumRel"):
        measure = measure_of(name)
        estimate = importance(measure, blank).estimate
        assert np.isnan(estimate[:4]).all(), name


def test_what_cannot_be_estimated_is_refused():
    drawn = topic_of([1, 2, 0, 0, 1, 0])
    measure = measure_of("P@3")
    plain = TopicLists(position=POSITION, grade=drawn.grade, pooled=drawn.pooled)
    with pytest.raises(ValueError, match="needs draws with replacement"):
        importance(measure, plain)
    lacking = drawn.grade.copy()
    lacking[0, 1] = np.nan
    with pytest.raises(ValueError, match="1 drawn documents of a topic have no grade"):
        importance(measure, TopicLists(**{**vars(drawn), "grade": lacking}))
    with pytest.raises(ValueError, match="draw probability 0"):
        importance(measure, topic_of([1, 0, 0, 0, 0, 1], np.nan_to_num(GRADE)))
    with pytest.raises(ValueError, match="conditioning must be one of run, none"):
        ImportanceOptions(conditioning="all")
    with pytest.raises(ValueError, match="ratio must be one of plain, beale"):
        ImportanceOptions(ratio="jackknife")


def one_topic(n_documents: int, n_relevant: int, seed: int):
    """A collection of one topic: three runs that rank relevant documents high, all judged."""
    rng = np.random.default_rng(seed)
    grade = (np.arange(n_documents) < n_relevant).astype(int)
    labels = [f"d{i:03d}" for i in range(n_documents)]
    qrels = pd.DataFrame({"topic": "1", "document": labels, "grade": grade})
    listed = qrels.drop(columns="grade")
    runs = [listed.assign(run=run, score=grade + rng.normal(size=n_documents)) for run in "abc"]
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
