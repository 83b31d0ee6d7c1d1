import numpy as np
import pandas as pd
import pymc as pm
import pytest
import xarray as xr

import bayeseval as be
from bayeseval.frame.features import discount
from bayeseval.frame.frame import Frame
from bayeseval.frame.scale import REACH, best_ranks, rank_scale
from bayeseval.models.relevance import predictor
from bayeseval.models.relevance.blocks import SHRUNK
from bayeseval.models.relevance.mode import Spreads
from bayeseval.models.relevance.predictor import SCALES
from bayeseval.models.relevance.regression import Regression
from tests.small import small_collection


@pytest.fixture(scope="module")
def sampled() -> xr.DataTree:
    collection = small_collection()
    design = be.designs.pps_strata(collection, budget=6, n_strata=2)
    return be.reveal(collection, design, be.draw(design, random_seed=1))


def frame_predictors(frame, n_components=60):
    """Scale, fused ranks, ranks in the runs, shape and components of the frame pairs."""
    scale = rank_scale(frame, n_components, n_components)
    fused, run_rank, shape = [], [], []
    for _, ranks in frame.topics():
        fused.append(ranks.fused_rank[ranks.in_frame])
        run_rank.append(ranks.run_rank[ranks.in_frame])
        shape.append(scale.shape_of(ranks.fused_rank[ranks.in_frame]))
    fused, run_rank, shape = map(np.concatenate, (fused, run_rank, shape))
    return scale, fused, run_rank, shape, scale.lines.components(run_rank, shape[:, :2])


def test_ranks_are_those_of_the_runs_and_of_their_sum_of_reciprocals(sampled):
    sample = Frame.of_one_sample(sampled).ranked_sample
    ranking = sampled["rankings/ranking"].to_numpy()
    n_runs, n_topics, _ = ranking.shape
    for topic in range(n_topics):
        rows = np.flatnonzero(sample.topic == topic)
        score = np.zeros(rows.size)
        for run in range(n_runs):
            listed = ranking[run, topic].tolist()
            rank = [listed.index(pair) + 1 if pair in listed else 0 for pair in sample.pair[rows]]
            assert sample.run_rank[rows, run].tolist() == rank
            score += [1 / (60 + place) if place else 0.0 for place in rank]
        best_first = np.lexsort((-sample.pair[rows], -score.round(12)))
        assert sample.fused_rank[rows[best_first]].tolist() == list(range(1, rows.size + 1))


def test_a_pair_outside_the_frame_has_the_rank_it_would_take_there():
    collection = small_collection()
    n_pairs = collection.sizes["pair"]
    whole = Frame.of_one_sample(collection).ranks(0)
    inside = xr.DataArray(np.arange(n_pairs) % 2 == 0, dims="pair")
    design = be.designs.pps_strata(collection, budget=2, n_strata=1, frame=inside)
    part = Frame.of_one_sample(be.reveal(collection, design, be.draw(design, random_seed=1))).ranks(
        0
    )
    for pair in np.flatnonzero(~part.in_frame):
        ahead = part.in_frame & (whole.fused_rank < whole.fused_rank[pair])
        assert part.fused_rank[pair] == 1 + ahead.sum()


def test_predictors_are_uncorrelated_where_each_octave_of_ranks_weighs_the_same(sampled):
    scale, fused, run_rank, shape, component = frame_predictors(Frame.of_one_sample(sampled))
    agreement, own = scale.agreement.predictors(run_rank, shape[:, :2])
    weight = (1 / fused) / (1 / fused).sum()
    curve = scale.curves.components(run_rank, shape[:, :2])
    parts = {"shape": shape, "agreement": agreement, "own": own}
    parts |= {"component": component, "curve": curve}
    for values in parts.values():
        np.testing.assert_allclose(weight @ values, 0.0, atol=1e-12)
    within = {name: (values.T * weight) @ values for name, values in parts.items()}
    np.testing.assert_allclose(within["shape"], np.eye(3), atol=1e-12)
    for name, columns in (("component", scale.lines), ("curve", scale.curves)):
        np.testing.assert_allclose(within[name], np.diag(columns.spread**2), atol=1e-12)
    spread = np.diag(within["agreement"])
    np.testing.assert_allclose(within["agreement"], np.diag(spread), atol=1e-12)
    assert (spread[:-1] >= spread[1:]).all()
    np.testing.assert_allclose(np.diag(within["own"]), 1.0)
    for name in ("component", "curve", "agreement"):
        np.testing.assert_allclose((shape[:, :2].T * weight) @ parts[name], 0.0, atol=1e-12)


