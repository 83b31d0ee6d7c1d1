import itertools

import numpy as np
import pymc as pm
import pytest
import xarray as xr

import bayeseval as be
from bayeseval.frame.features import discount
from bayeseval.models.identity import added_and_missing
from bayeseval.posterior.scores import topic_weights
from tests.posterior.handmade import SHAPE, collection_of_three, half_judged, handmade_fit

MEASURES = ["P@2", "RBP(p=0.8)", "AP", "R@2", "Rprec", "NumRel", "NumRelRet"]
# a prior of one value is a fit whose relevances have known, independent probabilities
FIXED = {
    "topic_effect": np.array([[-0.4, 0.7], [0.6, -0.2]]),
    "topic_component_effect": np.array([[0.5], [-1.0]]),
    "component_effect": np.array([0.8]),
    "curve_component_effect": np.array([-0.6]),
    "curvature": 0.2,
    "tail_effect": 0.4,
    "agreement_effect": 0.0,
    "topic_shape_effect": 0.0,
}


@pytest.fixture(scope="module")
def sampled() -> xr.DataTree:
    return half_judged(collection_of_three())


@pytest.fixture(scope="module")
def fitted(sampled) -> xr.DataTree:
    model = be.models.relevance_model(sampled)
    return handmade_fit(model, **FIXED)


def relevance_probability(sampled, fitted) -> np.ndarray:
    """Probability of every pair, written out anew from the model's formula."""
    constant = fitted["constant_data"].to_dataset()
    ranking = sampled["rankings/ranking"].to_numpy()
    n_pairs = sampled.sizes["pair"]
    g = np.zeros((n_pairs, 3))
    score = np.zeros(n_pairs)
    for run, topic, rank in np.argwhere(ranking >= 0):
        pair = ranking[run, topic, rank]
        g[pair, run] = discount(4, reach=1000)[rank + 1]
        score[pair] += 1.0 / (61.0 + rank)
    fused = np.zeros(n_pairs)
    for topic in range(2):
        pairs = np.flatnonzero(sampled["pair_topic"].to_numpy() == topic)
        order = pairs[np.lexsort((-pairs, -score[pairs]))]
        fused[order] = np.arange(1, pairs.size + 1)
    weight = 1 / fused / (1 / fused).sum()
    shape = []  # each less its regression on those before it
    for column in (np.log(fused), np.log(fused) ** 2, np.cbrt(fused)):
        left = column - weight @ column
        for before in shape:
            left = left - (weight * before) @ column * before
        shape.append(left / np.sqrt(weight @ left**2))
    x = shape[0]
    curves = np.hstack([4 * g * (1 - g), g > 0])
    known = np.stack([np.ones(n_pairs), *shape[:2]])

    def rotated(values, name):
        rotation = constant[f"{name}_rotation"].to_numpy().reshape(values.shape[1], -1)
        return (values - known.T @ (known * weight @ values)) @ rotation

    z = rotated(g, "run_line")
    topic = sampled["pair_topic"].to_numpy()
    effect, own = FIXED["topic_effect"][topic], FIXED["topic_component_effect"][topic, 0]
    logit = effect[:, 0] + effect[:, 1] * x + own * z[:, 0] / np.sqrt(weight @ z[:, 0] ** 2)
    logit += FIXED["curvature"] * shape[1] + FIXED["tail_effect"] * shape[2]
    logit += z @ FIXED["component_effect"]
    logit += rotated(curves, "run_curve") @ FIXED["curve_component_effect"]
    probability = 1.0 / (1.0 + np.exp(-logit))
    grade = sampled["judgments/grade"].to_numpy()
    return np.where(np.isnan(grade), probability, grade >= 1)


