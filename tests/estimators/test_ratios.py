"""Ratios on whole collections: by the counts of all topics, and by the topic's own number."""

import numpy as np
import pytest
import xarray as xr

import bayeseval as be
from bayeseval.collection import with_node
from bayeseval.estimators.counts.cells import cells
from bayeseval.estimators.scoring import EXPECTED, SCORES, sum_of_precisions
from bayeseval.evaluation.problem import Problem
from bayeseval.frame.frame import Frame
from bayeseval.measures.table import discount_sum
from tests.small import every_stratified_sample, sample, small_collection, with_labels

RATIOS = ["AP", "nDCG@10", "R@50", "Rprec"]
DESIGNS = {
    "pps_strata": {"n_strata": 10},
    "uniform_strata": {"n_strata": 10, "random_seed": 1},
    "poisson": {},
}


@pytest.fixture(scope="module")
def truth():
    relevant = np.array([0, 2, 3, 5, 6, 8, 10, 12, 15, 20, 30, 60])
    return be.simulate.urn_collection(
        [0.03, 0.08, 0.2], n_documents=500, n_relevant=relevant, depth=150, keep="retrieved",
        grade_proportions=(0.8, 0.2), random_seed=4,
    )  # fmt: skip


def sampled(truth, name="pps_strata", n_replicates=None):
    return sample(truth, name, budget=40, n_replicates=n_replicates, seed=2, **DESIGNS[name])


def held(mean, right):
    """Share of intervals that hold the right means."""
    low, high = (mean.interval.sel(ci_bound=bound) for bound in ("lower", "upper"))
    return ((low <= right) & (right <= high)).mean([d for d in low.dims if d != "measure"])


def test_labels_tell_how_many_documents_are_relevant(truth):
    labelled, measures = with_labels(truth, 0.004, 3), ["nDCG@20", "AP"]
    drawn = sample(labelled, budget=60, frame="judged", n_replicates=4, seed=5)
    right = be.evaluate(truth, measures, estimator="assumed").estimate.mean("topic")
    square, length = [], []
    for predictor in ("pooled", ("pooled", "judge")):
        scores = be.evaluate(drawn, measures, estimator="dyn", predictor=predictor)
        mean = be.mean_over_topics(scores)
        square.append(((mean.estimate - right) ** 2).mean(("run", "replicate")))
        length.append(mean.interval.diff("ci_bound").mean(("run", "replicate")))
    assert (square[1] < 0.8 * square[0]).all()
    assert (length[1] < 0.95 * length[0]).all()


@pytest.mark.parametrize(
    ("name", "options"),
    [("poisson", {"budget": 40}), ("pps_strata", {"budget": 220, "n_strata": 4})],
)
def test_where_labels_had_a_say_in_the_probabilities_numbers_are_still_right(truth, name, options):
    labelled = with_labels(truth, 0.03, 1)
    how = {"frame": "judged", "labels": "judge", "n_replicates": 12, "seed": 2}
    drawn = sample(labelled, name, **how, **options)
    right = be.evaluate(truth, "R@50", estimator="assumed").estimate.mean("topic")
    for estimator in ("stat", "dyn"):
        means = be.mean_over_topics(be.evaluate(drawn, "R@50", estimator=estimator))
        error = (means.estimate - right).mean("replicate")
        assert (np.abs(error) < means.design_error.mean("replicate")).all()
    frame = Frame.drawn_from(drawn)
    cut = cells(frame.ranked_sample, bool(frame.design_labels))
    for cell in range(cut.size.size):
        here = frame.sample.inclusion_probability[cut.of_pair == cell]
        assert np.ptp(here) == 0 if name == "pps_strata" else here.max() < 2 * here.min() + 1e-9


@pytest.mark.parametrize("name", DESIGNS)
def test_cells_hold_every_document_once_and_are_alike_in_probability(truth, name):
    frame = Frame.drawn_from(sampled(truth, name))
    cut = cells(frame.ranked_sample)
    assert cut.size.sum() == frame.sample.n_pairs and (cut.size > 0).all()
    topic = np.repeat(np.arange(12), np.diff(cut.start))
    np.testing.assert_array_equal(topic[cut.of_pair], frame.topic)
    for cell in range(cut.size.size):
        here = frame.sample.inclusion_probability[cut.of_pair == cell]
        assert (here == 1).all() or here.max() < 1
        assert name != "pps_strata" or np.ptp(here) == 0