def test_shape_is_made_of_log_rank_its_square_and_the_cube_root(sampled):
    _, fused, _, shape, _ = frame_predictors(Frame.of_one_sample(sampled))
    log_rank = np.log(fused)
    weight = 1 / fused
    log_rank = log_rank - weight @ log_rank / weight.sum()
    log_rank /= np.sqrt(weight @ log_rank**2 / weight.sum())
    np.testing.assert_allclose(shape[:, 0], log_rank)
    columns = np.column_stack([np.ones(fused.size), log_rank, log_rank**2, np.cbrt(fused)])
    for number, first in ((1, 3), (2, 4)):
        left = np.linalg.lstsq(columns[:, :first], shape[:, number], rcond=None)
        np.testing.assert_allclose(columns[:, :first] @ left[0], shape[:, number], atol=1e-9)
        assert left[0][-1] > 0


def test_agreement_tells_a_document_of_one_run_from_one_of_many():
    """Of two documents at the same fused rank: best and 2nd best rank, number of runs."""
    features = best_ranks(np.array([[1, 0, 0, 0], [7, 9, 8, 8]]), 21)
    expected = np.log([[1, 21, 21, 2], [7, 8, 9, 5]])
    np.testing.assert_allclose(features, expected)


def test_all_components_say_what_the_runs_say_beyond_the_fusion(sampled):
    scale, fused, run_rank, shape, _ = frame_predictors(Frame.of_one_sample(sampled))
    discounted = discount(scale.depth, REACH)[run_rank]
    root = np.sqrt(1 / fused)[:, None]
    known = np.column_stack([np.ones(fused.size), np.log(fused), np.log(fused) ** 2])
    curves = np.hstack([4 * discounted * (1 - discounted), run_rank > 0])
    for columns, values in ((scale.lines, discounted), (scale.curves, curves)):
        effect = np.linalg.lstsq(root * known, root * values, rcond=None)[0]
        found = columns.components(run_rank, shape[:, :2]) @ columns.rotation.T
        np.testing.assert_allclose(found, values - known @ effect, atol=1e-12)


def test_discount_falls_from_one_to_zero():
    values = discount(10)
    assert values[0] == values[11] == 0.0
    assert values[1] == 1.0
    assert (np.diff(values[1:]) < 0).all()


def test_model_has_labels_from_the_data_and_an_unobserved_response(sampled):
    model = be.models.relevance_model(sampled)
    assert model.named_vars_to_dims["relevance"] == ("judged_pair",)
    assert "relevance" in [variable.name for variable in model.free_RVs]
    assert not model.observed_RVs
    assert model.coords["topic"] == ("1", "2")
    assert model.coords["run"] == ("a", "b", "c")
    assert all(v.ndim == 0 or v.name in model.named_vars_to_dims for v in model.basic_RVs)
    grade = sampled["judgments/grade"].to_numpy()
    labels = [
        f"{1 + topic} {document}"
        for topic, document in zip(
            sampled["pair_topic"].to_numpy(), sampled["document"].to_numpy(), strict=True
        )
    ]
    judged = np.flatnonzero(~np.isnan(grade))
    assert list(model.coords["judged_pair"]) == [labels[pair] for pair in judged]
    np.testing.assert_array_equal(model["judged_relevance"].get_value(), grade[judged] >= 1)


@pytest.fixture
def centred(monkeypatch):
    """Effects written as parameters of their own, however few the judgments and the runs."""
    for limit in ("CENTRED_FROM", "MANY_TOPICS", "MANY_COMPONENTS", "PAIRS_PER_COMPONENT"):
        monkeypatch.setattr(predictor, limit, 0)


def response_logp(model, known, response, **given) -> np.ndarray:
    """Pointwise log probability of a response, the parameters not given at their start."""
    conditioned = pm.observe(model, known)
    point = conditioned.initial_point()
    assert given.keys() <= point.keys()
    logp = conditioned.compile_logp(vars=[conditioned[response]], sum=False, mode="FAST_COMPILE")
    return logp(point | given)[0]


