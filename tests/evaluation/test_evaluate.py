"""Scores: complete judgments, rules for ratios, what lies outside the frame, what is refused."""

import numpy as np
import pandas as pd
import pytest
import scipy.stats
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st

import bayeseval as be
from bayeseval.collection import with_node
from bayeseval.messages import TopicsUnranked
from tests.small import sample, small_collection, with_labels

ALL = ["P@3", "RBP(p=0.8)", "DCG@4", "NumRel", "NumRelRet", "AP", "AP@3", "nDCG@5", "Rprec", "R@3"]


@pytest.fixture(scope="module")
def collection() -> xr.DataTree:
    return small_collection()


def sampled_once(collection, **options) -> xr.DataTree:
    return sample(collection, **{"budget": 6, "n_strata": 3, **options})


def test_a_result_holds_one_error_the_design_s_own_and_what_topics_share(collection):
    names = ["degrees_of_freedom", "design_error", "estimate", "interval", "outside_weight"]
    names += ["shared_error", "standard_error"]
    scores = be.evaluate(sampled_once(collection), ["AP"], estimator="dyn")
    assert sorted(scores.data_vars) == names
    half = (scores.interval - scores.estimate).sel(ci_bound="upper")
    quantile = scipy.stats.t.ppf(0.95, scores.degrees_of_freedom)
    np.testing.assert_allclose(half, quantile * scores.standard_error)
    linear = be.evaluate(sampled_once(collection), "P@3", estimator="dyn")
    assert sorted(linear.data_vars) == [name for name in names if name != "shared_error"]
    plain = be.evaluate(collection, "AP", estimator="assumed")
    assert plain.standard_error.isnull().all() and "design_error" not in plain


@pytest.mark.parametrize(
    ("estimator", "predictor"),
    [
        ("condensed", None),
        ("stat", None),
        ("dyn", "pooled"),
        ("dyn", "rank_logistic"),
        ("dyn", ("external", "llm")),
    ],
)
def test_when_everything_is_judged_every_estimator_is_the_plain_measure(
    collection, estimator, predictor
):
    measures = ALL + ["RR", "Bpref"] * (estimator == "condensed")
    truth = be.evaluate(collection, measures, estimator="assumed")
    whole = sampled_once(collection, budget=9)
    scores = be.evaluate(whole, measures, estimator=estimator, predictor=predictor)
    xr.testing.assert_allclose(scores.estimate, truth.estimate, rtol=0, atol=1e-12)
    if estimator != "condensed":
        assert (scores.standard_error == 0).all(), "a design that judges all has no error"


grades = st.lists(st.integers(0, 2), min_size=8, max_size=8)


@settings(deadline=None, max_examples=40)
@given(grades, st.integers(0, 7), st.permutations(range(8)))
def test_a_more_relevant_document_never_lowers_a_score(judged, place, order):
    better = list(judged)
    better[place] = 2
    first, second = (
        {"topic": topic, "document": [f"d{i}" for i in range(8)], "grade": values}
        for topic, values in (("1", judged), ("2", better))
    )
    qrels = pd.concat([pd.DataFrame(first), pd.DataFrame(second)])
    ranked = {"run": "a", "document": [f"d{i}" for i in order], "score": range(8, 0, -1)}
    runs = pd.concat([pd.DataFrame(ranked | {"topic": topic}) for topic in "12"])
    measures = ["P@3", "RBP(p=0.8)", "DCG@4", "NumRelRet"]
    scores = be.evaluate(be.read_collection(qrels, runs), measures, estimator="assumed").estimate
    assert (scores.sel(topic="2") >= scores.sel(topic="1") - 1e-12).all()


@settings(deadline=None, max_examples=12)
@given(grades, st.permutations(range(8)), st.integers(0, 1000))
def test_neither_the_order_of_judgments_nor_of_runs_matters(judged, order, seed):
    random = np.random.default_rng(seed)
    runs = pd.DataFrame(
        [
            (run, "1", f"d{i}", int(score))
            for run in "ab"
            for i, score in zip(order, random.integers(0, 4, 8), strict=True)
        ],
        columns=["run", "topic", "document", "score"],
    )
    qrels = pd.DataFrame({"topic": "1", "document": [f"d{i}" for i in range(8)], "grade": judged})

    def scores(q, r):
        drawn = sample(be.select(be.read_collection(q, r), runs=["a", "b"]), budget=4, n_strata=2)
        return be.evaluate(drawn, ALL, estimator="stat", denominator="topic")

    shuffled = scores(qrels.sample(frac=1, random_state=seed), runs.iloc[::-1])
    xr.testing.assert_allclose(scores(qrels, runs), shuffled, rtol=0, atol=1e-13)