@pytest.mark.parametrize("name", DESIGNS)
@pytest.mark.parametrize("how", ["stat", "dyn", "labels"])
def test_replicates_together_are_one_by_one(truth, name, how):
    labelled = how == "labels"
    many = sampled(with_labels(truth, 0.03, 3) if labelled else truth, name, n_replicates=2)
    options = {"estimator": "dyn" if labelled else how}
    measures = RATIOS[:3]  # Rprec's bootstrap depends on how many slots there are
    together = be.evaluate(many, measures, **options)
    alone = many["judgments"].to_dataset(inherit=False).isel(replicate=1)
    single = be.evaluate(with_node(many, "judgments", alone), measures, **options)
    for variable in ("estimate", "standard_error", "design_error", "shared_error"):
        found = together[variable].isel(replicate=1)
        xr.testing.assert_allclose(found, single[variable], rtol=0, atol=1e-10)


def test_when_all_or_nothing_is_known_the_estimate_is_the_truth(truth):
    exact = be.evaluate(truth, RATIOS, estimator="assumed").estimate
    scores = be.evaluate(sample(truth, budget=10_000, n_strata=3), RATIOS, estimator="stat")
    np.testing.assert_allclose(scores.estimate, exact, atol=1e-12)
    assert (scores.standard_error == 0).all()
    scores = be.evaluate(sampled(truth), RATIOS, estimator="stat")
    assert (scores.estimate.sel(topic="1") == 0).all()  # it has no relevant document


@pytest.mark.parametrize("estimator", ["stat", "dyn"])
@pytest.mark.parametrize("denominator", ["counts", "topic"])
@pytest.mark.filterwarnings("ignore:none of .* judged documents counts")  # which is the case
@pytest.mark.filterwarnings("ignore:AP.rel=2. counts documents of grade 2")
def test_where_nothing_relevant_was_judged_no_ratio_is_above_0_and_no_run_better(
    estimator, denominator
):
    """Neither by predictions nor by the counts of topics: intervals hold 0, as they may."""
    random = np.random.default_rng(1)
    topics, documents = [f"t{number}" for number in range(10)], [f"d{rank}" for rank in range(20)]
    qrels = {topic: dict.fromkeys(documents, 0) for topic in topics}
    runs = {
        run: {
            topic: dict(zip(random.permutation(documents).tolist(), range(20, 0, -1), strict=True))
            for topic in topics
        }
        for run in "abc"
    }
    drawn = sample(be.read_collection(qrels, runs), budget=8, n_strata=2)
    how = {"estimator": estimator, "denominator": denominator}
    measures = ["AP", "nDCG@5", "R@5", "Rprec", "AP(rel=2)"]
    scores = be.evaluate(drawn, measures, **how)
    pairs = be.compare(drawn, measures, n_permutations=9, **how)
    for found in (scores, be.mean_over_topics(scores), pairs):
        assert (found.estimate == 0).all()
        low, high = (found.interval.sel(ci_bound=bound) for bound in ("lower", "upper"))
        assert (low <= 0).all() and (high >= 0).all()
    for name in ("p_value", "p_holm", "p_tukey"):
        assert (pairs[name] > 0.9).all()


def test_one_sample_that_saw_something_leaves_another_that_did_not_at_0():
    collection = small_collection()
    design = be.designs.uniform_strata(collection, budget=2, n_strata=2, random_seed=1)
    every = every_stratified_sample(design)
    seen = (every & (collection["judgments/grade"] >= 1)).any("pair")
    few = np.sort(np.concatenate([np.flatnonzero(seen == known)[:3] for known in (True, False)]))
    drawn, seen = be.reveal(collection, design, every.isel(replicate=few)), seen.isel(replicate=few)
    scores = be.evaluate(drawn, ["AP", "R@3", "nDCG@3"], estimator="dyn").estimate
    assert (scores.where(~seen, 0.0) == 0).all()
    assert (scores.where(seen, 1.0) != 0).any(["run", "topic"]).all()