def centred_at(model, shared, population, topics) -> dict[str, np.ndarray]:
    """Where the model's own coordinates of population and topics (topic, 2) are at some effects."""
    names = {variable.name: variable for variable in model.free_RVs}
    sd = np.exp(shared["topic_sd_log__"])
    scales = {"topic_sd": sd}
    for name in ("agreement_sd", "curve_component_sd"):
        scales[name] = np.exp(shared.get(f"{name}_log__", 0.0))
    plain = {name: value for name, value in (shared | scales).items() if name in names}
    zero = {name: np.zeros_like(value) for name, value in plain.items()}
    own = {name: np.zeros(len(topics)) for name in ("topic_level", "topic_tilt_deviation")}
    none = own | {"population_level": np.zeros(()), "topic_sd": sd}
    flat, steep = (none | {"population_tilt": np.array(tilt)} for tilt in (0.0, 1.0))

    def at(name, values):
        given = {names[key]: value for key, value in values.items() if key in names}
        return model[name].eval(given, mode="FAST_COMPILE", on_unused_input="ignore")

    added = -at("population_effect", plain | flat)
    middle = -at("population_effect", zero | steep)[0]
    middles = -at("topic_effect", zero | steep)[:, 0]
    tilt, tilts = population[1] + added[1], topics[:, 1] + added[1]
    return {
        "population_tilt": tilt,
        "population_level": population[0] + added[0] + middle * tilt,
        "topic_tilt_deviation": (tilts - tilt) / sd[1],
        "topic_level": topics[:, 0] + added[0] + middles * tilts,
    }


def test_likelihood_is_that_of_the_formula(sampled, centred):
    model = be.models.relevance_model(sampled)
    point = {
        "curvature": np.array(0.2),
        "tail_effect": np.array(-0.6),
        "component_effect": np.array([0.4, -0.8, 0.3])[: len(model.coords["component"])],
        "topic_component_sd_log__": np.log(0.3),
        "topic_component_deviation": np.array([[1.0], [-2.0]])
        * np.linspace(1, 0.3, len(model.coords["topic_component"])),
        "agreement_sd_log__": np.log(0.5),
        "agreement_deviation": np.linspace(-1, 1, len(model.coords["agreement"])),
        "curve_component_sd_log__": np.log(0.9),
        "curve_component_deviation": np.linspace(0.7, -1, len(model.coords["curve_component"])),
        "topic_shape_sd_log__": np.log(0.4),
        "topic_shape_deviation": np.array([[1.0, -1.5, 0.8, -0.3], [0.5, 2.0, -0.6, 1.2]]),
        "topic_sd_log__": np.log([0.8, 0.6]),
    }
    known = model["judged_relevance"].get_value()
    scale, _, run_rank, shape, component = frame_predictors(Frame.of_one_sample(sampled))
    rows = ~np.isnan(sampled["judgments/grade"].to_numpy())
    topic = sampled["pair_topic"].to_numpy()
    topics = np.array([[-1.2, -0.5], [0.3, 0.2]])
    effect = topics[topic]
    point |= centred_at(model, point, np.zeros(2), topics)
    agreement, alone = scale.agreement.predictors(run_rank, shape[:, :2])
    own = 0.3 * (point["topic_component_deviation"][topic] * component).sum(axis=1)
    logit = effect[:, 0] + effect[:, 1] * shape[:, 0] + point["curvature"] * shape[:, 1]
    logit = logit + component @ point["component_effect"]
    logit = logit + point["tail_effect"] * shape[:, 2]
    curve = scale.curves.components(run_rank, shape[:, :2])
    logit = logit + 0.9 * curve @ point["curve_component_deviation"]
    logit = logit + 0.5 * agreement @ point["agreement_deviation"]
    alone = np.column_stack([alone, 2.0 * shape[:, 1:]])
    logit = logit + 0.4 * (alone * point["topic_shape_deviation"][topic]).sum(axis=1)
    logit = (logit + own / scale.lines.spread[0])[rows]
    expected = np.where(known, logit, 0.0) - np.log1p(np.exp(logit))
    found = response_logp(model, {"relevance": known}, "relevance", **point)
    np.testing.assert_allclose(found, expected, rtol=1e-10)