def test_rank_biased_precision_has_the_values_computed_by_hand():
    run = pd.DataFrame({"run": "a", "topic": "1", "document": list("xyz"), "score": [3, 2, 1]})
    qrels = pd.DataFrame({"topic": "1", "document": list("xyz"), "grade": [1, 0, 1]})
    scores = be.evaluate(be.read_collection(qrels, run), "RBP(p=0.5)", estimator="assumed")
    assert scores.estimate.item() == pytest.approx(0.625, abs=1e-15)
    assert scores.outside_weight.item() == 0.0
    partly = be.evaluate(
        be.read_collection(qrels.iloc[[0, 2]], run), "RBP(p=0.5)", estimator="assumed"
    )
    assert partly.outside_weight.item() == pytest.approx(0.25, abs=1e-15)
    tail = 0.5**3
    assert partly.outside_weight.item() + tail == pytest.approx(0.375, abs=1e-15)


def test_gains_weigh_grades_and_levels_cut_them(collection):
    how = {"estimator": "assumed"}
    halves = be.evaluate(collection, "RBP(p=0.8)", gain={1: 0.5, 2: 1.0}, **how).estimate.values
    ones, twos = (
        be.evaluate(collection, "RBP(p=0.8)", relevance_level=level, **how).estimate.values
        for level in (1, 2)
    )
    np.testing.assert_allclose(halves, 0.5 * ones + 0.5 * twos, atol=1e-14)
    named = be.evaluate(collection, "RBP(rel=2,p=0.8)", **how).estimate
    np.testing.assert_allclose(named, twos, atol=1e-14)


@pytest.mark.parametrize("gain", [{1: 1, 2: 0}, {0: 2, 1: 0, 2: 1}, {0: 1, 1: 3, 2: 2}])
@pytest.mark.parametrize("estimator", ["stat", "dyn"])
def test_a_gain_may_fall_with_the_grade(collection, estimator, gain):
    options = {"measures": ["DCG@4", "nDCG@5", "RBP(p=0.8)"], "gain": gain}
    truth = be.evaluate(collection, estimator="assumed", **options)
    scores = be.evaluate(sampled_once(collection, budget=9), estimator=estimator, **options)
    xr.testing.assert_allclose(scores.estimate, truth.estimate, rtol=0, atol=1e-12)


def test_a_topic_that_a_run_lacks_scores_zero_or_nothing(collection):
    runs = pd.DataFrame({"run": "z", "topic": "1", "document": ["d0"], "score": [1.0]})
    grown = be.add_runs(collection, runs)
    zero = be.evaluate(grown, "P@3", estimator="assumed").estimate.sel(run="z")
    np.testing.assert_allclose(zero.to_numpy()[0], [1 / 3, 0.0])
    skipped = be.evaluate(grown, "P@3", estimator="assumed", missing_topics="skip")
    np.testing.assert_allclose(skipped.estimate.sel(run="z").to_numpy()[0], [1 / 3, np.nan])
    assert be.mean_over_topics(skipped).n_topics.sel(run="z") == 1


ASKED = {
    "evaluate": lambda known: be.evaluate(known, "P@3", estimator="stat"),
    "covariance": lambda known: be.covariance(known, "P@3", estimator="stat", anticipated=True),
    "compare": lambda known: be.compare(known, "P@3", estimator="stat"),
    "of the population": lambda known: be.compare(
        known, "P@3", estimator="stat", population="topics", n_permutations=9
    ),
    "plan": lambda known: be.plan(
        with_node(known, "design", None), "P@3", budget=[2, 4], estimator="stat", random_seed=1
    ),
}


@pytest.mark.parametrize("asked", ASKED.values(), ids=ASKED)
def test_topics_that_no_run_has_documents_for_are_said_once(collection, asked):
    sampled = sampled_once(fewer_runs(collection))
    with pytest.warns(TopicsUnranked) as said:
        asked(sampled)
    texts = [str(one.message).split(";")[0] for one in said]
    assert texts == [
        "no run has documents for 1 of 3 topics (3): runs score 0 there, which lowers means"
    ]


