"""Comparisons of runs: intervals, tests and probabilities from judgments complete and sampled."""

import numpy as np
import pandas as pd
import pytest
import scipy.stats
import xarray as xr

import bayeseval as be
from tests.small import sample, small_collection


@pytest.fixture(scope="module")
def truth() -> xr.DataTree:
    return be.simulate.urn_collection(
        [0.05, 0.06, 0.2, 0.5], n_topics=20, n_documents=300, n_relevant=30, shared=0.7,
        random_seed=3,
    )  # fmt: skip


@pytest.fixture(scope="module")
def sampled(truth) -> xr.DataTree:
    return sample(truth, "uniform_strata", budget=60, n_strata=10, random_seed=1, seed=2)


FAST = {"n_permutations": 499}


def test_intervals_and_p_values_on_complete_judgments_are_students(truth):
    measures = ["P@10", "AP"]
    pairs = be.compare(truth, measures, estimator="assumed", **FAST)
    scores = be.evaluate(truth, measures, estimator="assumed").estimate
    assert pairs.sizes["comparison"] == 6 and pairs.attrs["population"] == "topics"
    for measure in measures:
        for index in range(6):
            pair = pairs.sel(measure=measure).isel(comparison=index)
            one, two = (
                scores.sel(measure=measure, run=pair[name].item()).values
                for name in ("run_a", "run_b")
            )
            expected = scipy.stats.ttest_rel(one, two)
            bounds = expected.confidence_interval(0.9)
            np.testing.assert_allclose(pair.interval, [bounds.low, bounds.high], atol=1e-12)
            assert pair.p_value.item() == pytest.approx(expected.pvalue, abs=1e-12)
            size = (one - two).mean() / (one - two).std(ddof=1)
            assert pair.standardised.item() == pytest.approx(size)


@pytest.mark.parametrize(("estimator", "population"), [("assumed", None), ("stat", "sample")])
def test_adjusted_p_values_are_no_smaller_and_fewer_comparisons_adjust_less(
    sampled, truth, estimator, population
):
    collection = truth if estimator == "assumed" else sampled
    options = {"estimator": estimator, "population": population, **FAST}
    every = be.compare(collection, "P@10", **options).isel(measure=0)
    beside = be.compare(collection, "P@10", reference="run001", **options).isel(measure=0)
    assert (every.p_holm >= every.p_value).all()
    assert (every.p_tukey >= every.p_value - 0.03).all()
    assert beside.run_b.values.tolist() == ["run001"] * 3
    np.testing.assert_allclose(beside.estimate, -every.estimate[:3], atol=1e-12)
    np.testing.assert_allclose(beside.p_value, every.p_value[:3], atol=1e-12)
    assert (beside.p_holm <= every.p_holm.values[:3] + 1e-12).all()
    assert (beside.p_tukey <= every.p_tukey.values[:3] + 0.03).all()


def test_the_randomised_test_sees_the_scores_themselves(truth):
    from bayeseval.significance import tukey_randomised

    scores = be.evaluate(truth, "AP", estimator="assumed").estimate.isel(measure=0)
    values = scores.transpose("topic", "run").values
    expected = tukey_randomised(
        values, np.triu_indices(4, k=1), n_permutations=499, random=np.random.default_rng(5)
    )
    pairs = be.compare(truth, "AP", estimator="assumed", random_seed=5, **FAST)
    np.testing.assert_allclose(pairs.p_tukey.values[0], expected, atol=1e-12)


def test_the_probability_of_being_better_is_less_sure_than_a_flat_prior(sampled):
    normal = be.compare(sampled, "P@10", estimator="stat", **FAST).probability_better
    flat = be.compare(sampled, "P@10", estimator="stat", prior="flat", **FAST)
    assert (np.abs(normal - 0.5) <= np.abs(flat.probability_better - 0.5) + 1e-12).all()
    one_sided = xr.where(flat.estimate > 0, 1 - flat.p_value / 2, flat.p_value / 2)
    np.testing.assert_allclose(flat.probability_better, one_sided, atol=1e-9)