def sum_above(measure, ranks, relevance):
    """Sum over ranks that a ratio is made of, where relevances may be fractions."""
    total = above = 0.0
    for rank, row in enumerate(ranks, start=1):
        if row >= 0:
            weight = {
                "AP": (1.0 + above) / rank,
                "R@50": float(rank <= 50),
                "nDCG@20": (rank <= 20) / np.log2(rank + 1.0),
            }[measure]
            total += relevance[row] * weight
            above += relevance[row]
    return total


@pytest.mark.parametrize(("asked", "part"), [("AP", 1.0), ("R@50", 1.0), ("nDCG@20", 0.5)])
@pytest.mark.parametrize("estimator", ["stat", "dyn"])
def test_ratios_add_to_what_is_expected_the_rest_by_the_counts(truth, estimator, asked, part):
    """c s + E[1 / D] (N - c q D), term by term."""
    same = {0: 0.0, 1: 1.0, 2: 1.0} if asked == "nDCG@20" else None  # gain of both grades
    problem = Problem.prepared(sampled(truth), asked, estimator=estimator, gain=same)
    (measure,) = problem.measures
    for topic, position in problem.topics():
        known = problem.relevance.topic(topic, position)
        filled, counts = known.binary(1), known.counts(measure)
        score = SCORES[measure.name](measure, known)
        chance, value = np.clip(filled.predicted[0], 0.0, 1.0), filled.value[:, 0]
        total, number = chance.sum(), value.sum()
        if asked == "nDCG@20":
            total, number = discount_sum(np.array([total, max(number, filled.seen[0])]), 20)
        some, chance_of_some = (counts.draw[0] > 0).mean(), 1.0
        if estimator == "stat":
            pi = 1.0 / (1.0 + known.odds)
            certain = np.where(pi < 1.0, pi * chance, value)
            some, chance_of_some = filled.seen[0] > 0, 1.0 - np.prod(1.0 - certain)
        for run, ranks in enumerate(position):
            numerator = sum_above(asked, ranks, value)
            if asked == "AP":
                numerator = sum_of_precisions(measure, known)[0][run, 0]
            constant = part * min(sum_above(asked, ranks, chance) / total, 1.0)
            rest = numerator - constant * chance_of_some * number
            expected = constant * some + counts.inverse[0] * rest
            if counts.relative_error[0] > 0.25:
                expected = min(max(expected, 0.0), 1.0)
            assert score.estimate[run, 0] == pytest.approx(expected, abs=1e-12)


def world_of(relevant, odds, **options):
    """What runs of these odds of a non-relevant document retrieve, and true mean AP."""
    collection = be.simulate.urn_collection(odds, n_relevant=relevant, keep="retrieved", **options)
    exact = be.evaluate(collection, "AP", estimator="assumed")
    return collection, exact.estimate.mean("topic")


def errors_with_and_without_predictions(drawn, truth, estimator, monkeypatch):
    """Errors of mean AP in every sample, by the difference estimator and by N E[1 / D]."""

    def errors():
        mean = be.mean_over_topics(be.evaluate(drawn, "AP", estimator=estimator))
        return (mean.estimate - truth).transpose("measure", "run", "replicate").to_numpy()

    found = errors()
    monkeypatch.setitem(EXPECTED, "AP", 0.0)
    return found, errors()


@pytest.mark.parametrize("estimator", ["stat", "dyn"])
def test_the_difference_estimator_takes_off_some_of_what_shrinkage_does_to_ap(
    estimator, monkeypatch
):
    """Runs are good where few documents are relevant, of which the counts expect too many."""
    random = np.random.default_rng(1)
    relevant = np.round(np.exp(random.normal(3.3, 0.9, 30))).astype(int).clip(3, 300)
    odds = np.array([0.02, 0.05, 0.1])[:, None] * relevant / 27.0
    collection, truth = world_of(relevant, odds, n_documents=1500, depth=150, random_seed=1)
    drawn = sample(collection, budget=100, n_replicates=15)
    found, without = errors_with_and_without_predictions(drawn, truth, estimator, monkeypatch)
    assert without.mean() < -0.009
    assert 0.75 * without.mean() < found.mean() < 0.0