def test_nothing_is_said_of_topics_that_are_left_out(collection):
    fewer = fewer_runs(collection)
    for known, how in ((fewer, "skip"), (be.select(fewer, topics=["1", "2"]), "zero")):
        scores = be.evaluate(known, "P@3", estimator="assumed", missing_topics=how)
        assert (be.mean_over_topics(scores)["n_topics"] == 2).all()


def fewer_runs(collection) -> xr.DataTree:
    """The same collection with judgments of a topic that no run has."""
    qrels = be.trec.qrels_frame(collection)
    more = qrels[qrels["topic"] == "2"].assign(topic="3")
    return be.read_collection(pd.concat([qrels, more]), be.trec.runs_frame(collection))


def test_a_topic_without_judgments_is_nan_and_said_once(collection):
    qrels = pd.DataFrame({"topic": ["1", "2"], "document": ["d0", "d0"], "grade": [1, -1]})
    runs = pd.DataFrame({"run": "a", "topic": ["1", "2"], "document": "d0", "score": 1.0})
    tree = be.read_collection(qrels, runs)
    with pytest.warns(
        UserWarning,
        match="1 topic has no judgment yet and is left out: '2'; means are over 1 topic$",
    ):
        scores = be.evaluate(tree, ["P@1", "AP", "RR", "Judged@1"], estimator="assumed")
    assert scores.estimate.sel(topic="2").isnull().all()
    assert (scores.estimate.sel(topic="1") == 1).all()


@pytest.mark.parametrize("outside", ["missing", "error"])
def test_what_a_list_of_sampled_documents_cannot_tell_is_refused(outside):
    documents = [f"d{i}" for i in range(6)]
    run = pd.DataFrame({"run": "a", "topic": "1", "document": documents, "score": range(6, 0, -1)})
    qrels = pd.DataFrame(
        {"topic": "1", "document": documents[:3], "grade": [1, 0, 1], "method": 1,
         "probability": [1.0, 0.5, 0.25]}
    )  # fmt: skip
    listed = be.read_collection(qrels, run, qrels_format="prels")
    assert be.evaluate(listed, "P@3", estimator="stat").estimate.notnull().all()
    with pytest.raises(ValueError, match="list only the sampled documents of it"):
        be.evaluate(listed, "P@3", estimator="stat", outside=outside)


def test_weight_outside_the_frame_is_reported_blanked_or_refused(collection):
    sampled = sampled_once(collection, budget=4, n_strata=2, pool_depth=2)
    with pytest.warns(UserWarning, match="^AP: relevant documents that no run has in its first 2"):
        scores = be.evaluate(sampled, ["P@5", "AP"], estimator="stat")
    frame = collection["rankings/ranking"].to_numpy()
    outside = ~np.append(sampled["design/inclusion_probability"].to_numpy() > 0, True)[
        frame[..., :5]
    ]
    np.testing.assert_allclose(
        scores.outside_weight.sel(measure="P@5").to_numpy(), outside.sum(axis=-1) / 5
    )
    missing = be.evaluate(sampled, "P@5", estimator="stat", outside="missing")
    assert (missing.estimate.isnull().to_numpy()[0] == (outside.sum(axis=-1) > 0)).all()
    with pytest.raises(ValueError, match="no weight outside the frame, .* the first is P@5"):
        be.evaluate(sampled, "P@5", estimator="stat", outside="error")
    for estimator in ("assumed", "condensed"):
        with pytest.raises(ValueError, match="no weight on unjudged documents, .* P@5 of run"):
            be.evaluate(sampled, "P@5", estimator=estimator, outside="error")