@pytest.mark.parametrize("population", ["sample", "topics"])
def test_with_a_reference_probabilities_are_those_of_all_pairs(sampled, population):
    how = {"estimator": "dyn", "population": population, **FAST}
    whole = be.compare(sampled, "P@10", **how).isel(measure=0)
    labels = zip(whole.run_a.values, whole.run_b.values, strict=True)
    known = dict(zip(labels, whole.probability_better.values, strict=True))
    known |= {(two, one): 1.0 - value for (one, two), value in known.items()}
    few = be.compare(sampled, "P@10", reference="run002", **how).isel(measure=0)
    for one, two, value in zip(few.run_a.values, few.run_b.values, few.probability_better.values,
                               strict=True):  # fmt: skip
        assert value == pytest.approx(known[one, two], abs=1e-12)


def test_scores_are_no_collection(truth):
    with pytest.raises((TypeError, ValueError), match="collection"):
        be.compare(be.evaluate(truth, "P@10", estimator="assumed"), "P@10", estimator="assumed")


def test_an_option_that_scores_do_not_have_is_named(sampled):
    with pytest.raises(TypeError, match="unknown options of scores: 'predictors'"):
        be.compare(sampled, "P@10", estimator="dyn", predictors="pooled")


def test_the_covariance_is_of_the_same_estimates(sampled):
    mean = be.mean_over_topics(be.evaluate(sampled, "P@10", estimator="dyn"))
    of_stat = be.covariance(sampled, "P@10", estimator="stat")
    own = be.covariance(sampled, "P@10", estimator="dyn")
    skipped = be.evaluate(sampled, "P@10", estimator="dyn", missing_topics="skip")
    by_topic = be.covariance(sampled, "P@10", estimator="dyn", denominator="topic")
    for scores, matrix, message in (
        (mean, of_stat, "covariance is of estimator 'stat' and the estimates are of 'dyn'"),
        (mean, own.assign_attrs(sample="another"), "the same sample of judgments"),
        (mean, by_topic, "covariance is of denominator 'topic' and the estimates are of 'counts'"),
        (be.mean_over_topics(skipped), own, "missing_topics is 'skip'"),
    ):
        for ask in (
            be.rankings.rank_sets,
            be.rankings.rank_probabilities,
            be.rankings.compare_draws,
        ):
            with pytest.raises(ValueError, match=message):
                ask(scores, covariance=matrix)


def test_equivalence_is_the_interval_inside_the_region(truth):
    pairs = be.compare(truth, ["P@10", "AP"], estimator="assumed", equivalence=0.05, **FAST)
    inside = (np.abs(pairs.interval) < 0.05).all("ci_bound")
    np.testing.assert_array_equal(pairs.equivalent, inside)
    by_name = be.compare(
        truth, ["P@10", "AP"], estimator="assumed", equivalence={"P@10": 0.05, "AP": 1.5}, **FAST
    )
    assert by_name.equivalent.sel(measure="AP").all()
    assert (by_name.probability_equivalent.sel(measure="AP") > 0.999).all()
    xr.testing.assert_equal(by_name.equivalent.sel(measure="P@10"), inside.sel(measure="P@10"))


def test_a_difference_without_spread_over_topics_is_told():
    run = [("a", "1", "x", 2), ("a", "1", "y", 1), ("b", "1", "y", 2), ("b", "1", "x", 1)]
    runs = pd.DataFrame(run, columns=["run", "topic", "document", "score"])
    runs = pd.concat([runs, runs.assign(topic="2")])
    qrels = pd.DataFrame({"topic": ["1", "2"], "document": "x", "grade": 1})
    collection = be.read_collection(qrels, runs)
    told = "no error, of 1 of 2 differences, .* P@1 of 'a' and 'b' over 2 topics"
    with pytest.warns(UserWarning, match=told):
        pairs = be.compare(collection, ["P@1", "P@2"], estimator="assumed", n_permutations=99)
    assert pairs["standard_error"].values.tolist() == [[0.0], [0.0]]


