"""Every sample of small designs: expectation equals truth, expected variance equals variance."""

import itertools

import numpy as np
import pytest
import xarray as xr
from scipy.special import logit

import bayeseval as be
from bayeseval.estimators.scoring import sum_of_precisions
from bayeseval.estimators.stratum_rates import rates_beside
from bayeseval.evaluation.problem import Problem
from bayeseval.frame.frame import BY_CHANCE, Frame
from bayeseval.measures.names import parse_measures
from bayeseval.measures.rank_sums import lone_products, precision_sum, precision_sum_influence
from bayeseval.measures.table import names_of
from tests.small import (
    every_order,
    every_poisson_sample,
    every_stratified_sample,
    sample,
    small_collection,
)

pytestmark = pytest.mark.filterwarnings("ignore:the sample was drawn for P@1;")
LINEAR = ["P@3", "P@5", "RBP(p=0.8)", "DCG@4", "NumRel", "NumRelRet"]
FITTED = ["rank_logistic", "pooled"]
FIXED = [None, ("constant", 0.3), ("external", "llm"), ("external", "labels")]


def with_fixed_prediction(predictor) -> list[str]:
    """Linear measures whose M is fixed; for higher grades a probability is learned from."""
    learned = predictor in (("constant", 0.3), ("external", "llm"))
    return [name for name in LINEAR if not (learned and name.startswith("DCG"))]


@pytest.fixture(scope="module")
def collection() -> xr.DataTree:
    return small_collection()


def designs(collection: xr.DataTree) -> dict[str, xr.Dataset]:
    one_pair = np.zeros(collection.sizes["pair"], dtype=bool)
    one_pair[[4, 12]] = True
    return {
        "pps": be.designs.pps_strata(collection, budget=6, n_strata=3),
        "uniform": be.designs.uniform_strata(collection, budget=5, n_strata=2, random_seed=3),
        "certain": be.designs.pps_strata(collection, budget=5, n_strata=2, certain=one_pair),
        "pooled frame": be.designs.pps_strata(collection, budget=4, n_strata=2, pool_depth=3),
        "few": be.designs.uniform_strata(collection, budget=2, n_strata=2, random_seed=1),
        "singles": be.designs.uniform_strata(collection, budget=3, n_strata=3, random_seed=1),
    }


def poisson_design(collection: xr.DataTree) -> xr.Dataset:
    """To rank 3, two documents of each topic for certain: 512 samples."""
    certain = np.zeros(collection.sizes["pair"], dtype=bool)
    certain[[0, 3, 10, 16]] = True
    return be.designs.poisson(collection, budget=5, pool_depth=3, certain=certain)


EVERY_DESIGN = ["pps", "uniform", "certain", "singles"]


def test_every_scheme_and_every_sum_is_one_of_these(collection):
    drawn = [*designs(collection).values(), poisson_design(collection)]
    assert {design.attrs["scheme"] for design in drawn} == set(BY_CHANCE)
    assert {measure.name for measure in parse_measures(LINEAR)} == {*names_of("linear", "count")}


@pytest.mark.parametrize(
    ("predictor", "name"),
    [(predictor, name) for predictor in FIXED for name in EVERY_DESIGN]
    + [(predictor, name) for predictor in FITTED for name in ("pps", "few")],
)
def test_stat_and_dyn_are_unbiased_under_every_stratified_design(collection, predictor, name):
    design = designs(collection)[name]
    sampled = be.reveal(collection, design, every_stratified_sample(design))
    # under the smaller designs also with a prediction that is learned for the higher grades
    measures = LINEAR if name in ("pps", "few") else with_fixed_prediction(predictor)
    truth = be.evaluate(collection, measures, estimator="assumed").estimate
    estimator = "stat" if predictor is None else "dyn"
    scores = be.evaluate(sampled, measures, estimator=estimator, predictor=predictor)
    xr.testing.assert_allclose(scores.estimate.mean("replicate"), truth, rtol=0, atol=1e-12)
    assert scores.estimate.std("replicate").max() > 0.01


