"""Covariances between runs, and the errors of their differences."""

import numpy as np
import pandas as pd
import pytest
import scipy.stats
import xarray as xr

import bayeseval as be
from bayeseval.estimators.scoring import sum_of_precisions
from bayeseval.evaluation import compared_pairs, differences
from bayeseval.evaluation.problem import Problem
from bayeseval.measures.table import discount_slope, discount_sum
from tests.small import every_stratified_sample, sample, small_collection


@pytest.fixture(scope="module")
def collection() -> xr.DataTree:
    return small_collection()


@pytest.fixture(scope="module")
def design(collection) -> xr.Dataset:
    return be.designs.pps_strata(collection, budget=6, n_strata=3)


def every_sample_of_each_topic(collection, design) -> xr.DataArray:
    """Samples among which each topic has all of its own equally often, whatever the other has."""
    samples, topic = every_stratified_sample(design), collection["pair_topic"].to_numpy()
    first, second = (np.unique(samples.values[:, topic == number], axis=0) for number in (0, 1))
    assert len(first) % len(second) == 0
    both = np.hstack([first, np.tile(second, (len(first) // len(second), 1))])
    return xr.DataArray(both, dims=("replicate", "pair"))


@pytest.mark.parametrize(("estimator", "predictor"), [("stat", None), ("dyn", ("external", "llm"))])
def test_the_covariance_estimate_is_unbiased_for_linear_measures(
    collection, design, estimator, predictor
):
    measures = ["P@3", "RBP(p=0.8)", "NumRel"]
    samples = every_sample_of_each_topic(collection, design)
    options = {"estimator": estimator, "predictor": predictor}
    covariances = [
        be.covariance(be.reveal(collection, design, sample), measures, over=None, **options)
        for sample in samples
    ]
    expected = sum(covariances) / len(covariances)
    scores = be.evaluate(be.reveal(collection, design, samples), measures, **options).estimate
    error = scores - scores.mean("replicate")
    error = error.drop_vars(["contributed", "team"])
    exact = xr.dot(error, error.rename(run="run_other"), dim="replicate") / len(samples)
    xr.testing.assert_allclose(expected, exact.transpose(*expected.dims), rtol=0, atol=1e-12)


def test_the_diagonal_is_the_variance_and_means_add_up(collection, design):
    sampled = be.reveal(collection, design, be.draw(design, random_seed=1))
    measures = ["P@3", "AP", "nDCG@5", "R@3"]
    matrix = be.covariance(sampled, measures, estimator="stat")
    mean = be.mean_over_topics(be.evaluate(sampled, measures, estimator="stat"))
    diagonal = np.diagonal(matrix.to_numpy(), axis1=1, axis2=2)
    np.testing.assert_allclose(diagonal, mean.design_error.to_numpy() ** 2, atol=1e-14)
    assert (np.linalg.eigvalsh(matrix.to_numpy()) > -1e-12).all()


@pytest.mark.parametrize("estimator", ["stat", "dyn"])
def test_the_raised_covariance_has_the_errors_of_means_and_of_differences(
    collection, design, estimator
):
    sampled = be.reveal(collection, design, be.draw(design, random_seed=2))
    measures = ["P@3", "AP", "nDCG@5", "R@3", "Rprec", "NumRel"]
    own, matrix = (
        be.covariance(sampled, measures, estimator=estimator, anticipated=anticipated)
        for anticipated in (False, True)
    )
    assert (own.attrs["anticipated"], matrix.attrs["anticipated"]) == (0, 1)
    assert own.drop_attrs().coords.identical(matrix.drop_attrs().coords)
    mean = be.mean_over_topics(be.evaluate(sampled, measures, estimator=estimator))
    diagonal = np.diagonal(matrix, axis1=1, axis2=2)
    np.testing.assert_allclose(diagonal, mean.standard_error**2, atol=1e-14)
    assert (diagonal > np.diagonal(own, axis1=1, axis2=2) + 1e-6).any()
    first, second = compared_pairs(sampled["run"].to_numpy())
    pairs = differences(sampled, measures, estimator=estimator, pairs=(first, second))
    apart = diagonal[:, first] + diagonal[:, second] - 2.0 * matrix.to_numpy()[:, first, second]
    np.testing.assert_allclose(apart, pairs.standard_error**2, atol=1e-14)
    unbiased = own.to_numpy()[4]  # of Rprec nothing is anticipated
    np.testing.assert_allclose(matrix[4], unbiased, atol=1e-14)
    with pytest.raises(ValueError, match="anticipated errors are those of means over topics"):
        be.covariance(sampled, measures, estimator=estimator, anticipated=True, over=None)


def test_runs_that_tie_are_not_told_apart_by_what_the_sample_missed():
    """The second run has other non-relevant documents in its ranks; few of them are sampled."""
    random = np.random.default_rng(5)
    judged, runs = [], []
    for topic in map(str, range(12)):
        relevant = np.arange(60) % 3 == 0
        judged += [(topic, f"d{i}", int(grade)) for i, grade in enumerate(relevant)]
        order = np.argsort(random.normal(size=60) - 0.5 * relevant)
        inside, outside = (np.flatnonzero(~relevant[part]) for part in (order[:10], order[10:]))
        swapped = order.copy()
        one, other = inside[0], 10 + outside[-1]
        if int(topic) % 4 == 0:
            swapped[[one, other]] = order[[other, one]]
        for run, ranked in (("a", order), ("b", swapped), ("c", random.permutation(60))):
            runs += [(run, topic, f"d{i}", -rank) for rank, i in enumerate(ranked)]
    truth = be.read_collection(
        pd.DataFrame(judged, columns=["topic", "document", "grade"]),
        pd.DataFrame(runs, columns=["run", "topic", "document", "score"]),
    )
    found = 0
    for seed in range(10):
        sampled = sample(truth, budget=10, n_strata=5, seed=seed)
        mean = be.mean_over_topics(be.evaluate(sampled, "P@10", estimator="dyn"))
        matrix = be.covariance(sampled, "P@10", estimator="dyn", anticipated=True)
        sets = be.rankings.rank_sets(mean, covariance=matrix)
        found += int(sets.separated.sel(run=["a", "b"], run_other=["a", "b"]).any())
    assert found <= 1, "a tie is found apart once in ten samples"
    with pytest.raises(
        ValueError, match="unbiased covariance .* give be.covariance.*anticipated=True"
    ):
        be.rankings.rank_sets(mean, covariance=be.covariance(sampled, "P@10", estimator="dyn"))


def test_shared_judgments_narrow_the_difference():
    truth = be.simulate.urn_collection(
        [0.1, 0.11, 0.3], n_topics=10, n_documents=300, n_relevant=40, shared=0.9, random_seed=3
    )
    sampled = sample(truth, "uniform_strata", budget=80, n_strata=10, random_seed=1, seed=2)
    first, second = truth["run"].to_numpy()[:2]
    for measure in ("P@10", "AP"):
        how = {"estimator": "stat", "n_permutations": 9}
        pair = be.compare(sampled, measure, reference=second, **how).isel(comparison=0)
        mean = be.mean_over_topics(be.evaluate(sampled, measure, estimator="stat"))
        apart = mean.estimate.sel(run=first) - mean.estimate.sel(run=second)
        assert pair.estimate.item() == pytest.approx(apart.item(), abs=1e-12)
        own = mean.standard_error.sel(run=[first, second]).to_numpy()
        assert pair.standard_error.item() < 0.8 * np.sqrt((own**2).sum())


def test_the_difference_over_the_population_of_topics_uses_the_spread_of_topics(collection, design):
    sampled = be.reveal(collection, design, be.draw(design, random_seed=1))
    scores = be.evaluate(sampled, "P@3", estimator="stat").estimate.isel(measure=0)
    difference = (scores.sel(run="a") - scores.sel(run="b")).to_numpy()
    how = {"population": "topics", "ci_prob": 0.8, "n_permutations": 9, "estimator": "stat"}
    pair = be.compare(sampled, "P@3", **how).isel(comparison=0)
    assert pair.standard_error.item() == pytest.approx(difference.std(ddof=1) / np.sqrt(2))
    half = scipy.stats.t.ppf(0.9, 1) * pair.standard_error.item()
    np.testing.assert_allclose(pair.interval[0], difference.mean() + np.array([-half, half]))


def test_replicates_and_estimators_without_a_design_are_refused(collection, design):
    many = be.reveal(collection, design, be.draw(design, n_replicates=2, random_seed=1))
    with pytest.raises(ValueError, match="covariances are of one sample"):
        be.covariance(many, "P@3", estimator="stat")
    one = be.reveal(collection, design, be.draw(design, random_seed=1))
    with pytest.raises(
        ValueError, match="no design covariance; estimators that have one: stat, dyn"
    ):
        be.covariance(one, "P@3", estimator="assumed")


@pytest.mark.parametrize("estimator", ["stat", "dyn"])
@pytest.mark.parametrize("denominator", ["counts", "topic"])
@pytest.mark.parametrize("measure", ["P@3", "AP", "R@3", "nDCG@3", "Rprec"])
def test_an_unknown_variance_is_not_taken_for_none(collection, measure, denominator, estimator):
    how = {"budget": 1, "n_strata": 1, "random_seed": 1}
    sampled = sample(collection, "uniform_strata", n_replicates=8, **how)
    options = {
        "estimator": estimator,
        "predictor": ("external", "llm") if estimator == "dyn" else None,
        "denominator": denominator,
    }
    scores = be.evaluate(sampled, measure, **options)
    assert scores.estimate.notnull().all()
    assert scores.standard_error.isnull().all() and scores.interval.isnull().all()
    assert be.mean_over_topics(scores).standard_error.isnull().all()
    single = sample(collection, "uniform_strata", **how)
    assert be.covariance(single, measure, **options).isnull().all()
    assert be.compare(single, measure, **options).standard_error.isnull().all()


def test_r_precision_has_the_degrees_of_freedom_of_precision_at_its_cutoff():
    """Its variance is a bootstrap's, whose number of draws says nothing of how well it is known."""
    truth = be.simulate.urn_collection(
        [0.1, 0.3], n_topics=1, n_documents=600, n_relevant=80, depth=300, random_seed=3
    )
    sampled = sample(truth, budget=150, n_strata=10, seed=2)
    how = {"estimator": "stat", "denominator": "topic"}
    scores = be.evaluate(sampled, ["NumRel", "Rprec"], **how)
    cutoff = f"P@{scores.estimate.sel(measure='NumRel')[0].item():.0f}"
    fixed = be.evaluate(sampled, cutoff, **how).degrees_of_freedom[0] - 10  # of the anticipated one
    np.testing.assert_allclose(scores.degrees_of_freedom[1], fixed, rtol=0.02)
    pair, fixed = (
        be.compare(sampled, name, **how).degrees_of_freedom.item() for name in ("Rprec", cutoff)
    )
    assert pair == pytest.approx(fixed, rel=0.02)


def lone_run_sample() -> xr.DataTree:
    """Two runs alike and one that shows other documents, of which none drawn is relevant."""
    truth = be.simulate.urn_collection(
        [0.1, 0.12, 0.4], n_topics=12, n_documents=200, depth=60, prevalence=0.05, random_seed=3
    )
    return sample(truth, budget=12, n_strata=6, seed=2)


def anticipated_on_the_first_topic(measure):
    """What is anticipated of differences, the relevance, rows of the runs' ranks, the measure."""
    problem = Problem.prepared(lone_run_sample(), measure, estimator="dyn")
    topic, position = next(iter(problem.topics()))
    (of_pairs,) = problem.anticipated_differences(topic, position)
    return of_pairs, problem.relevance.topic(topic, position), position, *problem.measures


def weights_of(position, n_documents, weight, cutoff=None):
    """Weight (run, document) of the rank at which each run shows a document."""
    weights = np.zeros((len(position), n_documents))
    for run, ranks in enumerate(position):
        for rank, row in enumerate(ranks[:cutoff]):
            if row >= 0:
                weights[run, row] = weight(rank)
    return weights


@pytest.mark.parametrize(
    ("measure", "weight"),
    [
        ("P@10", lambda rank: 0.1),
        ("RBP(p=0.8)", lambda rank: 0.2 * 0.8**rank),
        ("DCG@20", lambda rank: 1 / np.log2(rank + 2)),
    ],
)
def test_differences_are_raised_by_what_the_predictions_expect_of_them(measure, weight):
    of_pairs, relevance, position, asked = anticipated_on_the_first_topic(measure)
    levels = relevance.gain_levels(asked) if asked.graded else [(1.0, relevance.binary(1))]
    ((step, level),) = levels
    chance = level.predicted[0]
    weights = weights_of(position, chance.size, weight, asked.cutoff)
    spread = relevance.odds * step**2 * chance * (1 - chance)
    for a in range(3):
        for b in range(3):
            expected = (spread * (weights[a] - weights[b]) ** 2).sum()
            assert of_pairs[a, b] == pytest.approx(expected, rel=1e-9, abs=1e-15)
    assert (np.diagonal(of_pairs) == 0).all()


def precision_sum_of(ranks, relevance, cutoff):
    """Sum of the precisions at relevant documents, with relevances that may be fractions."""
    total = above = 0.0
    for rank, row in enumerate(ranks[:cutoff], start=1):
        if row >= 0:
            total += relevance[row] * (1.0 + above) / rank
            above += relevance[row]
    return total


@pytest.mark.parametrize(("measure", "cutoff"), [("AP", None), ("AP@5", 5)])
def test_the_anticipated_variance_of_a_difference_of_ap_follows_its_slope_by_each_document(
    measure, cutoff
):
    of_pairs, relevance, position, asked = anticipated_on_the_first_topic(measure)
    level, counts = relevance.binary(1), relevance.counts(asked)
    chance, step = level.predicted[0], 0.5
    numerator = sum_of_precisions(asked, relevance)[0][:, 0]
    before = np.array([precision_sum_of(ranks, chance, cutoff) for ranks in position])
    slope = np.empty((3, chance.size))
    for row in range(chance.size):
        moved = chance + step * (np.arange(chance.size) == row)
        after = np.array([precision_sum_of(ranks, moved, cutoff) for ranks in position])
        slope[:, row] = (after - before) / step
    constant = np.minimum(before / chance.sum(), 1.0)
    rest = numerator - constant * level.value[:, 0].sum()
    fall = rest * counts.inverse_fall[0] + constant * counts.inverse[0]
    share = slope * counts.inverse[0] - fall[:, None]
    spread = relevance.odds * chance * (1 - chance)
    for a in range(3):
        for b in range(3):
            expected = min((spread * (share[a] - share[b]) ** 2).sum(), 1.0)
            assert of_pairs[a, b] == pytest.approx(expected, rel=1e-8, abs=1e-13)


@pytest.mark.parametrize("measure", ["R@20", "nDCG@20"])
def test_the_anticipated_variance_of_a_difference_of_ratios_is_that_of_its_linear_error(measure):
    """Each document by its own term: what it adds to both numerators and to the denominator."""
    of_pairs, relevance, position, asked = anticipated_on_the_first_topic(measure)
    level = relevance.binary(1)
    chance, value, counts = level.predicted[0], level.value[:, 0], relevance.counts(asked)
    part, below, weights = 1.0, 1.0, weights_of(position, chance.size, lambda rank: 1.0, 20)
    total, number = chance.sum(), value.sum()
    if measure == "nDCG@20":
        weights = weights_of(position, chance.size, lambda rank: 1 / np.log2(rank + 2), 20)
        number = max(number, level.seen[0])
        part, below = 0.5, float(discount_slope(np.array([number]), 20)[0])
        total, number = discount_sum(np.array([total, number]), 20)
    constant = part * np.minimum(weights @ chance / total, 1.0)
    rest = weights @ value - constant * number
    fall = rest * counts.inverse_fall[0] + constant * counts.inverse[0]
    share = weights * counts.inverse[0] - fall[:, None] * below
    spread = relevance.odds * chance * (1 - chance)
    for a in range(3):
        for b in range(3):
            expected = min((spread * (share[a] - share[b]) ** 2).sum(), 1.0)
            assert of_pairs[a, b] == pytest.approx(expected, rel=1e-8, abs=1e-13)


def test_runs_with_the_same_documents_in_another_order_have_no_error_of_recall():
    collection = small_collection()
    runs = be.trec.runs_frame(collection).query("run == 'a'")
    other = runs.assign(run="again", score=-runs["score"])
    both = be.add_runs(collection, other)
    sampled = sample(both, budget=4, n_strata=2)
    problem = Problem.prepared(sampled, "R@50", estimator="dyn")
    names = problem.labels["run"].tolist()
    pair = names.index("a"), names.index("again")
    for topic, position in problem.topics():
        (of_pairs,) = problem.anticipated_differences(topic, position)
        assert of_pairs[pair] == of_pairs[pair[::-1]] == 0.0


def test_intervals_and_tests_of_a_comparison_rest_on_one_error():
    sampled = lone_run_sample()
    pairs = be.compare(sampled, ["P@10", "AP"], estimator="dyn", ci_prob=0.8)
    outside = (pairs.interval.sel(ci_bound="lower") > 0) | (
        pairs.interval.sel(ci_bound="upper") < 0
    )
    np.testing.assert_array_equal(outside, pairs.p_value < 0.2)
    half = 0.5 * pairs.interval.diff("ci_bound").isel(ci_bound=0)
    quantile = scipy.stats.t.ppf(0.9, pairs.degrees_of_freedom)
    np.testing.assert_allclose(half, quantile * pairs.standard_error)
    sure = np.abs(pairs.probability_better - 0.5)
    flat = be.compare(sampled, ["P@10", "AP"], estimator="dyn", prior="flat").probability_better
    assert (sure <= np.abs(flat - 0.5) + 1e-9).all()
    np.testing.assert_allclose(np.minimum(flat, 1 - flat), pairs.p_value / 2, atol=1e-9)