def test_one_run_twice_is_not_better_than_itself():
    collection = small_collection()
    copy = be.trec.runs_frame(collection).query("run == 'a'").assign(run="copy")
    both = be.add_runs(collection, copy)
    pairs = be.compare(both, "P@3", estimator="assumed", reference="copy", **FAST)
    same = pairs.isel(comparison=0)
    assert same.run_a.item() == "a" and same.estimate.item() == 0
    assert same.p_value.item() == 1 and same.p_tukey.item() == 1
    assert same.probability_better.item() == 0.5


@pytest.mark.parametrize("estimator", ["stat", "dyn"])
@pytest.mark.parametrize("population", ["sample", "topics"])
def test_a_reranking_of_the_same_documents_ties(estimator, population):
    """Sums of the same terms in another order, which differ by rounding."""
    random = np.random.default_rng(1)
    runs, judged = [], []
    for topic in map(str, range(12)):
        relevant = random.random(30) < 0.4
        judged += [(topic, f"d{i}", int(grade)) for i, grade in enumerate(relevant)]
        first = random.permutation(30)
        again = np.concatenate([random.permutation(first[:10]), first[10:]])
        for run, order in (("a", first), ("b", again), ("c", random.permutation(30))):
            runs += [(run, topic, f"d{i}", -rank) for rank, i in enumerate(order)]
    collection = be.read_collection(
        pd.DataFrame(judged, columns=["topic", "document", "grade"]),
        pd.DataFrame(runs, columns=["run", "topic", "document", "score"]),
    )
    sampled = sample(collection, budget=12, n_strata=3)
    measures = ["P@10", "R@10", "NumRelRet"]
    scores = be.evaluate(sampled, measures, estimator=estimator)
    apart = scores.estimate.sel(run="a") - scores.estimate.sel(run="b")
    assert 0 < abs(apart).max() < 1e-12  # else there is nothing to see
    found = be.compare(sampled, measures, estimator=estimator, population=population, **FAST)
    same = found.isel(comparison=0)
    for name in ("estimate", "standard_error"):
        assert (same[name] == 0).all()
    for name in ("p_value", "p_holm", "p_tukey"):
        assert (same[name] == 1).all()
    assert (same.probability_better == 0.5).all() and same.standardised.isnull().all()
    mean = be.mean_over_topics(scores)
    covariance = be.covariance(sampled, measures, estimator=estimator, anticipated=True)
    ranks = be.rankings.rank_sets(mean, covariance=covariance)["rank"]
    np.testing.assert_array_equal(ranks.sel(run="a"), ranks.sel(run="b"))


def test_ranks_over_the_population_of_topics_have_the_error_that_topics_share(truth):
    """Few judgments, so that ratios rest on the counts of all topics; at least that error."""
    sampled = sample(truth, budget=12, n_strata=4, seed=3)
    scores = be.evaluate(sampled, ["AP", "R@20", "P@10"], estimator="dyn")
    pairs = be.compare(
        sampled, ["AP", "R@20", "P@10"], estimator="dyn", population="topics", **FAST
    )
    assert not any(column.isnull().all() for column in pairs.data_vars.values())
    ranked = be.rankings.compare_draws(scores).standard_error / pairs.standard_error
    alone = be.rankings.compare_draws(scores.drop_vars("shared_error")).standard_error
    np.testing.assert_allclose(ranked.sel(measure="P@10"), 1.0, atol=1e-9)
    assert ((ranked > 1 - 1e-9) & (ranked < 1.2)).all()
    assert (alone / pairs.standard_error).sel(measure=["AP", "R@20"]).min() < 0.97
    parts = [be.evaluate(sampled, [name], estimator="dyn") for name in ("P@10", "AP")]
    joined = xr.concat(parts, "measure", combine_attrs="drop_conflicts", data_vars="all")
    found = be.rankings.compare_draws(joined).standard_error
    apart = [be.rankings.compare_draws(one).standard_error for one in parts]
    np.testing.assert_allclose(found, np.concatenate(apart), atol=1e-12)
    assert be.mean_over_topics(joined, population="topics").standard_error.notnull().all()


