"""Variances that the predictions lead one to expect."""

import itertools
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import bayeseval as be
from bayeseval.estimators.anticipated import level_covariance
from bayeseval.estimators.relevance import FilledRelevance
from bayeseval.estimators.stratum_rates import squared_residuals, stratum_rates
from bayeseval.evaluation.problem import Problem
from bayeseval.frame.frame import Frame
from bayeseval.frame.sample import Sample
from bayeseval.uncertainty import anticipated_part, with_anticipated
from tests.small import every_stratified_sample, sample, small_collection

CHANCE = np.array([1.0, 0.7, 0.4, 0.0, 0.2, 0.0, 0.3, 0.1])
ORDER = [2, 0, 1, 6, 4, 7, 5, 3]


def world(relevant) -> xr.DataTree:
    """One topic of 8 documents with these grades, and the probabilities that they came from."""
    documents = [f"d{i}" for i in range(8)]
    qrels = pd.DataFrame({"topic": "1", "document": documents, "grade": relevant})
    run = pd.DataFrame({"run": "a", "topic": "1", "document": [documents[i] for i in ORDER]})
    collection = be.read_collection(qrels, run.assign(score=-np.arange(8.0)))
    place = [int(name[1:]) for name in collection["document"].to_numpy().astype(str)]
    column = xr.Dataset({"chance": ("pair", CHANCE[place])})
    collection["predictors"] = xr.DataTree(column)
    return collection


@pytest.fixture
def calibrated(monkeypatch):
    """Given probabilities count as learned ones do: p (1 - p) is what they leave open."""
    monkeypatch.setattr("bayeseval.estimators.difference._as_given", lambda *_: False)


def anticipated(scores) -> xr.DataArray:
    """Anticipated variance that the errors of scores hold beside that of the design."""
    errors = scores.standard_error, scores.design_error
    return anticipated_part(*errors, scores.degrees_of_freedom).where(errors[0] != errors[1], 0.0)


def test_an_anticipated_variance_counts_for_ten_degrees_of_freedom():
    numbers = [(1.0, 10.0, 3.0), (1.0, 10.0, 0.5), (1.0, np.inf, 3.0), (0.0, np.inf, 2.0)]
    numbers += [(1e-30, 1.0, 2.0), (1e-6, 1.0, 2.0), (np.nan, np.nan, 1.0), (1.0, 3.0, 0.0)]
    columns = [xr.DataArray(list(v), dims="x") for v in zip(*numbers, strict=True)]
    variance, freedom = with_anticipated(*columns)
    near = 20 / 11  # of a variance next to nothing with one degree of freedom
    np.testing.assert_allclose(variance, [2.0, 0.75, 1.0, 2.0, 2.0, near, np.nan, 1.0], rtol=1e-5)
    right = [20.0, 20.0, np.inf, 10.0, 10.0, 11.0, np.nan, 3.0]
    np.testing.assert_allclose(freedom, right, rtol=1e-5)
    again = anticipated_part(variance[:2] ** 0.5, columns[0][:2] ** 0.5, freedom[:2])
    np.testing.assert_allclose(again, [3.0, 0.5])


def first_topic(sampled) -> tuple:
    """Seen relevance, pairs of the first topic, probabilities and rates; its first run's list."""
    seen = sampled["judgments/grade"].to_numpy() >= 1
    here = sampled["pair_topic"].to_numpy() == 0
    chance = sampled["design/inclusion_probability"].to_numpy()
    rate = stratum_rates(Frame.of(sampled).sample, seen[None].astype(float))[0]
    ranked = sampled["rankings/ranking"].to_numpy()[0, 0]
    return seen, here, chance, rate, ranked[ranked >= 0]


@pytest.mark.usefixtures("calibrated")
def test_the_anticipated_variance_is_the_mean_design_variance_of_all_worlds():
    """Exact: every world that the predictions allow, and every sample in each."""
    measures, how = ["P@3", "RBP(p=0.8)", "NumRel"], {"predictor": ("external", "chance")}
    open_ones = np.flatnonzero((CHANCE > 0) & (CHANCE < 1))
    expected = found = 0.0
    for answer in itertools.product([0, 1], repeat=open_ones.size):
        relevant = (CHANCE == 1).astype(int)
        relevant[open_ones] = answer
        p = CHANCE[open_ones]
        weight = np.prod(np.where(np.array(answer) == 1, p, 1 - p))
        collection = world(relevant)
        design = be.designs.pps_strata(collection, budget=5, n_strata=2)
        sampled = be.reveal(collection, design, every_stratified_sample(design))
        scores = be.evaluate(sampled, measures, estimator="dyn", **how)
        expected = expected + weight * scores.estimate.var("replicate", ddof=0)
        found = anticipated(scores).isel(replicate=0)
    xr.testing.assert_allclose(expected, found, rtol=1e-9)