def test_inferred_measures_take_the_pool_of_plain_qrels_for_one_stratum():
    """Grade -1 is pooled and not judged, as trec_eval's infAP has it; other documents are not."""
    run = pd.DataFrame({"run": "a", "topic": "1", "document": list("abcdef")})
    run = run.assign(score=[6, 5, 4, 3, 2, 1])
    qrels = pd.DataFrame({"topic": "1", "document": list("abcde"), "grade": [1, -1, 1, 0, -1]})
    pool = be.read_collection(qrels, run)
    constants = {"relevant_smoothing": 1e-5, "sampled_smoothing": 2e-5}
    scores = be.evaluate(pool, ["AP", "P@5"], estimator="inf", estimator_options=constants)
    reference = be.evaluate(pool, "infAP", estimator="assumed")
    assert scores.estimate.sel(measure="AP").item() == pytest.approx(
        reference.estimate.item(), abs=1e-12
    )
    assert scores.outside_weight.sel(measure="P@5").item() == 0, "the pool is what is known of"
    with pytest.raises(ValueError, match="'importance' needs a design.*assumed, condensed, inf"):
        be.evaluate(pool, "AP", estimator="importance")


@pytest.fixture(scope="module")
def sixty() -> xr.DataTree:
    """Sixty judged documents."""
    collection = be.simulate.urn_collection(
        [0.1, 0.2], n_topics=3, n_documents=60, prevalence=0.2, random_seed=1
    )
    return sample(collection, "uniform_strata", budget=20, n_strata=2, random_seed=1)


def regraded(sampled, grades) -> xr.DataTree:
    judgments = sampled["judgments"].to_dataset(inherit=False)
    return with_node(sampled, "judgments", judgments.assign(grade=grades(judgments["grade"])))


def test_a_sample_whose_lowest_grade_is_relevant_is_suspected_of_another_scale(sixty, recwarn):
    graded = regraded(sixty, lambda grade: grade + 1)  # as by assessors whose lowest grade is 1
    for estimator, level in (("dyn", 2), ("assumed", 1)):  # who reads a pool has other reasons
        be.evaluate(graded, "P@5", estimator=estimator, relevance_level=level)
    be.evaluate(sixty, "P@5", estimator="dyn")
    be.evaluate(be.select(graded, topics=["1", "2"]), "P@5", estimator="dyn")
    assert not [one for one in recwarn if "lowest grade" in str(one.message)]
    warned = "all 60 judged documents count as relevant for P@5: the lowest grade is 1; .*_level=2"
    with pytest.warns(UserWarning, match=warned):
        be.evaluate(graded, "P@5", estimator="dyn")


def test_a_sample_of_which_nothing_is_relevant_is_warned_of(sixty, recwarn):
    zeros = regraded(sixty, lambda grade: grade * 0)
    be.evaluate(zeros, "P@5", estimator="assumed")
    be.evaluate(be.select(zeros, topics=["1", "2"]), "P@5", estimator="stat")
    be.evaluate(sixty, "P@5", estimator="stat")
    assert not [one for one in recwarn if "counts as relevant" in str(one.message)]
    for measure in ("P@5", "nDCG@5"):
        start = f"none of 60 judged documents counts as relevant for {measure}: the highest grade"
        with pytest.warns(UserWarning, match=f"{start} is 0, and nothing separates the runs"):
            be.evaluate(zeros, measure, estimator="dyn")


def test_condensed_lists_go_through_evaluate_sample_by_sample(collection):
    drawn = sampled_once(collection, n_replicates=3)
    scores = be.evaluate(drawn, ["P@2", "AP"], estimator="condensed")
    for replicate in range(3):
        judgments = drawn["judgments"].to_dataset(inherit=False).isel(replicate=replicate)
        single = with_node(drawn, "judgments", judgments)
        alone = be.evaluate(single, ["P@2", "AP"], estimator="condensed")
        xr.testing.assert_equal(scores.estimate.isel(replicate=replicate), alone.estimate)
    assert scores.standard_error.isnull().all()
    assert (scores.outside_weight > 0).any(), "what was left out is known"


@pytest.mark.parametrize("estimator", ["assumed", "condensed"])
def test_infap_warns_where_chances_differ_within_a_topic(collection, estimator):
    with pytest.warns(UserWarning, match="neither at strata nor.*xinfAP of sample_eval is AP by"):
        be.evaluate(sampled_once(collection), ["P@3", "infAP"], estimator=estimator)


def test_infap_is_silent_where_nothing_was_drawn_or_all_alike(collection):
    uniform = sample(collection, "uniform_strata", budget=6, n_strata=1, random_seed=1)
    for judged in (collection, uniform, sampled_once(collection, budget=9)):
        be.evaluate(judged, "infAP", estimator="assumed")  # a warning would be an error
    be.evaluate(sampled_once(collection), "AP", estimator="assumed")