def test_one_seed_gives_one_estimate(sampled):
    """Rprec is estimated by draws, and the counts behind AP by a rule with a random part."""
    measures = ["Rprec", "AP", "P@10"]
    scores = be.evaluate(sampled, measures, estimator="dyn", random_seed=3)
    mean = be.mean_over_topics(scores).estimate
    for reference in (None, "run003"):
        pairs = be.compare(
            sampled, measures, estimator="dyn", reference=reference, random_seed=3, **FAST
        )
        apart = mean.sel(run=pairs.run_a).to_numpy() - mean.sel(run=pairs.run_b).to_numpy()
        np.testing.assert_allclose(pairs.estimate, apart, atol=1e-12)


def test_errors_about_these_topics_are_unknown_without_a_design(truth):
    with pytest.raises(ValueError, match="differences for these topics need estimator"):
        be.compare(truth, "P@10", estimator="assumed", population="sample", **FAST)


def test_a_pair_is_the_one_of_all_pairs_with_its_own_p_value(truth):
    every = be.compare(truth, "P@10", estimator="assumed", **FAST)
    pair = be.compare(truth, "P@10", estimator="assumed", pair=("run003", "run001"), **FAST)
    assert (pair.run_a.item(), pair.run_b.item()) == ("run003", "run001")
    place = (every.run_a == "run001") & (every.run_b == "run003")
    one = every.isel(comparison=np.flatnonzero(place))
    np.testing.assert_allclose(pair.estimate, -one.estimate, atol=1e-12)
    np.testing.assert_allclose(pair.p_value, one.p_value, atol=1e-12)
    np.testing.assert_allclose(pair.p_holm, pair.p_value)  # nothing to adjust for
    np.testing.assert_allclose(pair.probability_better, 1.0 - one.probability_better)
    np.testing.assert_array_equal(pair.outside_weight_a, one.outside_weight_b)


@pytest.mark.parametrize(
    ("measure", "options", "message"),
    [
        ("P@10", {"reference": "z"}, "no run 'z'"),
        ("P@10", {"prior": "wide"}, "prior must be one of normal, flat, not 'wide'"),
        ("P@10", {"equivalence": 0}, "equivalence must be above 0"),
        ("P@10", {"equivalence": "a"}, "equivalence must be a number, not 'a'"),
        ("AP", {"equivalence": {"P@10": 0.1}}, "equivalence has no value for AP"),
        ("P@10", {"n_permutations": 0}, "n_permutations is 0; allowed: a whole number, 1 or more"),
        ("P@10", {"estimator": "stat", "outside": "missing"}, "goes with population='topics'"),
    ],
)
def test_what_cannot_be_compared_is_refused(sampled, measure, options, message):
    with pytest.raises(ValueError, match=message):
        be.compare(sampled, measure, **{"estimator": "assumed", **FAST, **options})


def test_a_comparison_needs_two_runs_and_of_their_population_two_topics(truth, sampled):
    with pytest.raises(ValueError, match="at least 2 runs"):
        be.compare(be.select(truth, runs=["run001"]), "P@10", estimator="assumed")
    one = be.select(truth, topics=truth["topic"].to_numpy()[:1])
    with pytest.raises(ValueError, match="at least 2 topics with scores, and AP has fewer of"):
        be.compare(one, ["AP", "P@10"], estimator="assumed")
    with pytest.raises(ValueError, match="covariances count with missing_topics='zero'"):
        be.covariance(sampled, "P@10", estimator="stat", missing_topics="skip")