def enumerated(sampled, probability, measures) -> xr.Dataset:
    """Mean and variance of the mean scores over every possible filling of the relevances."""
    free = np.flatnonzero((probability > 0) & (probability < 1))
    mean, square = 0.0, 0.0
    for values in itertools.product([0, 1], repeat=free.size):
        relevance = probability.copy()
        relevance[free] = values
        chance = np.where(values, probability[free], 1 - probability[free]).prod()
        full = sampled.copy()
        full["judgments"] = xr.DataTree(
            sampled["judgments"].to_dataset(inherit=False).assign(grade=("pair", relevance))
        )
        score = be.evaluate(full, measures, estimator="assumed").estimate.mean("topic")
        mean, square = mean + chance * score, square + chance * score**2
    return xr.Dataset({"mean": mean, "variance": square - mean**2})


def test_complete_judgments_give_the_exact_scores_under_every_draw():
    collection = collection_of_three()
    model = be.models.relevance_model(collection)
    post = be.posterior_scores(handmade_fit(model), collection, MEASURES, random_seed=1)
    exact = be.evaluate(collection, MEASURES, estimator="assumed").estimate.mean("topic")
    assert post.estimate.sizes["draw"] == SHAPE[1]
    np.testing.assert_allclose(post.estimate - exact, 0.0, atol=1e-12)


def test_mean_and_variance_are_those_of_every_possible_filling(sampled, fitted):
    own = be.measure("BestShare", lambda grades, every: grades.max(0) / np.maximum(every.sum(0), 1))
    measures = ["P@2", "RBP(p=0.8)", "AP", "R@2", "RR@3", "Success@2", "ERR"]
    measures += ["SetP", "SetF(beta=2)", "IPrec@0.5", f"{own}@2"]
    exact = enumerated(sampled, relevance_probability(sampled, fitted), measures)
    post = be.posterior_scores(fitted, sampled, measures, random_seed=1).estimate
    variance = exact["variance"].where(exact["variance"] > 1e-12, 1e-12)  # all fillings alike
    error = (post.mean(["chain", "draw"]) - exact["mean"]) / np.sqrt(variance / 2000)
    assert float(np.abs(error).max()) < 4.0  # 33 normal errors: above 4 once in 480 seeds
    ratio = np.maximum(post.var(["chain", "draw"]), 1e-12) / variance
    assert float(np.abs(np.log(ratio)).max()) < 0.2


def test_a_measure_of_ones_own_sees_the_same_topic_in_every_run(sampled, fitted):
    grown = be.dual_runs(sampled, random_seed=1)  # runs that may depart from the model
    total = be.measure("Total", lambda _grades, every: every.sum(axis=0))
    names = [total, "NumRel"]
    post = be.posterior_scores(fitted, grown, names, random_seed=5).estimate
    assert float(post.sel(measure=total).var(["chain", "draw"]).max()) > 0.0
    np.testing.assert_array_equal(*(post.sel(measure=name) for name in names))


def test_posterior_mean_of_precision_is_the_average_of_the_probabilities(sampled, fitted):
    probability = relevance_probability(sampled, fitted)
    top = probability[sampled["rankings/ranking"].to_numpy()[:, :, :2]].mean(axis=2)
    post = be.posterior_scores(fitted, sampled, "P@2", over=None, random_seed=2).estimate
    mean = post.mean(["chain", "draw"]).sel(measure="P@2").transpose("run", "topic")
    np.testing.assert_allclose(mean, top, atol=4 * 0.36 / np.sqrt(2000))


def test_scores_per_topic_average_to_the_means(sampled, fitted):
    by_topic = be.posterior_scores(fitted, sampled, "AP", over=None, random_seed=4)
    mean = be.posterior_scores(fitted, sampled, "AP", over="topic", random_seed=4)
    xr.testing.assert_allclose(by_topic.estimate.mean("topic"), mean.estimate)
    assert "topic" not in mean.dims


def test_runs_added_later_are_scored_with_the_same_draws(sampled, fitted):
    grown = be.dual_runs(sampled, random_seed=1)
    before = be.posterior_scores(fitted, sampled, "P@2", random_seed=5).estimate
    after = be.posterior_scores(fitted, grown, "P@2", random_seed=5).estimate
    assert after.sizes["run"] == 6
    xr.testing.assert_equal(after.sel(run=list("abc")), before)