@pytest.mark.parametrize("seed", [1, 2])
def test_both_ways_of_writing_effects_are_one_model(sampled, monkeypatch, seed):
    """The same parameters have the same likelihood, and prior but for the change of variables."""
    random = np.random.default_rng(seed)
    population, sd, z = random.normal(size=2), np.exp(0.3 * random.normal(size=2)), random.normal()
    root = np.array([[sd[0], 0.0], [sd[1] * np.tanh(z), sd[1] / np.cosh(z)]])
    deviation, along = random.normal(size=(2, 2)), random.normal(size=3)
    found = []
    for least in (0, 100):
        for limit in ("CENTRED_FROM", "MANY_TOPICS", "MANY_COMPONENTS", "PAIRS_PER_COMPONENT"):
            monkeypatch.setattr(predictor, limit, least)
        model = be.models.relevance_model(sampled)
        known = {"relevance": model["judged_relevance"].get_value()}
        unit = along[: len(model.coords["component"])]
        number = len(model.coords["agreement"])
        given = {"topic_sd_log__": np.log(sd), "topic_fisher_z": np.array(z)}
        given |= {"reliability_sd_log__": np.log(0.7), "agreement_sd_log__": np.log(0.5)}
        given |= {"curvature": np.array(0.4), "tail_effect": np.array(-0.8)}
        given["agreement_deviation"] = np.linspace(-1, 1, number)
        given["curve_component_sd_log__"] = np.log(0.8)
        given["curve_component_deviation"] = np.linspace(
            0.5, 1, len(model.coords["curve_component"])
        )
        if least:
            given |= {"component_deviation": unit, "population_effect": population}
            given["topic_deviation"] = deviation
        else:
            given["component_effect"] = 0.7 * unit
            given |= centred_at(model, given, population, population + deviation @ root.T)
        conditioned = pm.observe(model, known)
        point = conditioned.initial_point() | given
        likelihood = response_logp(model, known, "relevance", **given)
        levels = 2 * np.log(sd[0] / np.cosh(z))  # of two topics; slopes are in units of theirs
        volume = 0.0 if least else levels + unit.size * np.log(0.7)
        prior = conditioned.compile_logp(conditioned.free_RVs, mode="FAST_COMPILE")(point)
        found.append((likelihood, prior + volume))
    np.testing.assert_allclose(found[0][0], found[1][0], rtol=1e-9)
    assert found[0][1] == pytest.approx(found[1][1], rel=1e-10)


@pytest.mark.parametrize(
    ("n_topics", "budget", "prevalence", "centred"),
    [(20, 59, 0.3, 0), (20, 80, 0.3, 1), (20, 80, 0.06, 0), (19, 90, 0.3, 0)],
)
def test_effects_of_topics_are_parameters_where_many_topics_are_known_well(
    n_topics, budget, prevalence, centred
):
    collection = be.simulate.urn_collection(
        [0.1, 0.3],
        n_topics=n_topics,
        n_documents=90,
        prevalence=prevalence,
        depth=30,
        random_seed=1,
    )
    design = be.designs.pps_strata(collection, budget=budget, n_strata=4)
    sampled = be.reveal(collection, design, be.draw(design, random_seed=1))
    names = {variable.name for variable in be.models.relevance_model(sampled).free_RVs}
    ways = {"topic_level", "topic_deviation"}
    assert names & ways == {"topic_level" if centred else "topic_deviation"}


@pytest.mark.parametrize(("budget", "centred"), [(70, True), (60, False)])
def test_effects_of_components_are_parameters_where_each_has_many_judged_pairs(
    monkeypatch, budget, centred
):
    monkeypatch.setattr(predictor, "MANY_COMPONENTS", 20)
    odds = np.linspace(0.05, 0.5, 22)
    collection = be.simulate.urn_collection(
        odds, n_topics=20, n_documents=80, prevalence=0.3, depth=40, random_seed=1
    )
    design = be.designs.pps_strata(collection, budget=budget, n_strata=4)
    sampled = be.reveal(collection, design, be.draw(design, random_seed=1))
    model = be.models.relevance_model(sampled)  # of 64 or 55 judged pairs a component
    names = {variable.name for variable in model.free_RVs}
    ways = {"component_effect", "component_deviation"}
    assert names & ways == {"component_effect" if centred else "component_deviation"}


def test_reliabilities_are_the_image_of_the_components(sampled, centred):
    model = be.models.relevance_model(sampled)
    effect = np.arange(1.0, 1 + len(model.coords["component"]))
    rotation = model["run_line_rotation"].get_value()
    node = model["reliability"]
    reliability = node.eval({model["component_effect"]: effect}, mode="FAST_COMPILE")
    np.testing.assert_allclose(reliability, rotation @ effect)