def test_the_estimand_is_the_score_of_the_frame(collection):
    design = designs(collection)["pooled frame"]
    sampled = be.reveal(collection, design, every_stratified_sample(design))
    scores = be.evaluate(sampled, LINEAR, estimator="stat")
    whole = be.reveal(collection, design, design.inclusion_probability > 0)
    with pytest.raises(ValueError, match="design drew"):
        be.evaluate(whole, LINEAR, estimator="stat")
    truth = be.evaluate(whole, LINEAR, estimator="assumed").estimate
    xr.testing.assert_allclose(scores.estimate.mean("replicate"), truth, rtol=0, atol=1e-12)
    assert scores.outside_weight.sel(measure="RBP(p=0.8)").max() > 0.01


@pytest.mark.parametrize("predictor", [*FIXED, "rank_logistic"])
def test_stat_and_dyn_are_unbiased_under_poisson_sampling(collection, predictor):
    measures = with_fixed_prediction(predictor)
    design = poisson_design(collection)
    frame = design.inclusion_probability > 0
    selected, chance = every_poisson_sample(design)
    sampled = be.reveal(collection, design, selected)
    whole = be.reveal(collection, design, frame)
    truth = be.evaluate(whole, measures, estimator="assumed").estimate
    estimator = "stat" if predictor is None else "dyn"
    scores = be.evaluate(sampled, measures, estimator=estimator, predictor=predictor)
    mean = (scores.estimate * chance).sum("replicate")
    xr.testing.assert_allclose(mean, truth, rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", ["pps", "uniform", "certain"])
@pytest.mark.parametrize("predictor", FIXED)
def test_the_variance_estimate_is_unbiased_for_linear_measures(collection, name, predictor):
    design = designs(collection)[name]
    lone = (design.stratum_sample_size < 2) & (design.stratum_size > design.stratum_sample_size)
    assert not lone.any(), "strata with one sampled document have no unbiased variance"
    sampled = be.reveal(collection, design, every_stratified_sample(design))
    estimator = "stat" if predictor is None else "dyn"
    scores = be.evaluate(
        sampled, with_fixed_prediction(predictor), estimator=estimator, predictor=predictor
    )
    exact = scores.estimate.var("replicate", ddof=0)
    expected = (scores.design_error**2).mean("replicate")
    xr.testing.assert_allclose(expected, exact, rtol=0, atol=1e-12)


def test_the_variance_estimate_is_unbiased_under_poisson_sampling(collection):
    design = poisson_design(collection)
    selected, chance = every_poisson_sample(design)
    sampled = be.reveal(collection, design, selected)
    scores = be.evaluate(sampled, LINEAR, estimator="stat")
    mean = (scores.estimate * chance).sum("replicate")
    exact = ((scores.estimate - mean) ** 2 * chance).sum("replicate")
    expected = (scores.design_error**2 * chance).sum("replicate")
    xr.testing.assert_allclose(expected, exact, rtol=0, atol=1e-12)


def numerators(sampled, estimator, predictor) -> np.ndarray:
    """Numerator of AP (run, topic, replicate)."""
    problem = Problem.prepared(sampled, "AP", estimator=estimator, predictor=predictor)
    (measure,) = problem.measures
    columns = [
        sum_of_precisions(measure, problem.relevance.topic(topic, position))[0]
        for topic, position in problem.topics()
    ]
    return np.stack(columns, axis=1)


def true_numerators(collection) -> np.ndarray:
    problem = Problem.prepared(collection, "AP", estimator="assumed")
    columns = [
        precision_sum(position, problem.relevance.values(topic, problem.measures[0]))[:, 0]
        for topic, position in problem.topics()
    ]
    return np.stack(columns, axis=1)


@pytest.mark.parametrize("name", ["pps", "uniform", "certain"])
@pytest.mark.parametrize("predictor", FIXED)
def test_the_numerator_of_average_precision_is_unbiased(collection, name, predictor):
    design = designs(collection)[name]
    sampled = be.reveal(collection, design, every_stratified_sample(design))
    estimator = "stat" if predictor is None else "dyn"
    mean = numerators(sampled, estimator, predictor).mean(axis=-1)
    np.testing.assert_allclose(mean, true_numerators(collection), rtol=0, atol=1e-12)


@pytest.mark.filterwarnings("ignore:AP. relevant documents that no run has in its first 3")
def test_the_numerator_of_average_precision_is_unbiased_under_poisson_sampling(collection):
    design = poisson_design(collection)
    selected, chance = every_poisson_sample(design)
    sampled = be.reveal(collection, design, selected)
    mean = (numerators(sampled, "stat", None) * chance.to_numpy()).sum(axis=-1)
    whole = be.reveal(collection, design, design.inclusion_probability > 0)
    np.testing.assert_allclose(mean, true_numerators(whole), rtol=0, atol=1e-12)


@pytest.fixture(scope="module")
def order(collection) -> xr.Dataset:
    """Strata of 1, 2 and 6 documents in topic 1, and of 1, 2 and 5 in topic 2."""
    return be.designs.order(collection, measures="P@1", budget=6, random_seed=1)


@pytest.mark.parametrize("predictor", FIXED)
@pytest.mark.parametrize("budget", [5, 6, 7, {"1": 8, "2": 5}, {"1": 5, "2": 7}], ids=str)
def test_the_numerator_of_average_precision_is_unbiased_from_the_second_round_on(
    collection, order, predictor, budget
):
    """Of every list, also one that is broken off in a round or has exhausted strata."""
    sampled = every_order(collection, order, budget)
    mean = numerators(sampled, "stat" if predictor is None else "dyn", predictor).mean(axis=-1)
    np.testing.assert_allclose(mean, true_numerators(collection), rtol=0, atol=1e-10)


@pytest.mark.parametrize("predictor", [None, ("constant", 0.3), ("external", "llm")])
@pytest.mark.parametrize("budget", [3, 4, {"1": 3, "2": 7}], ids=str)
def test_of_pairs_in_a_stratum_of_one_draw_the_product_of_residuals_is_missing(
    collection, order, predictor, budget
):
    """Two of its documents are never both drawn; ``stat`` before rates of other strata step in."""
    sampled = every_order(collection, order, budget)
    drawn, size = (sampled[f"design/stratum{name}_size"].to_numpy() for name in ("_sample", ""))
    is_lone = ((drawn == 1) & (size > 1))[sampled["design/stratum"].to_numpy()]
    relevant = (collection["judgments/grade"].to_numpy() >= 1).astype(float)
    if predictor is None:
        predicted = 0.0
        found = np.stack([plain[..., 0] for plain, *_ in sums_of_lone_strata(sampled, 0.0)], axis=1)
    else:
        predicted = 0.3 if predictor[0] == "constant" else collection["predictors/llm"].to_numpy()
        found = numerators(sampled, "dyn", predictor)
    residual = np.where(is_lone, relevant - predicted, 0.0)
    stratum, missing = sampled["design/stratum"].to_numpy(), np.zeros((3, 2))
    for run, topic in itertools.product(range(3), range(2)):
        ranked = collection["rankings/ranking"].to_numpy()[run, topic]
        for (_, above), (rank, below) in itertools.combinations(enumerate(ranked, start=1), 2):
            if below >= 0 and stratum[above] == stratum[below]:
                missing[run, topic] += residual[above] * residual[below] / rank
    right = true_numerators(collection) - missing
    np.testing.assert_allclose(found.mean(axis=-1), right, rtol=0, atol=1e-10)
    assert np.abs(missing).max() > 1e-3


def sums_of_lone_strata(sampled, chance=None):
    """Numerator of AP of every topic, with its linear part, and what lone strata add to both."""
    problem = Problem.prepared(sampled, "AP", estimator="stat")
    for topic, position in problem.topics():
        relevance = problem.relevance.topic(topic, position)
        filled, slots = relevance.binary(1), relevance.slots
        of_sample = (position, filled.value, slots.row, filled.expanded)
        plain = precision_sum_influence(*of_sample, slots.joint_excess, slots.stratum)
        rate = relevance.beside(1) if chance is None else np.full_like(filled.value, chance)
        yield plain, lone_products(*of_sample, rate, relevance.stratum), position, relevance


def test_pairs_of_a_lone_draw_are_counted_but_for_what_the_rate_of_their_stratum_leaves(collection):
    """Of every sample: the sum of (r_i - p)(r_j - p) by the lower rank is all that is missing."""
    design, chance = designs(collection)["singles"], 0.3
    sampled = be.reveal(collection, design, every_stratified_sample(design))
    true, grade = true_numerators(collection), collection["judgments/grade"].to_numpy()
    topic_of = collection["pair_topic"].to_numpy()
    for topic, (plain, lone, position, known) in enumerate(sums_of_lone_strata(sampled, chance)):
        off = (grade[topic_of == topic] >= 1) - chance
        missing = [
            sum(
                off[ranks[i]] * off[ranks[j]] / (j + 1)
                for j in range(ranks.size)
                for i in range(j)
                if ranks[i] >= 0 <= ranks[j] and known.stratum[ranks[i]] == known.stratum[ranks[j]]
            )
            for ranks in position
        ]
        mean = (plain + lone)[..., 0].mean(axis=-1)
        np.testing.assert_allclose(mean, true[:, topic] - missing, rtol=0, atol=1e-12)
        assert np.abs(missing).max() > 1e-3 and (plain[..., 0].mean(axis=-1) < true[:, topic]).any()


def test_the_linear_part_of_lone_strata_is_a_derivative(collection):
    singles = {"budget": 3, "n_strata": 3, "random_seed": 1}
    sampled = sample(collection, "uniform_strata", seed=4, **singles)
    for _, lone, position, known in sums_of_lone_strata(sampled):
        filled, slots = known.binary(1), known.slots
        for slot, row in enumerate(slots.row[0]):
            ends = []
            for step in (-0.5, 0.5):  # the sum is linear in every value
                value = filled.value.copy()
                value[row] += step * filled.expanded[0, slot]
                whole = (position, value, slots.row, filled.expanded, known.beside(1))
                ends.append(lone_products(*whole, known.stratum)[:, 0, 0])
            np.testing.assert_allclose(lone[:, 0, 1 + slot], ends[1] - ends[0], atol=1e-12)


@pytest.fixture(scope="module")
def lone() -> xr.DataTree:
    """200 topics, ten strata of each with one draw."""
    collection = be.simulate.urn_collection(
        [0.02, 0.1, 0.3], n_topics=200, n_documents=60, n_relevant=15, depth=60, random_seed=5
    )
    return collection, sample(collection, budget=10, n_strata=10, seed=6)


def test_with_one_draw_a_stratum_other_strata_tell_what_pairs_add_to_average_precision(lone):
    collection, sampled = lone
    true = true_numerators(collection).mean()
    parts = [(own[:, 0, 0], more[:, 0, 0]) for own, more, _, _ in sums_of_lone_strata(sampled)]
    plain, more = np.mean(parts, axis=(0, 2))
    assert plain < 0.95 * true and abs(plain + more - true) < 0.03 * true


def sample_of(sampled):
    frame = Frame.drawn_from(sampled)
    return frame.sample, (frame.grade >= 1).astype(float)


def test_strata_of_every_topic_are_numbered_from_0(lone):
    problem = Problem.prepared(lone[1], "AP", estimator="stat")
    for topic, position in problem.topics():
        stratum = problem.relevance.topic(topic, position).stratum
        assert (stratum.min(), stratum.max()) == (0, 9)


def test_a_draw_has_no_say_in_the_rate_of_its_stratum(lone):
    """The rate is that of a fit without the draw, up to a Newton step."""
    drawn, observed = sample_of(be.select(lone[1], topics=[str(k) for k in range(1, 7)]))
    rate = rates_beside(drawn, observed)[0]
    for pair in np.flatnonzero(drawn.selected[0] & (drawn.inclusion_probability < 1.0))[::5]:
        other = observed.copy()
        other[0, pair] = 1.0 - other[0, pair]
        opposite = rates_beside(drawn, other)[0, pair]
        assert abs(logit(opposite) - logit(rate[pair])) < 0.35, "by the draw itself: 1 to 4"


@pytest.mark.parametrize("n_topics", [1, 2, 3])
@pytest.mark.filterwarnings("ignore:numbers of relevant documents")  # of a single topic
def test_with_few_topics_deep_strata_have_small_rates(n_topics):
    collection = be.simulate.urn_collection(
        [0.02, 0.1], n_topics=n_topics, n_documents=2000, n_relevant=15, depth=1000, random_seed=2
    )
    sampled = sample(collection, budget=20, n_replicates=20, seed=3)
    drawn, observed = sample_of(sampled)
    deep = drawn.inclusion_probability < 0.01
    assert rates_beside(drawn, observed)[:, deep].mean() < 0.03
    scores = be.evaluate(sampled, "AP", estimator="stat").estimate.mean("topic")
    truth = be.evaluate(collection, "AP", estimator="assumed").estimate.mean("topic")
    assert abs((scores - truth).mean()) < 0.1


def test_where_nothing_relevant_was_drawn_nothing_is_added(lone):
    drawn, observed = sample_of(lone[1])
    assert rates_beside(drawn, np.zeros_like(observed)) is None


def test_a_sum_of_precisions_below_0_is_limited():
    collection = be.simulate.urn_collection(
        [4.0, 8.0], n_topics=30, n_documents=400, n_relevant=100, depth=400, random_seed=0
    )
    scores = be.evaluate(sample(collection, budget=20), "AP", estimator="stat", denominator="topic")
    assert (scores.estimate >= 0).all() and (scores.estimate == 0).any()


def test_a_fitted_prediction_leaves_a_small_bias_in_the_numerator_of_average_precision(collection):
    design = designs(collection)["pps"]
    sampled = be.reveal(collection, design, every_stratified_sample(design))
    mean = numerators(sampled, "dyn", "rank_logistic").mean(axis=-1)
    truth = true_numerators(collection)
    assert 1e-9 < np.abs(mean - truth).max() < 0.05 * truth.max()


@pytest.mark.parametrize(
    "predictor", [None, ("constant", 0.3), ("external", "llm"), ("external", "labels"), "pooled"]
)
@pytest.mark.filterwarnings("ignore:P.rel=2.@3 counts")  # a sample may lack the grade
def test_samples_evaluated_one_by_one_give_what_they_give_side_by_side(collection, predictor):
    """M must not learn from which grades happened to be drawn, nor from other replicates."""
    design = designs(collection)["few"]
    samples = every_stratified_sample(design).isel(replicate=slice(None, None, 61))
    estimator = "stat" if predictor is None else "dyn"
    options = {"estimator": estimator, "predictor": predictor}
    measures = ["P@3", "P(rel=2)@3", "DCG@4", "AP", "Rprec"]
    together = be.evaluate(be.reveal(collection, design, samples), measures, **options)
    for replicate in range(samples.sizes["replicate"]):
        one = be.reveal(collection, design, samples.isel(replicate=replicate))
        alone = be.evaluate(one, measures, **options)
        expected = together.isel(replicate=replicate)
        for name in ("estimate", "standard_error"):
            xr.testing.assert_allclose(alone[name], expected[name], rtol=0, atol=1e-12)


def test_an_empty_poisson_sample_counts_as_no_relevant_document(collection):
    design = be.designs.poisson(collection, budget=1, pool_depth=1)
    selected, chance = every_poisson_sample(design)
    whole = be.reveal(collection, design, design.inclusion_probability > 0)
    truth = be.mean_over_topics(be.evaluate(whole, "P@3", estimator="assumed")).estimate
    sampled = be.reveal(collection, design, selected)
    mean = be.mean_over_topics(be.evaluate(sampled, "P@3", estimator="stat")).estimate
    total = (mean * chance).sum("replicate")
    xr.testing.assert_allclose(total, truth, rtol=0, atol=1e-12)
    for number in np.flatnonzero(selected.sum("pair") < 2):
        one = be.reveal(collection, design, selected.isel(replicate=number))
        alone = be.mean_over_topics(be.evaluate(one, "P@3", estimator="stat")).estimate
        xr.testing.assert_allclose(alone, mean.isel(replicate=number), rtol=0, atol=1e-12)