@pytest.mark.parametrize("estimator", ["stat", "dyn"])
def test_the_difference_estimator_helps_where_next_to_nothing_is_relevant(estimator, monkeypatch):
    """Many samples see nothing relevant, or more than the predictions leave room for."""
    random = np.random.default_rng(2)
    relevant = np.round(np.exp(random.normal(1.2, 1.0, 60))).astype(int).clip(1, 200)
    odds = [0.001, 0.01, 0.05, 0.3]
    collection, truth = world_of(relevant, odds, n_documents=600, depth=60, random_seed=2)
    drawn = sample(collection, budget=40, n_replicates=8)
    found, without = errors_with_and_without_predictions(drawn, truth, estimator, monkeypatch)
    assert np.sqrt((found**2).mean()) < 0.95 * np.sqrt((without**2).mean())
    assert abs(found.mean()) < abs(without.mean())


def test_means_and_covariances_share_the_error_of_the_counts(truth):
    one = sampled(truth)
    scores = be.evaluate(one, RATIOS, estimator="stat")
    error = be.mean_over_topics(scores).design_error.transpose("measure", "run")
    variance = np.diagonal(be.covariance(one, RATIOS, estimator="stat"), axis1=1, axis2=2)
    np.testing.assert_allclose(np.sqrt(variance), error, rtol=1e-9)
    alone = (scores.design_error**2).sum("topic") / 12**2
    assert (error**2 > alone.transpose("measure", "run")).mean() > 0.5


def test_topics_as_a_sample_have_the_error_that_all_of_them_share(truth):
    """Spread over the topics, and the covariances between them, by hand."""
    one = sampled(truth)
    scores = be.evaluate(one, RATIOS, estimator="stat")
    mean = be.mean_over_topics(scores, population="topics")
    shared = scores.shared_error.transpose("measure", "run", "topic", "direction").to_numpy()
    estimate = scores.estimate.transpose("measure", "run", "topic").to_numpy()

    def variance(estimate, shared):
        between = (shared.sum(axis=-2) ** 2).sum(axis=-1) - (shared**2).sum(axis=(-2, -1))
        spread = 11 * estimate.var(-1, ddof=1)
        return between, (spread + np.maximum(between, 0)) / (12 * 11)  # below 0 it does not count

    between, expected = variance(estimate, shared)
    error = mean.standard_error.transpose("measure", "run")
    np.testing.assert_allclose(error**2, expected, rtol=1e-9)
    assert (between < 0).any() and (between > 0).mean() > 0.8
    how = {"estimator": "stat", "population": "topics", "n_permutations": 9}
    pairs = be.compare(one, RATIOS, reference="run003", **how)
    _, expected = variance(estimate[:, :2] - estimate[:, 2:], shared[:, :2] - shared[:, 2:])
    np.testing.assert_allclose(pairs.standard_error**2, expected, rtol=1e-9)


def pool_judged_most(form, share):
    """Sample with a share of the pool to rank 10, and a tenth of the rest; and complete truth."""
    random = np.random.default_rng(23)
    odds = np.exp(random.normal(np.log(0.03), 0.6, (6, 1)) + random.normal(0, 0.6, (6, 30)))
    relevant = np.clip(np.exp(random.normal(np.log(20), 0.8, 30)), 1, 400).astype(int)
    truth = be.simulate.urn_collection(
        odds, n_relevant=relevant, n_documents=1000, difficulty_sd=0.7, shared=0.5, depth=50,
        keep="retrieved", random_seed=23,
    )  # fmt: skip
    top = truth["rankings/ranking"].to_numpy()[:, :, :10]
    pool = np.zeros(truth["document"].size, dtype=bool)
    pool[top[top >= 0]] = True
    drawn = random.random(pool.size) < np.where(pool, share, 0.1)
    if form == "poisson":
        design = be.designs.poisson(truth, budget=60, frame="retrieved")
        probability = xr.DataArray(np.where(pool, share, 0.1), dims="pair")
        design = design.assign(inclusion_probability=probability).assign_attrs(name="own")
        return be.reveal(truth, design, xr.DataArray(drawn, dims="pair")), truth
    grade = truth["judgments/grade"].to_numpy()
    table = be.trec.qrels_frame(truth).assign(stratum=np.where(pool, 1, 2))
    table["grade"] = np.where(drawn, grade, -1)
    return be.read_collection(table, be.trec.runs_frame(truth), qrels_format="sampleval"), truth