def test_the_variance_of_a_gain_is_that_of_its_grades():
    random = np.random.default_rng(2)
    steps = [1.0, 2.0, 4.0]
    above = np.sort(random.uniform(size=(3, 1, 5)), axis=0)[::-1]  # P(grade >= 1, 2, 3)
    levels = [
        (step, FilledRelevance(np.zeros((5, 1)), np.zeros((1, 0)), np.zeros(1), chance))
        for step, chance in zip(steps, above, strict=True)
    ]
    gains = np.array([0.0, 1.0, 3.0, 7.0])
    share = -np.diff(above[:, 0], axis=0, prepend=1.0, append=0.0)  # of each grade
    mean = gains @ share
    exact = gains**2 @ share - mean**2
    gain = [np.full(1, step) for step in steps]
    found = level_covariance(levels, gain, gain)[:, 0]
    np.testing.assert_allclose(found, exact, rtol=1e-12)
    count = [np.ones(1)] * 3  # levels reached, 0 to 3
    both = (gains * np.arange(4)) @ share - mean * (np.arange(4) @ share)
    np.testing.assert_allclose(level_covariance(levels, gain, count)[:, 0], both, rtol=1e-12)


@pytest.mark.usefixtures("calibrated")
def test_the_anticipated_variance_of_a_ratio_is_that_of_its_linear_error():
    """(w - R) / D for a document of weight w, if D is what the topic's own sample says."""
    collection = world([1, 1, 0, 0, 0, 0, 1, 0])
    sampled = sample(collection, budget=5, n_strata=2)
    how = {"predictor": ("external", "chance"), "denominator": "topic"}
    scores = be.evaluate(sampled, ["R@3", "P@3", "NumRel", "AP"], estimator="dyn", **how)
    value = scores.estimate.isel(run=0, topic=0)
    number = max(value.sel(measure="NumRel").item(), 1.0)
    recall = 3 * value.sel(measure="P@3").item() / number
    pi = sampled["design/inclusion_probability"].to_numpy()
    spread = (1 / pi - 1) * CHANCE * (1 - CHANCE)
    weight = np.isin(np.arange(8), ORDER[:3]) - recall
    variance = anticipated(scores).isel(run=0, topic=0)
    expected = weight**2 @ spread / number**2
    assert variance.sel(measure="R@3") == pytest.approx(expected, rel=1e-9)
    assert variance.sel(measure="AP") == 0.0


def test_the_anticipated_variance_of_average_precision_is_that_of_its_linear_error():
    """By ``stat``: rates of the strata, and what each document is expected to add, by hand."""
    sampled = sample(small_collection(), budget=5, n_strata=2)
    problem = Problem.prepared(sampled, "AP", estimator="stat")
    counts = problem.relevance.counts(0, problem.measures[0])
    inverse, fall = counts.inverse[0], counts.inverse_fall[0]
    scores = be.evaluate(sampled, "AP", estimator="stat").isel(measure=0, run=0, topic=0)
    assert 0.0 < scores.estimate < 1.0  # no limit in its place
    seen, here, chance, rate, ranked = first_topic(sampled)
    weight, expected = np.zeros(seen.size), 0.0
    for i, document in enumerate(ranked):
        expected += rate[document] * (1 + rate[ranked[:i]].sum()) / (i + 1) / rate[here].sum()
        above, below = rate[ranked[:i]], rate[ranked[i + 1 :]]
        places = np.arange(i + 2, ranked.size + 1)
        weight[document] = (1 + above.sum()) / (i + 1) + (below / places).sum()
    constant = min(expected, 1.0)
    drawn = 1 - np.prod(1 - np.where(chance < 1, chance * rate, seen)[here])
    rest = (scores.estimate.item() - constant) / inverse
    slope = inverse * weight - rest * fall - constant * drawn * inverse
    variance = ((1 / chance - 1) * rate * (1 - rate) * slope**2)[here].sum()
    assert anticipated(scores).item() == pytest.approx(variance, rel=1e-8)
    for without in ({"estimator": "stat", "denominator": "topic"}, {"estimator": "dyn"}):
        assert (anticipated(be.evaluate(sampled, "AP", **without)) == 0).all()


def test_of_predictions_taken_as_they_are_the_residuals_tell_the_variance():
    collection = world([1, 1, 0, 0, 0, 0, 1, 0])
    sampled = sample(collection, budget=5, n_strata=2)
    scores = be.evaluate(sampled, "P@3", estimator="dyn", predictor=("external", "chance"))
    grade = sampled["judgments/grade"].to_numpy()
    chance = sampled["predictors/chance"].to_numpy()
    stratum = sampled["design/stratum"].to_numpy()
    pi = sampled["design/inclusion_probability"].to_numpy()
    variance = 0.0
    for number in np.unique(stratum):
        here = stratum == number
        square = (grade - chance)[here & ~np.isnan(grade)] ** 2
        place = (square.sum() + 0.5) / (square.size + 1)
        rate = (square.sum() + 5 * place) / (square.size + 5)
        weight = np.isin(np.flatnonzero(here), sampled["rankings/ranking"][0, 0, :3]) / 3
        variance += ((1 / pi[here] - 1) * weight**2 * rate).sum()
    assert anticipated(scores).item() == pytest.approx(variance, rel=1e-9)