def test_curves_of_runs_are_the_image_of_their_components_function_by_function(sampled):
    model = be.models.relevance_model(sampled)
    rotation = rank_scale(Frame.of_one_sample(sampled), 60, 30).curves.rotation
    effect = np.linspace(1.0, 2.0, rotation.shape[1])
    given = {model["curve_component_effect"]: effect}
    curve = model["run_curve"].eval(given, mode="FAST_COMPILE")
    assert model.named_vars_to_dims["run_curve"] == ("curve", "run")
    assert model.coords["curve"] == ("bow", "found")
    np.testing.assert_allclose(curve, np.stack([rotation[:3] @ effect, rotation[3:] @ effect]))
    fitted = be.fit(model, approximation="laplace", draws=5, random_seed=1)["posterior"]
    draws = fitted["curve_component_effect"].to_numpy()[0] @ rotation.T
    np.testing.assert_allclose(fitted["run_curve"].to_numpy()[0].reshape(len(draws), -1), draws)


def test_each_scale_has_the_prior_of_its_name(sampled):
    given = {name: 0.1 * (1 + number) for number, name in enumerate(SCALES)}
    model = be.models.relevance_model(sampled, priors=given)
    conditioned = pm.observe(model, {"relevance": model["judged_relevance"].get_value()})
    point = conditioned.initial_point()
    for name, scale in given.items():
        logp = conditioned.compile_logp([conditioned[name]], mode="FAST_COMPILE")
        low, high = (logp(point | {f"{name}_log__": np.log(value)}) for value in (0.1, 0.2))
        assert high - low == pytest.approx(np.log(2) - 0.5 * (0.04 - 0.01) / scale**2)
    data = {variable.name: variable.get_value() for variable in model.data_vars}
    regression = Regression.of(data, model.coords["block"], data["judged_relevance"], 2)
    spreads = Spreads(regression, data)
    for name, scale in zip(SHRUNK, given.values(), strict=True):
        risen = np.diff(spreads.log_prior(name, np.log([0.1, 0.2])))
        assert risen == pytest.approx(np.log(2) - 0.5 * (0.04 - 0.01) / scale**2)


def test_columns_have_mean_0_where_every_topic_has_one_document():
    collection = be.read_collection(
        pd.DataFrame({"topic": ["1", "2"], "document": ["x", "y"], "grade": [1, 0]}),
        pd.DataFrame(
            {"run": list("abab"), "topic": list("1122"), "document": list("xxyy"), "score": 1.0}
        ).iloc[[0, 1, 2]],
    )
    model = be.models.relevance_model(collection)
    for name in ("curve_value", "component_value", "curve_component_value"):
        np.testing.assert_allclose(model[name].get_value().mean(axis=0), 0.0, atol=1e-12)


def test_a_run_that_is_its_own_fusion_has_nothing_to_add():
    run = pd.DataFrame({"run": "a", "topic": "1", "document": list("abcd")})
    qrels = pd.DataFrame({"topic": "1", "document": list("abcd"), "grade": [1, 0, 1, 0]})
    collection = be.read_collection(qrels, run.assign(score=[4, 3, 2, 1]))
    model = be.models.relevance_model(collection)
    assert model.coords["component"] == ()
    assert "agreement_effect" not in model.named_vars


def test_prior_numbers_can_be_changed_and_are_checked(sampled):
    tight = be.models.relevance_model(sampled, priors={"reliability_sd": 0.001})
    wide = be.models.relevance_model(sampled)
    small, usual = (pm.draw(m["reliability_sd"], 9, random_seed=1).mean() for m in (tight, wide))
    assert usual / small == pytest.approx(2000)
    with pytest.raises(ValueError, match="there is no prior 'sigma'; priors: intercept, slope"):
        be.models.relevance_model(sampled, priors={"sigma": 1.0})
    with pytest.raises(ValueError, match=r"prior 'slope' is 2; allowed: \(mean, sd\)"):
        be.models.relevance_model(sampled, priors={"slope": 2})