@pytest.mark.parametrize(("form", "share"), [("sampleval", 1), ("poisson", 1), ("sampleval", 0.5)])
def test_where_others_chose_what_is_judged_ratios_have_the_topic_s_own_number(form, share):
    """By the counts AP is 1.2 standard errors too high here, and 4 on real collections."""
    drawn, truth = pool_judged_most(form, share)
    with pytest.warns(UserWarning, match="because documents were not drawn by their fused ranks"):
        scores = be.evaluate(drawn, "AP", estimator="dyn")
    own = be.evaluate(drawn, "AP", estimator="dyn", denominator="topic")
    xr.testing.assert_equal(scores, own)
    right = be.evaluate(truth, "AP", estimator="assumed").estimate.mean("topic")
    assert held(be.mean_over_topics(scores), right) > 0.75


@pytest.mark.parametrize("scheme", ["pps_strata", "poisson"])
def test_an_old_pool_tells_nothing_of_the_documents_outside_it(scheme):
    """The pool of four runs to rank 10 is judged, and 60 documents more: AP of all is held."""
    random = np.random.default_rng(21)
    odds = np.exp(random.normal(np.log(0.03), 0.6, (14, 1)) + random.normal(0, 0.6, (14, 30)))
    relevant = np.clip(np.exp(random.normal(np.log(40), 0.8, 30)), 1, 400).astype(int)
    collection = be.simulate.urn_collection(
        odds, n_relevant=relevant, n_documents=2000, difficulty_sd=0.7, shared=0.5, depth=100,
        keep="retrieved", random_seed=21,
    )  # fmt: skip
    truth = be.evaluate(collection, "AP", estimator="assumed").estimate.mean("topic")
    top = collection["rankings/ranking"].to_numpy()[:4, :, :10]
    pool = np.zeros(collection["document"].size, dtype=bool)
    pool[top[top >= 0]] = True
    size = np.bincount(collection["pair_topic"].to_numpy()[pool], minlength=30)
    budget = dict(zip(collection["topic"].values.tolist(), (size + 60).tolist(), strict=True))
    certain = xr.DataArray(pool, dims="pair")
    drawn = sample(collection, scheme, budget=budget, certain=certain, n_replicates=6, seed=7)
    mean = be.mean_over_topics(be.evaluate(drawn, "AP", estimator="dyn"))
    assert held(mean, truth) > 0.75
    assert abs(float((mean.estimate - truth).mean())) < float(mean.standard_error.mean())


def test_one_topic_or_files_of_sampled_documents_alone_fall_back_on_the_topic(truth):
    one = sample(be.select(truth, topics=["8"]), budget=40, n_strata=10)
    whole = sampled(truth, "poisson")
    design = whole["design"].to_dataset(inherit=False)
    chance = design["inclusion_probability"].where(whole["judgments/grade"].notnull().values)
    listed = with_node(whole, "design", design.assign(inclusion_probability=chance))
    for drawn, same, message in (
        (one, one, "only one topic has documents that were not sampled"),
        (listed, whole, "list only the sampled documents of the frame"),
    ):
        with pytest.warns(UserWarning, match=message):
            scores = be.evaluate(drawn, RATIOS[:3], estimator="stat")
        own = be.evaluate(same, RATIOS[:3], estimator="stat", denominator="topic")
        np.testing.assert_allclose(scores.estimate, own.estimate, atol=1e-12)


def test_linear_measures_do_not_change_with_the_denominator(truth):
    scores, own = (
        be.evaluate(sampled(truth), ["P@10", "NumRel"], estimator="stat", denominator=denominator)
        for denominator in ("counts", "topic")
    )
    xr.testing.assert_equal(scores, own)


@pytest.mark.parametrize("estimator", ["stat", "dyn"])
def test_the_gain_of_grade_0_is_no_level_whose_documents_are_counted(estimator):
    """All documents have it: next to none of it leaves the scores of no gain."""
    truth = be.simulate.urn_collection(
        [0.1, 0.3], n_topics=8, n_documents=300, prevalence=0.1, depth=100, random_seed=3
    )
    drawn = sample(truth, budget=30, n_strata=3)
    scores = [
        be.evaluate(drawn, "nDCG@20", estimator=estimator, gain={0: of_zero, 1: 1.0})
        for of_zero in (1e-9, 0.0)
    ]
    for name in ("estimate", "standard_error", "shared_error"):
        np.testing.assert_allclose(*(one[name] for one in scores), rtol=1e-5, atol=1e-7)