def test_population_of_topics_adds_the_spread_between_topics():
    collection = collection_of_three((1, 1, 0, 0, 0, 0, 0, 1))
    fitted = handmade_fit(be.models.relevance_model(collection))
    post = be.posterior_scores(fitted, collection, "P@2", population="topics", random_seed=1)
    exact = be.evaluate(collection, "P@2", estimator="assumed").estimate.sel(measure="P@2")
    variance = post.estimate.var(["chain", "draw"]).sel(measure="P@2")
    expected = ((exact - exact.mean("topic")) ** 2).sum("topic") / (2 * 3)
    np.testing.assert_allclose(variance, expected, rtol=0.1)
    assert float(expected.max()) > 0.05
    one = be.select(collection, topics=collection["topic"].to_numpy()[:1])
    fitted = handmade_fit(be.models.relevance_model(one))
    with pytest.raises(ValueError, match="population='topics' needs 2 topics with judgments"):
        be.posterior_scores(fitted, one, "P@2", population="topics", random_seed=1)


def test_groups_of_topics_weigh_by_chance_and_the_topics_of_one_alike():
    collection = be.simulate.urn_collection(
        [0.2, 0.5], n_topics=12, n_documents=30, prevalence=0.3, difficulty_sd=1.0, random_seed=1
    )
    fitted = handmade_fit(be.models.relevance_model(collection))
    topics = collection["topic"].to_numpy().tolist()
    groups = {topic: index // 3 for index, topic in enumerate(topics)}
    about = {"population": "topics", "random_seed": 1}
    post = be.posterior_scores(fitted, collection, "P@10", topic_groups=groups, **about)
    exact = be.evaluate(collection, "P@10", estimator="assumed").estimate[0]
    of_group = exact.to_numpy().reshape(2, 4, 3).mean(axis=2)
    variance = post.estimate[..., 0, :].var(["chain", "draw"])
    np.testing.assert_allclose(variance, of_group.var(axis=1) / (4 + 1), rtol=0.1)
    # groups of one topic are topics
    alone = be.posterior_scores(
        fitted, collection, "P@10", topic_groups={topic: topic for topic in topics}, **about
    )
    xr.testing.assert_allclose(alone, be.posterior_scores(fitted, collection, "P@10", **about))
    with pytest.raises(ValueError, match="topic_groups is for population='topics'"):
        be.posterior_scores(fitted, collection, "P@10", topic_groups=groups)
    with pytest.raises(ValueError, match="it lacks 12"):
        be.posterior_scores(
            fitted, collection, "P@10", topic_groups=dict(list(groups.items())[:-1]), **about
        )


def test_weights_of_groups_are_those_of_their_judged_topics():
    judged = np.array([True, True, False, True, False])
    of_group = np.array([[1, 0, 0], [1, 0, 0], [0, 1, 0], [0, 1, 0], [0, 0, 1]])
    weights = topic_weights(judged, 4000, 1, "topics", of_group)
    np.testing.assert_array_equal(weights[~judged], 0.0)
    np.testing.assert_array_equal(weights[0], weights[1])
    np.testing.assert_allclose(weights.sum(axis=0), 1.0)
    one, other = 2.0 * weights[0], weights[3]
    share = 0.5 * one / (0.5 * one + other)  # of the first of two groups: uniform
    np.testing.assert_allclose(np.quantile(share, [0.1, 0.5, 0.9]), [0.1, 0.5, 0.9], atol=0.03)
    with pytest.raises(ValueError, match="needs 2 groups of topics with judgments"):
        topic_weights(judged, 1, 1, "topics", of_group[:, [0]] + of_group[:, [1]])


def test_documents_outside_the_frame_count_nothing_or_what_the_model_says():
    collection = collection_of_three()
    frame = xr.DataArray(np.tile([True, True, True, False], 2), dims="pair")
    design = be.designs.pps_strata(collection, budget=3, n_strata=1, frame=frame)
    sampled = be.reveal(collection, design, be.draw(design, random_seed=1))
    fitted = handmade_fit(be.models.relevance_model(sampled))
    with pytest.warns(UserWarning, match="it changed nothing: up to 0.25 of the weight of a score"):
        outside = be.posterior_scores(fitted, sampled, "NumRel", random_seed=1)
    with pytest.warns(UserWarning, match="it changed nothing: up to 0.50 of the weight of a score"):
        inside = be.posterior_scores(fitted, sampled, "P@2", random_seed=1)
    assert float(outside.estimate.std()) == 0.0  # all of the frame was judged
    with pytest.warns(UserWarning, match="it changed nothing: up to 0.50 of the weight of a score"):
        be.posterior_scores(fitted, sampled, "P@2", population="topics", random_seed=1)
    assert inside.outside_weight.sel(run="b").item() == 0.5
    model = be.posterior_scores(fitted, sampled, "P@2", outside="model", random_seed=1)
    assert float(model.outside_weight.max()) == 0.0
    gain = (model.estimate - inside.estimate).mean(["chain", "draw"]).sel(measure="P@2")
    assert gain.sel(run="a").item() == 0.0
    assert 0.05 < gain.sel(run="b").item() < 0.5


def test_same_seed_same_scores(sampled, fitted):
    first, again, other = (
        be.posterior_scores(fitted, sampled, "P@2", random_seed=seed).estimate for seed in (1, 1, 2)
    )
    xr.testing.assert_equal(first, again)
    assert not first.equals(other)


def test_runs_in_another_order_have_the_same_scores(sampled, fitted):
    other = half_judged(collection_of_three(runs="cba"))
    assert other["run"].to_numpy().tolist() == ["c", "b", "a"]
    grades = [one["judgments/grade"].to_numpy() for one in (sampled, other)]
    np.testing.assert_array_equal(*grades)
    asked = {"over": None, "random_seed": 1}
    found = [be.posterior_scores(fitted, one, "P@2", **asked) for one in (sampled, other)]
    np.testing.assert_array_equal(found[1].estimate.sel(run=found[0].run), found[0].estimate)


def test_a_fit_of_another_frame_is_refused(sampled, fitted):
    with pytest.raises(ValueError, match="does not belong to this collection"):
        be.posterior_scores(fitted, collection_of_three((1, 0, 0, 1)), "P@2")


def test_a_fit_to_other_rankings_is_refused(sampled, fitted):
    other = sampled.copy()
    rankings = sampled["rankings/ranking"]
    other["rankings/ranking"] = rankings.copy(data=rankings.to_numpy()[::-1])
    with pytest.raises(ValueError, match="has another ranking here"):
        be.posterior_scores(fitted, other, "P@2")


def test_a_fit_to_another_sample_of_the_same_frame_is_refused(sampled, fitted):
    other = sampled.copy()
    other["judgments/grade"] = 1.0 - sampled["judgments/grade"]
    with pytest.raises(ValueError, match="other judgments of them"):
        be.posterior_scores(fitted, other, "P@2")


@pytest.mark.parametrize(
    ("measures", "message"),
    [
        ("P(rel=2)@5", "fit it with relevance_level=2"),
        ("Bpref", "no posterior scores; measures that have them: P, RBP"),
    ],
)
def test_measures_that_the_model_cannot_score_are_refused(sampled, fitted, measures, message):
    with pytest.raises(ValueError, match=message):
        be.posterior_scores(fitted, sampled, measures)


@pytest.mark.parametrize(
    ("option", "allowed"), [("outside", "nonrelevant, model"), ("over", "or None")]
)
def test_unknown_options_are_refused(sampled, fitted, option, allowed):
    with pytest.raises(ValueError, match=allowed):
        be.posterior_scores(fitted, sampled, "P@2", **{option: "elsewhere"})


def test_topics_without_a_judgment_are_left_out_with_a_warning():
    collection = collection_of_three((1, 0, 1, 0, -1, -1, -1, -1))
    fitted = handmade_fit(be.models.relevance_model(collection))
    with pytest.warns(UserWarning, match="1 topic has no judgment"):
        post = be.posterior_scores(fitted, collection, "P@2", random_seed=1)
    np.testing.assert_allclose(post.estimate.sel(run="a"), 0.5)


def test_what_a_user_added_to_the_model_is_told_with_its_scores(sampled, fitted):
    model = be.models.relevance_model(sampled)
    with model:
        pm.Potential("pull", -((model["curvature"] - 3.0) ** 2))
    assert added_and_missing(model) == (["pull"], [])
    extended = fitted.copy()
    extended.attrs["added"] = "pull"
    with pytest.warns(UserWarning, match=r"without what was added to it \(pull\)"):
        be.posterior_scores(extended, sampled, "P@2")


def test_a_model_without_a_part_that_draws_documents_has_no_scores(sampled, fitted):
    model = be.models.relevance_model(sampled)
    assert added_and_missing(model) == ([], [])
    assert added_and_missing(pm.do(model, {"tail_effect": 0.0})) == ([], ["tail_effect"])
    lacking = fitted.copy()
    lacking.attrs["missing"] = "tail_effect"
    with pytest.raises(ValueError, match="of a relevance_model without tail_effect"):
        be.posterior_scores(lacking, sampled, "P@2")


def test_a_sampler_that_never_saw_the_judgments_has_no_posterior(sampled):
    model = be.models.relevance_model(sampled)
    prior = be.inference.prior_fit(model, draws=10, random_seed=1)
    be.posterior_scores(prior, sampled, "P@2")
    prior["sample_stats"] = xr.DataTree(xr.Dataset({"lp": (("chain", "draw"), np.zeros((1, 10)))}))
    with pytest.raises(ValueError, match="never saw the judgments: 'relevance' is drawn"):
        be.posterior_scores(prior, sampled, "P@2")


def test_a_fit_may_have_its_columns_in_any_order_and_needs_the_runs_that_it_learned_from():
    sampled = half_judged(collection_of_three())
    model = be.models.relevance_model(sampled)
    fitted = be.fit(model, approximation="laplace", draws=20, random_seed=1)
    scores = be.posterior_scores(fitted, sampled, ["P@4", "AP"], random_seed=1)
    posterior = fitted["posterior"].to_dataset()
    columns = [dim for dim in posterior.indexes if dim not in ("chain", "draw")]
    assert {"component", "agreement", "predictor"} <= set(columns)
    turned = posterior.isel({dim: slice(None, None, -1) for dim in columns})
    other = xr.DataTree.from_dict(
        {"posterior": turned, "constant_data": fitted["constant_data"].to_dataset()}
    )
    again = be.posterior_scores(other, sampled, ["P@4", "AP"], random_seed=1)
    xr.testing.assert_allclose(again.estimate, scores.estimate)
    fewer = be.select(sampled, runs=[sampled["run"].to_numpy()[0]])
    with pytest.raises(ValueError, match="learned from runs that this collection lacks"):
        be.posterior_scores(fitted, fewer, "P@4")


def test_draws_that_are_not_finite_are_refused():
    sampled = half_judged(collection_of_three())
    model = be.models.relevance_model(sampled)
    fitted = be.fit(model, approximation="laplace", draws=20, random_seed=1)
    posterior = fitted["posterior"].to_dataset()
    with_nan = xr.DataTree.from_dict(
        {
            "posterior": posterior.where(posterior["draw"] < 70),
            "constant_data": fitted["constant_data"].to_dataset(),
        }
    )
    with pytest.raises(ValueError, match="are not all finite; .* join='inner'"):
        be.posterior_scores(with_nan, sampled, "P@4")