def test_labels_have_error_rates_and_only_labelled_pairs_speak_of_them(sampled):
    grade = sampled["judgments/grade"].to_numpy()
    first = int(np.flatnonzero(~np.isnan(grade))[0])
    labels = sampled["predictors/labels"].to_numpy().copy()
    labels[first] = np.nan
    gapped = sampled.copy()
    gapped["predictors"] = xr.DataTree(xr.Dataset({"labels": ("pair", labels)}))
    model = be.models.relevance_model(gapped, external="labels")
    assert model.named_vars_to_dims["labels_rate"] == ("state", "labels_value")
    assert len(model.coords["labels_pair"]) == len(model.coords["judged_pair"]) - 1
    rate = np.array([[0.7, 0.2, 0.1], [0.1, 0.3, 0.6]])
    known = model["judged_labels_label"].get_value()
    both = {"relevance": model["judged_relevance"].get_value(), "labels_label": known}
    share = np.column_stack([rate[:, 0], rate[:, 1] / (1 - rate[:, 0])])
    log_odds = np.log(share / (1 - share))
    logp = response_logp(model, both, "labels_label", labels_share_logodds__=log_odds)
    judged = ~np.isnan(grade) & ~np.isnan(labels)
    relevant = (grade[judged] >= 1).astype(int)
    np.testing.assert_allclose(logp, np.log(rate[relevant, labels[judged].astype(int)]))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"external": "gpt"}, "no external predictor 'gpt'; columns of /predictors: labels, llm"),
        ({"runs": ["z"]}, "runs must name runs of the collection"),
    ],
)
def test_requests_that_cannot_be_met_are_refused(sampled, change, message):
    with pytest.raises(ValueError, match=message):
        be.models.relevance_model(sampled, **change)


def test_replicates_and_collections_without_runs_or_judgments_are_refused():
    collection = small_collection()
    design = be.designs.pps_strata(collection, budget=6, n_strata=2)
    many = be.reveal(collection, design, be.draw(design, n_replicates=2, random_seed=1))
    with pytest.raises(ValueError, match="holds replicates"):
        be.models.relevance_model(many)
    qrels = pd.DataFrame({"topic": "1", "document": list("ab"), "grade": [1, 0]})
    with pytest.raises(ValueError, match="no runs"):
        be.models.relevance_model(be.read_collection(qrels))
    with pytest.raises(ValueError, match="grades are all 0"):
        run = pd.DataFrame({"run": "a", "topic": "1", "document": ["a"], "score": [1]})
        be.models.grade_model(be.read_collection(qrels.iloc[:1].assign(grade=0), run))


def test_a_fit_that_learned_from_late_runs_keeps_the_fusion_of_the_design(tmp_path):
    """In a file, in another order of the runs, and beside runs that came since."""
    whole = be.simulate.urn_collection(
        [0.05, 0.1, 0.3, 0.2], n_topics=6, prevalence=0.1, random_seed=2
    )
    names = whole["run"].to_numpy().tolist()
    early = be.select(whole, runs=names[:2])
    design = be.designs.pps_strata(early, budget=20, n_strata=5, frame="retrieved")
    drawn = be.draw(design, random_seed=1)
    asked = be.reveal(early, design, drawn)
    runs = be.trec.runs_frame(whole)

    def with_runs(some):
        return be.add_runs(asked, runs[runs["run"].isin(some)])

    sampled = with_runs(names[2:3])
    model = be.models.relevance_model(sampled, runs=names[:3])
    assert model.coords["run"] == tuple(names[:3]) and model.coords["fused_run"] == tuple(names[:2])
    fitted = be.fit(model, approximation="laplace", draws=50, random_seed=1)
    be.save_fit(fitted, tmp_path / "fit.nc")
    post = be.posterior_scores(fitted, sampled, "P@10", random_seed=1)
    assert post["learned"].to_numpy().all()
    more = with_runs(names[2:])
    later = be.posterior_scores(be.open_fit(tmp_path / "fit.nc"), more, "P@10", random_seed=1)
    np.testing.assert_array_equal(later.estimate.sel(run=names[:3]), post.estimate)
    assert later["learned"].to_numpy().tolist() == [True] * 3 + [False]
    turned = be.select(more, runs=names[::-1])
    assert turned["run"].to_numpy().tolist() == names[::-1]
    other = be.posterior_scores(fitted, turned, "P@10", random_seed=1)
    np.testing.assert_allclose(other.estimate.sel(run=names[:3]), post.estimate, atol=1e-12)
    with pytest.raises(ValueError, match="this collection lacks"):
        be.posterior_scores(fitted, be.select(more, runs=names[1:]), "P@10", random_seed=1)