def test_tidy_tables_have_a_row_for_each_run_or_comparison_and_measure(truth):
    pairs = be.compare(truth, ["P@10", "AP"], estimator="assumed", **FAST)
    frame = be.to_frame(pairs)
    assert frame.columns[:3].tolist() == ["measure", "run_a", "run_b"]
    assert len(frame) == 12 and {"lower", "upper", "p_tukey"} <= set(frame.columns)
    row = frame.iloc[7]
    pair = pairs.sel(measure=row.measure).where(
        (pairs.run_a == row.run_a) & (pairs.run_b == row.run_b), drop=True
    )
    assert row.upper == pair.interval.sel(ci_bound="upper").item()
    scores = be.evaluate(truth, ["P@10", "AP"], estimator="assumed")
    columns = ["measure", "run", "topic", "estimate", "lower", "upper"]
    assert be.to_frame(scores).columns[:6].tolist() == columns
    assert len(be.to_frame(be.mean_over_topics(scores))) == 8
    sets = be.rankings.rank_sets(scores.sel(measure=["AP"]))
    frame = be.to_frame(sets)
    assert len(frame) == 4 and {"rank", "lower", "upper", "tie_group"} <= set(frame.columns)
    mean = be.mean_over_topics(scores)
    both = xr.concat([mean, mean], xr.DataArray([20, 40], dims="budget", name="budget"))
    frame = be.to_frame(both)
    assert frame.columns[:3].tolist() == ["measure", "run", "budget"] and len(frame) == 16
    with pytest.raises(TypeError, match="a Dataset, not a DataArray"):
        be.to_frame(scores.estimate)
    with pytest.raises(ValueError, match="summarised by summarize"):
        be.to_frame(scores.expand_dims(chain=1, draw=2))
    with pytest.raises(ValueError, match="needs a dim measure, run or comparison"):
        be.to_frame(xr.Dataset({"bias": 0.1}))


def with_few_topics() -> xr.DataTree:
    """Runs on eight topics, of which c has one and d the last four."""
    random = np.random.default_rng(0)
    topics, documents = [str(number) for number in range(8)], [f"d{number}" for number in range(12)]
    qrels = [(t, d, int(random.random() < 0.4)) for t in topics for d in documents]
    rows = [
        (run, topic, document, random.random())
        for run, of_run in {"a": topics, "b": topics, "c": topics[:1], "d": topics[4:]}.items()
        for topic in of_run
        for document in documents
    ]
    return be.read_collection(
        pd.DataFrame(qrels, columns=["topic", "document", "grade"]),
        pd.DataFrame(rows, columns=["run", "topic", "document", "score"]),
    )


def test_a_test_that_cannot_be_made_for_one_pair_is_made_for_the_others():
    collection = with_few_topics()
    options = {"estimator": "assumed", "missing_topics": "skip", "n_permutations": 500}
    with pytest.warns(UserWarning, match="without 1 run with too few topics in common"):
        pairs = be.compare(collection, "P@5", **options).sel(measure="P@5")
    lost = (pairs.run_a == "c") | (pairs.run_b == "c")
    for name in ("p_value", "p_holm", "p_tukey"):
        np.testing.assert_array_equal(pairs[name].isnull(), lost)
    others = be.select(collection, runs=["a", "b", "d"])
    alone = be.compare(others, "P@5", **options).sel(measure="P@5")
    np.testing.assert_allclose(pairs.p_tukey[~lost], alone.p_tukey, atol=0.1)


@pytest.mark.filterwarnings("ignore:3 of 3 runs lack scores:UserWarning")
def test_a_reference_with_few_topics_in_common_has_no_test_by_tukey():
    random = np.random.default_rng(1)
    of_run = {"a": range(6), "b": range(2, 8), "c": range(4, 10)}
    rows = [(run, str(topic), random.random()) for run, of in of_run.items() for topic in of]
    table = pd.DataFrame(rows, columns=["run", "topic", "score"])
    given = be.read_scores(table, measure="F1")
    for reference, known in ((None, [True, False, False]), ("c", [False, False])):
        with pytest.warns(UserWarning, match="without 1 run with too few topics in common"):
            pairs = be.compare(given, reference=reference, n_permutations=99)
        assert pairs.p_tukey.notnull().values.tolist() == [known]
        assert pairs.p_value.notnull().all()


def test_measures_that_have_scores_of_few_topics_are_tested_on_these():
    random = np.random.default_rng(1)
    rows = [
        (run, str(topic), measure, random.random())
        for measure, number in (("AP", 12), ("F1", 5))
        for topic in range(number)
        for run in "abc"
    ]
    table = pd.DataFrame(rows, columns=["run", "topic", "measure", "score"])
    both = be.compare(be.read_scores(table), n_permutations=99)
    alone = be.compare(be.read_scores(table, measure="F1"), n_permutations=99)
    np.testing.assert_array_equal(both.p_tukey.sel(measure=["F1"]), alone.p_tukey)