def test_by_the_topic_s_own_number_ratios_that_are_poorly_known_stay_in_bounds():
    """A number that had to be raised to what was seen, or of a relative variance above .25."""
    collection = small_collection()
    design = be.designs.uniform_strata(collection, budget=4, n_strata=2, random_seed=1)
    drawn = every_stratified_sample(design).isel(replicate=slice(None, None, 23))
    scores = be.evaluate(
        be.reveal(collection, design, drawn), ["AP", "R@3", "Rprec", "NumRel"], estimator="dyn",
        predictor=("external", "llm"), denominator="topic",
    ).transpose("measure", "run", "topic", "replicate", ...)  # fmt: skip
    relevant = drawn.to_numpy() & (collection["judgments/grade"].to_numpy() >= 1)
    topic = collection["pair_topic"].to_numpy()
    seen = np.stack([relevant[:, topic == number].sum(axis=1) for number in range(2)])
    number, error = (scores[name].values[3, 0] for name in ("estimate", "design_error"))
    least = np.maximum(seen, 1.0)
    poor = (number < least) | (error**2 > 0.25 * np.maximum(number, least) ** 2)
    assert poor.any(axis=1).all() and not poor.all() and (number < least).any()
    ratio, error = (scores[name].values[:2, :, poor] for name in ("estimate", "design_error"))
    assert ratio.min() >= 0 and ratio.max() <= 1 and error.max() < 0.5 + 1e-12
    precision = scores.estimate.sel(measure="Rprec")
    assert precision.min() >= 0 and precision.max() <= 1


def test_ratios_are_nearly_unbiased_and_their_variances_nearly_right():
    truth = be.simulate.urn_collection(
        [0.05, 0.1, 0.3], n_topics=4, n_documents=200, n_relevant=40, depth=200, random_seed=2
    )
    drawn = sample(truth, budget=60, n_strata=6, n_replicates=600, seed=3)
    measures = ["AP", "nDCG@20", "R@50", "Rprec"]
    scores = be.evaluate(drawn, measures, estimator="stat", denominator="topic")
    exact = be.evaluate(truth, measures, estimator="assumed").estimate
    error = scores.estimate - exact
    spread = error.std("replicate", ddof=1)
    assert (abs(error.mean("replicate")) < 0.15 * spread).sel(measure=measures[:3]).mean() > 0.9
    variance = (scores.design_error**2).mean(["replicate", "run", "topic"])
    ratio = variance / (spread**2).mean(["run", "topic"])
    assert (ratio > 0.8).all() and (ratio < 1.35).all()


def test_a_nearly_linear_ratio_is_not_clipped_and_so_not_biased():
    """Where the number of relevant documents is well known nDCG@3 behaves like a linear measure."""
    truth = be.simulate.urn_collection(
        [0.01, 0.02], n_topics=3, n_documents=200, n_relevant=60, depth=200, random_seed=2
    )
    options = {"budget": 100, "n_strata": 5, "random_seed": 1}
    drawn = sample(truth, "uniform_strata", n_replicates=2000, seed=3, **options)
    scores = be.evaluate(drawn, "nDCG@3", estimator="stat", denominator="topic")
    exact = be.evaluate(truth, "nDCG@3", estimator="assumed").estimate
    error = (scores.estimate - exact).mean(["run", "topic"])
    assert (scores.estimate > 1).mean() > 0.1
    assert abs(error.mean().item()) < 3 * error.std().item() / np.sqrt(2000)


@pytest.mark.slow
def test_intervals_hold_where_few_documents_are_relevant():
    random = np.random.default_rng(8)
    relevant = np.clip(np.exp(random.normal(3.2, 0.9, 30)), 2, 150).astype(int)
    truth = be.simulate.urn_collection(
        [0.02, 0.04, 0.08, 0.16], n_documents=2000, n_relevant=relevant, depth=150,
        keep="retrieved", random_seed=9,
    )  # fmt: skip
    many = sample(truth, budget=60, n_replicates=30, seed=10)
    measures = ["AP", "R@100"]
    exact = be.evaluate(truth, measures, estimator="assumed").estimate.mean("topic")

    def coverage(denominator):
        scores = be.evaluate(many, measures, estimator="stat", denominator=denominator)
        return held(be.mean_over_topics(scores), exact)

    assert (coverage("counts") >= 0.8).all()
    assert (coverage("counts") > coverage("topic")).all()