def test_recall_of_all_documents_is_known_with_the_topics_own_denominator():
    """N = D whatever is relevant: the interval has no length."""
    random = np.random.default_rng(3)
    names = [f"d{i}" for i in range(20)]
    rows = [(str(t), d, int(random.uniform() < 0.3)) for t in range(6) for d in names]
    qrels = pd.DataFrame(rows, columns=["topic", "document", "grade"])
    run = qrels.assign(run="a", score=random.uniform(size=len(qrels)))
    collection = be.read_collection(qrels, run[["run", "topic", "document", "score"]])
    sampled = sample(collection, budget=8, n_strata=2)
    scores = be.evaluate(sampled, ["R@20", "nDCG@5"], estimator="stat", denominator="topic")
    length = be.mean_over_topics(scores).interval.diff("ci_bound")
    assert length.sel(measure="R@20") < 1e-6
    assert length.sel(measure="nDCG@5") > 0.05


def test_no_ratio_is_anticipated_to_err_by_more_than_a_score_can():
    """Small samples, of which many see no relevant document: D is next to nothing."""
    collection = be.simulate.urn_collection(
        [0.3, 0.3], n_topics=5, n_documents=30, n_relevant=4, depth=30, random_seed=1
    )
    sampled = sample(collection, budget=9, n_strata=3, n_replicates=40)
    for denominator in ("topic", "counts"):
        options = {"estimator": "dyn", "denominator": denominator}
        scores = be.evaluate(sampled, ["nDCG@10", "R@10"], **options)
        assert anticipated(scores).max() <= 0.25 + 1e-9


def test_a_sample_without_surprises_is_no_certainty():
    """All that was drawn is as predicted or not relevant: V is 0, and the interval is not."""
    collection = world([1, 0, 0, 0, 0, 0, 0, 0])
    design = be.designs.pps_strata(collection, budget=4, n_strata=2)
    for estimator, predictor in (("dyn", "constant"), ("stat", None)):
        for seed in range(40):
            sampled = be.reveal(collection, design, be.draw(design, random_seed=seed))
            scores = be.evaluate(sampled, "P@8", estimator=estimator, predictor=predictor)
            if scores.design_error.item() == 0:
                break
        mean = be.mean_over_topics(scores)
        assert mean.design_error.item() == 0
        for found in (scores, mean):
            assert found.interval.diff("ci_bound").item() > 0.02, estimator


def test_places_are_counted_among_the_strata_that_are_not_wholly_judged():
    """Certain pairs come first in one of two topics; its open strata lean on those of the other."""
    collection = small_collection()
    certain = np.zeros(collection.sizes["pair"], dtype=bool)
    certain[[0, 4]] = True
    frame = Frame.drawn_from(
        sample(collection, budget=6, n_strata=2, certain=certain, n_replicates=3)
    )
    one, observed = frame.sample, frame.grade >= 1
    rates = stratum_rates(one, observed.astype(float))
    open_pair = one.inclusion_probability < 1
    for topic in (0, 1):
        strata = np.unique(one.stratum[open_pair & (one.topic == topic)])
        for place, number in enumerate(strata):
            inside = one.stratum == number
            others = np.zeros(inside.shape, dtype=bool)
            for other in (0, 1):
                theirs = np.unique(one.stratum[open_pair & (one.topic == other)])
                others |= one.stratum == theirs[place]
            drawn, found = one.selected[:, others].sum(1), observed[:, others].sum(1)
            here = one.selected[:, inside].sum(1), observed[:, inside].sum(1)
            expected = (here[1] + 5 * (found + 0.5) / (drawn + 1)) / (here[0] + 5)
            np.testing.assert_allclose(rates[:, inside].T, np.tile(expected, (inside.sum(), 1)))