@pytest.mark.parametrize("options", [{"relevance_level": 4}, {}])
def test_a_level_above_all_grades_is_warned_of(options):
    collection = small_collection()
    measure = "P@3" if options else "P(rel=4)@3"
    highest = int(collection["judgments/grade"].max())
    assert highest < 4
    words = rf"counts documents of grade 4 or more, and no judged .* the highest is {highest}"
    with pytest.warns(UserWarning, match=words):
        scores = be.evaluate(collection, [measure, "nDCG@3"], estimator="assumed", **options)
    assert (scores.estimate.sel(measure=scores.measure[0]) == 0).all()


@pytest.mark.parametrize("scheme", ["pps_strata", "poisson"])
def test_intervals_hold_beside_labels_that_are_nearly_always_right(scheme):
    """Taken as they are: most samples meet no wrong one, and the estimated variance is 0."""
    truth = be.simulate.urn_collection(
        [0.05, 0.1, 0.2, 0.4], n_topics=20, prevalence=0.1, random_seed=7
    )
    sampled = sample(with_labels(truth, 0.02, 1), scheme, budget=30, n_replicates=30, seed=2)
    measures = ["P@10", "RBP(p=0.8)"]
    with pytest.warns(UserWarning, match="'judge' are taken for the relevance as they are"):
        scores = be.evaluate(sampled, measures, estimator="dyn", predictor=("external", "judge"))
    mean = be.mean_over_topics(scores)
    assert (mean.design_error == 0).any()
    assert (mean.interval.diff("ci_bound") > 0).all()
    score = be.evaluate(truth, measures, estimator="assumed").estimate.mean("topic")
    low, high = mean.interval.transpose("ci_bound", ...)
    held = ((low <= score) & (score <= high)).mean(("replicate", "run"))
    assert (held >= 0.88).all(), held.to_numpy()


NO_SUMS = [(name, "dyn", {}, "no sum of relevances.*AP, DCG, NumRel")
           for name in ("RR", "Success@3", "Bpref", "infAP", "Judged@3", "NumRet")]  # fmt: skip


@pytest.mark.parametrize(
    ("measure", "estimator", "options", "message"),
    [
        *NO_SUMS,
        ("P@3", "guess", {}, "no estimator 'guess'; there are assumed, condensed"),
        ("P@3", "Stats", {}, "no estimator 'Stats'; did you mean stat. There are ass"),
        ("Q@3", "assumed", {}, "Q"),
        ("P@3", "assumed", {"outside": "ignore"}, "outside must be one of"),
        ("P@3", "assumed", {"missing_topics": "x"}, "missing_topics must be one of"),
        ("P@3", "stat", {"denominator": "all"}, "denominator must be one of counts, topic"),
        ("P@3", "assumed", {"predictor": "pooled"}, "uses no predictor"),
        ("P@3", "condensed", {"predictor": "pooled"}, "'condensed' uses no predictor"),
        ("P@3", "dyn", {"predictor": 5}, "not a name or a pair"),
        ("P@3", "dyn", {"predictor": ()}, "not a name or a pair"),
        ("P@3", "dyn", {"predictor": ("external",)}, "needs a column"),
        ("P@3", "stat", {"estimator_options": {"depth": 3}}, "among none at all, not"),
        ("P@2", "inf", {"estimator_options": {"smooth": 1}},
         "'inf' must be a dict with keys among relevant_smoothing, sampled"),
        ("P@2", "condensed", {"estimator_options": "depth"},
         "'condensed' must be a dict with keys among depth, not 'depth'"),
        ("infAP", "inf", {}, "infAP is trec_eval's.*xinfAP.*AP by estimator='inf'"),
    ],
)  # fmt: skip
def test_what_does_not_exist_is_refused_and_what_exists_is_listed(
    collection, measure, estimator, options, message
):
    with pytest.raises(ValueError, match=message):
        be.evaluate(sampled_once(collection), measure, estimator=estimator, **options)


def test_a_collection_without_a_design_or_cut_with_isel_is_refused(collection):
    with pytest.raises(ValueError, match="needs a design.*without a design: assumed"):
        be.evaluate(collection, "P@3", estimator="stat")
    with pytest.raises(ValueError, match="be.select"):
        be.evaluate(collection.isel(run=[0]), "P@3", estimator="assumed")