def test_without_strata_blocks_by_falling_probability_have_rates():
    """A topic of 27 pairs: blocks end at the places (3 k / 20)^3, certain pairs are one of them."""
    random = np.random.default_rng(1)
    chance = np.minimum(1.0, 4.0 / random.permutation(np.arange(1, 28)))
    drawn_sample = Sample(
        pair=np.arange(27),
        topic=np.zeros(27, np.int32),
        start=np.array([0, 27]),
        inclusion_probability=chance,
        stratum=np.full(27, -1, np.int32),
        selected=(chance == 1) | (random.random((5, 27)) < chance),
        fused_rank=np.ones(27, np.int32),
        run_rank=np.ones((1, 27), np.int32),
    )
    observed = drawn_sample.selected * (random.random((5, 27)) < 0.4)
    rates = stratum_rates(drawn_sample, observed.astype(float))
    alike = replace(drawn_sample, inclusion_probability=np.full(27, 0.5))
    assert np.ptp(stratum_rates(alike, observed.astype(float)), axis=1).max() == 0
    place = (-chance).argsort(kind="stable").argsort() + 1.0
    block = np.where(chance < 1, np.ceil(20 * np.cbrt(place) / 3 - 1e-9), 0)
    assert np.unique(block).size > 5
    for number in np.unique(block):
        inside = block == number
        drawn, found = drawn_sample.selected[:, inside].sum(1), observed[:, inside].sum(1)
        expected = (found + 5 * (found + 0.5) / (drawn + 1)) / (drawn + 5)
        np.testing.assert_allclose(rates[:, inside].T, np.tile(expected, (inside.sum(), 1)))


def test_stat_anticipates_nothing_where_there_are_no_strata():
    sampled = sample(small_collection(), "poisson", budget=4)
    scores = be.evaluate(sampled, ["P@3", "NumRel", "R@3", "AP"], estimator="stat")
    assert (anticipated(scores) == 0).all()
    assert (anticipated(be.evaluate(sampled, "P@3", estimator="dyn")) > 0).any()


def test_without_strata_rates_of_blocks_give_what_is_expected():
    """AP of one run by ``stat``, by hand."""
    sampled = sample(small_collection(), "poisson", budget=5, seed=3)
    problem = Problem.prepared(sampled, "AP", estimator="stat")
    counts = problem.relevance.counts(0, problem.measures[0])
    seen, here, chance, rate, ranked = first_topic(sampled)
    value, rates = (seen / chance)[ranked], rate[ranked]

    def precisions(x):
        return (x * (1 + x.cumsum() - x) / np.arange(1, x.size + 1)).sum()

    expected = min(precisions(rates) / rate[here].sum(), 1.0)
    drawn = 1 - np.prod(1 - np.where(chance < 1, chance * rate, seen)[here])
    number = (seen / chance)[here].sum()
    off = float(seen[here].any()) - drawn * number * counts.inverse[0]
    right = precisions(value) * counts.inverse[0] + expected * off
    score = be.evaluate(sampled, "AP", estimator="stat").isel(measure=0, run=0, topic=0)
    assert 0.0 < score.estimate < 1.0 and off != 0.0
    assert score.estimate.item() == pytest.approx(right, rel=1e-9)


def test_complete_samples_and_probabilities_of_0_and_1_anticipate_nothing():
    collection = world([1, 0, 0, 0, 0, 0, 1, 0])
    sampled = sample(collection, budget=8, n_strata=2)
    scores = be.evaluate(sampled, ["P@3", "nDCG@3"], estimator="dyn")
    assert (anticipated(scores) == 0).all()
    assert scores.interval.diff("ci_bound").max() == 0
    sure = collection["predictors"].to_dataset().assign(chance=collection["judgments/grade"])
    collection["predictors"] = xr.DataTree(sure)
    sampled = sample(collection, budget=5, n_strata=2)
    how = {"estimator": "dyn", "predictor": ("external", "chance")}
    assert (anticipated(be.evaluate(sampled, "P@3", **how)) == 0).all()


def test_scores_that_are_left_out_have_no_error():
    sampled = sample(small_collection(), budget=4, n_strata=2, pool_depth=3)
    scores = be.evaluate(sampled, "RBP(p=0.8)", estimator="dyn", outside="missing")
    assert scores.estimate.isnull().any()
    for name in ("standard_error", "design_error"):
        assert (scores[name].isnull() == scores.estimate.isnull()).all()


def test_squared_residuals_of_labels_taken_as_they_are_lean_on_the_same_place_elsewhere():
    """Two strata of two, one drawn from each: the label is right in the first and wrong below."""
    sample = Sample(
        pair=np.arange(4),
        topic=np.zeros(4, np.int32),
        start=np.array([0, 4]),
        inclusion_probability=np.full(4, 0.5),
        stratum=np.array([0, 0, 1, 1], np.int32),
        selected=np.array([[True, False, False, True]]),
        fused_rank=np.array([1, 2, 3, 4], np.int32),
        run_rank=np.array([[1], [2], [0], [3]], np.int32),
    )
    labels = np.array([[1.0, 1.0, 0.0, 1.0]])
    found = squared_residuals(sample, np.array([[1.0, 0.0, 0.0, 0.0]]), labels)
    right, wrong = (0 + 5 * 0.25) / 6, (1 + 5 * 0.75) / 6
    np.testing.assert_allclose(found, [[right, right, wrong, wrong]])
